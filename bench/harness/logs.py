"""The report over a log: speed, memory, and whether what it says is true."""

import json
from functools import partial

import compare_goaccess

from . import goaccess, truths
from .count import READ_BYTES, floor
from .jobs import Contender, Job, expect_number

TIMES = 10
GOACCESS_TIMEOUT_SECONDS = 900

# What any report needs at the least, as someone at a shell would write it: hits per hour and status.
AWK_HOUR_STATUS = '{ hits[substr($4, 2, 14) " " $9]++ } END { for (key in hits) print key, hits[key] }'


def ours(name, stages, lines, save=None):
    return Contender(name, "ours", stages, expect_report(lines, save), timeout_seconds=300)


def fresh_reports(out, name):
    """Where both put theirs. Old ones go, or a run that fails would be compared by its predecessor's report."""
    paths = [out / f"{name}.{who}.json" for who in ("ours", "goaccess")]
    for path in paths:
        path.unlink(missing_ok=True)
    return paths


def goaccess_report(log, out):
    """One run: it takes more than a minute, beside which the noise of a run is small."""
    return Contender(
        "GoAccess, JSON of all panels",
        "peer",
        [goaccess.argv(log.path, out)],
        lambda _: expect_goaccess(out, log.lines),
        timeout_seconds=GOACCESS_TIMEOUT_SECONDS,
        once=True,
    )


def one(setting):
    log = setting.data.log("access.log")
    our_json, their_json = fresh_reports(setting.out, "access")
    contenders = [
        ours("rorqual logs --json", [[setting.programs.rorqual, "logs", "--json", log.path]], log.lines, our_json),
        goaccess_report(log, their_json),
        Contender("mawk, hour x status only", "peer", [["mawk", AWK_HOUR_STATUS, log.path]], expect_awk(log.lines)),
        floor("read only, 2 threads", 2, log, setting.programs),
    ]
    verify = partial(against_goaccess, our_json, their_json, log.path)
    return Job("logs", "Analyse a 1.5 GiB log", log.bytes, contenders, [log.path], verify)


def ten(setting):
    log = setting.data.log("access.log")
    argv = [setting.programs.rorqual, "logs", "--json", *[log.path] * TIMES]
    read = [setting.programs.floor, "2", str(READ_BYTES), *[log.path] * TIMES]
    contenders = [
        ours(f"rorqual logs --json, {TIMES} files", [argv], TIMES * log.lines),
        Contender("read only, 2 threads", "floor", [read], expect_number(TIMES * log.bytes)),
    ]
    return Job("logs-15g", "Analyse 15 GiB of logs", TIMES * log.bytes, contenders, [log.path])


def distinct(setting):
    log = setting.data.log("distinct.log")
    our_json, their_json = fresh_reports(setting.out, "distinct")
    contenders = [
        ours("rorqual logs --json", [[setting.programs.rorqual, "logs", "--json", log.path]], log.lines, our_json),
        goaccess_report(log, their_json),
    ]
    verify = partial(against_truth, our_json, setting.data.truth("distinct.log"))
    title = "Analyse a 1.5 GiB log with 5.5 million paths and 2.2 million clients"
    return Job("logs-distinct", title, log.bytes, contenders, [log.path], verify)


def gzip(setting):
    log = setting.data.gzip("access.log")
    contenders = [
        ours("rorqual logs --json FILE.gz", [[setting.programs.rorqual, "logs", "--json", log.path]], log.lines),
        ours(
            "gzip -dc | rorqual logs --json -",
            [["gzip", "-dc", log.path], [setting.programs.rorqual, "logs", "--json", "-"]],
            log.lines,
        ),
        # The shell only sends 1.5 GiB elsewhere than to the file that answers are kept in.
        Contender("gzip -dc, nothing else", "floor", [["sh", "-c", 'exec gzip -dc "$0" > /dev/null', log.path]]),
    ]
    title = "Analyse the same log as gzip (rates are of the unpacked bytes)"
    return Job("logs-gz", title, log.bytes, contenders, [log.path])


def expect_report(lines, save):
    """Checks the number of lines; the rest is compared after the runs, with what is kept in `save`."""

    def check(stdout):
        try:
            report = json.loads(stdout)
        except ValueError as error:
            return f"no JSON: {error}"
        if save:
            save.write_bytes(stdout)
        total, complete = report["lines"]["total"], report["complete"]
        return "" if complete and total == lines else f"wrong: {total:,} lines, complete: {complete}"

    return check


def expect_goaccess(path, lines):
    if not path.exists():
        return "no report"
    total = goaccess.load(path)["general"]["total_requests"]
    return "" if total == lines else f"wrong: {total:,} lines"


def expect_awk(lines):
    def check(stdout):
        total = sum(int(line.rsplit(b" ", 1)[1]) for line in stdout.splitlines())
        return "" if total == lines else f"wrong: {total:,} lines"

    return check


def against_goaccess(our_json, their_json, log):
    if not our_json.exists() or not their_json.exists():
        return ["not compared with GoAccess: one of the two reports is missing"], True
    result = compare_goaccess.compare(json.loads(our_json.read_bytes()), goaccess.load(their_json), log)
    return [f"GoAccess says {line}" for line in result.lines()], not result.differs


def against_truth(our_json, truth):
    if not our_json.exists():
        return ["not compared with the truth: our report is missing"], True
    problems = truths.problems(json.loads(our_json.read_bytes()), truth)
    return problems or ["the report agrees with the generator's truth"], not problems
