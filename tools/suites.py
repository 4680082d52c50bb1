#!/usr/bin/env python3
"""Runs the test suites of others against the programs built here: tools/suites.py [--suites FOLDER] [--only NAME] [--verbose]

Nothing of a suite is in this tree. Each is a checkout in a folder of its own below FOLDER (or $RORQUAL_SUITES); what is not there is named, with
how to get it. A suite is a file in tools/suites: see Suite. Exit code 0: verdicts are as the suites say, or a difference has its reason in that file;
1: there are differences without one; 2: nothing could be run.
"""

import argparse
import importlib.util
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterator, Optional

TOP = Path(__file__).resolve().parent.parent


@dataclass
class Verdict:
    """One case of a suite. `ok` is None where it does not apply, for the reason that `detail` gives."""
    case: str
    ok: Optional[bool]
    detail: str = ""


@dataclass
class Programs:
    """What is run."""
    rorqual: Path
    query: Path


@dataclass
class Suite:
    """What a file in tools/suites has as SUITE."""
    # The folder's name below --suites.
    name: str
    # How to get it, as a command.
    get: str
    # Gives a verdict for each case of a checkout.
    run: Callable[[Path, Programs], Iterator[Verdict]]
    # Why a case differs: its name, or the start of it with a * after it.
    reasons: dict = field(default_factory=dict)

    def reason(self, case):
        starts = (reason for name, reason in self.reasons.items() if name.endswith("*") and case.startswith(name[:-1]))
        return self.reasons.get(case) or next(starts, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", type=Path, default=os.environ.get("RORQUAL_SUITES"), help="the folder with the checkouts")
    parser.add_argument("--only", action="append", help="the suites to run, by name")
    parser.add_argument("--build", type=Path, default=build(), help="the folder with the built programs")
    parser.add_argument("--verbose", action="store_true", help="say each difference, also those with a reason")
    args = parser.parse_args()
    programs = Programs((args.build / "rorqual").resolve(), (args.build / "rorqual-query").resolve())
    known = list(load())
    names = [suite.name for suite in known]
    unknown = [name for name in args.only or [] if name not in names]
    if unknown:
        print(f"suites: --only {', '.join(unknown)}: there is no such suite; there is: {', '.join(names)}")
        return 2
    suites = [suite for suite in known if not args.only or suite.name in args.only]
    if not programs.rorqual.exists():
        print(f"suites: no program at {programs.rorqual}: cargo build --bin rorqual, or --build FOLDER")
        return 2
    ran, failed = 0, 0
    for suite in suites:
        folder = args.suites and Path(args.suites).resolve() / suite.name
        if not folder or not folder.is_dir():
            print(f"{suite.name}: not there; get it into FOLDER/{suite.name}, and give FOLDER as --suites or RORQUAL_SUITES:\n    {suite.get}")
            continue
        ran += 1
        try:
            failed += one(suite, folder, programs, args.verbose)
        except FileNotFoundError as error:
            failed += 1
            print(f"{suite.name}: {error.filename} is missing: the checkout is not whole; get it anew:\n    {suite.get}")
    if not ran:
        return 2
    return 1 if failed else 0


def build():
    return Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target")) / "debug"


def load():
    folder = TOP / "tools/suites"
    sys.path.insert(0, str(folder))
    # A name with _ is of several suites, and none itself.
    for path in sorted(folder.glob("[!_]*.py")):
        spec = importlib.util.spec_from_file_location(f"suites_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module.SUITE


def one(suite, folder, programs, verbose):
    """Runs a suite; how many differences have no reason."""
    same, explained, unexplained, left = 0, 0, 0, {}
    known = set()
    for verdict in suite.run(folder, programs):
        reason = suite.reason(verdict.case)
        if verdict.ok is None:
            left.setdefault(verdict.detail, []).append(verdict.case)
        elif verdict.ok:
            same += 1
        elif reason:
            explained += 1
            known.add(reason)
            if verbose:
                print(f"{suite.name}: {verdict.case}: explained: {reason}\n{verdict.detail}")
        else:
            unexplained += 1
            print(f"{suite.name}: {verdict.case}: DIFFERS\n{verdict.detail}")
    print(f"{suite.name}: {same} as the suite says, {explained} differ for a reason, {unexplained} differ; {sum(map(len, left.values()))} do not apply")
    if not same + explained + unexplained + sum(map(len, left.values())):
        print(f"    no case was found: the checkout is not whole; get it anew:\n    {suite.get}")
        return 1
    for reason in sorted(known):
        print(f"    differs: {reason}")
    for detail, cases in sorted(left.items(), key=lambda item: -len(item[1])):
        print(f"    does not apply: {len(cases)}: {detail}" + (f" ({', '.join(cases)})" if verbose else ""))
    return unexplained


if __name__ == "__main__":
    # The files of suites import from here.
    sys.modules["suites"] = sys.modules["__main__"]
    sys.exit(main())
