"""csv-spectrum: what fields have, with quotes, newlines, commas and characters of several bytes in them."""

import json
import subprocess
import tempfile
from pathlib import Path

from suites import Suite, Verdict


def run(folder, programs):
    for path in sorted((folder / "csvs").glob("*.csv")):
        expected = json.loads((folder / "json" / f"{path.stem}.json").read_text())
        with tempfile.TemporaryDirectory() as place:
            # Every field is a text there.
            schema = Path(place) / "schema.json"
            schema.write_text(json.dumps({name: "text" for name in expected[0]}))
            command = [programs.rorqual, "convert", path, "--schema", schema, "--to", "ndjson", "-o", "-"]
            ran = subprocess.run(command, capture_output=True, timeout=60)
        rows = [json.loads(line) for line in ran.stdout.splitlines()]
        yield Verdict(path.stem, ran.returncode == 0 and rows == expected, f"    {rows}\n    for {expected}\n    {ran.stderr.decode()}")


SUITE = Suite("csv-spectrum", "npm pack csv-spectrum && tar xf csv-spectrum-*.tgz && mv package csv-spectrum", run)
