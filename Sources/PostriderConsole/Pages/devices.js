// Devices: the list, live.

import { ask, path, poll } from "./api.js";
import { address, badge, choice, element, field, go, input, link } from "./elements.js";
import { showDevice } from "./device.js";
import { Table } from "./tables.js";
import { count, moment, number } from "./words.js";

/** The most lines that the list shows. */
const most = 300;
/** The most devices that the page asks for without a filter. */
const mostUnfiltered = 5000;

export const endings = {
  goodbye: "its agent stopped", asleep: "it went to sleep", closed: "it closed the connection",
  cut: "the connection was cut", silent: "it did not answer a PING", notTaken: "it did not take what was sent",
  protocolError: "it broke the protocol", replaced: "it had a newer connection",
  overloaded: "the relay asked it to come later", removed: "it was removed", relayStopped: "the relay was stopped",
  relayFailed: "the relay failed", moved: "it moved to another node",
};

export function showDevices(page) {
  if (page.argument) return showDevice(page);
  const { root, query, signal, trouble, say, may } = page;
  const filters = {
    device: input("device", { value: query.device }),
    tag: input("tag", { value: query.tag }),
    topic: input("topic", { value: query.topic, placeholder: "com.example.app" }),
    connected: choice("connected", [["", "all"], ["true", "connected"], ["false", "away"]], query.connected ?? ""),
    sort: choice("sort", [["name", "name"], ["enrolled", "enrolled"], ["since", "longest first"],
        ["pending", "most pending first"]], query.sort ?? "name"),
  };
  const form = element("form", { class: "filters", role: "search", "aria-label": "Devices" },
    field("Name or identity", filters.device), field("Tag", filters.tag), field("App (topic)", filters.topic),
    field("State", filters.connected), field("Order", filters.sort),
    element("div", { class: "actions" }, element("button", { type: "submit", class: "primary" }, "Search")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const words = Object.fromEntries(Object.entries(filters).map(([key, node]) => [key, node.value.trim()]));
    go(address(["devices"], words));
  });
  const table = new Table({ caption: "Devices", key: (device) => device.identity, empty: "No device matches.",
      columns: [
    { label: "Name", cell: (device) => link(["devices", device.identity], device.name ?? device.identity) },
    { label: "State", cell: (device) => connection(device) },
    { label: "Since", cell: (device) => (device.since ? moment(device.since) : "never connected") },
    { label: "Tags", cell: (device) => tags(device.tags) },
    { label: "Apps", cell: (device) => apps(device) },
    { label: "Pending", kind: "number", cell: (device) => number(device.pending) },
    { label: "Last seen", cell: (device) => lastSeen(device) },
    { label: "", kind: "end", cell: (device) => (may("send") && device.registrations.length
      ? element("a", { href: sendAddress(device.registrations[0]),
          "aria-label": `Send to ${device.name ?? device.identity}` }, "Send") : "") },
  ] });
  const note = element("p", { class: "hint" });
  root.append(form, table.node, note);
  follow({ query, table, note, signal, trouble, say });
  return undefined;
}

/** Loads the list when the page is opened, after each event of a device, and every 15 seconds for what has no event. */
async function follow({ query, table, note, signal, trouble, say }) {
  const { device, tag, topic, connected, sort = "name" } = query;
  let isStale = true;
  let loadedAt = 0;
  let isFirst = true;
  const events = new EventSource("/v1/devices/events");
  for (const what of ["connected", "away", "enrolled", "removed", "nodeBack", "nodeLeft", "eventsLost"]) {
    events.addEventListener(what, () => { isStale = true; });
  }
  signal.addEventListener("abort", () => events.close());
  await poll(1, { signal, trouble }, async () => {
    if (!isStale && Date.now() - loadedAt < 15_000) return;
    const hasFilter = device || tag || topic;
    if (!hasFilter) {
      const { devices } = await ask("GET", path(["status"]), { signal });
      if (devices > mostUnfiltered) {
        table.update([]);
        note.textContent = `This relay has ${number(devices)} devices. Give a name, a tag or an app.`;
        isStale = false;
        loadedAt = Date.now();
        return;
      }
    }
    isStale = false;
    const devices = await list({ device, tag, topic, connected, sort, limit: most + 1 }, signal);
    loadedAt = Date.now();
    table.update(devices.slice(0, most));
    note.textContent = devices.length > most
        ? `More than ${most} devices match; the first ${most} are shown.` : count(devices.length, "device");
    if (isFirst) say(devices.length > most ? note.textContent : `${count(devices.length, "device")} found.`);
    isFirst = false;
  });
}

async function list(query, signal) {
  try {
    return await ask("GET", path(["devices"], query), { signal });
  } catch (error) {
    // A name that no device has is no mistake in a search.
    if (error.status === 404) return [];
    throw error;
  }
}

export function connection(device) {
  if (device.isConnected) return badge(device.savesPower ? "connected, saves power" : "connected", "good");
  return badge("away", "waiting");
}

export function tags(words) {
  return element("span", { class: "tags" }, words.map((word) =>
    element("a", { class: "tag", href: address(["devices"], { tag: word }) }, word)));
}

function apps({ registrations }) {
  const topics = [...new Set(registrations.map(({ topic }) => topic))];
  return topics.length > 2 ? `${topics.slice(0, 2).join(", ")} and ${topics.length - 2} more` : topics.join(", ");
}

function lastSeen(device) {
  const from = device.address ? `from ${device.address}` : "";
  if (device.isConnected) return ["now ", from];
  return [device.since ? moment(device.since) : "", " ", device.ending ? endings[device.ending] ?? device.ending : ""];
}

export function sendAddress({ token, topic }) {
  return address(["send"], { token, topic });
}
