# SPDX-License-Identifier: Apache-2.0
"""scripts/rooms.py finds an include that goes up, in a tree of two files."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def rooms(folder):
    return subprocess.run([sys.executable, "-B", ROOT / "scripts/rooms.py"], cwd=folder, capture_output=True, text=True)


def lines_of(folder, path, included):
    """What is said where `path` includes `included`, a file of src or a public header."""
    other = folder / ("include" if included.startswith("likewise/") else "src") / included
    for file, text in ((other, ""), (folder / path, f'#include "{included}"\n')):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    done = rooms(folder)
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if path in line and "any more" not in line]


@pytest.mark.parametrize("path, included", [
    ("src/serving/a.cpp", "backends/cpu/b.h"),
    ("src/algorithms/als/a.cpp", "backends/cpu/b.h"),
    ("src/algorithms/als/a.h", "training/b.h"),  # its .cpp may
    ("src/backends/cuda/host/a.cpp", "retrieval/b.h"),
    ("src/backends/cuda/host/a.cpp", "model/b.h"),
    ("src/backends/cuda/host/a.cpp", "backends/cuda/knn/b.h"),
    ("src/backends/jobs/a.cpp", "retrieval/b.h"),
    ("src/backends/other.cpp", "backends/cuda/host/b.h"),  # registry.cpp may
    ("src/core/a.cpp", "data/b.h"),
    ("include/likewise/a.h", "core/b.h"),
    ("cli/verbs/a.cpp", "serving/b.h"),
    ("python/src/a.cpp", "serving/b.h"),
])
def test_an_include_that_goes_up_is_found(tmp_path, path, included):
    lines = lines_of(tmp_path, path, included)
    assert len(lines) == 1 and lines[0].endswith(f"{path} includes {included}") and " may not include " in lines[0]


@pytest.mark.parametrize("path, included", [
    ("src/serving/a.cpp", "retrieval/b.h"),
    ("src/backends/cuda/knn/a.cu", "backends/cuda/host/b.h"),
    ("src/algorithms/als/a.cpp", "training/b.h"),
    ("src/backends/registry.cpp", "backends/cpu/b.h"),
    ("cli/verbs/a.cpp", "likewise/b.h"),
])
def test_one_that_goes_down_is_not(tmp_path, path, included):
    assert lines_of(tmp_path, path, included) == []


@pytest.mark.parametrize("path, included", [("src/cellar/a.cpp", "core/b.h"), ("src/core/a.cpp", "cellar/b.h")])
def test_a_room_that_the_table_lacks_is_named(tmp_path, path, included):
    [line] = lines_of(tmp_path, path, included)
    assert "does not know the room cellar" in line


def test_an_exemption_that_nobody_needs_is_named(tmp_path):
    done = rooms(tmp_path)
    assert done.returncode == 1
    assert "src/backends/registry.cpp does not include backends/cpu any more" in done.stdout
