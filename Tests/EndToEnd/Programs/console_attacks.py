"""What providers, devices, other pages and strangers can do to the console: nothing.

One page comes from another port of the same host, which is the worst case: for a browser it is the same site, so it sends
the cookies of the session along.
"""

import http.server
import json
import secrets
import ssl
import threading
from pathlib import Path

import httpx

from relay import require, say

MARKUP = """<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>"""
BREAKOUT = "\"'><svg onload=window.hurt=1>{{7*7}}javascript:window.hurt=1"


class OtherOrigin:
    """Serves one page over HTTPS, with the relay's own certificate."""

    def __init__(self, folder, page):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("content-type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(page.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "relay.pem", folder / "relay.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, host):
        return f"https://{host}:{self.server.server_address[1]}/"


def is_unhurt(browser, where):
    browser.until(f"the page at {where}", lambda: browser.heading() and browser.script("return document.readyState") == "complete")
    require(browser.script("return window.hurt") is None, f"a script ran at {where}")
    foreign = browser.script("return document.querySelectorAll('main img, main script, main iframe, main svg[onload]').length")
    require(foreign == 0, f"markup became elements at {where}")
    require(not browser.complaints(), f"the policy had to forbid something at {where}: {browser.complaints()}")


def markup(browser, stage):
    """Markup in every field that a device or a provider chooses is text."""
    device = stage.device(MARKUP, agent=BREAKOUT, report=MARKUP)
    _, accepted = stage.push(device.token, {"aps": {"alert": MARKUP}, BREAKOUT: MARKUP}, apns_collapse_id=MARKUP[:60], x_more=BREAKOUT)
    # A topic, an apns-id and a push type that are refused. The trace keeps no such topic and no such apns-id; the captures do.
    stage.push(device.token, apns_topic=MARKUP)
    stage.push(device.token, apns_topic=BREAKOUT)
    stage.push(device.token, apns_id=MARKUP)
    stage.push(device.token, apns_push_type=MARKUP)
    stage.push("ab" * 32, {"aps": MARKUP})
    identity = device.identity.hex()
    browser.open("pushes")
    browser.until("the refusals", lambda: browser.row("BadTopic") and browser.row("BadMessageId") and browser.row("InvalidPushType"))
    is_unhurt(browser, "pushes")
    browser.open(f"pushes/{accepted}")
    browser.until("the device's report", lambda: any(MARKUP in node.text for node in browser.all(".timeline pre")))
    is_unhurt(browser, "the life of a push")
    browser.open("devices")
    browser.until("the device", lambda: browser.all("tbody tr"))
    is_unhurt(browser, "devices")
    browser.open(f"devices/{identity}")
    browser.shows(MARKUP)
    browser.shows(BREAKOUT)
    is_unhurt(browser, "a device")
    browser.open("captures")
    browser.until("the requests", lambda: len(browser.all("tbody tr")) >= 6)
    is_unhurt(browser, "captures")
    for number in range(1, 7):
        browser.open(f"captures/{number}")
        browser.until("its fields", lambda: browser.heading() == f"Capture {number}" and browser.row("apns-topic"))
        is_unhurt(browser, f"capture {number}")
    browser.open("overview")
    is_unhurt(browser, "overview")
    for word in (MARKUP, BREAKOUT):
        for place in (f"pushes?topic={word}", f"pushes?reason={word}&id=x", f"pushes/{word}", f"devices?tag={word}", f"devices/{word}",
                      f"send?token={word}&topic={word}", f"captures/{word}", f"{word}", "login"):
            browser.driver.execute_script("location.hash = '#/' + arguments[0]", place.replace("%", "%25"))
            is_unhurt(browser, place)
    say("markup stays text")
    return device


