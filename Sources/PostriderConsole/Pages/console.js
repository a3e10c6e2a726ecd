// The entry of the console: signing in, and the page that the address names.

import { ask, Failure } from "./api.js";
import { button, element } from "./elements.js";
import { moment } from "./words.js";
import { showAccess } from "./access.js";
import { showCaptures } from "./captures.js";
import { showChannels } from "./channels.js";
import { showDevices } from "./devices.js";
import { showNodes } from "./nodes.js";
import { showOverview } from "./overview.js";
import { showPushes } from "./pushes.js";
import { showSend } from "./send.js";

const pages = [
  { word: "overview", title: "Overview", show: showOverview },
  { word: "pushes", title: "Pushes", show: showPushes },
  { word: "devices", title: "Devices", show: showDevices },
  { word: "channels", title: "Channels", show: showChannels },
  { word: "send", title: "Send", show: showSend, role: "send" },
  { word: "access", title: "Access", show: showAccess },
  { word: "nodes", title: "Nodes", show: showNodes, isThere: (session) => session.node },
  { word: "captures", title: "Captures", show: showCaptures, isThere: (session) => session.hasCaptures },
];
const roles = ["look", "send", "administer"];

const main = document.getElementById("main");
const live = document.getElementById("live");
const nav = document.querySelector("nav");
const user = document.getElementById("user");
const troubleLine = document.getElementById("trouble");

let session = null;
let leave = new AbortController();

function may(role) {
  return roles.indexOf(session.role) >= roles.indexOf(role);
}

/** Has a screen reader say something. */
function say(text) {
  live.textContent = "";
  setTimeout(() => { live.textContent = text; }, 50);
}

/** Shows what is wrong above the page, until it is over. */
function trouble(sentence) {
  if (troubleLine.textContent === (sentence ?? "")) return;
  troubleLine.textContent = sentence ?? "";
  troubleLine.hidden = !sentence;
}

/** The parts and the query of an address such as `#/devices/kiosk-7?connected=true`. */
function read(hash) {
  const [parts, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const decode = (part) => { try { return decodeURIComponent(part); } catch { return part; } };
  return { parts: parts.split("/").map(decode), query: Object.fromEntries(new URLSearchParams(query)) };
}

/** Replaces the page; whatever the old one still does ends. */
function replace(title, ...content) {
  leave.abort();
  leave = new AbortController();
  trouble(null);
  const heading = element("h1", { tabindex: "-1" }, title);
  main.replaceChildren(heading, ...content);
  document.title = `${title} - Postrider`;
  return heading;
}

function showPage({ isFirst = false } = {}) {
  const { parts, query } = read(location.hash);
  if (parts[0] === "login" && parts[1]) return takeLink(parts[1]);
  if (!session) return showSignIn();
  const page = pages.find(({ word }) => word === parts[0]) ?? pages[0];
  for (const item of nav.querySelectorAll("a")) {
    if (item.dataset.page === page.word) item.setAttribute("aria-current", "page");
    else item.removeAttribute("aria-current");
  }
  const heading = replace(page.title);
  if (!isFirst) heading.focus({ preventScroll: true });
  scrollTo(0, 0);
  const root = element("div");
  main.append(root);
  if (page.role && !may(page.role)) {
    root.append(element("p", { class: "empty" }, `Your session may not use this page: its role is "${session.role}".`));
    return undefined;
  }
  if (page.isThere && !page.isThere(session)) {
    root.append(element("p", { class: "empty" }, "With this relay's settings there is nothing to show here."));
    return undefined;
  }
  return page.show({ root, heading, session, may, say, trouble, query, argument: parts[1], signal: leave.signal });
}

function showFrame() {
  nav.hidden = user.hidden = !session;
  if (!session) return;
  document.getElementById("pages").replaceChildren(...pages
    .filter((page) => (!page.role || may(page.role)) && (!page.isThere || page.isThere(session)))
    .map(({ word, title }) => element("li", {}, element("a", { href: `#/${word}`, "data-page": word }, title))));
  user.replaceChildren(
    element("span", { title: `The session ends at ${new Date(session.expiresAt).toISOString()}` },
      session.name ? `${session.name}, ` : "", session.role,
      element("span", { class: "wide" }, ", until ", moment(session.expiresAt))),
    button("Sign out", signOut, { class: "small" }));
}

async function signOut() {
  try { await ask("DELETE", "/session"); } catch (error) { if (!(error instanceof Failure)) throw error; }
  session = null;
  showFrame();
  showSignIn("You have signed out.");
}

/** Takes the secret out of the address, so that it stays in no history, and signs in with it. */
async function takeLink(secret) {
  history.replaceState(null, "", "#/overview");
  // A link that a stranger sent would move the work of a user into another session without a word.
  if (session && !(await mayChange())) return showPage();
  try {
    session = await ask("POST", "/session", { body: { link: secret } });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (session) return trouble(error.message);
    return showSignIn(error.message);
  }
  showFrame();
  say("You have signed in.");
  return showPage();
}

function mayChange() {
  return new Promise((resolve) => {
    const heading = replace("Sign in again?",
      element("p", {}, "You are signed in, and this link begins another session. Go on if you made the link yourself."),
      element("div", { class: "actions" }, button("Stay as I am", () => resolve(false)),
        button("Begin the other session", () => resolve(true), { class: "primary" })));
    heading.focus();
  });
}

function showSignIn(sentence) {
  const heading = replace("Sign in",
    sentence && element("p", { class: "error", role: "alert" }, sentence),
    element("p", {}, "On the relay's machine, as root or the relay's user, run"),
    element("pre", {}, "postrider console login"),
    element("p", {}, "and open the link that it prints. A link is good once, for five minutes. With ",
      element("code", {}, "--role look"), " the session cannot change anything, with ",
      element("code", {}, "--role send"),
      " it can push, and with ", element("code", {}, "--role administer"), " it can do everything."));
  main.classList.add("narrow");
  leave.signal.addEventListener("abort", () => main.classList.remove("narrow"));
  heading.focus();
}

document.addEventListener("signed-out", ({ detail }) => {
  if (!session) return;
  session = null;
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
  showFrame();
  showSignIn(detail ?? "The session is over.");
});

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

async function begin() {
  const { parts } = read(location.hash);
  try {
    session = await ask("GET", "/session");
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.status !== 401 && parts[0] !== "login") return showSignIn(error.message);
  }
  showFrame();
  addEventListener("hashchange", () => showPage());
  return showPage({ isFirst: true });
}

begin();
