# SPDX-License-Identifier: Apache-2.0
"""A disk that fills up, and two runs at once: results are whole or as they were, and the parts of a
split belong together."""
from __future__ import annotations

import shutil
import subprocess
import time

from .kills import COMMANDS, PARTS, OnCommands, inputs_of, same
from .lab import RUN, Case, Failure, Lab


def can_mount() -> bool:
    """Whether this user may mount a tmpfs in a namespace of its own."""
    script = "mount -t tmpfs -o size=64k none /tmp"
    return shutil.which("unshare") is not None and subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, check=False).returncode == 0


class Disk(OnCommands):
    name = "disk"
    big = "400x150x20000:explicit"
    small = "400x150x2000:explicit"

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.mounts = can_mount()

    def attack(self, case: Case) -> None:
        if case.number % 4 == 3:
            return two_splits(case)
        command, outputs = case.random.choice([work for work in COMMANDS[1:] if work[1]])
        if case.random.random() < 0.3:
            command, outputs = COMMANDS[1]
        whole = self.finish(command)
        sizes = [(whole.folder / name).stat().st_size for name in outputs]
        case.folder.joinpath("disk").mkdir()
        case.share(*inputs_of(command))
        old = {name: b"old\n" for name in outputs} if case.random.random() < 0.7 else {}
        for name, content in old.items():
            case.write(f"before/{name}", content)
        (case.folder / "before").mkdir(exist_ok=True)
        room = int(case.random.uniform(0.05, 1.2) * sum(sizes)) + 8192
        ran = case.run(*(f"../{word}" if word in inputs_of(command) else word for word in command),
                       shell=self.full_disk(room))
        ages = {name: age_of(case, f"after/{name}", old.get(name), name,
                             (whole.folder / name).read_bytes()) for name in outputs}
        told = f"with {room} bytes and exit {ran.code}: {ages}"
        case.check(ran.code != 0 or set(ages.values()) == {"new"}, "exit 0 without results",
                   f"every result {told}")
        if command[0] == "split":
            case.check(len(set(ages.values())) == 1, "parts of two ages",
                       f"both parts or none {told}")
        left = [path.name for path in (case.folder / "after").rglob("*") if path.is_file()
                and str(path.relative_to(case.folder / "after")) not in outputs]
        case.check(not left, "files left on a full disk", f"results only, not {left} {told}")

    def full_disk(self, room: int) -> str:
        """Runs in disk/, which has that many bytes; after/ is what it held at the end."""
        there = f'cp -r before/. disk/; (cd disk && {RUN}); e=$?; cp -r disk after; exit $e'
        if not self.mounts:
            return f"{there.replace(RUN, f'ulimit -f {room // 512}; exec {RUN}')}"
        mount = f"mount -t tmpfs -o size={room} none disk && "
        return f"exec unshare -m sh -c '{mount}{there}' sh {RUN}"


def age_of(case: Case, path: str, old: bytes | None, name: str, new: bytes) -> str:
    if not (case.folder / path).exists():
        case.check(old is None, "an old result is gone", f"the old {name} or the new one, not none")
        return "none"
    content = case.read(path)
    if content == old:
        return "old"
    case.check(same(name, content, new), "a broken file on a full disk",
               f"{name} whole or as it was")
    return "new"


def two_splits(case: Case) -> None:
    """Into one folder at once: what is there at the end is one of the two."""
    case.share("big.csv")
    alone = []
    for seed in (1, 2):
        case.done("split", "big.csv", "-o", f"alone-{seed}", "--seed", seed)
        alone.append([case.read(f"alone-{seed}/{part.split('/')[1]}") for part in PARTS])
    for seed in (1, 2) if case.random.random() < 0.5 else ():
        case.done("split", "big.csv", "-o", "parts", "--seed", seed + 10)
    started = time.monotonic()
    both = [case.start(("split", "big.csv", "-o", "parts", "--seed", seed)) for seed in (1, 2)]
    ran = [case.finish(process, started) for process in both]
    for one in ran:
        case.check_sound(one)
    if all(one.code for one in ran):
        raise Failure("two splits stop each other", "one of two splits at once to work")
    found = [case.read(part) if (case.folder / part).exists() else b"" for part in PARTS]
    case.check(found in alone, "parts of two splits", "train.csv and test.csv of one of two splits")
