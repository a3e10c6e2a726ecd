"""HTTP/2 frames byte by byte, valid and invalid, and a connection that sends them and records the answers."""

import ssl
import struct
from dataclasses import dataclass

from wire import connect

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, WITH_PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR, \
    REFUSED_STREAM, CANCEL, COMPRESSION_ERROR = range(10)
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = range(1, 6)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def string(text, huffman=False):
    """Encodes a string of fewer than 127 bytes; a Huffman-coded one is passed in coded form."""
    return bytes([len(text) | (0x80 if huffman else 0)]) + text


def fields(*pairs):
    """Encodes a header block of literal fields without indexing, which has the same meaning on every connection."""
    return b"".join(b"\x00" + string(name.encode()) + string(value.encode()) for name, value in pairs)


def request(*more, method="GET", without=()):
    """Returns the header block of a request."""
    head = [(":method", method), (":scheme", "https"), (":path", "/"), (":authority", "localhost")]
    return fields(*[pair for pair in head if pair[0] not in without], *more)


def headers(block, stream=1, flags=END_HEADERS | END_STREAM):
    return frame(HEADERS, flags, stream, block)


def get(stream=1):
    """Returns a complete request."""
    return headers(request(), stream)


def post(stream=1, *more):
    """Returns the head of a request whose body follows."""
    return headers(request(*more, method="POST"), stream, END_HEADERS)


def data(payload=b"test", stream=1, flags=END_STREAM):
    return frame(DATA, flags, stream, payload)


def continuation(block, stream=1, flags=END_HEADERS):
    return frame(CONTINUATION, flags, stream, block)


def settings(*pairs, flags=0):
    return frame(SETTINGS, flags, 0, b"".join(struct.pack(">HI", *pair) for pair in pairs))


def priority(stream=1, depends_on=0, weight=16, exclusive=False):
    return frame(PRIORITY, 0, stream, struct.pack(">IB", depends_on | exclusive << 31, weight - 1))


def reset(stream=1, code=CANCEL):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def window_update(increment, stream=0):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def ping(payload, flags=0):
    return frame(PING, flags, 0, payload)


def goaway(code=NO_ERROR):
    return frame(GOAWAY, 0, 0, struct.pack(">II", 0, code))


@dataclass(frozen=True)
class Frame:
    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def code(self):
        """Returns the error code of a RST_STREAM or GOAWAY."""
        return struct.unpack(">I", self.payload[4:8] if self.kind == GOAWAY else self.payload[:4])[0]

    @property
    def ends_stream(self):
        return self.kind in (HEADERS, DATA) and self.flags & END_STREAM


class Frames:
    """One connection to the relay. `received` has all received frames."""

    def __init__(self, endpoint, authority, preface=PREFACE, initial=()):
        context = ssl.create_default_context(cafile=authority)
        context.set_alpn_protocols(["h2"])
        self.socket = context.wrap_socket(connect(endpoint), server_hostname=endpoint[0])
        self.received = []
        self.is_closed = False
        self.buffer = b""
        if preface != PREFACE:
            self.send(preface)
            return
        self.send(PREFACE + settings(*initial))
        self.read_until(lambda frame: frame.kind == SETTINGS and not frame.flags & ACK)
        self.send(settings(flags=ACK))

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (OSError, ssl.SSLError):
            # Frames that were sent before the end must still be read.
            pass

    def read_until(self, is_wanted):
        """Reads until a wanted frame and returns it; None at the end of the connection."""
        while not self.is_closed:
            while (frame := self.take()) is not None:
                self.received.append(frame)
                if is_wanted(frame):
                    return frame
            try:
                data = self.socket.recv(65536)
            except (ConnectionResetError, ssl.SSLError):
                data = b""
            self.buffer += data
            self.is_closed = not data
        return None

    def take(self):
        """Returns the next frame of the buffer if it is complete."""
        if len(self.buffer) < 9 or len(self.buffer) < (end := 9 + int.from_bytes(self.buffer[:3])):
            return None
        kind, flags, stream = struct.unpack(">BBI", self.buffer[3:9])
        payload, self.buffer = self.buffer[9:end], self.buffer[end:]
        return Frame(kind, flags, stream & 0x7FFF_FFFF, payload)

    def pings(self, payload):
        """Sends a PING, and reads until its answer or the end of the connection."""
        self.send(ping(payload))
        return self.read_until(lambda frame: frame.kind == PING and frame.flags & ACK and frame.payload == payload)

    def close(self):
        self.socket.close()
