// Plots of the last hour as SVG, without a library.

import { element } from "./elements.js";

const height = 150;
const left = 44;
const bottom = 20;
const top = 8;

function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** The smallest of 1, 2 and 5 times a power of ten that is not less. */
function roundUp(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((digit) => digit * power).find((limit) => limit >= value * 0.999999);
}

export class Plot {
  /** `series` are {name, value}: `value` gets a point; `format` writes a value. */
  constructor({ title, series, format, isWhole = false }) {
    Object.assign(this, { title, series, format, isWhole });
    this.picture = svg("svg", { role: "img", height });
    this.readout = element("span", { class: "readout", "aria-hidden": "true" });
    this.legend = element("span", { class: "legend" }, series.map(({ name }, index) =>
      element("span", { class: `key line-${index}` }, name)));
    this.node = element("figure", { class: "plot" },
      element("figcaption", {}, element("span", { class: "title" }, title), this.legend, this.readout), this.picture);
    this.picture.addEventListener("pointermove", (event) => this.#read(event));
    this.picture.addEventListener("pointerleave", () => { this.readout.textContent = ""; this.cursor?.remove(); });
  }

  /** Draws again when the page gets wider or narrower, until the page is left. */
  watch(signal) {
    const observer = new ResizeObserver(() => { if (this.points) this.update(this.points, this.now); });
    observer.observe(this.node);
    signal.addEventListener("abort", () => observer.disconnect());
  }

  /** Shows points, oldest first,
  each with `at` in milliseconds; the right end is `now`. A young relay has a short axis. */
  update(points, now) {
    const span = Math.min(Math.max(now - (points[0]?.at ?? now), 120_000), 3_600_000);
    const start = now - span;
    const width = Math.max(this.node.clientWidth - 24, 240);
    this.now = now;
    this.width = width;
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.points = points.filter(({ at }) => at >= start);
    this.x = (at) => left + ((at - start) / span) * (width - left - 4);
    const values = this.points.flatMap((point) => this.series.map(({ value }) => value(point)));
    const limit = Math.max(roundUp(Math.max(0, ...values)), this.isWhole ? 2 : 0);
    const y = (value) => height - bottom - (value / limit) * (height - bottom - top);
    const parts = [0, limit / 2, limit].flatMap((value) => [
      svg("line", { class: "grid", x1: left, x2: width, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, this.format(value)),
    ]);
    for (const part of [1, 0.75, 0.5, 0.25, 0]) {
      const anchor = part === 1 ? "start" : part === 0 ? "end" : "middle";
      parts.push(svg("text", { x: this.x(now - part * span), y: height - 5, "text-anchor": anchor },
        part === 0 ? "now" : `-${Math.round((part * span) / 6000) / 10} min`));
    }
    this.series.forEach(({ value }, index) => {
      const line = this.points.map((point) => `${this.x(point.at).toFixed(1)},${y(value(point)).toFixed(1)}`).join(" ");
      if (this.points.length) parts.push(svg("polyline", { class: `line line-${index}`, points: line }));
    });
    this.picture.replaceChildren(...parts);
    this.picture.setAttribute("aria-label", this.#summary());
  }

  /** What a screen reader says in place of the picture. */
  #summary() {
    if (this.points.length === 0) return `${this.title}, the last hour: nothing was measured yet.`;
    const parts = this.series.map(({ name, value }) => {
      const values = this.points.map(value);
      return `${name} now ${this.format(values.at(-1))}, at most ${this.format(Math.max(...values))}`;
    });
    return `${this.title}, the last hour: ${parts.join("; ")}.`;
  }

  #read(event) {
    if (!this.points?.length) return;
    const box = this.picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.width;
    const nearest = this.points.reduce((best, point) =>
      (Math.abs(this.x(point.at) - x) < Math.abs(this.x(best.at) - x) ? point : best));
    this.cursor?.remove();
    this.cursor = svg("line", { class: "cursor", x1: this.x(nearest.at), x2: this.x(nearest.at), y1: top,
        y2: height - bottom });
    this.picture.append(this.cursor);
    const time = new Date(nearest.at).toTimeString().slice(0, 8);
    this.readout.textContent = `${time}: ${this.series.map(({ name, value }) =>
      `${name} ${this.format(value(nearest))}`).join(", ")}`;
  }
}
