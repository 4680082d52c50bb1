"""Threads, the interpreter, Ctrl-C, and memory."""

import gc
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pyarrow as pa
import pytest
from conftest import GOOD, descriptors, threads

import rorqual


def settled(count, wanted):
    """Waits until a count is as before."""
    deadline = time.monotonic() + 20
    while count() > wanted:
        assert time.monotonic() < deadline, f"{count()} are left of {wanted}"
        time.sleep(0.01)


def test_a_stream_that_is_dropped_leaves_nothing(large):
    list(zip(rorqual.scan_log(large), range(1)))
    gc.collect()
    before = threads(), descriptors()
    for number in range(60):
        rows = rorqual.scan_log(large, memory="64MiB")
        if number % 3 == 0:
            next(rows)
        elif number % 3 == 1:
            pa.RecordBatchReader.from_stream(rows).read_next_batch()
        del rows
    gc.collect()
    settled(threads, before[0])
    settled(descriptors, before[1])


def test_a_file_object_that_is_slow_does_not_hold_the_interpreter():
    class Slow:
        name = "slow"
        left = 40

        def read(self, size):
            time.sleep(0.01)
            self.left -= 1
            return GOOD * 100 if self.left > 0 else b""

    ticks = []
    over = threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    rows = sum(len(batch) for batch in rorqual.scan_log(Slow()))
    over.set()
    ticker.join()
    assert rows == 3_900
    assert len(ticks) > 40


def test_a_file_object_that_fails_is_an_error():
    class Failing:
        left = 3

        def read(self, size):
            self.left -= 1
            if self.left < 0:
                raise ValueError("the disk is gone")
            return GOOD * 30_000

    with pytest.raises(rorqual.Error, match="the disk is gone"):
        list(rorqual.scan_log(Failing()))


def test_a_reader_that_waits_is_ended_when_its_rows_are_dropped():
    given, wanted = os.pipe()
    with open(given, "rb", buffering=0) as reading, open(wanted, "wb", buffering=0) as writing:
        before = threads()
        writing.write(GOOD * 200)
        closing = threading.Timer(0.3, writing.close)
        closing.start()
        rows = rorqual.scan_log(reading)
        del rows
        settled(threads, before)
        closing.join()


@pytest.mark.parametrize("call", ["sum(len(b) for b in rows)", "__import__('pyarrow').RecordBatchReader.from_stream(rows).read_all()"])
def test_ctrl_c_is_heard(tmp_path, call):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    text = f"""
        import rorqual, sys
        rows = rorqual.scan_log({str(fifo)!r})
        print("reading", flush=True)
        try:
            {call}
        except KeyboardInterrupt:
            print("heard", flush=True)
        except Exception as error:
            print("heard", type(error), flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(text)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with open(fifo, "wb", buffering=0) as writing:
        # The start of a stream is looked at until there is enough of it.
        block = GOOD * 1_000
        for _ in range(5_000_000 // len(block)):
            writing.write(block)
        assert process.stdout.readline() == b"reading\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline().startswith(b"heard")
    process.wait(20)
    process.stdout.close()


MEMORY = """
    import re, sys, rorqual
    import pyarrow as pa
    def peak():
        return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
    path, documents = sys.argv[1:]
    rows = 0
    before = peak()
    for batch in pa.RecordBatchReader.from_stream(rorqual.scan_log(path, memory="64MiB", columns=["path", "status"])):
        rows += batch.num_rows
    lengths = [len(batch) for batch in rorqual.scan_log(path, memory="64MiB", columns=[])]
    assert sum(lengths) == rows and max(lengths) < 40_000, max(lengths)
    matched = sum(1 for _ in rorqual.grep(path, "Googlebot", memory="64MiB"))
    digest = rorqual.hash(path, memory="64MiB")
    lines = rorqual.count(path, memory="64MiB")["lines"]
    report = rorqual.report(path, memory="64MiB")["lines"]["parsed"]
    members = sum(len(batch) for batch in rorqual.scan_json(documents, memory="64MiB"))
    print(rows, matched, lines, report, members, peak() - before)
"""


def test_memory_is_that_which_was_given(large, tmp_path):
    documents = tmp_path / "rows.json"
    block = b'{"id": 1, "of": {"name": "a name", "list": [1, 2, 3]}, "text": "%s"}\n' % (b"x" * 900) * 1_000
    with open(documents, "wb") as file:
        for _ in range(200):
            file.write(block)
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(MEMORY), large, documents]
    done = subprocess.run(command, capture_output=True, check=True)
    rows, matched, lines, report, members, grown = map(int, done.stdout.split())
    assert rows == report and rows <= lines and matched > 0 and members == 200_000
    # 240 MB in 64 MiB.
    assert grown < 64 << 20, f"{grown >> 20} MiB"


def test_panics_and_threads_do_not_end_the_interpreter(sample):
    wanted = rorqual.hash(sample)
    found = []
    workers = [threading.Thread(target=lambda: found.append(rorqual.hash(sample))) for _ in range(16)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert found == [wanted] * 16
    assert re.fullmatch("[0-9a-f]{64}", wanted)


def test_a_program_that_says_a_lot_is_not_waited_for(tmp_path, monkeypatch):
    script = tmp_path / "program"
    script.write_text("#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x >&2\necho >&2\necho the end >&2\necho '{\"n\":1}'\nexit ${STATUS:-0}\n")
    script.chmod(0o755)
    monkeypatch.setenv("RORQUAL_PROGRAM", str(script))
    with pytest.warns(rorqual.RowsWarning, match="the end"):
        assert list(rorqual.query("SELECT 1")) == [{"n": 1}]
    monkeypatch.setenv("STATUS", "3")
    with pytest.raises(rorqual.errors.ProgramError, match="the end") as caught:
        list(rorqual.query("SELECT 1"))
    assert caught.value.status == 3
    with pytest.raises(rorqual.errors.ProgramError):
        rorqual.convert("rows.json", tmp_path / "rows.parquet")