FORGERY = """
<!doctype html><title>other</title><body><iframe id=frame src="BASE"></iframe>
<form id=push action="BASE3/device/TOKEN" method=post enctype=text/plain target=sink><input name='{"aps":{"alert":"' value='forged"}}'></form>
<form id=login action="BASEsession" method=post enctype=text/plain target=sink><input name='{"link":"' value='LINK"}'></form>
<iframe name=sink></iframe>
<script>
const fields = { "x-postrider-console": "1" };
const attempts = {
  read: () => fetch("BASEv1/devices", { credentials: "include" }).then((answer) => answer.text()),
  session: () => fetch("BASEsession", { credentials: "include" }).then((answer) => answer.text()),
  topic: () => fetch("BASEv1/topics/com.example.forged", { method: "PUT", credentials: "include", headers: fields, body: '{"team":"DEVTEAM001"}' }).then((answer) => answer.text()),
  push: () => fetch("BASE3/device/TOKEN", { method: "POST", credentials: "include", headers: fields, body: '{"aps":{"alert":"forged"}}' }).then((answer) => answer.text()),
  remove: () => fetch("BASEv1/devices/DEVICE", { method: "DELETE", credentials: "include", headers: fields }).then((answer) => answer.text()),
  events: () => new Promise((resolve, reject) => {
    const events = new EventSource("BASEv1/devices/events", { withCredentials: true });
    events.onopen = () => resolve("open");
    events.onerror = () => reject("refused");
  }),
  module: () => import("BASEconsole.js").then(() => "imported"),
};
window.tryAll = async (done) => {
  const results = {};
  for (const [name, attempt] of Object.entries(attempts)) {
    try { results[name] = String(await attempt()); } catch (error) { results[name] = null; }
  }
  // These can be sent without asking; the answers cannot be read.
  await fetch("BASE3/device/TOKEN", { method: "POST", mode: "no-cors", credentials: "include", body: '{"aps":{"alert":"forged"}}' }).catch(() => {});
  await fetch("BASEv1/captures", { method: "POST", mode: "no-cors", credentials: "include" }).catch(() => {});
  document.getElementById("push").submit();
  await new Promise((resolve) => document.querySelector("[name=sink]").addEventListener("load", resolve, { once: true }));
  document.getElementById("login").submit();
  await new Promise((resolve) => document.querySelector("[name=sink]").addEventListener("load", resolve, { once: true }));
  done(results);
};
</script>
"""


def other_origins(browser, stage, device):
    link = browser.link()
    page = FORGERY
    for name, value in (("BASE", browser.base), ("TOKEN", device.token), ("DEVICE", device.identity.hex()), ("LINK", link.rsplit("/", 1)[1])):
        page = page.replace(name, value)
    server = OtherOrigin(Path(browser.description["authorityFile"]).parent, page)
    before = browser.ask("status")["counters"]["accepted"]
    for host in ("127.0.0.1", "localhost"):
        browser.driver.get(server.url(host))
        results = browser.driver.execute_async_script("window.tryAll(arguments[0])")
        require(set(results.values()) == {None}, f"a page of {host} succeeded: {results}")
        browser.driver.switch_to.frame("frame")
        framed = browser.script("return document.body ? document.body.innerText : ''")
        browser.driver.switch_to.default_content()
        require("Postrider" not in framed and "Sign in" not in framed, f"a page of {host} framed the console: {framed}")
    browser.complaints()
    after = browser.ask("status")["counters"]["accepted"]
    require(after == before, f"{after - before} forged pushes were accepted")
    topics = [topic["topic"] for topic in json.loads(browser.run("topics", "list", "--json"))]
    require(topics == [stage.relay.topic], f"the topics are {topics}")
    require(len(browser.ask("devices", "list")) == 1, "a device was removed")
    # The link was not used up by the form, and a page that is signed in does not take it without a question.
    browser.driver.get("about:blank")
    browser.open("overview")
    browser.until("the overview", lambda: browser.heading() == "Overview")
    browser.script("location.href = arguments[0]", link)
    browser.until("the question", lambda: browser.heading() == "Sign in again?")
    browser.click("Stay as I am")
    browser.until("the overview", lambda: browser.heading() == "Overview")
    say("another origin can do nothing")


def client(browser, stage):
    """A program that is no browser."""
    return httpx.Client(http1=False, http2=True, verify=stage.relay.tls, base_url=browser.base)


