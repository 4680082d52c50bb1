"""A `rorqual serve` of our own, for as long as it is measured."""

import os
import re
import socket
import subprocess
import tempfile
import time
from pathlib import Path


class Serving:
    """Started when it is entered; `url` has the token taken out of it, which is in `header`."""

    def __init__(self, argv):
        self.argv = [str(arg) for arg in argv]
        self.process = None
        self.token = ""
        self.port = 0

    def __enter__(self):
        with tempfile.TemporaryFile("w+") as stderr:
            self.process = subprocess.Popen(self.argv, stdout=subprocess.PIPE, stderr=stderr, text=True)
            found = re.match(r"http://127\.0\.0\.1:(\d+)/\?token=(\w+)", self.process.stdout.readline())
            if not found:
                self.process.wait()
                self.process.stdout.close()
                stderr.seek(0)
                raise OSError(f"the server did not start: {stderr.readline().strip()}")
        self.port, self.token = int(found.group(1)), found.group(2)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def header(self):
        return f"Authorization: Bearer {self.token}"

    def connect(self, path):
        """A socket on which the request was sent."""
        stream = socket.create_connection(("127.0.0.1", self.port))
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{self.header}\r\nConnection: close\r\n\r\n".encode())
        return stream

    def first_byte_seconds(self, path):
        """From the request to the first byte of the body."""
        start = time.perf_counter()
        with self.connect(path) as stream:
            head = b""
            while b"\r\n\r\n" not in head or head.endswith(b"\r\n\r\n"):
                head += stream.recv(4096)
            return time.perf_counter() - start

    def cpu_seconds(self):
        """Of all its threads since it began."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status).group(1))
