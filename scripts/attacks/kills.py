# SPDX-License-Identifier: Apache-2.0
"""Signals at random moments of every verb: a quick end, whole files or none, and a training that
goes on from its checkpoint as if nothing had happened."""
from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path

from .lab import Attack, Case, Lab, Ran
from modelfile import difference

QUICK = 5.0  # seconds from a signal to the end: one, on a machine that does nothing else
STARTING = 1.0  # seconds: before the handlers are there, a signal ends any process
# Not those that are ignored here, as SIGHUP under nohup: the program then ignores them, too.
CATCHABLE = [which for which in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP] if signal.getsignal(which) != signal.SIG_IGN]
PARTS = ("parts/train.csv", "parts/test.csv")

# What runs for some tenths of a second, and the files that it leaves.
COMMANDS: list[tuple[list[str], tuple[str, ...]]] = [
    (["generate", "20000x3000x900000", "-o", "made.csv.gz"], ("made.csv.gz",)),
    (["split", "big.csv", "-o", "parts"], PARTS),
    (["split", "big.csv", "-o", "parts", "--method", "kfold", "--folds", "2"],
     ("parts/fold-1/train.csv", "parts/fold-1/test.csv", "parts/fold-2/train.csv",
      "parts/fold-2/test.csv")),
    (["train", "big.csv", "-o", "new.model", "--factors", "32", "--report", "page.html"],
     ("new.model", "page.html")),
    (["train", "big.csv", "-o", "new.model", "--algorithm", "user-knn"], ("new.model",)),
    (["train", "big.csv", "-o", "new.model", "--algorithm", "item-knn", "--feedback", "explicit"],
     ("new.model",)),
    (["update", "knn.model", "small.csv", "-o", "new.model"], ("new.model",)),
    (["update", "als.model", "small.csv", "-o", "new.model", "--iterations", "20"], ("new.model",)),
    (["evaluate", "als.model", "small.csv", "--per-user", "each.csv"], ("each.csv",)),
    (["predict", "als.model", "--all-missing", "-o", "all.csv"], ("all.csv",)),
    (["predict", "als.model", "big.csv", "-o", "some.jsonl.gz"], ("some.jsonl.gz",)),
    (["recommend", "als.model", "--all", "--explain", "-o", "lists.csv"], ("lists.csv",)),
    (["recommend", "knn.model", "--all", "--explain", "-o", "lists.tsv"], ("lists.tsv",)),
    (["similar", "als.model", "--all-items", "-n", "200", "-o", "alike.csv.zst"],
     ("alike.csv.zst",)),
    (["demo", "-o", "cinema"], ("cinema/visits.csv", "cinema/model.safetensors",
                                "cinema/report.html")),
    (["info", "big.csv", "--json"], ()),
]
TRAIN = ["train", "big.csv", "-o", "new.model", "--checkpoint", "state", "--iterations", "25"]
RATINGS = ["--feedback", "explicit", "--regularization", "0.002"]
TRAININGS = [
    [*TRAIN, "--factors", "24"],
    [*TRAIN, "--factors", "16", "--checkpoint-every", "3", "--tolerance", "0.001"],
    [*TRAIN, "--factors", "16", *RATINGS, "--validation", "small.csv"],
    [*TRAIN, "--factors", "16", *RATINGS, "--validation", "small.csv", "--patience", "4"],
    [*TRAIN, "--factors", "16", "--validation", "small.csv", "--patience", "2", "--solver", "cg"],
]


SEARCH = ["tune", "small.csv", "-o", "new.model", "--journal", "state"]
SEARCHES = [
    [*SEARCH, "--budget", "12", "--algorithm", "als,item-knn,bpr"],
    [*SEARCH, "--budget", "8", "--feedback", "explicit", "--seed", "3"],
]


class Finished:
    """What a command leaves when nobody disturbs it, and how long that takes."""

    def __init__(self, lab: Lab, command: list[str]) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=lab.folder))
        for name in inputs_of(command):
            (self.folder / name).hardlink_to(lab.folder / name)
        started = time.monotonic()
        lab.make(*command, folder=self.folder)
        self.seconds = time.monotonic() - started


