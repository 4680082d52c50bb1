#!/usr/bin/env python3
"""Compares `rorqual grep` with GNU grep and ripgrep on random cases: tools/differential.py [--cases 5000] [--seed N] [--program PATH]

A case is a pattern, flags and inputs, all made from its own seed. A peer that knows the flags is run in the same folder, and output and
exit code are compared. A difference is printed with the seed that makes it again (--seed N --cases 1), unless EXPLAINED has its reason: a
rule there changes the case, or both outputs, so that nothing but the explained part is taken away, and compares again.
Exit code 0: nothing unexplained.
"""

import argparse
import copy
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

# A block of the program; --line-max takes less, so that most cases have lines that are not held whole.
BLOCK = 256 << 10
# GNU grep reads a pipe in pieces of this size, and a file in larger ones.
GNU_BUFFER = 32 << 10
WIDE = 300_000

ATOMS = [b"a", b"b", b"ab", b"[ab]", b"[^a]", b".", b"0", b" ", b"_", b"x", b"[0-9]", b"foo", b"\\.", b"(a|b)", b"(ab|a)", b"(foo|bar)"]
# Parts of patterns that match over the end of a line (-U).
OVER_LINES = [b"\\n", b"\\n", b"\\s", b"(?s:.)", b"(\\n|a)", b"$\\n^", b"(?s:.{0,9}?)"]
REPEATS = [b"", b"", b"", b"*", b"+", b"?", b"{2}", b"{1,2}"]
PIECES = [b"a", b"b", b"ab", b" ", b"\n", b"\n", b"\n", b"0", b"_", b".", b"foo", b"bar", b"foo bar", b"x", b"A", b"-", b"/"]
ODD = [b"\0", b"\r\n", b"\r", b"\x7f", b"\xff", b"\xc3\x28", "é".encode(), "Straße".encode(), b"\xf0\x9f"]

# Each flag with the peers that have it, and how likely it is.
FLAGS = [
    (["-v"], "gr", 5), (["-i"], "gr", 5), (["-x"], "gr", 6), (["-w"], "gr", 6), (["-n"], "gr", 3), (["-b"], "gr", 5), (["-c"], "gr", 8), (["-l"], "gr", 14),
    (["-L"], "g", 14), (["-q"], "gr", 16), (["-m", "1"], "gr", 12), (["-m", "3"], "gr", 12), (["-A", "1"], "gr", 9), (["-B", "2"], "gr", 9), (["-C", "1"], "gr", 9),
    (["-A0"], "g", 30), (["-2"], "g", 20), (["-o"], "gr", 6), (["-H"], "gr", 6), (["-h"], "g", 12), (["-z"], "g", 10), (["-Z"], "g", 12), (["-s"], "g", 20), (["-I"], "g", 20),
    (["-U"], "r", 3), (["-U", "-z"], "r", 10), (["--multiline-dotall"], "r", 12), (["-T"], "g", 12), (["-m", "0"], "g", 30), (["-m", "-1"], "g", 30),
    (["--crlf"], "r", 12), (["--column"], "r", 12), (["-H", "-h"], "g", 40), (["-i", "--no-ignore-case"], "g", 40), (["-l", "-L"], "g", 40),
]


# Flags that GNU grep has.
OF_GNU = {flag for flags, peers, _ in FLAGS if "g" in peers for flag in flags}

# Flags that go with a value of their own.
VALUED = ("-m", "-A", "-B", "-C")
CONTEXT = ("-A", "-B", "-C", "-A0", "-2")

# ripgrep's name for a flag of GNU grep, where it is another one.
OF_RIPGREP = {"-h": ["--no-filename"], "-s": ["--no-messages"], "-Z": ["--null"], "-z": ["--null-data"], "-L": ["--files-without-match"],
              "-2": ["-C2"], "--no-ignore-case": ["--case-sensitive"], "-I": []}

