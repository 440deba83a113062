# SPDX-License-Identifier: Apache-2.0
"""bench/papers: a trial of it, and that the pages of docs/papers have its headings."""
import pathlib
import re
import subprocess
import sys

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


def test_the_toy_matrix_is_that_of_the_page(trial):
    """Similarities of items 1 and 2, 1 and 3, 4 and 5: cosines by hand, times n / (n + shrinkage) of n common users."""
    section = dict(sections(trial.stdout))["The toy matrix"]
    lists = [dict(((a, b), float(x)) for a, b, x in re.findall(r"^(\d),(\d),\d,([\d.]+)$", part, re.MULTILINE))
             for part in section.split("similar toy.safetensors")[1:]]
    cosines = {("1", "2"): 81 / 82, ("1", "3"): 13 / (41 * 5) ** 0.5, ("4", "5"): 1.0}
    users = {("1", "2"): 4, ("1", "3"): 2, ("4", "5"): 1}
    for found, support, shrinkage in zip(lists, (1, 2, 1, 1), (0, 0, 2, 10), strict=True):
        for pair, cosine in cosines.items():
            wanted = cosine * users[pair] / (users[pair] + shrinkage) if users[pair] >= support else None
            assert found.get(pair) == (None if wanted is None else pytest.approx(wanted, abs=1e-6))


def test_results_go_to_files_too(tmp_path):
    built = pathlib.Path(BINARY).resolve().parents[1]
    if not (built / "bin/bench_select").exists():
        pytest.skip("the benchmarks are not built: -DLIKEWISE_BUILD_BENCH=ON")
    done = run("--built", built, "--small", "--output", tmp_path / "made", "--only", "Figure 11|toy", "gates", "kato")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "".join((tmp_path / f"made/{work}.md").read_text() for work in ("gates", "kato")) == done.stdout
    assert re.findall(r"^## (.*)$", done.stdout, re.MULTILINE) == ["Figure 11: the pattern of sparsity", "The toy matrix"]
    assert "Pattern of sparsity" in (tmp_path / "made/eachmovie.html").read_text()


def test_counters_are_read_as_a_table():
    """What Nsight Compute writes becomes sums by kernel, names without the rest of their types."""
    sys.path.insert(0, str(ROOT / "bench"))
    import roofline  # pylint: disable=import-outside-toplevel
    row = {"Kernel Name": "void likewise::cuda::(anonymous namespace)::solve<(int)96, true>(likewise::Rows, float *)", roofline.TIME: "2,000",
           roofline.MEMORY: "500", roofline.CACHE: "700", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": "40", "tensor.sum": "20"}
    other = {**row, "Kernel Name": "tiny()", roofline.TIME: "1"}
    (point,) = roofline.points_of("als", [row, row, other], ["tensor.sum"], 0.02)
    assert point == ("als", "solve<96, true>", 2, pytest.approx(4e-6), 200, 1000, 1400)


def test_without_a_gpu_it_is_said(trial):
    if "* no GPU" not in trial.stdout:
        pytest.skip("there is a GPU")
    assert trial.stdout.count("Left out: no GPU") > 5
    done = run("--built", pathlib.Path(BINARY).resolve().parents[1], "--gpu", "kato")
    assert done.returncode == 1 and "--gpu wants one" in done.stderr


def test_commands_of_a_gpu_alone():
    every, gpu = (re.findall(r"^    (.*)$", run("--list", *words).stdout, re.MULTILINE) for words in ([], ["--gpu"]))
    left_out = [command for command in every if command not in gpu]
    assert [command for command in every if command in gpu] == gpu and len(gpu) > 30
    assert not any(re.search(r" cuda|_gpu |ceilings|roofline|autotune", command) for command in left_out)
    assert any("bench_epochs cpu" in command for command in left_out)
    # But for what is trained on both, to compare them.
    alone = [command for command in gpu if "interactions.csv" not in command]
    assert not any(re.search(r" cpu |generate|taskset|serve_load", command) for command in alone)


@pytest.mark.parametrize("words, told", [(["nobody"], "no work nobody: gates"), (["--built", "/nowhere"], "no program /nowhere"),
                                         (["--small", "--list"], "not allowed with")])
def test_what_it_cannot_do(words, told):
    done = run(*words)
    assert done.returncode == 2
    assert told in done.stderr
