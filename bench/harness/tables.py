"""Tables: JSON and logs to Parquet, the columns of a file, a row by its value, SQL over a log, and how quickly a small command is over."""

import re
import socket
import subprocess
import sys
from pathlib import Path

from .count import floor
from .jobs import Contender, Goal, Job

PEERS = Path(__file__).resolve().parents[1] / "peers"
TIMEOUT_SECONDS = 120
MIB = 1 << 20

# Engines of `peers/convert.py`, each at its best setting and at ours: 256 MB.
NDJSON_ENGINES = {
    "duckdb": "DuckDB",
    "duckdb-unordered": "DuckDB, 1 GB, order not kept",
    "duckdb-256": "DuckDB, 256 MB",
    "duckdb-256-unordered": "DuckDB, 256 MB, order not kept",
    "chdb": "ClickHouse local (chdb)",
    "chdb-256": "ClickHouse local, 256 MB",
    "polars": "Polars",
    "pyarrow": "pyarrow",
}
# Where the records of `nested.json` are.
NESTED_ROWS = ["--rows", "$.a.b.items"]
BEST = ("DuckDB", "DuckDB, 1 GB, order not kept", "ClickHouse local (chdb)", "Polars", "pyarrow")


def jobs():
    return {
        "convert-ndjson": ndjson,
        "convert-array": array,
        "convert-nested": nested,
        "convert-log": log,
        "summary": summary,
        "get": get,
        "query-hours": hours,
        "query-cluster": cluster,
        "version": version,
    }


def ndjson(setting):
    data = setting.data.log("events.ndjson")
    rows = [ours(setting, "rorqual convert", data, data.lines)]
    rows += [ours(setting, "rorqual, --threads 1", data, data.lines, ["--threads", "1"])]
    rows += [peer(setting, engine, name, data, data.lines) for engine, name in NDJSON_ENGINES.items()]
    goals = [Goal("rorqual convert", 1.3, BEST), Goal("rorqual convert", peak_mib=256)]
    verify = lambda: compare(setting, data, "duckdb", "rorqual convert")  # noqa: E731
    return Job("convert-ndjson", "2 GiB of NDJSON to Parquet", data.bytes, rows, [data.path], verify, goals)


def array(setting):
    lines, data = setting.data.log("events.ndjson"), setting.data.log("events.json")
    # A line for each element, and one for each bracket.
    count = data.lines - 2
    rows = [ours(setting, "rorqual convert", data, count), ours(setting, "rorqual, the same as lines", lines, lines.lines)]
    engines = {name: NDJSON_ENGINES[name] for name in ("duckdb", "duckdb-unordered", "duckdb-256", "chdb", "polars", "pyarrow")}
    rows += [peer(setting, engine, name, data, count) for engine, name in engines.items()]
    goals = [Goal("rorqual convert", 0.85, ("rorqual, the same as lines",)), Goal("rorqual convert", peak_mib=256)]
    return Job("convert-array", "2 GiB of JSON in one array to Parquet", data.bytes, rows, [data.path], goals=goals)


def nested(setting):
    data = setting.data.log("nested.json")
    # A line for each element, one for what is before them and one for what is behind.
    count = data.lines - 2
    rows = [
        ours(setting, "rorqual convert", data, count, NESTED_ROWS),
        floor("read only, 2 threads", 2, data, setting.programs),
    ]
    goals = [Goal("rorqual convert", peak_mib=256)]
    return Job("convert-nested", "an array under $.a.b.items of 4.5 GiB", data.bytes, rows, [data.path], goals=goals)


def log(setting):
    data = setting.data.log("access.log")
    rows = [ours(setting, "rorqual convert", data, None)]
    goals = [Goal("rorqual convert", peak_mib=256)]

    def verify():
        size = target(setting, "rorqual convert").stat().st_size
        return [f"{size / data.bytes:.4f} of the log's size, {data.bytes / size:.1f} times smaller"], size * 8 <= data.bytes

    return Job("convert-log", "1.5 GiB of access log to Parquet", data.bytes, rows, [data.path], verify, goals)


