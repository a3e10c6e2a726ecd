// Tables that are updated in place: a row that did not change stays the same node, so focus and selection survive.

import { element } from "./elements.js";

export class Table {
  /**
   * `columns` are {label, cell, kind}: `cell` gets an item and returns text or nodes; `kind` is a class of the cells.
   * `key` gives an item's identity. `empty` is shown if there is nothing.
   */
  constructor({ caption, columns, key, empty }) {
    this.columns = columns;
    this.key = key;
    this.rows = new Map();
    const head = columns.map(({ label, kind }) =>
      element("th", { scope: "col", role: "columnheader", class: kind },
          label || element("span", { class: "unseen" }, "Actions")));
    this.body = element("tbody", { role: "rowgroup" });
    this.table = element("table", { role: "table" },
      element("caption", { class: "unseen" }, caption),
      element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, head)), this.body);
    this.note = element("p", { class: "empty", hidden: true }, empty);
    this.node = element("div", { class: "table" }, this.table, this.note);
  }

  /** Shows these items, in this order. */
  update(items) {
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    const place = focused && this.#place(focused);
    const rows = new Map();
    for (const item of items) {
      const key = this.key(item);
      const text = JSON.stringify(item);
      const old = this.rows.get(key);
      rows.set(key, old?.text === text ? old : { text, node: this.#row(item) });
    }
    this.rows = rows;
    const nodes = [...rows.values()].map((row) => row.node);
    if (nodes.length !== this.body.children.length || nodes.some((node, index) => this.body.children[index] !== node)) {
      this.body.replaceChildren(...nodes);
    }
    if (focused && document.activeElement !== focused) this.#focus(focused, place);
    this.table.hidden = items.length === 0;
    this.note.hidden = items.length !== 0;
  }

  /** Where a control is: the key of its row, and its number among the row's controls. */
  #place(control) {
    for (const [key, { node }] of this.rows) {
      if (node.contains(control)) return { key, number: controls(node).indexOf(control) };
    }
    return null;
  }

  #focus(control, place) {
    if (control.isConnected) control.focus();
    else if (place && this.rows.has(place.key)) controls(this.rows.get(place.key).node)[place.number]?.focus();
  }

  #row(item) {
    return element("tr", { role: "row" }, this.columns.map(({ label, cell, kind }, index) =>
      element(index === 0 ? "th" : "td", {
        scope: index === 0 && "row", role: index === 0 ? "rowheader" : "cell", class: kind, "data-label": label,
      }, cell(item))));
  }
}

function controls(node) {
  return [...node.querySelectorAll("a, button, input, select")];
}
