"""Rows, with pyarrow, Polars, DuckDB and pandas as takers and as referees."""

import csv
import datetime
import gzip
import io
import json
import re
import warnings

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pytest
from conftest import GOOD

import rorqual
from rorqual import errors

LINE = re.compile(rb'^(\S+) \S+ (\S+) \[([^\]]+)\] "(\S+) ([^ ?]+)\S* ([^"]+)" (\d{3}) (\d+|-)')


def table(rows):
    return pa.RecordBatchReader.from_stream(rows).read_all()


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rorqual.RowsWarning)
        yield


def by_hand(path):
    """Client, status, path of each line, by a pattern."""
    for line in path.read_bytes().splitlines():
        if found := LINE.match(line):
            yield found[1].decode(), int(found[7]), found[5].decode(errors="replace")


def test_rows_are_those_that_a_pattern_finds(sample):
    wanted = list(by_hand(sample))
    assert len(wanted) > 9_000
    rows = table(rorqual.scan_log(sample, columns=["client", "status", "path"])).to_pylist()
    assert len(rows) >= len(wanted)
    left = set(wanted) - {(row["client"], row["status"], row["path"]) for row in rows}
    assert not left, list(left)[:3]


def test_all_takers_get_the_same(sample):
    wanted = table(rorqual.scan_log(sample))
    assert wanted.schema.field("time").type == pa.timestamp("us", "UTC")
    assert pl.DataFrame(rorqual.scan_log(sample)).height == wanted.num_rows
    stream = rorqual.scan_log(sample)
    counts = duckdb.sql("select status, count(*) n from stream group by 1 order by 1").fetchall()
    frame = table(rorqual.scan_log(sample)).to_pandas()
    assert counts == sorted(frame.groupby("status").size().items())
    batches = [pa.record_batch(batch) for batch in rorqual.scan_log(sample)]
    assert pa.Table.from_batches(batches).equals(wanted)
    schema = pa.schema(rorqual.scan_log(sample).schema)
    assert schema.equals(wanted.schema)


def test_where_and_span_of_time(sample):
    rows = table(rorqual.scan_log(sample)).to_pylist()
    wanted = [row for row in rows if row["status"] >= 400 and row["method"] == "GET"]
    found = rorqual.scan_log(sample, where="status >= 400 and method = GET")
    assert table(found).to_pylist() == wanted
    assert found.summary()["filtered"] == len(rows) - len(wanted)
    middle = sorted(row["time"] for row in rows)[len(rows) // 2]
    since = table(rorqual.scan_log(sample, since=middle)).num_rows
    until = table(rorqual.scan_log(sample, until=middle.isoformat())).num_rows
    assert since + until == len(rows)
    assert since == sum(row["time"] >= middle for row in rows)
    day = datetime.date(1999, 1, 1)
    assert table(rorqual.scan_log(sample, until=day)).num_rows == 0


def test_only_the_columns_asked_for_in_a_filter_of_others(sample):
    found = table(rorqual.scan_log(sample, columns=["status"], where='path ~ "^/"'))
    assert found.column_names == ["status"] and found.num_rows > 9_000


def test_rejected_lines_are_never_silent(tmp_path):
    path = tmp_path / "broken.log"
    path.write_bytes(GOOD * 3 + b"no line of a log\n" + GOOD + b"\xff\xfe\x00\n")
    rows = rorqual.scan_log(path)
    with pytest.warns(rorqual.RowsWarning, match="2 bad records were left out"):
        assert table(rows).num_rows == 4
    assert rows.summary() == {"rows": 4, "rejected": 2, "outside": 0, "filtered": 0}
    (note,) = rows.notes()
    assert str(path) in note and f"at byte {3 * len(GOOD)}" in note
    # A warning that is an error ends the stream with it.
    with warnings.catch_warnings():
        warnings.simplefilter("error", rorqual.RowsWarning)
        with pytest.raises(rorqual.RowsWarning):
            list(rorqual.scan_log(path))


def test_files_lists_and_compressed_ones_are_the_same(sample, tmp_path):
    wanted = table(rorqual.scan_log(sample))
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(sample.read_bytes()))
    assert table(rorqual.scan_log(packed)).equals(wanted)
    with open(sample, "rb") as file:
        assert table(rorqual.scan_log(file)).equals(wanted)
    assert table(rorqual.scan_log(io.BytesIO(packed.read_bytes()))).equals(wanted)
    assert table(rorqual.scan_log([sample, packed])).num_rows == 2 * wanted.num_rows
    with open(sample) as text, pytest.raises(errors.Error, match="text mode"):
        rorqual.scan_log(text)