# The least version of ripgrep that is compared with.
RIPGREP_MIN = 14


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
        self.names = [f"f{index}" for index in range(len(self.files))]
        if self.missing:
            self.names.insert(r.randrange(len(self.names) + 1), "missing")

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
        if ["-U", "-z"] in chosen:
            # ripgrep takes the last of -z and --crlf, and ends a count, a name and the -- between groups with a NUL.
            chosen = [flags for flags in chosen if flags not in (["--crlf"], ["-c"], ["-l"]) and flags[0] not in CONTEXT]
        if self.peer == "r" and ["-c"] in chosen:
            # ripgrep counts matches with -o, and prints counts instead of names with -l.
            chosen = [flags for flags in chosen if flags[0] not in ("-o", "-l")]
        if self.peer == "r" and ["-x"] in chosen:
            # ripgrep takes the last of -x and -w.
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
        if "-U" in self.flags and r.random() < 0.6:
            for _ in range(r.randrange(1, 3)):
                pattern += r.choice(OVER_LINES) + r.choice(REPEATS) + r.choice(ATOMS) + r.choice(REPEATS)
        pattern += r.choice([b"", b"", b"$"])
        if r.random() < 0.1:
            pattern = pattern + b"|" + r.choice(ATOMS)
        return pattern

    def args(self, flags):
        """The arguments that all programs are given."""
        args = flags + (["-F"] if self.fixed else [])
        if self.in_file:
            args += ["-f", "patterns"]
        else:
            for pattern in self.patterns:
                args += ["-e", os.fsdecode(pattern)]
        return args + ([] if self.piped else self.names)

    def peer_command(self):
        if self.peer == "r":
            flags = [name for flag in self.flags for name in OF_RIPGREP.get(flag, [flag])]
            return ["rg", "--no-config", "--no-heading", "--color=never", "-a", "-j1", "--sort=path", *self.args(flags)]
        return ["grep", *([] if "-I" in self.flags else ["-a"]), *([] if self.fixed else ["-E"]), *self.args(list(self.flags))]

    def has(self, *flags):
        return any(flag in self.flags for flag in flags)

    def may_be_empty(self):
        """Whether a pattern matches where there is nothing."""
        return any(pattern == b"" if self.fixed else matches_nothing(pattern) for pattern in self.patterns)


def matches_nothing(pattern):
    """Whether a pattern matches where there is nothing; of one that Python has no syntax for, that it may."""
    try:
        return re.fullmatch(pattern, b"") is not None
    except re.error:
        return True


