# SPDX-License-Identifier: Apache-2.0
"""bench/papers: a trial of it, and that the pages of docs/papers have its headings."""
import pathlib
import re
import subprocess

import pytest
from conftest import BINARY, ROOT

SCRIPT = ROOT / "bench/papers"
PAGES = {"gates": "gates-2015", "tan": "tan-2018", "wang": "wang-2014", "kato": "kato-2009", "student": "student-report"}


def run(*words):
    return subprocess.run([SCRIPT, *words], capture_output=True, text=True, timeout=100, check=False)


@pytest.fixture(scope="module")
def trial():
    built = pathlib.Path(BINARY).resolve().parents[1]
    if not (built / "bin/bench_epochs").exists():
        pytest.skip("the benchmarks are not built: -DLIKEWISE_BUILD_BENCH=ON")
    return run("--built", built, "--small")


def sections(text):
    """[(heading, the rest)], programs without their folder."""
    parts = re.split(r"^## (.*)$", re.sub(r"\bbuild/\w+/bin/", "", text), flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("work", PAGES)
def test_a_page_has_every_item_and_its_commands(work):
    page = sections((ROOT / f"docs/papers/{PAGES[work]}.md").read_text())
    listed = sections(run("--list", work).stdout)
    assert [heading for heading, _ in page] == [heading for heading, _ in listed]
    for (heading, text), (_, commands) in zip(page, listed, strict=True):
        for command in re.findall(r"^    (.*)$", text, re.MULTILINE):
            assert command in commands, f"{heading}: {command}"


def test_a_trial_makes_every_item_or_says_why_not(trial):
    assert trial.returncode == 0, trial.stdout[-2000:] + trial.stderr[-2000:]
    for heading, text in sections(trial.stdout):
        assert re.search(r"^(\|---|```|Left out: |\* )", text, re.MULTILINE), heading
    assert "Failed" not in trial.stdout


def test_the_tiny_input_has_the_published_predictions(trial):
    """output/tiny_item.out and tiny_user.out of github.com/FooJiaYin/cuda-collaborative-filtering, and one that it leaves blank."""
    section = dict(sections(trial.stdout))["The tiny input"]
    found = [(row[0], row[1], float(row[2])) for row in re.findall(r"^(\d),(\d),([\d.]+)$", section, re.MULTILINE)]
    items = [("2", "1", 64 / 21), ("3", "3", 2.239565), ("5", "3", 2.119782), ("1", "5", 2.551534)]
    users = [("1", "5", 3.747187), ("2", "1", 5.0), ("3", "3", 2.851073), ("5", "3", 2.716654)]
    for one, other in zip(found, items + users, strict=True):
        assert one[:2] == other[:2]
        assert one[2] == pytest.approx(other[2], abs=1e-6)


def test_without_a_gpu_it_is_said(trial):
    if "* no GPU" in trial.stdout:
        assert trial.stdout.count("Left out: no GPU") > 5


@pytest.mark.parametrize("words, told", [(["nobody"], "no work nobody: gates"), (["--built", "/nowhere"], "no program /nowhere"),
                                         (["--small", "--list"], "not allowed with")])
def test_what_it_cannot_do(words, told):
    done = run(*words)
    assert done.returncode == 2
    assert told in done.stderr
