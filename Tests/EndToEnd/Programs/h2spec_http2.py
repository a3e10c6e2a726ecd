"""h2spec's group `http2`: RFC 7540 by its sections."""

from frames import (
    ACK, COMPRESSION_ERROR, CONTINUATION, ENABLE_PUSH, END_HEADERS, END_STREAM, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR,
    GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, PADDED, PING, PRIORITY,
    PROTOCOL_ERROR, PUSH_PROMISE, REFUSED_STREAM, RST_STREAM, SETTINGS, STREAM_CLOSED, WINDOW_UPDATE, WITH_PRIORITY,
    continuation, data, fields, frame, get, goaway, headers, ping, post, priority, request, reset, settings,
    window_update,
)
from h2spec_case import (
    acknowledged, alive, alive_or_closed, answered, answered_with, connection_error, group, no_pong, pong,
    stream_error, until_acknowledged, until_answered, until_data,
)

BLOCK, DUMMY = request(), fields(("x-dummy", "0" * 60))
OPEN_BLOCK = headers(BLOCK, flags=END_STREAM)
NO_WINDOW = {"initial": [(INITIAL_WINDOW_SIZE, 0)]}
MALFORMED = stream_error(PROTOCOL_ERROR)
ENDS = connection_error(PROTOCOL_ERROR)
CLOSED = stream_error(STREAM_CLOSED)
TOO_LARGE_WINDOW = settings((INITIAL_WINDOW_SIZE, 1 << 31))
UNKNOWN = frame(0x16, 0, 0, bytes(8))


def one_too_many(connection):
    """As many open requests as the server allows, and one more, whose stream is then called 1."""
    frames = [frame for frame in connection.received if frame.kind == SETTINGS and not frame.flags & ACK]
    told = frames[-1].payload
    entries = {int.from_bytes(told[i : i + 2]): int.from_bytes(told[i + 2 : i + 6]) for i in range(0, len(told), 6)}
    limit = entries[MAX_CONCURRENT_STREAMS]
    connection.send(b"".join(post(2 * index + 1) for index in range(limit + 1)))


def malformed(*more, without=()):
    return [headers(request(*more, without=without))]