def test_json_is_as_pyarrow_reads_it(tmp_path):
    path = tmp_path / "rows.ndjson"
    objects = [{"id": number, "name": f"n{number % 7}", "at": {"x": number / 4}, "tags": ["a"] * (number % 3)} for number in range(20_000)]
    path.write_text("".join(json.dumps(one) + "\n" for one in objects))
    assert table(rorqual.scan_json(path)).to_pylist() == pyarrow.json.read_json(path).to_pylist()
    assert table(rorqual.scan_json(path, columns=["id"])).to_pylist() == [{"id": one["id"]} for one in objects]
    document = tmp_path / "document.json"
    document.write_text(json.dumps({"items": objects[:100]}))
    assert table(rorqual.scan_json(document, rows="$.items", infer_all=True)).to_pylist() == pyarrow.json.read_json(path).to_pylist()[:100]


def test_csv_is_as_pyarrow_reads_it(tmp_path):
    path = tmp_path / "rows.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "number"])
        writer.writerows([number, f'a "quoted", {number}\nline', number * 0.5] for number in range(5_000))
    wanted = pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True))
    assert table(rorqual.scan_csv(path)).to_pylist() == wanted.to_pylist()


def test_bad_records_end_tables_unless_they_may_be_skipped(tmp_path):
    path = tmp_path / "rows.ndjson"
    path.write_text('{"a":1}\n{"a":\n{"a":3}\n')
    with pytest.raises(errors.CorruptError) as raised:
        list(rorqual.scan_json(path, lines=True))
    assert raised.value.name == str(path) and raised.value.offset >= 8
    rows = rorqual.scan_json(path, lines=True, skip_bad=True)
    assert table(rows).to_pylist() == [{"a": 1}, {"a": 3}] and rows.summary()["rejected"] == 1


def test_variables_of_a_format_are_columns_and_in_filters(tmp_path):
    path = tmp_path / "access.log"
    path.write_text("::1 200 HIT 5\n::1 404 MISS -\n")
    options = {"format": "$remote_addr $status $upstream_cache_status $upstream_bytes_sent", "columns": ["upstream_cache_status"]}
    assert table(rorqual.scan_log(path, **options)).to_pylist() == [{"upstream_cache_status": "HIT"}, {"upstream_cache_status": "MISS"}]
    assert table(rorqual.scan_log(path, where="upstream_cache_status = MISS", **options)).num_rows == 1


def test_rows_are_taken_once(sample):
    rows = rorqual.scan_log(sample)
    table(rows)
    with pytest.raises(RuntimeError, match="once"):
        table(rows)
    with rorqual.scan_log(sample) as rows:
        next(rows)
    with pytest.raises(RuntimeError, match="once"):
        next(rows)


def test_arguments_that_can_not_be(sample, tmp_path):
    for raised, arguments in [
        (errors.ArgumentError, {"where": "status >"}),
        (errors.ArgumentError, {"columns": ["none"]}),
        (errors.ArgumentError, {"since": "2025-01-02", "until": "2025-01-01"}),
        (errors.ArgumentError, {"since": "yesterday-ish"}),
        (ValueError, {"format": "no field"}),
        (ValueError, {"memory": "lots"}),
    ]:
        with pytest.raises(raised):
            list(rorqual.scan_log(sample, **arguments))
    with pytest.raises(OSError) as missing:
        rorqual.scan_log(tmp_path / "none")
    assert isinstance(missing.value, errors.InputError) and missing.value.name == str(tmp_path / "none")
    with pytest.raises(errors.CorruptError):
        rorqual.scan_log(io.BytesIO(b"\x7fELF" + bytes(1000)))
    with pytest.raises(TypeError):
        rorqual.scan_log(17)
    with pytest.raises(errors.OutOfBudgetError) as small:
        rorqual.scan_log(sample, memory=1)
    assert "--" not in str(small.value)
    assert len(list(rorqual.scan_log(sample, memory=small.value.needed_bytes))) > 0
