# SPDX-License-Identifier: Apache-2.0
"""`Estimator.cross_validate`: folds in one call."""
import json
import os
import statistics
import subprocess

import likewise
import numpy as np
import pytest


def test_a_fold_is_a_split_a_training_and_an_evaluation(ratings):
    als = likewise.Als(factors=4, iterations=3)
    found = als.cross_validate(ratings, folds=3, seed=7, k=[5, 10], metrics=["ndcg", "recall"])
    each = [likewise.Als(factors=4, iterations=3).fit(train).evaluate(test, k=[5, 10], metrics=["ndcg", "recall"])
            for train, test in likewise.split(ratings, "kfold", folds=3, seed=7)]
    assert [fold.metrics for fold in found.folds] == each
    assert found.keys() == each[0].keys() == found.deviations.keys()
    for name, mean in found.items():
        assert mean == pytest.approx(statistics.mean(fold[name] for fold in each))
        assert found.deviations[name] == pytest.approx(statistics.stdev(fold[name] for fold in each))
    assert found.folds[0].trained + found.folds[0].tested == len(ratings) and found.folds[0].algorithm == "als"
    assert not als.__sklearn_is_fitted__()
    assert found.to_pandas().mean().to_dict() == pytest.approx(dict(found)) and list(found.to_pandas().index) == [1, 2, 3]
    assert "3 folds: ndcg@10 " in repr(found) or "ndcg@" in repr(found)
    assert "deviation" in found._repr_html_()


def test_it_has_the_numbers_of_the_command_line(ratings, tmp_path):
    ratings.save(tmp_path / "rows.csv")
    done = subprocess.run([os.environ["LIKEWISE_CLI"], "cross-validate", "rows.csv", "--algorithm", "item-knn", "--feedback",
                           "explicit", "--folds", "4", "--json"], cwd=tmp_path, check=True, capture_output=True)
    told = json.loads(done.stdout)
    found = likewise.ItemKnn(feedback="explicit").cross_validate(tmp_path / "rows.csv", folds=4)
    assert dict(found) == {name: one["mean"] for name, one in told["metrics"].items()}
    assert found.deviations == {name: one["deviation"] for name, one in told["metrics"].items()}


def test_tests_one_after_the_other_in_time():
    count = 90
    data = {"user": np.arange(count) % 9, "item": np.arange(count) % 10, "time": np.arange(count)}
    found = likewise.Popular().cross_validate(data, rolling=3, at=60)
    assert [(fold.trained, fold.tested) for fold in found.folds] == [(60, 10), (70, 10), (80, 10)]
    assert len(likewise.Popular().cross_validate(data, rolling=2, test=0.5).folds) == 2
    assert {fold.algorithm for fold in likewise.Auto().cross_validate(data, folds=2).folds} <= set(likewise._core.algorithms())


def test_users_without_a_history_are_not_ranked():
    count = 90
    data = {"user": np.arange(count) // 9, "item": np.arange(count) % 10, "time": np.arange(count) + np.arange(count) * 7 % 20}
    found = likewise.Popular().cross_validate(data, rolling=2, at=60)
    assert sum(fold.users_not_ranked for fold in found.folds) > 0
    assert "no history: not ranked>" in repr(found)


def test_clip_is_that_of_evaluate(ratings):
    als = likewise.Als(feedback="explicit", factors=4, iterations=2, regularization=0.001)
    assert als.cross_validate(ratings, folds=2, clip=False)["rmse"] > als.cross_validate(ratings, folds=2)["rmse"]
    with pytest.raises(ValueError, match="clip=False would do nothing"):
        likewise.Als().cross_validate(ratings, folds=2, clip=False)


@pytest.mark.parametrize("options, error, words", [
    ({"folds": 1}, ValueError, r"folds must be in \[2"), ({"folds": 2.5}, TypeError, "folds"), ({"folds": True}, TypeError, "folds"),
    ({"rolling": 1}, ValueError, "rolling must be in"), ({"rolling": 2, "folds": 3}, ValueError, "folds=3 would do nothing with rolling"),
    ({"rolling": 2, "seed": 3}, ValueError, "seed=3 would do nothing with rolling"),
    ({"at": 5}, ValueError, "at=5 would do nothing without rolling"), ({"test": 0.3}, ValueError, "test=0.3 would do nothing"),
    ({"rolling": 2, "at": 5, "test": 0.3}, ValueError, "test=0.3 would do nothing with at"),
    ({"rolling": 2}, ValueError, "needs times"), ({"metrics": "rmse"}, ValueError, "predicts none"),
    ({"metrics": "nothing"}, ValueError, "nothing"), ({"k": 0}, ValueError, "k: 0"), ({"seed": -1}, (ValueError, TypeError), "seed"),
    ({"seed": "x"}, TypeError, "seed"), ({"rolling": 2, "at": "soon"}, ValueError, "at must be a datetime")])
def test_what_it_cannot_do(options, error, words):
    data = {"user": [1, 1, 2, 2], "item": [1, 2, 1, 3]}
    with pytest.raises(error, match=words):
        likewise.Popular().cross_validate(data, **options)


def test_ratings_are_needed_for_ratings():
    with pytest.raises(ValueError, match="these interactions have none"):
        likewise.Bias().cross_validate({"user": [1, 2], "item": [1, 2]})
