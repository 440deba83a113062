# SPDX-License-Identifier: Apache-2.0
"""`likewise cross-validate`: what it prints, and what it refuses."""
import json
import statistics

import pytest

FAST = ("--factors", "4", "--iterations", "3")


def facts(program, *arguments):
    return json.loads(program("cross-validate", *arguments, "--json").stdout)


def test_each_fold_is_trained_and_measured(program, cinema):
    found = facts(program, cinema / "ratings.csv", *FAST, "--folds", "4", "-k", "5,10")
    assert [fold["algorithm"] for fold in found["folds"]] == ["als"] * 4
    whole = found["folds"][0]["trained"] + found["folds"][0]["tested"]
    assert sum(fold["tested"] for fold in found["folds"]) == whole
    assert all(fold["trained"] + fold["tested"] == whole for fold in found["folds"])
    assert {"ndcg@5", "ndcg@10", "recall@10"} <= found["metrics"].keys()
    for name, over in found["metrics"].items():
        values = [fold["metrics"][name] for fold in found["folds"]]
        assert over["mean"] == pytest.approx(statistics.mean(values))
        assert over["deviation"] == pytest.approx(statistics.stdev(values), abs=1e-12)
        assert (over["least"], over["most"]) == (min(values), max(values))
    assert len({fold["metrics"]["ndcg@10"] for fold in found["folds"]}) == 4


def test_folds_are_those_of_split(program, tmp_path):
    """Every user and item has interactions in all training parts here, so that files lose nothing."""
    rows = [(u, i, 1 + (u * 7 + i * 3) % 5) for u in range(12) for i in range(10)]
    (tmp_path / "data.csv").write_text("user,item,rating\n" + "".join(f"{u},{i},{v}\n" for u, i, v in rows))
    how = ("--feedback", "explicit", "--algorithm", "bias")
    found = facts(program, "data.csv", *how, "--folds", "3", "--fold-seed", "5")
    program("split", "data.csv", "-o", "folds", "--method", "kfold", "--folds", "3", "--seed", "5")
    for number, fold in enumerate(found["folds"], 1):
        program("train", f"folds/fold-{number}/train.csv", "-o", "m", *how)
        alone = json.loads(program("evaluate", "m", f"folds/fold-{number}/test.csv", "--json").stdout)
        assert fold["metrics"]["rmse"] == pytest.approx(alone["rmse"], rel=1e-9)
        assert fold["pairs_evaluated"] == alone["pairs_evaluated"]


def test_tests_one_after_the_other_in_time(program, tmp_path):
    (tmp_path / "data.csv").write_text("".join(f"{u},{i},1,{100 * i + u}\n" for u in range(8) for i in range(10)))
    found = facts(program, "data.csv", "--algorithm", "popular", "--rolling", "3", "--at", "600")
    sizes = [(fold["trained"], fold["tested"]) for fold in found["folds"]]
    assert sizes[0][0] == 48 and all(before[0] + before[1] == after[0] for before, after in zip(sizes, sizes[1:]))
    assert sum(fold["tested"] for fold in found["folds"]) == 32
    assert len(facts(program, "data.csv", "--algorithm", "popular", "--rolling", "2", "--test", "0.3")["folds"]) == 2


def test_the_table(program, cinema):
    done = program("cross-validate", cinema / "ratings.csv", *FAST, "--folds", "2", "--metrics", "ndcg")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["metric", "mean", "deviation", "least", "most"]
    assert lines[1].split()[0] == "ndcg@10" and "2 folds in" in lines[-2]
    assert "users have no history: not ranked" in lines[-1]
    assert "fold 1 of 2: " in done.stderr and "fold 2 of 2: " in done.stderr and "device: cpu" in done.stderr
    assert program("cross-validate", cinema / "ratings.csv", *FAST, "--folds", "2", "-q").stderr == ""
    chosen = program("cross-validate", cinema / "ratings.csv", "--algorithm", "auto", "--folds", "2")
    assert "fold 1 of 2: " in chosen.stderr