class Answers:
    """A case and both answers to it; `why` has the reasons that were taken away so far."""

    def __init__(self, case, program):
        self.case, self.program, self.why = copy.copy(case), program, []
        self.ask()

    def ask(self):
        case = self.case
        with tempfile.TemporaryDirectory() as folder:
            for index, text in enumerate(case.files):
                Path(folder, f"f{index}").write_bytes(text)
            Path(folder, "patterns").write_bytes(b"".join(pattern + b"\n" for pattern in case.patterns))
            feed = case.files[0] if case.piped else None
            self.ours = run([self.program, "grep", *case.settings, *case.args(list(case.flags))], folder, feed)
            theirs = run(case.peer_command(), folder, feed)
        self.theirs = (theirs[0].replace(b"<stdin>", b"(standard input)"), *theirs[1:])

    def are_equal(self):
        return self.ours[:2] == self.theirs[:2]

    def without(self, rule):
        """The answers once a rule's reason is taken away; None where it is not one here."""
        if not rule.holds(self):
            return None
        changed = copy.copy(self)
        changed.case, changed.why = copy.copy(self.case), [*self.why, rule.why]
        rule.change(changed)
        return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1, help="the first case's; each has the next")
    parser.add_argument("--program", type=Path, default=Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target")) / "debug/rorqual")
    args = parser.parse_args()
    lacking = missing(args.program)
    if lacking:
        print(f"differential: not there: {', '.join(lacking)}")
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


def missing(program):
    """The programs that are not there, each with how to get it."""
    said = subprocess.run(["rg", "--version"], capture_output=True, text=True).stdout if shutil.which("rg") else ""
    version = re.match(r"ripgrep (\d+)", said)
    there = {
        f"{program} (cargo build --bin rorqual)": shutil.which(str(program)),
        "grep (Debian's package grep)": shutil.which("grep"),
        f"ripgrep {RIPGREP_MIN} or later as rg (cargo install ripgrep --locked)": version and int(version[1]) >= RIPGREP_MIN,
    }
    return [name for name, found in there.items() if not found]


def one(seed, program):
    """Runs a case; why it differs, or else how."""
    answers = Answers(Case(seed), program)
    if answers.are_equal():
        return seed, None, None
    why = explanation(answers)
    return seed, why, why or describe(answers)


def explanation(answers):
    """The fewest reasons without which the answers are equal, as a text."""
    for count in range(1, REASONS_MAX + 1):
        found = without(answers, EXPLAINED, count)
        if found:
            return "; and ".join(found.why)
    return None


def without(answers, rules, count):
    """The answers once `count` of the rules, in their order, are taken away, if they are equal then."""
    if not count:
        return answers if answers.are_equal() else None
    for place, rule in enumerate(rules):
        left = answers.without(rule)
        found = left and without(left, rules[place + 1 :], count - 1)
        if found:
            return found
    return None


NO_END = "no end within 3 minutes"


def run(command, folder, feed):
    given = {"stdin": subprocess.DEVNULL} if feed is None else {"input": feed}
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    try:
        ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=180, **given)
    except subprocess.TimeoutExpired:
        return b"", NO_END, b""
    return ran.stdout, ran.returncode, ran.stderr


# At most so many reasons explain one case together.
REASONS_MAX = 5


class Rule:
    """A reason for different answers: where it holds, and how it is taken away."""

    def __init__(self, why, holds, change):
        self.why, self.holds, self.change = why, holds, change


def in_case(change):
    """Changes the case, and asks again."""
    def apply(answers):
        change(answers.case)
        answers.ask()
    return apply


def in_outputs(change):
    """Changes both outputs in the same way."""
    def apply(answers):
        answers.ours = (change(answers.case, answers.ours[0]), *answers.ours[1:])
        answers.theirs = (change(answers.case, answers.theirs[0]), *answers.theirs[1:])
    return apply


def drop(*dropped):
    return in_case(lambda case: drop_flags(case, dropped))


def drop_flags(case, dropped):
    """Takes flags, with their values, from the case."""
    flags = iter(case.flags)
    case.flags = []
    for flag in flags:
        taken = [flag, next(flags)] if flag in VALUED else [flag]
        case.flags += [] if flag in dropped else taken


def each_text(change):
    def apply(case):
        case.files = [change(text) for text in case.files]
    return in_case(apply)


def plain(text):
    """A text with a blank in place of each byte that is not UTF-8."""
    return text.decode("utf-8", "surrogateescape").encode("utf-8", "replace").replace(b"?", b" ")


def is_as_ripgrep(case):
    """Whether ripgrep has all flags of a case of GNU grep. It has -I only in so far as files with a NUL may be taken for empty ones."""
    return case.peer == "g" and not (case.has("-I") and has_odd(case))


def is_as_gnu(case):
    """Whether GNU grep has all flags of a case of ripgrep."""
    return all(flag in OF_GNU for flag in case.flags if flag.startswith("-"))


def has_no_limit(case):
    """Whether the last -m is negative, which is none."""
    return case.has("-m") and case.flags[len(case.flags) - case.flags[::-1].index("-m")].startswith("-")


