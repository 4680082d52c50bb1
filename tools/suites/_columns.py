"""Files of columns of others beside what pyarrow reads of them: pip install pyarrow, into the Python that runs this."""

import decimal
import json
import math
import subprocess

from suites import Verdict

try:
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet
except ImportError:
    pyarrow = None

NO_FILES = "there is no file of columns in the checkout"
NO_REFEREE = "pyarrow is not there: only that nothing panics was looked at"
SECONDS_MAX = 120


def compare_all(folder, programs, below, takes):
    """The verdicts on the files that `takes` chooses in the folders `below`, in the order of their names. A folder that is missing is a
    difference: the checkout is not what it should be."""
    for name in below:
        paths = [path for path in sorted((folder / name).rglob("*")) if path.is_file() and takes(path)]
        if not paths:
            yield Verdict(name, False, f"    {NO_FILES}")
        for path in paths:
            yield compare(str(path.relative_to(folder)), path, programs)


def compare(case, path, programs):
    """The verdict on one file: the rows that pyarrow reads, or a refusal of what it does not read either."""
    command = [programs.rorqual, "convert", path, "--to", "ndjson", "-o", "-"]
    try:
        answer = subprocess.run(command, capture_output=True, timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return Verdict(case, False, f"    no end within {SECONDS_MAX} s")
    said = answer.stderr.decode(errors="replace").strip()
    first = said.splitlines()[0].replace(str(path), path.name) if said else "nothing is said"
    if answer.returncode not in (0, 2) or "panicked" in said:
        return Verdict(case, False, f"    ends with {answer.returncode}: {said}")
    if pyarrow is None:
        return Verdict(case, None, NO_REFEREE)
    expected, refused = referee(path)
    if answer.returncode != 0:
        return Verdict(case, expected is None, f"    refused: {first}; pyarrow reads {expected and len(expected)} rows")
    if expected is None:
        return Verdict(case, None, f"read, which pyarrow refuses: {refused}")
    rows = [json.loads(line, parse_float=decimal.Decimal) for line in answer.stdout.splitlines()]
    if len(rows) != len(expected):
        return Verdict(case, False, f"    {len(rows)} rows, {len(expected)} by pyarrow; {first}")
    for number, (row, truth) in enumerate(zip(rows, expected)):
        if not same(row, truth):
            return Verdict(case, False, f"    row {number}: {shown(row)}\n    by pyarrow: {shown(truth)}\n    {first}")
    return Verdict(case, True)


def shown(value):
    text = repr(value)
    return text if len(text) < 300 else text[:300] + " …"


def referee(path):
    """The rows by pyarrow as JSON has them, or why not."""
    try:
        table = read(path)
        check(table)
        columns = {name: values(table.column(name)) for name in table.column_names}
        if len(columns) < table.num_columns:
            return None, "two columns of one name"
        return [struct({name: column[row] for name, column in columns.items()}) for row in range(table.num_rows)], None
    # pyarrow has errors of many kinds, also of the operating system and of Python.
    except Exception as error:
        return None, (str(error).splitlines() or [type(error).__name__])[0][:120]


def check(table):
    """Refuses what would crash whoever looks at it; digits beyond a decimal's precision, and hours of a date, do not."""
    try:
        table.validate(full=True)
    except pyarrow.ArrowInvalid as error:
        if "does not fit in precision" not in str(error) and "whole number of days" not in str(error):
            raise


def read(path):
    head = path.read_bytes()[:6]
    if head[:4] in (b"PAR1", b"PARE"):
        # Spark's moments are beyond what nanoseconds reach.
        return pyarrow.parquet.read_table(path, coerce_int96_timestamp_unit="us", partitioning=None)
    with pyarrow.OSFile(str(path)) as file:
        reader = pyarrow.ipc.open_file(file) if head == b"ARROW1" else pyarrow.ipc.open_stream(file)
        return reader.read_all()


def values(column):
    """A list of what our JSON has: a value, None, or a function that says whether a value is the same."""
    kind = column.type
    types = pyarrow.types
    if isinstance(column, pyarrow.ChunkedArray):
        return [value for chunk in column.chunks for value in values(chunk)]
    if isinstance(column, pyarrow.ExtensionArray):
        return values(column.storage)
    if types.is_dictionary(kind):
        known = values(column.dictionary)
        return [None if code is None else known[code] for code in column.indices.to_pylist()]
    if types.is_run_end_encoded(kind):
        known, ends, offset = values(column.values), column.run_ends.to_pylist(), column.offset
        runs, place = [], 0
        for row in range(offset, offset + len(column)):
            while ends[place] <= row:
                place += 1
            runs.append(known[place])
        return runs
    if types.is_struct(kind):
        fields = [values(column.field(place)) for place in range(kind.num_fields)]
        names = [kind.field(place).name for place in range(kind.num_fields)]
        valid = column.is_valid().to_pylist()
        return [struct(dict(zip(names, row))) if valid[number] else None for number, row in rows_of(fields, len(column))]
    if types.is_map(kind):
        return [None if entry is None else entries(entry) for entry in items(column, "map")]
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind) or is_view(kind):
        return items(column, "list")
    return [scalar(kind, value, column) for value in plain(kind, column)]


