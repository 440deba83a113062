# SPDX-License-Identifier: Apache-2.0
"""The installed package and a program that uses it, checked by mypy."""
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("likewise")
pytest.importorskip("mypy")
PROGRAM = pathlib.Path(__file__).with_name("typed_program.py")


def mypy(folder, *words):
    # Nothing of this folder's: the package is the installed one.
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context",
         "--cache-dir", folder / "cache", "--config-file", "", *words],
        cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_package_keeps_its_own_types(tmp_path):
    # Packages without types of their own are no fault of ours, and the generated types of the
    # extension say list and dict without saying of what.
    off = ["import-untyped"]
    if importlib.util.find_spec("pyspark") is None:
        off += ["import-not-found", "untyped-decorator"]
    done = mypy(tmp_path, *(f"--disable-error-code={code}" for code in off), "--allow-any-generics", "-p", "likewise")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_of_a_user_has_the_types_that_are_written(tmp_path):
    done = mypy(tmp_path, PROGRAM)
    assert "error" not in done.stdout and done.returncode == 0, done.stdout + done.stderr
    revealed = dict(re.findall(r':(\d+): note: Revealed type is "(.*)"', done.stdout))
    lines = PROGRAM.read_text().splitlines()
    expected = {str(number): line.split("# ")[1] for number, line in enumerate(lines, 1) if "reveal_type(" in line}
    plain = {number: re.sub(r"\bbuiltins\.", "", name) for number, name in revealed.items()}
    assert plain == expected


def test_wrong_use_is_an_error_of_types(tmp_path):
    (tmp_path / "wrong.py").write_text("import likewise\nlikewise.Interactions('a').shape + 1\nlikewise.nothing\n"
                                       "likewise.Als(factrs=8)\nlikewise.ItemKnn(similarity='cos')\n")
    done = mypy(tmp_path, "wrong.py")
    assert done.returncode == 1
    assert all(f":{line}: error" in done.stdout for line in (2, 3, 4, 5)), done.stdout
