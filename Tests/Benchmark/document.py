"""Tables in Markdown, printed, or put into a document in place of those of the last time."""

import re
import sys
from pathlib import Path


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def figure(value):
    """Three digits that say something."""
    if value >= 1000:
        digits = len(str(int(value))) - 3
        return f"{round(value / 10 ** digits) * 10 ** digits:,}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def marks(name):
    """What stands before and after the tables of this name."""
    return f"<!-- {name}: measured -->", f"<!-- {name}: end -->"


def demand(path, *names):
    """The document's text. Ends the program unless it can be read and has a place for each name."""
    try:
        document = Path(path).read_text()
    except OSError as error:
        sys.exit(f"{path} cannot be read: {error.strerror}; name a document that is there, or none")
    for name in names:
        if any(mark not in document for mark in marks(name)):
            sys.exit(f"{path} has no place for {name}: the lines {' and '.join(marks(name))} mark one")
    return document


def part(path, name):
    """What stands between the marks of this name, without the empty lines around it."""
    begin, end = marks(name)
    return demand(path, name).split(begin, 1)[1].split(end, 1)[0].strip()


def put(path, name, text):
    """Between the marks of this name; with no document, on standard output."""
    if path is None:
        print(f"\n{text}\n", flush=True)
        return
    document = demand(path, name)
    begin, end = marks(name)
    found = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    Path(path).write_text(found.sub(lambda _: f"{begin}\n{text}\n{end}", document))
    print(f"{path}: {name} is written", flush=True)


def picture(path, source, text, svg):
    """Writes a picture that names its source, with the FNV-1a hash of the source's text (64 bits)."""
    digest = 0xCBF29CE484222325
    for byte in text.encode():
        digest = (digest ^ byte) * 0x100000001B3 % 2 ** 64
    Path(path).write_text(f"<!-- Made from {source}, {digest:016x}. -->\n{svg}\n")
    print(f"{path} is written", flush=True)
