"""A test program that runs for minutes, and the picture of what it saw: bench/results/NAME.json and NAME.svg."""

import json
import subprocess
import sys
from pathlib import Path

from . import soak_svg

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "bench" / "results"


def main(name, minutes, text):
    given = sys.argv[1:]
    if "-h" in given or "--help" in given:
        print(text.strip())
        return 0
    time = [] if {"--minutes", "--seconds"} & set(given) else ["--minutes", minutes]
    record = RESULTS / f"{name}.json"
    record.unlink(missing_ok=True)
    cargo = ["cargo", "test", "--release", "--locked", "--quiet", "-p", "rorqual", "--test", name, "--"]
    done = subprocess.run([*cargo, *time, "--json", str(record), *given], cwd=ROOT)
    if record.exists():
        (RESULTS / f"{name}.svg").write_text(soak_svg.render(json.loads(record.read_text())))
    return 1 if done.returncode else 0
