"""Templates: story 3's Template of Doom, its cursed twin, and an honest page of rows, beside other engines."""

import html
import itertools
import os
import re
import shutil
import subprocess
from pathlib import Path

from .jobs import Contender, Goal, Job
from .tables import python

PEERS = Path(__file__).resolve().parents[1] / "peers" / "render"
MIB = 1 << 20

LINES = "DOOM DOOM DOOM DOOM\n"
DOOM_BYTES = 14 * len(LINES)
ITERATIONS = 10_000_000
# 30 GB.
ITERATIONS_LONG = 30 * 10**9 // DOOM_BYTES
# EEx builds the page in memory: 5 GB for 280 MB.
ITERATIONS_EEX = 1_000_000
TEMPLATES = {
    "doom": "{% for i in range(n) %}" + 14 * LINES + "{% endfor %}",
    "cursed": "{% for i in range(n) %}" + 7 * LINES + "{{ '' }}" + 7 * LINES + "{% endfor %}",
    "counted": "{% for i in range(n) %}" + 7 * LINES + "{{ i }}" + 7 * LINES + "{% endfor %}",
}
FIELDS = ("client", "time", "method", "path", "status", "bytes", "referrer", "agent")
ROW = "<tr>" + "".join(f"<td>{{{{ row.{name} }}}}</td>" for name in FIELDS) + "</tr>\n"
ROWS = 10_000_000
TIMEOUT_SECONDS = 180
# Rows whose text is compared.
ROWS_COMPARED = 20_000


def jobs():
    return {
        "render-doom": lambda setting: piped(setting, "doom", "The Template of Doom, 2.8 GB through a pipe"),
        "render-cursed": lambda setting: piped(setting, "cursed", "Its cursed twin: an empty string in each iteration"),
        "render-doom-null": discarded,
        "render-counted-null": counted,
        "render-doom-30g": long,
        "render-rows": rows,
    }


def piped(setting, kind, title):
    total = ITERATIONS * DOOM_BYTES
    check = expect_bytes(total, 14 * ITERATIONS)
    drain = [setting.programs.drain]
    rows = [
        Contender("rorqual render", "ours", [doom(setting, kind, ITERATIONS), drain], check),
        *[Contender(name, "peer", [argv, drain], expect_bytes(total + ended(name), 14 * ITERATIONS + ended(name)), TIMEOUT_SECONDS)
          for name, argv in peers(setting, kind).items()],
        eex(kind, total, drain),
        Contender("a bare loop", "floor", [[setting.programs.doom, str(ITERATIONS)], drain], check),
    ]
    goals = [Goal("rorqual render", 1.3, tuple(peers(setting, kind))), Goal("rorqual render", 0.85, ("a bare loop",)),
             Goal("rorqual render", peak_mib=32)]
    return Job(f"render-{kind}", title, total, rows, goals=goals)


def discarded(setting):
    """What is left is the engine's own cost: a write to /dev/null is nothing."""
    total = ITERATIONS * DOOM_BYTES
    rows = [Contender("rorqual render", "ours", [to_null(doom(setting, "doom", ITERATIONS))])]
    rows += [Contender("rorqual render, cursed", "ours", [to_null(doom(setting, "cursed", ITERATIONS))])]
    rows += [Contender(name, "peer", [to_null(argv)], timeout_seconds=TIMEOUT_SECONDS) for name, argv in peers(setting, "doom").items()]
    rows += [Contender("a bare loop", "floor", [to_null([setting.programs.doom, str(ITERATIONS)])])]
    goals = [Goal("rorqual render", 2, tuple(peers(setting, "doom")))]
    return Job("render-doom-null", "The Template of Doom to /dev/null: the engine alone", total, rows, goals=goals)


def counted(setting):
    """Here an engine can't see that each iteration is the same."""
    rows = [Contender("rorqual render", "ours", [to_null(doom(setting, "counted", ITERATIONS))])]
    rows += [Contender(name, "peer", [to_null(argv)], timeout_seconds=TIMEOUT_SECONDS) for name, argv in peers(setting, "counted").items()]
    goals = [Goal("rorqual render", 2, tuple(peers(setting, "counted")))]
    total = ITERATIONS * DOOM_BYTES + sum(len(str(number)) for number in range(ITERATIONS))
    return Job("render-counted-null", "The same with its number in each iteration", total, rows, goals=goals)


def long(setting):
    total = ITERATIONS_LONG * DOOM_BYTES
    check, drain = expect_bytes(total, 14 * ITERATIONS_LONG), [setting.programs.drain]
    rows = [
        Contender("rorqual render", "ours", [doom(setting, "doom", ITERATIONS_LONG), drain], check, TIMEOUT_SECONDS, once=True),
        Contender("rorqual render, cursed", "ours", [doom(setting, "cursed", ITERATIONS_LONG), drain], check, TIMEOUT_SECONDS, once=True),
        Contender("a bare loop", "floor", [[setting.programs.doom, str(ITERATIONS_LONG)], drain], check, TIMEOUT_SECONDS, once=True),
    ]
    goals = [Goal(name, peak_mib=32) for name in ("rorqual render", "rorqual render, cursed")]
    goals.append(Goal("rorqual render", 0.85, ("a bare loop",)))
    return Job("render-doom-30g", "The Template of Doom, 30 GB through a pipe", total, rows, goals=goals)


