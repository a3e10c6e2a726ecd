#!/usr/bin/env python3
"""Draws the pictures of the documents from their sources in this folder (`make diagrams`).

`*.dot` are drawn by Graphviz, `*.sequence` by this program, and the chart of the benchmarks from its table.
`modules.dot` is written from Package.swift first. Each picture names its source with a hash, which TidyTests compare.
"""

import re
import subprocess
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "Benchmark"))
import chart  # noqa: E402
import document  # noqa: E402

HERE, IMAGES = ROOT / "docs" / "diagrams", ROOT / "docs" / "images"
STYLE = 'fontname="Helvetica,Arial,sans-serif", fontsize=12'


def modules():
    """Each target of Package.swift but tests and system libraries, in the rows that its comments number."""
    manifest = (ROOT / "Package.swift").read_text()
    manifest = manifest[manifest.index("targets: ["):]
    rows, edges, names = [], [], {}
    for line in re.sub(r"\n\s{12,}", " ", manifest).splitlines():
        if re.match(r"\s*// \d+ · ", line):
            rows.append([])
        found = re.match(r'\s*(?:library|\.executableTarget|\.systemLibrary)\(\s*(?:name: )?"([\w-]+)"(.*)', line)
        if not found or "Tests/" in line:
            continue
        name, rest = found.groups()
        if ".systemLibrary" not in line:
            rows[-1].append(name)
        names[name] = re.findall(r'"([\w-]+)"', rest)
    known = {name for row in rows for name in row}
    lines = ["// Written by draw.py from Package.swift: do not edit.", "digraph modules {",
             "    graph [nodesep=0.3, ranksep=0.6, pad=0.3, bgcolor=white]",
             f'    node [shape=box, style="rounded,filled", fillcolor="#f4f3ee", color="#444444", {STYLE}]',
             '    edge [color="#888888", arrowsize=0.6]']
    for row in filter(None, rows):
        lines.append("    { rank=same; " + " ".join(f'"{name}"' for name in row) + " }")
    for name in sorted(known):
        lines.append(f'    "{name}" [label="{name.removeprefix("Postrider") or name}"]')
        for other in sorted(set(names[name]) & known):
            edges.append(f'    "{name}" -> "{other}"')
    (HERE / "modules.dot").write_text("\n".join([*lines, *edges, "}"]) + "\n")


def graph(source):
    text = source.read_text()
    if source.stem == "modules":
        # An import that follows from others is not drawn.
        text = subprocess.run(["tred"], input=text, capture_output=True, text=True, check=True).stdout
    drawn = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True).stdout
    return drawn[drawn.index("<svg"):].strip()


LANE, STEP, TOP, NOTE = 210, 34, 60, 186


def sequence(source):
    """`actor ID: NAME`, `A -> B: TEXT`, `note A: TEXT`, `frame TEXT` … `end`."""
    places, parts, frames, y = {}, [], [], TOP

    def text(x, at, words, anchor="middle", more=""):
        return f'<text x="{x}" y="{at}" text-anchor="{anchor}" {more}>{escape(words)}</text>'

    for line in source.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if found := re.fullmatch(r"actor (\w+): (.+)", line):
            places[found[1]] = LANE // 2 + 10 + LANE * len(places)
            parts.append((found[1], found[2]))
            continue
        if found := re.fullmatch(r"frame (.+)", line):
            frames.append([y - 6, None])
            y += STEP
            parts.append(text(24, y - STEP + 12, found[1], "start", 'font-weight="bold"'))
        elif line == "end":
            frames[-1][1] = y - 8
            y += 16
        elif found := re.fullmatch(r"note (\w+): (.+)", line):
            x = places[found[1]]
            parts += [f'<rect x="{x - NOTE // 2}" y="{y - 12}" width="{NOTE}" height="22" rx="3" fill="#fff8dc" '
                      'stroke="#bbb"/>', text(x, y + 3, found[2], more='font-size="10"')]
            y += STEP
        elif found := re.fullmatch(r"(\w+) -> (\w+): (.+)", line):
            begin, end = places[found[1]], places[found[2]]
            parts += [text((begin + end) / 2, y - 5, found[3], more='font-size="11"'),
                      f'<line x1="{begin}" x2="{end}" y1="{y}" y2="{y}" stroke="#444" marker-end="url(#head)"/>']
            y += STEP
        else:
            sys.exit(f"{source}: '{line}' is no line of a sequence")
    width, height = LANE * len(places) + 20, y + 10
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             'font-family="Helvetica,Arial,sans-serif" font-size="12">',
             '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
             'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#444"/></marker></defs>',
             '<rect width="100%" height="100%" fill="white"/>']
    lines += [f'<rect x="10" y="{begin}" width="{width - 20}" height="{end - begin}" rx="4" fill="#f9f8f4" stroke="#999"/>'
              for begin, end in frames]
    for key, name in [part for part in parts if isinstance(part, tuple)]:
        x = places[key]
        lines += [f'<line x1="{x}" x2="{x}" y1="40" y2="{height - 8}" stroke="#aaa" stroke-dasharray="4 3"/>',
                  f'<rect x="{x - 85}" y="12" width="170" height="28" rx="6" fill="#f4f3ee" stroke="#444"/>',
                  text(x, 30, name, more='font-weight="bold"')]
    return "\n".join([*lines, *(part for part in parts if isinstance(part, str)), "</svg>"])


def main():
    modules()
    for source in sorted(HERE.iterdir()):
        draw = {".dot": graph, ".sequence": sequence}.get(source.suffix)
        if draw:
            document.picture(IMAGES / f"{source.stem}.svg", source.relative_to(ROOT), source.read_text(), draw(source))
    chart.write(ROOT / "docs" / "reference" / "benchmarks.md", IMAGES / "benchmarks.svg")


if __name__ == "__main__":
    main()
