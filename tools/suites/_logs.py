"""Access logs of others beside what an independent parser made of them."""

import collections
import json
import subprocess
from pathlib import Path

from suites import Verdict

# The schema of an answer about a table that is no log.
TABLE = "rorqual.summary/1"

# The fields that are compared, with what we call them.
FIELDS = ("status", "client", "method", "target")


def compare(case, log: Path, truth, program: Path):
    """The verdict on one log. `truth` is a list of records: dicts of FIELDS and `bytes`; a field that the referee
    does not read is None there and is not compared."""
    answer = subprocess.run([program, "logs", "--json", log], capture_output=True, timeout=120)
    message = answer.stderr.decode(errors="replace").strip()
    if not answer.stdout:
        first = message.splitlines()[0] if message else "nothing is said"
        return Verdict(case, not truth, f"    {len(truth)} records by the referee; refused with {answer.returncode}: {first}")
    report = json.loads(answer.stdout)
    if report["schema"] == TABLE:
        return Verdict(case, not truth, f"    {len(truth)} records by the referee; not read as a log, said by the schema")
    lines = report["lines"]
    rows = records(log, program)
    wrong = differences(truth, rows)
    # Repaired lines are among those that were parsed.
    read = lines["parsed"]
    if read != len(truth):
        wrong.insert(0, f"{read} records read, {lines['rejected']} rejected, {len(truth)} by the referee")
    warned = f"\n    said: {message.splitlines()[0]}" if message else "\n    nothing is said"
    return Verdict(case, not wrong, "    " + "\n    ".join(wrong) + warned)


def records(log, program):
    """The records as `convert` writes them."""
    command = [program, "convert", log, "--from", "log", "--to", "ndjson", "-o", "-", "--bad", "skip"]
    answer = subprocess.run(command, capture_output=True, timeout=120)
    rows = []
    for line in answer.stdout.decode(errors="replace").splitlines():
        row = json.loads(line)
        query = f"?{row['query']}" if row.get("query") else ""
        row["target"] = row["path"] + query if row.get("path") is not None else None
        row["status"] = str(row["status"]) if row.get("status") is not None else None
        rows.append(row)
    return rows


def differences(truth, rows):
    wrong = []
    for name in FIELDS:
        want = collections.Counter(record[name] for record in truth if record.get(name))
        got = collections.Counter(row[name] for row in rows if row.get(name))
        if want and want != got:
            wrong.append(f"{name}: missing {dict((want - got).most_common(3))}, added {dict((got - want).most_common(3))}")
    want = [record["bytes"] for record in truth if record.get("bytes") is not None]
    got = sum(row.get("bytes") or 0 for row in rows)
    if want and sum(want) != got:
        wrong.append(f"bytes: {got}, by the referee {sum(want)}")
    return wrong
