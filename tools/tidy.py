#!/usr/bin/env python3
"""Mechanical rules of the tree, each with what to use instead. What clippy and cargo-deny can check is theirs."""

import json
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

# What a source line may not contain, in which files (a path's start), except where, and what to use instead.
LINES = [
    (r"\bthread::(spawn|scope|Builder)\b|\brayon::", "crates/", ("crates/pipe/src/run.rs", "crates/cli/src/progress.rs", "crates/serve/src/fuzzing.rs", "/tests/", "/examples/", "crates/testkit/"),
     "only pipe/src/run.rs starts threads: write a Stage and call run()"),
    (r"\bFile::(open|create)\b|\bfs::(read|write|read_to_string)\b|\bOpenOptions\b", "crates/",
     ("crates/pipe/src/input.rs", "crates/pipe/src/gather.rs", "crates/pipe/src/stats.rs", "crates/fetch/src/part.rs", "crates/fetch/src/sidecar.rs",
      "crates/store/src/disk.rs", "crates/serve/src/http/secrets.rs", "crates/serve/src/state", "crates/serve/src/corpus.rs", "crates/cli/src/verbs/", "crates/render/src/folder.rs", "crates/query/src/temp.rs", "crates/query/src/statement.rs", "crates/cluster/src/trust.rs", "/build.rs", "/tests/", "/examples/", "crates/testkit/"),
     "files are opened by Input::open (pipe/src/input.rs), the store's by its disk.rs, parts by fetch, templates by render's folder.rs, token and key by serve's secrets.rs, kept sessions by its state/, and by the verbs"),
    (r"\b(MmapMut|Mmap|MmapOptions)\b", "crates/", ("crates/pipe/src/pool.rs",), "payload memory is leased from pipe's Pool"),
    (r"#\[ignore", "crates/", (), "a test that may be left out is not a test: make it fast, or make it a benchmark"),
    (r"\bunsafe\b(?!-none)", "crates/", (), "unsafe_code is forbidden: take a crate that has the safe call"),
    (r"\bTcp(Listener|Stream)\b|\btokio::", "crates/pipe/", (), "pipe opens no socket and starts no runtime: that is serve's and cli's"),
    (r"\btest\.(only|skip)\b|\bit\.(only|skip)\b|\bdescribe\.(only|skip)\b", "web/", (), "all tests run, always"),
    (r"\{@html", "web/src/", (), "log text is only ever a text node"),
]

# Crates that a crate may not depend on, and why.
DEPENDENCIES = [
    ("rorqual-pipe", r"tokio|hyper|axum|arrow.*|reqwest|serde_json", "pipe knows bytes: no sockets, no runtime, no Arrow"),
    ("rorqual-render", r"tokio|hyper|axum|arrow.*|reqwest", "render knows templates: rows are a trait, and where they come from is the caller's"),
    ("rorqual-accesslog", r"tokio|hyper|axum|reqwest", "accesslog knows columns: no sockets, no runtime"),
    ("rorqual-shell", r"tokio|hyper|axum|arrow.*|reqwest", "shell is small: both programs link it"),
    ("rorqual", r"axum|hyper|reqwest", "only serve and fetch know HTTP"),
    ("rorqual", r"datafusion.*|object_store|rorqual-query|rorqual-cluster", "only query and cluster know the engine, in programs of their own"),
]

# Libraries, whose texts name no flag: a Setting in them is worded by the program that runs.
FLAGLESS = ("accesslog", "columnar", "crossfilter", "digest", "fetch", "pipe", "render", "search", "serve", "store")
# Other programs, whose flags a text may name.
OTHER_PROGRAMS = ("journalctl ",)

PROSE_COLUMNS_MAX = 110

# Documents that stay short: their lines, and the words of a paragraph, at most.
SHORT = {"README.md": (130, 90), "ARCHITECTURE.md": (260, 90)}

# Types of one name in the sources, columns of a comment line, and the share of "what" among the words of comments: the
# habits of the best codebases (ripgrep, hyper, parquet), measured.
NAMES_MAX = 1
COMMENT_COLUMNS_MAX = 100
WHAT_SHARE_MAX = 0.003
RIDDLES = r"(What|Who|Whose|Whom|Those|Where|Whether|How|That|Which|When|Why|As|And)\b"

