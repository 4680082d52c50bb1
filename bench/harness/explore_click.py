"""Clicks on a log of ten million rows: the server's own work, the round trip, and the page from the press to the drawing."""

import json
import shutil
import subprocess

from . import times
from .explorer import exploring, load, sound, temp_bytes

LINES = 10_000_000
# What `rorqual serve` takes unless it is told otherwise.
MEMORY = "1GiB"
DRAWN_SECONDS_MAX = 0.25
PAGE_TIMEOUT_SECONDS = 3600

FIELDS = ("path", "client", "net", "status", "method", "site", "referrer", "bot", "browser", "os", "kind", "agent", "user", "protocol")
TEXTS = (
    'path contains "a"', 'path ~ "^/(books|music)/[0-9]+$"', 'path ~ "\\\\.(png|jpg)$"', 'agent ~ "(?i)bot"', 'agent contains "Chrome"',
    'referrer contains "logstash"', 'referrer ~ "google"', 'query contains "page=7"', 'path contains "zq7needle"',
)  # fmt: skip
RANGES = (
    "status >= 400", "status in 300..399", "status >= 400 and not bot", "bytes >= 64KiB", "bytes < 1KiB", "bytes in 10KiB..100KiB",
    "bot", "not bot", "rejected", "hour in 0..6", "weekday in (sat, sun)", "weekday = mon and hour = 14",
)  # fmt: skip
# Of the whole time: from, to.
SPANS = ((0.1, 0.9), (0.3, 0.4), (0.62, 0.64), (0.5, 0.5005))


def clicks(view):
    """Some sixty questions, no two of them the same, of values that the log has."""
    panels = {panel["field"]: [row["value"] for row in panel["rows"]] for panel in view["panels"]}
    first, last = view["time"]["first"], view["time"]["last"]
    asked = []
    for field in (field for field in FIELDS if len(panels.get(field, [])) > 1):
        one, other = map(json.dumps, panels[field][:2])
        asked += [{"where": f"{field} = {one}"}, {"where": f"{field} != {other}"}]
    asked += [{"where": where} for where in TEXTS + RANGES]
    path, client = json.dumps(panels["path"][0]), json.dumps(panels["client"][0])
    for start, end in SPANS:
        span = {"from": first + (last - first) * start, "to": first + (last - first) * end}
        asked += [span, span | {"where": f"path = {path}"}, span | {"where": f"not bot and status < 400 and client != {client}"}]
    asked += [{"where": f"path = {path} and client = {client}"}, {"where": f"path = {path}", "stack": "method"}]
    return asked + [{"stack": stack} for stack in ("method", "kind", "bot", "browser")]


def job(setting):
    log = setting.data.site(max(1, int(LINES * setting.scale)))
    with exploring(setting, "--memory", MEMORY, "--sessions", "1") as explorer:
        whole, loaded = load(explorer, log)
        asked = clicks(whole)
        before = explorer.serving.cpu_seconds()
        answers = [explorer.view(**question) for _ in range(setting.rounds) for question in asked]
        cpu = (explorer.serving.cpu_seconds() - before) / len(answers)
        rows = [explorer.post("rows", **{"from": None, "to": None, "where": "", "offset": 0, "limit": 100} | shorn(question))[1] for question in asked]
        peak, spilled = explorer.serving.peak_bytes(), temp_bytes(explorer.serving)
    page = drawn(setting, log)
    server = [view["seconds"] for view, _ in answers]
    table = [
        times.row("all panels, the server's own work", "ours", server, peak),
        times.row("all panels, round trip", "ours", [seconds for _, seconds in answers], peak),
        times.row("a hundred lines of it, round trip", "ours", rows),
        page_row("Chromium: press to all panels drawn", page, "press_to_drawn_ms"),
        page_row("Chromium: the server's work meanwhile", page, "server_ms"),
    ]
    slowest = sorted(zip(server, asked * setting.rounds), key=lambda pair: -pair[0])[:5]
    unsound, right = sound(answers)
    lines = [
        *unsound,
        f"{len(asked)} questions, each asked {setting.rounds} times; the log came in {loaded:.1f} s ({log.bytes / loaded / 1e6:,.0f} MB/s)",
        f"{times.duration(cpu)} of CPU a view, of all threads together",
        f"peak of the server {peak / times.MIB:,.0f} MiB under --memory {MEMORY}, {spilled / times.MIB:,.0f} MiB in its file",
        *(f"slowest: {times.duration(seconds)} {json.dumps(question)[:140]}" for seconds, question in slowest),
        *(f"slowest on the page: {one['ms']:.0f} ms {one['what']}" for one in page.get("slowest", [])[:3]),
    ]
    goals = [times.at_most("press to all panels drawn, p95", table[3].get("p95"), DRAWN_SECONDS_MAX)]
    title = f"A click on {log.lines:,} rows ({log.bytes / 1e9:.2f} GB)"
    return times.job("explore-click", title, table, goals, lines, right, bytes=log.bytes, page=page)


def shorn(question):
    return {key: question[key] for key in ("from", "to", "where") if key in question}


def drawn(setting, log):
    return of_page(setting, "clicks.mjs", "--program", setting.programs.rorqual, "--file", log.path, "--memory", MEMORY)


def of_page(setting, script, *args):
    """What a script of the page's tests prints; `failure` where it is not there or fails."""
    folder = setting.web
    if not shutil.which("chromium") or not shutil.which("node"):
        return {"failure": "needs node and chromium"}
    if not (folder / "test" / script).exists() or not (folder / "node_modules").exists():
        return {"failure": f"needs {script} and npm ci in {folder.name}"}
    argv = ["node", f"test/{script}", *map(str, args), "--chromium", shutil.which("chromium")]
    try:
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=PAGE_TIMEOUT_SECONDS)
        return json.loads(done.stdout) if done.returncode == 0 else {"failure": (done.stderr.strip().splitlines() or ["failed"])[-1][:200]}
    except (subprocess.TimeoutExpired, ValueError) as error:
        return {"failure": f"{script}: {type(error).__name__}"}


def page_row(name, page, key):
    """Of its quantiles in milliseconds. That the page could not be driven is no fault of the server's."""
    found = page.get(key) or {}
    if found.get("p95") is None:
        return times.skipped(name, page.get("failure", "not measured"))
    seconds = {to: found[of] / 1000 for of, to in (("p50", "p50"), ("p95", "p95"), ("max", "most"))}
    return {"name": name, "role": "ours", "command": "", **seconds, "of": found["count"], "peak_bytes": 0, "failure": None, "runs": []}
