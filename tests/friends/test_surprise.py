# SPDX-License-Identifier: Apache-2.0
"""likewise.surprise and Surprise itself on the same programs: folds, predictions, details, measures."""
import importlib
import pkgutil

import numpy as np
import pandas
import pytest

import likewise.surprise
from conftest import needed

surprise = needed("surprise")
import surprise.model_selection  # noqa: E402

BOTH = [surprise, likewise.surprise]


@pytest.fixture(scope="module")
def datas(parts):
    """Ratings in quarters, with noise: hardly any two similarities are equal. The same data for both."""
    draw = np.random.default_rng(1)
    frame = parts[0].to_pandas()[["user", "item", "value"]].sample(frac=1, random_state=3)
    frame["value"] = (frame["value"] + draw.normal(0, 0.3, len(frame))).clip(1, 5).round(6)
    return [one.Dataset.load_from_df(frame, one.Reader(rating_scale=(1, 5))) for one in BOTH]


def folds_of(iterator, data):
    return [(sorted(train.build_testset()), test) for train, test in iterator.split(data)]


@pytest.mark.parametrize("name, options", [
    ("KFold", {"n_splits": 3, "random_state": 4}), ("KFold", {"n_splits": 7, "shuffle": False}),
    ("RepeatedKFold", {"n_splits": 2, "n_repeats": 2, "random_state": 1}), ("LeaveOneOut", {"n_splits": 2, "random_state": 5}),
    ("LeaveOneOut", {"n_splits": 1, "random_state": 5, "min_n_ratings": 15}),
    ("ShuffleSplit", {"n_splits": 2, "test_size": 0.3, "random_state": 2}),
    ("ShuffleSplit", {"n_splits": 1, "test_size": 100, "train_size": 0.5, "random_state": 2})])
def test_folds_are_those_of_surprise(datas, name, options):
    theirs, ours = (folds_of(getattr(one.model_selection, name)(**options), data) for one, data in zip(BOTH, datas))
    assert ours == theirs


@pytest.mark.parametrize("name, options", [
    ("KNNBasic", {}), ("KNNBasic", {"k": 20, "min_k": 6, "sim_options": {"name": "pearson", "user_based": False}}),
    ("KNNBasic", {"sim_options": {"name": "cosine", "min_support": 4}}), ("KNNWithMeans", {"sim_options": {"name": "msd"}}),
    ("KNNWithZScore", {"k": 15, "sim_options": {"name": "pearson"}}),
    ("KNNBaseline", {"sim_options": {"name": "pearson_baseline", "user_based": False, "shrinkage": 10}}),
    ("KNNBaseline", {"bsl_options": {"n_epochs": 5, "reg_u": 12}}), ("BaselineOnly", {}),
    ("BaselineOnly", {"bsl_options": {"method": "sgd", "learning_rate": 0.0005}})])
def test_predictions_and_details_are_those_of_surprise(datas, name, options):
    told = []
    for one, data in zip(BOTH, datas):
        train, test = one.model_selection.train_test_split(data, test_size=0.25, random_state=3)
        algo = getattr(one, name)(**options, verbose=False).fit(train)
        test += [(999, test[0][1], 3.0), (test[0][0], 999, 3.0), (999, 999, 3.0)]
        told.append(algo.test(test))
        assert [algo.predict(*row).details for row in test[-5:]] == [row.details for row in told[-1][-5:]]
        assert np.allclose([algo.predict(*row).est for row in test[-5:]], [row.est for row in told[-1][-5:]])
    theirs, ours = told
    assert [row.details for row in ours] == [row.details for row in theirs]
    assert [row[:3] for row in ours] == [row[:3] for row in theirs]
    assert np.abs(np.array([row.est for row in ours]) - [row.est for row in theirs]).max() < 2e-3
    for measure in ("rmse", "mse", "mae", "fcp"):
        values = [getattr(importlib.import_module(f"{one.__name__}.accuracy"), measure)(theirs, verbose=False) for one in BOTH]
        assert values[0] == pytest.approx(values[1], abs=1e-12), measure


