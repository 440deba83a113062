# SPDX-License-Identifier: Apache-2.0
"""Runs the cases with both builds and tells what differs."""
from __future__ import annotations

import argparse
import collections
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from . import cases
from .cases import Case, Data, Step
from .contents import Difference, compare

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPUTING = ("train", "evaluate", "predict", "recommend", "similar")


def options(about: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/compare-builds", description=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", metavar="BEFORE", help="the program as it was")
    parser.add_argument("after", metavar="AFTER", help="the program as it is now")
    parser.add_argument("--device", default="cpu", help="of every training, and of every answer that it can give [cpu]")
    parser.add_argument("--only", metavar="REGEX", type=re.compile, default=re.compile(""),
                        help="cases whose name matches")
    parser.add_argument("--folder", metavar="DIR", type=pathlib.Path,
                        help="where to run them [one of its own]")
    given = parser.parse_args()
    for program in (given.before, given.after):
        if not os.access(program, os.X_OK) or os.path.isdir(program):
            parser.error(f"no program at {program}")
    return given


@dataclasses.dataclass
class Build:
    """One of the two programs, and the folder that it runs in."""

    program: str
    folder: pathlib.Path
    device: str

    def environment(self) -> dict[str, str]:
        """The plug-in next to the program, and built-in tunings."""
        return {**{name: value for name, value in os.environ.items()
                   if name != "LIKEWISE_PLUGIN_PATH"},
                "LC_ALL": "C", "XDG_CACHE_HOME": str(self.folder / "no-tunings")}

    def run(self, step: Step) -> str:
        """Why it was refused; "" where it was done."""
        # One of the builds may have a job on a GPU that the other has on the CPU only.
        asks = self.device.startswith("cuda") and step.words[0] != "train"
        device = ["--device", "auto" if asks else self.device] if step.words[0] in COMPUTING else []
        ran = subprocess.run([self.program, *step.words, *device], cwd=self.folder,
                             env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True)
        if step.told:
            (self.folder / step.files[0]).write_bytes(ran.stdout)
        if ran.returncode == 0:
            return ""
        told = ran.stderr.decode("utf-8", "backslashreplace").splitlines()
        return next((line for line in told if line.startswith("likewise:")),
                    f"likewise: ended with {ran.returncode}")

    def algorithms(self) -> list[str]:
        told = subprocess.run([self.program, "train", "--help"], check=True, text=True,
                              capture_output=True).stdout
        return re.search(r"^  --algorithm (\S+)$", told, re.MULTILINE)[1].split("|")


class Comparison:
    """Both builds, what differed and what was refused."""

    def __init__(self, before: Build, after: Build) -> None:
        self.builds = (before, after)
        self.cases = self.differing = self.files = 0
        self.refused: collections.Counter[str] = collections.Counter()
        self.notes: collections.Counter[str] = collections.Counter()

    def run(self, case: Case) -> bool:
        """Whether all is the same; prints the line of the case and its differences."""
        started = time.monotonic()
        differences: list[str] = []
        files, refused = self.files, self.refused.total()
        for step in case.steps:
            if not self.compare_step(step, differences) and step is case.steps[0]:
                break  # the others have nothing to go on from
        self.cases += 1
        self.differing += bool(differences)
        refused = self.refused.total() - refused
        print(f"{'differs' if differences else 'same':8} {case.name}  ({self.files - files} files"
              f"{f', {refused} refused by both' if refused else ''}, "
              f"{time.monotonic() - started:.1f} s)", *differences, sep="\n    ", flush=True)
        return not differences

    def compare_step(self, step: Step, differences: list[str]) -> bool:
        """Whether both have done it."""
        refusals = [build.run(step) for build in self.builds]
        command = f"likewise {shlex.join(step.words)}"
        if all(refusals):
            self.refused[f"{step.words[0]}: {refusals[0].removeprefix('likewise: ')}"] += 1
            return False
        if refusals[1]:
            differences.append(f"{command}: done before, refused now: {refusals[1]}")
            return False
        if refusals[0]:
            self.notes[f"{step.words[0]}: {refusals[0].removeprefix('likewise: ')}"] += 1
            return False
        for file in step.files:
            self.files += 1
            before, after = (build.folder / file for build in self.builds)
            try:
                self.notes.update(compare(before, after))
            except Difference as difference:
                differences.append(f"{file} of {command}: {difference}")
                after.rename(after.with_name(f"other-{after.name}"))
                shutil.copyfile(before, after)
        return True

    def print(self, seconds: float) -> None:
        for note, count in self.notes.items():
            print(f"only one of them does, {count} x: {note}")
        for message, count in self.refused.items():
            print(f"refused by both, {count} x: {message}")
        print(f"{self.cases} cases, {self.files:,} files, {self.differing} cases differ, "
              f"{seconds:.0f} s")


