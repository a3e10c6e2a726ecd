"""A real Firefox whose push service is a relay: it subscribes, is killed, and gets every message once and in order.

Two senders use its subscription: pywebpush over HTTP/1.1, and curl over HTTP/2.
"""

import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import requests
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from marionette_driver.marionette import Marionette
from py_vapid import Vapid
from py_vapid.utils import b64urlencode
from pywebpush import WebPusher

from relay import require, say

PATIENCE = 60
MESSAGES = 100

# What a service worker has received, in the order of its push events.
WORKER = """
let last = Promise.resolve();
async function keep(text) {
    const kept = await caches.open("received");
    const count = (await kept.keys()).length;
    await kept.put("/received/" + count, new Response(text));
}
self.addEventListener("install", event => self.skipWaiting());
self.addEventListener("activate", event => event.waitUntil(clients.claim()));
self.addEventListener("push", event => {
    const text = event.data ? event.data.text() : "";
    last = last.then(() => keep(text));
    event.waitUntil(last);
});
"""
SUBSCRIBE = """
    const registration = await navigator.serviceWorker.register("/worker.js");
    await navigator.serviceWorker.ready;
    const options = {userVisibleOnly: true, applicationServerKey: "KEY"};
    return JSON.stringify(await registration.pushManager.subscribe(options));
"""
UNSUBSCRIBE = """
    const registration = await navigator.serviceWorker.ready;
    return (await registration.pushManager.getSubscription()).unsubscribe();
"""
RECEIVED = """
    const kept = await caches.open("received");
    const texts = [];
    for (let count = (await kept.keys()).length, number = 0; number < count; number++)
        texts.push(await (await kept.match("/received/" + number)).text());
    return texts;
"""


class Page(http.server.BaseHTTPRequestHandler):
    """A page, and its service worker."""

    def do_GET(self):
        kind, text = {"/": ("text/html", "<title>Page</title>"), "/worker.js": ("text/javascript", WORKER)}.get(
            self.path, (None, None))
        if kind is None:
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *words):
        pass


def free_port():
    """Returns a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class Firefox:
    """Debian's Firefox without a screen, with a profile that outlives it."""

    def __init__(self, folder, server, authority):
        self.profile = Path(folder) / "profile"
        self.profile.mkdir()
        self.port = free_port()
        database = f"sql:{self.profile}"
        for words in (["-N", "--empty-password"], ["-A", "-n", "relay", "-t", "CT,,", "-i", authority]):
            subprocess.run(["certutil", *words, "-d", database], check=True)
        preferences = {
            "dom.push.serverURL": server,
            # Marionette turns it off if nothing is said.
            "dom.push.connection.enabled": True,
            "marionette.port": self.port,
            # The page has the user's permission, and shows no notification for a message.
            "permissions.default.desktop-notification": 1,
            "dom.push.maxQuotaPerSubscription": 10 * MESSAGES,
        }
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in preferences.items()]
        (self.profile / "user.js").write_text("\n".join(lines) + "\n")
        self.process = None

    def start(self, url):
        """Starts the browser and shows a page."""
        words = ["firefox-esr", "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile",
                 str(self.profile), "about:blank"]
        log = (self.profile.parent / "firefox.log").open("ab")
        # Its helper processes are in its group, and end with it.
        self.process = subprocess.Popen(
            words, env=os.environ | {"HOME": str(self.profile.parent)}, stdout=log, stderr=log, start_new_session=True)
        self.driver = Marionette(host="127.0.0.1", port=self.port)
        self.driver.raise_for_port(PATIENCE)
        self.driver.start_session()
        self.driver.timeout.script = PATIENCE
        self.driver.navigate(url)

    def keep_identity(self):
        """Has the browser write its settings, among them its identity at the push service, as it does now and then."""
        with self.driver.using_context(self.driver.CONTEXT_CHROME):
            self.driver.execute_script("Services.prefs.savePrefFile(null);")
        require("dom.push.userAgentID" in (self.profile / "prefs.js").read_text(), "the browser has no identity")

    def kill(self):
        """Ends the browser as a crash does."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def run(self, script):
        """Runs the body of an asynchronous function in the page, and returns its result."""
        value, error = self.driver.execute_async_script(
            "const done = arguments[0];"
            f"(async () => {{ {script} }})().then(value => done([value, null]), error => done([null, String(error)]));")
        require(error is None, f"the page failed: {error}")
        return value


class Sender:
    """An application server with a VAPID key and a subscription."""

    def __init__(self, authority):
        self.authority = authority
        self.key = Vapid(ec.generate_private_key(ec.SECP256R1()))
        point = self.key.public_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.public_key = b64urlencode(point)
        self.session = requests.Session()
        self.session.verify = authority
        # A variable of the environment would take the place of the authority.
        self.session.trust_env = False

    def subscribe(self, subscription):
        """Takes the browser's subscription."""
        self.subscription = subscription
        self.endpoint = subscription["endpoint"]
        origin = "/".join(self.endpoint.split("/")[:3])
        claims = {"aud": origin, "sub": "mailto:push@example.org", "exp": int(time.time()) + 3600}
        self.headers = self.key.sign(claims)

    def pywebpush(self, text, ttl=600):
        """Sends with pywebpush, over HTTP/1.1, and returns the status."""
        pusher = WebPusher(self.subscription, requests_session=self.session)
        return pusher.send(text, headers=self.headers, ttl=ttl, content_encoding="aes128gcm").status_code

    def curl(self, text, folder):
        """Sends with curl, over HTTP/2, and returns the status and the version of HTTP."""
        body = Path(folder) / "body"
        body.write_bytes(WebPusher(self.subscription).encode(text.encode(), content_encoding="aes128gcm")["body"])
        headers = self.headers | {"TTL": "600", "Content-Encoding": "aes128gcm"}
        words = [word for name, value in headers.items() for word in ("-H", f"{name}: {value}")]
        return subprocess.run(
            ["curl", "-sS", "--http2", "--cacert", self.authority, "--data-binary", f"@{body}", "-o", os.devnull,
             "-w", "%{http_code} %{http_version}", *words, self.endpoint],
            check=True, capture_output=True, text=True).stdout.strip()


