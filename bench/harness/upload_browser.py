"""Uploads from real browsers: into the real page by both of its ways, into its test of the connection, and into bare sinks. Driven by bench/browser."""

import json
import shutil
import statistics
import subprocess
from functools import partial

from . import machine, measure, results
from .jobs import Goal
from .logs import expect_report

BROWSERS = {"chromium": ("Chromium", "chromium"), "firefox": ("Firefox", "firefox-esr")}
# By what the driver calls the ways: name, role.
ROWS = {
    "upload-put": ("rorqual serve, PUT: chosen to finished", "ours"),
    "upload-socket": ("rorqual serve, WebSocket: chosen to finished", "ours"),
    "connection-put": ("rorqual's test of the connection, PUT", "ours"),
    "connection-socket": ("rorqual's test of the connection, WebSocket", "ours"),
    "warp": ("warp's WebSocket discards, 1 MiB at a time", "peer"),
    "sink": ("hyper discards an XHR PUT", "floor"),
}
LIMIT = "the CPUs, by what browser and parser take"
UPLOADS = ("upload-put", "upload-socket")
# Where the same bytes go that way, and nobody parses them: what the browser alone takes.
ALONE = {"upload-put": "sink", "upload-socket": "connection-socket"}
# Of warp's rate, and of the better sink's.
SOCKET_TIMES = {"chromium": 1.6, "firefox": 1.15}
PARSING_TIMES = {"chromium": 0.7, "firefox": 0.5}
PUT_TIMES = 0.95
LIMIT_TIMES = 0.9
TIMEOUT_SECONDS = 1800


def jobs(folder):
    return {f"upload-browser-{browser}": partial(job, folder, browser) for browser in BROWSERS}


def job(folder, browser, setting):
    name, program = BROWSERS[browser]
    log = setting.data.log("access.log")
    measure.warm(log.path)
    title = f"Upload a 1.5 GiB log from {name}"
    print(f"{title} ...", flush=True)
    problem = missing(folder, program, setting.programs)
    rounds = [] if problem else drive(folder, browser, program, setting, log)
    parsers = [] if problem else [parser(setting, log) for _ in range(setting.rounds)]
    rows = [row(way, [one for one in rounds if one["way"] == way], log.bytes) for way in ROWS]
    fastest = faster(rows)
    rows.append(limit(fastest, rounds, parsers, log.bytes))
    about = results.Described(f"upload-browser-{browser}", title, log.bytes, goals(browser, ROWS[fastest][0]))
    verified = ([f"skipped: {problem}"], True) if problem else said(rounds, log.bytes)
    return results.of_job(about, rows, verified, machine.now())


def missing(folder, browser, programs):
    for program in ("node", "npm", browser):
        if not shutil.which(program):
            return f"{program} is not installed"
    if not programs.sink.exists():
        return f"{programs.sink} is not built"
    if not (folder / "node_modules").exists():
        subprocess.run(["npm", "ci", "--silent"], cwd=folder, check=True)
    return None


def drive(folder, browser, program, setting, log):
    programs = setting.programs
    argv = ["node", "upload.mjs", "--browser", browser, "--program", shutil.which(program), "--file", log.path]
    argv += ["--sink", programs.sink, "--rounds", setting.rounds]
    for name, path in (("--rorqual", programs.rorqual), ("--warp", shutil.which("warp-sink"))):
        if path and shutil.which(path):
            argv += [name, path]
    done = subprocess.run(map(str, argv), cwd=folder, stdout=subprocess.PIPE, check=True, timeout=TIMEOUT_SECONDS)
    return json.loads(done.stdout)["rounds"]


def parser(setting, log):
    """What parsing takes alone."""
    run, stdout, _ = setting.runner.run([[setting.programs.rorqual, "logs", "--json", log.path]], TIMEOUT_SECONDS)
    run.wrong = run.wrong or expect_report(log.lines)(stdout)
    return run


def row(way, rounds, log_bytes):
    runs = [run_of(one, log_bytes).as_dict() for one in rounds]
    name, role = ROWS[way]
    return {"name": name, "role": role, "command": "", **results.figures(log_bytes, runs)}


def run_of(one, log_bytes):
    """CPU is the server's; the browser's is in `extra`. Sinks and the page's test say how many bytes came."""
    server = one["server"] or {}
    short = "" if one.get("bytes", log_bytes) == log_bytes else f"wrong: {one['bytes']:,} bytes"
    return measure.Run(
        seconds=one.get("seconds", 0.0),
        cpu_seconds=server.get("cpu_seconds", 0.0),
        peak_bytes=server.get("peak_bytes", 0),
        wrong=one.get("failure", short),
        extra={key: one.get(key) for key in ("histogram_seconds", "browser_cpu_seconds", "server")},
    )


def faster(rows):
    """Which of the two ways of an upload was."""
    rates = dict(zip(ROWS, (one.get("bytes_per_second") or 0 for one in rows)))
    return max(UPLOADS, key=rates.get)


def limit(way, rounds, parsers, log_bytes):
    """All CPUs at work without a pause on what the browser takes to send and the parser to parse, each measured alone."""
    browser = [one["browser_cpu_seconds"] for one in rounds if one["way"] == ALONE[way] and not one.get("failure")]
    parsing = [run.cpu_seconds for run in parsers if run.usable]
    runs = []
    if browser and parsing:
        both = statistics.median(browser), statistics.median(parsing)
        extra = dict(zip(("browser_cpu_seconds", "parser_cpu_seconds"), both))
        runs = [measure.Run(sum(both) / measure.CPUS, cpu_seconds=sum(both), extra=extra).as_dict()]
    return {"name": LIMIT, "role": "floor", "command": "", **results.figures(log_bytes, runs)}


def goals(browser, fastest):
    named = {way: name for way, (name, _) in ROWS.items()}
    return [
        Goal(named["connection-put"], PUT_TIMES, (named["sink"],)),
        Goal(named["connection-socket"], SOCKET_TIMES[browser], (named["warp"],)),
        Goal(fastest, PARSING_TIMES[browser], (named["sink"], named["warp"])),
        Goal(fastest, LIMIT_TIMES, (LIMIT,)),
    ]


def said(rounds, log_bytes):
    """Sentences about the uploads, and whether they kept the promise that the log is not written to a disk."""
    ours = [one for one in rounds if one["way"] in UPLOADS]
    good = [one for one in ours if not one.get("failure")]
    if not good:
        return ["rorqual serve finished no upload"], not ours
    first = [one["histogram_seconds"] for one in good if one["histogram_seconds"] is not None]
    written = max(one["server"]["write_bytes"] for one in good)
    named = sorted({path for one in good for path in one["server"]["files_written"] if not path.endswith(" (deleted)")})
    browser = {way: [one["browser_cpu_seconds"] for one in rounds if one["way"] == way and not one.get("failure")] for way in ROWS}
    lines = [
        f"first histogram after {statistics.median(first):.2f} s" if first else "no histogram was seen",
        f"the server wrote {written:,} bytes of rows to its file without a name, and had open for writing: {', '.join(named) or 'no other'}",
        "CPU seconds of the browser: " + ", ".join(f"{way} {statistics.median(of_it):.1f}" for way, of_it in browser.items() if of_it),
    ]
    return lines, bool(first) and written < log_bytes / 2 and not named and len(good) == len(ours)
