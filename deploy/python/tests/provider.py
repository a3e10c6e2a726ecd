"""Providers for the tests: aioapns, and a blocking one that shows what each frame does."""

import json
import socket
import ssl
import time
from pathlib import Path

import aioapns
import jwt
from aioapns.connection import APNsProductionClientProtocol
from h2.connection import H2Connection
from h2.events import DataReceived, PingAckReceived, RemoteSettingsChanged, ResponseReceived, StreamEnded, StreamReset

TOKEN = "ab" * 32
PAYLOAD = {"aps": {"alert": {"title": "Tea", "body": "is ready"}, "badge": 3}}


def library(relay):
    """A client of aioapns for the relay."""

    class Protocol(APNsProductionClientProtocol):
        APNS_SERVER = relay.host
        APNS_PORT = relay.port

    client = aioapns.APNs(
        key=Path(relay.key).read_text(),
        key_id=relay.key_id,
        team_id=relay.team,
        topic=relay.topic,
        max_connections=1,
        max_connection_attempts=3,
        ssl_context=ssl.create_default_context(cafile=relay.ca),
    )
    client.pool.protocol_class = Protocol
    return client


class Provider:
    """One connection of a provider, which notes all that comes on it in order."""

    def __init__(self, relay, port=None, name=None):
        self.relay = relay
        context = ssl.create_default_context(cafile=relay.ca)
        context.set_alpn_protocols(["h2"])
        plain = socket.create_connection((relay.host, port or relay.port), timeout=60)
        self.socket = context.wrap_socket(plain, server_hostname=name or relay.host, suppress_ragged_eofs=False)
        self.streams = H2Connection()
        self.streams.initiate_connection()
        self.socket.sendall(self.streams.data_to_send())
        self.events = []
        claims = {"iss": relay.team, "iat": int(time.time())}
        headers = {"kid": relay.key_id}
        self.bearer = "bearer " + jwt.encode(claims, Path(relay.key).read_text(), algorithm="ES256", headers=headers)

    def push(self, token=TOKEN, payload=PAYLOAD, **fields):
        """Begins a push, and gives its stream."""
        stream = self._head(token, fields)
        self.end(stream, payload)
        return stream

    def begin(self, token=TOKEN, **fields):
        """Sends the header block of a push, and gives its stream."""
        stream = self._head(token, fields)
        self.socket.sendall(self.streams.data_to_send())
        return stream

    def _head(self, token, fields):
        stream = self.streams.get_next_available_stream_id()
        head = {":method": "POST", ":scheme": "https", ":authority": self.relay.host, ":path": "/3/device/" + token}
        head |= {"authorization": self.bearer, "apns-topic": self.relay.topic, "apns-push-type": "alert"}
        head |= {name.replace("_", "-"): value for name, value in fields.items()}
        self.streams.send_headers(stream, list(head.items()))
        return stream

    def end(self, stream, payload):
        """Sends the body of a push."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        self.streams.send_data(stream, body, end_stream=True)
        self.socket.sendall(self.streams.data_to_send())

    def reset(self, stream):
        self.streams.reset_stream(stream)
        self.socket.sendall(self.streams.data_to_send())

    def wait_until_read(self):
        """Waits until the relay has read all that was sent: a close may lose what it has not read."""
        self.streams.ping(b"all read")
        self.socket.sendall(self.streams.data_to_send())
        self.read(lambda event: isinstance(event, PingAckReceived))

    def read(self, until):
        """Reads until an event is the wanted one, and gives it."""
        while True:
            for event in self._receive():
                self.events.append(event)
                if until(event):
                    return event

    def read_to_end(self):
        """Reads until the relay closes, and gives how: "close_notify", or "cut"."""
        try:
            while True:
                self.events += self._receive()
        except ConnectionError as error:
            return str(error)

    def _receive(self):
        try:
            received = self.socket.recv(65536)
        except (ssl.SSLEOFError, ConnectionResetError):
            raise ConnectionError("cut") from None
        if not received:
            raise ConnectionError("close_notify")
        events = self.streams.receive_data(received)
        self.socket.sendall(self.streams.data_to_send())
        return events

    def answer(self, stream):
        """The status, the header fields and the JSON of a stream's answer."""
        ended = (StreamEnded, StreamReset)
        self.read(lambda event: isinstance(event, ended) and event.stream_id == stream)
        head = dict(next(e for e in self.events if isinstance(e, ResponseReceived) and e.stream_id == stream).headers)
        body = self.body(stream)
        head = {name.decode(): value.decode() for name, value in head.items()}
        return int(head.pop(":status")), head, json.loads(body) if body else None

    def settings(self):
        """The values of each SETTINGS frame so far, by their codes."""
        frames = [event.changed_settings for event in self.events if isinstance(event, RemoteSettingsChanged)]
        return [{code: change.new_value for code, change in frame.items()} for frame in frames]

    def body(self, stream):
        """What has come of an answer's body."""
        return b"".join(e.data for e in self.events if isinstance(e, DataReceived) and e.stream_id == stream)

    def send(self, token=TOKEN, payload=PAYLOAD, **fields):
        """Pushes, and gives the answer's status."""
        return self.answer(self.push(token, payload, **fields))[0]

    def frames_to_end(self):
        """The kinds and payloads of the frames that tell of an answer or the end, in order, until the relay closes.

        h2 takes any frame after a GOAWAY for an error, so it is not asked.
        """
        received = b""
        while more := self.socket.recv(65536):
            received += more
        kinds, frames = {0: "DATA", 1: "HEADERS", 3: "RST_STREAM", 7: "GOAWAY"}, []
        while received:
            size, kind = int.from_bytes(received[:3], "big"), kinds.get(received[3])
            if kind:
                frames.append((kind, received[9 : 9 + size]))
            received = received[9 + size :]
        return frames

    def close(self):
        self.socket.close()
