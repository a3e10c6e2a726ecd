"""Makes a PNG of what a virtual screen shows.

usage: screenshot.py SCREEN PNG

SCREEN is the file that Xvfb keeps with -fbdir: a window dump (XWD). It is cut to what is not background, and written with
few colours. The exit code is 1 where there is nothing but background.
"""

import struct
import sys
import zlib

HEADER = struct.Struct(">25I")
MARGIN = 12


def read(path):
    """Rows of (red, green, blue)."""
    with open(path, "rb") as file:
        dump = file.read()
    header = HEADER.unpack_from(dump)
    size, width, height, bits, stride, colours = header[0], header[4], header[5], header[11], header[12], header[19]
    if bits != 32:
        sys.exit(f"the screen has {bits} bits for each pixel, not 32")
    start = size + 12 * colours
    for row in range(height):
        line = dump[start + row * stride:start + row * stride + 4 * width]
        # Blue, green, red and nothing, as Xvfb has them on little-endian machines.
        yield [(line[at + 2], line[at + 1], line[at]) for at in range(0, 4 * width, 4)]


def cut(rows):
    background = rows[-1][0]
    marked = [(x, y) for y, row in enumerate(rows) for x, colour in enumerate(row) if colour != background]
    if not marked:
        sys.exit("there is nothing on the screen")
    left, right = min(x for x, _ in marked), max(x for x, _ in marked)
    top, bottom = min(y for _, y in marked), max(y for _, y in marked)
    columns = slice(max(left - MARGIN, 0), right + MARGIN + 1)
    return [row[columns] for row in rows[max(top - MARGIN, 0):bottom + MARGIN + 1]]


def png(rows):
    """With a palette of 6 levels for each colour."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    levels = [round(level * 255 / 5) for level in range(6)]
    palette = bytes(value for red in levels for green in levels for blue in levels for value in (red, green, blue))
    index = [min(range(6), key=lambda level: abs(levels[level] - value)) for value in range(256)]
    data = b"".join(
        b"\0" + bytes(36 * index[red] + 6 * index[green] + index[blue] for red, green, blue in row) for row in rows)
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"PLTE", palette)
            + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b""))


with open(sys.argv[2], "wb") as file:
    file.write(png(cut(list(read(sys.argv[1])))))
