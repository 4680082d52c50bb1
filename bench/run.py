#!/usr/bin/env python3
"""Measure rorqual beside the best tools for each job and beside the machine's floor, on the same bytes, in one run.

  bench/run.py                  everything: some two hours, most of them the peers'
  bench/run.py --quick          3 rounds, without GoAccess and the browser; kept apart as results/quick.*
  bench/run.py --only count     a job, or all whose name starts so; may be given again
  bench/run.py --no-browser     without the uploads from real browsers

Results: bench/results/latest.json with every raw run, and latest.svg. See bench/README.md.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from harness import bindings, count, explore_arriving, explore_click, explore_explain, explore_peers, explore_spilled, explore_tables, explorer
from harness import fetch, grep, hashing, logs, machine, many_uploads, render, render_http, results, store, store_http, svg, tables, times
from harness import upload_browser, upload_curl
from harness.data import Data
from harness.jobs import MANY, Programs, Setting
from harness.measure import Runner, warm

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "release"

# Jobs that drive a real browser.
BROWSER = "upload-browser"

# Jobs that need the libraries for other languages.
LANGUAGES = ("elixir", "python")

ROUNDS = 5
ROUNDS_QUICK = 3


JOBS = {
    "count": count.plain,
    "count-nul": count.nul,
    "count-sparse": count.sparse,
    **grep.jobs(),
    **hashing.jobs(),
    **fetch.jobs(),
    **store.jobs(),
    **store_http.jobs(),
    **tables.jobs(),
    **render.jobs(),
    **render_http.jobs(),
    "logs": logs.one,
    "logs-15g": logs.ten,
    "logs-distinct": logs.distinct,
    "logs-gz": logs.gzip,
    "logs-rotated": logs.rotated,
    **upload_curl.jobs(),
    **upload_browser.jobs(BENCH / "browser"),
    **many_uploads.jobs(),
    "explore-click": explore_click.job,
    "explore-spilled": explore_spilled.job,
    "explore-peers": explore_peers.job,
    "explore-explain": explore_explain.job,
    "explore-arriving": explore_arriving.job,
    "explore-tables": explore_tables.job,
    **bindings.jobs(),
}


def main():
    args = arguments()
    # Peers that are built from source come before the distribution's; nginx is not in everyone's PATH.
    os.environ["PATH"] = os.pathsep.join([str(BENCH / "data" / "peers" / "bin"), os.environ["PATH"], "/usr/sbin"])
    if not quiet_enough(args):
        return 2
    if not args.no_build:
        build(args)
    setting = prepare(args)
    fresh = header(setting.programs)
    for name in chosen(args):
        load = list(os.getloadavg())
        # A later run leaves it as it is, with other programs beside it.
        job = done_by(name, setting) | {"commit": fresh["commit"], "versions": fresh["versions"], "load_average": load}
        print("\n" + results.table(job) + "\n", flush=True)
        fresh["jobs"].append(job)
        keep(fresh, trial(args))
    return 0 if all(results.sound(job) for job in fresh["jobs"]) else 1


def done_by(name, setting):
    """The browsers' jobs, the explorer's and the crowd's measure themselves."""
    if name.startswith(BROWSER):
        return JOBS[name](setting)
    if name.startswith(("explore", "many")):
        print(f"{name} ...", flush=True)
        try:
            return JOBS[name](setting)
        except (explorer.Refused, KeyError, TypeError, ValueError, OSError, subprocess.SubprocessError) as error:
            return times.job(name, name, [times.row(name, "ours", [], failure=f"{type(error).__name__}: {error}")], [], [], False)
    return measured(JOBS[name](setting), setting)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{ROUNDS_QUICK} rounds, no GoAccess, no browser")
    parser.add_argument("--only", action="append", metavar="JOB", help=", ".join(JOBS))
    parser.add_argument("--web", type=Path, default=ROOT / "web", help="the page's folder, whose tests drive it (web)")
    parser.add_argument("--scale", type=float, default=1, help="of the explorer's logs, 0 to 1, for trying its jobs; kept as --quick is")
    parser.add_argument("--many", type=numbers, default=MANY, metavar="UPLOADS,RATE,SECONDS,VIEWERS",
                        help=f"of many-uploads, rate in bytes per second ({','.join(map(str, MANY))}); others are kept as --quick is")
    parser.add_argument("--no-browser", action="store_true", help="leave the uploads from browsers out")
    parser.add_argument("--no-goaccess", action="store_true", help="leave the minutes of GoAccess out")
    parser.add_argument("--no-build", action="store_true", help="measure what is in target/release as it is")
    parser.add_argument("--busy", action="store_true", help="measure although the machine is busy")
    parser.add_argument("--rounds", type=int, help=f"runs of each ({ROUNDS})")
    parser.add_argument("--rorqual", default=TARGET / "rorqual", help="the program to measure (target/release/rorqual)")
    args = parser.parse_args()
    args.rounds = args.rounds or (ROUNDS_QUICK if args.quick else ROUNDS)
    unknown = [name for name in args.only or [] if not any(job.startswith(name) for job in JOBS)]
    if unknown:
        parser.error(f"no job is called {unknown[0]}; there are {', '.join(JOBS)}")
    return args


