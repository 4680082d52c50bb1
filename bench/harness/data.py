"""The files that are measured: made on demand by testkit's `gen`, with the truth that `gen` says about them."""

import json
import re
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
}


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

    def log(self, name):
        """The generated file, made now if it is missing or was made otherwise."""
        kind, *sizes = RECIPES[name]
        path = self.folder / name
        more = ["--truth", str(self.truth_path(name))] if kind == "distinct" else []
        return self._made(path, [str(self.gen), kind, str(path), *map(str, sizes), *more])

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

    def truth_path(self, name):
        return self.folder / f"{name}.truth.json"

    def truth(self, name):
        return json.loads(self.truth_path(name).read_text())

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
