"""Logs of Matomo's importer, read by that importer (import_logs.py, in Python) as the referee."""

import sys
from types import SimpleNamespace

import _logs
from suites import Suite


REASONS = {
    "amazon_cloudfront_rtmp.log": "events of streams, which have neither a request nor a status; refused",
    "custom_regex_custom_date.log": "a format made for the importer's test of --log-format-regex; refused until --format gives it",
    "elb.log": "a line of a TCP listener is a connection; the importer skips it, and the comment before it is a rejected line here",
    "gandi.log": "the host writes it of its own accord and documents it nowhere; refused until --format gives it",
    "incapsula_w3c.log": "the importer keeps quotes around the method, makes 200 of no status and takes the host off a cs-uri",
}

# The importer's options by default, as far as its formats ask for them.
OPTIONS = {"w3c_fields": None, "w3c_time_taken_in_millisecs": False, "w3c_field_regexes": {}}
NAMED_COLUMNS = {"date-local": "date", "time-local": "time"}


def run(folder, programs):
    sys.path.insert(0, str(folder))
    arguments, sys.argv = sys.argv, sys.argv[:1]
    import import_logs

    sys.argv = arguments
    for log in sorted((folder / "tests/logs").glob("*.log")):
        # The importer's own tests give these columns for this log.
        named = NAMED_COLUMNS if log.name == "iis_custom.log" else {}
        import_logs.config = SimpleNamespace(options=SimpleNamespace(custom_w3c_fields=named, **OPTIONS))
        yield _logs.compare(log.name, log, best(formats(import_logs.FORMATS, log), log), programs.rorqual)


def formats(known, log):
    """The format that the log is named after, as in the importer's own tests, or else all of them: some take very long for
    lines that are not theirs."""
    return [known[log.stem]] if log.stem in known else known.values()


def best(formats, log):
    """The records by the format that reads most lines; among equals by the one that names most fields."""
    tried = [list(records(known, log)) for known in formats]
    return max(tried, key=lambda found: (len(found), sum(value is not None for record in found for value in record.values())), default=[])


def records(known, log):
    with open(log, errors="replace") as file:
        # Without such a line its formats of this kind read on after the end of the file.
        if hasattr(known, "create_regex") and not any(line.startswith(known.FIELDS_LINE_PREFIX) for line in file):
            return
        file.seek(0)
        try:
            if not known.check_format(file):
                return
        except Exception:  # The importer's own formats raise on lines that are not theirs.
            return
    for line in open(log, errors="replace"):
        if known.match(line):
            path, query = text(known, "path"), text(known, "query_string")
            target = f"{path}?{query}" if path and query else path
            yield {"status": text(known, "status"), "client": text(known, "ip"), "method": text(known, "method"), "target": target}


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
    REASONS,
)
