"""The files that are measured: made on demand by testkit's `gen`, with the truth about them: what `gen` says, what
Python's `re` finds in them, what Python's `hashlib` makes of them."""

import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
GIB = 1 << 30

# name: the arguments of `gen` with the file in between
RECIPES = {
    "access.log": ("access", 1536 * MIB),
    "distinct.log": ("distinct", 1536 * MIB),
    "nul.log": ("nul", 300 * MIB, 512 * MIB),
    "sparse.log": ("sparse", 300 * MIB, 20 * GIB),
    "behind.log": ("behind", 300 * MIB, 20 * GIB),
    "rows.log": ("access", 2560 * MIB),
    "events.ndjson": ("events", 2 * GIB),
    "events.json": ("array", 2 * GIB),
    "nested.json": ("array", 4608 * MIB, "a.b.items"),
}
# Logs of this size and a seed each, for work on many files.
PART_BYTES = 192 * MIB
PARTS = 8


@dataclass
class LogFile:
    path: Path
    lines: int
    bytes: int


class Data:
    def __init__(self, folder, gen):
        self.folder = Path(folder)
        self.gen = gen
        self.folder.mkdir(parents=True, exist_ok=True)

    @staticmethod
    def recipe(name):
        return RECIPES[name]

    def parts(self):
        """Logs of the same kind that differ."""
        argvs = [("access", self.folder / f"part{seed}.log", PART_BYTES, seed) for seed in range(1, PARTS + 1)]
        return [self._made(argv[1], [str(self.gen), *map(str, argv)]) for argv in argvs]

    def matches(self, name, pattern):
        """Lines, bytes and digest of what a search prints, by Python's `re`, which shares no code with anyone here."""
        log = self.log(name)
        return self.noted(log, f"re {pattern}", lambda: matches_of(log.path, pattern))

    def digest(self, log, algorithm="sha256"):
        return self.noted(log, algorithm, lambda: file_digest(log.path, algorithm))

    @staticmethod
    def digest_of_output(argv):
        """SHA-256 and length of what a program prints."""
        with subprocess.Popen([str(arg) for arg in argv], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            return digest_and_length(process.stdout)

    def log(self, name):
        """The generated file, made now if it is missing or was made otherwise."""
        kind, *sizes = RECIPES[name]
        path = self.folder / name
        more = ["--truth", str(self.truth_path(name))] if kind == "distinct" else []
        return self._made(path, [str(self.gen), kind, str(path), *map(str, sizes), *more])

    def site(self, lines):
        """The log of a busy site."""
        path = self.folder / f"site-{lines}.log"
        return self._made(path, [str(self.gen), "site", str(path), str(lines)])

    def incidents(self, lines, seed):
        """A week of it in which things go wrong; `truth` says which."""
        path = self.folder / f"incidents-{lines}-{seed}.log"
        argv = [self.gen, "incidents", path, lines, seed, "--truth", self.truth_path(path.name)]
        return self._made(path, [str(arg) for arg in argv])

    def gzip(self, name):
        """The same log as gzip -1 writes it; lines and bytes are those of the plain log."""
        plain = self.log(name)
        path = self.folder / f"{name}.gz"
        if not path.exists() or path.stat().st_mtime < plain.path.stat().st_mtime:
            print(f"making {path} ...", flush=True)
            part = path.with_suffix(".part")
            with open(part, "wb") as out:
                subprocess.run(["gzip", "-1", "-c", str(plain.path)], stdout=out, check=True)
            part.rename(path)
        return LogFile(path, plain.lines, plain.bytes)

    def converted(self, rorqual, plain, extension):
        """The rows of a file in another format, as `convert` writes them; the lines are those of the plain file."""
        path = plain.path.with_suffix(f".{extension}")
        if not path.exists() or path.stat().st_mtime < plain.path.stat().st_mtime:
            print(f"making {path} ...", flush=True)
            subprocess.run([rorqual, "convert", plain.path, "--force", "-o", path], check=True)
        return LogFile(path, plain.lines, path.stat().st_size)

    def rotated(self, name, count):
        """The same log in `count` files one after another, as rotation leaves them, each as gzip -1 writes it."""
        plain = self.log(name)
        folder = self.folder / f"{name}.rotated-{count}"
        mark = folder / "whole"
        if not mark.exists() or mark.stat().st_mtime < plain.path.stat().st_mtime:
            print(f"making {folder} ...", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            subprocess.run(["split", "-n", f"l/{count}", "--filter", "gzip -1 > $FILE.gz", str(plain.path), f"{folder}/{name}."], check=True)
            mark.touch()
        return sorted(folder.glob("*.gz")), plain

    def truth_path(self, name):
        return self.folder / f"{name}.truth.json"

    def truth(self, name):
        return json.loads(self.truth_path(name).read_text())

    def noted(self, log, question, answer):
        """Answers that take a while are kept beside the file, and thrown away with it."""
        note = log.path.with_name(f"{log.path.name}.known.json")
        stat = log.path.stat()
        version = [stat.st_size, stat.st_mtime_ns]
        known = json.loads(note.read_text()) if note.exists() else {}
        if known.get("version") != version:
            known = {"version": version, "answers": {}}
        if question not in known["answers"]:
            print(f"the truth about {log.path.name}: {question} ...", flush=True)
            known["answers"][question] = answer()
            note.write_text(json.dumps(known, indent=1))
        return known["answers"][question]

    def _made(self, path, command):
        note = path.with_name(f"{path.name}.made.json")
        known = json.loads(note.read_text()) if note.exists() and path.exists() else {}
        if known.get("command") != command[1:] or path.stat().st_size != known["bytes"]:
            print(f"making {path} ...", flush=True)
            known = {"command": command[1:], **self._make(command)}
            note.write_text(json.dumps(known, indent=1))
        return LogFile(path, known["lines"], known["bytes"])

    def _make(self, command):
        done = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
        said = re.search(r"lines=(\d+) bytes=(\d+)", done.stderr)
        return {"lines": int(said.group(1)), "bytes": int(said.group(2))}


def matches_of(path, pattern):
    search = re.compile(pattern.encode()).search
    lines, count_bytes, digest = 0, 0, hashlib.sha256()
    with open(path, "rb") as file:
        for line in file:
            if search(line):
                lines += 1
                count_bytes += len(line)
                digest.update(line)
    return {"lines": lines, "bytes": count_bytes, "sha256": digest.hexdigest()}


def file_digest(path, algorithm):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def digest_and_length(stream):
    digest, length = hashlib.sha256(), 0
    while block := stream.read(1 << 20):
        digest.update(block)
        length += len(block)
    return digest.hexdigest(), length
