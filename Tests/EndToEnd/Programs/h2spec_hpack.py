"""h2spec's group `hpack`: header blocks that cannot be decoded end the connection."""

from frames import COMPRESSION_ERROR, headers, request, string
from h2spec_case import connection_error, group

REFUSED = connection_error(COMPRESSION_ERROR)
BLOCK = request()
X = b"\x00" + string(b"x")


def with_value(coded):
    """A field whose value is coded by Huffman, in a way."""
    return [headers(BLOCK + X + string(coded, huffman=True))]


CASES = [
    *group(
        "hpack/2.3.3",
        ("an indexed field of number 100", REFUSED, [headers(BLOCK + b"\xe4")]),
        ("a field with name number 100", REFUSED, [headers(BLOCK + b"\x7f\x25" + string(b"empty"))]),
    ),
    *group("hpack/4.2", ("a table size behind a block", REFUSED, [headers(BLOCK + b"\x20")])),
    # "a" is 00011.
    *group(
        "hpack/5.2",
        ("a Huffman code padded with more than 7 bits", REFUSED, with_value(b"\x1f\xff")),
        ("a Huffman code padded with zeros", REFUSED, with_value(b"\x18")),
        ("the end of string as a Huffman code", REFUSED, with_value(b"\xff\xff\xff\xff")),
    ),
    *group("hpack/6.1", ("an indexed field of number 0", REFUSED, [headers(BLOCK + b"\x80")])),
    *group("hpack/6.3", ("a table size of 4097", REFUSED, [headers(b"\x3f\xe2\x1f" + BLOCK)])),
]
