"""ripgrep's integration tests: those whose shape is read here (files made, a command, what it prints) and whose flags `rorqual grep` has."""

import re
import subprocess
import tempfile
from pathlib import Path

from suites import Suite, Verdict

# ripgrep searches below the present folder, without hidden files and what git ignores, with names where there are several files.
FILES = ["--sort=path"]

# ripgrep's flags that have another name here.
RENAMED = {
    "-r": "--replace", "-s": "--no-ignore-case", "--case-sensitive": "--no-ignore-case", "-j": "--threads", "--threads": "--threads", "-d": "--max-depth",
    "--maxdepth": "--max-depth", "-L": "-R", "--follow": "-R", "--files-without-match": "--files-without-match", "-0": "-Z", "--null": "--null",
}
SAME = {
    "-A", "--after-context", "-B", "--before-context", "-C", "--context", "-F", "--fixed-strings", "-H", "--with-filename", "-M", "--max-columns", "-S",
    "--smart-case", "-a", "--text", "-b", "--byte-offset", "-c", "--count", "-e", "--regexp", "-f", "--file", "-g", "--glob", "-i", "--ignore-case", "-l",
    "--files-with-matches", "-m", "--max-count", "-n", "--line-number", "-o", "--only-matching", "-q", "--quiet", "-v", "--invert-match", "-w",
    "--word-regexp", "-x", "--line-regexp", "--column", "--crlf", "--json", "--max-depth", "--null-data", "--replace", "--line-buffered", "--no-messages", "--no-filename", "-U",
    "--multiline",
}
# What a flag changes that is so here anyway.
IDLE = {"--no-heading", "--no-line-number", "-N", "--no-mmap", "--mmap", "--no-config", "--color=never", "--no-pcre2", "--no-ignore-messages", "--no-require-git"}
VALUED = {
    "-A", "--after-context", "-B", "--before-context", "-C", "--context", "-M", "--max-columns", "-e", "--regexp", "-f", "--file", "-g", "--glob", "-m",
    "--max-count", "-r", "--replace", "-j", "--threads", "-d", "--max-depth", "--maxdepth", "--sort", "--color", "--colors",
}

REASONS = {
    "feature::f129_*": "a line beyond -M is cut, with how much is missing, instead of being left out",
    "feature::f416_crlf_only_matching": "what -o prints ends with a newline",
    "feature::f1207_auto_encoding": "UTF-32 is searched as the bytes it is",
    "misc::count_matches_via_only": "-c counts lines, as grep's does, also with -o",
    "misc::ignore_ripgrep*": ".rgignore is ripgrep's own file",
    "misc::ignore_git_parent_stop*": "--gitignore looks at all folders above, also above a repository",
    "misc::unrestricted3": "NULs are bytes, not the end of the search",
    "misc::binary_*": "NULs are bytes, not the end of the search",
    "regression::r90": "hidden files are left out by a glob here, which no list of git takes back",
    "regression::r553_flag": "groups are told apart with -C0 too, as by grep",
    "regression::r1130": "-L ends with 1 where no line was selected, as of old",
    "regression::r3108*": "-L ends with 1 where no line was selected, as of old",
    "regression::r1891": "-o prints no empty matches, as grep",
    "regression::r2480": "a pattern that is no expression by itself, as )(, is refused",
}


class NotRead(Exception):
    """A case whose shape is not read, or that needs what is not here."""


class Differs(Exception):
    pass


def run(folder, programs):
    hay = constants((folder / "tests/hay.rs").read_text())
    for path in sorted((folder / "tests").glob("*.rs")):
        for name, body in cases(path.read_text()):
            case = f"{path.stem}::{name}"
            with tempfile.TemporaryDirectory() as place:
                try:
                    Interpreter(Path(place), programs.rorqual, hay).run(body)
                    yield Verdict(case, True)
                except NotRead as reason:
                    yield Verdict(case, None, str(reason))
                except Differs as detail:
                    yield Verdict(case, False, str(detail))


def cases(text):
    for match in re.finditer(r"^rgtest!\(\s*(\w+),\s*\|[^|]*\|\s*\{$(.*?)^\}\);", text, re.M | re.S):
        yield match.group(1), match.group(2)


def constants(text):
    found = {}
    for match in re.finditer(r"const (\w+): &'static str =\s*", text):
        found[match.group(1)] = next(tokens(text[match.end() :]))[1]
    return found


