# SPDX-License-Identifier: Apache-2.0
"""What every class of attacks works with: the program, a folder per case, and what holds for every
run of the program whatever its arguments are."""
from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import random
import shlex
import signal
import subprocess
import time
from typing import Any

# Longer than any command of a case takes on a loaded machine; what takes longer hangs.
HANG_SECONDS = 60.0

RUN = '"$@"'  # the program and its arguments, in a line of shell around them


class Failure(Exception):
    """A case whose expectation did not hold. `kind` is the same for failures of one cause."""

    def __init__(self, kind: str, told: str) -> None:
        super().__init__(told)
        self.kind = kind


@dataclasses.dataclass
class Ran:
    """How one run of the program ended."""

    code: int
    out: bytes
    err: bytes
    seconds: float

    @property
    def message(self) -> str:
        """The line that says why it failed; empty where there is none."""
        lines = self.err.decode("utf-8", "replace").splitlines()
        return next((line for line in lines if line.startswith("likewise:")), "")

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclasses.dataclass
class Lab:
    """The program, the seed of all cases, and a folder for what several cases share."""

    program: str
    seed: int
    folder: pathlib.Path

    def environment(self) -> dict[str, str]:
        """No GPU, no plug-in and no tunings: every machine does the same."""
        return {
            **os.environ,
            "LC_ALL": "C",
            "CUDA_VISIBLE_DEVICES": "",
            "LIKEWISE_PLUGIN_PATH": str(self.folder / "no-plug-in"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }

    def make(self, *arguments: object, folder: pathlib.Path | None = None) -> bytes:
        """What the program prints, run in the shared folder; its failure is the end of the class."""
        command = [self.program, *map(str, arguments), "--quiet"]
        return subprocess.run(command, cwd=folder or self.folder, env=self.environment(), check=True,
                              timeout=HANG_SECONDS, stdin=subprocess.DEVNULL,
                              capture_output=True).stdout


def waiting_of(process: int) -> list[str]:
    """What each thread of a process that does not end is at."""
    lines = []
    for task in pathlib.Path(f"/proc/{process}/task").glob("*"):
        try:
            status = (task / "status").read_text().splitlines()
            at = (task / "wchan").read_text()
        except OSError:
            continue
        told = [line.replace("\t", " ") for line in status if line.startswith(("State:", "Sig", "Shd"))]
        lines.append(f"# thread {task.name}: {at}; {'; '.join(told)}")
    return lines


class Case:
    """One case: a folder, its own random numbers, and a record of what was run in it."""

    def __init__(self, lab: Lab, attack: str, number: int) -> None:
        self.lab = lab
        self.number = number
        self.random = random.Random(f"{lab.seed}/{attack}/{number}")
        self.folder = lab.folder / "case"
        self.folder.mkdir()
        self.record: list[str] = []

    def write(self, name: str, content: bytes | str) -> pathlib.Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def share(self, *names: str) -> None:
        """Copies files of the lab's folder into the case's."""
        for name in names:
            self.write(name, (self.lab.folder / name).read_bytes())

    def start(self, arguments: tuple[object, ...], shell: str = RUN, stdin: str | None = None,
              own_group: bool = False) -> subprocess.Popen[bytes]:
        """Starts the program through a line of shell, e.g. 'ulimit -v 99; exec "$@"'."""
        command = [self.lab.program, *map(str, arguments)]
        line = shell.replace(RUN, shlex.join(command)) + (f" <{stdin}" if stdin else "")
        self.record.append(line if shell == RUN else f"sh -c {shlex.quote(line)}")
        if shell != RUN:
            command = ["sh", "-c", shell, "sh", *command]
        source = open(self.folder / stdin, "rb") if stdin else subprocess.DEVNULL
        try:
            return subprocess.Popen(command, cwd=self.folder, env=self.lab.environment(),
                                    stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    start_new_session=own_group)
        finally:
            if stdin:
                source.close()

    def finish(self, process: subprocess.Popen[bytes], started: float,
               seconds: float = HANG_SECONDS) -> Ran:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.record += waiting_of(process.pid)
            process.kill()
            process.communicate()
            raise Failure("hang", f"no end after {seconds:g} s") from None
        return Ran(process.returncode, out, err, time.monotonic() - started)

    def run(self, *arguments: object, shell: str = RUN, stdin: str | None = None,
            sound: bool = True, seconds: float = HANG_SECONDS) -> Ran:
        """Runs the program to its end; `sound` also checks what holds for every end."""
        started = time.monotonic()
        ran = self.finish(self.start(arguments, shell, stdin), started, seconds)
        if sound:
            self.check_sound(ran)
        return ran

    def done(self, *arguments: object, shell: str = RUN, stdin: str | None = None) -> Ran:
        """Runs what has to work."""
        ran = self.run(*arguments, shell=shell, stdin=stdin)
        self.check(ran.code == 0, "refused", f"exit 0, not {ran.code}: {ran.message}")
        return ran

    def check_sound(self, ran: Ran) -> None:
        """0, or 1 or 2 with one sentence; no crash, no raw exception, no control characters."""
        told = ran.err.decode("utf-8", "replace")
        if ran.code < 0 or ran.code > 128:
            number = -ran.code if ran.code < 0 else ran.code - 128
            name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
            raise Failure(f"ended by {name}", f"an end without a crash, not {name}: {told[-300:]}")
        self.check(ran.code in (0, 1, 2), f"exit {ran.code}", f"exit 0, 1 or 2, not {ran.code}")
        sentences = sum(line.startswith("likewise:") for line in told.splitlines())
        wanted = 0 if ran.code == 0 else 1
        self.check(sentences == wanted, f"exit {ran.code} with {sentences} messages",
                   f"{wanted} messages with exit {ran.code}, not {sentences}: {told[-300:]}")
        for words in ("unexpected failure", "terminate called", "what():"):
            self.check(words not in told, words, f"a message without '{words}': {ran.message}")
        wild = [byte for byte in ran.err if (byte < 0x20 and byte not in b"\n\t") or byte == 0x7F]
        self.check(not wild, "control characters", f"messages without control characters: {told!r}")

    def check(self, holds: bool, kind: str, expected: str) -> None:
        if not holds:
            raise Failure(kind, expected)


class Attack:
    """A class of cases. Case `number` is the same for the same seed, whatever ran before it."""

    name = ""
    share = 1.0  # of the time, relative to the others
    cases: int | None = None  # how many there are, where they can be counted

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def skipped(self) -> str:
        """Why there is nothing to attack; empty where there is."""
        return ""

    def attack(self, case: Case) -> None:
        """Raises Failure where the program did not do as documented."""
        raise NotImplementedError

    def end(self) -> None:
        """Ends what several cases shared."""