def ask_ripgrep(case):
    """Asks ripgrep, without what it does not have and what says nothing."""
    case.peer = "r"
    drop_flags(case, ["-T", "-m"] if has_no_limit(case) else ["-T"])
    if case.has("-I"):
        case.files = [b"" if b"\0" in text else text for text in case.files]


def end_by_newlines(case):
    drop_flags(case, ["-z"])
    case.files = [text.replace(b"\n", b" ").replace(b"\0", b"\n") for text in case.files]


def without_starts(case):
    case.patterns = [re.sub(rb"(?<!\[)\^", b"", pattern) for pattern in case.patterns]


def drop_missing(case):
    case.names = [name for name in case.names if name != "missing"]


def hold_lines(case):
    longest = max(len(line) for text in case.files for line in text.split(line_end(case)))
    case.settings = [*case.settings, "--line-max", str(longest + 1)]


def without_empty(case, out):
    """Leaves out the matches that are empty, with the name and numbers before them."""
    name = rb"(f\d[:\0]|\(standard input\)[:\0])?" if case.has("-H") or len(case.names) > 1 else b""
    end = line_end(case)
    return re.sub(rb"(\A|(?<=" + end + rb"))" + name + rb"(\d+:)*" + end, b"", out)


def without_zeros(case, out):
    return b"".join(line for line in out.splitlines(True) if not re.fullmatch(rb"((f\d|\(standard input\))[:\0])?0\r?\n", line))


def as_around(case, out):
    """Writes all lines as if none were selected."""
    return re.sub(rb"(?m)^((?:f\d|\(standard input\))?)[:-]?((?:\d+[:-]){0,3})", lambda match: match[1] + re.sub(rb"[:-]", b"", match[2]), out)


def has_odd(case):
    return any(plain(text) != text for text in case.files)


def line_end(case):
    return b"\0" if case.has("-z") else b"\n"


def lacks_end(case):
    return any(text and not text.endswith(line_end(case)) for text in case.files)


def add_end(case):
    case.files = [text + line_end(case) if text and not text.endswith(line_end(case)) else text for text in case.files]


def is_cut(answers):
    """The program said of a line that it was printed in part, and the option that mends it."""
    return answers.ours[1] == 2 and re.search(rb"a larger --line-max( holds more)?\)", answers.ours[2])


