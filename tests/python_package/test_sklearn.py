# SPDX-License-Identifier: Apache-2.0
"""Estimators and splitters in scikit-learn's hands."""
import subprocess
import sys

import numpy as np
import pytest

import likewise

pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.experimental import enable_halving_search_cv  # noqa: E402, F401
from sklearn.model_selection import (  # noqa: E402
    GridSearchCV, HalvingRandomSearchCV, KFold, cross_validate, train_test_split)
from sklearn.pipeline import Pipeline  # noqa: E402
from sklearn.preprocessing import FunctionTransformer  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402

ALS = likewise.Als(factors=4, iterations=2, threads=1)
NDCG = likewise.metrics.scorer("ndcg@5")


@pytest.fixture(scope="module")
def timed(triples):
    times = np.random.default_rng(3).permutation(5000) + 1_600_000_000
    return likewise.Interactions((*triples, times))


@pytest.fixture(scope="module", params=["interactions", "pandas", "polars"])
def data(request, timed):
    names = {"user": "userId", "item": "movieId", "value": "rating", "time": "timestamp"}
    frame = timed.to_pandas().rename(columns=names).sample(frac=1, random_state=1)
    return {"interactions": timed, "pandas": frame, "polars": pl.DataFrame(frame)}[request.param]


@pytest.mark.parametrize("arguments", [{"method": "kfold", "folds": 2}, {"method": "per-user", "rows": 2},
                                       {"method": "time", "test": 0.3}, {"method": "last", "last": 2}])
def test_parts_are_those_of_split(data, timed, arguments):
    splitter = likewise.Splitter(**arguments)
    parts = likewise.split(timed, **arguments)
    parts = parts if isinstance(parts, list) else [parts]
    found = list(splitter.split(data))
    assert splitter.get_n_splits() == len(found) == len(parts)
    for places, expected in zip(found, parts):
        for rows, part in zip(places, expected):
            made = data.iloc[rows] if isinstance(data, pd.DataFrame) else data[rows]
            table = (made if isinstance(made, likewise.Interactions) else likewise.Interactions(made)).columns()
            assert table.keys() == part.columns().keys()
            assert all(np.array_equal(column, table[name]) for name, column in part.columns().items())


def test_cross_validation(data, timed):
    measured = cross_validate(ALS, data, cv=likewise.Splitter(folds=2), scoring=NDCG, error_score="raise")["test_score"]
    if isinstance(data, likewise.Interactions):
        expected = [ALS.fit(train).evaluate(test, k=5)["ndcg@5"] for train, test in likewise.split(timed, "kfold", folds=2)]
        assert measured == pytest.approx(expected)
    assert (measured > 0).all()
    errors = cross_validate(likewise.Bias(), data, cv=likewise.Splitter("time"), return_train_score=True, error_score="raise")
    assert errors["test_score"][0] < errors["train_score"][0] < 0


def test_searches(data):
    grid = GridSearchCV(ALS, {"factors": [2, 4], "regularization": [0.01, 0.1]}, cv=likewise.Splitter("per-user"),
                        return_train_score=True, error_score="raise").fit(data)
    assert grid.best_params_.keys() == {"factors", "regularization"} and np.isfinite(grid.cv_results_["mean_train_score"]).all()
    assert len(grid.best_estimator_.recommend(n=2)) == 300 and grid.score(data) > 0
    halving = HalvingRandomSearchCV(ALS, {"factors": [2, 4, 6]}, resource="iterations", max_resources=9, n_candidates=3,
                                    cv=likewise.Splitter("last"), scoring=NDCG, random_state=1, error_score="raise")
    assert halving.fit(data).n_resources_ == [1, 3] and halving.best_params_["iterations"] == 3


def test_the_end_of_a_pipeline(data):
    if isinstance(data, pl.DataFrame):
        liked = FunctionTransformer(lambda frame: frame.filter(frame["rating"] >= 3))
    elif isinstance(data, pd.DataFrame):
        liked = FunctionTransformer(lambda frame: frame[frame["rating"] >= 3])
    else:
        liked = FunctionTransformer(lambda rows: rows[rows.columns()["value"] >= 3])
    steps = Pipeline([("liked", liked), ("als", ALS)])
    assert len(steps.fit(data)[-1].recommend(10)[0]) == 10
    assert cross_validate(steps, data, cv=likewise.Splitter(folds=2), error_score="raise")["test_score"].min() > 0
    assert steps.set_params(als__factors=3).fit(data)[-1].user_factors.shape[1] == 3
    ALS.set_params(factors=4)


def test_what_is_asked_of_an_estimator(timed):
    fresh = clone(ALS)
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)
    check_is_fitted(fresh.fit(timed))
    train, test = likewise.split(timed, "random")
    fresh.fit(train)
    assert fresh.score(test) == pytest.approx(fresh.evaluate(test)["ndcg@10"])
    assert fresh.score(test, metric="recall@5") == pytest.approx(fresh.evaluate(test, k=5)["recall@5"])
    rated = likewise.Bias().fit(train)
    assert rated.score(test) == pytest.approx(-rated.evaluate(test)["rmse"])
    assert rated.score(test, metric="mae") == pytest.approx(-rated.evaluate(test, metrics="mae")["mae"])
    with pytest.raises(ValueError, match="ndgc"):
        likewise.metrics.scorer("ndgc@10")


def test_splitters_that_count_users_as_rows_are_refused(timed):
    for wrong in (lambda: cross_validate(ALS, timed, cv=KFold(3), error_score="raise"), lambda: train_test_split(timed)):
        with pytest.raises(TypeError, match="cv=likewise.Splitter"):
            wrong()


@pytest.mark.parametrize("kind", ["matrix", "dict", "tuple"])
def test_rows_of_what_has_no_rows_are_not_split(timed, kind):
    data = {"matrix": timed.to_csr(), "dict": timed.columns(), "tuple": tuple(timed.columns().values())}[kind]
    with pytest.raises(TypeError, match=r"X: rows are those of Interactions or of a frame, not of .*: give likewise.Interactions\(X\)"):
        next(likewise.Splitter("kfold", folds=2).split(data))


def test_nothing_loads_scikit_learn():
    done = subprocess.run([sys.executable, "-c", "import sys, likewise; likewise.Splitter(); "
                           "print('sklearn' in sys.modules, 'pandas' in sys.modules)"], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"], done.stderr
