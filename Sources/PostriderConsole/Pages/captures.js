// Captures: the requests of providers as a relay for tests received them.

import { ask, path, poll } from "./api.js";
import { address, badge, button, choice, code, element, facts, field, go, input, link } from "./elements.js";
import { confirm } from "./dialogs.js";
import { Table } from "./tables.js";
import { count, duration, moment, number } from "./words.js";

const most = 300;
const outcomes = ["accepted", "refused", "captured", "scripted", "lost", "reset", "closed", "abandoned"];

export function showCaptures(page) {
  if (page.argument) return showCapture(page);
  const { root, query, signal, trouble, say, may } = page;
  const filters = {
    topic: input("topic", { value: query.topic, placeholder: "com.example.app" }),
    status: input("status", { value: query.status, inputmode: "numeric", placeholder: "200" }),
    outcome: choice("outcome", [["", "all"], ...outcomes.map((word) => [word, word])], query.outcome ?? ""),
  };
  const form = element("form", { class: "filters", role: "search", "aria-label": "Captures" },
      field("Topic", filters.topic),
    field("Status", filters.status), field("Outcome", filters.outcome), element("div", { class: "actions" },
      element("button", { type: "submit", class: "primary" }, "Search"),
      may("administer") && button("Remove all", () => confirm({
        title: "Remove all captures?", text: "They are only in memory, and nobody can get them back.",
        submit: "Remove all",
        action: async () => {
          await ask("DELETE", path(["captures"]));
          table.update([]);
          say("All captures are removed.");
        },
      }), { class: "danger" })));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go(address(["captures"],
        Object.fromEntries(Object.entries(filters).map(([key, node]) => [key, node.value.trim()]))));
  });
  const table = new Table({ caption: "Captures, the latest first", key: (capture) => capture.number,
      empty: "No request was captured.", columns: [
    { label: "Number", cell: (capture) => link(["captures", String(capture.number)], String(capture.number)) },
    { label: "Received", cell: (capture) => moment(capture.at, { precise: true }) },
    { label: "Topic", cell: (capture) => capture.topic ?? "" },
    { label: "Type", cell: (capture) => capture.pushType ?? "" },
    { label: "Answer", cell: (capture) => answer(capture) },
    { label: "Outcome", cell: (capture) => badge(capture.outcome, mood(capture)) },
    { label: "Rule", cell: (capture) => rule(capture) }, { label: "Body", kind: "number",
        cell: (capture) => count(capture.bodyBytes ?? 0, "byte") },
  ] });
  const note = element("p", { class: "hint" });
  root.append(form, table.node, note);
  const { topic, status, outcome } = query;
  poll(2, { signal, trouble }, async () => {
    const found = await ask("GET", path(["captures"], { topic, status, outcome, last: most }), { signal });
    table.update(found.captures.toReversed());
    note.textContent = `${count(found.captures.length, "request")} shown, at most ${most}.`
      + (found.dropped ? ` ${number(found.dropped)} were dropped, because there was no room.` : "");
  });
  return undefined;
}

function answer(capture) {
  return capture.answer ? [capture.answer.status, capture.answer.reason].filter(Boolean).join(" ") : "none";
}

function mood({ outcome }) {
  if (outcome === "accepted" || outcome === "captured") return "good";
  return outcome === "open" ? "waiting" : outcome === "scripted" ? "over" : "bad";
}

function rule(capture) {
  return capture.rule ? capture.rule.name ?? `number ${capture.rule.number}` : "";
}

function showCapture({ root, heading, argument, signal, trouble }) {
  heading.textContent = `Capture ${argument}`;
  const box = element("div");
  root.append(element("p", {}, link(["captures"], "All captures")), box);
  let last = "";
  poll(2, { signal, trouble }, async () => {
    const find = async (query) => (await ask("GET", path(["captures"], query), { signal })).captures
      .find((one) => String(one.number) === argument);
    // What is still open, or stands behind such a one, is only in the latest.
    const capture = await find({ after: Number(argument) - 1, last: 1 }) ?? await find({ last: most });
    const text = JSON.stringify(capture ?? null);
    if (text === last) return;
    last = text;
    box.replaceChildren(...(capture ? about(capture)
        : [element("p", { class: "empty" }, "There is no such capture.")]));
  });
}

function about(capture) {
  const headers = new Table({ caption: "Header fields", key: ({ index }) => index, empty: "", columns: [
    { label: "Field", cell: ({ name }) => code(name) }, { label: "Value", cell: ({ value }) => code(value) }] });
  headers.update((capture.headers ?? []).map((header, index) => ({ ...header, index })));
  const payload = capture.payload === undefined ? capture.body : JSON.stringify(capture.payload, null, 2);
  return [
    element("article", { class: "card" }, facts([
      ["Received", moment(capture.at, { precise: true })], ["Environment", capture.environment],
      ["Answer", answer(capture)],
      ["Outcome", badge(capture.outcome, mood(capture))], ["Rule", rule(capture)],
      ["apns-id", capture.id && link(["pushes", capture.id], capture.id)],
      ["Provider", capture.connection && `${capture.connection.peer ?? ""}, connection ${capture.connection.number}`],
      ["Provider token", capture.claims && `key ${capture.claims.kid ?? "?"} of team ${capture.claims.iss ?? "?"}`],
    ])),
    element("section", {}, element("h2", {}, "Header fields"), headers.node),
    element("section", {}, element("h2", {}, "Body"), payload === undefined ? element("p", { class: "hint" }, "None.")
      : element("pre", { class: "payload", tabindex: "0", role: "region", "aria-label": "Body" }, payload)),
    capture.events?.length > 0 && element("section", {}, element("h2", {}, "What happened"),
        element("ol", { class: "timeline" },
      capture.events.map(({ kind, at }) => element("li", { class: "plain" },
        element("p", { class: "when" }, moment(at, { precise: true }),
            element("span", {}, duration(at - capture.at))), element("p", { class: "what" }, kind))))),
  ].filter(Boolean);
}
