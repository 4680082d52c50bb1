"""Every function beside every bad input and a tiny budget: typed errors, and nothing left."""

import gc
import gzip
import io

import pytest
from conftest import GOOD, descriptors, threads
from test_running import settled

import rorqual
from rorqual import errors

pytestmark = pytest.mark.filterwarnings("ignore::rorqual.errors.RowsWarning")

EACH = "{% for row in rows %}{{ row.path }}{% endfor %}"
FUNCTIONS = {
    "scan_log": lambda source, **options: list(rorqual.scan_log(source, **options)),
    "scan_json": lambda source, **options: list(rorqual.scan_json(source, **options)),
    "scan_csv": lambda source, **options: list(rorqual.scan_csv(source, **options)),
    "report": rorqual.report,
    "count": rorqual.count,
    "grep": lambda source, **options: list(rorqual.grep(source, "GET", **options)),
    "hash": rorqual.hash,
    "render": lambda source, **options: rorqual.render(EACH, rows=rorqual.scan_log(source, **options)),
}


class Broken(io.RawIOBase):
    """Fails in the middle."""

    def __init__(self):
        self.given = 0

    def read(self, size=-1):
        self.given += 1
        if self.given > 3:
            raise RuntimeError("the network is gone")
        return GOOD * 100


def inputs(folder):
    """Bad inputs, by name."""
    cut = folder / "cut.log.gz"
    cut.write_bytes(gzip.compress(GOOD * 10_000)[:-200])
    yield "none", lambda: folder / "none"
    yield "folder", lambda: folder
    yield "cut", lambda: cut
    yield "broken", Broken
    yield "number", lambda: 17
    yield "text file", lambda: io.StringIO("text")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bad_inputs_are_typed_errors(name, tmp_path):
    for kind, source in inputs(tmp_path):
        if name == "hash" and kind == "cut":
            continue  # A digest is of the bytes as they are stored.
        with pytest.raises((rorqual.Error, TypeError, RuntimeError)) as raised:
            FUNCTIONS[name](source())
        assert getattr(raised.value, "kind", "") != "defect", (kind, raised.value)
        assert "--" not in str(raised.value), (kind, raised.value)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_budget_that_is_too_small_says_which_would_do(name, tmp_path):
    path = tmp_path / "access.log"
    path.write_bytes(GOOD * 1000)
    if name in ("scan_json", "scan_csv"):
        path.write_text('{"a":1}\n' * 10 if name == "scan_json" else "a,b\n1,2\n")
    with pytest.raises(errors.OutOfBudgetError) as raised:
        FUNCTIONS[name](path, memory=1)
    FUNCTIONS[name](path, memory=raised.value.needed_bytes)


def test_failures_leave_no_threads_and_no_files(tmp_path):
    gc.collect()
    before = threads(), descriptors()
    for _ in range(10):
        for function in FUNCTIONS.values():
            for _, source in inputs(tmp_path):
                try:
                    function(source())
                except (rorqual.Error, TypeError, RuntimeError):
                    pass
    gc.collect()
    settled(threads, before[0])
    settled(descriptors, before[1])
