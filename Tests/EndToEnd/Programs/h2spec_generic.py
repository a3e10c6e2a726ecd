"""h2spec's group `generic`: what every endpoint must simply take."""

from frames import (
    CANCEL, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, PADDED, WITH_PRIORITY,
    continuation, data, fields, frame, get, goaway, headers, ping, post, priority, request, reset, settings, string,
    window_update,
)
from h2spec_case import (
    acknowledged, alive, alive_or_closed, answered, answered_with, group, pong, until_answered,
)

ALL = END_HEADERS | END_STREAM
NO_WINDOW = {"initial": [(INITIAL_WINDOW_SIZE, 0)]}
BLOCK = request()
# user-agent is number 58 of the static table; "\x1f" is the Huffman code of "a" with its padding.
AGENT, HUFFMAN_A = b"\x2b", string(b"\x1f", huffman=True)


def with_field(field):
    return [headers(BLOCK + field)]


CASES = [
    *group("generic/1", ("a client's preface", alive, [])),
    *group(
        "generic/2",
        ("PRIORITY on an idle stream", alive, [priority(1)]),
        ("WINDOW_UPDATE on a half-closed stream", answered_with(1), [get(), window_update(1, 1)], NO_WINDOW),
        ("PRIORITY on a half-closed stream", answered_with(1), [get(), priority(1), window_update(1, 1)], NO_WINDOW),
        ("RST_STREAM on a half-closed stream", alive_or_closed, [get(), reset()]),
        ("PRIORITY on a closed stream", alive, [get(), until_answered, priority(1)]),
    ),
    *group(
        "generic/3.1",
        ("a DATA frame", answered, [post(), data()]),
        ("two DATA frames", answered, [post(), data(flags=0), data()]),
        ("a padded DATA frame", answered, [post(), data(b"\x05test" + bytes(5), flags=END_STREAM | PADDED)]),
    ),
    *group(
        "generic/3.2",
        ("a HEADERS frame", answered, [get()]),
        ("a padded HEADERS frame", answered, [headers(b"\x05" + BLOCK + bytes(5), flags=ALL | PADDED)]),
        ("HEADERS with a priority", answered,
         [headers(b"\x00\x00\x00\x00\xff" + BLOCK, flags=ALL | WITH_PRIORITY)]),
    ),
    *group(
        "generic/3.3",
        ("PRIORITY of weight 1", answered, [priority(1, weight=1), get()]),
        ("PRIORITY of weight 256", answered, [priority(1, weight=256), get()]),
        ("PRIORITY with a dependency", answered, [priority(3, depends_on=1), get()]),
        ("exclusive PRIORITY", answered, [priority(1, exclusive=True), get()]),
        ("PRIORITY on an idle stream, then a request on a lower one", answered, [priority(3), get()]),
    ),
    *group("generic/3.4", ("RST_STREAM", alive_or_closed, [post(), reset(code=CANCEL)])),
    *group("generic/3.5", ("SETTINGS", acknowledged(2), [settings((MAX_CONCURRENT_STREAMS, 100))])),
    *group("generic/3.7", ("PING", pong(b"a question"[:8]), [ping(b"a question"[:8])])),
    *group("generic/3.8", ("GOAWAY", alive_or_closed, [goaway()])),
    *group(
        "generic/3.9",
        ("WINDOW_UPDATE of the connection", alive, [window_update(1)]),
        ("WINDOW_UPDATE of a stream", answered, [get(), window_update(1, 1)]),
    ),
    *group(
        "generic/3.10",
        ("CONTINUATION", answered, [frame(HEADERS, END_STREAM, 1, BLOCK[:5]), continuation(BLOCK[5:])]),
        ("two CONTINUATIONs", answered,
         [frame(HEADERS, END_STREAM, 1, BLOCK[:5]), continuation(BLOCK[5:10], flags=0), continuation(BLOCK[10:])]),
    ),
    *group(
        "generic/4",
        ("GET", answered, [get()]),
        ("HEAD", answered, [headers(request(method="HEAD"))]),
        ("POST", answered, [post(), data()]),
        ("POST with trailers", answered, [post(), data(flags=0), headers(fields(("x-trailer", "yes")))]),
    ),
    *group(
        "generic/5",
        ("an indexed field", answered, with_field(b"\x90")),
        ("a field to be indexed, name indexed", answered, with_field(b"\x7a" + string(b"a"))),
        ("a field to be indexed, name indexed, Huffman", answered, with_field(b"\x7a" + HUFFMAN_A)),
        ("a field to be indexed", answered, with_field(b"\x40" + string(b"x-a") + string(b"a"))),
        ("a field to be indexed, Huffman", answered, with_field(b"\x40" + HUFFMAN_A + HUFFMAN_A)),
        ("a field not indexed, name indexed", answered, with_field(b"\x0f" + AGENT + string(b"a"))),
        ("a field not indexed, name indexed, Huffman", answered, with_field(b"\x0f" + AGENT + HUFFMAN_A)),
        ("a field not indexed", answered, with_field(b"\x00" + string(b"x-a") + string(b"a"))),
        ("a field not indexed, Huffman", answered, with_field(b"\x00" + HUFFMAN_A + HUFFMAN_A)),
        ("a field never indexed, name indexed", answered, with_field(b"\x1f" + AGENT + string(b"a"))),
        ("a field never indexed, name indexed, Huffman", answered, with_field(b"\x1f" + AGENT + HUFFMAN_A)),
        ("a field never indexed", answered, with_field(b"\x10" + string(b"x-a") + string(b"a"))),
        ("a field never indexed, Huffman", answered, with_field(b"\x10" + HUFFMAN_A + HUFFMAN_A)),
        ("a table size of 0", answered, [headers(b"\x20" + BLOCK)]),
        ("table sizes of 0 and 4096", answered, [headers(b"\x20\x3f\xe1\x1f" + BLOCK)]),
    ),
]
