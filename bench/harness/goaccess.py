"""How GoAccess is run, and what its JSON says, in the terms of our report."""

import json
import re
from collections import defaultdict
from datetime import date

# Far above what the logs of the benchmark have of paths; the hosts panel is cut at it, which is fine: only its
# total and its first rows are compared.
ITEMS_MAX = 10_000

# One request is in exactly one of these panels, by its extension and its status.
PATH_PANELS = ("requests", "static_requests", "not_found")


def argv(log, out):
    """The command line of a run that asks nothing, reads no configuration, and sees paths as we do: without query."""
    return [
        "goaccess", str(log), "--log-format=COMBINED", "--no-global-config", "--no-progress",
        "--no-query-string", f"--max-items={ITEMS_MAX}", "-o", str(out),
    ]  # fmt: skip


def load(path):
    """GoAccess decodes paths and writes the bytes as they are, so its JSON may not be UTF-8."""
    with open(path, "rb") as file:
        return json.loads(file.read().decode("utf-8", "replace"))


def statuses(report):
    """{"200": hits}; an item reads "200 - OK: The request sent by the client was successful"."""
    hits = {}
    for group in report["status_codes"]["data"]:
        for item in group.get("items", [group]):
            code = re.match(r"\d+", item["data"])
            hits[code.group() if code else item["data"]] = item["hits"]["count"]
    return hits


def days(report):
    """{date: hits}"""
    text = {row["data"]: row["hits"]["count"] for row in report["visitors"]["data"]}
    return {date(int(day[:4]), int(day[4:6]), int(day[6:])): hits for day, hits in text.items()}


def hours(report):
    """{hour of the day: hits}"""
    return {int(row["data"]): row["hits"]["count"] for row in report["visit_time"]["data"]}


def paths(report):
    """{path: (hits, bytes)}: one path has a row per panel, method and protocol."""
    sums = defaultdict(lambda: (0, 0))
    for panel in PATH_PANELS:
        for row in report.get(panel, {"data": []})["data"]:
            hits, sent = sums[row["data"]]
            sums[row["data"]] = (hits + row["hits"]["count"], sent + row["bytes"]["count"])
    return dict(sums)


def paths_complete(report):
    """False when a path panel was cut at ITEMS_MAX, so that sums over the panels may lack a row."""
    return all(len(report.get(panel, {"data": []})["data"]) < ITEMS_MAX for panel in PATH_PANELS)


def clients(report):
    """{address: (hits, bytes)} of the most frequent"""
    return {row["data"]: (row["hits"]["count"], row["bytes"]["count"]) for row in report["hosts"]["data"]}


def clients_distinct(report):
    return report["hosts"]["metadata"]["data"]["total"]["value"]


def distinct_as_counted(values):
    """How many of these GoAccess tells apart: it keys its tables by a 32-bit hash (djb2) of the text."""
    return len({djb2(value) for value in values})


def djb2(text):
    digest = 5381
    for byte in text:
        digest = (digest * 33 + byte) & 0xFFFF_FFFF
    return digest