def numbers(text):
    found = tuple(int(number) for number in text.split(","))
    if len(found) != len(MANY):
        raise argparse.ArgumentTypeError(f"{len(MANY)} numbers with commas between")
    return found


def trial(args):
    """What is smaller than it should be is kept apart."""
    return args.quick or args.scale != 1 or args.many != MANY


def chosen(args):
    without_browser = args.no_browser or (args.quick and not args.only)
    # A job's whole name means that job alone: `--only logs` is not `logs-15g`, `--only log` is all of them.
    wanted = tuple(args.only or [""])
    names = [name for name in JOBS if name in wanted or any(name.startswith(start) for start in wanted if start not in JOBS)]
    return [name for name in names if not (name.startswith(BROWSER) and without_browser)]


def quiet_enough(args):
    """A benchmark on a busy machine measures the other programs."""
    load = machine.load_per_cpu()
    if load <= machine.LOAD_MAX:
        return True
    print(f"run.py: the load average is {load:.2f} per CPU, quiet is below {machine.LOAD_MAX}.", file=sys.stderr)
    if args.busy or trial(args):
        print("run.py: measuring all the same; do not trust the numbers.", file=sys.stderr)
        return True
    print("run.py: wait, or use --busy to measure all the same.", file=sys.stderr)
    return False


def build(args):
    packages = [["-p", "rorqual-testkit", "--features", "sink", "--bins"], ["-p", "rorqual"]]
    if any(name.startswith(LANGUAGES) for name in chosen(args)):
        packages.append(["-p", "rorqual-elixir", "-p", "rorqual-python"])
    for package in packages:
        subprocess.run(["cargo", "build", "--release", "--quiet", *package], cwd=ROOT, check=True)


def prepare(args):
    out = BENCH / "data" / "out"
    out.mkdir(parents=True, exist_ok=True)
    return Setting(
        data=Data(BENCH / "data", TARGET / "gen"),
        out=out,
        programs=Programs(Path(args.rorqual).resolve(), *(TARGET / name for name in ("floor", "sink", "drain", "gen", "doom", "many"))),
        runner=Runner(TARGET / "timed", out),
        rounds=args.rounds,
        goaccess=not (args.quick or args.no_goaccess),
        scale=args.scale,
        many=args.many,
        web=args.web.resolve(),
    )


def header(programs):
    return {
        "schema": results.SCHEMA,
        "date": machine.now(),
        "commit": machine.commit(ROOT),
        "machine": machine.describe(),
        "versions": machine.versions(programs.rorqual),
        "jobs": [],
    }


def measured(job, setting):
    """Rounds in which everyone has a turn, so that a slow minute of the machine is shared by all."""
    contenders = [contender for contender in job.contenders if setting.takes_part(contender)]
    runs = {contender.name: [] for contender in contenders}
    print(f"{job.title} ...", flush=True)
    with job.around:
        rounds(job, contenders, runs, setting)
    rows = [results.of_contender(contender, job.bytes, runs[contender.name]) for contender in contenders]
    return results.of_job(job, rows, verified(job), machine.now())


def rounds(job, contenders, runs, setting):
    for path in job.files:
        warm(path)
    for round_number in range(setting.rounds):
        for contender in contenders:
            if not contender.missing() and not (round_number and done(contender, runs[contender.name])):
                runs[contender.name].append(turn(contender, job, setting.runner))


def verified(job):
    """A report of another shape than docs/api.md says is a wrong one, not the end of the benchmark."""
    try:
        return job.verify() if job.verify else ([], True)
    except (KeyError, TypeError, ValueError, OSError, subprocess.CalledProcessError) as error:
        return [f"the reports could not be compared: {type(error).__name__}: {error}"], False


def done(contender, runs):
    """Who takes minutes runs once, and who has not answered in time is not asked again."""
    return contender.once or any(run.timed_out for run in runs)


def turn(contender, job, runner):
    contender.before()
    run, stdout, stderr = runner.run(contender.stages, contender.timeout_seconds)
    if not run.timed_out and not run.wrong:
        run.wrong = contender.check(stdout)
    if contender.bytes_per_second and run.usable:
        run.seconds = job.bytes / contender.bytes_per_second(stdout)
    if run.exit_code:
        run.wrong = f"{run.wrong or 'answered'}, exit code {run.exit_code}: {last_line(stderr)}"
    print(f"  {contender.name}: {run.seconds:.2f} s{' timed out' if run.timed_out else ''} {run.wrong}", flush=True)
    return run


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1][:80] if lines else "said nothing"


def keep(fresh, quick):
    name = "quick" if quick else "latest"
    merged = results.merge(BENCH / "results" / f"{name}.json", fresh)
    # What is no job any longer has no result.
    merged["jobs"] = [job for job in merged["jobs"] if job["name"] in JOBS]
    merged["jobs"].sort(key=lambda job: list(JOBS).index(job["name"]))
    results.save(BENCH / "results" / f"{name}.json", merged)
    for suffix, picture in svg.pictures(merged).items():
        (BENCH / "results" / f"{name}{suffix}.svg").write_text(picture)


if __name__ == "__main__":
    sys.exit(main())
