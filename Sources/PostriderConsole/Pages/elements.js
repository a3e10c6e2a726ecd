// Makes elements. Text is only ever set as text, never parsed as HTML: devices and providers choose much of it.

/** An element with attributes, listeners (`on`) and children; null, undefined and false children are left out. */
export function element(name, properties = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (key === "value") node.value = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return node;
}

/** A link to a page of the console; each part and each value is escaped. */
export function link(parts, text, query = {}) {
  return element("a", { href: address(parts, query) }, text);
}

/** The address of a page of the console, such as `#/devices/kiosk-7`. */
export function address(parts, query = {}) {
  const words = Object.entries(query).filter(([, value]) => value).map(
    ([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return `#/${parts.map(encodeURIComponent).join("/")}${words.length ? `?${words.join("&")}` : ""}`;
}

/** Goes to a page of the console, also if it is the present one: then it is asked for again. */
export function go(hash) {
  if (location.hash === hash) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = hash;
}

export function button(text, action, properties = {}) {
  return element("button", { type: "button", ...properties, on: { click: action } }, text);
}

/** A button that copies a text, and says so. */
export function copyButton(text, name = "Copy") {
  const node = button(name, async () => {
    await navigator.clipboard.writeText(typeof text === "function" ? text() : text);
    node.textContent = "Copied";
    setTimeout(() => { node.textContent = name; }, 2000);
  }, { class: "small" });
  return node;
}

let fields = 0;

/** A labelled control of a form, with a hint that a screen reader reads with it. */
export function field(label, control, hint) {
  const id = `field-${(fields += 1)}`;
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return element("div", { class: "field" }, element("label", { for: id }, label), control,
    hint && element("p", { class: "hint", id: `${id}-hint` }, hint));
}

export function input(name, properties = {}) {
  return element("input", { name, type: "text", autocomplete: "off", spellcheck: "false", ...properties });
}

/** A choice; `options` are [value, text]. */
export function choice(name, options, value) {
  const node = element("select", { name }, options.map(([word, text]) => element("option", { value: word }, text)));
  if (value !== undefined) node.value = value;
  return node;
}

/** Facts as a definition list; those without a value are left out. */
export function facts(pairs) {
  return element("dl", { class: "facts" },
      pairs.filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

export function code(text) {
  return element("code", {}, text);
}

/** A word with a coloured dot. The word says everything that the colour says. */
export function badge(text, mood) {
  return element("span", { class: `badge ${mood}` }, text);
}
