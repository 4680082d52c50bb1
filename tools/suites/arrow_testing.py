"""Apache's Arrow IPC files and streams, of many versions, of other machines, and what fuzzers found in Arrow and Parquet."""

from pathlib import Path
from typing import Iterator

from _columns import compare
from suites import Programs, Suite, Verdict

FOLDERS = ("arrow-ipc-file", "arrow-ipc-stream", "forward-compatibility", "parquet")
# What is no file of columns.
OTHERS = (".json", ".gz", ".md", ".txt", ".sh")

REASONS = {}


def run(folder: Path, programs: Programs) -> Iterator[Verdict]:
    for below in FOLDERS:
        for path in sorted((folder / "data" / below).rglob("*")):
            if path.is_file() and path.suffix not in OTHERS:
                yield compare(str(path.relative_to(folder)), path, programs)


SUITE = Suite(
    name="arrow-testing",
    get="git clone --depth 1 https://github.com/apache/arrow-testing FOLDER/arrow-testing",
    run=run,
    reasons=REASONS,
)
