"""Apache's Parquet files: sound ones, broken ones, encrypted ones."""

from pathlib import Path
from typing import Iterator

from _columns import compare
from suites import Programs, Suite, Verdict

REASONS = {
    "data/dict-page-offset-zero.parquet": "the library refuses a list whose elements are of another type than the specification says",
}


def run(folder: Path, programs: Programs) -> Iterator[Verdict]:
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet" or path.name.endswith(".parquet.encrypted"):
            yield compare(str(path.relative_to(folder)), path, programs)


SUITE = Suite(
    name="parquet-testing",
    get="git clone --depth 1 https://github.com/apache/parquet-testing FOLDER/parquet-testing",
    run=run,
    reasons=REASONS,
)
