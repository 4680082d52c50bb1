#!/usr/bin/env python3
"""Compares `rorqual grep` with GNU grep and ripgrep on random cases: tools/differential.py [--cases 5000] [--seed N] [--program PATH]

A case is a pattern, flags and inputs, all made from its own seed; each peer that knows its flags is run in the same folder, and output and exit code
are compared, of the same input by name and by pipe. What differs is printed with the seed that makes it again (--seed N --cases 1), unless a
rule in EXPLAINED says why. Exit code 0: nothing unexplained.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

# A block of the program is 256 KiB; --line-max takes less, so that most cases have lines that are not held whole.
WIDE = 300_000

ATOMS = [b"a", b"b", b"ab", b"[ab]", b"[^a]", b".", b"0", b" ", b"_", b"x", b"[0-9]", b"foo", b"\\.", b"(a|b)", b"(ab|a)", b"(foo|bar)"]
REPEATS = [b"", b"", b"", b"*", b"+", b"?", b"{2}", b"{1,2}"]
PIECES = [b"a", b"b", b"ab", b" ", b"\n", b"\n", b"\n", b"0", b"_", b".", b"foo", b"bar", b"foo bar", b"x", b"A", b"-", b"/"]
ODD = [b"\0", b"\r\n", b"\r", b"\x7f", b"\xff", b"\xc3\x28", "é".encode(), "Straße".encode(), b"\xf0\x9f"]

# Each flag with the peers that have it, and how likely it is.
FLAGS = [
    (["-v"], "gr", 5), (["-i"], "gr", 5), (["-x"], "gr", 6), (["-w"], "gr", 6), (["-n"], "gr", 3), (["-b"], "gr", 5), (["-c"], "gr", 8), (["-l"], "gr", 14),
    (["-L"], "g", 14), (["-q"], "gr", 16), (["-m", "1"], "gr", 12), (["-m", "3"], "gr", 12), (["-A", "1"], "gr", 9), (["-B", "2"], "gr", 9), (["-C", "1"], "gr", 9),
    (["-A0"], "g", 30), (["-2"], "g", 20), (["-o"], "gr", 6), (["-H"], "gr", 6), (["-h"], "g", 12), (["-z"], "g", 10), (["-Z"], "g", 12), (["-s"], "g", 20), (["-I"], "g", 20),
    (["--crlf"], "r", 12), (["--column"], "r", 12), (["-H", "-h"], "g", 40), (["-i", "--no-ignore-case"], "g", 40), (["-l", "-L"], "g", 40),
]


class Case:
    """Everything of one case, from its seed."""

    def __init__(self, seed):
        self.seed = seed
        r = self.random = random.Random(seed)
        self.peer = r.choice("ggr")
        self.files = [self.text() for _ in range(r.choice([1, 1, 1, 2, 3]))]
        self.piped = len(self.files) == 1 and r.random() < 0.3
        self.flags, self.fixed = self.make_flags(), r.random() < 0.15
        self.patterns = [self.pattern() for _ in range(r.choice([1, 1, 1, 2, 3]))]
        self.in_file = r.random() < 0.15
        self.missing = not self.piped and r.random() < 0.05
        self.settings = r.choice([[], [], ["--threads", "1"], ["--threads", "3", "--line-max", "1"], ["--threads", "2", "--line-max", "64"]])

    def text(self):
        r = self.random
        if r.random() < 0.04:
            return b""
        pieces = PIECES + (ODD * 2 if r.random() < 0.35 else [])
        text = b"".join(r.choice(pieces) for _ in range(r.choice([5, 40, 400, 3000])))
        if r.random() < 0.08:
            place = r.randrange(len(text) + 1)
            text = text[:place] + r.choice([b"a", b"x", b" ", b"foo "]) * (WIDE // r.choice([1, 2, 4])) + text[place:]
        if r.random() < 0.05:
            text *= 60
        if r.random() < 0.5 and not text.endswith(b"\n"):
            text += b"\n"
        return text

    def make_flags(self):
        r = self.random
        chosen = [flags for flags, peers, odds in FLAGS if self.peer in peers and r.randrange(odds) == 0]
        if self.peer == "g" and ["-z"] in chosen:
            # Of lines that end with a NUL, GNU grep goes by bytes that are not UTF-8.
            chosen = [flags for flags in chosen if flags != ["-I"]]
        if self.peer == "r" and ["-c"] in chosen:
            # ripgrep counts matches with -o, and prints counts instead of names with -l.
            chosen = [flags for flags in chosen if flags[0] not in ("-o", "-l")]
        if self.peer == "r" and ["-x"] in chosen:
            # ripgrep 13 takes -w for -x where both are given.
            chosen = [flags for flags in chosen if flags != ["-w"]]
        if self.peer == "r" and ["-o"] in chosen:
            # ripgrep prints the lines around matches, and lines without one, whole.
            chosen = [flags for flags in chosen if flags[0] not in ("-A", "-B", "-C", "-v")]
        return [flag for flags in chosen for flag in flags]

    def pattern(self):
        r = self.random
        if self.fixed:
            return b"".join(r.choice(PIECES[:4] + [b"foo", b"bar", b".", b"0"]) for _ in range(r.randrange(4)))
        pattern = r.choice([b"", b"", b"^"])
        for _ in range(r.randrange(1, 4)):
            pattern += r.choice(ATOMS) + r.choice(REPEATS)
        pattern += r.choice([b"", b"", b"$"])
        if r.random() < 0.1:
            pattern = pattern + b"|" + r.choice(ATOMS)
        return pattern

    def args(self):
        """What all programs are given."""
        args = list(self.flags) + (["-F"] if self.fixed else [])
        if self.in_file:
            args += ["-f", "patterns"]
        else:
            for pattern in self.patterns:
                args += ["-e", os.fsdecode(pattern)]
        names = [f"f{index}" for index in range(len(self.files))]
        if self.missing:
            names.insert(self.random.randrange(len(names) + 1), "missing")
        return args + ([] if self.piped else names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1, help="the first case's; each has the next")
    parser.add_argument("--program", type=Path, default=Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target")) / "debug/rorqual")
    args = parser.parse_args()
    missing = [name for name in (str(args.program), "grep", "rg") if not shutil.which(name)]
    if missing:
        print(f"differential: not there: {', '.join(missing)} (cargo build --bin rorqual; Debian's packages grep and ripgrep)")
        return 2
    program = str(args.program.resolve())
    explained, unexplained = Counter(), 0
    with ThreadPoolExecutor(2) as pool:
        for seed, why, detail in pool.map(lambda seed: one(seed, program), range(args.seed, args.seed + args.cases)):
            if why:
                explained[why] += 1
            elif detail:
                unexplained += 1
                print(f"seed {seed}: {detail}", flush=True)
    for why, count in explained.most_common():
        print(f"explained: {count}: {why}")
    print(f"differential: {args.cases} cases from seed {args.seed}: {sum(explained.values())} differ for a reason, {unexplained} differ")
    return 1 if unexplained else 0


def one(seed, program):
    """Runs a case; why it differs, or else how."""
    case = Case(seed)
    with tempfile.TemporaryDirectory() as folder:
        for index, text in enumerate(case.files):
            Path(folder, f"f{index}").write_bytes(text)
        Path(folder, "patterns").write_bytes(b"".join(pattern + b"\n" for pattern in case.patterns))
        args = case.args()
        feed = case.files[0] if case.piped else None
        ours = run([program, "grep", *case.settings, *args], folder, feed)
        theirs = run([*peer(case), *args], folder, feed)
        theirs = (theirs[0].replace(b"<stdin>", b"(standard input)"), *theirs[1:])
        if ours[:2] == theirs[:2]:
            return seed, None, None
        why = explanation(case, ours, theirs)
        if not why and {"-w", "-I"} & set(case.flags) and replace_odd(case, folder):
            feed = case.files[0] if case.piped else None
            again, wanted = run([program, "grep", *case.settings, *args], folder, feed), run([*peer(case), *args], folder, feed)
            if again[:2] == wanted[:2]:
                why = "beside bytes that are not UTF-8 no word begins or ends, as ripgrep has it; GNU grep -I takes them for a sign of binary data"
        if not why and case.peer == "g" and "-o" in case.flags:
            # The same lines are selected.
            counted = [arg if arg != "-o" else "-c" for arg in args]
            if run([program, "grep", *case.settings, *counted], folder, feed)[:2] == run([*peer(case), *counted], folder, feed)[:2]:
                why = "of alternatives that match at one place -o prints the first, as ripgrep; GNU grep the longest"
    return seed, why, why or describe(case, args, ours, theirs)


def peer(case):
    if case.peer == "r":
        return ["rg", "--no-config", "--no-heading", "--color=never", "-a", "-j1", "--sort=path"]
    return ["grep"] + ([] if "-I" in case.flags else ["-a"]) + ([] if case.fixed else ["-E"])


def run(command, folder, feed):
    given = {"stdin": subprocess.DEVNULL} if feed is None else {"input": feed}
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    try:
        ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=60, **given)
    except subprocess.TimeoutExpired:
        return b"", "no end within 60 s", b""
    return ran.stdout, ran.returncode, ran.stderr


def replace_odd(case, folder):
    """Puts a blank in place of each byte that is not UTF-8; whether there were any."""
    plain = [text.decode("utf-8", "surrogateescape").encode("utf-8", "replace").replace(b"?", b" ") for text in case.files]
    changed = plain != case.files
    case.files = plain
    for index, text in enumerate(plain):
        Path(folder, f"f{index}").write_bytes(text)
    return changed


def without_empty(case, out):
    """Without the lines of matches that are empty."""
    prefix = (rb"(f\d:|\(standard input\):)?" if "-H" in case.flags or len(case.files) > 1 else b"") + rb"(\d+:)*"
    return b"".join(line for line in out.splitlines(True) if not re.fullmatch(prefix + rb"\n", line))


def without_zeros(out):
    return b"".join(line for line in out.splitlines(True) if not re.fullmatch(rb"(f\d:|\(standard input\):)?0\r?\n", line))


def as_around(out):
    """All lines as if none were selected."""
    return re.sub(rb"(?m)^((?:f\d)?)[:-]?((?:\d+[:-]){0,3})", lambda match: match[1] + re.sub(rb"[:-]", b"", match[2]), out)


def is_limited(case):
    return "-m" in case.flags and any(flag in case.flags for flag in ("-A", "-B", "-C"))


# Why an answer may differ, as (reason, whether it is so of a case and both answers).
EXPLAINED = [
    ("ripgrep counts nothing of files without a selected line", lambda case, ours, theirs: case.peer == "r" and "-c" in case.flags and without_zeros(ours[0]) == theirs[0]),
    ("ripgrep ends what it prints with CRLF where lines do", lambda case, ours, theirs: "--crlf" in case.flags and ours[0].replace(b"\r\n", b"\n") == theirs[0].replace(b"\r\n", b"\n")),
    ("ripgrep's --crlf takes one carriage return of several for the end", lambda case, ours, theirs: "--crlf" in case.flags and any(b"\r\r" in text for text in case.files)),
    ("ripgrep prints a column of lines around with -v", lambda case, ours, theirs: "--column" in case.flags and "-v" in case.flags),
    ("ripgrep 13 takes the last of -A, -B and -C", lambda case, ours, theirs: case.peer == "r" and "-C" in case.flags and ("-A" in case.flags or "-B" in case.flags)),
    ("GNU grep prints no counts where an empty pattern and -v select nothing", lambda case, ours, theirs: case.peer == "g" and "-v" in case.flags and theirs[:2] == (b"", 1) and not without_zeros(ours[0])),
    ("ripgrep prints empty matches with -o", lambda case, ours, theirs: case.peer == "r" and "-o" in case.flags and ours[0] == without_empty(case, theirs[0])),
    ("ripgrep marks lines that match behind the last one of -m as selected", lambda case, ours, theirs: case.peer == "r" and is_limited(case) and as_around(ours[0]) == as_around(theirs[0])),
    ("GNU grep prints matches of lines around with -v -o", lambda case, ours, theirs: case.peer == "g" and "-v" in case.flags and "-o" in case.flags and not ours[0].replace(b"--\n", b"")),
]


def explanation(case, ours, theirs):
    return next((why for why, holds in EXPLAINED if holds(case, ours, theirs)), None)


def describe(case, args, ours, theirs):
    sizes = [len(text) for text in case.files]
    at = next((i for i, (a, b) in enumerate(zip(ours[0], theirs[0])) if a != b), min(len(ours[0]), len(theirs[0])))
    near = lambda text: text[max(0, at - 60) : at + 60]
    return (
        f"{'ripgrep' if case.peer == 'r' else 'GNU grep'} {case.settings} {args} files of {sizes} bytes{', piped' if case.piped else ''}\n"
        f"  ours:   exit {ours[1]}, {len(ours[0])} bytes, at {at}: {near(ours[0])!r} {ours[2][:200]!r}\n"
        f"  theirs: exit {theirs[1]}, {len(theirs[0])} bytes, at {at}: {near(theirs[0])!r} {theirs[2][:200]!r}"
    )


if __name__ == "__main__":
    sys.exit(main())
