// One device: what the relay knows about it, and what an operator may change.

import { ask, Failure, path, poll } from "./api.js";
import { badge, button, code, copyButton, element, facts, field, input, link } from "./elements.js";
import { confirm, form } from "./dialogs.js";
import { connection, endings, sendAddress, tags } from "./devices.js";
import { state } from "./pushlife.js";
import { Table } from "./tables.js";
import { date, moment, number } from "./words.js";

export async function showDevice({ root, heading, argument, signal, trouble, say, may }) {
  const box = element("div");
  const tokens = new Table({ caption: "Apps and device tokens", key: ({ token }) => token,
      empty: "No app is registered.", columns: [
    { label: "App (topic)", cell: ({ topic }) => topic },
    { label: "Environment", cell: ({ environment }) => environment },
    { label: "Device token", cell: ({ token }) => element("span", {},
        element("code", { title: token }, `${token.slice(0, 16)}\u2026`), " ", copyButton(token, "Copy token")) },
    { label: "", kind: "end", cell: (registration) => may("send") && element("a",
        { href: sendAddress(registration), "aria-label": `Send to ${registration.topic}` }, "Send to it") },
  ] });
  const latest = new Table({ caption: "The latest pushes to this device", key: ({ row }) => row,
      empty: "The trace has no push to this device.", columns: [
    { label: "Accepted", cell: (push) => moment(push.acceptedAt, { precise: true }) },
    { label: "apns-id", cell: (push) => link(["pushes", push.identity], push.identity) },
    { label: "Topic", cell: ({ topic }) => topic },
    { label: "State", cell: (push) => badge(state(push).text, state(push).mood) },
  ] });
  const actions = element("div", { class: "actions" });
  root.append(element("p", {}, link(["devices"], "All devices")), element("article", { class: "card" }, box, actions),
    element("section", {}, element("h2", {}, "Apps"), tokens.node),
    element("section", {}, element("h2", {}, "Latest pushes"), latest.node));

  let device = null;
  let last = "";
  const load = async () => {
    device = (await ask("GET", path(["devices"], { device: device?.identity ?? argument }), { signal }))[0];
    if (!device) throw new Failure(`The relay has no device ${argument}.`, 404);
    const text = JSON.stringify(device);
    if (text !== last) {
      last = text;
      heading.textContent = device.name ?? device.identity;
      box.replaceChildren(facts(about(device)));
      tokens.update(device.registrations);
      if (!actions.children.length && may("administer")) actions.append(...changes(() => device, load, say));
    }
  };
  const loadPushes = async () => {
    const trace = await ask("GET", path(["trace"], { device: device?.identity ?? argument, last: 20 }), { signal });
    latest.update(trace.pushes.toReversed());
  };
  await poll(2, { signal, trouble }, async () => {
    await load();
    await loadPushes();
  });
}

function about(device) {
  return [
    ["Identity", code(device.identity)], ["Calls itself", device.callsItself],
    ["State", connection(device)], [device.isConnected ? "Connected since" : "Away since",
        device.since ? moment(device.since) : "never connected"],
    ["Address", device.address], ["Agent", device.agent],
    ["Left last", device.ending && (endings[device.ending] ?? device.ending)],
    ["Pending", number(device.pending)], ["Tags", device.tags.length ? tags(device.tags) : "none"],
    ["Enrolled", device.enrolledAt && date(device.enrolledAt)],
    ["Two machines use this identity",
        device.duplicates && `${device.duplicates.join(" and ")}: remove the device, and enrol both again`],
    ["Successor", device.successor && element("span", {},
        "Another device calls itself likewise and has enrolled since: ",
      link(["devices", device.successor.identity ?? device.successor], device.successor.name ?? device.successor))],
  ];
}

/** The actions of an operator. `current` is the device as it is when the button is pressed. */
function changes(current, load, say) {
  const name = () => current().name ?? current().identity;
  const rename = () => form({
    title: `Rename ${name()}`, submit: "Rename",
    content: field("New name", input("name", { value: current().name ?? "", required: true }),
      "1 to 63 letters, digits, - and ., with a letter or digit at both ends"),
    action: async (data) => {
      await ask("PATCH", path(["devices", current().identity]), { body: { name: data.get("name").trim() } });
      await load();
      say(`The device is called ${name()} now.`);
    },
  });
  const tag = () => form({
    title: `Tags of ${name()}`, submit: "Store",
    content: field("Tags", input("tags", { value: current().tags.join(" ") }),
        "Separate tags with spaces. A tag has letters, digits, -, _ and ."),
    action: async (data) => {
      const words = data.get("tags").split(/[\s,]+/).filter(Boolean);
      const addTags = words.filter((word) => !current().tags.includes(word));
      const removeTags = current().tags.filter((word) => !words.includes(word));
      await ask("PATCH", path(["devices", current().identity]), { body: { addTags, removeTags } });
      await load();
      say("The tags are stored.");
    },
  });
  const remove = () => confirm({
    title: `Remove ${name()}?`, submit: "Remove the device",
    text: `Its device tokens become invalid, and ${number(current().pending)} pending notifications are dropped. The device has to enrol again. This cannot be undone.`,
    action: async () => {
      const removed = name();
      await ask("DELETE", path(["devices", current().identity]));
      say(`${removed} is removed.`);
      location.hash = "#/devices";
    },
  });
  return [button("Rename", rename), button("Tags", tag), button("Remove", remove, { class: "danger" })];
}
