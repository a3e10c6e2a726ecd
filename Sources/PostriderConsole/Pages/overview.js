// The overview: rates, connections, what is stored, and plots of the last hour.

import { ask, path, poll } from "./api.js";
import { element } from "./elements.js";
import { Plot } from "./plots.js";
import { Table } from "./tables.js";
import { count, duration, number, rate } from "./words.js";

/** The rate of each counter between two points, a second. */
function rates(before, after) {
  const seconds = (after.at - before.at) / 1000;
  // After a restart of the relay the counters begin again.
  const of = (name) => Math.max(0, ((after[name] ?? 0) - (before[name] ?? 0)) / seconds);
  return { at: after.at, accepted: of("accepted"), refused: of("refused"), delivered: of("delivered") };
}

function figure(label, hint) {
  const value = element("span", { class: "value" }, "\u2026");
  const unit = element("span", { class: "unit" });
  return { value, unit, node: element("div", { class: "figure" }, element("dt", {}, label),
      element("dd", {}, value, " ", unit,
    hint && element("p", { class: "hint" }, hint))) };
}

function percentile(sorted, part) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

export function showOverview({ root, signal, trouble, say }) {
  const alarm = element("p", { class: "alarm", role: "alert", hidden: true });
  const figures = {
    rate: figure("Accepted", "pushes, over the last seconds"),
    delivered: figure("Delivered", "over the last seconds"),
    pending: figure("Pending", "wait for their device"),
    connected: figure("Connected"),
    latency: figure("Accepted to delivered", "median of the latest pushes"),
    providers: figure("Providers", "connections"),
  };
  const plots = [
    new Plot({ title: "Pushes a second", format: rate, series: [
      { name: "accepted", value: (point) => point.accepted }, { name: "delivered", value: (point) => point.delivered },
      { name: "refused", value: (point) => point.refused }] }),
    new Plot({ title: "Pending", isWhole: true, format: (value) => number(Math.round(value)),
      series: [{ name: "pending", value: (point) => point.pending ?? 0 }] }),
    new Plot({ title: "Connections", isWhole: true, format: (value) => number(Math.round(value)), series: [
      { name: "devices", value: (point) => point.connected ?? 0 },
      { name: "providers", value: (point) => point.providers ?? 0 }] }),
  ];
  for (const plot of plots) plot.watch(signal);
  const ends = new Table({
    caption: "What became of the accepted notifications", key: (row) => row.name, empty: "Nothing was accepted yet.",
    columns: [
      { label: "Since the relay was started", cell: (row) => row.name },
      { label: "Notifications", kind: "number", cell: (row) => number(row.value) },
      { label: "What it means", cell: (row) => row.meaning },
    ],
  });
  const others = new Table({
    caption: "Other figures", key: (row) => row.name, empty: "",
    columns: [
      { label: "Figure", cell: (row) => row.name }, { label: "Number", kind: "number",
          cell: (row) => number(row.value) },
      { label: "What it means", cell: (row) => row.meaning }],
  });
  const nodes = nodesTable();
  root.append(alarm, element("dl", { class: "figures" }, Object.values(figures).map(({ node }) => node)),
    element("div", { class: "plots" }, plots.map(({ node }) => node)),
    element("section", {}, element("h2", {}, "Notifications"), ends.node),
    element("section", {}, element("h2", {}, "Relay"), others.node), nodes.section);

  let last = null;
  poll(2, { signal, trouble }, async () => {
    const status = await ask("GET", path(["status"]), { signal });
    const { counters } = status;
    const now = { at: performance.now(), accepted: counters.accepted, delivered: counters.delivered };
    if (last) {
      const { accepted, delivered } = rates(last, now);
      figures.rate.value.textContent = rate(accepted);
      figures.delivered.value.textContent = rate(delivered);
      figures.rate.unit.textContent = figures.delivered.unit.textContent = "a second";
    }
    last = now;
    figures.pending.value.textContent = number(counters.pending);
    figures.connected.value.textContent = number(status.deviceConnections);
    figures.connected.unit.textContent = `of ${count(status.devices, "device")}`;
    figures.providers.value.textContent = number(status.providerConnections);
    showAlarm(alarm, status, say);
    ends.update(endsOf(counters));
    others.update(othersOf(status));
    nodes.section.hidden = !status.nodes;
    nodes.table.update(status.nodes ?? []);
  });

  poll(10, { signal, trouble }, async () => {
    const { points } = await ask("GET", path(["history"]), { signal });
    const changes = points.slice(1).map((point, index) => ({ ...point, ...rates(points[index], point) }));
    const end = points.at(-1)?.at ?? Date.now();
    for (const plot of plots) plot.update(changes, end);
  });

  poll(10, { signal, trouble: () => {} }, async () => {
    const { pushes } = await ask("GET", path(["trace"], { last: 100 }), { signal });
    const times = pushes.flatMap((push) => push.events.filter(({ what }) => what === "acknowledged")
      .map(({ at }) => at - push.acceptedAt)).sort((one, other) => one - other);
    if (!times.length) return void (figures.latency.value.textContent = "-");
    figures.latency.value.textContent = duration(percentile(times, 0.5));
    figures.latency.unit.textContent = `95 %: ${duration(percentile(times, 0.95))}`;
  });
}

