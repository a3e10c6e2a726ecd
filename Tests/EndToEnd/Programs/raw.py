"""A peer that sends any frames, and records the relay's answers."""

import select
import socket
import ssl
import struct
import sys
import time

import hpack
from hyperframe.frame import HeadersFrame, SettingsFrame

from wire import PATIENCE_SECONDS

MAGIC = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
RESET, SETTINGS, GOAWAY, HEADERS = 3, 4, 7, 1


def wire(frames):
    """Returns frames as bytes."""
    return b"".join(frame.serialize() for frame in frames)


def acknowledgement():
    return SettingsFrame(0, flags=["ACK"])


class Raw:
    """One connection to the provider port. It sends nothing by itself."""

    def __init__(self, relay, receive_buffer=None):
        self.heard = b""
        # The error code and the text of the last GOAWAY.
        self.goaway = None
        # The error code of each stream that the relay reset, and the number of streams that it answered.
        self.resets = {}
        self.answered = set()
        self.is_closed = False
        self.encoder = hpack.Encoder()
        plain = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        plain.settimeout(PATIENCE_SECONDS)
        plain.connect(relay.provider_endpoint)
        context = ssl.create_default_context(cafile=relay.ca)
        context.set_alpn_protocols(["h2"])
        self.socket = context.wrap_socket(plain, server_hostname=relay.provider_endpoint[0])
        self.socket.setblocking(False)

    def open(self, settings=None):
        """Sends the first bytes of every client."""
        self.say(MAGIC + wire([SettingsFrame(0, settings or {}), acknowledgement()]))
        return self

    def head(self, stream, fields, *flags):
        """Returns the HEADERS frame of a request, which is complete by default."""
        return HeadersFrame(stream, self.encoder.encode(fields), flags=flags or ("END_HEADERS", "END_STREAM"))

    def say(self, data, until=None, listens=True):
        """Sends and receives; then receives until a condition holds or the connection ends."""
        rest = memoryview(data)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.is_closed and (rest or until and not until()):
            if listens:
                self.listen()
            try:
                if rest:
                    rest = rest[self.socket.send(rest[:16_384]) :]
                    continue
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                pass
            except OSError:
                self.listen()
                self.is_closed = True
                return
            if time.monotonic() > deadline:
                sys.exit("the relay lets everything happen")
            select.select([self.socket] if listens else [], [self.socket] if rest else [], [], 0.1)

    def until_closed(self):
        """Receives until the relay ends the connection."""
        self.say(b"", until=lambda: False)

    def listen(self):
        """Processes received bytes."""
        try:
            while True:
                data = self.socket.recv(65_536)
                if not data:
                    self.is_closed = True
                    return
                self.heard += data
                self.understand()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError:
            self.is_closed = True

    def understand(self):
        while len(self.heard) >= 9:
            length, kind = int.from_bytes(self.heard[:3], "big"), self.heard[3]
            stream = struct.unpack(">I", self.heard[5:9])[0]
            if len(self.heard) < 9 + length:
                return
            payload, self.heard = self.heard[9 : 9 + length], self.heard[9 + length :]
            if kind == RESET:
                self.resets[stream] = struct.unpack(">I", payload)[0]
            elif kind == GOAWAY:
                self.goaway = struct.unpack(">I", payload[4:8])[0], payload[8:].decode(errors="replace")
            elif kind == HEADERS:
                self.answered.add(stream)

    def close(self):
        self.socket.close()