SGD = {"bsl_options": {"method": "sgd"}}
REPEATED = [{"name": name, "user_based": name != "cosine"} for name in ("msd", "cosine", "pearson", "pearson_baseline")]


def estimates(data, name, options, one):
    """(estimates, details) of pairs that were not trained on: those are their own neighbours in Surprise."""
    train, test = one.model_selection.train_test_split(data, test_size=0.25, random_state=3)
    known = {(train.to_raw_uid(user), train.to_raw_iid(item)) for user, item, _ in train.all_ratings()}
    algo = getattr(one, name)(**options, verbose=False).fit(train)
    predictions = algo.test([*(row for row in test if row[:2] not in known), (999, test[0][1], 3.0), (999, 999, 3.0)])
    return np.array([row.est for row in predictions]), [row.details for row in predictions]


@pytest.mark.parametrize("name, options", [
    ("BaselineOnly", SGD), ("BaselineOnly", {"bsl_options": {"method": "sgd", "n_epochs": 5, "learning_rate": 0.01, "reg": 0.1}}),
    ("KNNBaseline", SGD), ("KNNBaseline", {**SGD, "k": 5, "min_k": 3, "sim_options": {"name": "pearson_baseline", "user_based": False}}),
    ("KNNBasic", {**SGD, "sim_options": {"name": "pearson_baseline", "shrinkage": 5, "min_support": 3}})])
def test_steps_of_baselines_are_made_in_the_order_of_surprise(datas, name, options):
    theirs, ours = (estimates(data, name, options, one) for one, data in zip(BOTH, datas))
    assert np.abs(ours[0] - theirs[0]).max() < 1e-12 and ours[1] == theirs[1]


@pytest.mark.parametrize("options", [{"sim_options": one} for one in REPEATED], ids=lambda one: one["sim_options"]["name"])
@pytest.mark.parametrize("name", ["KNNBasic", "KNNWithMeans", "KNNWithZScore", "KNNBaseline"])
def test_all_ratings_of_a_pair_are_trained_on(parts, name, options):
    frame = parts[0].to_pandas()[["user", "item", "value"]].sample(frac=1, random_state=3)
    frame = pandas.concat([frame, frame.iloc[::9].assign(value=2.0)])
    theirs, ours = (estimates(one.Dataset.load_from_df(frame, one.Reader()), name, options, one) for one in BOTH)
    assert np.abs(ours[0] - theirs[0]).max() < 1e-12 and ours[1] == theirs[1]


@pytest.mark.parametrize("name", ["BaselineOnly", "SlopeOne"])
def test_all_ratings_of_a_pair_make_biases(parts, name):
    frame = parts[0].to_pandas()[["user", "item", "value"]]
    frame = pandas.concat([frame, frame.iloc[::9].assign(value=2.0)])
    found = [getattr(one, name)().fit(one.Dataset.load_from_df(frame, one.Reader()).build_full_trainset()) for one in BOTH]
    pairs = frame[["user", "item"]].to_numpy()[:200]
    theirs, ours = ([algo.predict(*pair).est for pair in pairs] for algo in found)
    assert np.allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("name", ["cosine", "msd", "pearson"])
def test_similarities_as_functions(datas, name):
    trainsets = [data.build_full_trainset() for data in datas]
    theirs, ours = (getattr(importlib.import_module(f"{one.__name__}.similarities"), name)(train.n_items, train.ur, 2)
                    for one, train in zip(BOTH, trainsets))
    assert np.allclose(ours, theirs, atol=1e-10)