TOKEN = re.compile(
    r"""\s+|//[^\n]*
    |(?P<raw>b?r(?P<hashes>\#*)"(?s:.*?)"(?P=hashes))
    |(?P<text>b?"(?:[^"\\]|\\(?s:.))*")
    |(?P<byte>b?'(?:[^'\\]|\\.[^']*)')
    |(?P<name>[A-Za-z_]\w*!?)|(?P<number>\d\w*)|(?P<mark>::|=>|[-+*/&.,;:=(){}\[\]<>!?|\#%@$'])""",
    re.X,
)


def tokens(text):
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise NotRead("its shape is not read")
        at = match.end()
        kind = match.lastgroup
        if match.group("raw") is not None:
            yield "text", match.group("raw").lstrip("br").strip("#")[1:-1].encode()
        elif match.group("text") is not None:
            yield "text", unescaped(match.group("text").lstrip("b")[1:-1])
        elif kind is not None:
            yield kind, match.group()


def unescaped(text):
    text = re.sub(r"\\\n\s*", "", text)
    simple = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0", "\\": b"\\", '"': b'"', "'": b"'"}
    parts = re.split(r"\\(x[0-9A-Fa-f]{2}|u\{[0-9A-Fa-f]+\}|.)", text)
    out = b""
    for index, part in enumerate(parts):
        if index % 2 == 0:
            out += part.encode()
        elif part[0] == "x":
            out += bytes([int(part[1:], 16)])
        elif part[0] == "u" and len(part) > 1:
            out += chr(int(part[2:-1], 16)).encode()
        else:
            out += simple[part]
    return out


class Parser:
    """Statements of the few shapes that most cases have, as nested tuples."""

    def __init__(self, text):
        self.tokens = list(tokens(text))
        self.at = 0

    def peek(self, *values):
        return self.at < len(self.tokens) and self.tokens[self.at][0] != "text" and self.tokens[self.at][1] in values

    def take(self, *values):
        if values and not self.peek(*values):
            raise NotRead("its shape is not read")
        if self.at >= len(self.tokens):
            raise NotRead("its shape is not read")
        self.at += 1
        return self.tokens[self.at - 1]

    def statements(self):
        while self.at < len(self.tokens):
            if self.peek("let"):
                self.take()
                if self.peek("mut"):
                    self.take()
                name = self.take()[1]
                while not self.peek("="):
                    self.take()
                self.take("=")
                yield "let", name, self.expression()
            else:
                yield "do", self.expression()
            self.take(";")

    def expression(self):
        while self.peek("&", "*"):
            self.take()
        kind, value = self.take()
        if kind == "text":
            made = ("text", value)
        elif kind == "number":
            made = ("number", int(value.replace("_", "")))
        elif value == "[":
            made = ("list", self.list("]"))
        elif kind == "name" and self.peek("("):
            self.take()
            made = ("call", value, self.list(")"))
        elif kind == "name":
            made = ("name", value)
        else:
            raise NotRead("its shape is not read")
        while self.peek("."):
            self.take()
            method = self.take()[1]
            self.take("(")
            made = ("method", made, method, self.list(")"))
        return made

    def list(self, end):
        items = []
        while not self.peek(end):
            items.append(self.expression())
            if not self.peek(end):
                self.take(",")
        self.take(end)
        return items


class Command:
    def __init__(self, folder):
        self.args = []
        self.folder = folder


