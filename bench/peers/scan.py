#!/usr/bin/env python3
"""scan.py ENGINE LOG: four columns of an access log for Python. Prints the rows and the sum of the bytes sent, and then
the seconds that it took, without the start of the interpreter."""

import sys
import time

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

COLUMNS = ["time", "status", "path", "bytes"]
PATTERN = r'^\S+ \S+ \S+ \[(?<time>[^\]]+)\] "\S+ (?<path>\S+)[^"]*" (?<status>\d{3}) (?<bytes>\d+|-)'


def rorqual_polars(path):
    return told(pl.DataFrame(rorqual.scan_log(path, columns=COLUMNS)))


def rorqual_batches(path):
    rows = total = 0
    for batch in pa.RecordBatchReader.from_stream(rorqual.scan_log(path, columns=COLUMNS)):
        rows += len(batch)
        total += pc.sum(batch.column("bytes")).as_py() or 0
    return rows, total


def polars(path):
    line = pl.col("lines").str.extract_groups(PATTERN)
    columns = pl.scan_lines(path, name="lines").select(line.alias("found")).unnest("found").select(
        pl.col("time").str.to_datetime("%d/%b/%Y:%H:%M:%S %z"),
        pl.col("status").cast(pl.UInt16),
        pl.col("path"),
        pl.col("bytes").cast(pl.UInt64, strict=False),
    )
    return told(columns.collect(engine="streaming"))


def told(frame):
    return frame.height, frame["bytes"].sum()


if __name__ == "__main__":
    engine, log = sys.argv[1:]
    if engine.startswith("rorqual"):
        import rorqual
    begun = time.monotonic()
    rows, total = {"rorqual-polars": rorqual_polars, "rorqual-batches": rorqual_batches, "polars": polars}[engine](log)
    print(rows, total)
    print(time.monotonic() - begun)
