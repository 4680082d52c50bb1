"""Runs a command, or a pipe of several, and says what it took."""

import json
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

CPUS = os.cpu_count() or 1


@dataclass
class Run:
    """One run. `seconds` is the last program's wall time, CPU is the sum and the peak the largest of all."""

    seconds: float
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    exit_code: int | None = None
    # CPU seconds that other processes of this machine took meanwhile, as a share of what there was.
    disturbance: float = 0.0
    timed_out: bool = False
    # Empty when the answer is right, else what is wrong with it.
    wrong: str = ""
    extra: dict = field(default_factory=dict)

    @property
    def usable(self):
        return not self.timed_out and not self.wrong

    def as_dict(self):
        return asdict(self)


class Runner:
    """`timed` is testkit's program of that name; it says in its first lines why Python does not measure itself."""

    def __init__(self, timed, folder):
        self.timed = str(timed)
        self.folder = Path(folder)

    def run(self, stages, timeout_seconds):
        """Runs `stages`, a list of argument lists, as a shell would run a pipe. Returns the run, stdout and stderr."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            return self._run_in(Path(folder), stages, timeout_seconds)

    def _run_in(self, folder, stages, timeout_seconds):
        reports = [folder / f"report{index}.json" for index in range(len(stages))]
        busy_before, start = busy_seconds(), time.monotonic()
        with open(folder / "stdout", "w+b") as stdout, open(folder / "stderr", "w+b") as stderr:
            processes = self._start(stages, reports, stdout, stderr)
            in_time = wait_all(processes, start + timeout_seconds)
            elapsed = time.monotonic() - start
            busy = busy_seconds() - busy_before
            run = summary(reports, elapsed, busy) if in_time else Run(elapsed, timed_out=True)
            stdout.seek(0)
            stderr.seek(0)
            return run, stdout.read(), stderr.read().decode("utf-8", "replace")

    def _start(self, stages, reports, stdout, stderr):
        processes, upstream = [], subprocess.DEVNULL
        for index, (stage, report) in enumerate(zip(stages, reports)):
            last = index == len(stages) - 1
            process = subprocess.Popen(
                [self.timed, str(report), *map(str, stage)],
                stdin=upstream,
                stdout=stdout if last else subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
            if index:
                upstream.close()
            upstream = process.stdout
            processes.append(process)
        return processes


def wait_all(processes, deadline):
    """False when the deadline came first; then all of them are killed."""
    try:
        for process in processes:
            process.wait(max(0.0, deadline - time.monotonic()))
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        # Each is the leader of its own session, so this reaches `timed` and the program under it, and nobody else.
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def summary(reports, elapsed, busy):
    parts = [json.loads(report.read_text()) if report.exists() else None for report in reports]
    if None in parts:
        return Run(elapsed, wrong="could not be started")
    last = parts[-1]
    cpu_seconds = sum(part["user_seconds"] + part["system_seconds"] for part in parts)
    signals = [part["signal"] for part in parts if part["signal"] and part is last]
    return Run(
        seconds=last["seconds"],
        cpu_seconds=cpu_seconds,
        peak_bytes=max(part["peak_bytes"] for part in parts),
        exit_code=last["exit_code"],
        disturbance=round(max(0.0, busy - cpu_seconds) / (elapsed * CPUS), 3),
        wrong=f"killed by {signal.Signals(signals[0]).name}" if signals else "",
    )


def busy_seconds():
    """CPU seconds that all processes together have taken since boot."""
    with open("/proc/stat") as stat:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def warm(path):
    """Reads a file once, so that all find it in the page cache. Holes are not stored, so they are not read."""
    blocks_bytes = os.stat(path).st_blocks * 512
    if blocks_bytes < os.path.getsize(path) // 2:
        return
    buffer = bytearray(1 << 20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
