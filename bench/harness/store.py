"""The store: one large file in and out, and many small ones, beside a copy with a checksum."""

import os
import random
import shutil
import subprocess
from functools import partial

from .hashing import expect_digests
from .jobs import Contender, Job

SMALL_FILES = 1000
SMALL_BYTES = (1 << 10, 64 << 10)
SEED = 20_251_121

PUT_EACH = 'store="$1" program="$2"; shift 2; for file; do "$program" store --store "$store" put "$file" || exit; done'
COPY_EACH = 'to="$1"; shift; for file; do cp "$file" "$to" && sync "$to/${file##*/}" && sha256sum "$file" || exit; done'
COPY_ALL = 'to="$1"; shift; cp "$@" "$to" && sync -f "$to" && sha256sum "$@"'


def jobs():
    return {"store-put": put, "store-get": get, "store-put-small": put_small}


def put(setting):
    log = setting.data.log("access.log")
    folder = setting.out / "store"
    again = partial(empty, folder)
    copy = 'cp "$1" "$2/copy" && sync "$2/copy" && openssl dgst -r -sha256 "$2/copy"'
    rows = [
        Contender("rorqual store put", "ours", [ours(setting, folder, "put", log.path)], found(setting, log), before=again),
        Contender("cp; sync; openssl dgst", "peer", [shell(copy, log.path, folder)], found(setting, log), before=again),
        Contender("cp; sync", "floor", [shell('cp "$1" "$2/copy" && sync "$2/copy"', log.path, folder)], before=again),
    ]
    return Job("store-put", "Put 1.5 GiB into the store", log.bytes, rows, [log.path], lambda: (remove(folder) or [], True))


def get(setting):
    log = setting.data.log("access.log")
    folder = setting.out / "store"
    sha256 = setting.data.digest(log)
    drain = [setting.programs.drain]
    whole = expect_drained(log)
    rows = [
        Contender("rorqual store get", "ours", [ours(setting, folder, "get", sha256), drain], whole),
        Contender("cat", "floor", [["cat", log.path], drain], whole),
    ]
    around = Filled(partial(ours, setting, folder, "put", log.path), folder)
    return Job("store-get", "Get 1.5 GiB out of the store, to a pipe", log.bytes, rows, [log.path], around=around)


def put_small(setting):
    files = small_files(setting.data.folder / "small")
    total_bytes = sum(path.stat().st_size for path in files)
    folder = setting.out / "store"
    again = partial(empty, folder)
    check = expect_lines(len(files))
    rows = [
        ("rorqual store put, one each", "ours", [shell(PUT_EACH, folder, setting.programs.rorqual, *files)]),
        ("cp; sync; sha256sum, one each", "peer", [shell(COPY_EACH, folder, *files)]),
        ("cp; sync -f; sha256sum, at once", "floor", [shell(COPY_ALL, folder, *files)]),
    ]
    contenders = [Contender(*row, check, before=again) for row in rows]
    title = f"Put {SMALL_FILES:,} files of 1 to 64 KiB into the store"
    return Job("store-put-small", title, total_bytes, contenders, files, lambda: (remove(folder) or [], True))


def ours(setting, folder, *words):
    return [setting.programs.rorqual, "store", "--store", folder, *words]


def shell(script, *words):
    return ["sh", "-c", script, "sh", *words]


class Filled:
    """A store with the log in it, while it is entered."""

    def __init__(self, argv, folder):
        self.argv = argv
        self.folder = folder

    def __enter__(self):
        empty(self.folder)
        subprocess.run(list(map(str, self.argv())), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __exit__(self, *_):
        remove(self.folder)


def empty(folder):
    remove(folder)
    folder.mkdir()
    os.sync()


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)


def found(setting, log):
    """Both say the digest first, with or without a name of the algorithm."""
    sha256 = setting.data.digest(log)

    def check(stdout):
        return expect_digests([sha256])(stdout.replace(b"sha256:", b""))

    return check


def expect_lines(count):
    def check(stdout):
        lines = len(stdout.splitlines())
        return "" if lines == count else f"wrong: {lines:,} lines"

    return check


def expect_drained(log):
    def check(stdout):
        return "" if stdout.split()[:1] == [str(log.bytes).encode()] else f"wrong: {stdout.decode('ascii', 'replace').strip()}"

    return check


def small_files(folder):
    """Random bytes, the same every time: made once."""
    paths = [folder / f"{number:04}" for number in range(SMALL_FILES)]
    if not all(path.exists() for path in paths):
        folder.mkdir(exist_ok=True)
        numbers = random.Random(SEED)
        for path in paths:
            path.write_bytes(numbers.randbytes(numbers.randint(*SMALL_BYTES)))
    return paths