# Why answers may differ. GNU grep beside ripgrep is told before ripgrep's own reasons, which may then be needed too; what changes
# the outputs comes last, as they are made anew when the case changes.
EXPLAINED = [
    Rule("the other program found no end within 3 minutes, so that there is nothing to compare with",
         lambda a: a.theirs[1] == NO_END and a.ours[1] != NO_END, lambda a: setattr(a, "theirs", a.ours)),
    Rule("GNU grep 3.8 selects no line with -v and -m -1, which is no limit by its manual",
         lambda a: a.case.peer == "g" and a.case.has("-v") and has_no_limit(a.case), drop("-m")),
    Rule("a line or match that is not held whole was printed in part, and said to be; it is right with a larger --line-max",
         is_cut, in_case(hold_lines)),
    Rule("beside bytes that are not UTF-8 no word begins or ends, as ripgrep has it; GNU grep -I takes them for a sign of binary data",
         lambda a: a.case.has("-w", "-I") and has_odd(a.case), each_text(plain)),
    Rule("with -v no match is left to print; GNU grep prints matches of lines around with -v -o",
         lambda a: a.case.peer == "g" and a.case.has("-v") and a.case.has("-o") and a.case.has(*CONTEXT), drop(*CONTEXT)),
    Rule("-I goes by NULs in the first 256 KiB; GNU grep's by all that it reads, and it prints lines before it has read the NUL",
         lambda a: a.case.peer == "g" and a.case.has("-I") and any(b"\0" in text[GNU_BUFFER:] for text in a.case.files),
         each_text(lambda text: text[:GNU_BUFFER] + text[GNU_BUFFER:].replace(b"\0", b" "))),
    Rule("of alternatives that match at one place -o prints the first, as ripgrep; GNU grep the longest",
         lambda a: is_as_ripgrep(a.case) and a.case.has("-o") and (len(a.case.patterns) > 1 or any(b"|" in pattern for pattern in a.case.patterns)), in_case(ask_ripgrep)),
    Rule("with -w a match may be empty where no word is near, as in ripgrep; GNU grep takes no empty one at a place where a longer one was no word",
         lambda a: is_as_ripgrep(a.case) and a.case.has("-w") and a.case.may_be_empty(), in_case(ask_ripgrep)),
    Rule("GNU grep opens no file where an empty pattern and -v select nothing, so that none is missing",
         lambda a: a.case.peer == "g" and a.case.has("-v") and b"" in a.case.patterns and a.theirs == (b"", 1, b""), in_case(drop_missing)),
    Rule("ripgrep's --crlf takes one carriage return of several for the end",
         lambda a: a.case.peer == "r" and a.case.has("--crlf") and any(b"\r\r" in text for text in a.case.files),
         each_text(lambda text: re.sub(rb"\r+", b"\r", text))),
    Rule("with -U and -z ripgrep's -m counts lines where the pattern can match no NUL, and else matches, as is done here for both",
         lambda a: a.case.peer == "r" and a.case.has("-U") and a.case.has("-z") and a.case.has("-m"), drop("-m")),
    Rule("ripgrep 15 finds a match that begins with an optional group only after that group; GNU grep finds all of it",
         lambda a: a.case.peer == "r" and a.case.has("-o") and any(b")?" in pattern or b")*" in pattern for pattern in a.case.patterns) and is_as_gnu(a.case),
         in_case(lambda case: setattr(case, "peer", "g"))),
    Rule("ripgrep prints the lines around matches whole with -o",
         lambda a: a.case.peer == "r" and a.case.has("-o") and a.case.has(*CONTEXT), drop(*CONTEXT)),
    Rule("ripgrep does not print an empty match at the end of a file whose last line has no end, but that line",
         lambda a: a.case.peer == "r" and a.case.has("-o", "--column") and a.case.may_be_empty() and lacks_end(a.case),
         in_case(add_end)),
    Rule("ripgrep prints a column of lines around with -v, and of those after the last one of -m",
         lambda a: a.case.peer == "r" and a.case.has("--column") and a.case.has("-v", "-m"), drop("--column")),
    Rule("with -U and -z ripgrep takes the start of the line after a match for the start of a text, where the pattern can match no NUL",
         lambda a: a.case.peer == "r" and a.case.has("-z") and (a.case.has("-x") or any(b"^" in pattern for pattern in a.case.patterns)), drop("-z")),
    Rule("after a match over lines ripgrep goes on as if a line began there, though not with -o and -c",
         lambda a: a.case.peer == "r" and a.case.has("-U") and not a.case.has("-o", "-c") and any(b"^" in pattern for pattern in a.case.patterns),
         in_case(without_starts)),
    Rule("after a match over lines ripgrep goes on as if a line began there, but not with -o, where the matches are the same",
         lambda a: a.case.peer == "r" and a.case.has("-U") and not a.case.has("-o", "-c", "-v") and any(b"^" in pattern for pattern in a.case.patterns),
         in_case(lambda case: case.flags.append("-o"))),
    Rule("with -U and -m ripgrep also counts the empty match after the end of a line, and stops too early",
         lambda a: a.case.peer == "r" and a.case.has("-U") and a.case.has("-m") and a.case.may_be_empty() and a.ours[0].startswith(a.theirs[0]),
         drop("-m")),
    Rule("with -U, -m and -o ripgrep prints the first line of a match that goes on beyond the last line of -m",
         lambda a: a.case.peer == "r" and a.case.has("-U") and a.case.has("-m") and a.case.has("-o") and a.theirs[0].startswith(a.ours[0]),
         drop("-m")),
    Rule("with -v ripgrep prints some of the lines that matches over lines touch",
         lambda a: a.case.peer == "r" and a.case.has("-U") and a.case.has("-v"), drop("-v")),
    Rule("ripgrep prints the lines before an empty match after the end of the last line, which is no line",
         lambda a: a.case.peer == "r" and a.case.has("-U") and a.case.has("-B", "-C") and a.case.may_be_empty(), drop("-B", "-C")),
    Rule("ripgrep goes by no -m where lines without a match over several lines are selected",
         lambda a: a.case.has("-U") and a.case.has("-m") and a.case.has("-v"), drop("-m")),
    Rule("where a NUL ends a line, ^ and $ of ripgrep, and of GNU grep -o, go by newlines",
         lambda a: a.case.has("-z") and (a.case.peer == "r" or a.case.has("-o")) and any(re.search(rb"[$^]", pattern) for pattern in a.case.patterns),
         in_case(end_by_newlines)),
    Rule("GNU grep 3.8 -T fills numbers up with blanks, by the size of the file",
         lambda a: a.case.peer == "g" and a.case.has("-T"), in_outputs(lambda case, out: re.sub(rb" +(?=\d+[:-])", b"", out))),
    Rule("ripgrep counts matches with -c -o", lambda a: a.case.peer == "r" and a.case.has("-c") and a.case.has("-o"), drop("-o")),
    Rule("ripgrep counts lines that match after the last one of -m, where lines around are asked for",
         lambda a: a.case.peer == "r" and a.case.has("-m") and a.case.has("-c") and a.case.has(*CONTEXT), drop(*CONTEXT)),
    Rule("with -x and -w GNU grep prints an empty match after each with -o",
         lambda a: a.case.peer == "g" and a.case.has("-x") and a.case.has("-w") and a.case.has("-o"), in_outputs(without_empty)),
    Rule("GNU grep prints no counts where an empty pattern and -v select nothing",
         lambda a: a.case.peer == "g" and a.case.has("-v") and a.case.has("-c") and a.theirs[:2] == (b"", 1), in_outputs(without_zeros)),
    Rule("ripgrep ends what it prints with CRLF where lines do",
         lambda a: a.case.peer == "r" and a.case.has("--crlf"), in_outputs(lambda case, out: re.sub(rb"\r+\n", b"\n", out))),
    Rule("ripgrep prints empty matches with -o",
         lambda a: a.case.peer == "r" and a.case.has("-o") and a.case.may_be_empty(), in_outputs(without_empty)),
    Rule("ripgrep marks lines that match after the last one of -m as selected",
         lambda a: a.case.peer == "r" and a.case.has("-m") and a.case.has(*CONTEXT), in_outputs(as_around)),
    Rule("ripgrep counts nothing of files without a selected line",
         lambda a: a.case.peer == "r" and a.case.has("-c"), in_outputs(without_zeros)),
]


def describe(answers):
    case, ours, theirs = answers.case, answers.ours, answers.theirs
    sizes = [len(text) for text in case.files]
    at = next((i for i, (a, b) in enumerate(zip(ours[0], theirs[0])) if a != b), min(len(ours[0]), len(theirs[0])))
    near = lambda text: text[max(0, at - 60) : at + 60]
    return (
        f"{'ripgrep' if case.peer == 'r' else 'GNU grep'} {case.settings} {case.args(list(case.flags))} files of {sizes} bytes{', piped' if case.piped else ''}\n"
        f"  ours:   exit {ours[1]}, {len(ours[0])} bytes, at {at}: {near(ours[0])!r} {ours[2][:200]!r}\n"
        f"  theirs: exit {theirs[1]}, {len(theirs[0])} bytes, at {at}: {near(theirs[0])!r} {theirs[2][:200]!r}"
    )


if __name__ == "__main__":
    sys.exit(main())
