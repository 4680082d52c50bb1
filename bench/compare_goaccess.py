#!/usr/bin/env python3
"""Compare `rorqual logs --json` with GoAccess's JSON of the same combined log.

  compare_goaccess.py OURS.json GOACCESS.json [--log LOG]
  compare_goaccess.py --run LOG [--rorqual PROGRAM]    runs both first

GoAccess must have been run as harness/goaccess.py does it. Exit code: 0 same, 1 a difference, 2 not comparable.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from harness import goaccess

# As many as `--top` allows.
OUR_ROWS_MAX = 1000
DAY_SECONDS = 86_400
HOUR_SECONDS = 3_600
SHOWN_MAX = 5

DEFINITIONS = """\
Same by definition after this: GoAccess splits paths into "requests", "static_requests" and "not_found", and each again
by method and protocol: the rows of one path are summed. It decodes %20 and trims the ends of a path: ours, which stay
as in the log, are decoded and trimmed, and the spellings of one path summed, before comparing. Invalid UTF-8 is U+FFFD
in both. Visitors are not compared: address x day x agent is GoAccess's own notion. It tells addresses apart by a 32-bit
hash, so of some 100,000 it may count a few too few. With the log at hand, this and paths whose spellings our list is
too short for are counted again in the log, and nothing else is excused.
"""


class Comparison:
    """Collects the answers, so that one difference does not hide the next."""

    def __init__(self):
        self.checks = []

    def same(self, what, ours, theirs):
        detail = f"{ours:,}" if ours == theirs else f"ours {ours:,}, GoAccess {theirs:,}"
        self.checks.append((what, ours == theirs, detail))

    def same_rows(self, what, ours, theirs):
        """Dictionaries that must be equal, key by key."""
        keys = sorted(ours.keys() | theirs.keys(), key=str)
        wrong = [key for key in keys if ours.get(key) != theirs.get(key)]
        shown = [f"{key}: ours {ours.get(key)}, GoAccess {theirs.get(key)}" for key in wrong[:SHOWN_MAX]]
        detail = f"{len(keys):,} equal" if not wrong else f"{len(wrong):,} of {len(keys):,} differ; " + "; ".join(shown)
        self.checks.append((what, not wrong, detail))

    def skip(self, what, reason):
        self.checks.append((what, None, reason))

    @property
    def differs(self):
        return any(ok is False for _, ok, _ in self.checks)

    def lines(self):
        words = {True: "same", False: "DIFFERS", None: "skipped"}
        return [f"{words[ok]:8} {what}: {detail}" for what, ok, detail in self.checks]


def compare(ours, theirs, log=None):
    """`log`: the file that both have read, to tell a collision of hashes from an error of ours; may be missing."""
    result = Comparison()
    compare_totals(result, ours, theirs["general"])
    result.same_rows("hits per status", {row["value"]: row["hits"] for row in ours["status"]}, goaccess.statuses(theirs))
    compare_times(result, ours, theirs)
    panels = {panel["field"]: panel for panel in ours["panels"]}
    compare_paths(result, panels["path"], theirs, log)
    compare_clients(result, panels["client"], theirs, log)
    return result


def compare_totals(result, ours, general):
    lines = ours["lines"]
    # GoAccess does not count blank lines as requests.
    result.same("lines", lines["total"] - lines["blank"], general["total_requests"])
    result.same("parsed lines", lines["parsed"], general["valid_requests"])
    result.same("rejected lines", lines["rejected"], general["failed_requests"])
    result.same("bytes sent", ours["bytes_sent"], general["bandwidth"])


def compare_times(result, ours, theirs):
    """GoAccess counts days and hours in the log's own time, our buckets are aligned to UTC."""
    histogram, zone_seconds = ours["histogram"], ours["time"]["zone_seconds"]
    for what, unit_seconds, key, rows in (
        ("hits per day", DAY_SECONDS, lambda time: time.date(), goaccess.days(theirs)),
        ("hits per hour of the day", HOUR_SECONDS, lambda time: time.hour, goaccess.hours(theirs)),
    ):
        bucket_seconds = histogram["bucket_seconds"]
        if unit_seconds % bucket_seconds or zone_seconds % bucket_seconds:
            result.skip(what, f"buckets of {bucket_seconds} s do not add up to it (zone {zone_seconds} s)")
            continue
        sums = Counter()
        for index, at in enumerate(histogram["at"]):
            time = datetime.fromtimestamp(at + zone_seconds, timezone.utc)
            sums[key(time)] += sum(series["hits"][index] for series in histogram["series"])
        result.same_rows(what, dict(sums), rows)


