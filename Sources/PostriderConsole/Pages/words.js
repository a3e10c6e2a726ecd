// How moments, times and numbers are written.

import { element } from "./elements.js";

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const numbers = new Intl.NumberFormat("en-US");

export function number(value) {
  return numbers.format(value);
}

/** A rate, with as many digits as mean something. */
export function rate(value) {
  return value >= 100 ? number(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 2).replace(/\.?0+$/, "");
}

export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** Milliseconds in the two largest units that are not 0, as `postrider trace` writes them. */
export function duration(milliseconds) {
  if (milliseconds < 0) return `-${duration(-milliseconds)}`;
  const seconds = Math.floor(milliseconds / 1000);
  if (milliseconds < 10_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 600_000) return `${seconds}.${Math.floor((milliseconds % 1000) / 100)} s`;
  if (milliseconds < 86_400_000) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}

/** A moment of this browser's clock and zone; the title has it in UTC. */
export function moment(milliseconds, { precise = false } = {}) {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return "?";
  const isToday = date.toDateString() === new Date().toDateString();
  const fraction = precise ? `.${String(date.getMilliseconds()).padStart(3, "0")}` : "";
  const text = `${isToday ? "" : `${day.format(date)} `}${clock.format(date)}${fraction}`;
  return element("time", { datetime: date.toISOString(), title: date.toISOString() }, text);
}

/** A date with its year. */
export function date(milliseconds) {
  const value = new Date(milliseconds);
  if (Number.isNaN(value.getTime())) return "?";
  return element("time", { datetime: value.toISOString(), title: value.toISOString() },
      value.toISOString().slice(0, 10));
}

/** The beginning of a long identifier; the title has all of it. */
export function brief(text, length = 8) {
  return element("span", { class: "mono", title: text }, text.length > length + 1 ? `${text.slice(0, length)}\u2026`
      : text);
}
