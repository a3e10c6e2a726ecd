"""Abuses that are over in a moment: too much of something."""

import struct

from hyperframe.frame import (
    ContinuationFrame, DataFrame, ExtensionFrame, HeadersFrame, PingFrame, PriorityFrame, RstStreamFrame, SettingsFrame,
    WindowUpdateFrame,
)

from raw import Raw, wire
from relay import require

CALM = 11
CANCEL = 8
FLOOD = "the peer floods the connection with frames without content"
RESETS = "most requests are reset as soon as they are made (rapid reset)"
# A request for nothing, which is answered with 404: no device is needed to make the relay answer.
HEAD = [(":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", "/nowhere")]


class Floods:
    def __init__(self, relay):
        self.relay = relay

    def all(self):
        """The abuses by name."""
        yield "resets of requests that have just been made", self.rapid_reset
        yield "requests that make the relay reset them", self.made_you_reset
        yield "malformed requests, one after the other", self.malformed
        yield "resets of requests that are answered, as apns4erl has them", self.honest_resets
        yield "a header block in many frames", self.continuations
        yield "more fields than allowed", self.fields
        yield "fields that grow in the table", self.bomb
        yield "fields without a name", self.nameless
        yield "SETTINGS frames", lambda: self.flood(SettingsFrame(0))
        yield "PING frames", lambda: self.flood(PingFrame(0, b"12345678"))
        yield "PRIORITY frames", lambda: self.flood(PriorityFrame(1, depends_on=0, stream_weight=1))
        yield "WINDOW_UPDATE frames", lambda: self.flood(WindowUpdateFrame(0, 1))
        yield "frames of a kind that nobody knows", lambda: self.flood(ExtensionFrame(0xEE, 0))
        yield "DATA frames without data", self.empty_data
        yield "a SETTINGS frame of many settings", self.many_settings
        yield "more streams than allowed", self.streams

    def closed(self, peer, words, code=CALM):
        """The relay ends the connection in these words."""
        peer.until_closed()
        require(peer.goaway == (code, words), f"the relay says {peer.goaway}")
        peer.close()
        return f"GOAWAY {code}, {words}"

    def flood(self, frame):
        peer = Raw(self.relay).open()
        peer.say(frame.serialize() * 20_000)
        return self.closed(peer, FLOOD)

    def empty_data(self):
        peer = Raw(self.relay).open()
        peer.say(wire([peer.head(1, HEAD, "END_HEADERS")]) + DataFrame(1).serialize() * 20_000)
        return self.closed(peer, FLOOD)

    def rapid_reset(self):
        peer = Raw(self.relay).open()
        peer.say(b"".join(
            wire([peer.head(stream, HEAD), RstStreamFrame(stream, CANCEL)]) for stream in range(1, 2001, 2)))
        return self.closed(peer, RESETS)

    def made_you_reset(self):
        peer = Raw(self.relay).open()
        peer.say(b"".join(
            wire([peer.head(stream, HEAD, "END_HEADERS"), WindowUpdateFrame(stream, 2**31 - 1)])
            for stream in range(1, 2001, 2)))
        return self.closed(peer, RESETS)

    def malformed(self):
        peer = Raw(self.relay).open()
        peer.say(b"".join(wire([peer.head(stream, HEAD[:1])]) for stream in range(1, 2001, 2)))
        return self.closed(peer, RESETS)

    def honest_resets(self):
        peer = Raw(self.relay).open()
        for first in range(1, 6001, 200):
            streams = range(first, first + 200, 2)
            requests = wire([peer.head(stream, HEAD) for stream in streams])
            peer.say(requests, until=lambda: peer.answered.issuperset(streams))
            peer.say(wire([RstStreamFrame(stream, CANCEL) for stream in streams]))
        require(not peer.is_closed and peer.goaway is None, f"an honest client is closed: {peer.goaway}")
        peer.close()
        return "3,000 are answered, and the connection stays"

    def continuations(self):
        peer = Raw(self.relay).open()
        more = ContinuationFrame(1, b"\x00\x01a\x01b")
        peer.say(wire([peer.head(1, HEAD, "END_STREAM")] + [more] * 100))
        return self.closed(peer, FLOOD)

    def fields(self):
        peer = Raw(self.relay).open()
        peer.say(wire([peer.head(1, HEAD + [(f"x-{number}", "") for number in range(97)])]))
        return self.closed(peer, "a header block has too many fields")

    def bomb(self):
        peer = Raw(self.relay).open()
        # One field of 3000 bytes enters the table; each byte after it repeats the field.
        block = peer.encoder.encode(HEAD) + b"\x40\x01a\x7f\xb9\x16" + b"b" * 3000 + b"\xbe" * 10_000
        peer.say(wire([HeadersFrame(1, block, flags=["END_HEADERS", "END_STREAM"])]))
        return self.closed(peer, "a header block is too large")

    def nameless(self):
        peer = Raw(self.relay).open()
        block = peer.encoder.encode(HEAD) + b"\x00\x00\x01a"
        peer.say(wire([HeadersFrame(1, block, flags=["END_HEADERS", "END_STREAM"])]), until=lambda: peer.resets)
        return self.goes_on(peer, 3, "its stream is reset")

    def many_settings(self):
        peer = Raw(self.relay).open()
        entries = b"".join(struct.pack(">HI", 0x4, 65_535) for _ in range(2000))
        peer.say(struct.pack(">I", len(entries))[1:] + b"\x04\x00\x00\x00\x00\x00" + entries)
        peer.until_closed()
        require(peer.goaway is not None and peer.goaway[0] == CALM, f"the relay says {peer.goaway}")
        peer.close()
        return f"GOAWAY {CALM}"

    def streams(self):
        peer = Raw(self.relay)
        # SETTINGS are not acknowledged: the relay cannot know whether its limit is known.
        peer.say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + wire([SettingsFrame(0)]))
        peer.say(
            b"".join(wire([peer.head(stream, HEAD, "END_HEADERS")]) for stream in range(1, 2201, 2)),
            until=lambda: len(peer.resets) == 100)
        require(set(peer.resets.values()) == {7}, f"they are reset with {set(peer.resets.values())}")
        require(not peer.is_closed, "the connection is closed")
        peer.close()
        return "1,000 are taken, and 100 refused"

    @staticmethod
    def goes_on(peer, stream, verdict):
        """The connection still serves a request."""
        peer.say(wire([peer.head(stream, HEAD)]), until=lambda: stream in peer.answered)
        require(stream in peer.answered and peer.goaway is None, f"the connection is closed: {peer.goaway}")
        peer.close()
        return f"{verdict}, and the connection goes on"
