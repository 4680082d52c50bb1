"""Searching: counted and printed, from a rare literal to a pattern without any; lines of NULs."""

from dataclasses import dataclass
from functools import partial

from .count import MEMORY_LIMIT, READ_BYTES, floor
from .jobs import Contender, Goal, Job

TIMES_ALL = 1.6
TIMES_ONE_THREAD = 0.9
RG = ("rg", "rg --no-mmap")
# Below this share of the file the pipe is not what holds anyone up.
PIPE_MATTERS = 0.2
BEHIND_MEMORY = "64MiB"


@dataclass(frozen=True)
class Pattern:
    name: str
    words: str
    # As Rust's regex, ripgrep and Python have it; empty for a literal.
    regex: str = ""
    # The same for `grep -E`.
    extended: str = ""
    literal: str = ""

    @property
    def text(self):
        return self.literal or self.regex


PATTERNS = [
    Pattern("rare", "a rare literal", literal="zq7needle"),
    Pattern("404", "' 404 '", literal=" 404 "),
    Pattern("200", "' 200 ', which most lines have", literal=" 200 "),
    Pattern("anchored", "an anchored regex", r'^66\.249\.[0-9.]+ .*" 404 ', r'^66\.249\.[0-9.]+ .*" 404 '),
    Pattern("classes", "alternation and classes", r'"GET [^"]*\.php[^"]*" (4|5)\d\d ', r'"GET [^"]*\.php[^"]*" (4|5)[0-9][0-9] '),
    Pattern("no-literal", "a regex without a literal", r"\d{3} \d{6,}", r"[0-9]{3} [0-9]{6,}"),
]
ALL = Pattern("all", "''")
NUL_PATTERNS = [ALL, Pattern("404", "' 404 '", literal=" 404 ")]
BEHIND = "zq9behind"


def jobs():
    """By name; each pattern once counted and once printed."""
    named = {}
    for pattern in PATTERNS:
        named[f"grep-{pattern.name}-count"] = partial(count, pattern=pattern)
        named[f"grep-{pattern.name}-print"] = partial(printed, pattern=pattern)
    for pattern in NUL_PATTERNS:
        named[f"grep-nul-{pattern.name}"] = partial(nul, pattern=pattern)
    named["grep-rotated"] = rotated
    return named | {"grep-behind-sparse": behind_hole, "grep-behind-pipe": behind_pipe}


def count(setting, pattern):
    log = setting.data.log("access.log")
    truth = setting.data.matches("access.log", pattern.text)
    check = expect(truth["lines"])
    rows = [Contender(name, role, [[*argv, log.path]], check) for name, role, argv in searchers(setting, pattern, ["-c"])]
    title = f"grep -c {pattern.words} ({truth['lines']:,} lines)"
    rows.append(floor("read only, 2 threads", 2, log, setting.programs))
    return Job(f"grep-{pattern.name}-count", title, log.bytes, rows, [log.path], goals=goals())


def rotated(setting):
    """The same log in 8 compressed files: lines that match, all of them counted."""
    pattern = next(pattern for pattern in PATTERNS if pattern.name == "404")
    files, log = setting.data.rotated("access.log", 8)
    paths = [str(path) for path in files]
    lines = setting.data.matches("access.log", pattern.text)["lines"]
    ours = [setting.programs.rorqual, "grep", "-h", pattern.text]
    lines_of = [[setting.programs.rorqual, "count", "-l"]]
    contenders = [
        Contender("rorqual grep -h", "ours", [[*ours, *paths], *lines_of], expect(lines)),
        Contender("rorqual grep -h --threads 1", "ours", [[*ours, "--threads", "1", *paths], *lines_of], expect(lines)),
        Contender("rg -z --no-filename", "peer", [["rg", "-z", "--no-filename", pattern.text, *paths], *lines_of], expect(lines)),
        Contender("zgrep -h", "peer", [["zgrep", "-h", pattern.text, *paths], *lines_of], expect(lines)),
        Contender("gzip -dc of as many at a time as there are cores, nothing else", "floor", [side_by_side(paths)]),
    ]
    title = f"grep {pattern.words} in 8 rotated files as gzip (unpacked bytes)"
    return Job("grep-rotated", title, log.bytes, contenders, files)


def side_by_side(paths):
    """Decodes files as many at a time as there are cores."""
    return ["sh", "-c", 'printf "%s\\0" "$@" | xargs -0 -n 1 -P "$(nproc)" gzip -dc > /dev/null', "sh", *paths]


def printed(setting, pattern):
    log = setting.data.log("access.log")
    truth = setting.data.matches("access.log", pattern.text)
    check = expect(truth["bytes"], truth["lines"])
    drain = [setting.programs.drain]
    programs = searchers(setting, pattern, [])
    rows = [Contender(name, role, [[*argv, log.path], drain], check) for name, role, argv in programs]
    rows.append(floor("read only, 2 threads", 2, log, setting.programs))
    if truth["bytes"] > log.bytes * PIPE_MATTERS:
        rows.append(same_bytes(log, truth["bytes"], drain))
    title = f"grep {pattern.words}, printed to a pipe ({truth['bytes'] / 1e6:,.0f} MB)"
    verify = partial(same_text, setting, [*programs[0][2], log.path], truth)
    return Job(f"grep-{pattern.name}-print", title, log.bytes, rows, [log.path], verify, goals())


