// Nodes: the cluster as this relay sees it, what it passes on, and draining it.

import { ask, path, poll } from "./api.js";
import { badge, button, code, element, facts } from "./elements.js";
import { confirm } from "./dialogs.js";
import { Table } from "./tables.js";
import { count, duration, number } from "./words.js";

/** A node sends a heartbeat every 250 ms; without one for this long the others take its partitions. */
const leaseMilliseconds = 1500;

export function showNodes({ root, session, may, signal, trouble, say }) {
  let cluster = null;
  const drain = (name) => button("Drain", () => confirm({
    title: `Drain node ${name}?`, submit: "Drain",
    text: [
      "It gives its partitions to the other nodes, and takes none until it is started again. ",
      "Devices come to their new node within about a second; pushes to them wait meanwhile.",
      cluster.nodes.every((node) => node.name === name || node.isDraining)
        && " No other node takes partitions now: it keeps them until there is one.",
    ],
    action: async () => {
      await ask("PUT", path(["drained-nodes", name]));
      await show();
      say(`Node ${name} is being drained.`);
    },
  }), { class: "small danger", "aria-label": `Drain node ${name}` });
  const isOwn = ({ name }) => name === session.node;
  const table = new Table({ caption: "Nodes of the cluster", key: ({ name }) => name,
      empty: "This node has not joined its cluster yet.", columns: [
    { label: "Node", cell: (node) => [code(node.name), isOwn(node) && " (this one)"] },
    { label: "Address for nodes", cell: ({ address }) => code(address) },
    { label: "Partitions", kind: "number", cell: ({ partitions }) => number(partitions) },
    { label: "State", cell: state }, { label: "Link", cell: link },
    { label: "Heartbeat", cell: heartbeat },
    { label: "", kind: "end", cell: (node) =>
      isOwn(node) && !node.isDraining && may("administer") && drain(node.name) },
  ] });
  const figures = element("div");
  root.append(element("article", { class: "card" }, figures), table.node, element("p", { class: "hint" },
    "A node can be drained in its own console, and with postrider nodes drain on its machine."));
  const show = async () => {
    cluster = await ask("GET", path(["nodes"]), { signal });
    const { sent, received, refused, lost } = cluster.forwarded;
    figures.replaceChildren(facts([
      ["This node", code(cluster.node)], ["Serves", count(cluster.served, "partition")],
      ["Last heartbeat", age(cluster.heartbeatMilliseconds)],
      ["Pushes passed on to other nodes", number(sent)], ["Pushes taken from other nodes", number(received)],
      ["Refused, because too much waited (429)", number(refused)],
      ["Without an answer, because a link was missing or ended (503)", number(lost)],
    ]));
    // A row changes only when its words do, so that the focus stays where it is.
    table.update(cluster.nodes.map(({ heartbeatMilliseconds: passed, ...node }) =>
      ({ ...node, late: passed >= leaseMilliseconds ? passed : undefined })));
  };
  poll(2, { signal, trouble }, show);
}

function state({ isDraining, partitions }) {
  if (!isDraining) return badge("serving", "good");
  return partitions > 0 ? badge("draining", "waiting") : badge("drained", "over");
}

function link({ isLinked }) {
  if (isLinked === undefined) return "-";
  return isLinked ? badge("linked", "good") : badge("no link", "bad");
}

function heartbeat({ late }) {
  return late === undefined ? badge("in time", "good") : badge(age(late), "bad");
}

function age(milliseconds) {
  return milliseconds === undefined ? undefined : `${duration(milliseconds)} ago`;
}