def inputs_of(command: list[str]) -> list[str]:
    return [name for name in ("big.csv", "small.csv", "als.model", "knn.model") if name in command]


def same(name: str, left: bytes, right: bytes) -> bool:
    """Two whole results of the same command; pages and models tell the time."""
    if name.endswith((".html", ".gz", ".zst")):
        return len(left) > 0 and abs(len(left) - len(right)) <= max(1000, len(right) // 50)
    model = name.endswith((".model", ".safetensors"))
    return difference(left, right) == "" if model else left == right


class OnCommands(Attack):
    """Attacks on COMMANDS, each compared with what it leaves when nobody disturbs it."""

    big = ""
    small = ""

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.finished: dict[tuple[str, ...], Finished] = {}
        lab.make("generate", self.big, "-o", "big.csv")
        lab.make("generate", self.small, "-o", "small.csv", "--seed", "5")
        lab.make("train", "big.csv", "-o", "als.model", "--factors", "16", "--iterations", "3")
        lab.make("train", "big.csv", "-o", "knn.model", "--algorithm", "item-knn")

    def finish(self, command: list[str]) -> Finished:
        if tuple(command) not in self.finished:
            self.finished[tuple(command)] = Finished(self.lab, command)
        return self.finished[tuple(command)]


class Kills(OnCommands):
    name = "kills"
    share = 2.0
    big = "2500x500x120000:explicit"
    small = "2500x500x6000:explicit"

    def attack(self, case: Case) -> None:
        if case.number % 9 == 8:
            return self.search(case, case.random.choice(SEARCHES))
        if case.number % 3 == 2:
            return self.resume(case, case.random.choice(TRAININGS))
        if case.number % 10 == 0:
            return waiting(case)
        command, outputs = case.random.choice(COMMANDS)
        whole = self.finish(command)
        case.share(*inputs_of(command))
        old = {name: b"old" for name in outputs} if case.random.random() < 0.5 else {}
        for name, content in old.items():
            case.write(name, content)
        if case.number % 3 == 0:
            which = case.random.choice([*CATCHABLE, *CATCHABLE, signal.SIGKILL])
            ran = signalled(case, command, which, case.random.uniform(0, 1.1 * whole.seconds))
        else:
            largest = max([(whole.folder / name).stat().st_size for name in outputs] or [512])
            which = signal.SIGXFSZ
            blocks = int(largest * case.random.random() ** 2 / 512)
            ran = case.run(*command, shell=f'ulimit -f {blocks}; exec "$@"')
        if ran.code == 1 and which != signal.SIGKILL:
            case.check_sound(ran)
        check_files(case, ran, (command, outputs), whole, old, which)
        case.done(*command)  # whatever is left behind is in nobody's way
        for name in outputs:
            case.check(same(name, case.read(name), (whole.folder / name).read_bytes()),
                       "another result afterwards", f"{name} as without a signal before")

    def resume(self, case: Case, command: list[str]) -> None:
        whole = self.finish(command)
        case.share(*inputs_of(command))
        for _ in range(case.random.choice([1, 1, 2])):
            which = case.random.choice([*CATCHABLE, signal.SIGKILL])
            more = ["--resume", "state"] if (case.folder / "state").exists() else []
            signalled(case, [*command, *more], which,
                      case.random.uniform(0.02, 1.0) * whole.seconds)
        more = ["--resume", "state"] if (case.folder / "state").exists() else []
        case.done(*command, *more)
        for name in ("new.model", "state"):
            told = difference(case.read(name), (whole.folder / name).read_bytes(),
                              but=("best_iteration", "iterations") if name == "state" else ())
            kind = " with validation" if "--validation" in command else ""
            case.check(not told, f"{name} resumed otherwise{kind}",
                       f"{name} as of a training without interruption; different {told}"[:700])


    def search(self, case: Case, command: list[str]) -> None:
        """Ended again and again, it comes to the same winner."""
        whole = self.finish(command)
        case.share(*inputs_of(command))

        def more() -> list[str]:
            return ["--resume"] if (case.folder / "state").exists() else []

        for _ in range(case.random.choice([1, 3, 6])):
            signalled(case, [*command, *more()], case.random.choice([*CATCHABLE, signal.SIGKILL]),
                      case.random.uniform(0.02, 0.7) * whole.seconds)
        case.done(*command, *more())
        told = difference(case.read("new.model"), (whole.folder / "new.model").read_bytes(),
                          but=("search",))
        case.check(not told, "a search that was ended found another winner",
                   f"new.model as of a search without interruption; different {told}"[:700])


def waiting(case: Case) -> None:
    """A verb that waits for somebody to write to a pipe."""
    os.mkfifo(case.folder / "pipe")
    case.share("als.model")
    command = case.random.choice([
        ["info", "pipe"], ["split", "pipe", "-o", "parts"], ["train", "pipe", "-o", "new.model"],
        ["predict", "als.model", "pipe"], ["recommend", "als.model", "--users", "pipe"]])
    writer = None
    if case.random.random() < 0.5:  # it is open, but says little
        writer = os.open(case.folder / "pipe", os.O_RDWR)
        os.write(writer, b"user,item,value\n1,1,1\n")
    try:
        signalled(case, command, case.random.choice(CATCHABLE), case.random.uniform(0, 0.3))
    finally:
        if writer is not None:
            os.close(writer)


def signalled(case: Case, command: list[str], which: signal.Signals, after: float) -> Ran:
    process = case.start(tuple(command))
    case.record.append(f"# {which.name} after {after:.3f} s")
    started = time.monotonic()
    time.sleep(after)
    while (which in CATCHABLE and process.poll() is None and not catches(process.pid, which)
           and time.monotonic() - started < STARTING):
        time.sleep(0.001)
    process.send_signal(which)
    sent = time.monotonic()
    ran = case.finish(process, started)
    case.check(time.monotonic() - sent < QUICK, f"slow to end: {command[0]}",
               f"an end within {QUICK:g} s of {which.name}, not {time.monotonic() - sent:.1f} s")
    if which in CATCHABLE:
        case.check(ran.code in (0, 1), f"{command[0]} ended by {which.name} with {ran.code}",
                   f"exit 1 after {which.name}, not {ran.code}: {ran.err.decode()[-200:]}")
    return ran


def catches(process: int, which: signal.Signals) -> bool:
    """Whether the process has a handler for the signal."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return True  # it has ended
    mask = next(line for line in status.splitlines() if line.startswith("SigCgt:")).split()[1]
    return bool(int(mask, 16) >> (which - 1) & 1)


def check_files(case: Case, ran: Ran, work: tuple[list[str], tuple[str, ...]], whole: Finished,
                old: dict[str, bytes], which: signal.Signals) -> None:
    """Every output is the old one or the new one; the parts of a split are of one age."""
    command, outputs = work
    ages = []
    for name in outputs:
        path = case.folder / name
        if not path.exists():
            ages.append("none")
        elif path.read_bytes() == old.get(name):
            ages.append("old")
        else:
            new = same(name, path.read_bytes(), (whole.folder / name).read_bytes())
            case.check(new, f"a broken file after {which.name}", f"{name} whole, or as it was")
            ages.append("new")
    told = f"after {which.name} and exit {ran.code}: {dict(zip(outputs, ages))}"
    case.check(ran.code != 0 or set(ages) <= {"new"}, "exit 0 without results", f"new files {told}")
    if outputs and outputs[0].startswith("parts/"):
        mixed = "old" in ages and "new" in ages
        case.check(not mixed, "parts of two ages", f"train.csv and test.csv of one split {told}")
    names = set(outputs) | set(inputs_of(command))
    left = [path for path in case.folder.rglob("*") if path.is_file()
            and str(path.relative_to(case.folder)) not in names]
    if which == signal.SIGKILL:
        left = [path for path in left if not any(part.startswith(".") for part in
                                                 path.relative_to(case.folder).parts)]
    case.check(not left, f"files left after {which.name}", f"no file beside results, not {left}")