# Modules of a crate that import one another in a circle, at most.
CIRCLE_MAX = {"serve": 3, "crossfilter": 3, "columnar": 3, "query": 3, "cli": 3, "accesslog": 7, "pipe": 5}

BLOB_BYTES_MAX = 1 << 20
BLOBS = {"samples/apache_combined.log"}


def main():
    paths = [path for path in listed_files() if (TOP / path).is_file()]
    problems = [*blobs(paths), *lines(paths), *names(paths), *comments(paths), *dependencies(), *limits(paths), *threats(paths), *circles(paths), *documents(paths), *query_flags(), *flags_of_libraries(paths), *settings(paths)]
    problems += run(["tools/limits.py", "--check"], fails=True).splitlines()
    for problem in problems:
        print(problem)
    print(f"tidy: {len(problems)} problems in {len(paths)} files")
    return 1 if problems else 0


def listed_files():
    """Tracked files, and new ones that are not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    return [path for path in run(command).split("\0") if path]


def circles(paths):
    """Modules of a crate import one another in small circles, by `use crate::`; tests aside."""
    for crate, most in CIRCLE_MAX.items():
        for circle in circles_of(paths, f"crates/{crate}/src/"):
            if len(circle) > most:
                yield f"crates/{crate}/src: {', '.join(sorted(circle))} import one another in a circle; it has at most {most} modules"


def circles_of(paths, folder):
    modules = {}
    for path in paths:
        if path.startswith(folder) and path.endswith(".rs") and not re.search(r"(_tests|fuzzing|corpus)\.rs$", path):
            name = re.sub(r"(/mod)?\.rs$", "", path.removeprefix(folder)).replace("/", "::")
            modules[name] = re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", (TOP / path).read_text())[0]
    imports = {name: {target for target in imported(text, modules) if target != name} for name, text in modules.items()}
    reached = {name: reachable(name, imports) for name in modules}
    return {frozenset(other for other in reached[name] if name in reached[other]) for name in modules}


def imported(text, modules):
    for path in re.findall(r"\bcrate::([\w:]+)(?:::\{)?", re.sub(r"//.*", "", text)):
        parts = path.strip(":").split("::")
        prefixes = ("::".join(parts[:count]) for count in range(len(parts), 0, -1))
        yield from [prefix for prefix in prefixes if prefix in modules][:1]
    for folder, names in re.findall(r"\bcrate::([\w:]+)::\{([^}]*)\}", text):
        yield from (module for name in names.split(",") if (module := f"{folder}::{name.split('::')[0].strip()}") in modules)


def reachable(start, imports):
    found, open_ends = set(), [start]
    while open_ends:
        new = imports[open_ends.pop()] - found
        found |= new
        open_ends += new
    return found


def blobs(paths):
    for path in paths:
        size = (TOP / path).stat().st_size
        if size > BLOB_BYTES_MAX and path not in BLOBS:
            yield f"{path}: {size} bytes; a file above 1 MiB is generated (testkit's gen), not committed"


def lines(paths):
    for path in paths:
        rules = [rule for rule in LINES if path.startswith(rule[1]) and not any(part in path for part in rule[2])]
        if not rules or not path.endswith((".rs", ".ts", ".svelte", ".mjs")):
            continue
        for number, line in enumerate((TOP / path).read_text().splitlines(), 1):
            code = line.split("//")[0]
            for pattern, _, _, instead in rules:
                if re.search(pattern, code):
                    yield f"{path}:{number}: {instead}: {line.strip()}"


def names(paths):
    """A type's name stands for one thing in the workspace; tests name theirs as they like."""
    places = {}
    for path in paths:
        if path.startswith("crates/") and "/src/" in path and path.endswith(".rs"):
            for name in re.findall(r"^\s*(?:pub(?:\([a-z ]+\))? )?(?:struct|enum|trait|union) ([A-Z]\w*)", (TOP / path).read_text(), re.MULTILINE):
                places.setdefault(name, []).append(path)
    for name, found in places.items():
        if len(found) > NAMES_MAX:
            yield f"{found[0]}: {name} is also in {', '.join(found[1:])}: a type's name stands for one thing"


