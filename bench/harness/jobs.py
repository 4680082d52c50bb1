"""What is measured: a job is a file and the contenders that do the same work on it."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from .data import Data
from .measure import Runner

# Who does not answer in this time is stopped, and it is said so.
TIMEOUT_SECONDS = 60

# Uploads at once, bytes per second and seconds of each, viewers.
MANY = (1000, 200_000, 30, 50)


@dataclass
class Contender:
    name: str
    # "ours", "peer" or "floor"
    role: str
    # One argument list a program, joined by pipes.
    stages: list[list[str]]
    # Given stdout, says what is wrong with the answer, "" for nothing.
    check: Callable[[bytes], str] = lambda stdout: ""
    timeout_seconds: float = TIMEOUT_SECONDS
    # For those that take more than a minute: one run instead of a median.
    once: bool = False
    # Run before each turn, unmeasured: what an earlier one has left is gone.
    before: Callable[[], None] = lambda: None
    # How much of the work it does, where all of it would be too much for it.
    share: float = 1
    # For those that say how fast they were themselves, given stdout.
    bytes_per_second: Callable[[bytes], float] | None = None
    # Programs beside those of the stages, such as a server that is asked.
    needs: tuple[str, ...] = ()

    def missing(self):
        """The programs that are not here; the contender is skipped, with a word."""
        programs = [*map(program_of, self.stages), *self.needs]
        return [program for program in programs if shutil.which(program) is None]


@dataclass
class Goal:
    """What this row of ours is asked to reach: so many times the fastest of `beside`, in so much memory."""

    ours: str
    times: float = 0
    beside: tuple[str, ...] = ()
    peak_mib: int = 0


@dataclass
class Job:
    name: str
    title: str
    # What the rate is of: the plain bytes that are looked at.
    bytes: int
    contenders: list[Contender]
    files: list[Path] = field(default_factory=list)
    # Run once after the measurement; returns lines of text and whether all is well.
    verify: Callable[[], tuple[list[str], bool]] | None = None
    goals: list[Goal] = field(default_factory=list)
    # What has to run meanwhile: a server.
    around: AbstractContextManager = field(default_factory=nullcontext)


@dataclass
class Programs:
    """Where ours are."""

    rorqual: Path
    floor: Path
    sink: Path
    drain: Path
    gen: Path
    doom: Path
    many: Path


@dataclass
class Setting:
    """What every job is made from and run with."""

    data: Data
    # Reports are kept here, to be compared after the runs.
    out: Path
    programs: Programs
    runner: Runner
    rounds: int
    # False leaves GoAccess out, which takes minutes.
    goaccess: bool
    # Of the explorer's logs, for trying its jobs.
    scale: float = 1
    # Of many-uploads: how many, bytes per second and seconds of each, viewers.
    many: tuple[int, int, int, int] = MANY
    # The page's folder, whose tests drive it.
    web: Path = Path("web")

    def takes_part(self, contender):
        return self.goaccess or contender.stages[0][0] != "goaccess"


def program_of(argv):
    """Behind what only prepares the way for it."""
    words = iter(map(str, argv))
    for word in words:
        if word not in ("env", "prlimit") and "=" not in word:
            return word
    return str(argv[0])


def expect_number(number):
    """Checks the first word of the answer: `wc`, `grep -c` and `floor` all say the number first."""

    def check(stdout):
        words = stdout.split()
        if not words:
            return "no answer"
        said = words[0].decode("ascii", "replace")
        if said == str(number):
            return ""
        return f"wrong: {int(said):,}" if said.isdigit() else f"wrong: {said}"

    return check
