"""The log explorer asked as its page asks it: a session of `rorqual serve`, a log sent into it, views of it."""

import http.client
import json
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from .serving import Serving

# As the page sends it.
BLOCK_BYTES = 1 << 20
VIEW = {"from": None, "to": None, "where": "", "stack": "class", "buckets": 400, "top": 20}
# A debug build takes minutes for what is measured in seconds.
TIMEOUT_SECONDS = 1800


class Refused(Exception):
    """The server answered with an error; its status, code and message."""


class Explorer:
    """One session, on a connection that stays open."""

    def __init__(self, serving):
        self.serving = serving
        self.connection = self._connect()
        self.id = ""

    def _connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.serving.port, timeout=TIMEOUT_SECONDS, blocksize=BLOCK_BYTES)

    def beside(self):
        """The same session on a connection of its own, for another thread."""
        other = Explorer(self.serving)
        other.id = self.id
        return other

    def ask(self, method, path, body=None):
        """The answer as JSON, and the seconds of the round trip."""
        sent = None if body is None else json.dumps(body)
        start = time.perf_counter()
        self.connection.request(method, path, sent, self._headers({"Content-Type": "application/json"}))
        response = self.connection.getresponse()
        text = response.read()
        seconds = time.perf_counter() - start
        return answer(response, text), seconds

    def _headers(self, more):
        return {"Authorization": f"Bearer {self.serving.token}", **more}

    def begin(self, name, log_format=None, size=None):
        body = {"name": name, "size": size} | ({"format": log_format} if log_format else {})
        self.id = self.ask("POST", "/api/sessions", body)[0]["id"]

    def send(self, file, size=None):
        """Sends a whole file, or a pipe without a `size`; returns when all of it is parsed."""
        headers = {"Content-Type": "application/octet-stream"}
        headers |= {"Content-Length": str(size)} if size else {"Transfer-Encoding": "chunked"}
        body = file if size else iter(lambda: file.read(BLOCK_BYTES), b"")
        path = f"/api/sessions/{self.id}/data"
        self.connection.request("PUT", path, body, self._headers(headers), encode_chunked=not size)
        response = self.connection.getresponse()
        return answer(response, response.read())

    def post(self, what, **body):
        return self.ask("POST", f"/api/sessions/{self.id}/{what}", body)

    def view(self, **changes):
        return self.post("view", **VIEW | changes)


def answer(response, text):
    said = json.loads(text) if text else {}
    if response.status >= 400:
        error = said.get("error", {})
        raise Refused(f"{response.status} {error.get('code')}: {error.get('message')}")
    return said


@contextmanager
def exploring(setting, *flags):
    """A server of its own, and a client of it."""
    temp = setting.out / "spill"
    temp.mkdir(exist_ok=True)
    argv = [setting.programs.rorqual, "serve", "--port", "0", "--temp-dir", temp, *flags]
    with Serving(argv) as serving:
        yield Explorer(serving)


def load(explorer, log, log_format=None):
    """Sends a file of the benchmark and holds the count of its lines against the generator's."""
    explorer.begin(log.path.name, log_format, log.bytes)
    start = time.perf_counter()
    with open(log.path, "rb") as file:
        explorer.send(file, log.bytes)
    seconds = time.perf_counter() - start
    view, _ = explorer.view()
    if view["lines"]["total"] != log.lines or not view["kept"]["all"]:
        raise ValueError(f"{view['lines']['total']:,} lines of {log.lines:,}, kept: {view['kept']}")
    return view, seconds


def pour(explorer, name, argv):
    """Sends what a program prints, which is never on a disk; the program says lines and bytes at its end."""
    explorer.begin(name)
    with subprocess.Popen([str(arg) for arg in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        explorer.send(process.stdout)
        return process.stderr.read().decode()


def inconsistent(view):
    """What of a view does not add up; every line of these logs has a time. Its parts are counted in different ways."""
    matching = view["lines"]["matching"]
    histogram = view["histogram"] or {"series": []}
    sums = {
        "histogram": sum(sum(series["hits"]) for series in histogram["series"]),
        "week": sum(map(sum, view["week"]["hits"])),
        "people and bots": view["humans"]["hits"] + view["bots"]["hits"],
        "methods": sum(row["hits"] for panel in view["panels"] if panel["field"] == "method" for row in panel["rows"]),
    }
    return [f"{name}: {number:,} of {matching:,}" for name, number in sums.items() if number != matching]


def sound(answers):
    """Sentences about views that do not add up, and whether there are none."""
    wrong = [problem for view, _ in answers for problem in inconsistent(view)]
    return [f"DOES NOT ADD UP: {problem}" for problem in wrong[:5]], not wrong


def temp_bytes(serving):
    """What the process holds in files without a name: those it has open that nobody else can."""
    total = 0
    for link in Path(f"/proc/{serving.process.pid}/fd").iterdir():
        try:
            if "(deleted)" in str(link.readlink()):
                total += link.stat().st_blocks * 512
        except OSError:
            continue  # closed while it was looked at
    return total
