# SPDX-License-Identifier: Apache-2.0
"""What the sanitizers leave out, tests/sanitized.cmake, is there: a test of another name would run again."""
import fnmatch
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("LIKEWISE_CLI", ROOT / "build/dev/bin/likewise")).with_name("unit_tests")


def names_of_cases():
    listed = subprocess.run([PROGRAM, "--gtest_list_tests"], check=True, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        name = line.split("#")[0].rstrip()
        if name.startswith("  "):
            yield suite + name.strip()
        else:
            suite = name


def left_out():
    text = re.sub("#.*", "", (ROOT / "tests/sanitized.cmake").read_text(encoding="utf-8"))
    for patterns in re.findall(r"(?:set\(|APPEND )left_out\s+([^)]*)", text):
        yield from patterns.split()


def test_what_is_left_out_is_there():
    names, patterns = list(names_of_cases()), list(left_out())
    assert len(patterns) > 50
    assert [pattern for pattern in patterns if not fnmatch.filter(names, pattern)] == []