def summary(setting):
    data = setting.data.log("events.ndjson")
    ours = [setting.programs.rorqual, "summary", data.path, "--json"]
    lines = str(data.lines).encode()

    def counted(stdout):
        return "" if b'"total":' + lines in stdout else "other rows"

    def of_peer(stdout):
        return "" if stdout.split()[:1] == [lines] else "other rows"

    peer = [python(setting), PEERS / "summary.py", data.path]
    rows = [
        Contender("rorqual summary, 1 GiB", "ours", [[*ours, "--memory", "1GiB"]], counted, timeout_seconds=TIMEOUT_SECONDS),
        Contender("rorqual summary, 256 MiB", "ours", [ours], counted, timeout_seconds=TIMEOUT_SECONDS),
        Contender("DuckDB, SUMMARIZE", "peer", [[*peer, "4GB"]], of_peer, timeout_seconds=TIMEOUT_SECONDS),
        Contender("DuckDB, SUMMARIZE, 1 GB", "peer", [[*peer, "1GB"]], of_peer, timeout_seconds=TIMEOUT_SECONDS),
        floor("read only, 2 threads", 2, data, setting.programs),
    ]
    goals = [
        Goal("rorqual summary, 1 GiB", 1.0, ("DuckDB, SUMMARIZE", "DuckDB, SUMMARIZE, 1 GB"), peak_mib=1024),
        Goal("rorqual summary, 256 MiB", peak_mib=256),
    ]
    return Job("summary", "the columns of 2 GiB of NDJSON", data.bytes, rows, [data.path], goals=goals)


