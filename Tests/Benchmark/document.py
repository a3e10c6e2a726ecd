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


def put(path, name, text):
    """Between the marks of this name; with no document, on standard output."""
    if path is None:
        print(f"\n{text}\n", flush=True)
        return
    path = Path(path)
    document = path.read_text()
    begin, end = f"<!-- {name}: measured -->", f"<!-- {name}: end -->"
    if begin not in document or end not in document:
        sys.exit(f"{path} has no place for {name}")
    found = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    path.write_text(found.sub(lambda _: f"{begin}\n{text}\n{end}", document))
    print(f"{path}: {name} is written", flush=True)
