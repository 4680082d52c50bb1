"""Views while a log of 1 GiB arrives, and the page's frames meanwhile."""

import time
from concurrent.futures import ThreadPoolExecutor

from . import times
from .explore_click import MEMORY, clicks, of_page, page_row
from .explorer import Refused, exploring, sound

LINES = 4_750_000
VIEW_SECONDS_MAX = 0.4
FRAME_SECONDS_MAX = 0.016
# The page asks at most so often while lines arrive.
PAUSE_SECONDS = 0.1


def job(setting):
    log = setting.data.site(max(1, int(LINES * setting.scale)))
    answers, peaks, uploads = [], [], []
    for _ in range(setting.rounds):
        with exploring(setting, "--memory", MEMORY, "--sessions", "1") as explorer:
            seconds, found = while_sending(explorer, log)
            uploads.append(seconds)
            answers += found
            peaks.append(explorer.serving.peak_bytes())
    page = of_page(setting, "frames.mjs", "--program", setting.programs.rorqual, "--file", log.path, "--memory", MEMORY)
    rows = [
        times.row("all panels of what has come, round trip", "ours", [seconds for _, seconds in answers], max(peaks)),
        times.row("the server's own work", "ours", [view["seconds"] for view, _ in answers], max(peaks)),
        page_row("Chromium: work a frame", page, "work_ms"),
        page_row("Chromium: CPU a frame", page, "cpu_ms"),
        page_row("Chromium: press to answer", page, "press_to_answer_ms"),
    ]
    unsound, right = sound(answers)
    lines = [*unsound, f"{len(answers)} views while the log came {setting.rounds} times, in {', '.join(f'{seconds:.1f} s' for seconds in uploads)}"]
    goals = [
        times.at_most("slowest view while it arrives", rows[0].get("most"), VIEW_SECONDS_MAX),
        times.at_most("work of the page a frame, p95", rows[2].get("p95"), FRAME_SECONDS_MAX),
    ]
    title = f"Views while {log.bytes / (1 << 30):.2f} GiB arrive"
    return times.job("explore-arriving", title, rows, goals, lines, right, bytes=log.bytes, page=page)


def while_sending(explorer, log):
    """Seconds of the upload, and the views that were answered before its end."""
    explorer.begin(log.path.name, size=log.bytes)

    def send():
        start = time.perf_counter()
        with open(log.path, "rb") as file:
            explorer.beside().send(file, log.bytes)
        return time.perf_counter() - start

    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(send)
        found = views_until(explorer.beside(), sent)
        return sent.result(), found


def views_until(explorer, sent):
    """A question after the other, each once, as somebody who looks round; the first ones of nothing but the first lines."""
    found, asked = [], []
    while not sent.done():
        try:
            answer = explorer.view(**(asked.pop(0) if asked else {}))
        except Refused:
            time.sleep(PAUSE_SECONDS)  # no format is known before the first lines
            continue
        if not answer[0]["complete"]:
            found.append(answer)
        asked = asked or (clicks(answer[0]) if answer[0]["time"] else [])
        time.sleep(PAUSE_SECONDS)
    return found
