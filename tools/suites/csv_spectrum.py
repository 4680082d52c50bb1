"""csv-spectrum: what fields have, with quotes, newlines, commas and characters of several bytes in them."""

import json
import subprocess
import tempfile
from pathlib import Path

from suites import Suite, Verdict


def run(folder, programs):
    for path in sorted((folder / "csvs").glob("*.csv")):
        truth = folder / "json" / f"{path.stem}.json"
        if not truth.is_file():
            yield Verdict(path.stem, False, f"    the checkout has no {truth.relative_to(folder)}")
            continue
        # One of them is not UTF-8, and has its one row without a list.
        expected = json.loads(truth.read_bytes().decode("utf-8", "replace"))
        expected = expected if isinstance(expected, list) else [expected]
        with tempfile.TemporaryDirectory() as place:
            # Every field is a text there.
            schema = Path(place) / "schema.json"
            schema.write_text(json.dumps({name: "text" for name in expected[0]}))
            command = [programs.rorqual, "convert", path, "--schema", schema, "--to", "ndjson", "-o", "-"]
            ran = subprocess.run(command, capture_output=True, timeout=60)
        rows = [json.loads(line) for line in ran.stdout.splitlines()]
        yield Verdict(path.stem, ran.returncode == 0 and rows == expected, f"    {rows}\n    for {expected}\n    {ran.stderr.decode()}")


REASONS = {
    "location_coordinates": "the suite's JSON has another telephone number than its CSV",
}

SUITE = Suite("csv-spectrum", "git clone --depth 1 https://github.com/max-mapper/csv-spectrum csv-spectrum", run, REASONS)
