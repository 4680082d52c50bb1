"""Tables opened by `serve FILE`: until the first panels and until all rows are counted, beside `convert` of the same file,
and opened again from the cache."""

import shutil
import time

from . import times
from .explorer import Explorer, Refused
from .measure import warm
from .serving import Serving
from .tables import NESTED_ROWS, expect_rows, target

MEMORY = "1GiB"
MEMORY_BYTES = 1 << 30
TIMEOUT_SECONDS = 600
# Of `convert`'s rate on the same file.
RATE_SHARE_MIN = 0.8
FIRST_SECONDS_MAX = 1.0
PAUSE_SECONDS = 0.02


def job(setting):
    rows, goals, lines = [], [], []
    for kind, data, count, flags in inputs(setting):
        warm(data.path)
        measured = [opened_and_converted(setting, (kind, data, count, flags)) for _ in range(setting.rounds)]
        whole, first, again, converted, peaks = map(list, zip(*measured))
        rows += [
            times.row(f"serve, {kind}: all rows", "ours", whole, max(peaks)),
            times.row(f"serve, {kind}: first panels", "ours", first),
            times.row(f"serve, {kind}: opened again", "ours", again),
            times.row(f"convert, {kind}", "ours", converted),
        ]
        share = rows[-1]["p50"] / rows[-4]["p50"]
        goals += [
            times.at_least(f"{kind}: rate of serve, of convert's", share, RATE_SHARE_MIN),
            times.at_most(f"{kind}: first panels", rows[-3]["p50"], FIRST_SECONDS_MAX),
            times.at_most(f"{kind}: peak", max(peaks), MEMORY_BYTES, "MiB"),
        ]
        lines.append(f"{kind}: {count:,} rows, {data.bytes / 1e9:.2f} GB, {data.bytes / rows[-4]['p50'] / 1e6:,.0f} MB/s")
    return times.job("explore-tables", f"A table opened by serve under {MEMORY}", rows, goals, lines, True)


def inputs(setting):
    """Each kind of table: its file, how many rows it has, and where `convert` is told to find them."""
    ndjson = setting.data.log("events.ndjson")
    array, nested = setting.data.log("events.json"), setting.data.log("nested.json")
    yield "NDJSON", ndjson, ndjson.lines, []
    # A line for each element, and one for each bracket.
    yield "one array", array, array.lines - 2, []
    yield "nested array", nested, nested.lines - 2, NESTED_ROWS
    for kind, extension in (("CSV", "csv"), ("Parquet", "parquet")):
        yield kind, setting.data.converted(setting.programs.rorqual, ndjson, extension), ndjson.lines, []


def opened_and_converted(setting, table):
    """Seconds to all rows, to the first panels, to all rows from the cache, of `convert`; and the peak of the server."""
    _, data, count, _ = table
    cache = setting.out / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    whole, first, peak = opened(setting, data, count, cache)
    again, _, _ = opened(setting, data, count, cache)
    shutil.rmtree(cache)
    return whole, first, again, converted(setting, table), peak


def opened(setting, data, count, cache):
    argv = [setting.programs.rorqual, "serve", "--port", "0", "--memory", MEMORY, "--cache-dir", cache, data.path]
    first, start = None, time.perf_counter()
    with Serving(argv) as serving:
        explorer = Explorer(serving)
        while True:
            state = session_of(explorer)
            if first is None and state and has_rows(explorer):
                first = time.perf_counter() - start
            if state and state != "receiving":
                break
            if time.perf_counter() - start > TIMEOUT_SECONDS:
                raise ValueError(f"{data.path.name}: not whole after {TIMEOUT_SECONDS} s")
            time.sleep(PAUSE_SECONDS)
        seconds = time.perf_counter() - start
        total = explorer.view()[0]["lines"]["total"]
        if state != "finished" or total != count:
            raise ValueError(f"{data.path.name}: {state}, {total:,} rows of {count:,}")
        return seconds, first or seconds, serving.peak_bytes()


def session_of(explorer):
    """The state of the file's session, once there is one."""
    sessions = explorer.ask("GET", "/api/sessions")[0]["sessions"]
    explorer.id = sessions[0]["id"] if sessions else ""
    return sessions[0]["state"] if sessions else None


def has_rows(explorer):
    try:
        return explorer.view()[0]["lines"]["total"] > 0
    except Refused:
        return False  # its columns are not known yet


def converted(setting, table):
    kind, data, count, flags = table
    out = target(setting, f"beside serve {kind}")
    out.unlink(missing_ok=True)
    argv = [setting.programs.rorqual, "convert", *flags, data.path, "-o", out]
    run, _, stderr = setting.runner.run([argv], TIMEOUT_SECONDS)
    wrong = stderr[-200:] if run.exit_code or run.timed_out else expect_rows(setting, out, count)(b"")
    out.unlink(missing_ok=True)
    if wrong:
        raise ValueError(f"convert {data.path.name}: {wrong}")
    return run.seconds
