"""The results as a picture: one group of bars a job. Text stays text, and the colours follow the reader's theme."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

from .results import MIB, rate_text, ratio_text
from .times import duration

ROW_HEIGHT = 24
BAR_HEIGHT = 14
TITLE_HEIGHT = 46
MARGIN = 20
FOOT_HEIGHT = 44


@dataclass(frozen=True)
class Layout:
    """The widths of one group of bars, and how many stand side by side."""

    columns: int = 1
    name_width: int = 250
    bar_width: int = 300
    # Only the fastest way of each other program.
    folded: bool = False
    # Bars of times, not of rates.
    times: bool = False

    @property
    def bar_left(self):
        return self.name_width + 14

    @property
    def memory_right(self):
        # Behind the longest bar there is room for its label.
        return self.bar_left + self.bar_width + (300 if self.columns == 1 else 180)

    @property
    def width(self):
        return self.memory_right + 16

    @property
    def failure_chars_max(self):
        return 60 if self.columns == 1 else 30

    @property
    def legend(self):
        return "MB/s, and how many times as fast rorqual is" if self.columns == 1 else "MB/s, times as fast"


STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; font-size: 14px; }
  .faint { fill: #59636e; font-size: 12px; }
  .name { text-anchor: end; }
  .end { text-anchor: end; }
  .page { fill: #ffffff; }
  .ours { fill: #0969da; } .peer { fill: #8c959f; } .floor { fill: #d0d7de; }
  text.ours { fill: #0969da; font-weight: 600; }
  .failure { fill: #b3261e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .faint { fill: #9198a1; }
    .page { fill: #0d1117; }
    .ours { fill: #4493f8; } .peer { fill: #6e7681; } .floor { fill: #30363d; }
    text.ours { fill: #4493f8; }
    .failure { fill: #ff7b72; }
  }
"""


# The pictures, by what their file names end in: title, the jobs whose names start so, and how they are laid out.
PICTURES = {
    "": ("Speed and memory of rorqual beside other tools", ("count", "logs"), Layout()),
    "-grep": ("Searching: rorqual beside ripgrep and grep", ("grep",), Layout(2, name_width=190, bar_width=120, folded=True)),
    "-bytes": ("Checksums, downloads and the store: rorqual beside other tools", ("hash", "fetch", "store"), Layout()),
    "-tables": ("Tables: rorqual beside DuckDB, ClickHouse, Polars and pyarrow", ("convert", "summary", "get", "query", "version"), Layout()),
    "-upload": ("Uploads: rorqual beside servers that discard what comes, and its own parser", ("upload",), Layout(name_width=330, bar_width=230)),
    "-explore": ("The log explorer: times on a log of ten million rows and more, and of many uploads", ("explore", "many"), Layout(name_width=330, bar_width=230, times=True)),
    "-languages": ("Elixir and Python: rorqual's packages beside what is written there", ("elixir", "python"), Layout(name_width=290, bar_width=260)),
    "-render": ("Templates: rorqual beside Jinja2, Go and others", ("render",), Layout()),
}


def pictures(results):
    """One SVG each, for those that have anything to show."""
    found = {}
    for suffix, (title, starts, layout) in PICTURES.items():
        jobs = [job for job in results["jobs"] if job["name"].startswith(starts) and shown(job, layout)]
        if jobs:
            found[suffix] = render(title, jobs, results, layout)
    return found


def render(title, jobs, results, layout):
    parts, top = [], MARGIN
    for start in range(0, len(jobs), layout.columns):
        beside = jobs[start : start + layout.columns]
        parts += [group(job, index * layout.width, top, layout) for index, job in enumerate(beside)]
        top += TITLE_HEIGHT + ROW_HEIGHT * max(len(shown(job, layout)) for job in beside) + MARGIN
    width = layout.width * layout.columns
    parts.append(foot(results, top))
    height = top + FOOT_HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{title}">\n<style>{STYLE}</style>\n'
        f'<rect class="page" width="{width}" height="{height}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def shown(job, layout):
    if layout.times:
        return [row for row in job["contenders"] if row.get("p95")]
    rows = [row for row in job["contenders"] if not row.get("skipped")]
    return folded(rows) if layout.folded else rows


