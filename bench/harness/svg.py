"""The results as a picture: one group of bars a job. Text stays text, and the colours follow the reader's theme."""

from xml.sax.saxutils import escape

from .results import MIB, rate_text, ratio_text

WIDTH = 880
NAME_WIDTH = 250
BAR_LEFT = NAME_WIDTH + 14
BAR_WIDTH = 300
MEMORY_RIGHT = WIDTH - 16
ROW_HEIGHT = 24
BAR_HEIGHT = 14
TITLE_HEIGHT = 46
MARGIN = 20
FOOT_HEIGHT = 44
FAILURE_CHARS_MAX = 60

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


def render(results):
    parts, top = [], MARGIN
    for job in results["jobs"]:
        parts.append(group(job, top))
        top += TITLE_HEIGHT + ROW_HEIGHT * len(shown(job)) + MARGIN
    parts.append(foot(results, top))
    height = top + FOOT_HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="Speed and memory of rorqual beside other tools">\n<style>{STYLE}</style>\n'
        f'<rect class="page" width="{WIDTH}" height="{height}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def shown(job):
    return [row for row in job["contenders"] if not row.get("skipped")]


def group(job, top):
    """A linear scale of its own for each job: within one the lengths can be compared, and a sliver is a sliver."""
    most = max((row["bytes_per_second"] or 0 for row in shown(job)), default=0)
    lines = [
        text(MARGIN, top + 16, job["title"], "title"),
        text(BAR_LEFT, top + 36, "MB/s, and how many times as fast rorqual is", "faint"),
        text(MEMORY_RIGHT, top + 36, "peak memory", "faint end"),
    ]
    for index, row in enumerate(shown(job)):
        lines.append(bar(row, top + TITLE_HEIGHT + index * ROW_HEIGHT, most))
    return "\n".join(lines)


def bar(row, top, most):
    base = top + 12
    lines = [text(NAME_WIDTH, base, row["name"], "name ours" if row["role"] == "ours" else "name")]
    rate = row["bytes_per_second"]
    if rate:
        width = max(1.0, BAR_WIDTH * rate / most)
        lines.append(f'<rect class="{row["role"]}" x="{BAR_LEFT}" y="{top}" width="{width:.1f}" height="{BAR_HEIGHT}" rx="2"/>')
        lines.append(text(BAR_LEFT + width + 8, base, label(row), "value"))
    else:
        lines.append(text(BAR_LEFT, base, shorten(row["failure"]), "failure"))
    if row["peak_bytes"]:
        lines.append(text(MEMORY_RIGHT, base, f"{row['peak_bytes'] / MIB:,.0f} MiB", "end"))
    return "\n".join(lines)


def label(row):
    ratio = ratio_text(row)
    return rate_text(row) + ("" if ratio == "-" or row["ratio"] == 1.0 else f"  ({ratio})")


def shorten(words):
    return words if len(words) <= FAILURE_CHARS_MAX else words[: FAILURE_CHARS_MAX - 1] + "…"


def foot(results, top):
    machine = results["machine"]
    memory = f"{machine['memory_bytes'] / (1 << 30):.0f} GiB"
    words = f"{machine['cpu']}, {machine['cpus']} CPUs, {memory}, {machine['system']}; {results['date'][:10]}; "
    words += "whole processes, files in the page cache, medians, one machine and one run."
    return text(MARGIN, top + 14, words, "faint")


def text(x, y, words, classes):
    return f'<text x="{x:.1f}" y="{y}" class="{classes}">{escape(words)}</text>'
