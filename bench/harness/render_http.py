"""Templates over HTTP: streamed beside built in memory first, fast readers beside slow ones, and how soon it begins."""

import os
import re
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from .jobs import Contender, Goal, Job
from .render import LINES, TIMEOUT_SECONDS
from .serving import Serving

MIB = 1 << 20
PAGE_ITERATIONS = 410_000 // (14 * len(LINES))
LONG_ITERATIONS = 30 * 10**9 // (14 * len(LINES))
TEMPLATES = {
    "page.txt": f"{{% for i in range({PAGE_ITERATIONS}) %}}{14 * LINES}{{% endfor %}}",
    "memory.txt": f"{{% set page %}}{{% for i in range({PAGE_ITERATIONS}) %}}{14 * LINES}{{% endfor %}}{{% endset %}}{{{{ page }}}}",
    "long.txt": f"{{% for i in range({LONG_ITERATIONS}) %}}{14 * LINES}{{% endfor %}}",
}
READERS = 64
FAST_BYTES = 64 * MIB
SLOW_BYTES_PER_SECOND = 64 << 10
MEMORY = "512MiB"
# Small, made at the start of the server, and nothing to compute.
STATIC = "/rorqual.svg"
FIRST_BYTES = 200
# Slow readers cost the server their 4 MB/s, and the machine its turns.
SLOWED_MAX = 1.2


def jobs():
    return {"render-http": http}


def http(setting):
    serving = Serving(served(setting))
    wrk = lambda name: ["sh", "-c", 'exec wrk -t1 -c64 -d5s -H "$RORQUAL_HEADER" "$RORQUAL_URL$0"', f"/render/{name}"]  # noqa: E731

    class Around:
        """The address is known when the server runs; `wrk` gets it from the environment."""

        def __enter__(self):
            serving.__enter__()
            os.environ["RORQUAL_URL"], os.environ["RORQUAL_HEADER"] = serving.url(""), serving.header

        def __exit__(self, *args):
            serving.__exit__(*args)

    names = {"rorqual serve, streamed": ("page.txt", "ours"), "the same, built in memory first": ("memory.txt", "peer")}
    contenders = [Contender(name, role, [wrk(template)], check_wrk, TIMEOUT_SECONDS, bytes_per_second=wrk_rate)
                  for name, (template, role) in names.items()]
    goals = [Goal("rorqual serve, streamed", 1.4, ("the same, built in memory first",))]
    size = PAGE_ITERATIONS * 14 * len(LINES)
    return Job("render-http", "A page of 410 KB over HTTP, 64 connections", size, contenders, [], lambda: verify(setting), goals, Around())


def wrk_rate(stdout):
    """Bytes a second, as wrk says."""
    number, unit = re.search(rb"Transfer/sec:\s+([\d.]+)([KMG]?)B", stdout).groups()
    return float(number) * {b"": 1, b"K": 1 << 10, b"M": 1 << 20, b"G": 1 << 30}[unit]


def check_wrk(stdout):
    return "" if b"Non-2xx" not in stdout and b"Transfer/sec" in stdout else "wrong: " + stdout.decode()[-80:]


def served(setting):
    folder = setting.out / "templates"
    folder.mkdir(exist_ok=True)
    for name, text in TEMPLATES.items():
        (folder / name).write_text(text)
    return [setting.programs.rorqual, "serve", "--port", "0", "--memory", MEMORY, "--templates", folder, "--renders", "136", "--sessions", "1"]


def verify(setting):
    """On a server of its own: how soon a page of 30 GB begins, and what fast readers and the memory have of slow ones."""
    with Serving(served(setting)) as serving:
        static = statistics.median(serving.first_byte_seconds(STATIC) for _ in range(FIRST_BYTES))
        first = statistics.median(serving.first_byte_seconds("/render/long.txt") for _ in range(FIRST_BYTES))
    with Serving(served(setting)) as serving:
        alone = fast_seconds(serving)
        stop = threading.Event()
        with ThreadPoolExecutor(READERS) as pool:
            slow = [pool.submit(read_slowly, serving, stop) for _ in range(READERS)]
            try:
                time.sleep(2)
                beside = fast_seconds(serving)
            finally:
                stop.set()
            for reader in slow:
                reader.result()
        peak = serving.peak_bytes()
    lines = [
        f"first byte of 30 GB after {first * 1e6:.0f} µs, of a small static file after {static * 1e6:.0f} µs: {first / static:.2f} times",
        f"{READERS} fast readers of {FAST_BYTES // MIB} MiB each: {alone:.2f} s alone, {beside:.2f} s beside {READERS} slow ones",
        f"peak of the server {peak / MIB:.0f} MiB",
    ]
    return lines, first <= 2 * static and peak <= 512 * MIB and beside <= SLOWED_MAX * alone


def fast_seconds(serving):
    start = time.monotonic()
    with ThreadPoolExecutor(READERS) as pool:
        list(pool.map(lambda _: read_some(serving, FAST_BYTES), range(READERS)))
    return time.monotonic() - start


def read_some(serving, count_bytes):
    buffer = bytearray(256 << 10)
    with serving.connect("/render/long.txt") as stream:
        while count_bytes > 0:
            count = stream.recv_into(buffer)
            if count == 0:
                raise EOFError("the answer ended before it should")
            count_bytes -= count


def read_slowly(serving, stop):
    with serving.connect("/render/long.txt") as stream:
        while not stop.wait(0.25):
            if not stream.recv(SLOW_BYTES_PER_SECOND // 4):
                raise EOFError("the answer ended before it should")
