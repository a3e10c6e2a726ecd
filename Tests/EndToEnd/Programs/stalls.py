"""Abuses that take their time: something is begun and not ended."""

import select
import time

from hyperframe.frame import DataFrame, HeadersFrame, SettingsFrame, WindowUpdateFrame

from floods import HEAD, Floods
from raw import MAGIC, Raw, acknowledgement, wire
from relay import require
from wire import PATIENCE_SECONDS, closes, connect

PROTOCOL_ERROR = 1
SETTINGS_TIMEOUT = 4
CANCEL = 8


class Stalls(Floods):
    def all(self):
        """The abuses by name."""
        yield "connections without a handshake", self.no_handshake
        yield "a handshake byte by byte", self.slow_handshake
        yield "no preface", lambda: self.stalled(b"", PROTOCOL_ERROR, "no connection preface within 5 seconds")
        yield "half a preface", lambda: self.stalled(
            MAGIC[:20], PROTOCOL_ERROR, "no connection preface within 5 seconds")
        yield "SETTINGS that are not acknowledged", lambda: self.stalled(
            MAGIC + wire([SettingsFrame(0)]), SETTINGS_TIMEOUT, "SETTINGS not acknowledged within 10 seconds")
        yield "a header block without end", self.no_end_of_block
        yield "a header block byte by byte", self.slow_block
        yield "a body without end", self.no_body
        yield "a body byte by byte", self.slow_body
        yield "a window that stays closed", self.closed_window
        yield "answers that nobody reads", self.unread_answers

    def stalled(self, said, code, words):
        peer = Raw(self.relay)
        peer.say(said)
        return self.closed(peer, words, code)

    def no_handshake(self):
        peers = [connect(self.relay.provider_endpoint) for _ in range(200)]
        for peer in peers:
            closes(peer)
        return "all 200 are closed"

    def slow_handshake(self):
        peer = connect(self.relay.provider_endpoint)
        peer.settimeout(0.5)
        # The head of a record with 512 bytes of a ClientHello.
        hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500
        try:
            for byte in hello:
                peer.sendall(bytes([byte]))
                try:
                    if not peer.recv(1000):
                        break
                except TimeoutError:
                    continue
            else:
                require(False, "the relay waits for all of it")
        except (ConnectionResetError, BrokenPipeError):
            pass
        peer.close()
        return "closed"

    def no_end_of_block(self):
        peer = Raw(self.relay).open()
        peer.say(wire([peer.head(1, HEAD, "END_STREAM")]))
        return self.closed(peer, "a header block without end after 10 seconds", PROTOCOL_ERROR)

    def slow_block(self):
        peer = Raw(self.relay).open()
        self.drip(peer, peer.head(1, HEAD + [("x", "y" * 100)]).serialize())
        return self.closed(peer, "a header block without end after 10 seconds", PROTOCOL_ERROR)

    def no_body(self):
        peer = Raw(self.relay).open()
        peer.say(wire([peer.head(1, HEAD, "END_HEADERS")]), until=lambda: peer.resets)
        require(peer.resets == {1: CANCEL}, f"the streams are reset: {peer.resets}")
        return self.goes_on(peer, 3, "its stream is reset")

    def slow_body(self):
        peer = Raw(self.relay).open()
        peer.say(wire([peer.head(1, HEAD, "END_HEADERS")]))
        self.drip(peer, DataFrame(1, b"x").serialize() * 20, pause=0.1)
        peer.say(b"", until=lambda: peer.resets)
        require(peer.resets == {1: CANCEL}, f"the streams are reset: {peer.resets}")
        return self.goes_on(peer, 3, "its stream is reset")

    def closed_window(self):
        peer = Raw(self.relay).open({SettingsFrame.INITIAL_WINDOW_SIZE: 0})
        peer.say(wire([peer.head(1, HEAD)]), until=lambda: peer.resets)
        require(peer.resets == {1: CANCEL}, f"the streams are reset: {peer.resets}")
        return self.goes_on(peer, 3, "its stream is reset")

    def unread_answers(self):
        peer = Raw(self.relay, receive_buffer=4096)
        # The window is open: it is the socket that takes no more.
        peer.say(MAGIC + wire([SettingsFrame(0), acknowledgement(), WindowUpdateFrame(0, 2**30)]), listens=False)
        # Large enough that one read of the relay holds no more of them than may be open at once.
        fields = [*HEAD, ("x", "y" * 60, True)]
        first = peer.head(1, fields)
        again = peer.encoder.encode(fields)
        requests = first.serialize() + b"".join(
            HeadersFrame(stream, again, flags=["END_HEADERS", "END_STREAM"]).serialize()
            for stream in range(3, 200_001, 2))
        peer.say(requests, listens=False)
        # Whatever happens to a connection is told, if nothing is asked for.
        fate = select.poll()
        fate.register(peer.socket, 0)
        require(fate.poll(PATIENCE_SECONDS * 1000), "the relay keeps what nobody reads")
        peer.close()
        return "cut"

    @staticmethod
    def drip(peer, data, pause=0.5):
        for byte in data:
            if peer.is_closed or peer.resets:
                return
            peer.say(bytes([byte]))
            peer.listen()
            # The pause is the abuse: a byte now and then.
            time.sleep(pause)
