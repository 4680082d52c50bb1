"""The upload from a real browser: into the real page, and for the floor into a sink. Driven by bench/browser."""

import json
import shutil
import statistics
import subprocess

from . import machine, measure, results

NAMES = {
    "rorqual": "rorqual serve: chosen to finished",
    "sink": "XHR PUT into a sink that discards",
}
ROLES = {"rorqual": "ours", "sink": "floor"}
TIMEOUT_SECONDS = 1800


def job(folder, setting):
    log = setting.data.log("access.log")
    measure.warm(log.path)
    print("Upload a 1.5 GiB log from Chromium ...", flush=True)
    problem = missing(folder, setting.programs)
    rounds = [] if problem else drive(folder, setting, log)
    rows = [row(way, [one for one in rounds if one["way"] == way], log.bytes) for way in NAMES]
    verified = ([f"skipped: {problem}"], True) if problem else said(rounds)
    about = results.Described("browser", "Upload a 1.5 GiB log from Chromium", log.bytes)
    return results.of_job(about, rows, verified, machine.now())


def missing(folder, programs):
    for program in ("node", "npm", "chromium"):
        if not shutil.which(program):
            return f"{program} is not installed"
    if not programs.sink.exists():
        return f"{programs.sink} is not built"
    if not (folder / "node_modules").exists():
        subprocess.run(["npm", "ci", "--silent"], cwd=folder, check=True)
    return None


def drive(folder, setting, log):
    programs = setting.programs
    argv = ["node", "upload.mjs", "--file", log.path, "--sink", programs.sink, "--rounds", str(setting.rounds)]
    if programs.rorqual.exists():
        argv += ["--rorqual", programs.rorqual]
    argv += ["--chromium", shutil.which("chromium")]
    done = subprocess.run(map(str, argv), cwd=folder, stdout=subprocess.PIPE, check=True, timeout=TIMEOUT_SECONDS)
    return json.loads(done.stdout)["rounds"]


def row(way, rounds, log_bytes):
    runs = [run_of(one).as_dict() for one in rounds]
    return {"name": NAMES[way], "role": ROLES[way], "command": "", **results.figures(log_bytes, runs)}


def run_of(one):
    """CPU is the server's; the browser's is in `extra`."""
    server = one["server"] or {}
    return measure.Run(
        seconds=one.get("seconds", 0.0),
        cpu_seconds=server.get("cpu_seconds", 0.0),
        peak_bytes=server.get("peak_bytes", 0),
        wrong=one.get("failure", ""),
        extra={key: one.get(key) for key in ("histogram_seconds", "browser_cpu_seconds", "server")},
    )


def said(rounds):
    """Sentences about our rounds, and whether they kept the promise that nothing is written to disk."""
    ours = [one for one in rounds if one["way"] == "rorqual"]
    good = [one for one in ours if not one.get("failure")]
    if not good:
        return ["rorqual serve finished no upload"], not ours
    first = [one["histogram_seconds"] for one in good if one["histogram_seconds"] is not None]
    written = max(one["server"]["write_bytes"] for one in good)
    files = sorted({path for one in good for path in one["server"]["files_written"]})
    lines = [
        f"first histogram after {statistics.median(first):.2f} s" if first else "no histogram was seen",
        f"the server wrote {written:,} bytes to disk and had open for writing: {', '.join(files) or 'none'}",
    ]
    return lines, bool(first) and written == 0 and not files and len(good) == len(ours)
