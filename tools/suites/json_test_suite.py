"""JSONTestSuite: what has to be accepted as JSON, with the values that Python's json module reads, what has to be refused, and what may be either; nothing may
end the program otherwise."""

import json
import subprocess

from suites import Suite, Verdict

ONE_AFTER_ANOTHER = "an input is any number of documents, one after another: also none, or an object and a text"
REASONS = {
    "n_single_space": ONE_AFTER_ANOTHER,
    "n_structure_UTF8_BOM_no_data": ONE_AFTER_ANOTHER,
    "n_structure_no_data": ONE_AFTER_ANOTHER,
    "n_structure_object_with_trailing_garbage": ONE_AFTER_ANOTHER,
}


def run(folder, programs):
    for path in sorted((folder / "test_parsing").glob("*.json")):
        command = [programs.rorqual, "convert", path, "--from", "json", "--to", "ndjson", "-o", "-"]
        ran = subprocess.run(command, capture_output=True, timeout=60)
        said = ran.stderr.decode("utf-8", "replace")
        wanted = {"y": (0,), "n": (2,), "i": (0, 2)}[path.name[0]]
        sound = ran.returncode in wanted and "panicked" not in said
        if sound and path.name[0] == "y":
            sound = same(path.read_bytes(), ran.stdout)
        yield Verdict(path.stem, sound, f"    exit code {ran.returncode}: {ran.stdout[:200]!r} {said[:300]}")


def same(document, printed):
    """The rows are the elements of an array, or the document; a field that is null is left out."""
    expected = json.loads(document)
    rows = [json.loads(line) for line in printed.splitlines()]
    return rows == [plain(row) for row in (expected if isinstance(expected, list) else [expected])]


def plain(value):
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not None}
    return [plain(item) for item in value] if isinstance(value, list) else value


SUITE = Suite("JSONTestSuite", "git clone https://github.com/nst/JSONTestSuite", run, REASONS)
