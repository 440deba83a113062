# SPDX-License-Identifier: Apache-2.0
"""The version of a release is that of the tag of HEAD; sources and changes must say the same."""
from __future__ import annotations

import pathlib
import re
import subprocess


def of_header(root: pathlib.Path) -> str:
    return re.search(r'kVersion = "(.*)"', (root / "include/likewise/version.h").read_text())[1]


def git(root: pathlib.Path, *words: str) -> str:
    return subprocess.run(["git", "-C", root, *words], check=True, capture_output=True, text=True).stdout.strip()


def problem(tags: list[str], header: str, changes: str, dirty: str) -> str:
    """Why this is not to be released; "" where it is."""
    if dirty:
        return f"the working tree has changes that are not committed:\n{dirty}"
    versions = [tag[1:] for tag in tags if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
    if len(versions) != 1:
        found = ", ".join(tags) or "none"
        return f"HEAD needs one tag like v{header} (it has {found}): git tag -a v{header}. To try without one: --rehearse"
    if versions[0] != header:
        return f"the tag says {versions[0]}, include/likewise/version.h {header}: let both say the same"
    if not re.search(rf"^## {re.escape(header)}, (?!not released)", changes, re.MULTILINE):
        return f'CHANGELOG.md has no heading "## {header}, DATE"'
    return ""


def why_not(root: pathlib.Path) -> str:
    return problem(git(root, "tag", "--points-at", "HEAD").split(), of_header(root), (root / "CHANGELOG.md").read_text(),
                   git(root, "status", "--porcelain"))
