"""All panels of one path and one /24, beside DuckDB over its own table, GoAccess behind a grep, and lnav."""

import json
import re
import subprocess
from pathlib import Path

from . import times
from .explore_click import LINES, MEMORY
from .explorer import exploring, load
from .jobs import Contender
from .logs import expect_goaccess

# Fields that both have; what we tell by the agent (browser, system, bot), the kind of content and whole addresses are only in ours.
FIELDS = ("path", "client", "net", "user", "method", "status", "protocol", "referrer", "site", "agent")
TOP = 10
TIMES_ASKED = 10
# Of a percentile of ours.
ERROR_MAX = 0.011
PEER_TIMEOUT_SECONDS = 900
PANELS = Path(__file__).resolve().parent.parent / "peers" / "panels.py"
WAYS = {"table": "DuckDB, its table: a condition in each query", "selected": "DuckDB, its table: matching rows put aside first"}


def job(setting):
    log = setting.data.site(max(1, int(LINES * setting.scale)))
    with exploring(setting, "--memory", MEMORY, "--sessions", "1") as explorer:
        load(explorer, log)
        questions = questions_of(explorer, setting.rounds + 1)
        # Each is asked once: what was asked before is remembered. The first is for warming up.
        ours = [explorer.view(where=where(question)) for question in questions]
        peak = explorer.serving.peak_bytes()
    answers = [normal(view) for view, _ in ours]
    rows = [
        times.row("rorqual serve: one view, round trip", "ours", [seconds for _, seconds in ours[1:]], peak),
        times.row("rorqual serve: the server's own work", "ours", [view["seconds"] for view, _ in ours[1:]], peak),
    ]
    found, sayings, right = duckdb(setting, log, questions, answers)
    rows += found + others(setting, log, questions[1], answers[1])
    best = min((row for row in rows if row["role"] == "peer" and row["name"] in WAYS.values() and row.get("p50")), key=lambda row: row["p50"], default=None)
    goals = [times.at_least(f"one view beside {best['name'] if best else 'DuckDB'}", best and best["p50"] / rows[0]["p50"], TIMES_ASKED)]
    sayings += [f"{where(question)}: {answer['rows']:,} of {log.lines:,} rows" for question, answer in zip(questions, answers)]
    return times.job("explore-peers", f"All panels of one path and one /24 of {log.lines:,} rows", rows, goals, sayings, right, bytes=log.bytes)


def where(question):
    return f"path = {json.dumps(question['path'])} and net = {question['net']}"


def questions_of(explorer, count):
    """Of each of the first networks, the path that it asked for most after those that were taken."""
    whole, _ = explorer.view()
    nets = [row["value"] for row in panel(whole, "net")["rows"]]
    # A path and a bucket for each; the answer says how wide it is.
    bucket, questions = whole["histogram"]["bucket_seconds"], []
    for place in range(count):
        net = nets[place % len(nets)]
        paths = panel(explorer.view(where=f"net = {net}")[0], "path")["rows"]
        questions.append({"path": paths[place % len(paths)]["value"], "net": net, "bucket_seconds": bucket})
    fields = [field for field in FIELDS if any(one["field"] == field for one in whole["panels"])]
    return [question | {"fields": fields} for question in questions]


def panel(view, field):
    return next(one for one in view["panels"] if one["field"] == field)


def normal(view):
    """A view in the shape of peers/panels.py."""
    histogram = view["histogram"] or {"at": [], "series": []}
    series = {str(one["value"]): {at: hits for at, hits in zip(histogram["at"], one["hits"]) if hits} for one in histogram["series"]}
    quantiles = view["percentiles"]["bytes"]
    return {
        "rows": view["lines"]["matching"],
        "bytes": view["bytes_sent"],
        "quantiles": [quantiles[key] for key in ("p50", "p90", "p95", "p99", "max")] if quantiles else [],
        "histogram": {name: counts for name, counts in series.items() if counts},
        "bucket_seconds": histogram.get("bucket_seconds"),
        "week": view["week"]["hits"],
        "panels": {one["field"]: {"distinct": one["distinct"]["count"], "top": [[row["value"], row["hits"], row["bytes"]] for row in one["rows"][:TOP]]}
                   for one in view["panels"] if one["field"] in FIELDS},
    }  # fmt: skip


def differences(ours, theirs, bucket_seconds):
    """Names of what is not equal."""
    found = [key for key in ("rows", "bytes", "week") if ours[key] != theirs[key]]
    if rebucketed(ours["histogram"], bucket_seconds) != rebucketed(theirs["histogram"], bucket_seconds):
        found.append("histogram")
    if any(abs(one - other) > ERROR_MAX * other + 1 for one, other in zip(ours["quantiles"], theirs["quantiles"])):
        found.append("percentiles")
    return found + [f"panel {field}" for field, said in theirs["panels"].items() if ours["panels"].get(field, {"distinct": 0, "top": []}) != said]