def get(setting):
    data = setting.data.log("events.ndjson")
    indexed = setting.out / "indexed.parquet"
    if not indexed.exists() or indexed.stat().st_mtime < data.path.stat().st_mtime:
        subprocess.run([setting.programs.rorqual, "convert", data.path, "--index", "id", "--force", "-o", indexed], check=True)
    wanted = str(40_000_000_000 + data.lines // 3)

    def found(stdout):
        return "" if wanted.encode() in stdout else "no answer"

    rows = [
        Contender("rorqual get", "ours", [[setting.programs.rorqual, "get", indexed, f"id={wanted}"]], found),
        Contender("DuckDB, the query alone", "peer", [[python(setting), PEERS / "get.py", indexed, wanted]], found,
                  bytes_per_second=lambda stdout: indexed.stat().st_size / float(stdout.split()[0])),
        Contender("DuckDB, the whole process", "peer", [[python(setting), PEERS / "get.py", indexed, wanted]], found),
    ]
    goals = [Goal("rorqual get", 1.0, ("DuckDB, the query alone",))]
    return Job("get", "one row of the 2 GiB by an indexed column", indexed.stat().st_size, rows, [indexed], goals=goals)


HOURS = """SELECT date_trunc('hour', time) AS hour, status, count(*) AS n FROM '{}' GROUP BY hour, status ORDER BY hour, status"""


def hours(setting):
    data = setting.data.log("access.log")
    query = setting.programs.rorqual.parent / "rorqual-query"
    answers = {}

    def answer(name):
        def check(stdout):
            answers[name] = stdout
            return "" if stdout.count(b"\n") > 100 else "no answer"

        return check

    sql = HOURS.format(data.path)
    rows = [Contender("rorqual query", "ours", [[query, "--to", "csv", sql]], answer("ours"))]
    for engine, name in {"duckdb-split": "DuckDB, lines split", "duckdb-regex": "DuckDB, regex", "chdb": "ClickHouse local (chdb)",
                         "polars": "Polars, lines split"}.items():
        argv = [python(setting), PEERS / "hours.py", engine, data.path]
        rows.append(Contender(name, "peer", [argv], answer(engine), timeout_seconds=TIMEOUT_SECONDS))
    rows.append(floor("read only, 2 threads", 2, data, setting.programs))

    def verify():
        ours = numbers(answers.get("ours", b""))
        wrong = [name for name, stdout in answers.items() if numbers(stdout) != ours]
        return [f"other counts: {', '.join(wrong)}" if wrong else "all say the same counts"], "duckdb-split" not in wrong

    goals = [
        Goal("rorqual query", 2.5, ("DuckDB, lines split", "DuckDB, regex")),
        Goal("rorqual query", 1.5, ("ClickHouse local (chdb)",)),
        Goal("rorqual query", peak_mib=256),
    ]
    return Job("query-hours", "hour x status of a 1.5 GiB log, by SQL", data.bytes, rows, [data.path], verify, goals)


# Some ten seconds of two cores: the texts of each line are rewritten five times.
REWRITES = """SELECT path, count(*) AS n, sum(length(regexp_replace(agent, '[aeiou]+', x, 'g'))) AS l
FROM (SELECT path, agent, unnest(['a', 'bc', 'd', 'ef', 'g']) AS x FROM '{}') GROUP BY path ORDER BY n DESC, path LIMIT 20"""


class Cluster:
    """A cluster on this machine, as long as it is measured: two executors of one thread."""

    def __init__(self, setting, folder):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.argv = [setting.programs.rorqual.parent / "rorqual-cluster", "local", "-n", "2", "--threads", "1",
                     "--listen", self.address, "--files", folder]
        self.process = None
        self.peaks = []

    def __enter__(self):
        # Without the program its contenders are skipped.
        if not self.argv[0].is_file():
            return self
        self.process = subprocess.Popen([str(arg) for arg in self.argv], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if self.address not in self.process.stdout.readline():
            raise OSError("the cluster did not start")
        return self

    def __exit__(self, *_):
        if self.process is None:
            return
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        statuses = [Path(f"/proc/{child}/status").read_text() for child in children]
        self.peaks = [int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) // 1024 for status in statuses]
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def cluster(setting):
    """The price of a cluster: the same cores, one process or two executors."""
    data = setting.data.log("access.log")
    program = setting.programs.rorqual.parent / "rorqual-cluster"
    around = Cluster(setting, data.path.parent)
    answers = {}

    def answer(name):
        def check(stdout):
            answers[name] = stdout
            return "" if stdout.count(b"\n") == 21 else "no answer"

        return check

    query = [program, "query", "--to", "csv"]
    asked = [*query, "--cluster", around.address]
    sql, count = REWRITES.format(data.path), f"SELECT count(*) AS n FROM '{data.path}'"
    number = lambda stdout: "" if stdout.split()[-1] == str(data.lines).encode() else "another number"  # noqa: E731
    rows = [
        Contender("a cluster of two executors", "ours", [[*asked, sql]], answer("cluster"), TIMEOUT_SECONDS),
        Contender("one process of two threads", "ours", [[*query, "--threads", "2", sql]], answer("one"), TIMEOUT_SECONDS),
        Contender("a cluster: count(*)", "ours", [[*asked, count]], number),
        Contender("one process: count(*)", "ours", [[*query, "--threads", "2", count]], number),
    ]

    def verify():
        equal = len(set(answers.values())) == 1
        peaks = ", ".join(f"{peak} MiB" for peak in around.peaks)
        return ["the same answer" if equal else "another answer", f"peaks of the processes: {peaks}"], equal

    goals = [Goal("a cluster of two executors", 1 / 1.3, ("one process of two threads",))]
    return Job("query-cluster", "SQL over a 1.5 GiB log: two executors, or one process", data.bytes, rows, [data.path], verify, goals, around)


def version(setting):
    rows = [
        Contender("rorqual --version", "ours", [[setting.programs.rorqual, "--version"]]),
        Contender("rg --version", "peer", [["rg", "--version"]]),
    ]
    return Job("version", "to start and to end", 1, rows, goals=[Goal("rorqual --version", 0.5, ("rg --version",))])


def numbers(stdout):
    """The counts of an answer, in order; texts of times differ."""
    return [line.rsplit(b",", 1)[1] for line in stdout.splitlines()[1:] if b"," in line]


def ours(setting, name, data, rows, flags=()):
    out = target(setting, name)
    argv = [setting.programs.rorqual, "convert", *flags, data.path, "-o", out]
    return Contender(name, "ours", [argv], expect_rows(setting, out, rows), before=lambda: out.unlink(missing_ok=True))


def peer(setting, engine, name, data, rows):
    out = target(setting, engine)
    argv = [python(setting), PEERS / "convert.py", engine, data.path, out]
    check = expect_rows(setting, out, rows)
    before = lambda: out.unlink(missing_ok=True)  # noqa: E731
    return Contender(name, "peer", [argv], check, before=before, timeout_seconds=TIMEOUT_SECONDS)


def target(setting, name):
    return setting.out / ("".join(letter if letter.isalnum() else "-" for letter in name) + ".parquet")


def python(setting):
    """The peers' own interpreter, in a virtual environment; bench/README.md says how it is made."""
    return setting.data.folder / "peers" / "venv" / "bin" / "python"


def expect_rows(setting, path, rows):
    """The footer's number of rows, read by pyarrow where it is there."""

    def check(_stdout):
        if not path.exists():
            return "no file"
        script = "import sys, pyarrow.parquet as p; print(p.ParquetFile(sys.argv[1]).metadata.num_rows)"
        interpreter = python(setting) if python(setting).exists() else sys.executable
        done = subprocess.run([interpreter, "-c", script, path], capture_output=True, text=True)
        said = done.stdout.strip()
        if done.returncode:
            return "unreadable"
        return "" if rows is None or said == str(rows) else f"wrong: {said} rows"

    return check


def compare(setting, data, engine, name):
    """Every row of ours against the JSON itself, by DuckDB."""
    ours_file = target(setting, name)
    done = subprocess.run([python(setting), PEERS / "equal.py", data.path, ours_file], capture_output=True, text=True)
    return [line for line in (done.stdout + done.stderr).splitlines()[-3:]], done.returncode == 0
