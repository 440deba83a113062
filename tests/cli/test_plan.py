# SPDX-License-Identifier: Apache-2.0
"""`train --plan`: all that is decided before training, with the reasons; nothing is trained or written."""
import json

import pytest


def test_it_says_what_a_training_would_do(program, cinema, tmp_path):
    data = cinema / "ratings.csv"
    plan = json.loads(program("train", data, "--plan", "--json", "--factors", 8, "--seed", 3).stdout)
    told = json.loads(program("train", data, "-o", "m", "--json", "--factors", 8, "--seed", 3).stdout)
    assert plan["parameters"] == told["parameters"] and plan["device"] == told["device"]
    assert plan["origins"] == {
        "factors": "chosen", "seed": "chosen", "regularization": "from the data",
        "regularization_exponent": "from the data", "unobserved_weight": "from the data"}
    assert plan["memory"]["total"] == sum(plan["memory"]["parts"].values()) > 0
    assert json.loads(program("info", "m", "--json").stdout)["origins"] == plan["origins"]
    text = program("train", data, "-o", "never", "--plan", "--factors", 8).stdout
    assert "algorithm: als\n" in text and "  factors 8 (chosen)\n" in text and "  iterations 15 (default)" in text
    assert not (tmp_path / "never").exists()


def test_it_gives_the_reason_of_auto_and_the_metric(program, cinema):
    text = program("train", cinema / "parts/train.csv", "--plan", "--algorithm", "auto",
                   "--validation", cinema / "parts/test.csv").stdout
    assert "algorithm: spectral; popularity as of " in text and "\nvalidation: ndcg@10\n" in text


@pytest.mark.parametrize("options, why", [
    ([], "is required"), (["--plan", "--cg-steps", "4"], "--cg-steps would do nothing here: it needs --solver cg"),
    (["--plan", "--alpha", "2", "--feedback", "explicit"], "--feedback implicit without --unobserved-weight"),
    (["--plan", "--neighbours", "4"], "--neighbours is for --algorithm item-knn or user-knn, not als")])
def test_what_is_wrong_with_a_request(program, cinema, options, why):
    assert why in program("train", cinema / "ratings.csv", *options, exit_code=2).stderr


def test_what_was_chosen_is_told_as_it_was_typed(program, cinema):
    how = ["train", cinema / "ratings.csv", "--plan"]
    text = program(*how, "--feedback", "explicit", "--algorithm", "item-knn", "--similarity", "pearson").stdout
    assert "  feedback explicit (chosen)\n" in text and "  negative drop (default)\n" in text
    told = json.loads(program(*how, "--algorithm", "item-knn", "--json").stdout)
    assert set(told["origins"]) <= set(told["parameters"]) and "sum_scale" in told["origins"]
    assert "  feedback implicit (default)\n" in program(*how).stdout
