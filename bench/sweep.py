#!/usr/bin/env python3
"""When to copy small pieces together and when to point at them: the gather sink for each size of piece, so many of them a write, into
a pipe, a socket, a file and /dev/null.

  bench/sweep.py               a few minutes; writes results/gather.json and gather.svg
  bench/sweep.py --seconds 1   longer cells
"""

import argparse
import csv
import io
import json
import os
import subprocess
from pathlib import Path

from harness import machine, sweep_svg

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "release"
BUILD = ["cargo", "build", "--release", "--quiet", "-p", "rorqual-pipe", "--example", "gather_sweep"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each cell (0.2)")
    args = parser.parse_args()
    subprocess.run(BUILD, cwd=ROOT, check=True)
    argv = [TARGET / "examples" / "gather_sweep", "--seconds", str(args.seconds)]
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
    record = {"date": machine.now(), "commit": machine.commit(ROOT), "machine": machine.describe(), "cells": cells(done.stdout)}
    results = BENCH / "results"
    (results / "gather.json").write_text(json.dumps(record, indent=1) + "\n")
    (results / "gather.svg").write_text(sweep_svg.render(record))


def cells(text):
    numbers = ("piece_bytes", "pieces_per_write", "bytes_per_second")
    return [row | {name: int(row[name]) for name in numbers} for row in csv.DictReader(io.StringIO(text))]


if __name__ == "__main__":
    main()
