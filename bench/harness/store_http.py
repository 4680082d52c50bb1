"""The store over HTTP beside nginx with sendfile: an object of 100 MB, few and many readers."""

import os
import shutil
import subprocess
from functools import partial

from .data import file_digest
from .jobs import Contender, Goal, Job
from .nginx import Nginx
from .render_http import check_wrk, wrk_rate
from .serving import Serving

OBJECT_BYTES = 100_000_000
READERS = (4, 64)
MEMORY = "512MiB"


def jobs():
    return {f"store-http-{readers}": partial(read, readers=readers) for readers in READERS}


def read(setting, readers):
    root = setting.out / "object"
    shutil.rmtree(root, ignore_errors=True)
    (root / "store").mkdir(parents=True)
    path = root / "object.bin"
    with open(setting.data.log("access.log").path, "rb") as log:
        path.write_bytes(log.read(OBJECT_BYTES))
    ours = [setting.programs.rorqual, "serve", "--port", "0", "--sessions", "1", "--memory", MEMORY,
            "--connections", "80", "--store", root / "store"]
    around = Both(Serving(ours), Nginx(root), path)
    wrk = lambda url: ["sh", "-c", f'exec wrk -t1 -c{readers} -d5s -H "$RORQUAL_HEADER" "{url}"']  # noqa: E731
    rows = [
        Contender("rorqual serve --store", "ours", [wrk("$RORQUAL_URL")], check_wrk, bytes_per_second=wrk_rate),
        Contender("nginx, sendfile", "peer", [wrk("$NGINX_URL")], check_wrk, bytes_per_second=wrk_rate),
    ]
    goals = [Goal(rows[0].name, 0.9, (rows[1].name,))]
    title = f"An object of 100 MB out of the store over HTTP, {readers} readers"
    return Job(f"store-http-{readers}", title, OBJECT_BYTES, rows, [path], around.verify, goals, around)


class Both:
    """Our server with the object in its store, and nginx with it as a file; their addresses are told by the environment."""

    def __init__(self, serving, nginx, path):
        self.serving, self.nginx, self.path = serving, nginx, path
        self.peak_bytes = 0

    def __enter__(self):
        self.serving.__enter__()
        self.nginx.__enter__()
        url = self.serving.url("/store/object")
        subprocess.run(["curl", "-sSf", "-o", os.devnull, "-T", self.path, "-H", self.serving.header, url], check=True)
        os.environ.update(RORQUAL_URL=url, RORQUAL_HEADER=self.serving.header, NGINX_URL=self.nginx.url(self.path.name))

    def __exit__(self, *args):
        # Before they end: what it took, and that what it gives is the file.
        self.peak_bytes = self.serving.peak_bytes()
        out = self.path.with_name("fetched")
        subprocess.run(["curl", "-sSf", "-o", out, "-H", self.serving.header, self.serving.url("/store/object")], check=True)
        self.equal = file_digest(out, "sha256") == file_digest(self.path, "sha256")
        self.nginx.__exit__(*args)
        self.serving.__exit__(*args)

    def verify(self):
        lines = [f"peak of our server {self.peak_bytes / (1 << 20):.0f} MiB", f"the object comes back {'equal' if self.equal else 'DIFFERENT'}"]
        shutil.rmtree(self.path.parent, ignore_errors=True)
        return lines, self.equal