def folded(rows):
    """Of one program's ways to do the same only the fastest, if any of them has the right answer."""
    best = {}
    for row in rows:
        if row["role"] == "peer" and row["bytes_per_second"]:
            program = row["name"].split()[0]
            best[program] = max(best.get(program, row), row, key=lambda one: one["bytes_per_second"])
    return [row for row in rows if row["role"] != "peer" or best.get(row["name"].split()[0], row) is row]


def group(job, left, top, layout):
    """A linear scale of its own for each job: within one the lengths can be compared, and a sliver is a sliver."""
    if layout.times:
        return times_group(job, left, top, layout)
    rows = shown(job, layout)
    most = max((row["bytes_per_second"] or 0 for row in rows), default=0)
    lines = [
        text(left + MARGIN, top + 16, job["title"], "title"),
        text(left + layout.bar_left, top + 36, layout.legend, "faint"),
        text(left + layout.memory_right, top + 36, "peak memory", "faint end"),
    ]
    for index, row in enumerate(rows):
        lines.append(bar(row, left, top + TITLE_HEIGHT + index * ROW_HEIGHT, most, layout))
    return "\n".join(lines)


def times_group(job, left, top, layout):
    """The median, and paler behind it what 95 in 100 do not exceed."""
    rows = shown(job, layout)
    most = max((row["p95"] for row in rows), default=0)
    lines = [
        text(left + MARGIN, top + 16, job["title"], "title"),
        text(left + layout.bar_left, top + 36, "median, paler the 95th of 100; times as long as rorqual", "faint"),
        text(left + layout.memory_right, top + 36, "peak memory", "faint end"),
    ]
    for index, row in enumerate(rows):
        lines.append(times_bar(row, left, top + TITLE_HEIGHT + index * ROW_HEIGHT, most, layout))
    return "\n".join(lines)


def times_bar(row, left, top, most, layout):
    base, bar_left = top + 12, left + layout.bar_left
    middle, wide = (max(1.0, layout.bar_width * row[key] / most) for key in ("p50", "p95"))
    ratio = f"  ({ratio_text(row)})" if row["role"] == "peer" and row.get("ratio") else ""
    lines = [
        text(left + layout.name_width, base, row["name"], "name ours" if row["role"] == "ours" else "name"),
        f'<rect class="floor" x="{bar_left}" y="{top}" width="{wide:.1f}" height="{BAR_HEIGHT}" rx="2"/>',
        f'<rect class="{row["role"]}" x="{bar_left}" y="{top}" width="{middle:.1f}" height="{BAR_HEIGHT}" rx="2"/>',
        text(bar_left + wide + 8, base, f"{duration(row['p50'])}, {duration(row['p95'])}{ratio}", "value"),
    ]
    if row["peak_bytes"]:
        lines.append(text(left + layout.memory_right, base, f"{row['peak_bytes'] / MIB:,.0f} MiB", "end"))
    return "\n".join(lines)


def bar(row, left, top, most, layout):
    base, bar_left = top + 12, left + layout.bar_left
    lines = [text(left + layout.name_width, base, row["name"], "name ours" if row["role"] == "ours" else "name")]
    rate = row["bytes_per_second"]
    if rate:
        width = max(1.0, layout.bar_width * rate / most)
        lines.append(f'<rect class="{row["role"]}" x="{bar_left}" y="{top}" width="{width:.1f}" height="{BAR_HEIGHT}" rx="2"/>')
        lines.append(text(bar_left + width + 8, base, label(row), "value"))
    else:
        lines.append(text(bar_left, base, shorten(row["failure"], layout.failure_chars_max), "failure"))
    if row["peak_bytes"]:
        lines.append(text(left + layout.memory_right, base, f"{row['peak_bytes'] / MIB:,.0f} MiB", "end"))
    return "\n".join(lines)


def label(row):
    ratio = ratio_text(row)
    return rate_text(row) + ("" if ratio == "-" or row["ratio"] == 1.0 else f"  ({ratio})")


def shorten(words, chars_max):
    return words if len(words) <= chars_max else words[: chars_max - 1] + "…"


def foot(results, top):
    machine = results["machine"]
    memory = f"{machine['memory_bytes'] / (1 << 30):.0f} GiB"
    words = f"{machine['cpu']}, {machine['cpus']} CPUs, {memory}, {machine['system']}; {results['date'][:10]}; "
    words += "whole processes, page cache, medians of one run."
    return text(MARGIN, top + 14, words, "faint")


def text(x, y, words, classes):
    return f'<text x="{x:.1f}" y="{y}" class="{classes}">{escape(words)}</text>'
