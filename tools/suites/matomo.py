"""Logs of Matomo's importer, read by that importer (import_logs.py, in Python) as the referee."""

import sys

import _logs
from suites import Suite


def run(folder, programs):
    sys.path.insert(0, str(folder))
    arguments, sys.argv = sys.argv, sys.argv[:1]
    import import_logs

    sys.argv = arguments
    for log in sorted((folder / "tests/logs").glob("*.log")):
        yield _logs.compare(log.name, log, best(import_logs.FORMATS.values(), log), programs.rorqual)


def best(formats, log):
    """The records by the format that reads most lines; among equals by the one that names most fields."""
    tried = [list(records(known, log)) for known in formats]
    return max(tried, key=lambda found: (len(found), sum(value is not None for record in found for value in record.values())), default=[])


def records(known, log):
    with open(log, errors="replace") as file:
        try:
            if not known.check_format(file):
                return
        except Exception:  # The importer's own formats raise on lines that are not theirs.
            return
    for line in open(log, errors="replace"):
        if known.match(line):
            yield {"status": text(known, "status"), "client": text(known, "ip"), "method": text(known, "method"), "target": text(known, "path")}


def text(known, key):
    try:
        value = known.get(key)
    except Exception:
        return None
    return str(value) if value not in (None, "-", "") else None


SUITE = Suite(
    "matomo",
    "git clone --depth 1 https://github.com/matomo-org/matomo-log-analytics matomo",
    run,
    {},
)
