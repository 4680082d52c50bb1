"""Downloading 1.5 GiB from nginx on loopback to the disk."""

import os
import shutil
from functools import partial

from .data import file_digest
from .jobs import Contender, Goal, Job
from .nginx import Nginx


def jobs():
    return {"fetch": download}


def download(setting):
    log = setting.data.log("access.log")
    sha256 = setting.data.digest(log)
    server = Nginx(log.path.parent)
    url = server.url(log.path.name)
    out = setting.out / "fetched"
    shell = partial(shell_of, url, out)
    fetch = [setting.programs.rorqual, "fetch", url, "-o", out, "--sha256", sha256]
    rows = [
        ("rorqual fetch --sha256", "ours", [fetch]),
        ("curl (no fsync, no check)", "peer", [["curl", "-sS", "-o", out, url]]),
        ("curl; sha256sum", "peer", [shell('curl -sS -o "$2" "$1" && sha256sum "$2"')]),
        ("curl; sync; openssl dgst", "peer", [shell('curl -sS -o "$2" "$1" && sync "$2" && openssl dgst -r -sha256 "$2"')]),
        ("aria2c -x4 (no fsync, no check)", "peer", [aria2(url, out)]),
        ("aria2c -x4 --checksum", "peer", [[*aria2(url, out), f"--checksum=sha-256={sha256}"]]),
        ("wget (no fsync, no check)", "peer", [["wget", "-q", "-O", out, url]]),
    ]
    turns = [Contender(*row, partial(expect_file, out, sha256), before=partial(clear, out)) for row in rows]
    floors = [
        Contender("curl to /dev/null", "floor", [["curl", "-sS", "-o", "/dev/null", url]]),
        Contender("write only, with fsync", "floor", [write_only(log.path, out)], before=partial(clear, out)),
    ]
    # Without the server nobody has anything to do.
    turns = turns + floors if shutil.which("nginx") else [skipped(row) for row in turns + floors]
    goals = [Goal(turns[0].name, 1.0, (turns[1].name,)), Goal(turns[0].name, peak_mib=32)]
    title = "Fetch 1.5 GiB from nginx on loopback, to the disk"
    return Job("fetch", title, log.bytes, turns, [log.path], lambda: (clear(out) or [], True), goals, server)


def aria2(url, out):
    return ["aria2c", "-q", "-x4", "-s4", "--file-allocation=none", "-d", out.parent, "-o", out.name, url]


def shell_of(url, out, script):
    return ["sh", "-c", script, "sh", url, out]


def write_only(path, out):
    return ["dd", f"if={path}", f"of={out}", "bs=1M", "conv=fsync", "status=none"]


def skipped(row):
    """Its program is said to be missing."""
    row.stages = [["nginx"]]
    return row


def clear(out):
    """Nothing is left of the turn before, and nothing of it is still on its way to the disk."""
    for path in out.parent.glob(f"{out.name}*"):
        path.unlink()
    for path in out.parent.glob(f".{out.name}*"):
        path.unlink()
    os.sync()


def expect_file(out, sha256, _stdout):
    if not out.exists():
        return "no file"
    return "" if file_digest(out, "sha256") == sha256 else f"wrong file of {out.stat().st_size:,} bytes"
