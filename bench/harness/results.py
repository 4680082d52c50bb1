"""What a run of the benchmark says: as data, as a table, and where it is kept."""

import json
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from . import times

SCHEMA = "rorqual.bench/1"
MIB = 1 << 20

ROLES = ("ours", "peer", "floor")

# Of the machine's CPU time during a run. Above it the number is not to be believed.
DISTURBANCE_MAX = 0.10


@dataclass
class Described:
    """What of_job needs to know about a job that is not measured by commands."""

    name: str
    title: str
    bytes: int
    goals: list = field(default_factory=list)


def of_job(job, rows, verified, date):
    lines, ok = verified
    return {
        "name": job.name,
        "title": job.title,
        "bytes": job.bytes,
        "date": date,
        "contenders": with_ratios(sorted(rows, key=lambda row: ROLES.index(row["role"]))),
        "goals": [judged(goal, rows) for goal in getattr(job, "goals", [])],
        "verified": {"ok": ok, "lines": lines},
    }


def of_contender(contender, job_bytes, runs):
    """`runs` may be empty: then it was skipped."""
    return {
        "name": contender.name,
        "role": contender.role,
        "command": " | ".join(" ".join(map(str, stage)) for stage in contender.stages),
        **figures(job_bytes * contender.share, [run.as_dict() for run in runs]),
    }


def figures(job_bytes, runs):
    """The medians. A rate only where all answers were right: a wrong answer has no speed."""
    if not runs:
        return {"skipped": True, "runs": []}
    failed = next((run for run in runs if run["timed_out"] or run["wrong"]), None)
    seconds = statistics.median(run["seconds"] for run in runs)
    return {
        "seconds": seconds,
        "seconds_least": min(run["seconds"] for run in runs),
        "seconds_most": max(run["seconds"] for run in runs),
        "cpu_seconds": statistics.median(run["cpu_seconds"] for run in runs),
        "peak_bytes": max(run["peak_bytes"] for run in runs),
        "bytes_per_second": None if failed else job_bytes / seconds,
        "failure": failure(failed) if failed else None,
        "disturbed": any(run["disturbance"] > DISTURBANCE_MAX for run in runs),
        "runs": runs,
    }


def sound(job):
    """Whether ours answered everywhere, and rightly. What the peers do wrong is their affair."""
    return job["verified"]["ok"] and not any(row["role"] == "ours" and row.get("failure") for row in job["contenders"])


def failure(run):
    return f"no answer in {run['seconds']:.0f} s" if run["timed_out"] else run["wrong"]


def with_ratios(rows):
    """Adds `ratio`: how many times as fast as this one the first of ours is."""
    ours = next((row for row in rows if row["role"] == "ours" and row.get("bytes_per_second")), None)
    for row in rows:
        rate = row.get("bytes_per_second")
        row["ratio"] = ours["bytes_per_second"] / rate if ours and rate else None
    return rows


def judged(goal, rows):
    """A goal as a sentence, and whether it is met; None when there is nothing to compare."""
    named = {row["name"]: row for row in rows}
    ours = named.get(goal.ours, {})
    if goal.peak_mib:
        peak = ours.get("peak_bytes") if ours.get("bytes_per_second") else None
        said = f"{peak / MIB:,.1f} MiB" if peak else "not measured"
        met = peak <= goal.peak_mib * MIB if peak else None
        return {"text": f"{goal.ours}: {said}, asked: at most {goal.peak_mib} MiB", "met": met}
    rates = {name: named.get(name, {}).get("bytes_per_second") for name in goal.beside}
    rates = {name: rate for name, rate in rates.items() if rate}
    if not rates or not ours.get("bytes_per_second"):
        return {"text": f"{goal.ours}: not compared, asked: {goal.times:g}x {' or '.join(goal.beside)}", "met": None}
    best = max(rates, key=rates.get)
    times = ours["bytes_per_second"] / rates[best]
    return {"text": f"{goal.ours}: {times:.2f}x {best}, asked: {goal.times:g}x", "met": times >= goal.times}


def goal_text(goal):
    return {True: "reached: ", False: "MISSED: ", None: ""}[goal["met"]] + goal["text"]


def table(job):
    """The job as aligned text."""
    if job.get("times"):
        return times.table(job, goal_text)
    head = ["", "MB/s", "rorqual is", "seconds", "(least..most)", "CPU s", "peak MiB", ""]
    rows = [head] + [table_row(row) for row in job["contenders"]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    text = [f"{job['title']} ({job['bytes']:,} bytes)"]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1])]
        text.append("  " + "  ".join(cells) + "  " + row[-1])
    notes = [*job["verified"]["lines"], *map(goal_text, job.get("goals", []))]
    return "\n".join([*text, *(f"  {line}" for line in notes)])


def table_row(row):
    if row.get("skipped"):
        return [row["name"], "", "", "", "", "", "", "skipped: not installed, or not built"]
    words = [row["failure"] or "", "disturbed" if row["disturbed"] else "", "one run" if len(row["runs"]) == 1 else ""]
    return [
        row["name"],
        rate_text(row),
        ratio_text(row),
        f"{row['seconds']:.2f}",
        f"{row['seconds_least']:.2f}..{row['seconds_most']:.2f}",
        f"{row['cpu_seconds']:.2f}",
        f"{row['peak_bytes'] / MIB:,.0f}" if row["peak_bytes"] else "?",
        ", ".join(word for word in words if word),
    ]


def rate_text(row):
    rate = row.get("bytes_per_second")
    return f"{rate / 1e6:,.0f}" if rate else "-"


def ratio_text(row):
    ratio = row.get("ratio")
    if not ratio:
        return "-"
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:,.0f}x"


def merge(path, fresh):
    """Jobs that were not run now are kept as they were; each has its own date."""
    old = json.loads(Path(path).read_text()) if Path(path).exists() else {}
    jobs = {job["name"]: job for job in old.get("jobs", [])} | {job["name"]: job for job in fresh["jobs"]}
    return {**fresh, "jobs": list(jobs.values())}


def save(path, results):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(results, indent=1) + "\n")
