# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/python and the programs in the pages, on real data."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import ROOT

PAGES = ("docs/guide/python.md", "docs/guide/recipes.md", "docs/guide/from-surprise.md", "README.md")


@pytest.mark.parametrize("name, folder, words, expected", [
    ("movies", "ml-latest-small", [], r"ALS +NDCG@10 0\.0[34]\d"),
    ("ratings", "ml-100k", ["1"], r"factors +RMSE 0\.93\d\d"),
    ("books", "goodbooks-10k", [], r"the same lists: True"),
])
def test_an_example_runs(real_data, name, folder, words, expected):
    done = subprocess.run([sys.executable, ROOT / f"examples/python/{name}.py", real_data / folder, *words],
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(expected, done.stdout), done.stdout


def test_the_example_with_optuna_runs(real_data):
    pytest.importorskip("optuna")
    done = subprocess.run([sys.executable, ROOT / "examples/python/optuna_search.py",
                           real_data / "ml-latest-small", "6"],
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"optuna +validation 0\.\d+ +test 0\.0[234]\d+\ntune +validation 0\.\d+ +test 0\.0[234]",
                     done.stdout), done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_of_a_page_run(real_data, page, tmp_path):
    if page == "python.md":
        pytest.importorskip("sklearn")
    """All blocks of a page, one after the other, as one program, in a folder with the data it names."""
    text = (ROOT / page).read_text(encoding="utf-8")
    program = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    assert "import likewise" in program
    for folder in real_data.iterdir():
        if folder.is_dir():
            (tmp_path / folder.name).symlink_to(folder)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True,
                          timeout=300, check=False, env={**os.environ, "PYTHONWARNINGS": "error"})
    assert done.returncode == 0, done.stderr
    assert pathlib.Path(tmp_path / "movies.safetensors").exists() or page != "docs/guide/python.md"
    if page == "README.md":  # numbers may differ in their last digits on another instruction set
        shown = re.search(r"```\n\n((?:    .*\n)+)", text)[1]
        assert without_numbers(done.stdout) == without_numbers(shown)


def without_numbers(text):
    return re.sub(r"\d\.\d+", "x", text).split()
