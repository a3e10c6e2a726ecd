"""What a case of h2spec is, and the outcomes that one can ask for.

An outcome looks at a connection on which everything was sent, and answers what is wrong with what came back, or None.
"""

from dataclasses import dataclass, field
from typing import Callable

from frames import ACK, DATA, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, Frames


@dataclass(frozen=True)
class Case:
    """One case: bytes are sent, a function gets the connection to wait for something."""

    number: str
    sends: str
    steps: tuple
    outcome: Callable[[Frames], str | None]
    options: dict = field(default_factory=dict)


def group(prefix, *rows):
    """Cases that are numbered from 1 on: what is sent, the outcome, the steps, and perhaps options."""
    return [
        Case(f"{prefix}/{index}", sends, tuple(steps), outcome, options[0] if options else {})
        for index, (sends, outcome, steps, *options) in enumerate(rows, 1)
    ]


def settled(connection):
    """All that came, once nothing more is to be expected: PINGs overtake other frames, but not two of them."""
    if connection.pings(b"1st ping"):
        connection.pings(b"2nd ping")
    return connection.received


def complaints(connection):
    return [frame for frame in settled(connection) if frame.kind in (RST_STREAM, GOAWAY)]


def told(connection):
    """For messages: what came, the server's own settings left out."""
    frames = [f"{frame.kind}:{frame.payload[:32]!r}" for frame in connection.received if frame.kind != SETTINGS]
    return f"{frames}{', then the end' if connection.is_closed else ''}"


def alive(connection):
    """Nothing is complained about, and the connection goes on."""
    if complaints(connection) or connection.is_closed:
        return f"should be borne, but there came {told(connection)}"


def alive_or_closed(connection):
    """Nothing is complained about."""
    if any(frame.code for frame in complaints(connection)):
        return f"should be borne, but there came {told(connection)}"


def pong(payload):
    """This PING was answered."""

    def judge(connection):
        if not any((frame.kind, frame.flags, frame.payload) == (PING, ACK, payload) for frame in settled(connection)):
            return f"should be answered, but there came {told(connection)}"
        return alive(connection)

    return judge


def no_pong(payload):
    """This PING was not answered."""

    def judge(connection):
        if any(frame.kind == PING and frame.payload == payload for frame in settled(connection)):
            return "an answer was answered"
        return alive(connection)

    return judge


def acknowledged(count):
    """So many SETTINGS were acknowledged."""

    def judge(connection):
        acknowledgements = [f for f in settled(connection) if f.kind == SETTINGS and f.flags & ACK]
        if len(acknowledgements) != count:
            return f"{count} should be acknowledged, but {len(acknowledgements)} were"
        return alive(connection)

    return judge


def answered(connection):
    """The request on stream 1 was answered."""
    def is_over(frame):
        return frame.kind == GOAWAY or frame.stream == 1 and frame.kind in (HEADERS, RST_STREAM)

    frame = next(filter(is_over, connection.received), None) or connection.read_until(is_over)
    if frame is None or frame.kind != HEADERS:
        return f"should be answered, but there came {told(connection)}"


def answered_with(*counts):
    """The answer's body begins with frames of so many bytes, and they are all that comes of it."""

    def judge(connection):
        frames = [len(frame.payload) for frame in settled(connection) if frame.kind == DATA]
        if frames != list(counts):
            return f"DATA of {counts} bytes should come, but there came {told(connection)}"

    return judge


def connection_error(*codes):
    """The connection is ended with GOAWAY and one of these codes."""

    def judge(connection):
        farewells = [frame.code for frame in settled(connection) if frame.kind == GOAWAY]
        if not connection.is_closed or not set(farewells) & set(codes):
            return f"should end the connection with {codes}, but there came {told(connection)}"

    return judge


def stream_error(*codes):
    """Stream 1, or the whole connection, is ended with one of these codes."""

    def judge(connection):
        if not any(frame.code in codes for frame in complaints(connection)):
            return f"should be refused with {codes}, but there came {told(connection)}"

    return judge


# Steps that wait.


def until_answered(connection):
    """The request on stream 1 is answered completely: the stream is closed."""
    connection.read_until(lambda frame: frame.stream == 1 and frame.ends_stream)


def until_data(connection):
    """The first bytes of the answer are here."""
    connection.read_until(lambda frame: frame.kind == DATA)


def until_acknowledged(connection):
    """SETTINGS that were sent are in force."""
    connection.read_until(lambda frame: frame.kind == SETTINGS and frame.flags & ACK)
