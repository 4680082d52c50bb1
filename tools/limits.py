#!/usr/bin/env python3
"""Writes the tables of docs/limits.md from the doc comments of all limits.rs files; --check says whether they are current."""

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PAGE = TOP / "docs/limits.md"
BEGIN, END = "<!-- limits: begin (from limits.rs, by tools/limits.py) -->", "<!-- limits: end -->"
CONSTANT = re.compile(r"((?:^ *///.*\n)+)^ *(?:pub(?:\([a-z]+\))? )?const ([A-Z]\w*): [^=]+ = ([^;]+);", re.MULTILINE)


class Seconds(float):
    """A span of time, which is shown with a unit."""


def page():
    """The page as it has to be: the text that people write, and the tables between the marks."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{rest.split(END)[1]}"


def tables():
    files = read_files()
    sections = []
    for path, (rows, _) in sorted(files.items()):
        lines = [f"### `{path}`\n", "| name | value | meaning |", "|---|---|---|"]
        lines += [f"| `{name}` | {shown(files, path, name, expression)} | {meaning(doc)} |" for doc, name, expression in rows]
        sections.append("\n".join(lines) + "\n")
    return "\n".join(sections)


def read_files():
    """Of each limits.rs its constants, and the crates from which it takes others by name."""
    listed = subprocess.run(["git", "ls-files", "crates"], cwd=TOP, check=True, capture_output=True, text=True).stdout
    files = {}
    for path in listed.split():
        if path.endswith("/limits.rs") and (TOP / path).is_file():
            text = (TOP / path).read_text()
            uses = re.findall(r"^use rorqual_(\w+)::([^;]+);", text, re.MULTILINE)
            taken = {name: crate for crate, names in uses for name in re.findall(r"\b[A-Z][A-Z0-9_]+\b", names)}
            files[path] = (CONSTANT.findall(text), taken)
    return files


def meaning(doc):
    text = " ".join(line.strip().removeprefix("///").strip() for line in doc.splitlines())
    text = re.sub(r"\[(`[^`]+`)\]", r"\1", text)
    return text.replace("|", "\\|")


def shown(files, path, name, expression):
    """The value with its unit, or the expression where it takes more than arithmetic to know it."""
    try:
        value = evaluated(files, path, expression)
    except (ArithmeticError, AttributeError, LookupError, NameError, RecursionError, SyntaxError, TypeError):
        return f"`{' '.join(expression.split())}`".replace("|", "\\|")
    values = value if isinstance(value, tuple) else (value,)
    return " and ".join(with_unit(name, value) for value in values)


def with_unit(name, value):
    if isinstance(value, Seconds):
        return f"{value:g} s" if value >= 1 else f"{value * 1000:g} ms"
    if isinstance(value, str):
        return f"`{value}`"
    if "BYTES" not in name or "PER_BYTE" in name:
        return f"{value:,}"
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if value >= 1 << shift:
            return f"{value / (1 << shift):.3g} {unit}"
    return f"{value:,} bytes"


def evaluated(files, path, expression):
    """Rust's arithmetic of constants is Python's, but for casts, paths and division."""
    python = re.sub(r"\bas \w+", "", " ".join(expression.split()))
    python = re.sub(r"\bu64::from\b", "", python)
    python = python.replace("/", "//").replace("i16::MAX", "32767")
    python = re.sub(r"Duration::from_(secs|millis)\(", r"from_\1(", python)
    names = {"from_secs": Seconds, "from_millis": lambda millis: Seconds(millis / 1000)}
    for name in set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", python)):
        names[name] = constant(files, path, name)
    return eval(python, {"__builtins__": {}}, names)


def constant(files, path, name):
    """The value of a constant of this file, or of the one crate that it is taken from."""
    rows, taken = files[path]
    crate = taken.get(name)
    places = [path] if crate is None else [other for other in files if other.startswith(f"crates/{crate}/")]
    found = [(place, row[2]) for place in places for row in files[place][0] if row[1] == name]
    if len(found) != 1:
        raise LookupError(name)
    return evaluated(files, *found[0])


def main():
    if "--check" in sys.argv[1:]:
        current = PAGE.read_text() == page()
        if not current:
            print("docs/limits.md is not what the limits.rs files say: run tools/limits.py")
        return 0 if current else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
