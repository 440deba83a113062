# SPDX-License-Identifier: Apache-2.0
"""What a wheel says of itself and holds."""
from __future__ import annotations

import pathlib
import re
import subprocess
import tempfile
import zipfile

from .checklist import Failed
from .old_libraries import number

# Of manylinux_2_28.
NEWEST = {"GLIBC": "2.28", "GLIBCXX": "3.4.24", "CXXABI": "1.3.11", "GCC": "7.0.0"}
KINDS = {"x86_64": "X86-64", "aarch64": "AArch64"}


def tags(wheel: pathlib.Path) -> tuple[str, str, str]:
    """("cp312", "abi3", "manylinux_2_28_x86_64"), as its name says."""
    return tuple(wheel.stem.split("-")[-3:])


def needs_new(listed: str) -> list[str]:
    """Versions in what `readelf -V` lists that manylinux_2_28 does not have."""
    asked = set(re.findall(r"Name: ((?:GLIBC|GLIBCXX|CXXABI|GCC)_[\d.]+)", listed))
    return sorted(version for version in asked if number(version)[1] > number(f"_{NEWEST[number(version)[0]]}")[1])


def check_machine_code(wheel: pathlib.Path, machine: str) -> str:
    """Every file of machine code is of the machine, and asks for nothing newer."""
    count = 0
    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(wheel) as held:
        held.extractall(place)
        for file in pathlib.Path(place).rglob("*"):
            if not file.is_file() or file.read_bytes()[:4] != b"\x7fELF":
                continue
            listed = subprocess.run(["readelf", "-h", "-V", "-W", file], capture_output=True, text=True, check=True).stdout
            if KINDS[machine] not in listed:
                raise Failed(f"{file.name} is not for {machine}")
            if newer := needs_new(listed):
                raise Failed(f"{file.name} needs {', '.join(newer)}")
            count += 1
    return f"{count} files, glibc up to {NEWEST['GLIBC']}, libstdc++ of GCC 8"


def check_contents(wheel: pathlib.Path, wanted: set[str], unwanted: set[str]) -> str:
    with zipfile.ZipFile(wheel) as held:
        names = set(held.namelist())
    licenses = [name for name in names if ".dist-info/licenses/" in name and not name.endswith("/")]
    for name in wanted - names:
        raise Failed(f"it lacks {name}")
    for name in unwanted & names:
        raise Failed(f"it holds {name}")
    if len(licenses) < 2:
        raise Failed("it lacks the terms of the libraries in it")
    return f"{wheel.stat().st_size / 1e6:.1f} MB, terms of {len(licenses)} works"
