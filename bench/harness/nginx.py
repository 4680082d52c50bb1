"""An nginx of our own on loopback, with everything it writes in a folder that goes with it."""

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

START_SECONDS_MAX = 10

CONFIG = """
daemon off;
{user}worker_processes 2;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 64; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 5;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {root};
{more}    }}
}}
"""


# Files that are put there; beside them, so that none is copied behind its end.
UPLOADS = """        dav_methods PUT;
        client_max_body_size 0;
        client_body_temp_path {root}/body;
"""


class Nginx:
    """Serves the files of `root` while it is entered, and takes new ones where `uploads` says so. The port is known before."""

    def __init__(self, root, uploads=False):
        self.root = Path(root).resolve()
        self.more = UPLOADS.format(root=self.root) if uploads else ""
        self.port = free_port()
        self.process = self.folder = None

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/{name}"

    def __enter__(self):
        program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
        if not program:
            return self
        self.folder = tempfile.TemporaryDirectory(prefix="rorqual-nginx-")
        config = Path(self.folder.name) / "nginx.conf"
        # Started by root, the workers would be somebody who may not read our files.
        user = "user root;\n" if Path("/proc/self").stat().st_uid == 0 else ""
        config.write_text(CONFIG.format(folder=self.folder.name, port=self.port, root=self.root, user=user, more=self.more))
        argv = [program, "-c", str(config), "-p", self.folder.name, "-e", "stderr"]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
        try:
            wait_for(self.port, self.process, "nginx")
        except OSError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait(START_SECONDS_MAX)
            self.folder.cleanup()


def wait_for(port, process, name):
    """Until it listens."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise OSError(f"{name} did not start")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
