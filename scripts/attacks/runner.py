# SPDX-License-Identifier: Apache-2.0
"""Runs classes of attacks for a while, tells what failed and keeps what shows it again."""
from __future__ import annotations

import argparse
import collections
import csv
import math
import os
import pathlib
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import time

from . import CLASSES
from .lab import Attack, Case, Failure, Lab

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNREADABLE = (OSError, ValueError, LookupError, csv.Error, struct.error, subprocess.SubprocessError)
KEPT_OF_A_KIND = 1  # folders; further failures of the kind are counted


def options(about: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/attack", description=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    program = os.environ.get("LIKEWISE_CLI", str(ROOT / "build/release/bin/likewise"))
    parser.add_argument("--seed", type=int, default=1, help="other seed, other cases [1]")
    parser.add_argument("--minutes", type=float, help="for all classes together [2; with --cases: any time]")
    parser.add_argument("--cases", type=int, help="at most so many of each class")
    parser.add_argument("--class", dest="classes", nargs="+", metavar="NAME", default=list(CLASSES),
                        choices=list(CLASSES), help=", ".join(CLASSES))
    parser.add_argument("--case", type=int, help="only this case of the class")
    parser.add_argument("--program", default=program, help=f"[{program}]")
    parser.add_argument("--keep", metavar="DIR", type=pathlib.Path,
                        help="folder for what failed [one of its own]")
    parser.add_argument("--verbose", action="store_true", help="name every case")
    given = parser.parse_args()
    if given.minutes is None:
        given.minutes = math.inf if given.cases is not None else 2.0
    if not os.access(given.program, os.X_OK):
        parser.error(f"no program at {given.program}: build it, or name it with --program")
    return given


def pipes(folder: str, names: list[str]) -> list[str]:
    """Those that are named pipes, which nothing can copy."""
    return [name for name in names if stat.S_ISFIFO(os.lstat(os.path.join(folder, name)).st_mode)]


class Tally:
    """Cases and failures of one class."""

    def __init__(self, name: str, given: argparse.Namespace) -> None:
        self.name = name
        self.given = given
        self.cases = 0
        self.kinds: collections.Counter[str] = collections.Counter()

    def keep(self, case: Case, failure: Failure) -> None:
        """The files of the case and how to see it again, for the first of its kind."""
        self.kinds[failure.kind] += 1
        if self.kinds[failure.kind] > KEPT_OF_A_KIND:
            return
        folder = self.given.keep / f"{self.name}-{case.number}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(case.folder, folder, symlinks=True, ignore_dangling_symlinks=True, ignore=pipes)
        again = f"scripts/attack --class {self.name} --seed {self.given.seed} --case {case.number}"
        told = [f"again: {again} --program {self.given.program}", f"kind: {failure.kind}",
                f"expected: {failure}", "", *case.record]
        (folder / "case.txt").write_text("\n".join(told) + "\n", errors="backslashreplace")
        printed = str(failure).encode("ascii", "backslashreplace").decode()
        print(f"  {failure.kind}: expected {printed}\n    {folder}/case.txt", flush=True)

    def print(self, seconds: float) -> None:
        failures = sum(self.kinds.values())
        kinds = "".join(f"; {count} x {kind}" for kind, count in self.kinds.most_common())
        print(f"{self.name:12} {self.cases:6} cases {failures:6} failures {seconds:6.1f} s{kinds}",
              flush=True)


def run_case(attack: Attack, number: int, tally: Tally) -> None:
    case = Case(attack.lab, attack.name, number)
    if tally.given.verbose:
        print(f"{attack.name} {number}", flush=True)
    try:
        attack.attack(case)
    except Failure as failure:
        tally.keep(case, failure)
    except UNREADABLE as error:
        # What the program wrote is not what the attack can read.
        tally.keep(case, Failure(f"{type(error).__name__}", f"a case that can be read: {error}"))
    finally:
        shutil.rmtree(case.folder)
    tally.cases += 1


def run_class(name: str, given: argparse.Namespace, deadline: float) -> Tally:
    tally = Tally(name, given)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        attack = CLASSES[name](Lab(os.path.abspath(given.program), given.seed,
                                   pathlib.Path(folder)))
        if reason := attack.skipped():
            print(f"{name:12} skipped: {reason}", flush=True)
            return tally
        numbers = range(attack.cases if attack.cases is not None else sys.maxsize)
        try:
            for number in [given.case] if given.case is not None else numbers[:given.cases]:
                run_case(attack, number, tally)
                if time.monotonic() >= deadline:
                    break
        finally:
            attack.end()
    tally.print(time.monotonic() - started)
    return tally


def main(about: str) -> int:
    given = options(about)
    if given.keep is None:
        given.keep = pathlib.Path(tempfile.mkdtemp(prefix="attack-failures-"))
    given.keep.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + given.minutes * 60
    failures = 0
    for place, name in enumerate(given.classes):
        # What a class leaves of its time goes to those after it.
        now = time.monotonic()
        shares = [CLASSES[left].share for left in given.classes[place:]]
        tally = run_class(name, given, now + (end - now) * shares[0] / sum(shares))
        failures += sum(tally.kinds.values())
    if failures == 0 and not any(given.keep.iterdir()):
        given.keep.rmdir()
    return 1 if failures else 0
