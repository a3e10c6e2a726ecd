"""Plots for documents: panels side by side in one SVG, each with a logarithmic axis of sizes and one of figures from 0."""

import math
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 420, 260, 56, 36, 44
COLOURS = ["#1a5fb4", "#c64600"]


def panel(place, title, axis, unit, series):
    """`series`: names, each with pairs of a size and a figure."""
    sizes = [size for points in series.values() for size, _ in points]
    low, high = math.log10(min(sizes)), math.log10(max(sizes))
    step, top = ticks(max(figure for points in series.values() for _, figure in points))
    left, right = place * WIDTH + LEFT, (place + 1) * WIDTH - 24
    bottom = HEIGHT - BOTTOM

    def x(size):
        return left + (math.log10(size) - low) / (high - low) * (right - left)

    def y(figure):
        return bottom - figure / top * (bottom - TOP)

    parts = [f'<text x="{left}" y="20" font-weight="bold">{title}</text>',
             f'<text x="{(left + right) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{axis}</text>']
    for index in range(round(top / step) + 1):
        figure = index * step
        parts += [f'<line x1="{left}" x2="{right}" y1="{y(figure):.1f}" y2="{y(figure):.1f}" stroke="#ddd"/>',
                  f'<text x="{left - 6}" y="{y(figure) + 4:.1f}" text-anchor="end">{figure:g}{unit}</text>']
    for size in sorted(set(sizes)):
        parts.append(f'<text x="{x(size):.1f}" y="{bottom + 16}" text-anchor="middle">{short(size)}</text>')
    for index, (name, points) in enumerate(series.items()):
        colour = COLOURS[index]
        line = " ".join(f"{x(size):.1f},{y(figure):.1f}" for size, figure in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x(size):.1f}" cy="{y(figure):.1f}" r="3" fill="{colour}"/>' for size, figure in points]
        if len(series) > 1:
            parts.append(f'<text x="{left + 8}" y="{TOP + 12 + 16 * index}" fill="{colour}">{name}</text>')
    return parts


def short(size):
    return f"{size / 1e6:g}M" if size >= 1_000_000 else f"{size / 1e3:g}k" if size >= 1000 else f"{size:g}"


def ticks(highest):
    """A round step, and the end of an axis that has room for the highest figure."""
    rough = max(highest, 1e-9) / 4
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    return step, step * math.ceil(highest / step * 1.05)


def write(path, panels):
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * len(panels)} {HEIGHT}" '
             'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    for place, (title, axis, unit, series) in enumerate(panels):
        lines += panel(place, title, axis, unit, series)
    Path(path).write_text("\n".join([*lines, "</svg>"]) + "\n")
