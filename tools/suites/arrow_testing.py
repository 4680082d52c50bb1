"""Apache's Arrow IPC files and streams, of many versions, of other machines, and what fuzzers found in Arrow and Parquet."""

from pathlib import Path
from typing import Iterator

from _columns import compare_all
from suites import Programs, Suite, Verdict

FOLDERS = ("data/arrow-ipc-file", "data/arrow-ipc-stream", "data/forward-compatibility", "data/parquet")
# What is no file of columns.
OTHERS = (".json", ".gz", ".md", ".txt", ".sh")

OLD = "a stream from before Arrow 0.15 begins without a mark, and is not told from other bytes"
BIG = "big-endian numbers are refused by name; pyarrow turns them"
UNION = "unions are refused by name; pyarrow reads them"
INTEGRATION = "data/arrow-ipc-stream/integration/"
DAY_END = "a time of 24:00:00, which is no time of a day, has no text, and is refused"
BROKEN = "made by a fuzzer: the file contradicts itself and is refused; pyarrow reads what it can"
FUZZED = "data/parquet/fuzzing/clusterfuzz-testcase-minimized-parquet-arrow-fuzz-"
OLD_STREAMS = ("datetime", "decimal", "dictionary", "interval", "map", "nested", "primitive", "primitive_no_batches", "primitive_zerolength")

REASONS = {
    INTEGRATION + "1.0.0-bigendian/*": BIG,
    INTEGRATION + "0.17.1/generated_union.*": UNION,
    INTEGRATION + "1.0.0-littleendian/generated_union.*": UNION,
    INTEGRATION + "cpp-21.0.0/generated_union.*": UNION,
    INTEGRATION + "1.0.0-littleendian/generated_datetime.*": DAY_END,
    "data/arrow-ipc-stream/clusterfuzz-testcase-minimized-arrow-ipc-stream-fuzz-5718685113384960": BROKEN,
    FUZZED + "5068991573000192": BROKEN,
    FUZZED + "5382863341289472": BROKEN,
    FUZZED + "5697144926502912.fuzz": "encrypted Parquet is refused by name, also where its footer can be read and says no rows",
    "data/parquet/ARROW-17100.parquet": "its pages are compressed and say that they are not, as writers before 2021 did: refused",
    **{f"{INTEGRATION}0.14.1/generated_{name}.stream": OLD for name in OLD_STREAMS},
}


def run(folder: Path, programs: Programs) -> Iterator[Verdict]:
    return compare_all(folder, programs, FOLDERS, lambda path: path.suffix not in OTHERS)


SUITE = Suite(
    name="arrow-testing",
    get="git clone --depth 1 https://github.com/apache/arrow-testing FOLDER/arrow-testing",
    run=run,
    reasons=REASONS,
)
