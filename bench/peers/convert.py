#!/usr/bin/env python3
"""convert.py ENGINE IN OUT: JSON to Parquet (zstd) as ENGINE does it best; the benchmark's peers.

duckdb          defaults            duckdb-unordered  order not kept, memory_limit 1 GB
duckdb-256      memory_limit 256 MB duckdb-256-unordered  the same, order not kept, one thread
chdb            ClickHouse local    chdb-256          max_memory_usage 256 MB
polars          scan_ndjson, sink   pyarrow           read_json, write
"""

import sys

OBJECT_BYTES_MAX = 64 << 20


def duckdb(source, target, settings=(), kind="auto"):
    import duckdb

    connection = duckdb.connect()
    for setting in settings:
        connection.execute(f"SET {setting}")
    rows = f"read_json('{source}', maximum_object_size={OBJECT_BYTES_MAX}, format='{kind}')"
    connection.execute(f"COPY (SELECT * FROM {rows}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")


def chdb(source, target, settings=""):
    import chdb

    form = "JSONEachRow"
    query = f"SELECT * FROM file('{source}', '{form}') INTO OUTFILE '{target}' TRUNCATE FORMAT Parquet"
    base = "output_format_parquet_compression_method='zstd'"
    chdb.query(f"{query} SETTINGS {base}{settings}")


def polars(source, target):
    import polars

    polars.scan_ndjson(source, infer_schema_length=10_000).sink_parquet(target, compression="zstd")


def pyarrow(source, target):
    import pyarrow.json
    import pyarrow.parquet

    table = pyarrow.json.read_json(source, read_options=pyarrow.json.ReadOptions(block_size=64 << 20))
    pyarrow.parquet.write_table(table, target, compression="zstd")


ENGINES = {
    "duckdb": duckdb,
    "duckdb-unordered": lambda *files: duckdb(*files, ["memory_limit='1GB'", "preserve_insertion_order=false"]),
    "duckdb-256": lambda *files: duckdb(*files, ["memory_limit='256MB'"]),
    "duckdb-256-unordered": lambda *files: duckdb(
        *files, ["memory_limit='256MB'", "preserve_insertion_order=false", "threads=1"]
    ),
    "chdb": chdb,
    "chdb-256": lambda *files: chdb(*files, ", max_memory_usage=268435456"),
    "polars": polars,
    "pyarrow": pyarrow,
}

if __name__ == "__main__":
    engine, source, target = sys.argv[1:]
    ENGINES[engine](source, target)
