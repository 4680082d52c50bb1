"""An upload by curl, parsed while it comes, beside the same file parsed without a server, and servers that only take it in."""

import json
import os
import shutil
import subprocess
import tempfile
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path

from . import nginx
from .jobs import Contender, Goal, Job, expect_number
from .logs import expect_report
from .serving import Serving

MIB = 1 << 20
SERVED = "curl -T into rorqual serve, parsed"
ALONE = "rorqual logs --json"
TIMES = 0.8
TUS = {"Tus-Resumable": "1.0.0"}
# Those who keep what comes keep it in memory: no disk is measured.
KEPT_IN = Path("/dev/shm")


def jobs():
    return {"upload-curl": job}


def job(setting):
    log = setting.data.log("access.log")
    servers = Servers(setting.programs, log)
    contenders = [
        Contender(SERVED, "ours", [put("RORQUAL", log)], servers.check_upload),
        Contender("curl, one tus PATCH into rorqual serve, parsed", "ours", [patch("RORQUAL_TUS", log)], servers.check_tus, before=servers.begin_tus),
        Contender(ALONE, "ours", [[setting.programs.rorqual, "logs", "--json", log.path]], expect_report(log.lines)),
        Contender("curl -T into hyper, which discards", "floor", [put("SINK", log)], expect_number(log.bytes)),
        Contender("curl -T into nginx, kept in memory", "peer", [put("NGINX", log)], servers.check_nginx, before=servers.clear, needs=("nginx",)),
        Contender("curl, one tus PATCH into tusd, kept in memory", "peer", [patch("TUSD", log)], servers.check_tusd, before=servers.begin_tusd, needs=("tusd",)),
    ]
    goals = [Goal(SERVED, TIMES, (ALONE,))]
    return Job("upload-curl", "Upload a 1.5 GiB log by curl", log.bytes, contenders, [log.path], servers.verify, goals, servers)


def put(name, log):
    """The addresses are known when the servers run; curl gets them from the environment."""
    return ["sh", "-c", f'exec curl -sS -T "$0" -H "$RORQUAL_HEADER" "${name}_URL"', log.path]


def patch(name, log):
    headers = '-H "Tus-Resumable: 1.0.0" -H "Upload-Offset: 0" -H "Content-Type: application/offset+octet-stream"'
    command = f'exec curl -sS -X PATCH -T "$0" -o /dev/null -w "%{{http_code}}" {headers} -H "$RORQUAL_HEADER" "${name}_URL"'
    return ["sh", "-c", command, log.path]


class Servers:
    """All that bytes are sent to, while it is entered."""

    def __init__(self, programs, log):
        self.log = log
        self.programs = programs
        self.serving = Serving([programs.rorqual, "serve", "--port", "0"])
        self.stack = ExitStack()
        self.peak_bytes = 0
        self.tus_url = ""

    def __enter__(self):
        self.stack.enter_context(self.serving)
        self.kept = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="rorqual-upload-", dir=KEPT_IN)))
        os.environ["RORQUAL_HEADER"] = self.serving.header
        os.environ["RORQUAL_URL"] = self.serving.url("/api/upload/access.log")
        os.environ["SINK_URL"] = self.stack.enter_context(sink(self.programs.sink))
        (self.kept / "nginx").mkdir()
        os.environ["NGINX_URL"] = self.stack.enter_context(nginx.Nginx(self.kept / "nginx", uploads=True)).url("access.log")
        if shutil.which("tusd"):
            (self.kept / "tusd").mkdir()
            self.tusd = self.stack.enter_context(tusd(self.kept / "tusd"))
        return self

    def __exit__(self, *args):
        self.peak_bytes = self.serving.peak_bytes()
        self.stack.__exit__(*args)

    def check_upload(self, stdout):
        try:
            return self.totals(json.loads(stdout)["session"]["id"])
        except (ValueError, KeyError) as error:
            return f"no answer of an upload: {type(error).__name__}: {stdout[:80]}"

    def totals(self, session):
        """What is wrong with the report of an upload, which is forgotten then."""
        live = json.loads(self.ask("GET", f"/api/sessions/{session}").read())
        self.ask("DELETE", f"/api/sessions/{session}")
        report = live["report"] or {"lines": {"total": 0}, "sources": [{"bytes": 0}]}
        total, count_bytes = report["lines"]["total"], report["sources"][0]["bytes"]
        good = live["session"]["state"] == "finished" and (total, count_bytes) == (self.log.lines, self.log.bytes)
        return "" if good else f"wrong: {live['session']['state']}, {total:,} lines, {count_bytes:,} bytes"

    def begin_tus(self):
        answer = self.ask("POST", "/api/tus", TUS | {"Upload-Length": str(self.log.bytes)})
        self.tus_url = self.serving.url("/api/tus/" + answer.headers["Location"].rsplit("/", 1)[1])
        os.environ["RORQUAL_TUS_URL"] = self.tus_url

    def check_tus(self, stdout):
        return self.totals(self.tus_url.rsplit("/", 1)[1]) if stdout == b"204" else f"wrong: {stdout.decode()}"

    def clear(self):
        (self.kept / "nginx" / "access.log").unlink(missing_ok=True)

    def check_nginx(self, _):
        kept = self.kept / "nginx" / "access.log"
        count = kept.stat().st_size if kept.exists() else 0
        self.clear()
        return "" if count == self.log.bytes else f"wrong: {count:,} bytes"

    def begin_tusd(self):
        request = urllib.request.Request(self.tusd, method="POST", headers=TUS | {"Upload-Length": str(self.log.bytes)})
        os.environ["TUSD_URL"] = urllib.request.urlopen(request).headers["Location"]

    def check_tusd(self, stdout):
        kept = list((self.kept / "tusd").iterdir())
        count = max((path.stat().st_size for path in kept), default=0)
        for path in kept:
            path.unlink()
        return "" if (stdout, count) == (b"204", self.log.bytes) else f"wrong: {stdout.decode()}, {count:,} bytes"

    def ask(self, method, path, headers=None):
        request = urllib.request.Request(self.serving.url(path), method=method, headers=headers or {})
        request.add_header("Authorization", f"Bearer {self.serving.token}")
        return urllib.request.urlopen(request)

    def verify(self):
        return [f"peak of our server {self.peak_bytes / MIB:.0f} MiB; the peaks and CPU seconds beside uploads are curl's"], True


@contextmanager
def running(argv):
    """A program on loopback, while it is entered."""
    process = subprocess.Popen([str(arg) for arg in argv], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@contextmanager
def sink(program):
    """Its address, which it says in its first line."""
    with running([program]) as process:
        yield process.stdout.readline().strip()


@contextmanager
def tusd(folder):
    """The address at which uploads are begun."""
    port = nginx.free_port()
    argv = ["tusd", "-host", "127.0.0.1", "-port", port, "-upload-dir", folder, "-base-path", "/files/", "-show-greeting=false", "-verbose=false"]
    with running(argv) as process:
        nginx.wait_for(port, process, "tusd")
        yield f"http://127.0.0.1:{port}/files/"
