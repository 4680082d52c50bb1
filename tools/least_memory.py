#!/usr/bin/env python3
"""Least `--memory` of the verbs beside the peak of a run with it: tools/least_memory.py --program PATH [--patterns]

The tables of docs/memory.md and, with --patterns, of docs/design/grep.md. Inputs are far larger than the memory: a log of 136 MB, rows of
400 columns, records of 190 KB; with --patterns 20,000 patterns over a text of 2,000 lines, which takes minutes. An amount that a
refusal names is tried next: exit code 1 if one is not enough after a few.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MIB = 1 << 20
SAMPLE = Path(__file__).parent.parent / "samples" / "apache_combined.log"
TRIES = 8

PATTERNS = {
    "words": lambda n: f"word{n:05}x",
    "`word[0-9]+word`": lambda n: f"word{n:05}[0-9]+word",
    r"`\w+word\.(com\|org)`": lambda n: rf"\w+word{n:05}\.(com|org)",
    r"`^word\s+\d+ .*wor$`": lambda n: rf"^word{n:05}\s+\d+ .*wor$",
    r"`\w\w\w\w\w\w\w\w` and a digit": lambda n: r"\w" * 8 + f"{n:05}",
}


def inputs(folder):
    log, rows, records = folder / "access.log", folder / "rows.csv", folder / "records.ndjson"
    log.write_bytes(SAMPLE.read_bytes() * 57)
    names = ",".join(f"c{number}" for number in range(400))
    line = ",".join(str(number * 7 % 1000) for number in range(400))
    rows.write_text(names + "\n" + (line + "\n") * 60_000)
    with records.open("w") as out:
        for number in range(600):
            out.write(json.dumps({"id": number, "list": ["x" * 50] * 3_500}) + "\n")
    return log, rows, records


def commands(log, rows, records, folder):
    parquet = ["convert", "--force", "-o", folder / "out.parquet"]
    return {
        "hash": [["hash", log]],
        "count": [["count", log]],
        "grep of a word": [["grep", "-c", "logstash", log]],
        "head, schema": [["head", rows], ["schema", rows]],
        "logs": [["logs", "--json", log]],
        "logs --by path": [["logs", "--json", "--by", "path", log]],
        "convert to Parquet": [[*parquet, log], [*parquet, rows], [*parquet, records]],
        "summary": [["summary", log], ["summary", rows], ["summary", records]],
    }


def run(program, arguments, memory):
    """The exit code, what was said, and the peak in bytes."""
    verb, *rest = arguments
    command = [program, verb, "--threads", "1", "--memory", f"{memory}MiB", "--stats", *rest]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    stats = [line for line in ran.stderr.splitlines() if line.startswith("{") and "peak_bytes" in line]
    return ran.returncode, ran.stderr, json.loads(stats[-1])["peak_bytes"] if stats else 0


def least(program, arguments):
    """Least memory in MiB and the peak in bytes; None if no amount that was named is enough."""
    memory = 14
    for _ in range(TRIES):
        code, said, peak = run(program, arguments, memory)
        if code <= 1:
            return memory, peak
        named = re.search(r"Give --memory (\d+)MiB", said) or re.search(r"--memory (\d+)MiB", said)
        if not named or int(named[1]) <= memory:
            print(f"{arguments}: {said}", file=sys.stderr)
            return None
        memory = int(named[1])
    return None


def span(numbers, form):
    # A run that ends early tells no peak.
    shown = sorted({form(number) for number in numbers if number}, key=float)
    return shown[0] if len(shown) == 1 else f"{shown[0]} to {shown[-1]}"


def tables(options, folder):
    if options.patterns:
        text = folder / "text"
        text.write_text("".join(f"a line {n} with word{n * 9:05}x in it\n" for n in range(2_000)))
        rows = {}
        for name, pattern in PATTERNS.items():
            path = folder / "patterns"
            path.write_text("".join(pattern(n) + "\n" for n in range(20_000)))
            rows[name] = [least(options.program, ["grep", "-c", "-f", path, text])]
        rows[r"one pattern: `\w{100}`"] = [least(options.program, ["grep", "-c", r"\w{100}", text])]
        rows["one word"] = [least(options.program, ["grep", "-c", "word", text])]
        return rows
    every = commands(*inputs(folder), folder)
    return {name: [least(options.program, arguments) for arguments in each] for name, each in every.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--patterns", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = tables(options, Path(folder))
    print("| command | least | peak |\n|---|---|---|")
    for name, found in rows.items():
        if None in found:
            print(f"| {name} | no amount is enough | |")
            continue
        amounts = span([memory for memory, _ in found], str)
        print(f"| {name} | {amounts} MiB | {span([peak / MIB for _, peak in found], lambda mib: f'{mib:.0f}')} MiB |")
    return any(None in found for found in rows.values())


if __name__ == "__main__":
    sys.exit(main())