def rebucketed(histogram, seconds):
    """A view of few rows may have finer buckets than it was asked of; JSON has texts as keys."""
    sums = {}
    for name, counts in histogram.items():
        for at, hits in counts.items():
            key = (name, int(float(at)) // seconds * seconds)
            sums[key] = sums.get(key, 0) + hits
    return sums


def duckdb(setting, log, questions, answers):
    python = setting.data.folder / "peers" / "venv" / "bin" / "python"
    if not python.exists():
        return [times.skipped(name, "no DuckDB in data/peers/venv") for name in WAYS.values()], [], True
    database = setting.out / "panels.duckdb"
    database.unlink(missing_ok=True)
    try:
        made = subprocess.run([python, PANELS, "import", log.path, database], capture_output=True, text=True, timeout=PEER_TIMEOUT_SECONDS, check=True)
        imported = json.loads(made.stdout)
        sayings = [f"DuckDB took {imported['seconds']:.1f} s for its table of {database.stat().st_size / 1e9:.2f} GB, at {imported['peak_bytes'] / times.MIB:,.0f} MiB"]
        return asked(python, database, questions, answers, sayings)
    finally:
        database.unlink(missing_ok=True)


def asked(python, database, questions, answers, sayings):
    lines = [json.dumps(question | {"way": way}) for way in WAYS for question in questions]
    done = subprocess.run([python, PANELS, "ask", database], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=PEER_TIMEOUT_SECONDS, check=True)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    rows, right = [], True
    for place, name in enumerate(WAYS.values()):
        of_way = said[place * len(questions) : (place + 1) * len(questions)]
        for question, ours, theirs in zip(questions, answers, of_way):
            if differs := differences(ours, theirs, question["bucket_seconds"]):
                right = False
                sayings.append(f"NOT EQUAL, {where(question)}: {', '.join(differs)}")
        rows.append(times.row(name, "peer", [one["seconds"] for one in of_way[1:]], max(one["peak_bytes"] for one in of_way)))
    sayings.append(f"{len(questions)} questions compared with DuckDB both ways: {'all equal' if right else 'NOT EQUAL'}")
    return rows, sayings, right


def others(setting, log, question, ours):
    """Once each: they read the log anew for every question."""
    return [grep_goaccess(setting, log, question, ours), lnav(setting, log, question, ours)]


def grep_goaccess(setting, log, question, ours):
    name = "grep | GoAccess, all its panels"
    net, path = question["net"].removesuffix("0/24"), question["path"]
    pattern = rf'^{re.escape(net)}[0-9]+ [^"]*"[A-Z]+ {ere(path)}[? ]'
    out = setting.out / "filtered.goaccess.json"
    out.unlink(missing_ok=True)
    report = ["goaccess", "-", "--log-format=COMBINED", "--no-global-config", "--no-progress", "--no-query-string", "-o", out]
    check = lambda _: expect_goaccess(out, ours["rows"])  # noqa: E731
    return once(setting, name, [["env", "LC_ALL=C", "grep", "-E", pattern, log.path], report], check)


def lnav(setting, log, question, ours):
    path, net = question["path"].replace("'", "''"), question["net"].removesuffix("0/24")
    query = f"""SELECT strftime('%Y-%m-%dT%H', log_time) AS hour, sc_status AS status, count(*) AS n FROM access_log
        WHERE cs_uri_stem = '{path}' AND c_ip LIKE '{net}%' GROUP BY 1, 2"""
    argv = ["lnav", "-n", "-c", f";{query}", "-c", ":write-csv-to -", log.path]

    def check(stdout):
        numbers = [line.rsplit(b",", 1)[1] for line in stdout.splitlines() if re.search(rb",\d+,\d+$", line)]
        total = sum(map(int, numbers))
        return "" if total == ours["rows"] else f"{total:,} rows"

    return once(setting, "lnav, hour x status only", [argv], check)


def once(setting, name, stages, check):
    if not setting.goaccess:
        return times.skipped(name, "left out, as it takes minutes")
    if missing := Contender(name, "peer", stages).missing():
        return times.skipped(name, f"{missing[0]} is not installed")
    run, stdout, _ = setting.runner.run(stages, PEER_TIMEOUT_SECONDS)
    wrong = f"no answer in {run.seconds:.0f} s" if run.timed_out else run.wrong or check(stdout)
    return times.row(name, "peer", [run.seconds], run.peak_bytes, wrong or None, " | ".join(" ".join(map(str, stage)) for stage in stages))


def ere(text):
    """As it stands, for grep -E."""
    return re.sub(r"([][\\.^$*+?{}()|])", r"\\\1", text)
