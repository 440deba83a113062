# SPDX-License-Identifier: Apache-2.0
"""The baseline of ratings, compared to Surprise's BaselineOnly on MovieLens 100K and from outside.

scripts/golden/make_bias_golden.py made the golden file and says what is in it.
"""
import csv
import gzip
import io
import json

import pytest

from conftest import ROOT

GOLDEN = json.loads((ROOT / "tests/golden/baselines.json").read_text())
BIAS = ["--algorithm", "bias"]


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("fold", (1, 2, 3, 4, 5))
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: str(case["surprise"]))
def test_predictions_equal_those_of_surprise(program, real_data, case, fold):
    base, test = (real_data / f"ml-100k/u{fold}.{part}.gz" for part in ("base", "test"))
    options = [word for name, value in case["likewise"].items()
               for word in ("--" + name.replace("_", "-"), value)]
    program("train", base, "-o", "m", *BIAS, *options)
    facts = json.loads(program("evaluate", "m", test, "--json").stdout)
    expected = case["folds"][fold - 1]
    assert facts["pairs_evaluated"] == 20000
    # Biases and predictions are rounded to float32, and these are means over 20,000 of them.
    assert abs(facts["rmse"] - expected["rmse"]) < 1e-7
    assert abs(facts["mae"] - expected["mae"]) < 1e-7
    found = {(row["user"], row["item"]): float(row["prediction"])
             for row in rows(program("predict", "m", test).stdout)}
    with gzip.open(test, "rt") as lines:
        asked = [tuple(line.split("\t")[:2]) for line in lines][::GOLDEN["every"]]
    assert len(asked) == len(expected["estimates"]) == 100
    for pair, estimate in zip(asked, expected["estimates"]):
        assert abs(found[pair] - estimate) < 2e-6


RATINGS = "user,item,value\nann,tea,5\nann,milk,3\nben,tea,1\nben,rum,2\ncat,rum,4\n"


@pytest.fixture
def ratings(tmp_path):
    (tmp_path / "r.csv").write_text(RATINGS)
    return "r.csv"


@pytest.mark.parametrize("baseline, expected", [
    ("global-mean", [3, 3, 3, 3]), ("user-mean", [4, 1.5, 3, 4]), ("item-mean", [3, 3, 3, 3])])
def test_means(program, ratings, tmp_path, baseline, expected):
    program("train", ratings, "-o", "m", *BIAS, "--baseline", baseline)
    (tmp_path / "pairs.csv").write_text("user,item\nann,rum\nben,milk\nzoe,tea\nann,gin\n")
    found = {(row["user"], row["item"]): float(row["prediction"])
             for row in rows(program("predict", "m", "pairs.csv").stdout)}
    assert [found[pair] for pair in (("ann", "rum"), ("ben", "milk"), ("zoe", "tea"),
                                     ("ann", "gin"))] == expected
    assert len(rows(program("predict", "m", "--all-missing").stdout)) == 9 - 5


def test_new_users_are_predicted_from_their_ratings(program, ratings, tmp_path):
    program("train", ratings, "-o", "m", *BIAS, "--clip", "off")
    (tmp_path / "new.csv").write_text("user,item,value\nzoe,tea,5\nzoe,rum,5\nyan,tea,1\n")
    (tmp_path / "pairs.csv").write_text("user,item\nzoe,milk\nyan,milk\nxia,milk\n")
    zoe, yan, xia = (float(row["prediction"]) for row in sorted(
        rows(program("predict", "m", "pairs.csv", "--new", "new.csv").stdout),
        key=lambda row: ["zoe", "yan", "xia"].index(row["user"])))
    assert yan < xia < zoe
    lists = rows(program("recommend", "m", "--new", "new.csv").stdout)
    assert [(row["user"], row["item"]) for row in lists if row["user"] == "zoe"] == [("zoe", "milk")]


def test_lists_are_the_same_for_all_but_for_what_was_seen(program, cinema):
    program("train", cinema / "parts/train.csv", "-o", "m", *BIAS)
    answers = rows(program("recommend", "m", "--user", 1, "--user", 2, "--include-seen").stdout)
    assert [row["item"] for row in answers[:10]] == [row["item"] for row in answers[10:]]
    facts = json.loads(program("evaluate", "m", cinema / "parts/test.csv", "--json", "--metrics",
                               "ndcg,auc,rmse").stdout)
    assert 0 < facts["ndcg@10"] < 1 and 0 < facts["auc"] < 1 and facts["rmse"] > 0


def test_what_it_does_not_answer_says_what_does(program, ratings, tmp_path):
    (tmp_path / "test.csv").write_text("user,item,value\nann,rum,4\ncat,tea,2\n")
    program("train", ratings, "-o", "m", *BIAS)
    program("train", ratings, "-o", "mean", *BIAS, "--baseline", "user-mean", "--report", "r.html")
    for arguments, named in (
            (["similar", "m", "--item", "tea"], "--algorithm als"),
            (["similar", "m", "--new", ratings], "user-knn"),
            (["recommend", "m", "--user", "ann", "--explain"], "--algorithm als"),
            (["recommend", "mean", "--user", "ann"], "--baseline biases"),
            (["evaluate", "mean", "test.csv", "--metrics", "ndcg"], "--baseline biases"),
            (["update", "m", ratings, "-o", "n", "--iterations", "2"], "bias"),
            (["train", ratings, "-o", "n", "--resume", "m"], "bias"),
            (["train", ratings, "-o", "n", *BIAS, "--feedback", "implicit"], "explicit")):
        assert named in program(*arguments, exit_code=2).stderr, arguments


def test_what_comes_next_can_be_done(program, ratings):
    for baseline, verb in (("biases", "recommend"), ("global-mean", "evaluate")):
        done = program("train", ratings, "-o", "m", *BIAS, "--baseline", baseline)
        assert f"next: likewise {verb} m" in done.stderr


def test_values_are_needed(program, tmp_path):
    (tmp_path / "pairs.csv").write_text("user,item\nann,tea\n")
    stderr = program("train", "pairs.csv", "-o", "m", *BIAS, exit_code=2).stderr
    assert "values are needed (for explicit feedback" in stderr


def test_popular_predicts_no_ratings(program, ratings):
    program("train", ratings, "-o", "stars", "--algorithm", "popular", "--feedback", "explicit")
    program("train", ratings, "-o", "plays", "--algorithm", "popular")
    for arguments in (["predict", "stars", ratings], ["predict", "stars", "--all-missing"],
                      ["predict", "stars", ratings, "--new", ratings],
                      *[["evaluate", model, ratings, "--metrics", metric]
                        for model in ("stars", "plays") for metric in ("rmse", "mae")]):
        assert "--algorithm bias" in program(*arguments, exit_code=2).stderr
    assert len(rows(program("predict", "plays", ratings).stdout)) == 5
    assert rows(program("recommend", "stars", "--user", "ann").stdout)[0]["item"] == "rum"
