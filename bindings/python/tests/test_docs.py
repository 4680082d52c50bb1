"""The example of docs/python.md runs."""

import itertools
import textwrap
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]


def test_the_example_runs(capsys, monkeypatch):
    lines = (TOP / "docs/python.md").read_text().splitlines()
    start = lines.index("    import rorqual")
    block = itertools.takewhile(lambda line: not line or line.startswith("    "), lines[start:])
    monkeypatch.chdir(TOP)
    names = {}
    exec(compile(textwrap.dedent("\n".join(block)), "docs/python.md", "exec"), names)
    assert "'parsed': 10000" in capsys.readouterr().out
    assert names["page"].startswith("/")
