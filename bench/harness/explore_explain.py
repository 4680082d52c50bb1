"""Explain: whether it names what was planted, and keeps silent where nothing was."""

import re
from collections import Counter

from . import times
from .explorer import exploring, load

# Never fewer, whatever the scale: of an incident in a hundredth of them nothing would be left to find.
LINES = 5_000_000
SEED = 1
MEMORY = "1GiB"
# Rows that a page shows before somebody reads on.
SHOWN = 3
SECONDS_MAX = 1.0
# Each span is asked so often for its time; views that were counted are remembered, but not so many.
ROUNDS = 3


def job(setting):
    log = setting.data.incidents(LINES, SEED)
    truth = setting.data.truth(log.path.name)
    with exploring(setting, "--memory", MEMORY, "--sessions", "1") as explorer:
        load(explorer, log, truth["format"])
        asked = [asked_of(explorer, incident) for incident in truth["incidents"]]
        quiet = [asked_of(explorer, span) for span in truth["quiet"]]
        again = [asked_of(explorer, span)[1] for _ in range(ROUNDS - 1) for span in truth["incidents"] + truth["quiet"]]
        peak = explorer.serving.peak_bytes()
    verdicts = [verdict(incident, answer) for incident, (answer, _) in zip(truth["incidents"], asked)]
    alarms = [alarm(span, answer) for span, (answer, _) in zip(truth["quiet"], quiet) if answer["rows"]]
    return report(log, [*(seconds for _, seconds in asked + quiet), *again], peak, verdicts, alarms, truth)


def asked_of(explorer, span):
    select = {"from": span["from"], "to": span["to"], "where": ""}
    return explorer.post("explain", **{"from": None, "to": None, "where": "", "select": select, "limit": 20})


def verdict(incident, answer):
    """The place of the row that names the cause, from 1 on; 0 where none does. And what was shown instead."""
    places = [place for place, row in enumerate(answer["rows"], 1) if any(names(row, cause) for cause in incident["causes"])]
    shown = [row_text(row) for row in answer["rows"][:SHOWN]]
    return {"name": incident["name"], "lines": incident["lines"], "inside": answer["inside"], "place": places[0] if places else 0, "shown": shown,
            "from": incident["from"], "to": incident["to"]}  # fmt: skip


def alarm(span, answer):
    return {"from": span["from"], "to": span["to"], "inside": answer["inside"], "shown": [row_text(row) for row in answer["rows"][:SHOWN]]}


def names(row, cause):
    """All fields of the cause are among the row's own terms or what most of its lines have too."""
    said = {(term["field"], str(term["value"])) for term in row["terms"]}
    said |= set(filter(None, map(equality, row.get("companions", []))))
    return {tuple(term) for term in cause} <= said


def equality(condition):
    found = re.fullmatch(r'(\w+) = "?(.*?)"?', condition)
    return found and found.groups()


def row_text(row):
    more = f", with {'; '.join(row['companions'])}" if row.get("companions") else ""
    return f"{row['where']} ({row['inside']:,} of the span, {row['share_inside']:.1%} against {row['share_outside']:.2%}, G {row['g']:,.0f}{more})"


def report(log, seconds, peak, verdicts, alarms, truth):
    found = sum(0 < one["place"] <= SHOWN for one in verdicts)
    missed = [one for one in verdicts if not 0 < one["place"] <= SHOWN]
    lines = [f"named in row {place}: {count}" for place, count in sorted(Counter(one["place"] for one in verdicts).items()) if place]
    for one in missed:
        where = f"in row {one['place']}" if one["place"] else "nowhere"
        lines.append(f"MISSED {one['name']} ({one['lines']:,} of {one['inside']:,} lines, {one['from']}..{one['to']}): {where}")
        lines += [f"    {text}" for text in one["shown"]] or ["    nothing was reported"]
    for one in alarms:
        lines.append(f"FALSE ALARM in {one['from']}..{one['to']} ({one['inside']:,} lines)")
        lines += [f"    {text}" for text in one["shown"]]
    planted, silent = len(truth["incidents"]), len(truth["quiet"])
    rows = [times.row("explain a span, round trip", "ours", seconds, peak)]
    goals = [
        times.at_least("incidents named in the first three rows", found, planted, "of 20"),
        times.at_most(f"reports on {silent} quiet spans", len(alarms), 0, "spans"),
        times.at_most("slowest explanation", rows[0]["most"], SECONDS_MAX),
    ]
    title = f"Explain {planted} incidents and {silent} quiet spans in {log.lines:,} rows"
    return times.job("explore-explain", title, rows, goals, lines, True, incidents=verdicts, alarms=alarms)