def rows(setting):
    table = rows_file(setting)
    drain, page = [setting.programs.drain], setting.out / "rows.html"
    page.write_text("{% for row in rows %}" + ROW + "{% endfor %}")
    check = lambda stdout: "" if stdout.split()[-1:] == [str(ROWS).encode()] else f"wrong: {stdout.decode()}"  # noqa: E731
    argvs = {
        "Jinja2, stream": [python(setting), PEERS / "jinja.py", "rows", table],
        "Go html/template": [go(setting), "html", "rows", table],
        "Go text/template, html": [go(setting), "text", "rows", table],
    }
    ours = {"rorqual render": [], "rorqual, --threads 1": ["--threads", "1"]}
    contenders = [Contender(name, "ours", [[setting.programs.rorqual, "render", page, *flags, "--rows", table], drain], check)
                  for name, flags in ours.items()]
    contenders += [Contender(name, "peer", [argv, drain], check, timeout_seconds=TIMEOUT_SECONDS, once=True)
                   for name, argv in argvs.items()]

    def verify():
        expected = first_rows([*map(str, argvs["Jinja2, stream"])])
        ours_lines = first_rows([str(word) for word in contenders[0].stages[0]])
        return [f"the text of the first {ROWS_COMPARED:,} rows is {'' if ours_lines == expected else 'not '}that of Jinja2"], ours_lines == expected

    goals = [Goal("rorqual render", 3, tuple(argvs)), Goal("rorqual render", peak_mib=64)]
    return Job("render-rows", "10 million rows of 8 escaped fields", table.stat().st_size, contenders, [table], verify, goals)


def first_rows(argv):
    """As a browser reads them: engines write the same character in different ways."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        lines = [html.unescape(line.decode("utf-8", "replace")) for line in itertools.islice(process.stdout, ROWS_COMPARED)]
        process.stdout.close()
    return lines


def rows_file(setting):
    """Tab-separated fields of a log, read by Python's `re`; lines that would need quoting are left out."""
    path = setting.data.folder / "rows.tsv"
    if path.exists():
        return path
    log = setting.data.log("rows.log")
    line_of = re.compile(r'(\S+) \S+ \S+ \[([^]]+)\] "(\S+) (\S+) [^"]*" (\d+) (\d+) "([^"]*)" "([^"]*)"$').match
    print(f"making {path} ...", flush=True)
    part = path.with_suffix(".part")
    with open(log.path, encoding="utf-8", errors="replace") as lines, open(part, "w", encoding="utf-8") as out:
        out.write("\t".join(FIELDS) + "\n")
        found = (match.groups() for match in map(line_of, map(str.rstrip, lines)) if match)
        plain = (values for values in found if not any("\t" in value or not value for value in values))
        for values in itertools.islice(plain, ROWS):
            out.write("\t".join(values) + "\n")
    part.rename(path)
    return path


def doom(setting, kind, iterations):
    template = setting.out / f"{kind}.txt"
    template.write_text(TEMPLATES[kind])
    return [setting.programs.rorqual, "render", template, "-D", f"n:={iterations}"]


def peers(setting, kind):
    count = str(ITERATIONS)
    return {
        "Jinja2, stream": [python(setting), PEERS / "jinja.py", kind, count],
        "Go text/template": [go(setting), "text", kind, count],
        "Go html/template": [go(setting), "html", kind, count],
        "minijinja-cli": ["minijinja-cli", nested(setting, kind), "-D", f"n:={ITERATIONS // 10_000}"],
    }


def nested(setting, kind):
    """`range` ends at 100,000 there: two loops, one in the other."""
    template = setting.out / f"{kind}-nested.txt"
    template.write_text(f"{{% for j in range(n) %}}{TEMPLATES[kind].replace('range(n)', 'range(10000)')}{{% endfor %}}")
    return template


def eex(kind, total, drain):
    check = expect_bytes(ITERATIONS_EEX * DOOM_BYTES, 14 * ITERATIONS_EEX)
    argv = ["elixir", PEERS / "eex.exs", kind, str(ITERATIONS_EEX)]
    share = ITERATIONS_EEX / ITERATIONS
    return Contender("Elixir EEx (a tenth)", "peer", [argv, drain], check, TIMEOUT_SECONDS, once=True, share=share)


def go(setting):
    program = setting.data.folder / "peers" / "bin" / "go-render"
    source = PEERS / "render.go"
    if shutil.which("go") and (not program.exists() or program.stat().st_mtime < source.stat().st_mtime):
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["go", "build", "-o", program, source], check=True, env=os.environ | {"GO111MODULE": "off"})
    return program


def to_null(argv):
    return ["sh", "-c", 'exec "$@" > /dev/null', "sh", *argv]


def ended(name):
    """minijinja-cli ends what it writes with a newline of its own."""
    return int(name == "minijinja-cli")


def ended(name):
    """minijinja-cli ends what it writes with a newline of its own."""
    return int(name == "minijinja-cli")


def expect_bytes(total, lines):
    def check(stdout):
        return "" if stdout.split() == [str(total).encode(), str(lines).encode()] else f"wrong: {stdout.decode().strip()}"

    return check
