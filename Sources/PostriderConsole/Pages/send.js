// Sends a push, as Apple's console does, and follows it.

import { ask, Failure, path, request } from "./api.js";
import { badge, button, choice, code, copyButton, element, facts, field, input, link } from "./elements.js";
import { judge } from "./jsoncheck.js";
import { timeLine } from "./pushlife.js";

const example = JSON.stringify({ aps: { alert: { title: "Hello", body: "from the console" } } }, null, 2);
const pushTypes = ["alert", "background", "complication", "controls", "fileprovider", "liveactivity", "location", "mdm",
  "pushtotalk", "voip", "widgets"];
/** The stages of a push that are waited for, one after the other. */
const stages = [["accepted", "The relay has accepted it"], ["delivered", "The device has it"],
    ["taken", "The app has taken it"],
  ["done", "The app has handled it"]];

export function showSend({ root, query, session, signal, say }) {
  const controls = {
    token: input("token", { value: query.token, required: true, class: "mono", list: "tokens" }),
    topic: input("topic", { value: query.topic, required: true, placeholder: "com.example.app" }),
    type: choice("type", pushTypes.map((word) => [word, word]), query.type ?? "alert"),
    priority: choice("priority", [["10", "10: at once"], ["5", "5: sparing the battery"], ["1", "1: least"]], "10"),
    expiration: choice("expiration", [["", "none given"], ["0", "0: now or never"], ["3600", "in an hour"],
        ["86400", "in a day"],
      ["2592000", "in 30 days"]]),
    collapse: input("collapse", { maxlength: 64 }),
    identity: input("identity", { class: "mono", placeholder: "the relay chooses one" }),
    payload: element("textarea", { name: "payload", rows: 12, spellcheck: "false", class: "mono", value: example }),
  };
  const verdict = element("p", { class: "verdict", role: "status" });
  const numbers = element("pre", { class: "lines", "aria-hidden": "true" });
  const editor = element("div", { class: "editor" }, numbers, controls.payload);
  const line = element("pre", { class: "curl", tabindex: "0", "aria-label": "The same as a curl command" });
  const send = element("button", { type: "submit", class: "primary" }, "Send");
  const result = element("section", { "aria-label": "What became of it", hidden: true });
  const names = element("datalist", { id: "tokens" });
  const payload = field("Payload (JSON)", controls.payload);
  payload.append(verdict);
  controls.payload.replaceWith(editor);
  editor.append(controls.payload);
  const form = element("form", { class: "send", novalidate: true },
    field("Device token", controls.token, "Of a device's page, or what the app has registered"), names,
    field("apns-topic", controls.topic),
    element("div", { class: "columns" }, field("apns-push-type", controls.type),
        field("apns-priority", controls.priority),
      field("apns-expiration", controls.expiration)),
    element("div", { class: "columns" }, field("apns-collapse-id", controls.collapse,
        "A newer push with the same one replaces this one"),
      field("apns-id", controls.identity, "A UUID")),
    payload, element("div", { class: "actions" }, send));
  root.append(element("div", { class: "halves" }, form, element("div", {}, result,
    element("section", {}, element("h2", {}, "The same with curl"), line,
        copyButton(() => line.textContent, "Copy the command"),
      element("p", { class: "hint" }, "POSTRIDER_TOKEN is a provider token, which ", code("postrider token"),
          " prints. The console itself needs none.")))));

  const check = () => {
    const found = judge(controls.payload.value, controls.type.value);
    verdict.textContent = found.sentence;
    verdict.className = `verdict ${found.isError ? "bad" : found.isFine ? "good" : "waiting"}`;
    if (found.isError) controls.payload.setAttribute("aria-invalid", "true");
    else controls.payload.removeAttribute("aria-invalid");
    const lines = controls.payload.value.split("\n").length;
    numbers.replaceChildren(...Array.from({ length: lines }, (_, index) =>
      element("span", { class: found.line === index + 1 && "bad" }, `${index + 1}\n`)));
    controls.payload.rows = Math.max(8, Math.min(lines, 30));
    line.textContent = curl(controls, session);
    return found;
  };
  let followed = new AbortController();
  form.addEventListener("input", check);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const found = check();
    const missing = !controls.token.value.trim() ? controls.token : !controls.topic.value.trim() ? controls.topic
        : null;
    if (missing || found.isError) {
      (missing ?? controls.payload).focus();
      say(missing ? "A device token and a topic are needed." : found.sentence);
      return;
    }
    // Whoever sends again does not follow the push before any more.
    followed.abort();
    followed = new AbortController();
    send.disabled = true;
    try {
      await push({ controls, result, signal: AbortSignal.any([signal, followed.signal]), say });
    } finally {
      send.disabled = false;
    }
  });
  controls.token.addEventListener("change", () => {
    const option = [...names.children].find(({ value }) => value === controls.token.value);
    if (option) controls.topic.value = option.dataset.topic;
    check();
  });
  check();
  offerTokens(names, signal);
}

