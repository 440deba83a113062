# SPDX-License-Identifier: Apache-2.0
"""The command-line program that the package brings along."""
from __future__ import annotations

import pathlib


def path() -> str:
    """The program's file. FileNotFoundError where the package was built without it."""
    program = pathlib.Path(__file__).parent / "likewise"
    if not program.exists():
        raise FileNotFoundError(f"there is no program {program}: install likewise again")
    return str(program)
