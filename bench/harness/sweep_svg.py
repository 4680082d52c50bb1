"""The gather sink's sweep as heatmaps: where pointing at pieces is faster than copying them together, and by how much."""

import math

from .svg import STYLE, text

CELL_WIDTH = 50
CELL_HEIGHT = 24
LEFT = 110
TOP = 84
PANEL_GAP = 74
# Beyond a factor of this the colour is full.
FACTOR_MAX = 4

COLOURS = """
  .copy { fill: #0969da; } .point { fill: #bc4c00; } .cell { font-size: 11px; text-anchor: middle; fill: #1f2328; }
  .middle { text-anchor: middle; } .threshold { stroke: #1f2328; stroke-width: 2; stroke-dasharray: 5 3; }
  @media (prefers-color-scheme: dark) {
    .copy { fill: #4493f8; } .point { fill: #f0883e; } .cell { fill: #f0f6fc; } .threshold { stroke: #f0f6fc; }
  }
"""
TITLES = {
    "pipe": "Pipe",
    "socket": "Socket (Unix)",
    "file": "File in the page cache",
    "null": "/dev/null: the sink's own cost",
}
# Pieces up to this size are copied.
COPY_BYTES_MAX = 4 << 10


def render(record):
    rates = {(cell["target"], cell["piece_bytes"], cell["pieces_per_write"], cell["mode"]): cell["bytes_per_second"]
             for cell in record["cells"]}  # fmt: skip
    sizes = sorted({cell["piece_bytes"] for cell in record["cells"]})
    counts = sorted({cell["pieces_per_write"] for cell in record["cells"]})
    targets = [target for target in TITLES if any(cell["target"] == target for cell in record["cells"])]
    width = LEFT + len(sizes) * CELL_WIDTH + 20
    parts = [
        text(20, 28, "Copy pieces together, or point at them?", "title"),
        text(20, 48, "Bytes a second of pointing (writev) divided by those of copying. Orange: pointing is faster; blue: copying. "
             "Dashed: what rorqual does.", "faint"),
    ]  # fmt: skip
    top = TOP
    for target in targets:
        parts += panel(target, rates, sizes, counts, top)
        top += len(counts) * CELL_HEIGHT + PANEL_GAP
    parts.append(text(20, top - 22, f"{record['machine']['cpu']}; {record['date'][:10]}", "faint"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" height="{top}" '
        f'role="img" aria-label="When pointing at pieces is faster than copying them">\n<style>{STYLE}{COLOURS}</style>\n'
        f'<rect class="page" width="{width}" height="{top}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def panel(target, rates, sizes, counts, top):
    parts = [text(20, top, TITLES[target], "title")]
    for row, count in enumerate(counts):
        y = top + 12 + row * CELL_HEIGHT
        parts.append(text(LEFT - 8, y + 16, f"{count} a write", "end"))
        for column, size in enumerate(sizes):
            copied, pointed = (rates.get((target, size, count, mode)) for mode in ("copy", "point"))
            if copied and pointed:
                parts.append(cell(LEFT + column * CELL_WIDTH, y, pointed / copied))
    bottom = top + 12 + len(counts) * CELL_HEIGHT
    parts += [text(LEFT + (column + 0.5) * CELL_WIDTH, bottom + 16, short(size), "faint middle") for column, size in enumerate(sizes)]
    threshold = LEFT + sum(size <= COPY_BYTES_MAX for size in sizes) * CELL_WIDTH
    parts.append(f'<line class="threshold" x1="{threshold}" x2="{threshold}" y1="{top + 8}" y2="{bottom + 4}"/>')
    return parts


def cell(x, y, ratio):
    strength = min(1.0, abs(math.log(ratio)) / math.log(FACTOR_MAX))
    side = "point" if ratio > 1 else "copy"
    return (
        f'<rect class="{side}" fill-opacity="{0.08 + 0.72 * strength:.2f}" x="{x}" y="{y}" width="{CELL_WIDTH - 2}" '
        f'height="{CELL_HEIGHT - 2}"/>' + text(x + CELL_WIDTH / 2 - 1, y + 15, f"{ratio:.2f}", "cell")
    )


def short(size):
    return f"{size >> 10} KiB" if size >= 1 << 10 else f"{size} B"