def test_users_without_a_history_are_not_ranked_and_counted(program, tmp_path):
    (tmp_path / "data.csv").write_text("".join(f"{u},{i},1,{100 * u + i}\n" for u in range(8) for i in range(10)) +
                                       "0,10,1,790\n1,10,1,791\n")
    words = ["data.csv", "--algorithm", "popular", "--rolling", "2", "--at", "605"]
    found = facts(program, *words)
    counts = [(fold["users_evaluated"], fold["users_not_ranked"]) for fold in found["folds"]]
    assert counts == [(1, 1), (3, 0)]
    done = program("cross-validate", *words)
    assert "1 of 5 users have no history: not ranked" in done.stdout
    assert "1 of 2 users have no history: not ranked" in done.stderr
    # Where nobody has one, that is an error.
    assert "of 1 user with a relevant test item none has a history" in program(
        "cross-validate", *words[:-1], "700", exit_code=1).stderr


def test_clipping_is_that_of_evaluate_where_training_has_none(program, cinema):
    how = [cinema / "ratings.csv", "--algorithm", "als", "--feedback", "explicit", "--factors", "4", "--folds", "2",
           "--regularization", "0.001"]
    on, off = (facts(program, *how, "--clip", clip)["metrics"]["rmse"]["mean"] for clip in ("on", "off"))
    assert on < off and facts(program, *how)["metrics"]["rmse"]["mean"] == on


@pytest.mark.parametrize("when, words", [
    ("2030-01-01", "--at: no interaction lies at or after this time"), ("1960-01-01", "--at: no interaction lies before this time")])
def test_a_moment_outside_of_the_data(program, tmp_path, when, words):
    (tmp_path / "data.csv").write_text("user,item,value,time\n" + "".join(
        f"{u},{i},1,{100 * i + u}\n" for u in range(8) for i in range(10)))
    assert words in program("cross-validate", "data.csv", "--algorithm", "popular", "--rolling", "3", "--at", when,
                            exit_code=2).stderr


@pytest.mark.parametrize("options, words", [
    (["--algorithm", "als", "--clip", "off"], "--clip would do nothing"),
    (["--algorithm", "als", "-k", "99999999999"], "is not a whole number from 1 to"),
    (["--algorithm", "als", "-k", "0"], "is not a whole number from 1 to"),
    (["--algorithm", "auto", "--fast"], "leave --fast out"),
    (["--folds", "1"], "folds must be in [2, 1000]"), (["--folds", "1001"], "folds must be in"),
    (["--rolling", "1"], "rolling must be in"), (["--rolling", "0"], "--rolling must be at least 2"),
    (["--rolling", "2", "--folds", "3"], "--folds would do nothing"),
    (["--rolling", "2", "--fold-seed", "3"], "--fold-seed would do nothing"),
    (["--test", "0.3"], "--test would do nothing"), (["--at", "5"], "--at would do nothing"),
    (["--rolling", "2", "--at", "5", "--test", "0.3"], "--test would do nothing"),
    (["--algorithm", "bias", "-k", "5"], "-k would do nothing"),
    (["--algorithm", "bias", "--min-relevant-value", "2"], "--min-relevant-value would do nothing"),
    (["--metrics", "auc", "-k", "5"], "-k would do nothing"), (["--metrics", "rmse"], "predicts none"),
    (["--patience", "3"], "there is no option '--patience'"),
    (["--metrics", "nothing"], "nothing"), (["--algorithm", "popular", "--factors", "3"], "--factors is for")])
def test_what_it_refuses_before_it_reads(program, options, words):
    assert words in program("cross-validate", "absent.csv", *options, exit_code=2).stderr


def test_what_it_refuses_of_the_data(program, tmp_path):
    (tmp_path / "few.csv").write_text("user,item,rating\n1,2,3\n1,3,4\n")
    assert "fold" in program("cross-validate", "few.csv", "--algorithm", "popular", "--folds", "5", exit_code=2).stderr
    assert "needs times" in program("cross-validate", "few.csv", "--algorithm", "popular", "--rolling", "2", exit_code=2).stderr
    (tmp_path / "pairs.csv").write_text("user,item\n1,2\n1,3\n2,2\n2,3\n")
    assert "value" in program("cross-validate", "pairs.csv", "--feedback", "explicit", "--folds", "2", exit_code=2).stderr