def comments(paths):
    """Comments in short lines and plain words; a doc comment begins with the thing itself."""
    words, whats = 0, []
    for path in paths:
        if not path.endswith(".rs") or not path.startswith(("crates/", "fuzz/")):
            continue
        within = False
        for number, line in enumerate((TOP / path).read_text().splitlines(), 1):
            text = re.match(r"\s*(//[/!]?)(?!/)\s?(.*)", line)
            if not text:
                within = False
                continue
            is_table = text[2].startswith("|")
            if len(line) > COMMENT_COLUMNS_MAX and not is_table:
                yield f"{path}:{number}: {len(line)} columns; a comment line has at most {COMMENT_COLUMNS_MAX}"
            if text[1] != "//" and not within and re.match(RIDDLES, text[2]):
                yield f"{path}:{number}: a doc comment begins with the thing itself, a noun or a verb: {text[2].strip()}"
            within = text[1] != "//" and bool(text[2].strip())
            found = re.findall(r"[A-Za-z']+", text[2])
            words += len(found)
            whats += [f"{path}:{number}"] * sum(word.lower() == "what" for word in found)
    if len(whats) > words * WHAT_SHARE_MAX:
        yield f"{len(whats)} times \"what\" in {words} words of comments; name the thing: {' '.join(whats[:8])} …"


def limits(paths):
    """Limits have a doc comment that says what they cost."""
    for path in paths:
        if not path.endswith("/limits.rs"):
            continue
        before = ""
        for number, line in enumerate((TOP / path).read_text().splitlines(), 1):
            if re.match(r"pub(\(crate\))? const [A-Z]", line) and not before.startswith("///"):
                yield f"{path}:{number}: a limit without a doc comment"
            before = line


def documents(paths):
    """Prose that can be read beside a diff, short main documents, links and names that lead somewhere."""
    words = None
    for path in paths:
        if not path.endswith(".md"):
            continue
        text = (TOP / path).read_text()
        for number, line in prose(text):
            if len(line) > PROSE_COLUMNS_MAX and " " in line.strip():
                yield f"{path}:{number}: {len(line)} columns; prose has at most {PROSE_COLUMNS_MAX}"
        yield from too_long(path, text)
        yield from dead_links(path, text)
        if path == "ARCHITECTURE.md" or path.startswith("docs/design/"):
            yield from missing_files(path, text)
            words = words or source_words(paths)
            for name in re.findall(r"`([A-Z][a-z]\w*)(?:::\w+)?`", text):
                if name not in words:
                    yield f"{path}: no source has {name}: call it by its name"


def query_flags():
    """The page of rorqual-query has its flags; a test holds the pages of the other verbs to --help."""
    source = "".join((TOP / path).read_text() for path in ("crates/query/src/args.rs", "crates/shell/src/args.rs"))
    fields = re.findall(r"#\[arg\((?:short, )?long\b[^\n]*\]\s*pub(?:\(crate\))? (\w+):", source)
    flags = {"--" + field.replace("_", "-") for field in fields}
    table = (TOP / "docs/query.md").read_text().split("### Flags of")[1]
    told = {flag for row in re.findall(r"^\| (`-.*?) \|", table, re.MULTILINE) for flag in re.findall(r"--[a-z-]+", row)}
    for flag in sorted(flags ^ told):
        yield f"docs/query.md: {flag} is in {'its table' if flag in told else 'crates/query/src/args.rs'} alone"


def flags_of_libraries(paths):
    """Texts of libraries name no flag, tests aside."""
    starts = tuple(f"crates/{crate}/src/" for crate in FLAGLESS)
    for path in paths:
        if not path.startswith(starts) or not path.endswith(".rs") or path.endswith("_tests.rs"):
            continue
        code = re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", (TOP / path).read_text())[0]
        # Comments go first, as long as they are lines of their own; a literal may have several lines.
        code = re.sub(r"^\s*//.*$", "", code, flags=re.MULTILINE)
        for literal in re.finditer(r"""'\\?"'|\br(#*)".*?"\1|"(?:[^"\\]|\\.)*\"""", code, re.DOTALL):
            flag = re.search(r"(?<![\w-])--[a-z][a-z-]+", literal[0])
            if flag and not any(program in literal[0] for program in OTHER_PROGRAMS):
                yield f"{path}: a text names {flag[0]}: name a Setting, or let the caller say it"


