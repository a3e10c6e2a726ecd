// Pushes: a live tail, a search, and the life of one.

import { ask, path, poll, sleep } from "./api.js";
import { address, badge, choice, code, element, facts, field, go, input, link } from "./elements.js";
import { state, timeLine } from "./pushlife.js";
import { Table } from "./tables.js";
import { brief, count, duration, moment } from "./words.js";

/** The most lines that the list keeps. */
const most = 300;

const outcomes = [["", "all"], ["pending", "pending"], ["delivered", "delivered"], ["done", "done"],
    ["replaced", "replaced"],
  ["expired", "expired"], ["discarded", "discarded"], ["dropped", "dropped"], ["refused", "refused"]];

export function showPushes(page) {
  if (page.argument) return showPush(page);
  const { root, query, signal, trouble, say } = page;
  const filters = {
    id: input("id", { value: query.id, placeholder: "UUID" }),
    device: input("device", { value: query.device, placeholder: "name or identity" }),
    topic: input("topic", { value: query.topic, placeholder: "com.example.app" }),
    outcome: choice("outcome", outcomes, query.outcome ?? ""),
    reason: input("reason", { value: query.reason, placeholder: "BadDeviceToken" }),
  };
  const isLive = element("input", { type: "checkbox", name: "live" });
  isLive.checked = query.live !== "no";
  const form = element("form", { class: "filters", role: "search", "aria-label": "Pushes" },
    field("apns-id", filters.id), field("Device", filters.device), field("Topic", filters.topic),
    field("Outcome", filters.outcome), field("Reason or cause", filters.reason),
    element("div", { class: "actions" }, element("button", { type: "submit", class: "primary" }, "Search"),
      element("label", { class: "check" }, isLive, "Live")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const words = Object.fromEntries(Object.entries(filters).map(([key, node]) => [key, node.value.trim()]));
    go(address(["pushes"], { ...words, live: isLive.checked ? "" : "no" }));
  });
  const table = new Table({ caption: "Pushes, the latest first", key: (row) => row.key, empty: "No push matches.",
      columns: [
    { label: "Accepted", cell: (row) => moment(row.at, { precise: true }) },
    { label: "apns-id",
        cell: (row) => (row.identity ? element("a", { class: "mono", href: address(["pushes", row.identity]),
      title: row.identity, "aria-label": `push ${row.identity}` }, row.identity.slice(0, 8)) : "none") },
    { label: "Topic", cell: (row) => row.topic ?? "" },
    { label: "Device",
        cell: (row) =>
        (row.device ? element("a", { class: "mono", href: address(["devices", row.device]), title: row.device },
        row.device.slice(0, 8))
      : row.channel ? "a channel" : "") },
    { label: "Type", cell: (row) => row.type ?? "" },
    { label: "State", cell: (row) => badge(row.state, row.mood) },
    { label: "After", kind: "number", cell: (row) => (row.after === undefined ? "" : duration(row.after)) },
  ] });
  const note = element("p", { class: "hint" });
  root.append(form, table.node, note);
  const list = new PushList(query);
  const show = () => {
    const rows = list.rows();
    table.update(rows);
    note.textContent = [`${count(rows.length, "push", "pushes")} shown, at most ${most}.`, list.note].join(" ");
  };
  follow({ list, show, isLive, signal, trouble, say });
  return undefined;
}

async function follow({ list, show, isLive, signal, trouble, say }) {
  let isLoaded = false;
  let turn = 0;
  await poll(1, { signal, trouble }, async () => {
    if (!isLoaded) {
      await list.load(signal);
      isLoaded = true;
      show();
      say(`${count(list.rows().length, "push", "pushes")} found.`);
    } else if (isLive.checked) {
      turn += 1;
      if (await list.follow(signal, { withRefusals: turn % 5 === 0 })) show();
    }
  });
}

/** The pushes and refusals that match a query, kept up to date with the relay's trace. */
class PushList {
  constructor(query) {
    this.query = query;
    this.pushes = new Map();
    this.refusals = [];
    this.note = "";
  }

  async load(signal) {
    const { id, topic, outcome } = this.query;
    this.cursor = (await ask("GET", path(["trace"], { follow: true }), { signal })).cursor;
    this.device = this.query.device && await deviceOf(this.query.device, signal);
    if (outcome !== "refused") {
      const trace = await ask("GET", path(["trace"], { id, topic, device: this.device, last: id ? "" : most }),
          { signal });
      for (const push of trace.pushes) this.pushes.set(push.row, push);
      if (id) this.refusals = trace.refusals;
      this.#tell(trace);
    }
    await this.#askRefusals(signal);
  }

