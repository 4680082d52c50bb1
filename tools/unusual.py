#!/usr/bin/env python3
"""Finds planted incidents, and nothing in quiet logs: tools/unusual.py --gen PATH --program PATH [--lines 5000000] [--seeds 1 2]

Of each seed there are 20 logs with an incident and 20 quiet ones, by `gen unusual`. An incident is found where one of the first three
findings of `rorqual logs --findings` names its cause and is of its time, give or take a factor of four. Exit code 0: for each seed at
least 18 are found, and at most one finding is of a quiet log.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = 20


def names(finding, incident):
    overlap = min(finding["to"], incident["to"]) - max(finding["from"], incident["from"])
    longer = max(finding["to"] - finding["from"], incident["to"] - incident["from"])
    value = [finding["field"] or "", finding["value"] or ""]
    return overlap > 0 and 4 * overlap >= longer and value in incident["causes"]


def case(options, folder, seed, number):
    log, truth = folder / "unusual.log", folder / "truth.json"
    subprocess.run([options.gen, "unusual", log, str(options.lines), str(seed), str(number), "--truth", truth], check=True, capture_output=True)
    told = json.loads(truth.read_text())
    command = [options.program, "logs", "--findings", "--json", "--progress=never", "--format", told["format"], log]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return told["incident"], answer["answer"]["findings"], answer["seconds"]


def judge(options, folder, seed):
    found = false_quiet = false_other = 0
    slowest = 0.0
    for number in range(2 * CASES):
        incident, findings, seconds = case(options, folder, seed, number)
        slowest = max(slowest, seconds)
        if incident is None:
            false_quiet += len(findings)
            said = "quiet"
        else:
            ranks = [rank for rank, finding in enumerate(findings) if names(finding, incident)]
            found += bool(ranks) and ranks[0] < 3
            false_other += len(findings) - len(ranks)
            said = incident["name"]
        print(f"seed {seed} log {number}: {said}; {[finding['text'] for finding in findings]}", flush=True)
    print(f"seed {seed}: {found} of {CASES} found, {false_quiet} findings of {CASES} quiet logs, {false_other} others beside incidents, "
          f"at most {slowest:.2f} s")
    return found >= 18 and false_quiet <= 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gen", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--lines", type=int, default=5_000_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return all([judge(options, Path(folder), seed) for seed in options.seeds])


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
