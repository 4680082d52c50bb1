"""Apache's Arrow IPC files and streams, of many versions, of other machines, and what fuzzers found in Arrow and Parquet."""

from pathlib import Path
from typing import Iterator

from _columns import compare
from suites import Programs, Suite, Verdict

FOLDERS = ("arrow-ipc-file", "arrow-ipc-stream", "forward-compatibility", "parquet")
# What is no file of columns.
OTHERS = (".json", ".gz", ".md", ".txt", ".sh")

OLD = "a stream from before Arrow 0.15 begins without a mark, and is not told from other bytes"
BIG = "big-endian numbers are refused by name; pyarrow turns them"
UNION = "unions are refused by name; pyarrow reads them"
INTEGRATION = "data/arrow-ipc-stream/integration/"
OLD_STREAMS = ("datetime", "decimal", "dictionary", "interval", "map", "nested", "primitive", "primitive_no_batches", "primitive_zerolength")

REASONS = {
    INTEGRATION + "1.0.0-bigendian/*": BIG,
    INTEGRATION + "0.17.1/generated_union.*": UNION,
    INTEGRATION + "1.0.0-littleendian/generated_union.*": UNION,
    INTEGRATION + "cpp-21.0.0/generated_union.*": UNION,
    **{f"{INTEGRATION}0.14.1/generated_{name}.stream": OLD for name in OLD_STREAMS},
}


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