/** The nodes of a cluster, whose sums the other figures are. */
function nodesTable() {
  const of = (get) => ({ status }) => (status ? number(get(status)) : "?");
  const table = new Table({
    caption: "The nodes of the cluster", key: ({ name }) => name, empty: "",
    columns: [
      { label: "Node", cell: ({ name }) => name },
      { label: "Devices", kind: "number", cell: of(({ devices }) => devices) },
      { label: "Connections of devices", kind: "number", cell: of((status) => status.deviceConnections) },
      { label: "Connections of providers", kind: "number", cell: of((status) => status.providerConnections) },
      { label: "Pending", kind: "number", cell: of(({ counters }) => counters.pending) },
    ],
  });
  return { table, section: element("section", { hidden: true }, element("h2", {}, "What each node has"), table.node) };
}

function showAlarm(alarm, status, say) {
  const nodes = status.nodes ?? [{ status }];
  const shards = nodes.flatMap(({ name, status: own }) => (own?.countersOfShards ?? []).flatMap(
    ({ isBalanced }, shard) => (isBalanced ? [] : [name ? `${shard} of node ${name}` : `${shard}`])));
  const isOver = shards.length === 0;
  if (alarm.hidden === isOver) return;
  alarm.hidden = isOver;
  alarm.textContent = isOver ? "" : `ALARM: the counters of shard ${shards.join(", ")} do not balance. `
    + "A notification may be lost. This cannot happen without a defect: store the relay's log and tell its developers.";
  if (!isOver) say(alarm.textContent);
}

function endsOf(counters) {
  const dropped = Object.values(counters.dropped).reduce((sum, value) => sum + value, 0);
  const causes = Object.entries(counters.dropped).filter(([, value]) => value > 0)
    .map(([cause, value]) => `${cause}: ${number(value)}`).join(", ");
  return [
    { name: "accepted", value: counters.accepted, meaning: "the relay answered 200; the sum of the lines below" },
    { name: "delivered", value: counters.delivered, meaning: "the device has acknowledged it" },
    { name: "pending", value: counters.pending, meaning: "waits for its device" },
    { name: "replaced", value: counters.replaced,
        meaning: "a newer one has its collapse identifier, or it was sent twice" },
    { name: "expired", value: counters.expired, meaning: "was not delivered before its expiration" },
    { name: "discarded", value: counters.discarded, meaning: "was now or never, and the device was away" },
    { name: "dropped", value: dropped, meaning: causes || "was given up" },
  ];
}

function othersOf(status) {
  const { broadcasts, trace } = status;
  return [
    { name: "shards", value: status.shards, meaning: "threads that serve connections" },
    { name: "channels", value: status.channels,
        meaning: `${count(status.subscriptions, "subscription")} of connected devices` },
    { name: "broadcasts", value: broadcasts.accepted,
        meaning: `${number(broadcasts.sent)} sent to devices, ${number(broadcasts.dropped)} dropped` },
    { name: "refused connections", value: status.refusedConnections, meaning: "over a limit" },
    { name: "deferred devices", value: status.deferredDevices, meaning: "were asked to come back later" },
    ...(trace ? [{ name: "lost records", value: trace.lost, meaning: "of the trace: lives of pushes may have gaps" }]
        : []),
  ];
}

