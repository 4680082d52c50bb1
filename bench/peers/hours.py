#!/usr/bin/env python3
"""hours.py ENGINE LOG: requests by hour and status of an access log, as CSV: hour,status,n."""

import sys

DUCKDB_LINES = """read_csv('{}', columns={{'line': 'VARCHAR'}}, delim='\\x01', quote='', escape='', header=false,
    strict_mode=false, max_line_size=1000000)"""
# After the time: what is between `[` and the hour's end; after the request: behind its closing quote.
DUCKDB_SPLIT = """SELECT substr(split_part(line, '[', 2), 1, 14) AS hour,
    substr(split_part(line, '" ', 2), 1, 3) AS status, count(*) AS n FROM {} GROUP BY ALL"""
DUCKDB_REGEX = """SELECT regexp_extract(line, '\\[([^:]+:[0-9]+)', 1) AS hour,
    regexp_extract(line, '" ([0-9][0-9][0-9]) ', 1) AS status, count(*) AS n FROM {} GROUP BY ALL"""
BY_TIME = "SELECT strptime(hour, '%d/%b/%Y:%H') AS hour, status, n FROM ({}) WHERE status <> '' ORDER BY 1, 2"


def duckdb(path, inner):
    import duckdb

    query = BY_TIME.format(inner.format(DUCKDB_LINES.format(path)))
    show(duckdb.sql(query).fetchall())


def chdb(path):
    import chdb

    query = f"""SELECT parseDateTime(concat(h, ':00:00'), '%d/%b/%Y:%H:%i:%s') AS hour, status, n FROM (
        SELECT substring(line, position(line, '[') + 1, 14) AS h,
               substring(line, position(line, '" ') + 2, 3) AS status, count() AS n
        FROM file('{path}', 'LineAsString') GROUP BY h, status) ORDER BY hour, status"""
    print("hour,status,n")
    print(str(chdb.query(query, "CSV")), end="")


def polars(path):
    import polars as pl

    lines = pl.scan_csv(path, has_header=False, new_columns=["line"], separator="\x01", quote_char=None)
    hour = pl.col("line").str.extract(r"\[([^:]+:\d+)", 1).alias("hour")
    status = pl.col("line").str.extract(r'" (\d\d\d) ', 1).alias("status")
    counted = lines.select(hour, status).group_by("hour", "status").len().collect(engine="streaming")
    counted = counted.with_columns((pl.col("hour") + ":00").str.to_datetime("%d/%b/%Y:%H:%M")).sort("hour", "status")
    show(counted.rows())


def show(rows):
    print("hour,status,n")
    for hour, status, count in rows:
        print(f"{hour},{status},{count}")


if __name__ == "__main__":
    engine, log = sys.argv[1:]
    {
        "duckdb-split": lambda: duckdb(log, DUCKDB_SPLIT),
        "duckdb-regex": lambda: duckdb(log, DUCKDB_REGEX),
        "chdb": lambda: chdb(log),
        "polars": lambda: polars(log),
    }[engine]()
