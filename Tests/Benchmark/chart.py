"""The ratios of the benchmarks' table as a picture: a bar for each comparison with a peer.

usage: chart.py DOCUMENT PICTURE

The table in the document is the source (bench.py writes it); the picture says so with a hash, which TidyTests compare.
"""

import math
import sys
from html import escape
from pathlib import Path

import document

LEFT, WIDTH, BAR, GAP, TOP = 430, 900, 16, 8, 40
ROOT = Path(__file__).resolve().parents[2]
BETTER, WORSE = "#1a5fb4", "#c64600"


def comparisons(table):
    """Pairs of a label and of how many times the peer's figure ours is as good: more than 1 is better, for every row."""
    row, what, is_less_better = "", "", False
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 5 or cells[0] in ("row", "---"):
            continue
        if cells[0]:
            row, what, is_less_better = cells[0].strip("`"), "", "less is better" in cells[1]
        elif cells[1]:
            what = cells[1]
        if cells[4]:
            ratio = float(cells[4])
            label = f"{row}, {what}" if what else row
            yield f"{label}: {cells[3].split(':')[0]}", 1 / ratio if is_less_better else ratio


def draw(table):
    bars = list(comparisons(table))
    low = min(-1.2, *(math.log2(value) - 0.2 for _, value in bars))
    high = max(math.log2(value) for _, value in bars) + 0.5
    height = TOP + len(bars) * (BAR + GAP) + 30

    def x(value):
        return LEFT + (math.log2(value) - low) / (high - low) * (WIDTH - LEFT - 30)

    parts = [f'<text x="{LEFT}" y="18" font-weight="bold">times as good as the peer (logarithmic)</text>']
    for power in range(math.ceil(low), math.floor(high) + 1):
        at = x(2 ** power)
        colour = "#444" if power == 0 else "#ddd"
        parts += [f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 6}" y2="{height - 24}" stroke="{colour}"/>',
                  f'<text x="{at:.1f}" y="{height - 8}" text-anchor="middle">{2 ** power:g}</text>']
    for index, (label, value) in enumerate(bars):
        top = TOP + index * (BAR + GAP)
        begin, end = sorted((x(1), max(x(value), LEFT)))
        colour = BETTER if value >= 1 else WORSE
        parts += [f'<text x="{LEFT - 10}" y="{top + 12}" text-anchor="end">{escape(label)}</text>',
                  f'<rect x="{begin:.1f}" y="{top}" width="{max(end - begin, 1):.1f}" height="{BAR}" fill="{colour}"/>',
                  f'<text x="{max(end, x(1)) + 6:.1f}" y="{top + 12}">{value:.2f}</text>']
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
            'font-size="12">')
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"])


def write(path, picture):
    path = Path(path).resolve()
    table = document.part(path, "bench")
    document.picture(picture, f"{path.relative_to(ROOT)}", table, draw(table))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: chart.py DOCUMENT PICTURE")
    write(*sys.argv[1:])