def fresh(folder: pathlib.Path, files: dict[str, pathlib.Path]) -> None:
    """Makes the folder, with links to the files."""
    for name, path in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(path)
    folder.mkdir(parents=True, exist_ok=True)


def run_case(both: list[tuple[str, str]], given: argparse.Namespace, total: Comparison, case: Case,
             files: dict[str, pathlib.Path]) -> pathlib.Path:
    """Runs it in a folder of its own, and returns the first build's."""
    name = re.sub(r"[^\w.-]+", "_", case.name)
    folders = [given.folder / name / side for side, _ in both]
    for folder in folders:
        fresh(folder, files)
    total.builds = tuple(Build(program, folder, given.device)
                         for folder, (_, program) in zip(folders, both))
    if total.run(case) and not case.name.endswith("the data"):
        shutil.rmtree(given.folder / name)
    return folders[0]


def run_data(both: list[tuple[str, str]], given: argparse.Namespace, total: Comparison, data: Data,
             algorithms: list[str]) -> None:
    """Everything on one data set."""
    found = [case for case in cases.trainings(data, algorithms, given.device)
             if given.only.search(case.name)]
    first = cases.made(data)
    if not found and not given.only.search(first.name):
        return
    if data.source is not None and not data.source.exists():
        print(f"not there {data.name}: {data.source}")
        return
    inputs = {data.file: data.source} if data.source else {}
    if data.source is None and not data.shape:
        inputs = {data.file: given.folder / data.file}
        inputs[data.file].write_text(cases.dislikes())
    folder = run_case(both, given, total, first, inputs)
    if (folder / cases.TEST).exists():
        few, users = cases.few_of(*((folder / part).read_text()
                                    for part in (cases.TRAIN, cases.TEST)))
        (folder / cases.FEW).write_text(few)
        (folder / cases.USERS).write_text(users)
        parts = (cases.TRAIN, cases.TEST, cases.FEW, cases.USERS)
        for case in found:
            run_case(both, given, total, case, {part: folder / part for part in parts})


def data_folder() -> pathlib.Path:
    named = os.environ.get("LIKEWISE_DATA")
    folders = [ROOT / "shared/data", ROOT.parent / "shared/data"]
    return pathlib.Path(named) if named else next(filter(pathlib.Path.is_dir, folders), folders[0])


def main(about: str) -> int:
    given = options(about)
    started = time.monotonic()
    given.folder = pathlib.Path(given.folder or tempfile.mkdtemp(prefix="compare-builds-")).resolve()
    if given.folder.exists() and any(given.folder.iterdir()):
        sys.exit(f"compare-builds: {given.folder} is not empty")
    given.folder.mkdir(parents=True, exist_ok=True)
    both = [("before", os.path.abspath(given.before)), ("after", os.path.abspath(given.after))]
    known = [Build(program, given.folder, given.device).algorithms() for _, program in both]
    total = Comparison(*(Build(program, given.folder, given.device) for _, program in both))
    total.notes.update(f"algorithm {name} only {side}" for (side, _), own, other in
                       zip(both, known, reversed(known)) for name in own if name not in other)
    if given.only.search("demo"):
        run_case(both, given, total, cases.demo(), {})
    for data in cases.data_sets(data_folder()):
        run_data(both, given, total, data, [name for name in known[0] if name in known[1]])
    total.print(time.monotonic() - started)
    if total.differing:
        print(f"the files: {given.folder}")
        return 1
    shutil.rmtree(given.folder)
    if total.cases == 0:
        sys.exit("compare-builds: no case has such a name")
    return 0
