"""Web Push against a live relay that was started with --web-port: senders over HTTP/1.1 and HTTP/2, a browser as a device, and the
abuses of docs/internals/hardening.md for the web port. A good browser and a good sender beside them miss nothing.

usage: web_push.py RELAY.json
"""

import base64
import json
import socket
import ssl
import sys
import threading
import time
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import jwt
import websocket
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from relay import require, say
from wire import Client, PATIENCE_SECONDS, closes


def text(data):
    """Returns bytes in base64url."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class SenderKey:
    """The key of an application server."""

    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        point = serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        self.public = text(self.key.public_key().public_bytes(*point))

    def authorization(self, audience, seconds=600):
        claims = {"aud": audience, "exp": int(time.time()) + seconds, "sub": "mailto:a@example.org"}
        return f"vapid t={jwt.encode(claims, self.key, 'ES256')}, k={self.public}"


class Browser:
    """A browser: it keeps its identity, and nothing else."""

    def __init__(self, url, authority):
        self.url = url
        self.authority = authority
        self.uaid = ""

    def connect(self):
        self.socket = websocket.create_connection(
            self.url, timeout=PATIENCE_SECONDS, sslopt={"ca_certs": self.authority},
            subprotocols=["push-notification"])
        require(self.socket.getsubprotocol() == "push-notification", "another subprotocol was chosen")
        answer = self.ask(messageType="hello", uaid=self.uaid, use_webpush=True, broadcasts={})
        require(answer["status"] == 200, f"hello is answered with {answer}")
        self.uaid = answer["uaid"]

    def ask(self, **message):
        self.socket.send(json.dumps(message))
        return json.loads(self.socket.recv())

    def subscribe(self, key=None):
        more = {"key": key.public} if key else {}
        answer = self.ask(messageType="register", channelID=str(uuid4()), **more)
        require(answer["status"] == 200, f"register is answered with {answer}")
        return answer["channelID"], answer["pushEndpoint"]

    def receive(self):
        """Receives a notification and acknowledges it. Returns its data."""
        told = json.loads(self.socket.recv())
        require(told["messageType"] == "notification", f"{told} is no notification")
        update = {"channelID": told["channelID"], "version": told["version"], "code": 100}
        self.socket.send(json.dumps({"messageType": "ack", "updates": [update]}))
        data = told.get("data", "")
        return base64.urlsafe_b64decode(data + "=" * (-len(data) % 4))


class Sender:
    """A sender, over one connection of HTTP/1.1."""

    def __init__(self, endpoint, authority):
        self.context = ssl.create_default_context(cafile=authority)
        self.endpoint = urlsplit(endpoint)
        self.connection = HTTPSConnection(
            self.endpoint.hostname, self.endpoint.port, context=self.context, timeout=PATIENCE_SECONDS)

    @property
    def audience(self):
        return f"https://{self.endpoint.netloc}"

    def post(self, body=b"", authorization=None, path=None, **fields):
        headers = {"TTL": "600", "Content-Encoding": "aes128gcm"} | fields
        if authorization:
            headers["Authorization"] = authorization
        self.connection.request("POST", path or self.endpoint.path, body, headers)
        answer = self.connection.getresponse()
        content = answer.read()
        return answer, json.loads(content) if content else {}

    def cancel(self, location):
        """Cancels the message of a Location, and returns the status of the answer."""
        self.connection.request("DELETE", urlsplit(location).path)
        answer = self.connection.getresponse()
        answer.read()
        return answer.status


def usual(browser, authority):
    """Messages of every kind, while the browser is there and while it is away."""
    channel, endpoint = browser.subscribe()
    sender = Sender(endpoint, authority)
    posted = []
    sending = threading.Thread(target=lambda: posted.append(sender.post(b"hello")[0]))
    sending.start()
    require(browser.receive() == b"hello", "a message has changed on its way")
    sending.join()
    require(posted[0].status == 201, f"the first message gets {posted[0].status}")
    browser.socket.close()
    for number in range(100):
        answer, _ = sender.post(b"%d" % number)
        require(answer.status == 201, f"message {number} gets {answer.status}")
        require("/m/" in answer.getheader("location"), "a message has no address")
    browser.connect()
    got = [browser.receive() for _ in range(100)]
    require(got == [b"%d" % number for number in range(100)], f"a browser that returns gets {got}")
    browser.socket.close()
    posted = [sender.post(body)[0].getheader("location") for body in (b"kept", b"cancelled", b"kept too")]
    require([sender.cancel(posted[1]) for _ in range(2)] == [204, 404], "a message is not cancelled, once")
    browser.connect()
    got = [browser.receive() for _ in range(2)]
    require(got == [b"kept", b"kept too"], f"beside a cancelled message, a browser gets {got}")
    require(sender.post(b"a" * 4097)[0].status == 413, "4097 bytes are accepted")
    answer, problem = sender.post(b"a", TTL="soon")
    require((answer.status, problem["errno"]) == (400, 112), f"a wrong TTL gets {answer.status} {problem}")
    unknown = sender.endpoint.path[:-2] + ("00" if not sender.endpoint.path.endswith("00") else "11")
    require(sender.post(b"a", path=unknown)[0].status == 404, "a forged address is not refused")
    answer = browser.ask(messageType="unregister", channelID=channel)
    require(answer["status"] == 200, f"unregister is answered with {answer}")
    answer, problem = sender.post(b"a")
    require((answer.status, problem["errno"]) == (410, 106), f"an ended subscription gets {answer.status}")


def keys(browser, authority):
    """Subscriptions that are for one key."""
    key, other = SenderKey(), SenderKey()
    _, endpoint = browser.subscribe(key)
    sender = Sender(endpoint, authority)
    require(sender.post(b"a")[0].status == 401, "a message without a token is accepted")
    for wrong in (
        other.authorization(sender.audience), key.authorization("https://example.org"),
        key.authorization(sender.audience, seconds=-60), key.authorization(sender.audience, seconds=90_000),
    ):
        require(sender.post(b"a", wrong)[0].status == 403, f"{wrong} is accepted")
    client = Client((sender.endpoint.hostname, sender.endpoint.port), authority)
    stream = client.begin([
        (":method", "POST"), (":scheme", "https"), (":authority", sender.endpoint.netloc),
        (":path", sender.endpoint.path), ("ttl", "60"), ("content-encoding", "aes128gcm"),
        ("authorization", key.authorization(sender.audience)),
    ], b"over HTTP/2")
    require(browser.receive() == b"over HTTP/2", "a message over HTTP/2 has changed")
    status, head, body, _ = client.answer(stream)
    require((status, body) == (201, b""), f"a message over HTTP/2 gets {status} {body}")
    require(head["ttl"] == "60", "the TTL is not answered")
    client.close()


class Raw:
    """A connection to the web port that can send anything."""

    def __init__(self, endpoint, authority):
        context = ssl.create_default_context(cafile=authority)
        context.set_alpn_protocols(["http/1.1"])
        connection = socket.create_connection(endpoint, timeout=PATIENCE_SECONDS)
        self.socket = context.wrap_socket(connection, server_hostname=endpoint[0])

    def meet(self, data):
        """Sends bytes, and returns everything until the relay closes."""
        try:
            self.socket.sendall(data)
        except (ConnectionError, ssl.SSLError):
            pass
        return closes(self.socket)


UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: relay\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
)
POST = b"POST /push/a HTTP/1.1\r\nHost: relay\r\n"
# What is sent, and the status of the answer after which the relay closes.
REQUESTS = {
    "a length and chunks": (POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + POST, 400),
    "two lengths": (POST + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n" + POST, 400),
    "a hidden coding": (POST + b"Transfer-Encoding: xchunked\r\n\r\n" + POST, 501),
    "a folded line": (POST + b"X: a\r\n b\r\n\r\n", 400),
    "lines without CR": (POST.replace(b"\r", b"") + b"\n", 400),
    "two hosts": (POST + b"Host: other\r\n\r\n", 400),
    "a huge head": (POST + b"X: " + b"a" * 100_000 + b"\r\n\r\n", 431),
    "many fields": (POST + b"a: b\r\n" * 200 + b"\r\n", 431),
    "a bad chunk": (POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    "a huge chunk": (POST + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n", 413),
    "a huge body": (POST + b"Content-Length: 99999999\r\n\r\n", 413),
    "no HTTP": (b"\x00\x01\x02\r\n\r\n", 400),
    "a head without end": (POST + b"X: a\r\n", None),
    "a body without end": (POST + b"Content-Length: 10\r\n\r\nabc", None),
}
# What is sent after the handshake, and the code with which the relay closes.
FRAMES = {
    "a frame without mask": (b"\x81\x02{}", 1002),
    "a compressed frame": (b"\xc1\x80aaaa", 1002),
    "fragments without end": (b"\x01\x80aaaa" + b"\x00\x80aaaa" * 100, 1008),
    "a huge message": (b"\x81\xff" + (1 << 20).to_bytes(8, "big") + b"aaaa", 1009),
    "a binary message": (b"\x82\x80aaaa", 1003),
    "no JSON": (b"\x81\x83\x00\x00\x00\x00abc", 1007),
    "no hello": (b"\x81\x82\x00\x00\x00\x00{}", 1008),
    "silence": (b"", 1008),
}


def abuse(endpoint, authority):
    """Every abuse, all at once."""
    met = {}

    def request(name, data):
        met[name] = Raw(endpoint, authority).meet(data)

    def frames(name, data):
        raw = Raw(endpoint, authority)
        raw.socket.sendall(UPGRADE)
        head = b""
        while b"\r\n\r\n" not in head:
            head += raw.socket.recv(65536)
        require(b" 101 " in head and b"xtensions" not in head, f"a handshake is answered with {head}")
        met[name] = raw.meet(data)

    threads = [threading.Thread(target=request, args=(name, data)) for name, (data, _) in REQUESTS.items()]
    threads += [threading.Thread(target=frames, args=(name, data)) for name, (data, _) in FRAMES.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, (_, status) in REQUESTS.items():
        answer = met[name]
        wanted = b"HTTP/1.1 %d " % status if status else b""
        require(answer.startswith(wanted), f"{name} is met with {answer[:200]}")
        require(answer.count(b"HTTP/1.1 ") == (1 if status else 0), f"{name} is answered twice: {answer[:200]}")
    for name, (_, code) in FRAMES.items():
        answer = met[name]
        require(answer[:1] == b"\x88", f"{name} is met with {answer[:200]}")
        require(int.from_bytes(answer[2:4], "big") == code, f"{name} is met with {answer[:200]}")


def main():
    told = json.loads(Path(sys.argv[1]).read_text())
    authority = told["authorityFile"]
    browser = Browser(told["webURL"], authority)
    browser.connect()
    usual(browser, authority)
    say("messages arrive")
    keys(browser, authority)
    say("keys are checked")
    _, endpoint = browser.subscribe()
    witness, is_over, all_sent, sent = Sender(endpoint, authority), threading.Event(), threading.Event(), []

    def send():
        while not is_over.is_set():
            answer, problem = witness.post(b"good")
            require(answer.status == 201, f"a good message gets {answer.status} {problem}")
            sent.append(answer)

    got = []

    def take():
        while not (all_sent.is_set() and len(got) >= len(sent)):
            got.append(browser.receive())

    sending, taking = threading.Thread(target=send), threading.Thread(target=take, daemon=True)
    sending.start()
    taking.start()
    target = urlsplit(told["webURL"])
    abuse((target.hostname, target.port), authority)
    is_over.set()
    sending.join()
    # Before that one more may be on its way.
    all_sent.set()
    # The last message wakes the taker once more.
    witness.post(b"end")
    taking.join(PATIENCE_SECONDS)
    require(len(sent) > 10 and got[: len(sent)] == [b"good"] * len(sent), f"{len(sent)} were sent, {len(got)} came")
    stranger = websocket.create_connection(
        told["webURL"].rsplit("/", 1)[0] + "/wrong", timeout=PATIENCE_SECONDS, sslopt={"ca_certs": authority})
    stranger.send(json.dumps({"messageType": "hello", "use_webpush": True}))
    opcode, frame = stranger.recv_data()
    require((opcode, int.from_bytes(frame[:2], "big")) == (8, 1008), f"a stranger gets {opcode} {frame}")
    say("abuses are met")


if __name__ == "__main__":
    main()
