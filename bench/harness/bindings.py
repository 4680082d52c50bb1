"""The packages for Elixir and Python beside what is written in these languages alone, each in its own process."""

import os
import shutil
import subprocess
from pathlib import Path

from .hashing import blake3_by_peer
from .jobs import Contender, Goal, Job
from .logs import expect_report
from .tables import expect_rows

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "bench" / "peers"
TIMEOUT_SECONDS = 300
GIB = 1 << 30
UPLOAD_BYTES = 20 * GIB
# A timer of one millisecond ends at most so late in 99 of 100 cases.
LATE_MS_MAX = 2
# The memory of the VM, by its own count: what the package has taken is beside it.
VM_MIB_MAX = 64


def jobs():
    return {
        "elixir-stream": stream,
        "elixir-nul": nul,
        "elixir-count": lambda setting: beside(setting, "count", "Elixir: the lines of a 1.5 GiB log", 8),
        "elixir-grep": lambda setting: beside(setting, "grep", "Elixir: the lines with ' 404 '", 8),
        "elixir-sha256": sha256,
        "elixir-upload": upload,
        "python-scan": scan,
    }


class Elixir:
    """The package, compiled for a job, and what its runs said of the VM."""

    def __init__(self, setting):
        self.library = setting.programs.rorqual.parent / "librorqual_nif.so"
        self.build = setting.out / "elixir"
        self.late_ms = {}
        self.vm_mib = {}

    def __enter__(self):
        if self.library.is_file() and shutil.which("mix"):
            environment = {**os.environ, "RORQUAL_NIF": str(self.library), "MIX_BUILD_ROOT": str(self.build), "MIX_ENV": "prod"}
            subprocess.run(["mix", "compile"], cwd=ROOT / "bindings" / "elixir", env=environment, check=True, stdout=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        pass

    def contender(self, name, role, job, path, answer, rounds=(), **options):
        code = self.build / "prod" / "lib" / "rorqual" / "ebin"
        argv = ["elixir", "-pa", code, PEERS / "elixir.exs", job, path, *map(str, rounds)]

        def check(stdout):
            lines = stdout.decode().splitlines()
            if len(lines) < 2 or len(lines[-1].split()) != 3:
                return "no answer"
            said, (_, late_ms, vm_mib) = lines[-2], lines[-1].split()
            self.late_ms[name] = max(float(late_ms), self.late_ms.get(name, 0))
            self.vm_mib[name] = max(int(vm_mib), self.vm_mib.get(name, 0))
            return "" if answer in (said, None) else f"wrong: {said}"

        # Without the library they are skipped, and not measured with an older one.
        options = {"timeout_seconds": TIMEOUT_SECONDS, "needs": (str(self.library),) if role == "ours" else (), **options}
        return Contender(name, role, [argv], check, **options)

    def meanwhile(self, *names):
        """Timers of the VM and its memory during a job, as lines; a late timer is no wrong answer."""
        lines = []
        for name in names:
            if name in self.late_ms:
                late_ms, vm_mib = self.late_ms[name] - 1, self.vm_mib[name]
                met = late_ms <= LATE_MS_MAX and vm_mib <= VM_MIB_MAX
                said = f"{name}: a timer of 1 ms was {late_ms:.1f} ms late (99 of 100), the VM held {vm_mib} MiB"
                lines.append(f"{'reached' if met else 'MISSED'}: {said}, asked: {LATE_MS_MAX} ms, {VM_MIB_MAX} MiB")
        return lines, True


def own_seconds(bytes_):
    """The rate by the seconds that a script has counted itself, without the start of its VM or interpreter."""
    return lambda stdout: bytes_ / float(stdout.split(b"\n")[-2].split()[0])


def stream(setting):
    log = setting.data.log("access.log")
    elixir, rate = Elixir(setting), own_seconds(log.bytes)
    answer = setting.data.noted(log, "status of 500 and above: lines, bytes of their paths", lambda: failed_paths(log.path))
    names = ["Rorqual.Log.stream!, status and path", "the same of all rows, in columns"]
    peer = "File.stream! and binary patterns, one process"
    rows = [
        elixir.contender(names[0], "ours", "rorqual-stream", log.path, answer, bytes_per_second=rate),
        elixir.contender(names[1], "ours", "rorqual-columns", log.path, answer, bytes_per_second=rate),
        elixir.contender(peer, "peer", "elixir-stream", log.path, answer, bytes_per_second=rate, once=True),
    ]
    goals = [Goal(names[0], 10, (peer,))]
    title = "Elixir: status and path of a 1.5 GiB log where the status is 500 or above"
    return Job("elixir-stream", title, log.bytes, rows, [log.path], lambda: elixir.meanwhile(*names), goals, elixir)


def nul(setting):
    log = setting.data.log("nul.log")
    elixir, rate = Elixir(setting), own_seconds(log.bytes)
    answer = setting.data.noted(log, "status of 500 and above: lines, bytes of their paths", lambda: failed_paths(log.path))
    rows = [
        elixir.contender("Rorqual.Log.stream!, status and path", "ours", "rorqual-stream", log.path, answer, bytes_per_second=rate),
        elixir.contender("File.stream! and binary patterns", "peer", "elixir-stream", log.path, answer, bytes_per_second=rate, timeout_seconds=60),
    ]
    title = "Elixir: the same of a log of 300 MiB with a line of 512 MiB of NULs"
    return Job("elixir-nul", title, log.bytes, rows, [log.path], around=elixir)


def beside(setting, job, title, times):
    log = setting.data.log("access.log")
    answer = str(log.lines if job == "count" else setting.data.matches("access.log", " 404 ")["lines"])
    elixir, rate = Elixir(setting), own_seconds(log.bytes)
    ours, peer = f"Rorqual.{job}{'!' if job == 'count' else ''}", "two processes, :binary.match"
    rows = [
        elixir.contender(ours, "ours", f"rorqual-{job}", log.path, answer, bytes_per_second=rate),
        elixir.contender(peer, "peer", f"elixir-{job}", log.path, answer, bytes_per_second=rate),
    ]
    goals = [Goal(ours, times, (peer,))]
    return Job(f"elixir-{job}", title, log.bytes, rows, [log.path], lambda: elixir.meanwhile(ours), goals, elixir)


def sha256(setting):
    log = setting.data.log("access.log")
    elixir, rate = Elixir(setting), own_seconds(log.bytes)
    sha, blake = setting.data.digest(log), blake3_by_peer(log.path)
    ours, peer = "Rorqual.hash!", "File.stream! and :crypto"
    rows = [
        elixir.contender(ours, "ours", "rorqual-sha256", log.path, sha, bytes_per_second=rate),
        elixir.contender("Rorqual.hash!, :blake3", "ours", "rorqual-blake3", log.path, blake, bytes_per_second=rate),
        elixir.contender(peer, "peer", "elixir-sha256", log.path, sha, bytes_per_second=rate),
    ]
    goals = [Goal(ours, 2, (peer,))]
    return Job("elixir-sha256", "Elixir: SHA-256 of 1.5 GiB", log.bytes, rows, [log.path], lambda: elixir.meanwhile(ours), goals, elixir)


def upload(setting):
    log = setting.data.log("access.log")
    elixir, rounds = Elixir(setting), max(1, UPLOAD_BYTES // log.bytes)
    size = rounds * log.bytes
    ours, alone = "Rorqual.UploadWriter, pieces of 64 KiB", "rorqual logs --threads 1"
    program = [setting.programs.rorqual, "logs", "--json", "--threads", "1", *[log.path] * rounds]
    rows = [
        elixir.contender(ours, "ours", "rorqual-upload", log.path, str(rounds * log.lines), [rounds], once=True, bytes_per_second=own_seconds(size)),
        Contender(alone, "ours", [program], expect_report(rounds * log.lines), timeout_seconds=TIMEOUT_SECONDS, once=True),
    ]
    goals = [Goal(ours, 0.8, (alone,))]
    return Job("elixir-upload", "Elixir: an upload of 20 GiB", size, rows, [log.path], lambda: elixir.meanwhile(ours), goals, elixir)


def scan(setting):
    log = setting.data.log("access.log")
    package = Python(setting)
    answer = setting.data.noted(log, "rows and bytes sent", lambda: rows_and_bytes(log.path))
    target = setting.out / "scan.parquet"
    convert = [setting.programs.rorqual, "convert", "--force", log.path, "-o", target]

    def contender(name, role, engine, **options):
        options["needs"] = (str(package.interpreter), *([str(package.library)] if role == "ours" else []))
        argv, rate = package.argv(engine, log.path), own_seconds(log.bytes)
        return Contender(name, role, [argv], package.expect(answer), TIMEOUT_SECONDS, bytes_per_second=rate, **options)

    ours = "polars.DataFrame(rorqual.scan_log(...))"
    rows = [
        contender(ours, "ours", "rorqual-polars"),
        contender("its batches, one after another", "ours", "rorqual-batches"),
        Contender("rorqual convert of all columns to Parquet", "ours", [convert], expect_rows(setting, target, log.lines)),
        contender("polars.scan_lines and a regex", "peer", "polars", once=True),
    ]
    goals = [
        Goal(ours, 5, ("polars.scan_lines and a regex",)),
        Goal(ours, 1 / 1.2, ("rorqual convert of all columns to Parquet",)),
    ]
    return Job("python-scan", "Python: four columns of a 1.5 GiB log", log.bytes, rows, [log.path], None, goals, package)


class Python:
    """The package as it would be installed, beside the peers."""

    def __init__(self, setting):
        self.library = setting.programs.rorqual.parent / "lib_rorqual.so"
        self.folder = setting.out / "python"
        self.interpreter = setting.data.folder / "peers" / "venv" / "bin" / "python"

    def __enter__(self):
        if self.library.is_file():
            shutil.rmtree(self.folder, ignore_errors=True)
            shutil.copytree(ROOT / "bindings" / "python" / "rorqual", self.folder / "rorqual")
            shutil.copy(self.library, self.folder / "rorqual" / "_rorqual.abi3.so")
        return self

    def __exit__(self, *_):
        pass

    def argv(self, engine, path):
        return ["env", f"PYTHONPATH={self.folder}", self.interpreter, PEERS / "scan.py", engine, path]

    @staticmethod
    def expect(answer):
        def check(stdout):
            said = stdout.decode().splitlines()
            return "" if said[:1] == [answer] else f"wrong: {said[:1]}"

        return check


def failed_paths(path):
    count = total = 0
    for request, status, _ in requests(path):
        if status >= b"500" and b" " in request:
            count += 1
            total += len(request.split(b" ")[1])
    return f"{count} {total}"


def rows_and_bytes(path):
    rows = total = 0
    for _, _, size in requests(path):
        rows += 1
        total += int(size) if size.isdigit() else 0
    return f"{rows} {total}"


def requests(path):
    """The request, the status and the size of each line of an access log, by splitting alone."""
    with open(path, "rb") as file:
        for line in file:
            parts = line.split(b'"', 3)
            if len(parts) > 2 and len(after := parts[2].split()) >= 2:
                yield parts[1], after[0], after[1]