/** Offers the tokens of connected devices, if there are not too many. */
async function offerTokens(names, signal) {
  try {
    const { devices } = await ask("GET", path(["status"]), { signal });
    if (devices > 500) return;
    const list = await ask("GET", path(["devices"], { sort: "name" }), { signal });
    names.append(...list.flatMap(({ name, identity, registrations }) => registrations.map(({ token, topic }) =>
      element("option", { value: token, "data-topic": topic, label: `${topic} on ${name ?? identity}` }))).slice(0,
          500));
  } catch (error) {
    if (!(error instanceof Failure) && !signal.aborted) throw error;
  }
}

/** The header fields of the push, as [name, value]. */
function headers(controls) {
  const expiration = controls.expiration.value;
  return [["apns-topic", controls.topic.value.trim()], ["apns-push-type", controls.type.value],
      ["apns-priority", controls.priority.value],
    ["apns-expiration", expiration > 0 ? String(Math.floor(Date.now() / 1000) + Number(expiration)) : expiration],
    ["apns-collapse-id", controls.collapse.value], ["apns-id", controls.identity.value.trim()]].filter(([, value]) =>
        value !== "");
}

/** A text as one word of a shell. */
function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function curl(controls, session) {
  const host = `${location.hostname}:${session.providerPort}`;
  return ["curl --http2 -i", "-H \"authorization: bearer $POSTRIDER_TOKEN\"",
    ...headers(controls).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    `-d ${quote(controls.payload.value)}`,
    quote(`https://${host}/3/device/${controls.token.value.trim() || "TOKEN"}`)].join(" \\\n  ");
}

/** The relay's words for where a push is, as a sentence. */
function asSentence(text) {
  return text && `${text[0].toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}

async function push({ controls, result, signal, say }) {
  result.hidden = false;
  result.replaceChildren(element("h2", {}, "What became of it"), element("p", {}, "Sending \u2026"));
  let answer;
  try {
    // A header field of a browser has Latin characters only; what does not fit is refused here, not sent otherwise.
    answer = await request("POST", `/3/device/${encodeURIComponent(controls.token.value.trim())}`,
      { body: controls.payload.value, headers: headers(controls), signal });
  } catch (error) {
    const sentence = error instanceof TypeError ? "A header field has characters that HTTP does not permit."
        : error.message;
    result.replaceChildren(element("p", { class: "error", role: "alert" }, sentence));
    return;
  }
  const identity = answer.headers.get("apns-id");
  const { reason, sentence } = answer.value;
  const isAccepted = answer.status === 200;
  const words = isAccepted ? "200 accepted" : [answer.status, reason ?? sentence ?? ""].join(" ");
  const place = element("div");
  result.replaceChildren(element("h2", {}, "What became of it"),
    facts([["Answer", badge(words, isAccepted ? "good" : "bad")],
        ["apns-id", identity && link(["pushes", identity], identity)]]), place);
  say(isAccepted ? "The relay has accepted the push." : `The push was refused: ${words}.`);
  if (isAccepted && identity) follow({ identity, place, signal, say });
}

/** Follows a push through its stages, for two minutes at most. */
async function follow({ identity, place, signal, say }) {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal, AbortSignal.timeout(120_000)]);
  const items = new Map(stages.map(([word, text]) => [word, element("li", {}, text)]));
  const position = element("p", { class: "hint", role: "status" });
  const life = element("div");
  place.append(element("ol", { class: "stages" }, [...items.values()]), position, life);
  const halt = button("Stop following", () => stop.abort(), { class: "small" });
  place.append(halt);
  try {
    for (const [stage] of stages) {
      let answer = { state: "underWay" };
      while (answer.state === "underWay" && !both.aborted) {
        answer = await ask("GET", path(["pushes", identity], { wait: stage, timeout: 10 }), { signal: both });
        for (const reached of answer.stages) items.get(reached)?.classList.add("reached");
        position.textContent = asSentence(answer.failure ?? answer.position ?? "");
        const trace = await ask("GET", path(["trace"], { id: identity }), { signal: both });
        if (trace.pushes.length) life.replaceChildren(...timeLine(trace.pushes.at(-1), trace.starts));
      }
      if (answer.state === "failed") {
        items.get(stage).classList.add("failed");
        say(`The push has failed: ${position.textContent}`);
        break;
      }
      say(items.get(stage).textContent);
    }
  } catch (error) {
    if (!both.aborted) position.textContent = error.message;
  } finally {
    halt.remove();
  }
}
