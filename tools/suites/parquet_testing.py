"""Apache's Parquet files: sound ones, broken ones, encrypted ones."""

from pathlib import Path
from typing import Iterator

from _columns import compare_all
from suites import Programs, Suite, Verdict

FOLDERS = ("bad_data", "data", "shredded_variant")

REASONS = {
    "data/int96_from_spark.parquet": "a moment of the year 290000 is what Spark wrote; pyarrow's microseconds go round to -225829",
    "data/nation.dict-malformed.parquet": "malformed on purpose, and refused; pyarrow reads what it can",
    "data/repeated_no_annotation.parquet": "its footer says 0 rows, and its row group 6: refused, as either may be right",
    "data/dict-page-offset-zero.parquet": "the library refuses a list whose elements are of another type than the specification says",
}


def run(folder: Path, programs: Programs) -> Iterator[Verdict]:
    return compare_all(folder, programs, FOLDERS, lambda path: path.suffix == ".parquet" or path.name.endswith(".parquet.encrypted"))


SUITE = Suite(
    name="parquet-testing",
    get="git clone --depth 1 https://github.com/apache/parquet-testing FOLDER/parquet-testing",
    run=run,
    reasons=REASONS,
)
