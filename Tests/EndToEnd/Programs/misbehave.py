"""Bad input on both ports: each gets its clear answer or a timely close, and the next good push works.

usage: misbehave.py RELAY.json
"""

import asyncio
import json
import ssl
import struct
import sys
import time
from pathlib import Path
from uuid import UUID, uuid4

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from device import Device
from provider import bearer
from relay import Relay, require, say
from wire import Client, closes, connect

GOOD = b'{"aps":{"alert":"good"}}'


class Misbehaviour:
    def __init__(self, relay, token):
        self.relay = relay
        self.token = token
        self.bearer = bearer(relay)
        self.device_endpoint = relay.device_endpoint

    def client(self, **options):
        return Client(self.relay.provider_endpoint, self.relay.ca, **options)

    def headers(self, **changes):
        """A good request's header fields with these changes; None leaves one out."""
        fields = {
            ":method": "POST",
            ":scheme": "https",
            ":authority": "localhost",
            ":path": f"/3/device/{self.token}",
            "authorization": self.bearer,
            "apns-topic": self.relay.topic,
            "apns-id": str(uuid4()),
        }
        fields.update({name.replace("_", "-"): value for name, value in changes.items() if name != "path"})
        if "path" in changes:
            fields[":path"] = changes["path"]
        return [(name, value) for name, value in fields.items() if value is not None]

    def token_of(self, key=None, **claims):
        """A provider token that is not quite right."""
        header = {"kid": claims.pop("kid", self.relay.key_identifier)}
        claims = {"iss": self.relay.team, "iat": int(time.time())} | claims
        key = key or Path(self.relay.key).read_text()
        return f"bearer {jwt.encode(claims, key, algorithm='ES256', headers=header)}"

    def good_push(self):
        """Pushes on a new connection and answers the identity."""
        client = self.client()
        identity = uuid4()
        status, head, body, _ = client.request(self.headers(apns_id=str(identity)), GOOD)
        require((status, body) == (200, b""), f"a good push gets {status} {body}")
        require(head["apns-id"] == str(identity), "apns-id is echoed")
        client.close()
        return identity.bytes

    def requests(self):
        """Requests that are answered: name, header fields, body, status, reason."""
        stranger = ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        token, head = self.token, self.headers
        yield "a token that is not ours", head(path="/3/device/" + "ab" * 32), GOOD, 400, "BadDeviceToken"
        yield "a token with one digit changed", head(
            path=f"/3/device/{token[:-1]}{'0' if token[-1] != '0' else '1'}"), GOOD, 400, "BadDeviceToken"
        yield "a token of 400 digits", head(path="/3/device/" + "ab" * 200), GOOD, 400, "BadDeviceToken"
        yield "a token that is not hexadecimal", head(path="/3/device/hello"), GOOD, 400, "BadDeviceToken"
        yield "no token", head(path="/3/device/"), GOOD, 400, "MissingDeviceToken"
        yield "JSON that is not JSON", head(), b"{'aps': ...", 400, "PayloadEmpty"
        yield "JSON that is not UTF-8", head(), b'{"a":"\xff"}', 400, "PayloadEmpty"
        yield "JSON that is no object", head(), b"[1]", 400, "PayloadEmpty"
        yield "JSON a thousand arrays deep", head(), b'{"a":' + b"[" * 1000 + b"]" * 1000 + b"}", 400, "PayloadEmpty"
        yield "no payload", head(), b"", 400, "PayloadEmpty"
        yield "a payload of 4097 bytes", head(), b'{"a":"' + b"x" * 4089 + b'"}', 413, "PayloadTooLarge"
        yield "a payload of 60 KB", head(), b'{"a":"' + b"x" * 60_000 + b'"}', 413, "PayloadTooLarge"
        yield "no topic", head(apns_topic=None), GOOD, 400, "MissingTopic"
        yield "a topic of nobody", head(apns_topic="com.example.nobody"), GOOD, 400, "TopicDisallowed"
        yield "no provider token", head(authorization=None), GOOD, 403, "MissingProviderToken"
        yield "a provider token that is none", head(authorization="bearer a.b.c"), GOOD, 403, "InvalidProviderToken"
        yield "an unknown key", head(authorization=self.token_of(stranger, kid="STRANGER01")), GOOD, 403, \
            "InvalidProviderToken"
        yield "a key of somebody else", head(authorization=self.token_of(stranger)), GOOD, 403, "InvalidProviderToken"
        yield "another team", head(authorization=self.token_of(iss="OTHERTEAM1")), GOOD, 403, "InvalidProviderToken"
        yield "a token of yesterday", head(authorization=self.token_of(iat=int(time.time()) - 86_400)), GOOD, 403, \
            "ExpiredProviderToken"
        yield "an apns-id that is no UUID", head(apns_id="seven"), GOOD, 400, "BadMessageId"
        yield "a priority of 7", head(apns_priority="7"), GOOD, 400, "BadPriority"
        yield "an expiration of yesterday's news", head(apns_expiration="soon"), GOOD, 400, "BadExpirationDate"
        yield "a push type of nobody", head(apns_push_type="carrier-pigeon"), GOOD, 400, "InvalidPushType"
        yield "a long collapse identifier", head(apns_collapse_id="x" * 65), GOOD, 400, "BadCollapseId"
        yield "a topic said twice", [*head(), ("apns-topic", self.relay.topic)], GOOD, 400, "DuplicateHeaders"
        yield "another path", head(path="/2/device/" + token), GOOD, 404, "BadPath"
        yield "another method", [(":method", "GET"), *head()[1:]], b"", 405, "MethodNotAllowed"

    def answered(self, fields, body, status, reason):
        """The request gets this answer, and the connection is as good as before."""
        client = self.client()
        for headers, body, status, reason in [(fields, body, status, reason), (self.headers(), GOOD, 200, None)]:
            got, head, text, _ = client.request(headers, body)
            told = json.loads(text)["reason"] if text else None
            require((got, told) == (status, reason), f"got {got} {told}, not {status} {reason}")
            require(head["apns-id"] == dict(headers)["apns-id"], "apns-id is echoed")
        client.close()

    def stream_cut_by_reset(self):
        client = self.client()
        client.reset(client.begin(self.headers(), GOOD[:9], end=False))
        status, _, _, _ = client.request(self.headers(), GOOD)
        require(status == 200, f"the next push on the connection gets {status}")
        client.close()

    def stream_cut_by_close(self):
        client = self.client()
        client.begin(self.headers(), GOOD[:9], end=False)
        client.close()

    def frame_cut_by_close(self):
        client = self.client()
        # A DATA frame of 100 bytes of which 3 come.
        stream = client.begin(self.headers(), end=False)
        client.socket.sendall(b"\x00\x00\x64\x00\x00" + struct.pack(">I", stream) + b"abc")
        client.close()

    def garbage_for_tls(self):
        for endpoint in (self.relay.provider_endpoint, self.device_endpoint):
            connection = connect(endpoint)
            connection.sendall(b"GET / HTTP/1.1\r\nhost: relay\r\n\r\n")
            require(b"HTTP" not in closes(connection), "plain text gets no answer in plain text")

    def garbage_for_http2(self):
        for endpoint in (self.relay.provider_endpoint, self.device_endpoint):
            connection = self.relay.tls.wrap_socket(connect(endpoint), server_hostname=endpoint[0])
            connection.sendall(b"\x00" * 4096)
            closes(connection)

    def http_1(self):
        connection = self.relay.tls.wrap_socket(connect(self.relay.provider_endpoint), server_hostname="127.0.0.1")
        connection.sendall(b"POST /3/device/00 HTTP/1.1\r\nhost: relay\r\ncontent-length: 2\r\n\r\n{}")
        answer = closes(connection)
        require(b"Unexpected HTTP/1.x request" in answer, f"HTTP/1.1 is answered with {answer}")

    def http_1_by_alpn(self):
        try:
            self.client(alpn=["http/1.1"])
        except ssl.SSLError as refusal:
            require("NO_APPLICATION_PROTOCOL" in str(refusal).upper().replace(" ", "_"), f"the alert is {refusal}")
        else:
            sys.exit("a client that insists on HTTP/1.1 was let in")

    def header_flood(self):
        client = self.client()
        client.begin([*self.headers(), *((f"x-{number}", "y" * 90) for number in range(150))], GOOD)
        closes(client.socket)

    def courier_garbage(self):
        """A message that cannot be decoded ends the call with a status, and says goodbye first."""
        client = Client(self.device_endpoint, self.relay.ca)
        head = [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
            (":path", "/postrider.courier.v1.Courier/Connect"), ("content-type", "application/grpc"), ("te", "trailers"),
        ]
        _, _, _, trailers = client.request(head, b"\x00\x00\x00\x00\x04\xff\xff\xff\xff")
        require(trailers["grpc-status"] == "3", f"garbage gets {trailers}")
        closes(client.socket)

    def courier_of_another_name(self):
        client = Client(self.device_endpoint, self.relay.ca)
        head = [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
            (":path", "/postrider.courier.v1.Courier/Teleport"), ("content-type", "application/grpc"),
        ]
        status, told, _, _ = client.request(head, b"\x00\x00\x00\x00\x00")
        require((status, told["grpc-status"]) == (200, "12"), f"an unknown method gets {status} {told}")
        client.close()

    def connections(self):
        """What is done to a whole connection."""
        yield "a stream that is reset half-way", self.stream_cut_by_reset
        yield "a stream whose connection is cut half-way", self.stream_cut_by_close
        yield "a frame that is cut half-way", self.frame_cut_by_close
        yield "garbage instead of TLS", self.garbage_for_tls
        yield "garbage instead of HTTP/2", self.garbage_for_http2
        yield "HTTP/1.1", self.http_1
        yield "HTTP/1.1 by ALPN", self.http_1_by_alpn
        yield "more header fields than allowed", self.header_flood
        yield "a device that sends garbage", self.courier_garbage
        yield "a device that calls an unknown method", self.courier_of_another_name


async def main(relay):
    device = Device(relay, "a bystander")
    await device.join()
    bad = Misbehaviour(relay, device.token)

    async def followed_by_good_push(name, work, *arguments):
        try:
            await asyncio.to_thread(work, *arguments)
            identity = await asyncio.to_thread(bad.good_push)
        except (Exception, SystemExit) as failure:
            sys.exit(f"{name}: {failure!r}")
        await device.has_had(identity)
        say(name)

    # These are closed when their time is over; meanwhile everything else happens.
    stalled = [connect(relay.provider_endpoint), connect(bad.device_endpoint)]
    mute = Client(bad.device_endpoint, relay.ca)
    for name, *request in bad.requests():
        await followed_by_good_push(name, bad.answered, *request)
    for name, work in bad.connections():
        await followed_by_good_push(name, work)
    for connection in stalled:
        await followed_by_good_push("a connection that never finishes its handshake", closes, connection)
    await followed_by_good_push("a device that never says hello", closes, mute.socket)
    await device.disconnect()
    say("everything bad was answered or closed, and every good push arrived")


asyncio.run(main(Relay.described_in(sys.argv[1])))
