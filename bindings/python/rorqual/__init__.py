"""Files of any size, in the memory you give it.

`scan_log`, `scan_json` and `scan_csv` give rows as an Arrow stream, which Polars, pandas, pyarrow,
DuckDB and DataFusion take as it is. Rows are read while they are taken, by threads that do not hold
the interpreter.
"""

import datetime as _datetime
import json as _json
import os as _os
import pathlib as _pathlib

from . import _rorqual, errors
from ._program import Server, convert, program, query, serve
from ._rorqual import Batch, Hasher, Matches, Rows, Schema, Store, count, fetch, hash
from .errors import Error, RowsWarning

__all__ = [
    "Batch",
    "Error",
    "Hasher",
    "Matches",
    "Report",
    "Rows",
    "RowsWarning",
    "Schema",
    "Server",
    "Store",
    "convert",
    "count",
    "errors",
    "fetch",
    "grep",
    "hash",
    "program",
    "query",
    "render",
    "render_stream",
    "report",
    "scan_csv",
    "scan_json",
    "scan_log",
    "serve",
]


def _microseconds(time):
    """A `datetime`, a date, or a text of ISO 8601 as Unix microseconds; UTC unless it says otherwise."""
    if time is None:
        return None
    if isinstance(time, str):
        try:
            time = _datetime.datetime.fromisoformat(time)
        except ValueError as error:
            raise errors.ArgumentError(f"{time!r} is not a time (examples: 2025-01-31, 2025-01-31T08:00:00+02:00)") from error
    if not isinstance(time, _datetime.datetime):
        time = _datetime.datetime(time.year, time.month, time.day)
    if time.tzinfo is None:
        time = time.replace(tzinfo=_datetime.timezone.utc)
    return (time - _datetime.datetime(1970, 1, 1, tzinfo=_datetime.timezone.utc)) // _datetime.timedelta(microseconds=1)


def scan_log(source, *, columns=None, where=None, since=None, until=None, format=None, record_max=None, memory=None, threads=None):
    """The lines of access logs as rows.

    `source` is a path, a file object, or a list of them, compressed or not. `where` is a filter as
    `rorqual logs --where` has it. A line that can't be read is left out; `notes()` and a `RowsWarning`
    at the end say how many.
    """
    options = {"format": format, "record_max": record_max}
    span = {"since": _microseconds(since), "until": _microseconds(until)}
    return _rorqual.scan(source, "log", options, columns=columns, filter=where, **span, memory=memory, threads=threads)


def _is_lines(source):
    return bool({".ndjson", ".jsonl"} & set(_pathlib.PurePath(source).suffixes)) if isinstance(source, (str, _os.PathLike)) else False


def scan_json(
    source, *, columns=None, rows=None, lines=None, infer_all=False, skip_bad=False, exact_numbers=False, record_max=None, memory=None, threads=None
):
    """The documents of JSON as rows: one after another, or the elements of an array.

    `lines` says that each is a line, which is quicker; if not given, a file's name says it (`.ndjson`,
    `.jsonl`). `rows` is a path to the array, as `$.items`. The columns are those of the first megabytes, and
    values without one are in `_rest`; with `infer_all` they are those of all documents.
    """
    if lines is None:
        lines = rows is None and not isinstance(source, (list, tuple)) and _is_lines(source)
    options = {"rows": rows, "layout": "lines" if lines else None, "infer_all": infer_all, "skip_bad": skip_bad}
    options |= {"exact_numbers": exact_numbers, "record_max": record_max}
    return _rorqual.scan(source, "json", options, columns=columns, memory=memory, threads=threads)


def scan_csv(
    source, *, columns=None, delimiter=None, header=None, nulls=None, infer_all=False, skip_bad=False, exact_numbers=False, record_max=None, memory=None, threads=None
):
    """The records of a table with separators as rows; separator and header are found out unless given."""
    options = {"delimiter": delimiter, "header": header, "nulls": nulls, "infer_all": infer_all, "skip_bad": skip_bad}
    options |= {"exact_numbers": exact_numbers, "record_max": record_max}
    return _rorqual.scan(source, "csv", options, columns=columns, memory=memory, threads=threads)


def grep(source, pattern, **options):
    """The lines that match a pattern, or one of a list: `(number, offset, bytes)` each."""
    patterns = [pattern] if isinstance(pattern, str) else list(pattern)
    return _rorqual.grep(source, patterns, **options)


class Report(dict):
    """The report of access logs: a dictionary of the schema `rorqual.logs/1`, and a page of it in notebooks."""

    def _repr_html_(self):
        import html

        lines = self["lines"]
        parts = [f"<p>{lines['parsed']:,} lines, {lines['rejected']:,} rejected</p>"]
        for panel in self["panels"]:
            cells = "".join(f"<tr><td>{html.escape(row['value'])}</td><td>{row['hits']:,}</td></tr>" for row in panel["rows"])
            parts.append(f"<table><caption>{html.escape(panel['title'])}</caption>{cells}</table>")
        return "".join(parts)


def report(source, *, where=None, since=None, until=None, format=None, top=10, memory=None, threads=None):
    """The report of access logs, as `rorqual logs --json` has it."""
    span = {"since": _microseconds(since), "until": _microseconds(until)}
    return Report(_json.loads(_rorqual.report(source, format=format, filter=where, **span, top=top, memory=memory, threads=threads)))


def render_stream(template, variables=None, *, rows=None, folder=None, name="page.html", lenient=False):
    """The output of a Jinja template in pieces of bytes, while it is made.

    `template` is its text, or with `folder` its name there. `rows` are of `scan_log` and its kin.
    """
    variables = _json.dumps(variables or {})
    if folder is not None:
        return _rorqual.render(template, None, folder, variables, rows, lenient=lenient)
    return _rorqual.render(name, template, None, variables, rows, lenient=lenient)


def render(template, variables=None, **options):
    """The output of a Jinja template as a text."""
    return b"".join(render_stream(template, variables, **options)).decode()