def is_view(kind):
    return pyarrow.types.is_list_view(kind) or pyarrow.types.is_large_list_view(kind)


def rows_of(fields, length):
    for number in range(length):
        yield number, [field[number] for field in fields]


def items(column, what):
    found = []
    for scalar_value in column:
        if not scalar_value.is_valid:
            found.append(None)
        elif what == "map":
            entry = scalar_value.values
            found.append(list(zip(values(entry.field(0)), values(entry.field(1)))))
        else:
            found.append(values(scalar_value.values))
    return found


def entries(pairs):
    return {key if isinstance(key, str) else Key(key): value for key, value in pairs}


class Key:
    """A key of a map that is no text: written as its JSON is."""
    def __init__(self, key):
        self.key = key


def plain(kind, column):
    """Python's values, or whole numbers where Python has none of that precision."""
    types = pyarrow.types
    if types.is_timestamp(kind) or types.is_time(kind) or types.is_duration(kind) or types.is_date64(kind):
        whole = pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64()
        return column.view(whole).to_pylist()
    if types.is_interval(kind):
        return [None if not value.is_valid else value.as_py() for value in column]
    return column.to_pylist()


UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def scalar(kind, value, column):
    types = pyarrow.types
    if value is None:
        return None
    if types.is_timestamp(kind):
        return moment(value, UNITS[kind.unit]) + ("Z" if kind.tz is not None else "")
    if types.is_time(kind):
        return Time(value, UNITS[kind.unit])
    if types.is_date64(kind):
        # A date of milliseconds may have a time although it should not.
        text = moment(value, 1000)
        return text if value % 86_400_000 else Date(text[:10])
    if types.is_date32(kind):
        return Date(value.isoformat())
    if types.is_duration(kind) or types.is_interval(kind):
        return ANY
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        # In JSON what is not finite is null.
        return value if math.isfinite(value) else None
    if types.is_float16(kind):
        return float(value) if math.isfinite(float(value)) else None
    return value


class Date(str):
    """A day, which may be written with its midnight."""


class Time:
    def __init__(self, value, units):
        self.seconds = decimal.Decimal(value) / units

    def is_same(self, text):
        hours, minutes, seconds = str(text).split(":")
        return int(hours) * 3600 + int(minutes) * 60 + decimal.Decimal(seconds) == self.seconds


# Lengths of time have many texts.
ANY = object()


def moment(value, units):
    """As RFC 3339, by the days of the proleptic Gregorian calendar, for any year."""
    seconds, fraction = divmod(value, units)
    days, seconds = divmod(seconds, 86_400)
    days += 719_468
    era, day = divmod(days, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5 - 1
    month, year = (month + 3, year + 400 * era) if month < 10 else (month - 9, year + 400 * era + 1)
    date = f"{year:04d}" if 0 <= year < 10_000 else f"{year:+07d}"
    text = f"{date}-{month:02d}-{day:02d}T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    nanos = fraction * (10**9 // units)
    digits = 0 if nanos == 0 else 3 if nanos % 10**6 == 0 else 6 if nanos % 1000 == 0 else 9
    return text + (f".{nanos:09d}"[:digits + 1] if digits else "")


def struct(fields):
    return {name: value for name, value in fields.items() if value is not None}


def same(ours, truth):
    if truth is ANY:
        return isinstance(ours, (str, int))
    if isinstance(truth, Time):
        return truth.is_same(ours)
    if isinstance(truth, Date):
        return isinstance(ours, str) and ours[:len(truth)] == truth and ours[len(truth):] in ("", "T00:00:00")
    if isinstance(truth, dict):
        truth = {key: value for key, value in truth.items() if value is not None}
        keys = {json.dumps(key.key) if isinstance(key, Key) and not isinstance(key.key, str) else str(key): value for key, value in truth.items()}
        # What is not finite is written as null, and other nulls are left out.
        ours = {key: value for key, value in ours.items() if value is not None} if isinstance(ours, dict) else {}
        return ours.keys() == keys.keys() and all(same(ours[key], keys[key]) for key in keys)
    if isinstance(truth, list):
        return isinstance(ours, list) and len(ours) == len(truth) and all(map(same, ours, truth))
    if isinstance(truth, bool) or isinstance(ours, bool):
        return ours is truth
    if isinstance(truth, float):
        # A single has fewer digits than the double that Python has of it.
        number = isinstance(ours, (int, decimal.Decimal)) and float(ours)
        return number is not False and (number == truth or math.isclose(number, truth, rel_tol=2e-7) and is_single(truth))
    if isinstance(truth, decimal.Decimal):
        return isinstance(ours, (int, decimal.Decimal)) and ours == truth
    return ours == truth


def is_single(value):
    import struct as packing
    return packing.unpack("f", packing.pack("f", value))[0] == value