def wait_for(browser, texts):
    """Waits until the service worker has as many messages, and requires that they are these."""
    end = time.monotonic() + PATIENCE
    while len(received := browser.run(RECEIVED)) < len(texts) and time.monotonic() < end:
        time.sleep(0.1)
    require(received == texts, f"the service worker received {received}, and not {texts}")


def main():
    description = json.loads(Path(sys.argv[1]).read_text())
    authority = description["authorityFile"]
    page = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=page.serve_forever, daemon=True).start()
    url = f"http://localhost:{page.server_port}/"
    sender = Sender(authority)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Firefox(folder, description["webURL"], authority)
        try:
            run(browser, url, sender, folder)
        finally:
            browser.kill()


def run(browser, url, sender, folder):
    browser.start(url)
    sender.subscribe(json.loads(browser.run(SUBSCRIBE.replace("KEY", sender.public_key))))
    say("subscribed")

    require(sender.pywebpush("by pywebpush") == 201, "pywebpush was not answered 201")
    answer = sender.curl("by curl", folder)
    require(answer == "201 2", f"curl was answered {answer}, and not 201 over HTTP/2")
    wait_for(browser, ["by pywebpush", "by curl"])
    say("both senders reached the service worker")

    browser.keep_identity()
    browser.kill()
    texts = [f"message {number}" for number in range(MESSAGES)]
    for text in texts:
        require(sender.pywebpush(text) == 201, f"{text} was not answered 201")
    browser.start(url)
    wait_for(browser, ["by pywebpush", "by curl", *texts])
    # What was acknowledged is not sent again when the browser is back.
    browser.kill()
    browser.start(url)
    require(sender.pywebpush("last") == 201, "the last message was not answered 201")
    wait_for(browser, ["by pywebpush", "by curl", *texts, "last"])
    say(f"all {MESSAGES} messages came once and in order")

    stranger = Sender(sender.authority)
    stranger.subscribe(sender.subscription)
    require((status := stranger.pywebpush("x")) == 403, f"another key was answered {status}, and not 403")
    sender.headers, headers = {}, sender.headers
    require((status := sender.pywebpush("x")) == 401, f"no key was answered {status}, and not 401")
    sender.headers = headers
    require(browser.run(UNSUBSCRIBE) is True, "the page could not unsubscribe")
    end = time.monotonic() + PATIENCE
    # The browser unsubscribes at its push service after it has told the page.
    while (status := sender.pywebpush("gone")) != 410 and time.monotonic() < end:
        time.sleep(0.1)
    require(status == 410, f"a removed subscription was answered {status}, and not 410")
    say("the removed subscription is gone")


if __name__ == "__main__":
    main()
