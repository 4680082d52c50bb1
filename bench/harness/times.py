"""Jobs whose figures are times of many requests: percentiles instead of a rate."""

import math
import statistics

from . import machine

MIB = 1 << 20


def row(name, role, seconds, peak_bytes=0, failure=None, command=""):
    """`seconds`: of each request, in the order in which they were made."""
    if failure or not seconds:
        return {"name": name, "role": role, "command": command, "failure": failure or "not measured", "runs": seconds, "peak_bytes": peak_bytes}
    return {
        "name": name,
        "role": role,
        "command": command,
        "p50": statistics.median(seconds),
        "p95": percentile(seconds, 0.95),
        "most": max(seconds),
        "peak_bytes": peak_bytes,
        "failure": None,
        "runs": seconds,
    }


def percentile(values, share):
    """The least value that at least this share is not above."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def skipped(name, why):
    return {"name": name, "role": "peer", "command": "", "skipped": True, "why": why, "runs": [], "peak_bytes": 0, "failure": None}


def job(name, title, rows, goals, lines, ok, **more):
    """As results.of_job makes it; `times` says which kind it is."""
    ours = next((one for one in rows if one["role"] == "ours" and one.get("p50")), None)
    for one in rows:
        one["ratio"] = one["p50"] / ours["p50"] if ours and one["role"] == "peer" and one.get("p50") else None
    return {"name": name, "title": title, "times": True, "date": machine.now(), "contenders": rows, "goals": goals,
            "verified": {"ok": ok, "lines": lines}, **more}  # fmt: skip


def at_most(what, value, limit, unit="s"):
    """A goal: a figure that may not be above a limit. `value` is None where it was not measured."""
    if value is None:
        return {"text": f"{what}: not measured, asked: at most {shown(limit, unit)}", "met": None}
    return {"text": f"{what}: {shown(value, unit)}, asked: at most {shown(limit, unit)}", "met": value <= limit}


def at_least(what, value, limit, unit="x"):
    if value is None:
        return {"text": f"{what}: not measured, asked: at least {shown(limit, unit)}", "met": None}
    return {"text": f"{what}: {shown(value, unit)}, asked: at least {shown(limit, unit)}", "met": value >= limit}


def shown(value, unit):
    if unit == "s":
        return duration(value)
    if unit == "x":
        return f"{value:.1f}x" if value < 10 else f"{value:,.0f}x"
    if unit == "MiB":
        return f"{value / MIB:,.0f} MiB"
    return f"{value:,}{' ' + unit if unit else ''}"


def duration(seconds):
    return f"{seconds * 1000:,.1f} ms" if seconds < 0.1 else f"{seconds * 1000:,.0f} ms" if seconds < 10 else f"{seconds:,.1f} s"


def table(job, goal_text):
    head = ["", "p50", "p95", "most", "of", "takes", "peak MiB", ""]
    rows = [head] + [table_row(one) for one in job["contenders"]]
    widths = [max(len(one[column]) for one in rows) for column in range(len(head))]
    text = [job["title"]]
    for one in rows:
        cells = [one[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(one[1:-1], widths[1:-1])]
        text.append(("  " + "  ".join(cells) + "  " + one[-1]).rstrip())
    return "\n".join([*text, *(f"  {line}" for line in [*job["verified"]["lines"], *map(goal_text, job["goals"])])])


def table_row(one):
    if one.get("skipped"):
        return [one["name"], "", "", "", "", "", "", f"skipped: {one['why']}"]
    peak = f"{one['peak_bytes'] / MIB:,.0f}" if one["peak_bytes"] else ""
    if one["failure"]:
        return [one["name"], "-", "-", "-", str(len(one["runs"])), "-", peak, one["failure"]]
    ratio = f"{one['ratio']:.1f}x" if one["ratio"] and one["ratio"] < 10 else f"{one['ratio']:,.0f}x" if one["ratio"] else "-"
    return [one["name"], *(duration(one[key]) for key in ("p50", "p95", "most")), str(one.get("of", len(one["runs"]))), ratio, peak, ""]
