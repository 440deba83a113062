#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which room of the code may include which: prints every include that goes another way, and ends with 1 where one does.

Run in the root. A room is a folder of src, or of src/backends, and backends/cuda/host; public headers are `likewise`.
"""
import collections
import fnmatch
import pathlib
import re
import sys
from typing import NamedTuple

HOST = {"core", "likewise", "algorithms", "backends/jobs"}
MAY_INCLUDE = {
    "likewise": set(),
    "core": {"likewise"},
    "data": {"core", "likewise"},
    "algorithms": {"core", "likewise"},
    "backends/jobs": {"algorithms", "core", "likewise"},
    "retrieval": HOST,
    "backends/reference": HOST | {"retrieval"},
    "backends/distributed": HOST | {"retrieval"},
    "backends/cpu": HOST | {"backends/distributed", "retrieval"},
    "backends/cuda/host": HOST | {"backends/distributed"},
    "backends/cuda": HOST | {"backends/cuda/host", "backends/distributed", "retrieval"},
    "backends": HOST,
    "model": {"algorithms", "core", "likewise"},
    "serving": HOST | {"retrieval"},
    "evaluation": {"algorithms", "core", "data", "likewise", "retrieval"},
    "training": HOST | {"data", "model", "retrieval"},
    "tuning": {"algorithms", "core", "data", "evaluation", "likewise", "model", "training"},
    "server": {"likewise"},
    "cli": {"likewise", "server"},
    "python": {"likewise"},
}


class Exempt(NamedTuple):
    """Files that may include rooms which the table denies to theirs."""
    files: str  # a pattern; * crosses folders
    rooms: set[str]
    reason: str


EXEMPT = [
    Exempt("src/algorithms/*.cpp", {"backends/jobs", "model", "retrieval", "serving", "training"},
           "a room of an algorithm answers for all of its work, with tools that know no algorithm; backends include its "
           "headers, so these stay below (decision 26)"),
    Exempt("src/backends/registry.cpp", {"backends/cpu", "backends/cuda/host", "backends/reference"},
           "the one file that knows which backends exist"),
    Exempt("src/backends/jobs/device_jobs.cpp", {"backends/distributed"},
           "a job of ALS that trains alone answers for ranks, too: that it has none"),
    Exempt("src/backends/cuda/host/cuda_device.cpp", {"retrieval"}, "it cuts long lists of queries into batches"),
    Exempt("src/training/choose_device.cpp", {"backends/cuda/host"},
           "`auto` opens a GPU for what gains by one; the registry has no question for that yet"),
    Exempt("src/training/rank_training.cpp", {"backends/distributed"},
           "a training by processes is ranks of ALS, driven from outside"),
]


def room_of(parts: tuple[str, ...]) -> str:
    """Of a file by the parts of its path below src."""
    if parts[:3] == ("backends", "cuda", "host"):
        return "backends/cuda/host"
    return "/".join(parts[:2]) if parts[0] == "backends" and len(parts) > 2 else parts[0]


def room_of_file(path: str) -> str:
    """Of a file by its path below the root."""
    parts = tuple(path.split("/"))
    if parts[0] == "src":
        return room_of(parts[1:])
    return "likewise" if parts[0] == "include" else parts[0]


def includes(root: pathlib.Path) -> list[tuple[str, str, str, str]]:
    """(file, its room, what it includes, that room), where the two rooms differ."""
    found = []
    for folder in ("include", "src", "server", "cli", "python/src"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".cpp", ".h", ".cu", ".cuh"):
                continue
            path = file.relative_to(root).as_posix()
            for name in re.findall(r'^ *# *include "([^"]+/[^"]+)"', file.read_text(encoding="utf-8"), re.M):
                public = name.startswith("likewise/")
                if (folder != "src" and (root / folder / name).exists() and not public) or \
                        not (public or (root / "src" / name).exists() or (root / name).exists()):
                    continue
                other = room_of(tuple(name.split("/")))
                if other != room_of_file(path):
                    found.append((path, room_of_file(path), name, other))
    return found


def faults(root: pathlib.Path) -> list[str]:
    denied: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    used = set()
    for path, room, name, other in includes(root):
        if room not in MAY_INCLUDE or other not in MAY_INCLUDE:
            unknown = room if room not in MAY_INCLUDE else other
            denied[room, other].append(f"{path} includes {name} (scripts/rooms.py does not know the room {unknown})")
        elif other not in MAY_INCLUDE[room]:
            exempt = [(e, other) for e, rule in enumerate(EXEMPT)
                      if other in rule.rooms and fnmatch.fnmatch(path, rule.files)]
            used.update(exempt)
            if not exempt:
                denied[room, other].append(f"{path} includes {name}")
    lines = [f"{room} may not include {other}: {line}" for (room, other), all_of in sorted(denied.items()) for line in all_of]
    lines += [f"scripts/rooms.py: {rule.files} does not include {other} any more: take it out of EXEMPT"
              for e, rule in enumerate(EXEMPT) for other in sorted(rule.rooms) if (e, other) not in used]
    return lines


def main() -> int:
    found = faults(pathlib.Path())
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
