#!/usr/bin/env python3
"""Run the soak and draw what it saw: bench/results/soak.json and soak.svg.

  bench/soak.py                       five minutes
  bench/soak.py --minutes 120         two hours
  bench/soak.py --seed 7              another course; each prints its seed

Exit code 1 when something was left over; then as well the picture is drawn, as it may say since when.
"""

import json
import subprocess
import sys
from pathlib import Path

from harness import soak_svg

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
MINUTES = "5"


def main():
    given = sys.argv[1:]
    if "-h" in given or "--help" in given:
        print(__doc__.strip())
        return 0
    time = [] if {"--minutes", "--seconds"} & set(given) else ["--minutes", MINUTES]
    record = RESULTS / "soak.json"
    record.unlink(missing_ok=True)
    cargo = ["cargo", "test", "--release", "--locked", "--quiet", "-p", "rorqual", "--test", "soak", "--"]
    done = subprocess.run([*cargo, *time, "--json", str(record), *given], cwd=ROOT)
    if record.exists():
        (RESULTS / "soak.svg").write_text(soak_svg.render(json.loads(record.read_text())))
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
