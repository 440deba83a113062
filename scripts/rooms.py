#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which room of the code may include which: prints every include that goes another way, and ends with 1 where one does.

A room is a folder of src, or of src/backends; public headers are `likewise`.
"""
import collections
import pathlib
import re
import sys

HOST = {"core", "likewise", "algorithms", "backends", "backends/jobs"}
MAY_INCLUDE = {
    "core": {"likewise"},
    "data": {"core", "likewise"},
    "params": {"algorithms", "core", "likewise"},
    "algorithms": {"core", "likewise", "params"},
    "model": {"algorithms", "core", "likewise", "params"},
    "backends/jobs": {"algorithms", "core", "distributed", "likewise"},
    "distributed": HOST,
    "backends": HOST | {"backends/cpu", "backends/gpu", "backends/reference"},  # the registry
    "backends/reference": HOST,
    "backends/cpu": HOST | {"distributed"},
    "backends/ranks": HOST | {"distributed"},
    "backends/gpu": HOST | {"distributed", "backends/ranks"},
    "backends/cuda": HOST | {"distributed", "backends/gpu"},
    "search": HOST,
    "serving": HOST | {"search"},
    "evaluation": {"core", "data", "likewise", "backends", "search"},
    "training": HOST | {"distributed", "params", "model", "backends/gpu"},
    "tuning": {"core", "data", "evaluation", "likewise", "model", "params", "training"},
    "cli": {"likewise"},
    "python": {"likewise"},
}

def room_of(parts: tuple[str, ...]) -> str:
    if parts[0] == "backends" and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0]


def includes() -> dict[tuple[str, str], set[str]]:
    """The files that include one room from another."""
    found = collections.defaultdict(set)
    for folder in ("src", "cli", "python/src"):
        for file in sorted(pathlib.Path(folder).rglob("*")):
            if file.suffix not in (".cpp", ".h", ".cu", ".cuh"):
                continue
            room = room_of(file.parts[1:]) if folder == "src" else file.parts[0]
            for name in re.findall(r'^#include "([^"]+/[^"]+)"', file.read_text(encoding="utf-8"), re.M):
                other = room_of(tuple(name.split("/")))
                known = other in MAY_INCLUDE or other == "likewise"
                if other != room and known and not (folder != "src" and (pathlib.Path(folder) / name).exists()):
                    found[room, other].add(str(file))
    return found


def main() -> int:
    found = includes()
    wrong = 0
    for (room, other), files in sorted(found.items()):
        if other not in MAY_INCLUDE.get(room, set()):
            print(f"{room} may not include {other}: {', '.join(sorted(files))}")
            wrong = 1
    return wrong


sys.exit(main())
