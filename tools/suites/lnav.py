"""Logs of lnav's tests, read by lnav (Debian's package) as the referee."""

import json
import shutil
import subprocess

import _logs
from suites import Suite, Verdict

REASONS = {
    "logfile_w3c.5": "lines with more values than #Fields has columns: which is which can't be told, so they are refused",
}

# Which of its tables has the records of which files, and its columns for the status, client, method, path, query and bytes.
COMMON = ("sc_status", "c_ip", "cs_method", "cs_uri_stem", "cs_uri_query", "sc_bytes")
TABLES = {
    "access_log": ("logfile_access_log*", COMMON),
    "w3c_log": ("logfile_w3c*", COMMON),
    "elb_log": ("logfile_elb*", COMMON),
}


def run(folder, programs):
    if not shutil.which("lnav"):
        yield Verdict("all", None, "there is no lnav: apt install lnav")
        return
    for table, (files, columns) in TABLES.items():
        for log in sorted((folder / "test").glob(files)):
            yield _logs.compare(log.name, log, list(truth(table, columns, log)), programs.rorqual)


def truth(table, columns, log):
    query = f";select {', '.join(columns)} from {table}"
    answer = subprocess.run(["lnav", "-n", "-N", "-c", query, "-c", ":write-json-to -", log], capture_output=True, timeout=60)
    try:
        rows = json.loads(answer.stdout or b"[]")
    except ValueError:
        rows = []
    for row in rows:
        status, client, method, path, query, sent = (row[column] for column in columns)
        target = None if path is None else f"{path}?{query}" if query else path
        yield {"status": status and str(status), "client": client, "method": method, "target": target, "bytes": sent}


SUITE = Suite(
    "lnav",
    "git clone --depth 1 https://github.com/tstack/lnav lnav",
    run,
    REASONS,
)