class Interpreter:
    def __init__(self, folder, program, names):
        self.folder = folder
        self.program = program
        self.names = dict(names)
        self.names["cmd"] = Command(folder)

    def run(self, body):
        # All of a case is read before any of it is run.
        for statement in list(Parser(body).statements()):
            if statement[0] == "let":
                self.names[statement[1]] = self.value(statement[2])
            else:
                self.value(statement[1])

    def value(self, node):
        kind = node[0]
        if kind in ("text", "number"):
            return node[1]
        if kind == "list":
            return [self.value(item) for item in node[1]]
        if kind == "name" and node[1] in self.names:
            return self.names[node[1]]
        if kind == "call":
            return self.call(node[1], [self.value(item) for item in node[2]])
        if kind == "method" and node[1] == ("name", "dir"):
            return self.make(node[2], [self.value(item) for item in node[3]])
        if kind == "method":
            return self.method(self.value(node[1]), node[2], [self.value(item) for item in node[3]])
        raise NotRead("its shape is not read")

    def call(self, name, args):
        if name == "sort_lines":
            return b"".join(line + b"\n" for line in sorted(args[0].strip().splitlines()))
        if name in ("eqnice!", "eqnice_repr!", "assert_eq!") and len(args) == 2:
            if args[0] != args[1]:
                raise Differs(f"  expected {args[0]!r}\n  printed  {args[1]!r}")
            return None
        raise NotRead("its shape is not read")

    def make(self, name, args):
        if name == "command":
            return Command(self.folder)
        path = self.folder / args[0].decode()
        if name in ("create", "create_bytes"):
            path.write_bytes(args[1])
        elif name == "create_dir":
            path.mkdir(parents=True, exist_ok=True)
        elif name == "link_file" or name == "link_dir":
            (self.folder / args[1].decode()).symlink_to(path)
        else:
            raise NotRead("its shape is not read")
        return None

    def method(self, of, name, args):
        if isinstance(of, bytes) and name in ("to_string", "into", "as_str", "as_bytes", "clone"):
            return of
        if not isinstance(of, Command):
            raise NotRead("its shape is not read")
        if name in ("arg", "args"):
            of.args += args[0] if name == "args" else [args[0]]
            return of
        if name == "current_dir":
            of.folder = self.folder / args[0].decode()
            return of
        if name == "stdout":
            code, out, err = self.start(of)
            if code != 0:
                raise Differs(f"  exit code {code}, printed {out!r}, said {err!r}")
            return out
        if name == "pipe":
            code, out, err = self.start(of, args[0])
            if code != 0:
                raise Differs(f"  exit code {code}, printed {out!r}, said {err!r}")
            return out
        if name in ("assert_err", "assert_exit_code", "assert_non_empty_stderr"):
            code, out, err = self.start(of)
            right = {"assert_err": code != 0, "assert_exit_code": args == [code], "assert_non_empty_stderr": code != 0 and err}[name]
            if not right:
                raise Differs(f"  {name} {args}: exit code {code}, printed {out!r}, said {err!r}")
            return None
        raise NotRead("its shape is not read")

    def start(self, command, stdin=None):
        args = translated([os_text(arg) for arg in command.args], command.folder, stdin is not None)
        if stdin is not None and not isinstance(stdin, bytes):
            raise NotRead("its shape is not read")
        feed = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        ran = subprocess.run([self.program, "grep", *args], cwd=command.folder, capture_output=True, timeout=60, **feed)
        return ran.returncode, ran.stdout, ran.stderr


def os_text(arg):
    if isinstance(arg, int):
        return str(arg)
    return arg.decode("utf-8", "surrogateescape")


def translated(typed, folder, piped):
    """ripgrep's arguments as ours."""
    args, operands, ignored, hidden, pattern_given = [], [], True, False, False
    rest = iter(split(typed))
    for flag, value in rest:
        if flag is None:
            operands.append(value)
            continue
        if flag in ("-u", "--unrestricted", "--no-ignore"):
            ignored, hidden = False, hidden or (flag == "-u" and not ignored)
            continue
        if flag in ("--hidden", "-."):
            hidden = True
            continue
        if flag in IDLE or f"{flag}={value}" in IDLE or flag == "--sort":
            continue
        pattern_given |= flag in ("-e", "--regexp", "-f", "--file")
        name = RENAMED.get(flag) or (flag if flag in SAME else None)
        if name is None:
            raise NotRead(f"a flag that is not here: {flag}")
        args += [name] if value is None else [f"{name}={value}"] if name.startswith("--") else [name, value]
    piped = piped and "-f-" not in typed
    paths = operands if pattern_given else operands[1:]
    if not paths and not piped:
        args += ["-r"] if "-R" not in args else []
    elif any((folder / path).is_dir() for path in paths):
        args += ["-r"] if "-R" not in args else []
    if ignored:
        args.append("--gitignore")
    return [*FILES, *([] if hidden else ["-g!.*"]), *args, "--", *operands]


def split(typed):
    """Flags one by one, each with its value; (None, operand) for the rest."""
    rest = iter(typed)
    for arg in rest:
        if arg == "--":
            yield from ((None, operand) for operand in rest)
        elif arg.startswith("--"):
            flag, equal, value = arg.partition("=")
            yield flag, value if equal else next(rest, "") if flag in VALUED else None
        elif arg.startswith("-") and len(arg) > 1:
            letters = arg[1:]
            while letters:
                flag, letters = f"-{letters[0]}", letters[1:]
                if flag in VALUED:
                    yield flag, letters.removeprefix("=") if letters else next(rest, "")
                    break
                yield flag, None
        else:
            yield None, arg


SUITE = Suite("ripgrep", "git clone --depth 1 https://github.com/BurntSushi/ripgrep ripgrep", run, REASONS)
