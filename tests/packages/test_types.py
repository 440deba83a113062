# SPDX-License-Identifier: Apache-2.0
"""The installed package and a program that uses it, checked by mypy and by pyright."""
import importlib.util
import json
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("likewise")
pytest.importorskip("mypy")
WRONG = pathlib.Path(__file__).with_name("wrong_program.py")
PROGRAM = pathlib.Path(__file__).with_name("typed_program.py")


@pytest.fixture(scope="module")
def types(tmp_path_factory):
    """A folder with what mypy keeps of one run for the next: NumPy's types take most of its time."""
    folder = tmp_path_factory.mktemp("types")
    # Packages without types of their own are no fault of ours, and the generated types of the
    # extension say list and dict without saying of what.
    off = ["import-untyped"]
    if importlib.util.find_spec("pyspark") is None:
        off += ["import-not-found", "untyped-decorator"]
    (folder / "mypy.ini").write_text(f"[mypy]\n[mypy-likewise.*]\ndisallow_any_generics = False\ndisable_error_code = {', '.join(off)}\n")
    return folder


def mypy(folder, *words):
    # Nothing of this folder's: the package is the installed one.
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context",
         "--cache-dir", folder / "cache", "--config-file", folder / "mypy.ini", *words],
        cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_package_keeps_its_own_types(types):
    done = mypy(types, "-p", "likewise")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_of_a_user_has_the_types_that_are_written(types):
    done = mypy(types, PROGRAM)
    assert "error" not in done.stdout and done.returncode == 0, done.stdout + done.stderr
    revealed = dict(re.findall(r':(\d+): note: Revealed type is "(.*)"', done.stdout))
    lines = PROGRAM.read_text().splitlines()
    expected = {str(number): line.split("# ")[1] for number, line in enumerate(lines, 1) if "reveal_type(" in line}
    plain = {number: re.sub(r"\bbuiltins\.", "", name) for number, name in revealed.items()}
    assert plain == expected


def wrong_lines():
    lines = WRONG.read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


def test_mypy_knows_wrong_lines_from_right_ones(types):
    done = mypy(types, WRONG)
    assert {int(line) for line in re.findall(r":(\d+): error", done.stdout)} == wrong_lines(), done.stdout


def test_pyright_knows_wrong_lines_from_right_ones(tmp_path):
    pytest.importorskip("basedpyright")
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    done = subprocess.run([sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "-p", tmp_path / "pyrightconfig.json",
                           "--outputjson", WRONG], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    found = json.loads(done.stdout)["generalDiagnostics"]
    assert {one["range"]["start"]["line"] + 1 for one in found if one["severity"] == "error"} == wrong_lines(), done.stdout
