# SPDX-License-Identifier: Apache-2.0
"""Attacks of the Python package, where it can be imported: columns of all kinds in all containers,
read plainly beside it; and interpreters that end while daemon threads work."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import shlex
import subprocess
import sys
import time

from .lab import HANG_SECONDS, Attack, Case, Ran

HERE = pathlib.Path(__file__).parent
FRAMES = 150  # of a case: an interpreter takes longer to start than they do
WORKS = ["fit", "called back", "swallowing", "tune", "recommend", "one", "evaluate", "predict",
         "read", "save", "load", "update"]
ENDS = {"end": 0, "exit": 3, "raise": 1}


class OfThePackage(Attack):
    def skipped(self) -> str:
        found = importlib.util.find_spec("likewise")
        return "" if found else "the package cannot be imported"

    def python(self, case: Case, program: str, *arguments: object) -> Ran:
        """Runs a module of this folder by the interpreter that runs this."""
        command = [sys.executable, "-B", "-m", f"attacks.{program}", *map(str, arguments)]
        path = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")]))
        case.record.append(f"PYTHONPATH={path} {shlex.join(command)}")
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=case.folder, env={**self.lab.environment(), "PYTHONPATH": path},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        return case.finish(process, started, 2 * HANG_SECONDS)


class PythonTypes(OfThePackage):
    name = "python-types"

    def attack(self, case: Case) -> None:
        ran = self.python(case, "package_frames", f"{self.lab.seed}/{case.number}", FRAMES)
        told = ran.out.decode("utf-8", "replace").strip()
        kind, _, rest = told.partition("\n")
        case.check(not told, kind, rest)
        case.check(ran.code == 0, "a frame ends the interpreter",
                   f"exit 0, not {ran.code}: {ran.err.decode('utf-8', 'replace')[-600:]}")


class PythonExits(OfThePackage):
    name = "python-exits"

    def attack(self, case: Case) -> None:
        draw = case.random
        works = draw.sample(WORKS, draw.choice([1, 1, 2, 5]))
        end = draw.choice(list(ENDS))
        delay = draw.choice([0, 0.001, 0.05, draw.random()])
        ran = self.python(case, "package_work", end, delay, *works)
        told = ran.err.decode("utf-8", "replace")
        asked = f"{end} after {delay:.3f} s beside {', '.join(works)}"
        case.check(ran.code == ENDS[end], f"exit {ran.code} beside daemon threads",
                   f"exit {ENDS[end]}, not {ran.code}: {asked}: {told[-600:]}")
        case.check(told.count("Traceback") == (end == "raise"), "tracebacks of daemon threads",
                   f"nothing of daemon threads: {asked}: {told[-600:]}")