def compare_paths(result, panel, theirs, log):
    if not panel["exact"] or not goaccess.paths_complete(theirs):
        result.skip("hits and bytes per path", "a list is not exact or was cut")
        return
    ours, all_theirs = merged_paths(panel), goaccess.paths(theirs)
    complete = len(panel["rows"]) == panel["distinct"]["count"]
    expected = all_theirs if complete else top(all_theirs, ours)
    wrong = {path for path in ours.keys() | expected.keys() if ours.get(path) != expected.get(path)}
    if wrong and log and not complete:
        excused = cut_spellings(wrong, panel["rows"], all_theirs, log)
        result.same("paths of which a spelling is below our last row, counted in the log", len(excused), len(wrong))
        ours, expected = ({path: row for path, row in rows.items() if path not in excused} for rows in (ours, expected))
    result.same_rows("hits and bytes per path", ours, expected)
    if complete:
        result.same("distinct paths", len(ours), len(all_theirs))


def merged_paths(panel):
    """{path as GoAccess writes it: (hits, bytes)}"""
    sums = defaultdict(lambda: (0, 0))
    for row in panel["rows"]:
        hits, sent = sums[as_goaccess(row["value"])]
        sums[as_goaccess(row["value"])] = (hits + row["hits"], sent + row["bytes"])
    return dict(sums)


@cache
def as_goaccess(path):
    return unquote(path, errors="replace").strip()


def cut_spellings(wrong, rows, theirs, log):
    """The paths among `wrong` that only differ because we list some of their spellings and are right not to list
    the others: GoAccess's number is the sum over all, ours are right, and the rest has no more hits than our last row."""
    listed = {row["value"]: row["hits"] for row in rows}
    least = rows[-1]["hits"]
    excused = set()
    for path, spellings in spellings_in(log, wrong).items():
        sum_right = sum(spellings.values()) == theirs.get(path, (0, 0))[0]
        each_right = all(listed.get(raw, hits) == hits and (raw in listed or hits <= least) for raw, hits in spellings.items())
        if len(spellings) > 1 and sum_right and each_right:
            excused.add(path)
    return excused


def spellings_in(log, wanted):
    """{path: {spelling: lines of the log}}; only for logs in the combined format whose requests have no quotes."""
    found = defaultdict(Counter)
    with open(log, "rb") as lines:
        for line in lines:
            words = line.split(b'"', 2)[1].split(b" ", 2)
            raw = words[1].split(b"?", 1)[0].decode("utf-8", "replace") if len(words) == 3 else ""
            if as_goaccess(raw) in wanted:
                found[as_goaccess(raw)][raw] += 1
    return found


def top(theirs, ours):
    """Their rows that our list must have: all that we list, and all with more hits than our last row has."""
    least = min((hits for hits, _ in ours.values()), default=0)
    return {value: row for value, row in theirs.items() if value in ours or row[0] > least}


def compare_clients(result, panel, theirs, log):
    if panel["distinct"]["exact"]:
        compare_distinct_clients(result, panel["distinct"]["count"], goaccess.clients_distinct(theirs), log)
    else:
        result.skip("distinct clients", "ours is an estimate")
    if not panel["exact"]:
        result.skip("hits and bytes per client", "ours are bounds")
        return
    ours = {row["value"]: (row["hits"], row["bytes"]) for row in panel["rows"]}
    result.same_rows("hits and bytes per client", ours, top(goaccess.clients(theirs), ours))


def compare_distinct_clients(result, ours, theirs, log):
    if ours == theirs or log is None:
        result.same("distinct clients", ours, theirs)
        return
    with open(log, "rb") as lines:
        clients = {line.split(b" ", 1)[0] for line in lines}
    result.same("distinct clients, counted in the log", ours, len(clients))
    result.same("distinct hashes of clients, computed from the log", goaccess.distinct_as_counted(clients), theirs)


def our_report(rorqual, log):
    """With more rows a panel than the default, which is a screenful."""
    argv = [rorqual, "logs", "--json", "--top", str(OUR_ROWS_MAX), log]
    return json.loads(subprocess.run(argv, check=True, stdout=subprocess.PIPE).stdout)


def run_both(log, rorqual):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "goaccess.json"
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        subprocess.run(goaccess.argv(log, out), check=True, **quiet)
        return our_report(rorqual, log), goaccess.load(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours", nargs="?", help="JSON of rorqual logs --json")
    parser.add_argument("theirs", nargs="?", help="JSON of GoAccess")
    parser.add_argument("--log", help="the log that both have read, to recompute what GoAccess's hashes merge")
    parser.add_argument("--run", metavar="LOG", help="run both on this log and compare")
    parser.add_argument("--rorqual", default=str(Path(__file__).parent.parent / "target/release/rorqual"))
    args = parser.parse_args()
    if not args.run and not args.theirs:
        parser.error("give two JSON files, or --run LOG")
    try:
        if args.run:
            ours, theirs = run_both(args.run, args.rorqual)
        else:
            ours, theirs = json.loads(Path(args.ours).read_bytes()), goaccess.load(args.theirs)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"compare_goaccess: {error}", file=sys.stderr)
        return 2
    result = compare(ours, theirs, args.run or args.log)
    print("\n".join(result.lines()))
    print("\n" + DEFINITIONS, end="")
    return 1 if result.differs else 0


if __name__ == "__main__":
    sys.exit(main())
