// Questions to the user: confirmations, small forms, and secrets that are shown once.

import { button, copyButton, element } from "./elements.js";
import { Failure } from "./api.js";

let titles = 0;

/** Opens a modal dialog; it gives the focus back when it is closed. */
function open(title, content, { onClose } = {}) {
  const id = `dialog-${(titles += 1)}`;
  const before = document.activeElement;
  const dialog = element("dialog", { "aria-labelledby": id }, element("h2", { id }, title), content);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before?.isConnected) before.focus();
    else document.getElementById("main").focus();
    onClose?.();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** A form in a dialog. `action` gets the form's data; if it fails, the dialog stays and says why. */
export function form({ title, content = [], submit, isDangerous = false, action }) {
  return new Promise((resolve) => {
    let result = false;
    const error = element("p", { class: "error", role: "alert", hidden: true });
    const send = element("button", { type: "submit", class: isDangerous ? "danger" : "primary" }, submit);
    const cancel = button("Cancel", () => dialog.close());
    const node = element("form", { novalidate: true }, content, error,
      element("div", { class: "actions" }, cancel, send));
    node.addEventListener("submit", async (event) => {
      event.preventDefault();
      send.disabled = true;
      try {
        await action(new FormData(node));
        result = true;
        dialog.close();
      } catch (failure) {
        if (!(failure instanceof Failure)) throw failure;
        error.textContent = failure.message;
        error.hidden = false;
      } finally {
        send.disabled = false;
      }
    });
    const dialog = open(title, node, { onClose: () => resolve(result) });
    (node.querySelector("input, select, textarea") ?? cancel).focus();
  });
}

/** Asks before something is removed. The focus is on Cancel, so that Return does no harm. */
export function confirm({ title, text, submit, action }) {
  return form({ title, content: element("p", {}, text), submit, isDangerous: true, action });
}

/** Shows a secret that nobody can ask for again. */
export function showSecret({ title, text, secret }) {
  return new Promise((resolve) => {
    const close = button("I have stored it", () => dialog.close(), { class: "primary" });
    const dialog = open(title, [element("p", {}, text), element("pre", { class: "secret", tabindex: "0" }, secret),
      element("div", { class: "actions" }, copyButton(secret), close)], { onClose: resolve });
    close.focus();
  });
}
