# SPDX-License-Identifier: Apache-2.0
"""`train --target`, and metrics against the seconds of training."""
import itertools
import json
import re

import pytest


def validated(program, cinema, *options, **how):
    return program("train", cinema / "parts/train.csv", "-o", "m", "--factors", 8, "--device", "cpu",
                   "--validation", cinema / "parts/test.csv", *options, **how)


@pytest.fixture
def courses(program, cinema):
    """The validations of trainings without a target, by metric."""
    return {metric: [it["validation"] for it in json.loads(
        validated(program, cinema, "--iterations", 8, "--feedback", feedback, "--json",
                  "--validation-metric", metric).stdout)["iterations"]]
            for metric, feedback in (("ndcg@10", "implicit"), ("rmse", "explicit"))}


@pytest.mark.parametrize("metric, feedback, better", [
    ("ndcg@10", "implicit", lambda value, target: value >= target),
    ("rmse", "explicit", lambda value, target: value <= target)])
def test_training_stops_after_the_first_iteration_that_is_as_good(program, cinema, courses, metric,
                                                                  feedback, better):
    course = courses[metric]
    best = min(course) if metric == "rmse" else max(course)
    for target in (course[0], course[2], best):
        first = next(i for i, value in enumerate(course, 1) if better(value, target))
        done = validated(program, cinema, "--iterations", 8, "--feedback", feedback, "--json",
                         "--target", f"{metric}={target!r}")
        facts = json.loads(done.stdout)
        assert facts["stop_reason"] == "target" and facts["validation_metric"] == metric
        assert [it["validation"] for it in facts["iterations"]] == course[:first]
        assert facts["best_iteration"] == first
        reached = facts["target"]
        assert (reached["metric"], reached["value"], reached["iteration"]) == (metric, target, first)
        assert reached["elapsed"] == facts["iterations"][-1]["elapsed"]
        many = "" if first == 1 else "s"
        assert re.search(rf"target {metric} \S+ reached after {first} iteration{many} and .+ of "
                         "training", done.stderr)
        assert json.loads(program("info", "m", "--json").stdout)["stop_reason"] == "target"


def test_a_target_that_is_never_reached_is_told_with_the_best(program, cinema, courses):
    course = courses["ndcg@10"]
    done = validated(program, cinema, "--iterations", 8, "--target", "ndcg@10=1", "--json")
    facts = json.loads(done.stdout)
    assert facts["stop_reason"] == "iterations"
    assert facts["target"] == {"metric": "ndcg@10", "value": 1.0, "iteration": None,
                               "elapsed": None}
    best = max(course)
    assert (f"target ndcg@10 1 not reached in 8 iterations: the best is {best:.6g}, after "
            f"iteration {1 + course.index(best)}") in done.stderr


def test_a_model_that_reached_its_target_comes_back_as_it_is(program, cinema, courses):
    target = f"rmse={courses['rmse'][2]!r}"
    rest = ["--iterations", 8, "--json", "--feedback", "explicit"]
    first = json.loads(validated(program, cinema, *rest, "--target", target).stdout)
    lists = program("predict", "m", cinema / "parts/test.csv").stdout
    again = validated(program, cinema, *rest, "--resume", "m", "--target", target)
    facts = json.loads(again.stdout)
    assert facts["iterations"] == first["iterations"] and facts["target"] == first["target"]
    assert program("predict", "m", cinema / "parts/test.csv").stdout == lists
    more = json.loads(validated(program, cinema, *rest, "--resume", "m").stdout)
    assert [it["validation"] for it in more["iterations"]] == courses["rmse"]
    assert "target" not in more


def test_a_target_of_a_training_that_was_over_before(program, cinema):
    program("train", cinema / "parts/train.csv", "-o", "m", "--factors", 8, "--iterations", 2)
    done = validated(program, cinema, "--resume", "m", "--iterations", 2, "--target", "ndcg=0.9")
    assert "not reached: training was over before anything was measured" in done.stderr


