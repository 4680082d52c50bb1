"""Checksums: SHA-256 of one file and of eight, BLAKE3 of one."""

import shutil
import subprocess

from .count import floor
from .jobs import Contender, Goal, Job

SPEED_BLOCK_BYTES = 16384


def jobs():
    return {"hash-sha256": sha256, "hash-sha256-8": sha256_of_parts, "hash-blake3": blake3}


def sha256(setting):
    log = setting.data.log("access.log")
    check = expect_digests([setting.data.digest(log)])
    rows = [
        Contender("rorqual hash", "ours", [[setting.programs.rorqual, "hash", log.path]], check),
        Contender("openssl dgst -sha256", "peer", [["openssl", "dgst", "-sha256", "-r", log.path]], check),
        Contender("sha256sum", "peer", [["sha256sum", log.path]], check),
        raw_rate("openssl speed, nothing read", []),
        floor("read only, 1 thread", 1, log, setting.programs),
    ]
    goals = [
        Goal("rorqual hash", 0.95, ("openssl speed, nothing read",)),
        Goal("rorqual hash", 1.12, ("openssl dgst -sha256",)),
        Goal("rorqual hash", 3.6, ("sha256sum",)),
        Goal("rorqual hash", peak_mib=24),
    ]
    return Job("hash-sha256", "SHA-256 of a 1.5 GiB file", log.bytes, rows, [log.path], goals=goals)


def sha256_of_parts(setting):
    parts = setting.data.parts()
    paths = [part.path for part in parts]
    total_bytes = sum(part.bytes for part in parts)
    digests = [setting.data.digest(part) for part in parts]
    # In any order: xargs prints them as they come.
    check = expect_digests(digests, in_order=False)
    pairs = ["xargs", "-0", "-n1", "-P2", "openssl", "dgst", "-sha256", "-r"]
    names = ["printf", "%s\\0", *paths]
    rows = [
        Contender("rorqual hash", "ours", [[setting.programs.rorqual, "hash", *paths]], expect_digests(digests)),
        Contender("rorqual hash --threads 1", "ours", [[setting.programs.rorqual, "hash", "--threads", "1", *paths]], check),
        Contender("xargs -P2 openssl dgst", "peer", [names, pairs], check),
        Contender("openssl dgst -sha256", "peer", [["openssl", "dgst", "-sha256", "-r", *paths]], check),
        Contender("sha256sum", "peer", [["sha256sum", *paths]], check),
        raw_rate("openssl speed -multi 2", ["-multi", "2"]),
    ]
    goals = [Goal("rorqual hash", 1.9, ("rorqual hash --threads 1",)), Goal("rorqual hash", peak_mib=24)]
    return Job("hash-sha256-8", "SHA-256 of 8 files of 192 MiB", total_bytes, rows, paths, goals=goals)


def blake3(setting):
    log = setting.data.log("access.log")
    truth = blake3_by_peer(log.path)
    # No other program here knows it; without b3sum nothing is checked, and the table says so.
    check = expect_digests([truth]) if truth else lambda stdout: ""
    ours = [setting.programs.rorqual, "hash", "-a", "blake3"]
    rows = [
        Contender("rorqual hash -a blake3", "ours", [[*ours, log.path]], check),
        Contender("rorqual, --threads 1", "ours", [[*ours, "--threads", "1", log.path]], check),
        Contender("b3sum (mmap, all threads)", "peer", [["b3sum", log.path]], check),
        Contender("b3sum --num-threads 1", "peer", [["b3sum", "--num-threads", "1", log.path]], check),
        Contender("b3sum --no-mmap", "peer", [["b3sum", "--no-mmap", log.path]], check),
        floor("read only, 2 threads", 2, log, setting.programs),
    ]
    goals = [Goal(rows[0].name, 1.0, ("b3sum (mmap, all threads)",)), Goal(rows[0].name, peak_mib=64)]
    checked = ([] if truth else ["not checked: b3sum is not installed"], True)
    return Job("hash-blake3", "BLAKE3 of a 1.5 GiB file", log.bytes, rows, [log.path], lambda: checked, goals)


def raw_rate(name, flags):
    """OpenSSL's own loop over one block in the first cache: what the processor can do."""
    argv = ["openssl", "speed", "-mr", *flags, "-seconds", "1", "-bytes", str(SPEED_BLOCK_BYTES), "-evp", "sha256"]
    return Contender(name, "floor", [argv], expect_speed, bytes_per_second=speed_of)


def speed_of(stdout):
    """The last field of the line `+F:25:sha256:1761918976.00`."""
    lines = [line for line in stdout.decode("ascii", "replace").splitlines() if line.startswith("+F:")]
    return float(lines[-1].rsplit(":", 1)[1]) if lines else 0.0


def expect_speed(stdout):
    return "" if speed_of(stdout) > 0 else "no answer"


def expect_digests(digests, in_order=True):
    def check(stdout):
        said = [line.split()[0].decode("ascii", "replace") for line in stdout.splitlines() if line.split()]
        same = said == digests if in_order else sorted(said) == sorted(digests)
        if same:
            return ""
        return f"wrong: {said[0][:16]}..." if said else "no answer"

    return check


def blake3_by_peer(path):
    if not shutil.which("b3sum"):
        return None
    return subprocess.run(["b3sum", path], capture_output=True, text=True, check=True).stdout.split()[0]
