"""A soak, or a chaos, as a picture: memory and open descriptors over time, of the process that works and of the server beside it."""

from .svg import STYLE, text

MIB = 1 << 20
WIDTH = 880
LEFT = 70
RIGHT = WIDTH - 130
PANEL_HEIGHT = 150
PANEL_GAP = 62
TOP = 70
TICKS = 4

COLOURS = """
  .line { fill: none; stroke-width: 1.5; }
  .own { stroke: #0969da; } .server { stroke: #bc4c00; }
  text.own { stroke: none; fill: #0969da; } text.server { stroke: none; fill: #bc4c00; }
  .grid { stroke: #d0d7de; } .mark { stroke: #8c959f; stroke-dasharray: 4 3; }
  @media (prefers-color-scheme: dark) {
    .own { stroke: #4493f8; } .server { stroke: #f0883e; }
    text.own { fill: #4493f8; } text.server { fill: #f0883e; }
    .grid { stroke: #30363d; } .mark { stroke: #6e7681; }
  }
"""

# What the two processes are, where the record does not say it.
NAMES = ("libraries", "rorqual serve")

# Title, what a value is divided by, and the two series.
PANELS = [
    ("Resident memory, MiB", MIB, "resident_bytes", "server_resident_bytes"),
    ("Open descriptors", 1, "descriptors", "server_descriptors"),
]


def render(record):
    series = record["series"]
    seconds = max([record["seconds"], *(moment["seconds"] for moment in series["moments"])])
    labels = record.get("names", NAMES)
    parts = [text(LEFT, 28, heading(record), "title")]
    for index, (title, unit, *names) in enumerate(PANELS):
        parts.append(panel(TOP + index * (PANEL_HEIGHT + PANEL_GAP), title, unit, names, series, seconds, labels))
    height = TOP + len(PANELS) * (PANEL_HEIGHT + PANEL_GAP) + 10
    failed = [check["name"] for check in record["checks"] if not check["ok"]]
    said = f"failed: {', '.join(failed)}" if failed else "nothing was left over"
    parts.append(text(LEFT, height - 14, said, "failure" if failed else "faint"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="Memory and descriptors over time">\n<style>{STYLE}{COLOURS}</style>\n'
        f'<rect class="page" width="{WIDTH}" height="{height}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def heading(record):
    operations = sum(sum(outcomes.values()) for outcomes in record["outcomes"].values())
    return f"{operations:,} operations in {duration(record['seconds'])}, seed {record['seed']}"


def panel(top, title, unit, names, series, seconds, labels):
    moments = series["moments"]
    most = nice(max((moment[name] / unit for moment in moments for name in names), default=1))
    bottom = top + PANEL_HEIGHT

    def x(at):
        return LEFT + (RIGHT - LEFT) * at / seconds

    def y(value):
        return bottom - PANEL_HEIGHT * value / most

    lines = [text(LEFT, top - 10, title, "faint")]
    for tick in range(TICKS + 1):
        value = most * tick / TICKS
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>')
        lines.append(text(LEFT - 8, round(y(value)) + 4, f"{value:g}", "faint end"))
        at = seconds * tick / TICKS
        lines.append(text(x(at), bottom + 18, duration(at), "faint"))
    for at, what in series["marks"]:
        lines.append(f'<line class="mark" x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{top}" y2="{bottom}"/>')
        lines.append(text(x(at) + 4, top + 12, what, "faint"))
    last_y = None
    for colour, label, name in zip(("own", "server"), labels, names):
        points = " ".join(f"{x(moment['seconds']):.1f},{y(moment[name] / unit):.1f}" for moment in moments)
        lines.append(f'<polyline class="line {colour}" points="{points}"/>')
        if moments:
            label_y = y(moments[-1][name] / unit) + 4
            # Two ends that meet would write over each other.
            label_y = label_y + 14 if last_y is not None and abs(label_y - last_y) < 14 else label_y
            lines.append(text(RIGHT + 8, round(label_y), label, colour))
            last_y = label_y
    return "\n".join(lines)


def nice(most):
    """The next number that four ticks divide well."""
    step = 1
    while True:
        for factor in (4, 8, 12, 20):
            if factor * step >= most:
                return factor * step
        step *= 10


def duration(seconds):
    if seconds < 120:
        return f"{seconds:g} s" if seconds == int(seconds) else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
