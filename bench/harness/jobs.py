"""What is measured: a job is a file and the contenders that do the same work on it."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .data import Data
from .measure import Runner

# Who does not answer in this time is stopped, and it is said so.
TIMEOUT_SECONDS = 60


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

    def missing(self):
        """The programs that are not here; the contender is skipped, with a word."""
        return [str(stage[0]) for stage in self.stages if shutil.which(stage[0]) is None]


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


@dataclass
class Programs:
    """Where ours are."""

    rorqual: Path
    floor: Path
    sink: Path


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

    def takes_part(self, contender):
        return self.goaccess or contender.stages[0][0] != "goaccess"


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
