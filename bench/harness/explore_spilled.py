"""A hundred million rows in one session under 1 GiB, most of them in the server's temporary file."""

import re

from . import times
from .explore_click import clicks
from .explorer import exploring, pour, sound, temp_bytes

LINES = 100_000_000
MEMORY = "1GiB"
MEMORY_BYTES = 1 << 30
VIEW_SECONDS_MAX = 3.0
# Of the questions of `explore-click` every third: a hundred million rows take their time.
EVERY = 3


def job(setting):
    lines = max(1, int(LINES * setting.scale))
    flags = ("--memory", MEMORY, "--sessions", "1")
    with exploring(setting, *flags) as explorer:
        said = pour(explorer, "site.log", [setting.programs.gen, "site", "-", lines])
        whole, first = explorer.view()
        asked = clicks(whole)[::EVERY]
        before = explorer.serving.cpu_seconds()
        answers = [explorer.view(**question) for question in asked]
        cpu = (explorer.serving.cpu_seconds() - before) / len(answers)
        peak, spilled = explorer.serving.peak_bytes(), temp_bytes(explorer.serving)
    total = int(re.search(r"lines=(\d+)", said).group(1))
    right = whole["lines"]["total"] == total == lines and whole["kept"]["all"]
    inexact = [panel["field"] for panel in whole["panels"] if not panel["exact"]]
    rows = [
        times.row("all panels, the server's own work", "ours", [view["seconds"] for view, _ in answers], peak),
        times.row("all panels, round trip", "ours", [seconds for _, seconds in answers], peak),
        times.row("all panels of all rows, first asked", "ours", [first]),
    ]
    unsound, adds_up = sound(answers)
    sayings = [
        *unsound,
        f"{whole['lines']['total']:,} of {lines:,} lines, kept: {whole['kept']}",
        f"{times.duration(cpu)} of CPU a view, of all threads together",
        f"peak of the server {peak / times.MIB:,.0f} MiB, {spilled / times.MIB:,.0f} MiB in its file ({spilled / lines:.1f} bytes a row)",
        f"not exact: {', '.join(inexact) or 'nothing'}",
        *slowest(answers, asked),
    ]
    goals = [
        times.at_most("slowest view", rows[1]["most"], VIEW_SECONDS_MAX),
        times.at_most("peak", peak, MEMORY_BYTES, "MiB"),
    ]
    return times.job("explore-spilled", f"A click on {lines:,} rows under {MEMORY}", rows, goals, sayings, right and adds_up)


def slowest(answers, asked):
    pairs = sorted(((seconds, question) for (_, seconds), question in zip(answers, asked)), key=lambda pair: -pair[0])
    return [f"slowest: {times.duration(seconds)} {question}" for seconds, question in pairs[:3]]
