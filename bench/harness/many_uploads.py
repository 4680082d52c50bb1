"""Many slow uploads at once, looked at by many: testkit's `many` against a server in little memory."""

import json
import subprocess

from . import times
from .serving import Serving

MEMORY_MIB = 512
MIB = 1 << 20
# Beside a connection for each upload, and two for each viewer.
CONNECTIONS_SPARE = 20
TIMEOUT_SECONDS = 900
NAME = "many-uploads"


def jobs():
    return {NAME: job}


def job(setting):
    uploads, rate, seconds, viewers = setting.many
    title = f"{uploads:,} uploads at once, {rate / 1000:g} kB/s and {rate * seconds / 1e6:g} MB each, and {viewers} who look on"
    temp = setting.out / "spill"
    temp.mkdir(exist_ok=True)
    argv = [setting.programs.rorqual, "serve", "--port", "0", "--memory", f"{MEMORY_MIB}MiB", "--sessions", uploads,
            "--connections", uploads + 2 * viewers + CONNECTIONS_SPARE, "--temp-dir", temp]  # fmt: skip
    with Serving(argv) as serving:
        start = serving.cpu_seconds()
        asked = [serving.url(f"/?token={serving.token}"), uploads, rate, seconds, viewers]
        done = subprocess.run([str(arg) for arg in (setting.programs.many, *asked)], stdout=subprocess.PIPE, check=True, timeout=TIMEOUT_SECONDS)
        outcome = json.loads(done.stdout)
        outcome |= {"server_cpu_seconds": serving.cpu_seconds() - start, "server_peak_bytes": serving.peak_bytes()}
    return judged(title, outcome)


def judged(title, outcome):
    """The job: what came of it, held against what is asked."""
    view, upload = outcome["view_seconds"], outcome["upload_seconds"]
    row = times.row("a view of what arrives", "ours", view["all"], outcome["server_peak_bytes"])
    lost, unanswered = sum(outcome["lost"].values()), outcome["views"] - view["count"]
    goals = [
        times.at_most("uploads lost", lost, 0, "uploads"),
        times.at_most("uploads whose totals are wrong", len(outcome["wrong"]), 0, "uploads"),
        times.at_most("views that were not answered", unanswered, 0, "views"),
        times.at_most("peak of the server", outcome["server_peak_bytes"], MEMORY_MIB * MIB, "MiB"),
    ]
    lines = [
        f"{outcome['finished']:,} of {outcome['uploads']:,} finished in {outcome['seconds']:.1f} s, one in {upload['p50']:.1f} s "
        f"(p95 {upload['p95']:.1f} s, most {upload['max']:.1f} s); {outcome['retries']:,} attempts again, {outcome['refused']:,} as asked by Retry-After",
        f"{outcome['views']:,} views and {outcome['live_events']:,} live events; the server took {outcome['server_cpu_seconds']:.1f} CPU seconds",
        *(f"lost: {count} times {reason}" for reason, count in outcome["lost"].items()),
        *(f"WRONG: {what}" for what in outcome["wrong"][:5]),
        *(f"seen: {count} times {what}" for what, count in outcome["errors"].items()),
    ]
    return times.job(NAME, title, [row], goals, lines, not outcome["wrong"], outcome=without_lists(outcome))


def without_lists(outcome):
    """The single times are in the row's `runs`."""
    return {key: {name: one for name, one in value.items() if name != "all"} if isinstance(value, dict) else value for key, value in outcome.items()}