def session_fixation(browser, stage):
    # The cookie's name is another one at each start of the relay.
    name = next(name for name in browser.cookies() if name.startswith("__Host-postrider"))
    browser.click("Sign out")
    browser.shows("You have signed out.")
    chosen = secrets.token_hex(32)
    browser.driver.execute_cdp_cmd("Network.setCookie", {
        "name": name, "value": chosen, "url": browser.base, "secure": True, "path": "/", "httpOnly": True})
    require(browser.cookies()[name]["value"] == chosen, "the browser did not take the chosen cookie")
    browser.sign_in()
    cookie = browser.cookies()[name]
    require(cookie["value"] != chosen, "the session has the name that an attacker chose")
    require((cookie["secure"], cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, True, "Strict", "/"), f"the cookie is {cookie}")
    require(not cookie["domain"].startswith("."), "the cookie is for a domain")
    first = cookie["value"]
    # A second link ends the first session of this browser.
    browser.driver.get("about:blank")
    again = browser.link()
    browser.driver.get(again)
    browser.click("Begin the other session")
    browser.until("the overview", lambda: browser.heading() == "Overview")
    second = browser.cookies()[name]["value"]
    require(second != first, "a second link gave the same session")
    browser.click("Sign out")
    browser.shows("You have signed out.")
    with client(browser, stage) as program:
        for value in (chosen, first, second, "", "0" * 64, first[:-1]):
            status = program.get("/v1/status", headers={"cookie": f"{name}={value}"}).status_code
            require(status == 401, f"the cookie {value} answers {status}")
    say("nobody chooses a session, and signing out ends it")


def requests(browser, stage):
    """Without a browser: what any program can send."""
    with client(browser, stage) as program:
        page = program.get("/")
        policy = page.headers["content-security-policy"]
        for directive in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'",
                          "form-action 'none'", "frame-ancestors 'none'"):
            require(directive in policy, f"the policy lacks {directive}: {policy}")
        require("unsafe" not in policy and "*" not in policy, f"the policy is {policy}")
        require(page.headers["cache-control"] == "no-store", "the page may be stored")
        require("access-control-allow-origin" not in page.headers, "other origins may read the page")
        require("<script>" not in page.text and "style=" not in page.text and "onclick" not in page.text, "the page has inline code")
        for path in ("/v1/status", "/v1/devices", "/v1/devices/events", "/v1/keys", "/v1/history", "/v1/captures", "/session"):
            answer = program.get(path)
            require(answer.status_code == 401 and "sentence" in answer.json(), f"{path} answers {answer.status_code} without a session")
        for path in ("/../relay.key", "/..%2frelay.key", "/relay.key", "/%00", "/console.js/../../relay.key"):
            answer = program.get(path)
            require(answer.status_code in (400, 401, 403, 404) and "PRIVATE" not in answer.text, f"{path} answers {answer.status_code}")
        for fields, body in (({}, '{"link": "x"}'), ({"x-postrider-console": "1"}, '{"link": "x"}'), ({"x-postrider-console": "1"}, "{"),
                             ({"x-postrider-console": "1"}, "[" * 100_000), ({"x-postrider-console": "1"}, json.dumps({"link": "x" * 100_000}))):
            answer = program.post("/session", headers=fields, content=body)
            require(answer.status_code in (400, 403, 413), f"a bad link answers {answer.status_code}")
            require("set-cookie" not in answer.headers, "a bad link gets a cookie")
        # A thousand wrong links, and a good one is still good.
        for _ in range(1000):
            answer = program.post("/session", headers={"x-postrider-console": "1"}, content=json.dumps({"link": secrets.token_hex(32)}))
            require(answer.status_code in (403, 429), f"a wrong link answers {answer.status_code}")
    browser.driver.get("about:blank")
    browser.sign_in()
    say("programs without a session get nothing")


def run(browser, stage):
    browser.sign_in()
    device = markup(browser, stage)
    other_origins(browser, stage, device)
    session_fixation(browser, stage)
    requests(browser, stage)
