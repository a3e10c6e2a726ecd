// Channels: what providers have made, who is subscribed, and what is stored.

import { ask, path, poll } from "./api.js";
import { address, badge, element, field, go, input } from "./elements.js";
import { Table } from "./tables.js";
import { brief, count, moment, number } from "./words.js";

export function showChannels({ root, query, signal, trouble, say }) {
  const topic = input("topic", { value: query.topic, placeholder: "com.example.app" });
  const form = element("form", { class: "filters", role: "search", "aria-label": "Channels" },
    field("App (topic)", topic),
    element("div", { class: "actions" }, element("button", { type: "submit", class: "primary" }, "Search")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go(address(["channels"], { topic: topic.value.trim() }));
  });
  const table = new Table({ caption: "Channels", key: (channel) => channel.channel,
      empty: "No channel: a provider creates one for an app that may have them (see Access, Topics).", columns: [
    { label: "Channel", cell: ({ channel }) => element("code", {}, channel) },
    { label: "App", cell: (channel) => channel.topic },
    { label: "Environment", cell: (channel) => channel.environment },
    { label: "Created", cell: (channel) => moment(channel.createdAt) },
    { label: "Subscribers", kind: "number", cell: (channel) => number(channel.subscribers) },
    { label: "Stored broadcast", cell: stored },
  ] });
  const note = element("p", { class: "hint" });
  root.append(form, table.node, note);
  let isFirst = true;
  poll(5, { signal, trouble }, async () => {
    const answer = await ask("GET", path(["channels"], { topic: query.topic }), { signal });
    table.update(answer.channels);
    note.textContent = answer.count > answer.channels.length
        ? `There are ${number(answer.count)} channels; the ${number(answer.channels.length)} oldest are shown.`
        : `${count(answer.count, "channel")}. Subscribers are devices that are connected now.`;
    if (isFirst) say(`${count(answer.count, "channel")} found.`);
    isFirst = false;
  });
}

function stored(channel) {
  if (!channel.storesLatest) return "stores none";
  if (!channel.stored) return badge("empty", "waiting");
  return [badge("stored", "good"), " ", brief(channel.stored), ", accepted ", moment(channel.storedAt)];
}
