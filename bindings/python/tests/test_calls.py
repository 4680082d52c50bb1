"""Counts, matches, checksums, downloads, the store, templates, the program."""

import hashlib
import http.server
import io
import json
import subprocess
import sys
import threading

import pyarrow.parquet
import pytest

import rorqual
from rorqual import errors


def test_counts(sample):
    bytes = sample.read_bytes()
    counts = rorqual.count(sample, words=True)
    assert counts["lines"] == bytes.count(b"\n") and counts["bytes"] == len(bytes)
    assert counts["words"] == len(bytes.split())
    assert counts["longest_bytes"] == max(map(len, bytes.split(b"\n")))
    assert rorqual.count(io.BytesIO(bytes), words=True) == counts


def test_matches(sample):
    lines = sample.read_bytes().split(b"\n")
    wanted = [(number, line) for number, line in enumerate(lines, 1) if b"Googlebot" in line]
    assert [(number, line) for number, _, line in rorqual.grep(sample, "Googlebot")] == wanted
    offsets = [offset for _, offset, _ in rorqual.grep(sample, ["googleBOT"], ignore_case=True)]
    text = sample.read_bytes()
    assert all(offset == 0 or text[offset - 1 : offset] == b"\n" for offset in offsets)
    assert len(list(rorqual.grep(sample, "", max_count=5))) == 5
    long = b"x" * 3_000_000 + b"needle" + b"y" * 3_000_000
    assert list(rorqual.grep(io.BytesIO(b"a\nneedle\n"), "needle")) == [(2, 2, b"needle")]
    with pytest.raises(errors.LimitError):
        list(rorqual.grep(io.BytesIO(b"a\n" + long), "needle"))
    with pytest.raises(errors.ArgumentError):
        rorqual.grep(sample, "(")


def test_a_long_line_of_a_file_comes_whole(tmp_path):
    path = tmp_path / "long"
    line = b"x" * 3_000_000 + b"needle" + b"y" * 3_000_000
    path.write_bytes(b"a\n" + line + b"\nb\n")
    assert list(rorqual.grep(path, "needle")) == [(2, 2, line)]


@pytest.mark.parametrize("algorithm", ["sha256", "sha512", "sha1", "md5", "blake2b"])
def test_checksums(sample, algorithm):
    wanted = hashlib.new(algorithm, sample.read_bytes()).hexdigest()
    assert rorqual.hash(sample, algorithm) == wanted
    with open(sample, "rb") as file:
        assert rorqual.hash(file, algorithm) == wanted
    hasher = rorqual.Hasher(algorithm)
    hasher.update(sample.read_bytes())
    assert hasher.hexdigest() == wanted
    with pytest.raises(ValueError):
        rorqual.hash(sample, "crc")


def test_reports(sample):
    report = rorqual.report(sample, top=3)
    assert report["lines"]["parsed"] + report["lines"]["rejected"] == rorqual.count(sample)["lines"]
    assert all(len(panel["rows"]) <= 3 for panel in report["panels"])
    page = report._repr_html_()
    assert "<table>" in page and "<script" not in page
    few = rorqual.report(sample, where="status = 404")
    assert few["lines"]["parsed"] == [row["hits"] for row in report["status"] if row["value"] == "404"][0]


class Files(http.server.BaseHTTPRequestHandler):
    content = bytes(range(256)) * 10_000

    def do_GET(self):
        self.send_response(200 if self.path == "/file" else 404)
        self.send_header("content-length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *_):
        pass


@pytest.fixture
def address():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_downloads(address, tmp_path):
    digest = hashlib.sha256(Files.content).hexdigest()
    told = []
    done = rorqual.fetch(f"{address}/file", tmp_path / "file", sha256=digest, progress=lambda *step: told.append(step))
    assert done["sha256"] == digest and (tmp_path / "file").read_bytes() == Files.content
    assert told[-1] == (len(Files.content), len(Files.content))
    with pytest.raises(errors.MismatchError):
        rorqual.fetch(f"{address}/file", tmp_path / "other", sha256="0" * 64, retries=0)
    assert not (tmp_path / "other").exists()
    with pytest.raises(errors.FetchError) as missing:
        rorqual.fetch(f"{address}/none", tmp_path / "none", retries=0)
    assert missing.value.kind == "answer"
    with pytest.raises(ZeroDivisionError):
        rorqual.fetch(f"{address}/file", tmp_path / "third", progress=lambda *_: 1 / 0)


def test_the_store(tmp_path):
    store = rorqual.Store(tmp_path / "store", max_bytes="1MiB")
    first = store.put(io.BytesIO(b"a" * 600_000), name="first")
    assert first == {"digest": hashlib.sha256(b"a" * 600_000).hexdigest(), "bytes": 600_000, "new": True, "evicted": 0}
    with store.get("first") as entry:
        assert open(entry.path, "rb").read() == b"a" * 600_000
        # There is no room beside an entry that is open.
        with pytest.raises(errors.LimitError):
            store.put(io.BytesIO(b"b" * 600_000))
        assert not store.remove("first")
    lease = store.lease("first", 60)
    assert not store.remove("first") and store.release(lease)
    assert store.put(io.BytesIO(b"b" * 600_000))["evicted"] == 1
    assert "first" not in store and store.usage()["entries"] == 1
    with pytest.raises(KeyError):
        store.get("first")


def test_templates(sample, tmp_path):
    assert rorqual.render("<p>{{ name }}</p>", {"name": "a<b"}) == "<p>a&lt;b</p>"
    rows = rorqual.scan_log(sample, columns=["status"])
    pieces = list(rorqual.render_stream("{% for row in rows %}{{ row.status }}\n{% endfor %}", rows=rows, name="rows.txt"))
    assert b"".join(pieces).count(b"\n") == rows.summary()["rows"] > 9_000
    (tmp_path / "page.html").write_text("{{ x }}")
    assert rorqual.render("page.html", {"x": 1}, folder=tmp_path) == "1"
    with pytest.raises(errors.TemplateError):
        rorqual.render("{{ a")


def test_the_program(sample, tmp_path):
    target = tmp_path / "log.parquet"
    rorqual.convert(sample, target)
    assert pyarrow.parquet.read_table(target).num_rows > 9_000
    with pytest.raises(errors.ProgramError) as there:
        rorqual.convert(sample, target)
    assert there.value.status == 2 and "log.parquet" in str(there.value)
    with rorqual.serve(sample) as server:
        assert json.loads(server.get("/api/sessions"))
    done = subprocess.run([sys.executable, "-m", "rorqual", "count", sample], capture_output=True, check=True)
    assert str(rorqual.count(sample)["lines"]) in done.stdout.decode()


def test_stubs_name_all_that_there_is():
    import ast
    from pathlib import Path

    stub = ast.parse(Path(rorqual.__file__).with_suffix(".pyi").read_text())
    stubbed = {node.name for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert set(rorqual.__all__) - {"Error", "RowsWarning", "errors"} == {name for name in stubbed if not name.startswith("_")}
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and node.name in rorqual.__all__:
            own = {part.name for part in node.body if isinstance(part, ast.FunctionDef)} - {"__init__"}
            missing = {name for name in own if not hasattr(getattr(rorqual, node.name), name)}
            assert not missing, f"{node.name}: {missing}"