CASES = [
    *group(
        "http2/3.5",
        ("a client's preface, after the server's SETTINGS", alive, []),
        ("a preface that is none", ENDS, [], {"preface": b"INVALID CONNECTION PREFACE\r\n\r\n"}),
    ),
    *group(
        "http2/4.1",
        ("a frame of unknown type", alive, [UNKNOWN]),
        ("PING with undefined flags", pong(b"a flag..."[:8]), [ping(b"a flag..."[:8], flags=0x16)]),
        ("PING with the reserved bit", pong(b"reserved"), [frame(PING, 0, 1 << 31, b"reserved")]),
    ),
    *group(
        "http2/4.2",
        ("DATA of 16384 bytes", answered, [post(), data(b"x" * 16_384)]),
        ("DATA of 16385 bytes", stream_error(FRAME_SIZE_ERROR), [post(), data(b"x" * 16_385)]),
        ("HEADERS of more than 16384 bytes", connection_error(FRAME_SIZE_ERROR), [headers(BLOCK + DUMMY * 250)]),
    ),
    *group(
        "http2/4.3",
        ("a header block that cannot be decoded", connection_error(COMPRESSION_ERROR), [headers(b"\x40")]),
        ("PRIORITY within a header block", ENDS, [OPEN_BLOCK, priority(1), continuation(DUMMY)]),
        ("HEADERS of another stream within a header block", ENDS, [OPEN_BLOCK, get(3), continuation(DUMMY)]),
    ),
    *group(
        "http2/5.1",
        ("DATA on an idle stream", stream_error(PROTOCOL_ERROR, STREAM_CLOSED), [data()]),
        ("RST_STREAM on an idle stream", ENDS, [reset()]),
        ("WINDOW_UPDATE on an idle stream", ENDS, [window_update(100, 1)]),
        ("CONTINUATION on an idle stream", ENDS, [continuation(BLOCK)]),
        ("DATA on a half-closed stream", CLOSED, [get(), data()], NO_WINDOW),
        ("HEADERS on a half-closed stream", CLOSED, [get(), get()], NO_WINDOW),
        ("CONTINUATION on a half-closed stream", stream_error(STREAM_CLOSED, PROTOCOL_ERROR),
         [get(), continuation(DUMMY)], NO_WINDOW),
        ("DATA on a stream that was reset", CLOSED, [post(), reset(), data()]),
        ("HEADERS on a stream that was reset", CLOSED, [post(), reset(), get()]),
        ("CONTINUATION on a stream that was reset", stream_error(STREAM_CLOSED, PROTOCOL_ERROR),
         [post(), reset(), continuation(DUMMY)]),
        ("DATA on a closed stream", CLOSED, [get(), until_answered, data()]),
        ("HEADERS on a closed stream", connection_error(STREAM_CLOSED), [get(), until_answered, get()]),
        ("CONTINUATION on a closed stream", connection_error(STREAM_CLOSED, PROTOCOL_ERROR),
         [get(), until_answered, continuation(DUMMY)]),
    ),
    # As a client sees them that is slower than the answer: the stream is closed by then.
    *group("http2/5.1/5, answered", ("DATA on a stream that it has ended", CLOSED, [get(), until_answered, data()])),
    *group("http2/6.1/2, answered", ("DATA on a stream that is not open", CLOSED, [get(), until_answered, data()])),
    *group(
        "http2/5.1.1",
        ("a request on an even stream", ENDS, [get(2)]),
        ("a request on a lower stream than the last one", ENDS, [get(5), get(3)]),
    ),
    *group(
        "http2/5.1.2",
        ("one request more than allowed at once", stream_error(PROTOCOL_ERROR, REFUSED_STREAM), [one_too_many]),
    ),
    *group(
        "http2/5.3.1",
        ("HEADERS that depend on their own stream", MALFORMED,
         [headers(b"\x00\x00\x00\x01\x0f" + BLOCK, flags=END_HEADERS | END_STREAM | WITH_PRIORITY)]),
        ("PRIORITY that depends on its own stream", MALFORMED, [priority(1, depends_on=1)]),
    ),
    *group(
        "http2/5.4.1",
        ("PING on a stream, to have the connection closed", ENDS, [frame(PING, 0, 3, bytes(8))]),
        ("PING on a stream, to be told GOAWAY", ENDS, [frame(PING, 0, 3, bytes(8))]),
    ),
    *group(
        "http2/5.5",
        ("a frame of unknown type", alive, [UNKNOWN]),
        ("a frame of unknown type within a header block", ENDS, [OPEN_BLOCK, UNKNOWN, continuation(DUMMY)]),
    ),
    *group(
        "http2/6.1",
        ("DATA on stream 0", ENDS, [data(stream=0)]),
        ("DATA on a stream that is not open", CLOSED, [get(), data()], NO_WINDOW),
        ("DATA with more padding than bytes", ENDS, [post(), data(b"\x06Test", flags=END_STREAM | PADDED)]),
    ),
    *group(
        "http2/6.2",
        ("HEADERS without their end, then PRIORITY", ENDS, [OPEN_BLOCK, priority(1), continuation(DUMMY)]),
        ("HEADERS without their end, then others", ENDS, [OPEN_BLOCK, get(3), continuation(DUMMY)]),
        ("HEADERS on stream 0", ENDS, [get(0)]),
        ("HEADERS with more padding than bytes", MALFORMED,
         [headers(bytes([len(BLOCK) + 2]) + BLOCK, flags=END_HEADERS | END_STREAM | PADDED)]),
    ),
    *group(
        "http2/6.3",
        ("PRIORITY on stream 0", ENDS, [priority(0)]),
        ("PRIORITY of 4 bytes", stream_error(FRAME_SIZE_ERROR), [post(), frame(PRIORITY, 0, 1, b"\x80\x00\x00\x01")]),
    ),
    *group(
        "http2/6.4",
        ("RST_STREAM on stream 0", ENDS, [reset(0)]),
        ("RST_STREAM on an idle stream", ENDS, [reset(1)]),
        ("RST_STREAM of 3 bytes", stream_error(FRAME_SIZE_ERROR), [post(), frame(RST_STREAM, 0, 1, bytes(3))]),
    ),
    *group(
        "http2/6.5",
        ("an acknowledgement of SETTINGS with a payload", connection_error(FRAME_SIZE_ERROR),
         [frame(SETTINGS, ACK, 0, b"\x00")]),
        ("SETTINGS on a stream", ENDS, [frame(SETTINGS, 0, 1, b"\x00\x03\x00\x00\x00\x64")]),
        ("SETTINGS of 3 bytes", connection_error(FRAME_SIZE_ERROR), [frame(SETTINGS, 0, 0, b"\x00\x03\x00")]),
    ),
    *group(
        "http2/6.5.2",
        ("ENABLE_PUSH of 2", ENDS, [settings((ENABLE_PUSH, 2))]),
        ("INITIAL_WINDOW_SIZE of 2³¹", connection_error(FLOW_CONTROL_ERROR), [TOO_LARGE_WINDOW]),
        ("MAX_FRAME_SIZE of 16383", ENDS, [settings((MAX_FRAME_SIZE, 16_383))]),
        ("MAX_FRAME_SIZE of 2²⁴", ENDS, [settings((MAX_FRAME_SIZE, 1 << 24))]),
        ("a setting of unknown number", alive, [settings((0xFF, 1))]),
    ),
    *group(
        "http2/6.5.3",
        ("two INITIAL_WINDOW_SIZEs, of which the last counts", answered_with(1),
         [settings((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)), until_acknowledged, get()]),
        ("SETTINGS", acknowledged(2), [settings((MAX_CONCURRENT_STREAMS, 100))]),
    ),
    *group(
        "http2/6.7",
        ("PING", pong(b"question"), [ping(b"question")]),
        ("PING as an answer", no_pong(b"answered"), [ping(b"answered", flags=ACK)]),
        ("PING on a stream", ENDS, [frame(PING, 0, 1, bytes(8))]),
        ("PING of 6 bytes", connection_error(FRAME_SIZE_ERROR), [ping(bytes(6))]),
    ),
    *group("http2/6.8", ("GOAWAY on a stream", ENDS, [frame(GOAWAY, 0, 1, bytes(8))])),
    *group(
        "http2/6.9",
        ("WINDOW_UPDATE by 0", ENDS, [window_update(0)]),
        ("WINDOW_UPDATE by 0 of a stream", MALFORMED, [post(), window_update(0, 1)]),
        ("WINDOW_UPDATE of 3 bytes", connection_error(FRAME_SIZE_ERROR), [frame(WINDOW_UPDATE, 0, 0, b"\x00\x00\x01")]),
    ),
    *group(
        "http2/6.9.1",
        ("a request, with a window of 1", answered_with(1),
         [settings((INITIAL_WINDOW_SIZE, 1)), until_acknowledged, get()]),
        ("WINDOW_UPDATE beyond 2³¹ − 1", connection_error(FLOW_CONTROL_ERROR), [window_update(0x7FFF_FFFF) * 2]),
        ("WINDOW_UPDATE of a stream beyond 2³¹ − 1", stream_error(FLOW_CONTROL_ERROR),
         [post(), window_update(0x7FFF_FFFF, 1) * 2]),
    ),
    *group(
        "http2/6.9.2",
        ("a larger window after a request", answered_with(1), [get(), settings((INITIAL_WINDOW_SIZE, 1))], NO_WINDOW),
        ("a smaller window after the beginning of an answer", answered_with(3, 1),
         [get(), until_data, settings((INITIAL_WINDOW_SIZE, 2)), until_acknowledged, window_update(2, 1)],
         {"initial": [(INITIAL_WINDOW_SIZE, 3)]}),
        ("INITIAL_WINDOW_SIZE of 2³¹", connection_error(FLOW_CONTROL_ERROR), [TOO_LARGE_WINDOW]),
    ),
    *group(
        "http2/6.10",
        ("HEADERS and two CONTINUATIONs", answered, [OPEN_BLOCK, continuation(DUMMY, flags=0), continuation(DUMMY)]),
        ("CONTINUATION, then DATA", ENDS, [headers(BLOCK, flags=0), continuation(DUMMY, flags=0), data()]),
        ("CONTINUATION on stream 0", ENDS, [OPEN_BLOCK, continuation(DUMMY, stream=0)]),
        ("CONTINUATION after the end of HEADERS", ENDS, [post(), continuation(DUMMY)]),
        ("CONTINUATION after the end of CONTINUATION", ENDS, [OPEN_BLOCK, continuation(DUMMY), continuation(DUMMY)]),
        ("CONTINUATION after DATA", ENDS, [post(), data(), frame(CONTINUATION, 0, 1, DUMMY), continuation(DUMMY, 0)]),
    ),
    *group(
        "http2/7",
        ("GOAWAY with an unknown code", alive_or_closed, [goaway(0xFF)]),
        ("RST_STREAM with an unknown code", alive_or_closed, [post(), reset(code=0xFF)]),
    ),
    *group(
        "http2/8.1",
        ("a second HEADERS frame that does not end the stream", MALFORMED,
         [post(), data(flags=0), headers(DUMMY, flags=END_HEADERS)]),
    ),
    *group("http2/8.1.2", ("a field name with capitals", MALFORMED, malformed(("X-TEST", "yes")))),
    *group(
        "http2/8.1.2.1",
        ("an unknown pseudo-header field", MALFORMED, [headers(fields((":test", "yes")) + BLOCK)]),
        ("a pseudo-header field of answers", MALFORMED, [headers(fields((":status", "200")) + BLOCK)]),
        ("a pseudo-header field in trailers", MALFORMED,
         [post(), data(flags=0), headers(fields((":method", "200"), ("x-test", "yes")))]),
        ("a pseudo-header field behind others", MALFORMED,
         [headers(request(("x-test", "yes"), (":path", "/"), without=(":path",)))]),
    ),
    *group(
        "http2/8.1.2.2",
        ("a field of one connection", MALFORMED, malformed(("connection", "keep-alive"))),
        ("TE that is not trailers", MALFORMED, malformed(("trailers", "x"), ("te", "trailers, deflate"))),
    ),
    *group(
        "http2/8.1.2.3",
        ("an empty path", MALFORMED, [headers(fields((":path", "")) + request(without=(":path",)))]),
        ("no method", MALFORMED, malformed(without=(":method",))),
        ("no scheme", MALFORMED, malformed(without=(":scheme",))),
        ("no path", MALFORMED, malformed(without=(":path",))),
        ("two methods", MALFORMED, [headers(fields((":method", "GET")) + BLOCK)]),
        ("two schemes", MALFORMED, [headers(fields((":scheme", "https")) + BLOCK)]),
        ("two paths", MALFORMED, [headers(fields((":path", "/")) + BLOCK)]),
    ),
    *group(
        "http2/8.1.2.6",
        ("a content-length that is not that of the body", MALFORMED, [post(1, ("content-length", "1")), data()]),
        ("a content-length that is not that of two DATA frames", MALFORMED,
         [post(1, ("content-length", "1")), data(flags=0), data()]),
    ),
    *group("http2/8.2", ("PUSH_PROMISE", ENDS, [frame(PUSH_PROMISE, END_HEADERS, 1, b"\x00\x00\x00\x03" + BLOCK)])),
]