  async #askRefusals(signal) {
    const { id, topic, outcome } = this.query;
    if (id || this.device || (outcome && outcome !== "refused")) return false;
    const trace = await ask("GET", path(["trace"], { refused: true, topic, last: most }), { signal });
    const isNew = JSON.stringify(trace.refusals) !== JSON.stringify(this.refusals);
    this.refusals = trace.refusals;
    this.#tell(trace);
    return isNew;
  }

  #tell({ lost, sample, untoldRefusals }) {
    this.note = [
      sample > 1 && `One push of ${sample} is traced.`, lost > 0 && `The trace has lost ${count(lost, "record")}.`,
      untoldRefusals > 0
          && `${count(untoldRefusals, "more push was", "more pushes were")} refused, too many in a second to be told of.`,
    ].filter(Boolean).join(" ");
  }

  /** Takes what happened since the last call; returns whether anything did. */
  async follow(signal, { withRefusals }) {
    const news = await ask("GET", path(["trace"], { follow: this.cursor }), { signal });
    this.cursor = news.cursor;
    const { id, topic } = this.query;
    for (const push of news.pushes) {
      const matches = (!id || push.identity.toLowerCase() === id.toLowerCase()) && (!topic || push.topic === topic)
        && (!this.device || push.device === this.device);
      if (matches && this.query.outcome !== "refused") this.pushes.set(push.row, { ...push, events: [...push.events] });
    }
    for (const event of news.events) this.#find(event)?.events.push(event);
    for (const row of this.pushes.keys()) {
      if (this.pushes.size <= 2 * most) break;
      this.pushes.delete(row);
    }
    const hasRefusals = withRefusals && await this.#askRefusals(signal);
    return hasRefusals || news.pushes.length > 0 || news.events.length > 0;
  }

  /** The push of an event; a device's report has its identity in place of its row. */
  #find(event) {
    if (event.row) return this.pushes.get(event.row);
    return [...this.pushes.values()].findLast(({ identity, device }) => identity === event.identity
        && device === event.device);
  }

  rows() {
    const { outcome, reason } = this.query;
    const pushes = [...this.pushes.values()].map((push) => ({
      key: `push ${push.row}`, at: push.acceptedAt, identity: push.identity, topic: push.topic, device: push.device,
      channel: push.channel, type: push.pushType, state: state(push).text, mood: state(push).mood,
      after: push.events.length ? push.events.at(-1).at - push.acceptedAt : undefined,
    }));
    const refusals = this.refusals.map((refusal) => ({
      key: `refusal ${refusal.at} ${refusal.shard} ${refusal.connection} ${refusal.identity}`, at: refusal.at,
      identity: refusal.identity, topic: refusal.topic, state: `refused: ${refusal.status} ${refusal.reason}`,
      mood: "bad",
    }));
    return [...pushes, ...refusals].filter((row) => !outcome || row.state.startsWith(outcome))
      .filter((row) => !reason || row.state.toLowerCase().includes(reason.toLowerCase()))
      .sort((one, other) => other.at - one.at).slice(0, most);
  }
}

/** The identity of a device with this name or identity. */
async function deviceOf(word, signal) {
  if (/^[0-9a-f]{24}$/i.test(word)) return word.toLowerCase();
  const devices = await ask("GET", path(["devices"], { device: word }), { signal });
  return devices[0]?.identity ?? word;
}

async function showPush({ root, heading, argument, signal, trouble, say }) {
  heading.textContent = "Push";
  const box = element("div");
  root.append(element("p", {}, link(["pushes"], "All pushes")), box);
  let last = "";
  await poll(1, { signal, trouble }, async () => {
    const trace = await ask("GET", path(["trace"], { id: argument }), { signal });
    const text = JSON.stringify([trace.pushes, trace.refusals]);
    if (text === last) return;
    if (last) say("The push has a new event.");
    last = text;
    box.replaceChildren(...life(trace, argument));
    if (trace.pushes.length > 20) await sleep(5000, signal);
  });
}

function life(trace, identity) {
  const pushes = trace.pushes.toReversed().map((push) => {
    const { text, mood } = state(push);
    return element("article", { class: "card" }, facts([
      ["apns-id", code(push.identity)], ["apns-unique-id", push.uniqueIdentity && code(push.uniqueIdentity)],
      ["State", badge(text, mood)], ["Topic", `${push.topic}, ${push.environment}`],
      ["Device", push.device && link(["devices", push.device], push.device)], ["Channel", push.channel],
      ["Provider", push.key === "control-socket" ? "control socket" : push.key ? `key ${push.key}`
          : push.hasCertificate ? "a certificate" : undefined],
      ["Push type", push.pushType], ["Priority", String(push.priority)],
      ["Expires", push.expiresAt ? moment(push.expiresAt) : "now or never"],
      ["Collapses", push.collapses ? "yes" : undefined],
      ["Payload", element("span", {}, `${count(push.payloadBytes, "byte")}; SHA-256 `,
          push.payloadSHA256 ? brief(push.payloadSHA256, 16) : "not known")],
    ]), element("h2", {}, "Time line"), timeLine(push, trace.starts));
  });
  const refusals = trace.refusals.map((refusal) => element("article", { class: "card" }, facts([
    ["apns-id", code(refusal.identity ?? "none")],
    ["State", badge(`refused: ${refusal.status} ${refusal.reason}`, "bad")],
    ["When", moment(refusal.at, { precise: true })], ["Topic", refusal.topic], ["Environment", refusal.environment],
    ["On", `connection ${refusal.connection} of shard ${refusal.shard}`]])));
  if (pushes.length + refusals.length === 0) {
    return [element("p", { class: "empty" },
        `The trace knows no push with the apns-id ${identity}. This page shows it as soon as it arrives.`)];
  }
  return [...pushes, ...refusals];
}
