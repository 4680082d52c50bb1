"""Jinja2's stream, buffered, as its documentation advises for output that is larger than memory.

jinja.py doom|cursed|counted N; jinja.py rows FILE
"""

import itertools
import sys

import jinja2

LINES = "DOOM DOOM DOOM DOOM\n"
DOOM = "{% for i in range %}" + 14 * LINES + "{% endfor %}"
CURSED = "{% for i in range %}" + 7 * LINES + "{{ '' }}" + 7 * LINES + "{% endfor %}"
COUNTED = "{% for i in range %}" + 7 * LINES + "{{ i }}" + 7 * LINES + "{% endfor %}"
FIELDS = ("client", "time", "method", "path", "status", "bytes", "referrer", "agent")
ROWS = "{% for row in rows %}<tr>" + "".join(f"<td>{{{{ row.{name} }}}}</td>" for name in FIELDS) + "</tr>\n{% endfor %}"
# Events that are joined before they are written: the fastest of 16 to 1,024.
BUFFERED = 64


def rows(path):
    with open(path, encoding="utf-8") as file:
        for line in itertools.islice(file, 1, None):
            yield dict(zip(FIELDS, line.rstrip("\n").split("\t")))


def main():
    what, given = sys.argv[1:]
    if what == "rows":
        stream = jinja2.Environment(autoescape=True).from_string(ROWS).stream(rows=rows(given))
    else:
        environment = jinja2.Environment(keep_trailing_newline=True)
        stream = environment.from_string({"doom": DOOM, "cursed": CURSED, "counted": COUNTED}[what]).stream(range=range(int(given)))
    stream.enable_buffering(BUFFERED)
    write = sys.stdout.buffer.write
    for piece in stream:
        write(piece.encode())


main()
