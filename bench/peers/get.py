#!/usr/bin/env python3
"""get.py FILE ID: seconds that DuckDB takes for the query alone, and the row."""

import sys
import time

import duckdb

path, wanted = sys.argv[1:]
connection = duckdb.connect()
start = time.perf_counter()
rows = connection.execute("SELECT * FROM read_parquet(?) WHERE id = ?", [path, wanted]).fetchall()
print(time.perf_counter() - start)
print(rows)
