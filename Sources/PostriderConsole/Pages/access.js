// Who may push, and who may enrol: keys, topics and enrolment keys.

import { ask, path, poll } from "./api.js";
import { badge, button, element } from "./elements.js";
import { addEnrolmentKey, addKey, addTopic } from "./accessforms.js";
import { confirm } from "./dialogs.js";
import { Table } from "./tables.js";
import { count, date, number } from "./words.js";

function environmentOf(key) {
  if (key.topics) return `topic-specific, ${key.environment}`;
  return key.environment ?? "both";
}

function keyState(key) {
  if (key.revokedAt) return element("span", {}, badge("revoked", "bad"), " ", date(key.revokedAt));
  if (key.endsAt > Date.now()) return element("span", {}, badge("valid", "good"), " until ", date(key.endsAt));
  return key.endsAt ? ending(key.endsAt) : badge("valid", "good");
}

/** The three tables; each has its columns, its path, and what can be done. */
function sections({ may, say, reload }) {
  /** A button that asks, and then makes a request. */
  const change = ({ verb, done, what, name, method, parts, text }) => button(verb, () => confirm({
    title: `${verb} ${what} ${name}?`, text, submit: verb,
    action: async () => {
      await ask(method, path(parts));
      await reload();
      say(`${name} is ${done}.`);
    },
  }), { class: "small danger", "aria-label": `${verb} ${what} ${name}` });
  const remove = (what, name, parts, text) =>
    change({ verb: "Remove", done: "removed", what, name, method: "DELETE", parts, text });
  const revoke = ({ identifier }) => change({
    verb: "Revoke", done: "revoked", what: "key", name: identifier, method: "PUT", parts: ["revoked-keys", identifier],
    text: "Providers that use it are refused from now on. The key stays in the list, and can be added again.",
  });
  const added = (action) => async () => {
    const name = await action();
    if (!name) return;
    await reload();
    say(`${name} is stored.`);
  };
  return [
    {
      title: "Provider keys", parts: ["keys"], add: ["Add a key", added(addKey)],
      text: "A provider signs its tokens with the private key; the relay has only the public one.",
      table: new Table({ caption: "Provider keys", key: (key) => key.identifier,
          empty: "No key: no provider can push with a token.", columns: [
        { label: "Key identifier", cell: (key) => element("code", {}, key.identifier) },
        { label: "Team", cell: (key) => key.team },
        { label: "Valid for", cell: (key) => environmentOf(key) },
        { label: "Topics", cell: (key) => (key.topics ? key.topics.join(", ") : "all of its team") },
        { label: "Added", cell: (key) => date(key.addedAt) }, { label: "State", cell: keyState },
        { label: "", kind: "end", cell: (key) => may("administer") && element("span", { class: "actions" },
          !key.revokedAt && revoke(key),
          remove("key", key.identifier, ["keys", key.identifier], "Providers that use it are refused from now on.")) },
      ] }),
    },
    {
      title: "Topics", parts: ["topics"], add: ["Add a topic", added(addTopic)],
      text: "The apps that devices can register, and the team that may push to them.",
      table: new Table({ caption: "Topics", key: (topic) => topic.topic, empty: "No topic: no app can register.",
          columns: [
        { label: "Topic", cell: (topic) => topic.topic }, { label: "Team", cell: (topic) => topic.team },
        { label: "Broadcasts", cell: (topic) => (topic.takesBroadcasts ? "yes" : "no") },
        { label: "", kind: "end", cell: ({ topic }) => may("administer") && remove("topic", topic, ["topics", topic],
          "Apps cannot register it any more, and nobody can push to it.") },
      ] }),
    },
    {
      title: "Enrolment keys", parts: ["enrolment-keys"], add: ["Add an enrolment key", added(addEnrolmentKey)],
      text: "With such a key a machine becomes a device of this relay.",
      table: new Table({ caption: "Enrolment keys", key: (key) => key.name,
          empty: "No enrolment key: no new device can enrol.", columns: [
        { label: "Name", cell: (key) => key.name }, { label: "Added", cell: (key) => date(key.addedAt) },
        { label: "Used", cell: ({ used = 0, uses }) =>
          (uses ? `${number(used)} of ${number(uses)}` : count(used, "time")) },
        { label: "Ends", cell: (key) => (key.endsAt ? ending(key.endsAt) : "never") },
        { label: "Names", cell: (key) => key.namePattern ?? "any" },
        { label: "Tags", cell: (key) => (key.tags ?? []).join(", ") },
        { label: "", kind: "end", cell: ({ name }) => may("administer") && remove("enrolment key", name,
          ["enrolment-keys", name], "Nobody can enrol with it any more. Devices that have enrolled stay.") },
      ] }),
    },
  ];
}

function ending(at) {
  return at < Date.now() ? element("span", {}, badge("ended", "bad"), " ", date(at)) : date(at);
}

export function showAccess({ root, signal, trouble, say, may }) {
  const all = [];
  const reload = async () => {
    await Promise.all(all.map(async ({ parts, table }) => table.update(await ask("GET", path(parts), { signal }))));
  };
  all.push(...sections({ may, say, reload }));
  root.append(...all.map(({ title, text, add, table }) => element("section", {},
    element("div", { class: "head" }, element("h2", {}, title), may("administer") && button(add[0], add[1])),
    element("p", { class: "hint" }, text), table.node)));
  poll(10, { signal, trouble }, reload);
}

