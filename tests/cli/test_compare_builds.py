# SPDX-License-Identifier: Apache-2.0
"""scripts/compare-builds: a program is itself, and the smallest change of a result is found."""
import json
import struct
import subprocess
import sys

import pytest
from conftest import BINARY, ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from comparison.contents import Difference, compare  # noqa: E402

CASE = "^few: (the data|als explicit)$"


def compare_builds(before, after, folder, *options):
    return subprocess.run(
        [sys.executable, "-B", ROOT / "scripts/compare-builds", before, after, "--folder", folder,
         *options],
        capture_output=True, text=True, timeout=100)


def changed(folder, lines):
    """A program that does what likewise does, and then `lines` of shell."""
    path = folder / "changed"
    path.write_text(f'#!/bin/sh\n"{BINARY}" "$@" || exit $?\n{lines}\n')
    path.chmod(0o755)
    return path


def test_a_program_gives_the_same_as_itself(tmp_path):
    done = compare_builds(BINARY, BINARY, tmp_path / "all", "--only", CASE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\nsame     few: als explicit  (" in done.stdout
    assert ", 0 cases differ," in done.stdout
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize("lines, told", [
    (f'case "$*" in *model.safetensors*--json*) "{BINARY}" "$@" --seed 7 >/dev/null;; esac',
     "model.safetensors of likewise train parts/train.csv"),
    ('[ ! -f lists.csv ] || sed -i "4s/.$/0/;4s/..$/&7/" lists.csv',
     "lists.csv of likewise recommend model.safetensors --all -o lists.csv: line 4:"),
    ('[ ! -f pairs.csv ] || exit 1', "done before, refused now: likewise: ended with 1"),
])
def test_what_differs_is_named(tmp_path, lines, told):
    done = compare_builds(BINARY, changed(tmp_path, lines), tmp_path / "all", "--only", CASE)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "\ndiffers  few: als explicit  (" in done.stdout
    assert told in done.stdout
    assert (tmp_path / "all" / "few_als_explicit" / "after").is_dir()


def test_what_is_answered_now_is_a_note(tmp_path):
    before = changed(tmp_path, '[ ! -f pairs.csv ] || exit 1')
    done = compare_builds(before, BINARY, tmp_path / "all", "--only", CASE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " x: predict: ended with 1\n" in done.stdout


def test_no_case_is_an_error(tmp_path):
    done = compare_builds(BINARY, BINARY, tmp_path / "all", "--only", "nothing has this name")
    assert done.returncode == 1
    assert "no case has such a name" in done.stderr


def model(path, metadata, numbers):
    data = struct.pack(f"<{len(numbers)}f", *numbers)
    header = json.dumps({
        "__metadata__": {"parameters": "{}", "iterations": "[]", **metadata},
        "user_factors": {"dtype": "F32", "shape": [len(numbers) // 2, 2],
                         "data_offsets": [0, len(data)]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
    return path


def test_models_differ_by_a_bit_and_not_by_when_they_were_made(tmp_path):
    before = model(tmp_path / "a.safetensors", {"created": "1", "checksum": "2"}, [1, 2, 3, 0.0])
    later = model(tmp_path / "b.safetensors", {"created": "3", "checksum": "4"}, [1, 2, 3, 0.0])
    assert compare(before, later) == []
    zero = model(tmp_path / "c.safetensors", {"created": "1", "checksum": "2"}, [1, 2, 3, -0.0])
    with pytest.raises(Difference, match=r"tensor user_factors at \(1, 1\): 0.0 became -0.0; 1 of"):
        compare(before, zero)


def test_parameters_that_only_one_has_are_notes_and_others_differ(tmp_path):
    before = model(tmp_path / "a.safetensors", {"parameters": '{"seed": 1}'}, [1, 2])
    more = model(tmp_path / "b.safetensors", {"parameters": '{"seed": 1, "new": 2}'}, [1, 2])
    assert compare(before, more) == ["metadata parameters new only after"]
    other = model(tmp_path / "c.safetensors", {"parameters": '{"seed": 2}'}, [1, 2])
    with pytest.raises(Difference, match="metadata parameters seed: 1 became 2"):
        compare(before, other)


def test_lines_that_end_early_differ(tmp_path):
    before, after = tmp_path / "a.csv", tmp_path / "b.csv"
    before.write_text("user,item\n1,2\n3,4\n")
    after.write_text("user,item\n1,2\n")
    with pytest.raises(Difference, match="line 3: '3,4' became ''; 2 of 4 lines differ"):
        compare(before, after)
