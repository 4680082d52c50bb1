"""The report over a log: speed, memory, and whether what it says is true."""

import json
from functools import partial

import compare_goaccess

from . import goaccess, truths
from .count import READ_BYTES, floor
from .grep import side_by_side
from .jobs import Contender, Job, expect_number

TIMES = 10
GOACCESS_TIMEOUT_SECONDS = 900

# What any report needs at the least, as someone at a shell would write it: hits per hour and status.
AWK_HOUR_STATUS = '{ hits[substr($4, 2, 14) " " $9]++ } END { for (key in hits) print key, hits[key] }'


def ours(name, stages, lines):
    return Contender(name, "ours", stages, expect_report(lines), timeout_seconds=300)


def goaccess_report(log, out):
    """One run: it takes more than a minute, beside which the noise of a run is small."""
    # Else a run that fails would be judged by its predecessor's report.
    out.unlink(missing_ok=True)
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
    their_json = setting.out / "access.goaccess.json"
    contenders = [
        ours("rorqual logs --json", [[setting.programs.rorqual, "logs", "--json", log.path]], log.lines),
        goaccess_report(log, their_json),
        Contender("mawk, hour x status only", "peer", [["mawk", AWK_HOUR_STATUS, log.path]], expect_awk(log.lines)),
        floor("read only, 2 threads", 2, log, setting.programs),
    ]
    verify = partial(against_goaccess, setting.programs.rorqual, log.path, their_json)
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
    their_json = setting.out / "distinct.goaccess.json"
    contenders = [
        ours("rorqual logs --json", [[setting.programs.rorqual, "logs", "--json", log.path]], log.lines),
        goaccess_report(log, their_json),
    ]
    verify = partial(against_truth, setting.programs.rorqual, log.path, setting.data.truth("distinct.log"))
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


def rotated(setting):
    files, log = setting.data.rotated("access.log", 8)
    paths = [str(path) for path in files]
    contenders = [
        ours("rorqual logs --json *.gz", [[setting.programs.rorqual, "logs", "--json", *paths]], log.lines),
        ours("rorqual logs --json --threads 1 *.gz", [[setting.programs.rorqual, "logs", "--json", "--threads", "1", *paths]], log.lines),
        Contender("gzip -dc of one after another, nothing else", "floor", [["sh", "-c", 'exec gzip -dc "$@" > /dev/null', "sh", *paths]]),
        Contender("gzip -dc of as many at a time as there are cores, nothing else", "floor", [side_by_side(paths)]),
    ]
    title = "Analyse the same log in 8 rotated files as gzip (rates are of the unpacked bytes)"
    return Job("logs-rotated", title, log.bytes, contenders, files)


def expect_report(lines):
    """Checks the number of lines; the rest is compared after the runs, by a report with more rows."""

    def check(stdout):
        try:
            report = json.loads(stdout)
        except ValueError as error:
            return f"no JSON: {error}"
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


def against_goaccess(rorqual, log, their_json):
    if not their_json.exists():
        return ["not compared with GoAccess, which did not run"], True
    report = compare_goaccess.our_report(rorqual, log)
    result = compare_goaccess.compare(report, goaccess.load(their_json), log)
    return [f"beside GoAccess: {line}" for line in result.lines()], not result.differs


def against_truth(rorqual, log, truth):
    report = compare_goaccess.our_report(rorqual, log)
    problems = truths.problems(report, truth)
    return problems or ["the report agrees with the generator's truth"], not problems