def settings(paths):
    """Every setting that a library names is a flag, which the page of its verb has."""
    pages = "".join((TOP / path).read_text() for path in paths if path.startswith("docs/") and path.endswith(".md"))
    flags = set(re.findall(r"--[a-z][a-z-]+", pages))
    for path in paths:
        if path.startswith("crates/") and path.endswith("/setting.rs"):
            for name in re.findall(r'= Setting::(?:new|of)\((?:"[a-z ]+", )?"([a-z-]+)"\)', (TOP / path).read_text()):
                if f"--{name}" not in flags:
                    yield f"{path}: no program has a flag --{name}"


def prose(text):
    """Numbered lines, but for code, tables, headings, pictures, comments, and lines that are hardly more than a link."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith(("    ", "|", "#", "![", "<!--", "[`", "```")):
            yield number, re.sub(r"\]\([^)]*\)", "]", line)


def too_long(path, text):
    lines_max, words_max = SHORT.get(path, (None, None))
    if lines_max is None:
        return
    count = len(text.splitlines())
    if count > lines_max:
        yield f"{path}: {count} lines; it has at most {lines_max}: what explains a mechanism goes to docs/"
    words, last = 0, 0
    for number, line in [*prose(text), (0, "")]:
        new = number != last + 1 or not line.strip() or re.match(r" *([*-]|\d+\.) ", line)
        words = len(line.split()) + (0 if new else words)
        last = number
        if words > words_max:
            yield f"{path}:{number}: a paragraph of more than {words_max} words"
            words = 0


def dead_links(path, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        page = (TOP / path).parent / name if name else TOP / path
        if not page.exists():
            yield f"{path}: there is no {name}"
        elif anchor and page.suffix == ".md" and anchor not in anchors(page.read_text()):
            yield f"{path}: {name or path} has no heading #{anchor}"


def missing_files(path, text):
    """Files that a design page names by their path, from the top or below crates/."""
    for name in re.findall(r"`(\w+/(?:src|tests)/[\w./]*)`", text):
        if not (TOP / "crates" / name).exists() and not (TOP / name).exists():
            yield f"{path}: there is no {name}"


def source_words(paths):
    sources = (TOP / path for path in paths if path.startswith("crates/") and path.endswith(".rs"))
    return {word for source in sources for word in re.findall(r"\b[A-Z]\w+", source.read_text())}


def anchors(text):
    """Headings as GitHub names them in addresses."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def threats(paths):
    """Every threat in SECURITY.md names tests that there are, and links to their files."""
    tests = {}
    for path in paths:
        if path.startswith("crates/") and path.endswith(".rs"):
            for name in re.findall(r"#\[(?:tokio::)?test[^\]]*\]\s*(?:async )?fn (\w+)", (TOP / path).read_text()):
                tests.setdefault(name, []).append(path)
    text = (TOP / "SECURITY.md").read_text()
    links = dict(re.findall(r"^\[`(\w+)`\]: (\S+)$", text, re.MULTILINE))
    for threat, shown in re.findall(r"^\| ([^|]+) \|[^|]*\| ([^|]+) \|$", text, re.MULTILINE):
        names = re.findall(r"`(\w+)`", shown)
        if threat != "threat" and not threat.startswith("-") and not names:
            yield f"SECURITY.md: no test shows: {threat}"
        for name in names:
            if name not in tests:
                yield f"SECURITY.md: there is no test {name}: name the one that shows: {threat}"
            elif links.get(name) not in tests[name]:
                yield f"SECURITY.md: {name} is in {tests[name][0]}: its link says {links.get(name)}"


def dependencies():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    metadata = json.loads(run(command))
    for package in metadata["packages"]:
        if package["source"] is None:
            yield from forbidden(package)


def forbidden(package):
    for crate, pattern, reason in DEPENDENCIES:
        for dependency in package["dependencies"]:
            own = dependency["kind"] is None and crate == package["name"]
            if own and re.fullmatch(pattern, dependency["name"]):
                yield f"{package['name']} depends on {dependency['name']}: {reason}"


def run(command, fails=False):
    """The output of a command, which may end with an error only where `fails` says so."""
    return subprocess.run(command, cwd=TOP, check=not fails, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
