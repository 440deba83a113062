# SPDX-License-Identifier: Apache-2.0
"""Lists of few items: candidates, and samples of negatives."""
import csv
import io
import json
import math
import random

import pytest


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def likes(program, tmp_path):
    """Training and test part of 60 users and 40 items, and a model."""
    draw = random.Random(5)
    train, test = [], []
    for user in range(60):
        for place, item in enumerate(draw.sample(range(40), 12)):
            (train if place < 9 else test).append((user, item))
    for name, pairs in (("train.csv", train), ("test.csv", test)):
        (tmp_path / name).write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in pairs))
    program("train", "train.csv", "-o", "m", "--factors", "4", "--iterations", "3")
    return train, test


def evaluate(program, *options, model="m"):
    return json.loads(program("evaluate", model, "test.csv", "--json", *options).stdout)


def scores(program, tmp_path, pairs):
    (tmp_path / "pairs.csv").write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in pairs))
    return [float(row["prediction"]) for row in rows(program("predict", "m", "pairs.csv").stdout)]


def test_candidates_are_ranked_alone(program, likes, tmp_path):
    train, test = likes
    draw = random.Random(6)
    candidates = {user: draw.sample(range(40), 15) for user in range(0, 60, 2)}
    (tmp_path / "candidates.csv").write_text("user,item\n" + "".join(
        f"{user},{item}\n" for user, items in candidates.items() for item in items))
    found = evaluate(program, "--candidates", "candidates.csv", "-k", "3", "--metrics", "ndcg,hit_rate")
    wanted, hits, misses = [], [], 0
    for user, items in candidates.items():
        left = [item for item in items if (user, item) not in train]
        relevant = {item for u, item in test if u == user}
        score = dict(zip(left, scores(program, tmp_path, [(user, item) for item in left])))
        best = sorted(left, key=lambda item: (-score[item], item))[:3]
        gain = sum(1 / math.log2(place + 2) for place, item in enumerate(best) if item in relevant)
        wanted.append(gain / sum(1 / math.log2(place + 2) for place in range(min(3, len(relevant)))))
        hits.append(any(item in relevant for item in best))
        misses += len(relevant - set(left))
    assert found["ndcg@3"] == pytest.approx(sum(wanted) / len(wanted), abs=1e-9)
    assert found["hit_rate@3"] == pytest.approx(sum(hits) / len(hits))
    assert found["users_evaluated"] == 30 and found["users_without_candidates"] == 30
    assert found["relevant_no_candidates"] == misses > 0
    # Only the form of files is shared: candidates have no values, and as many users as they have.
    same = evaluate(program, "--candidates", "candidates.csv", "-k", "3", "--metrics", "ndcg,hit_rate",
                    "--min-value", "1", "--min-user-count", "3", "--duplicates", "max")
    assert same["ndcg@3"] == found["ndcg@3"]
    told = program("evaluate", "m", "test.csv", "--candidates", "candidates.csv")
    assert "30 users left out: without candidates" in told.stdout
    assert f"{misses} of 90 relevant items are no candidates" in told.stdout


def test_negatives_are_as_many_as_asked(program, likes):
    every = evaluate(program, "--negatives", "39", "--metrics", "hit_rate,ndcg", "-k", "10")
    few = evaluate(program, "--negatives", "5", "--metrics", "hit_rate,ndcg", "-k", "10")
    assert few["hit_rate@10"] == 1.0  # six items in a list of ten
    assert every["hit_rate@10"] < 1.0 and every["ndcg@10"] < few["ndcg@10"]
    assert few["users_evaluated"] == 60 and few["relevant_items"] == 180
    beyond = evaluate(program, "--negatives", "2000000000", "--metrics", "hit_rate,ndcg", "-k", "10")
    assert {**beyond, "seconds": 0} == {**every, "seconds": 0}
    again = evaluate(program, "--negatives", "5", "--metrics", "ndcg", "--seed", "42")
    other = evaluate(program, "--negatives", "5", "--metrics", "ndcg", "--seed", "43")
    assert again["ndcg@10"] == few["ndcg@10"] != other["ndcg@10"]


def test_per_user_values_are_means_of_the_users_lists(program, likes):
    program("evaluate", "m", "test.csv", "--negatives", "9", "--metrics", "hit_rate,auc", "-k", "2",
            "--per-user", "each.csv", "--json")
    each = rows((program.folder / "each.csv").read_text())
    assert len(each) == 60
    assert {round(float(row["hit_rate@2"]) * 3, 5) for row in each} <= {0, 1, 2, 3}


@pytest.mark.parametrize("options, words", [
    (["--candidates", "absent", "--negatives", "5"], ["--candidates", "--negatives", "exclude"]),
    (["--negatives", "0"], ["--negatives", "1 or more"]),
    (["--negatives", "-3"], ["--negatives", "-3"]),
    (["--seed", "3"], ["--seed", "--negatives"]),
    (["--negatives", "5", "--metrics", "rmse"], ["rmse", "ndcg"]),
    (["--candidates", "absent", "--metrics", "rmse"], ["rmse", "ndcg"]),
    (["--negatives", "4000000000"], ["--negatives", "4000000000", "from 0 to 2147483647"]),
])
def test_wrong_options_are_refused(program, likes, options, words):
    told = program("evaluate", "m", "test.csv", *options, exit_code=2).stderr
    assert all(word in told for word in words), told


def test_candidates_without_a_relevant_item_are_refused(program, likes, tmp_path):
    train, test = likes
    (tmp_path / "seen.csv").write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in train))
    assert "nothing to rank" in program("evaluate", "m", "test.csv", "--candidates", "seen.csv",
                                        exit_code=1).stderr
    others = [(u, i) for u in range(60) for i in range(40) if (u, i) not in set(train) | set(test)]
    (tmp_path / "others.csv").write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in others))
    assert "held-out items" in program("evaluate", "m", "test.csv", "--candidates", "others.csv",
                                       exit_code=1).stderr


