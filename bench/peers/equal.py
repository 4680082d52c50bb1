#!/usr/bin/env python3
"""equal.py NDJSON PARQUET: whether every row of the Parquet file says what its line says, read back by pyarrow and by DuckDB.

Times are texts again, and what is null or absent is the same: a column has no other way to say it."""

import datetime
import json
import sys

import duckdb
import pyarrow.parquet


def plain(value):
    """Without nulls, with times as JSON has them."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return value


def from_pyarrow(path):
    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(10_000):
        yield from batch.to_pylist()


def from_duckdb(path):
    connection = duckdb.connect()
    connection.execute("SET TimeZone='UTC'; SET preserve_insertion_order=true")
    result = connection.execute("SELECT * FROM read_parquet(?)", [path])
    names = [column[0] for column in result.description]
    while rows := result.fetchmany(10_000):
        yield from (dict(zip(names, row)) for row in rows)


def main():
    source, path = sys.argv[1:]
    for name, rows in {"pyarrow": from_pyarrow(path), "DuckDB": from_duckdb(path)}.items():
        count = 0
        with open(source, "rb") as lines:
            for line in lines:
                row, expected = plain(next(rows, None)), plain(json.loads(line))
                if row != expected:
                    print(f"row {count} by {name} differs: {row} is not {expected}"[:2000])
                    return 1
                count += 1
        if next(rows, None) is not None:
            print(f"{name}: more rows than lines")
            return 1
        print(f"{count} rows are equal, read by {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
