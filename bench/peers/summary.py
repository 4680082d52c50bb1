#!/usr/bin/env python3
"""summary.py FILE MEMORY: prints the number of rows of a file of JSON lines, after DuckDB's SUMMARIZE of its columns."""

import sys

import duckdb

OBJECT_BYTES_MAX = 64 << 20

source, memory = sys.argv[1:]
connection = duckdb.connect()
connection.execute(f"SET memory_limit='{memory}'")
rows = f"read_json('{source}', maximum_object_size={OBJECT_BYTES_MAX}, format='newline_delimited')"
columns = connection.execute(f"SUMMARIZE SELECT * FROM {rows}").fetchall()
names = [column[0] for column in connection.description]
print(columns[0][names.index("count")], len(columns))