def test_seconds_add_up_to_elapsed_ones(program, cinema):
    facts = json.loads(validated(program, cinema, "--iterations", 5, "--json").stdout)
    iterations = facts["iterations"]
    sums = list(itertools.accumulate(it["seconds"] for it in iterations))
    assert [it["elapsed"] for it in iterations] == sums and sums[-1] <= facts["seconds"]["train"]
    assert facts["feedback"] == "implicit" and facts["validation_metric"] == "ndcg@10"
    plain = json.loads(program("train", cinema / "parts/train.csv", "-o", "m", "--json").stdout)
    assert "validation_metric" not in plain and "target" not in plain
    assert all("elapsed" in it for it in plain["iterations"])
    popular = program("train", cinema / "parts/train.csv", "-o", "m", "--algorithm", "popular", "--json")
    assert json.loads(popular.stdout)["iterations"] == []


@pytest.mark.parametrize("options, named", [
    (["--target", "rmse=0.9"], ["--target", "--validation"]),
    (["--target", "ndcg@10=0.3", "--validation", "absent", "--validation-metric", "ndcg@20"],
     ["--target ndcg@10=0.3", "--validation-metric ndcg@20", "leave --validation-metric out"]),
    (["--target", "ndcg@10=0.3", "--validation", "absent", "--algorithm", "item-knn"],
     ["--target", "item-knn"]),
    *[(["--validation", "absent", "--target", text], [text, "rmse=0.92"])
      for text in ("rmse", "rmse=", "rmse=nan", "rmse=low", "rmse=inf")],
    (["--validation", "absent", "--target", "rmse=-1"], ["-1", "rmse", "0 or more"]),
    (["--validation", "absent", "--target", "ndcg@10=1.2"], ["1.2", "ndcg@10", "from 0 to 1"]),
    (["--validation", "absent", "--target", "rmsee=1"], ["rmsee", "rmse"]),
    (["--validation", "absent", "--target", "rmse=1", "--target", "mae=1"], ["--target"]),
])
def test_targets_that_mean_nothing_are_refused_before_anything_is_read(program, options, named):
    stderr = program("train", "none.csv", "-o", "m", *options, exit_code=2).stderr
    assert all(word in stderr for word in named), stderr
    assert "none.csv" not in stderr


def test_the_same_metric_in_other_words_is_no_conflict(program, cinema):
    validated(program, cinema, "--iterations", 1, "--target", "ndcg@10=0.9", "--validation-metric", "ndcg")


def test_another_metric_than_that_of_the_resumed_model(program, cinema):
    validated(program, cinema, "--iterations", 2)
    stderr = validated(program, cinema, "--iterations", 3, "--resume", "m", "--target", "recall@5=0.9",
                       exit_code=2).stderr
    assert "recall@5" in stderr and "ndcg@10" in stderr


def test_the_report_has_charts_against_seconds(program, cinema, tmp_path):
    validated(program, cinema, "--iterations", 3, "--report", "report.html")
    page = (tmp_path / "report.html").read_text()
    for title in ("Objective", "Objective against seconds", "Validation", "Validation against seconds"):
        assert page.count(f"<h2>{title}</h2>") == 1
    assert page.count("aria-label='objective by seconds of training'") == 1
    assert page.count("aria-label='validation by seconds of training'") == 1
    program("report", cinema / "model.safetensors", "-o", "other.html")
    other = (tmp_path / "other.html").read_text()
    assert "Objective against seconds" in other and "Validation against seconds" not in other
    # The axis of seconds begins at 0.
    chart = re.search(r"objective by seconds of training'>(.*?)</svg>", page, re.S)[1]
    assert re.search(r"<text class='t' x='54.0' y='194.0' text-anchor='middle'>0</text>", chart)
    # Of the same model the same points, whichever verb writes the page.
    program("report", "m", "-o", "again.html")
    again = (tmp_path / "again.html").read_text()
    lines = re.findall(r"points='([^']+)'", page)
    assert len(lines) >= 4 and lines == re.findall(r"points='([^']+)'", again)