@pytest.mark.parametrize("algorithm", ["als", "bpr", "ease", "item-knn", "spectral", "user-knn", "popular"])
def test_validation_measures_what_evaluate_does(program, likes, algorithm):
    (program.folder / "few.csv").write_text(
        "user,item\n" + "".join(f"{u},{i}\n" for u in range(60) for i in range(0, 40, 3)))
    short = ["--iterations", "2", "--factors", "3"] if algorithm in ("als", "bpr") else []
    for given, same, among in ((["--validation-negatives", "9"], ["--negatives", "9"], "9 negatives"),
                               (["--validation-candidates", "few.csv"], ["--candidates", "few.csv"],
                                "candidates"), ([], [], None)):
        told = json.loads(program(
            "train", "train.csv", "-o", "v", "--algorithm", algorithm, *short, "--validation", "test.csv",
            "--validation-metric", "ndcg@5", *given, "--json").stdout)
        assert told["validation_metric"] == "ndcg@5" and told.get("validation_among") == among
        measured = told.get("validation")
        if short:
            assert measured is None
            measured = told["iterations"][told["best_iteration"] - 1]["validation"]
        wanted = evaluate(program, "-k", "5", "--metrics", "ndcg", *same, model="v")["ndcg@5"]
        assert measured == pytest.approx(wanted, abs=1e-12)
        facts = json.loads(program("info", "v", "--json").stdout)
        assert facts["validation"] == measured and facts["validation_metric"] == "ndcg@5"
        assert facts.get("validation_among") == among


def test_explicit_models_without_iterations_are_validated_by_rmse(program, tmp_path):
    draw = random.Random(7)
    for name in ("r.csv", "v.csv"):
        (tmp_path / name).write_text("user,item,rating\n" + "".join(
            f"{u},{i},{draw.randint(1, 5)}\n" for u in range(30) for i in draw.sample(range(20), 8)))
    for algorithm in ("bias", "item-knn", "user-knn"):
        done = program("train", "r.csv", "-o", "m", "--algorithm", algorithm, "--feedback", "explicit",
                       "--validation", "v.csv", "--report", "page.html")
        facts = json.loads(program("info", "m", "--json").stdout)
        told = json.loads(program("evaluate", "m", "v.csv", "--json").stdout)
        assert facts["validation_metric"] == "rmse"
        assert facts["validation"] == pytest.approx(told["rmse"], abs=1e-12)
        assert f"validation: rmse {told['rmse']:.4f}" in done.stderr
        assert "rmse in validation" in (tmp_path / "page.html").read_text()
    # What was measured was measured on another model.
    program("update", "m", "v.csv", "-o", "grown")
    assert "validation" not in json.loads(program("info", "grown", "--json").stdout)


def test_what_validation_cannot_measure_is_refused(program, likes, tmp_path):
    why = program("train", "train.csv", "-o", "v", "--algorithm", "popular", "--validation", "test.csv",
                  "--validation-metric", "rmse", exit_code=2).stderr
    assert "popular" in why
    for verb in (["train", "train.csv", "-o", "v", "--validation", "test.csv", "--validation-metric", "rmse"],
                 ["train", "train.csv", "-o", "v", "--validation", "test.csv", "--target", "mae=1"],
                 ["train", "train.csv", "-o", "v", "--algorithm", "sgd", "--loss", "logistic",
                  "--validation", "test.csv", "--validation-metric", "rmse"]):
        why = program(*verb, exit_code=2).stderr
        assert "compares predicted ratings" in why and "take a metric that ranks (precision" in why
    (tmp_path / "r.csv").write_text("user,item,rating\n1,1,3\n1,2,4\n2,1,5\n")
    why = program("train", "r.csv", "-o", "v", "--algorithm", "bias", "--baseline", "user-mean",
                  "--validation", "r.csv", "--validation-metric", "ndcg", exit_code=2).stderr
    assert "baseline user-mean" in why and "rmse" in why
    for option in (["--target", "ndcg@10=0.1"], ["--checkpoint", "state"]):
        why = program("train", "train.csv", "-o", "v", "--algorithm", "item-knn", "--validation",
                      "test.csv", *option, exit_code=2).stderr
        assert option[0] in why and "iterates" in why
    assert "--patience" in program("train", "train.csv", "-o", "v", "--algorithm", "item-knn",
                                   "--validation", "test.csv", "--patience", "3", exit_code=2).stderr
    for options in (["--validation-negatives", "0", "--validation", "test.csv"],
                    ["--validation-negatives", "3"], ["--validation-candidates", "absent"],
                    ["--validation-candidates", "absent", "--validation-negatives", "3",
                     "--validation", "test.csv"]):
        assert options[0] in program("train", "train.csv", "-o", "v", *options, exit_code=2).stderr
    why = program("train", "train.csv", "-o", "v", "--validation", "test.csv", "--validation-metric",
                  "rmse", "--validation-negatives", "3", exit_code=2).stderr
    assert "ranks" in why


def test_runs_that_rank_other_items_are_not_compared(program, likes):
    for name, given in (("a", []), ("b", ["--validation-negatives", "9"])):
        program("train", "train.csv", "-o", name, "--factors", "3", "--iterations", "2", "--validation",
                "test.csv", *given)
    why = program("compare", "a", "b", exit_code=2).stderr
    assert "all items" in why and "9 negatives" in why
    why = program("train", "train.csv", "-o", "c", "--resume", "b", "--iterations", "3", "--validation",
                  "test.csv", exit_code=2).stderr
    assert "ndcg@10 among 9 negatives" in why
