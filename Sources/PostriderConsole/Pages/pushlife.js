// The life of a push in words: its state, and its events as a time line.

import { address, element } from "./elements.js";
import { count, duration, moment } from "./words.js";

const endings = new Set(["acknowledged", "replaced", "merged", "expired", "discarded", "dropped"]);

const causes = {
  overflow: "too many waited for the app",
  unregistered: "the app does not want it any more",
  unstorable: "the store failed, and the provider was told so",
  unreadable: "the store had lost it",
  removed: "the operator has removed the device",
  cancelled: "its sender has cancelled it",
};

/** The state of a push as {text, mood}; the mood chooses a colour. */
export function state(push) {
  if (push.channel) return { text: `broadcast to ${devices(push.events)}`, mood: "good" };
  // A push that was replaced may have been recalled afterwards.
  const last = push.events.findLast(({ what }) => endings.has(what) || what === "recalled");
  if (!last || last.what === "recalled") return { text: "pending", mood: "waiting" };
  if (last.what === "acknowledged") {
    const outcome = push.events.findLast(({ what }) => what === "done" || what === "gaveUp");
    if (outcome?.what === "done") return { text: "done", mood: "good" };
    return outcome ? { text: "delivered, failed", mood: "bad" } : { text: "delivered", mood: "good" };
  }
  if (last.what === "dropped") return { text: `dropped: ${last.cause ?? "?"}`, mood: "bad" };
  return { text: last.what, mood: last.what === "expired" ? "bad" : "over" };
}

function devices(events) {
  return count(events.filter(({ what }) => what === "broadcast").reduce((sum, event) => sum + (event.devices ?? 0),
      0), "device");
}

/** [words, mood] of an event. */
function words(event) {
  const place = `${count(event.devices ?? 0, "device")} of shard ${event.shard ?? "?"}`;
  switch (event.what) {
    case "stored": return ["Stored: it is on the disk", "plain"];
    case "sent": return [`Sent to connection ${event.connection ?? "?"} of shard ${event.shard ?? "?"}`, "plain"];
    case "returned": return ["Its connection was lost before the device acknowledged it; it waits again", "waiting"];
    case "recalled": return ["What had replaced it could not be stored; it waits again", "waiting"];
    case "acknowledged": return ["Acknowledged: the device has it", "good"];
    case "replaced": return ["Replaced by a newer one", "over"];
    case "merged": return ["Merged: the provider sent the same push twice", "over"];
    case "expired": return ["Expired", "bad"];
    case "discarded": return ["Discarded: it was now or never, and the device was not there or left", "over"];
    case "dropped": return [`Dropped: ${causes[event.cause] ?? event.cause ?? "the cause is not known"}`, "bad"];
    case "broadcast": return [`Sent to ${place}`, "good"];
    case "skipped": return [`Not sent to ${place}: too much waited there`, "bad"];
    case "handedOver": return ["The app has taken it", "good"];
    case "shown": return ["The user was shown it", "good"];
    case "actedOn": return ["The user has acted on it", "good"];
    case "replacedOnDevice": return ["A newer one took its place before the app was given it", "over"];
    case "begun": return ["Its handler was started", "plain"];
    case "done": return ["Done: its handler has ended well", "good"];
    case "failed": return ["Failed; it will be tried again", "bad"];
    case "gaveUp": return ["Failed for good: it is a dead letter on the device", "bad"];
    case "postponed": return ["Its handler asks to be started later", "waiting"];
    default: return [event.what, "plain"];
  }
}

/** The steps of a push in the order in which they happened, with the starts of the relay in between. */
function steps(push, starts) {
  const isOver = push.events.some(({ what }) => endings.has(what));
  const end = isOver ? Math.max(...push.events.map(({ at }) => at)) : Infinity;
  const target = push.device ? `device ${push.device}` : `channel ${push.channel ?? "?"}`;
  const restarts = starts.filter((at) => at >= push.acceptedAt && at <= end)
    .map((at) => ({ at, text: "The relay was started again", mood: "waiting" }));
  const all = [{ at: push.acceptedAt, text: `Accepted: ${count(push.payloadBytes, "byte")} for ${target}`,
      mood: "plain" }];
  for (const event of push.events) {
    while (restarts.length && restarts[0].at < event.at) all.push(restarts.shift());
    const [text, mood] = words(event);
    all.push({ at: event.at, text, mood, event });
  }
  return [...all, ...restarts];
}

/** The time line of a push. */
export function timeLine(push, starts = []) {
  const list = element("ol", { class: "timeline" }, steps(push, starts).map(({ at, text, mood, event }) =>
    element("li", { class: mood },
      element("p", { class: "when" }, moment(at, { precise: true }),
          element("span", {}, duration(at - push.acceptedAt))),
      element("p", { class: "what" }, text, event?.other && [": ",
        element("a", { class: "mono", href: address(["pushes", event.other]) }, event.other)],
        event?.node && `, at node ${event.node}`),
      event?.deviceAt !== undefined && element("p", { class: "hint" }, "By the device's clock at ",
          moment(event.deviceAt, { precise: true })),
      event?.text && element("pre", {}, event.text))));
  return [list, push.isCut && element("p", { class: "hint" }, "There were more events; the last one is the last.")];
}
