#!/usr/bin/env python3
"""panels.py import LOG DATABASE: an access log in the combined format as a table of DuckDB; prints the seconds and the rows.
panels.py ask DATABASE: for each line of stdin, {"way", "path", "net", "bucket_seconds", "fields"}, one line with the explorer's panels by SQL, and the
seconds. Two threads, as the server has on the machine of the benchmark; a question begins when all before it are answered."""

import json
import re
import sys
import time

import duckdb

THREADS = 2
TOP = 10

# Well-formed lines only, as the generator writes them: split at spaces that are not within quotes.
IMPORT = """CREATE TABLE hits AS SELECT
    strptime(substr(column3, 2), '%d/%b/%Y:%H:%M:%S') AS time, column0 AS client,
    regexp_replace(column0, '\\.\\d+$', '.0/24') AS net, nullif(column2, '-') AS user,
    split_part(column5, ' ', 1) AS method, split_part(split_part(column5, ' ', 2), '?', 1) AS path,
    split_part(column5, ' ', 3) AS protocol, column6::USMALLINT AS status, column7::UBIGINT AS bytes,
    nullif(column8, '-') AS referrer, nullif(regexp_extract(column8, '^[A-Za-z0-9+.-]+://([^/:?#\\\\]+)', 1), '') AS site,
    nullif(column9, '-') AS agent
    FROM read_csv('{}', delim=' ', quote='"', escape='', header=false, auto_detect=false, max_line_size=1000000, columns={{
    'column0': 'VARCHAR', 'column1': 'VARCHAR', 'column2': 'VARCHAR', 'column3': 'VARCHAR', 'column4': 'VARCHAR',
    'column5': 'VARCHAR', 'column6': 'VARCHAR', 'column7': 'VARCHAR', 'column8': 'VARCHAR', 'column9': 'VARCHAR'}})"""

PANEL = """SELECT {0} AS value, count(*) AS hits, sum(bytes) AS sent, count(*) OVER () AS distinct FROM {1}
    AND {0} IS NOT NULL GROUP BY value ORDER BY hits DESC, value LIMIT {2}"""
TOTALS = "SELECT count(*), coalesce(sum(bytes), 0), quantile_disc(bytes, [0.5, 0.9, 0.95, 0.99]), max(bytes) FROM {}"
HISTOGRAM = """SELECT epoch(time)::BIGINT // {1} * {1} AS at, status // 100 AS class, count(*) FROM {0} GROUP BY ALL"""
WEEK = "SELECT isodow(time) - 1, hour(time), count(*) FROM {} GROUP BY ALL"


def connect(path):
    connection = duckdb.connect(path)
    connection.execute(f"SET threads = {THREADS}")
    return connection


def load(log, path):
    connection = connect(path)
    start = time.perf_counter()
    connection.execute(IMPORT.format(log))
    connection.execute("CHECKPOINT")
    seconds = time.perf_counter() - start
    rows = connection.execute("SELECT count(*) FROM hits").fetchone()[0]
    print(json.dumps({"seconds": seconds, "rows": rows, "peak_bytes": peak_bytes()}))


def ask(path):
    connection = connect(path)
    for line in sys.stdin:
        question = json.loads(line)
        start = time.perf_counter()
        answer = answered(connection, question)
        seconds = time.perf_counter() - start
        print(json.dumps({"seconds": seconds, "peak_bytes": peak_bytes(), **answer}), flush=True)


def answered(connection, question):
    """`way`: `table` has the condition in each query; `selected` puts the matching rows aside first."""
    path, net = (question[key].replace("'", "''") for key in ("path", "net"))
    matching = f"hits WHERE path = '{path}' AND net = '{net}'"
    if question["way"] == "selected":
        connection.execute(f"CREATE OR REPLACE TEMP TABLE matching AS SELECT * FROM {matching}")
        matching = "matching WHERE true"
    every = lambda query: connection.execute(query).fetchall()  # noqa: E731
    rows, sent, quantiles, most = every(TOTALS.format(matching))[0]
    histogram, week = {}, [[0] * 24 for _ in range(7)]
    for at, group, hits in every(HISTOGRAM.format(matching, question["bucket_seconds"])):
        histogram.setdefault(f"{group}xx", {})[at] = hits
    for day, hour, hits in every(WEEK.format(matching)):
        week[day][hour] = hits
    panels = {}
    for field in question["fields"]:
        found = every(PANEL.format(field, matching, TOP))
        panels[field] = {"distinct": found[0][3] if found else 0, "top": [[str(value), hits, int(sent)] for value, hits, sent, _ in found]}
    return {"rows": rows, "bytes": int(sent), "quantiles": [*map(int, quantiles or []), most], "histogram": histogram, "week": week, "panels": panels}


def peak_bytes():
    with open("/proc/self/status") as status:
        return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))


if __name__ == "__main__":
    {"import": load, "ask": ask}[sys.argv[1]](*sys.argv[2:])
