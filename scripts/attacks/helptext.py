# SPDX-License-Identifier: Apache-2.0
"""The options of a verb, as its --help tells them."""
from __future__ import annotations

import dataclasses
import re
import subprocess

from .lab import Lab


@dataclasses.dataclass(frozen=True)
class Option:
    flag: str  # the long name where there is one
    kind: str  # "" for a switch, "N", "X", "FILE", "a|b|c" ...


def verbs_of(lab: Lab) -> list[str]:
    told = help_of(lab, "--help").split("Verbs:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in told.splitlines()]


def options_of(lab: Lab, verb: str) -> list[Option]:
    found = []
    for line in help_of(lab, verb, "--help").splitlines():
        match = re.match(r"  (?:-\w, )?(--?[\w-]+)(?: ([^\s]+))?(?:  |$)", line)
        if match and match[1] != "--help":
            found.append(Option(match[1], match[2] or ""))
    return found


def help_of(lab: Lab, *arguments: str) -> str:
    return subprocess.run([lab.program, *arguments], env=lab.environment(), check=True, text=True,
                          capture_output=True).stdout