def nul(setting, pattern):
    log = setting.data.log("nul.log")
    lines = setting.data.matches("nul.log", pattern.text)["lines"]
    check = expect(lines)
    more = [["rg", "-a"], ["rg", "-a", "--no-mmap"], ["grep", "-a"]]
    programs = searchers(setting, pattern, ["-c"])
    programs += [(" ".join(argv), "peer", [*argv, "-c", pattern.text]) for argv in more]
    rows = [Contender(name, role, [[*argv, log.path]], check) for name, role, argv in programs]
    rows.append(floor("read only, 2 threads", 2, log, setting.programs))
    title = f"grep -c {pattern.words}, a line of 512 MiB of NULs ({lines:,})"
    return Job(f"grep-nul-{pattern.name}", title, log.bytes, rows, [log.path])


def behind_hole(setting):
    log = setting.data.log("behind.log")
    rows = [
        Contender(name, role, [[*argv, BEHIND, log.path]], expect(1), once=role == "peer")
        for name, role, argv in behind_searchers(setting)
    ]
    # Mapped, it asks for 20 GiB of addresses, of which it may take as much memory as the system has.
    rows.append(Contender("rg -a (no cap)", "peer", [["rg", "-a", "-c", BEHIND, log.path]], expect(1), once=True))
    title = "grep -c, one match behind 20 GiB of NULs: a hole"
    return Job("grep-behind-sparse", title, log.bytes, rows, goals=[Goal("rorqual grep", peak_mib=64)])


def behind_pipe(setting):
    log = setting.data.log("behind.log")
    kind, *sizes = setting.data.recipe("behind.log")
    gen = [setting.programs.gen, kind, "-", *map(str, sizes)]
    rows = [
        Contender(name, role, [gen, argv + [BEHIND]], expect(1), once=role == "peer")
        for name, role, argv in behind_searchers(setting)
    ]
    rows.append(Contender("the pipe alone", "floor", [gen, [setting.programs.drain]], expect(log.bytes, log.lines)))
    title = "grep -c, the same 20 GiB from a pipe"
    return Job("grep-behind-pipe", title, log.bytes, rows, goals=[Goal("rorqual grep", peak_mib=64)])


def searchers(setting, pattern, flags):
    """Name, role and arguments up to the file."""
    ours = [setting.programs.rorqual, "grep", *flags]
    found = [
        ("rorqual grep", "ours", [*ours, pattern.text]),
        ("rorqual grep --threads 1", "ours", [*ours, "--threads", "1", pattern.text]),
        ("rg", "peer", ["rg", *flags, pattern.text]),
        ("rg --no-mmap", "peer", ["rg", "--no-mmap", *flags, pattern.text]),
    ]
    if not pattern.regex:
        return [*found, ("grep", "peer", ["grep", *flags, pattern.text])]
    # In the C locale, where its classes are fastest; -P is another engine.
    return [
        *found,
        ("grep -E", "peer", ["env", "LC_ALL=C", "grep", "-E", *flags, pattern.extended]),
        ("grep -P", "peer", ["env", "LC_ALL=C", "grep", "-P", *flags, pattern.regex]),
    ]


def behind_searchers(setting):
    """The peers hold a whole line, and in 8 GiB they cannot."""
    ours = [setting.programs.rorqual, "grep", "-c", "--memory", BEHIND_MEMORY]
    return [
        ("rorqual grep", "ours", ours),
        ("grep -a (8 GiB)", "peer", [*MEMORY_LIMIT, "grep", "-a", "-c"]),
        ("rg -a --no-mmap (8 GiB)", "peer", [*MEMORY_LIMIT, "rg", "-a", "--no-mmap", "-c"]),
        ("rg (8 GiB)", "peer", [*MEMORY_LIMIT, "rg", "-c"]),
    ]


def goals():
    return [Goal("rorqual grep", TIMES_ALL, RG), Goal("rorqual grep --threads 1", TIMES_ONE_THREAD, RG)]


def same_bytes(log, count_bytes, drain):
    """What a pipe costs for as many bytes as are printed, with nothing searched."""
    argv = ["dd", f"if={log.path}", f"bs={READ_BYTES}", f"count={count_bytes}", "iflag=count_bytes", "status=none"]
    return Contender("as many bytes, piped", "floor", [argv, drain], expect(count_bytes))


def expect(*numbers):
    """Checks that the answer starts with these numbers."""

    def check(stdout):
        said = stdout.decode("ascii", "replace").split()
        if said[: len(numbers)] == [str(number) for number in numbers]:
            return ""
        shown = " ".join(f"{int(word):,}" if word.isdigit() else word for word in said[:8])
        return f"wrong: {shown}" if said else "no answer"

    return check


def same_text(setting, argv, truth):
    """Which lines were printed, and in which order; the runs themselves only count them."""
    digest, _ = setting.data.digest_of_output(argv)
    if digest == truth["sha256"]:
        return ["what is printed is what Python's re finds, byte for byte"], True
    return ["what is printed is not what Python's re finds"], False