def test_what_a_neighbourhood_keeps(datas):
    found = []
    for one, data in zip(BOTH, datas):
        train = data.build_full_trainset()
        algos = [getattr(one, name)(sim_options={"user_based": False}, verbose=False).fit(train)
                 for name in ("KNNWithZScore", "KNNBaseline")]
        found.append([*(getattr(algos[0], what) for what in ("means", "sigmas", "overall_sigma", "n_x", "n_y")),
                      *(getattr(algos[1], what) for what in ("bu", "bi", "bx", "by"))])
        assert isinstance(one.SVD(n_epochs=1).fit(train).estimate(0, 0), float) and one.SVD().lr_bu == 0.005 and one.NMF().reg_pu == 0.06
        known = algos[1].estimate(0, 0)
        assert isinstance(known, tuple) and isinstance(one.BaselineOnly(verbose=False).fit(train).estimate(0, 0), float)
    for ours, theirs in zip(*found):
        assert np.allclose(ours, theirs, atol=1e-12)


def test_svd_learns_as_much(datas):
    errors = []
    for one, data in zip(BOTH, datas):
        algo = one.SVD(n_factors=10, n_epochs=30, random_state=1)
        errors.append(one.model_selection.cross_validate(algo, data, ["rmse"], cv=one.model_selection.KFold(3, random_state=1)))
    theirs, ours = (one["test_rmse"].mean() for one in errors)
    assert ours == pytest.approx(theirs, rel=0.02)


def test_similarities_baselines_and_neighbours(datas):
    found = []
    for one, data in zip(BOTH, datas):
        train = data.build_full_trainset()
        algo = one.KNNBaseline(verbose=False, sim_options={"name": "pearson", "user_based": False}).fit(train)
        found.append((algo.compute_baselines(), algo.sim, [algo.get_neighbors(item, k=5) for item in range(train.n_items)],
                      train.global_mean, train.to_inner_uid(train.to_raw_uid(4))))
    theirs, ours = found
    assert np.allclose(ours[0][0], theirs[0][0], atol=1e-5) and np.allclose(ours[0][1], theirs[0][1], atol=1e-5)
    assert np.allclose(ours[1], theirs[1], atol=1e-5) and ours[3] == theirs[3] and ours[4] == 4
    # In float32 some are equal that are not in double precision.
    assert np.mean([one == other for one, other in zip(ours[2], theirs[2])]) > 0.9


def test_searches_have_the_same_results(datas):
    grid = {"k": [5, 20], "sim_options": {"name": ["msd", "pearson"], "user_based": [False]}, "verbose": [False]}
    found = []
    for one, data in zip(BOTH, datas):
        search = one.model_selection.GridSearchCV(one.KNNWithMeans, grid, measures=["rmse", "fcp"], cv=one.model_selection.KFold(2, random_state=1),
                                                  refit=True, return_train_measures=True)
        search.fit(data)
        found.append(search)
    theirs, ours = found
    assert ours.best_params == theirs.best_params and ours.best_index == theirs.best_index
    assert set(ours.cv_results) == set(theirs.cv_results)
    for name, value in theirs.cv_results.items():
        # Not of what was trained on: there each rating is its own best neighbour, and is none here.
        if name.startswith(("mean_test_r", "split", "std_test_r")) and "train" not in name:
            assert np.allclose(ours.cv_results[name], value, atol=2e-3), name
        elif name.startswith("param"):
            assert list(ours.cv_results[name]) == list(value), name
    assert ours.best_score["rmse"] == pytest.approx(theirs.best_score["rmse"], abs=1e-4)
    pair = datas[0].build_full_trainset().build_anti_testset()[0][:2]
    assert ours.predict(*pair).est == pytest.approx(theirs.predict(*pair).est, abs=1e-3)


def test_names_are_all_there():
    for found in pkgutil.walk_packages(surprise.__path__, "surprise."):
        if not found.name.endswith("__main__"):
            theirs, ours = (importlib.import_module(name) for name in (found.name, f"likewise.{found.name}"))
            made = {name for name, one in vars(theirs).items() if getattr(one, "__module__", None) == found.name and not name.startswith("_")}
            missing = {*getattr(theirs, "__all__", []), *made} - {*dir(ours)}
            # What Surprise's own classes are made of.
            assert not missing - {"BuiltinDataset", "download_builtin_dataset", "BaseSearchCV", "fit_and_score", "print_summary"}, found
