# SPDX-License-Identifier: Apache-2.0
"""What people write with Surprise: its guide's programs in our words, with one import changed."""
import collections
import os

import numpy as np
import pandas as pd
import pytest

from likewise.surprise import (SVD, AlgoBase, BaselineOnly, Dataset, KNNBaseline, KNNBasic, NormalPredictor, PredictionImpossible,
                               Reader, accuracy, dump)
from likewise.surprise.model_selection import GridSearchCV, KFold, LeaveOneOut, PredefinedKFold, RandomizedSearchCV, cross_validate, train_test_split


@pytest.fixture(scope="module")
def frame(triples):
    users, items, values = triples
    return pd.DataFrame({"userID": users, "itemID": items, "rating": values})


@pytest.fixture(scope="module")
def data(frame):
    return Dataset.load_from_df(frame, Reader(rating_scale=(1, 5)))


@pytest.fixture
def files(frame, tmp_path):
    """Three parts of lines "user item rating time", as files of folds."""
    for part in range(3):
        rows = frame.iloc[part::3]
        (tmp_path / f"part{part}").write_text("".join(f"{u}\t{i}\t{r:.0f}\t88125{n}\n" for n, (u, i, r) in enumerate(rows.values)))
    return [str(tmp_path / f"part{part}") for part in range(3)]


def test_cross_validation_of_a_factor_model(data, capsys):
    found = cross_validate(SVD(n_factors=5, n_epochs=3), data, measures=["RMSE", "MAE"], cv=3, verbose=True)
    assert found["test_rmse"].shape == (3,) and len(found["fit_time"]) == len(found["test_time"]) == 3
    assert "RMSE" in capsys.readouterr().out


def test_a_split_and_a_measure(data):
    trainset, testset = train_test_split(data, test_size=0.25)
    algo = SVD(n_factors=5, n_epochs=5)
    predictions = algo.fit(trainset).test(testset)
    assert 0 < accuracy.rmse(predictions, verbose=False) < 2 and len(predictions) == len(testset) == 1250


def test_a_whole_trainset_and_one_prediction(data, frame, capsys):
    algo = KNNBasic()
    algo.fit(data.build_full_trainset())
    assert "imilarity matrix" in capsys.readouterr().out
    user, item, rating = frame.iloc[0]
    prediction = algo.predict(int(user), int(item), r_ui=rating, verbose=True)
    assert prediction.uid == user and 1 <= prediction.est <= 5 and "est = " in capsys.readouterr().out


def test_folds_by_hand(data):
    errors = []
    for trainset, testset in KFold(n_splits=3, random_state=1).split(data):
        errors.append(accuracy.rmse(BaselineOnly(verbose=False).fit(trainset).test(testset), verbose=False))
    assert len(errors) == 3 and max(errors) < 1.6
    assert len(list(LeaveOneOut(n_splits=2).split(data))) == 2


def test_a_file_and_files_of_folds(files):
    reader = Reader(line_format="user item rating timestamp", sep="\t")
    whole = Dataset.load_from_file(files[0], reader=reader)
    assert whole.build_full_trainset().n_ratings == 1667
    folds = Dataset.load_from_folds([(files[0], files[1]), (files[1], files[2])], reader=reader)
    sizes = [(trainset.n_ratings, len(testset)) for trainset, testset in PredefinedKFold().split(folds)]
    assert sizes == [(1667, 1667), (1667, 1666)]


def test_searches(data):
    grid = {"n_epochs": [2, 4], "lr_all": [0.002, 0.01], "n_factors": [4]}
    search = GridSearchCV(SVD, grid, measures=["rmse", "mae"], cv=2)
    search.fit(data)
    assert search.best_params["rmse"]["n_epochs"] in (2, 4) and len(pd.DataFrame.from_dict(search.cv_results)) == 4
    assert search.best_estimator["rmse"].fit(data.build_full_trainset()).predict(10, 5).est > 0
    few = RandomizedSearchCV(SVD, grid, n_iter=2, measures=["rmse"], cv=2, random_state=1)
    few.fit(data)
    assert few.best_score["rmse"] > 0


def test_an_algorithm_of_ones_own(data):
    class MeanOfTheItem(AlgoBase):
        def __init__(self):
            AlgoBase.__init__(self)

        def fit(self, trainset):
            AlgoBase.fit(self, trainset)
            self.means = {item: np.mean([rating for _, rating in rows]) for item, rows in trainset.ir.items()}
            return self

        def estimate(self, u, i):
            if not (self.trainset.knows_user(u) and self.trainset.knows_item(i)):
                raise PredictionImpossible("User and/or item is unknown.")
            return self.means[i], {"rows": len(self.trainset.ir[i])}

    algo = MeanOfTheItem().fit(data.build_full_trainset())
    assert algo.predict(10, 5).details["rows"] > 0
    assert algo.predict("nobody", 5).details["was_impossible"]
    assert cross_validate(MeanOfTheItem(), data, cv=2)["test_rmse"].max() < 2


def test_the_best_of_what_was_not_rated(data):
    trainset = data.build_full_trainset()
    predictions = SVD(n_factors=4, n_epochs=2).fit(trainset).test(trainset.build_anti_testset()[:3000])
    best = collections.defaultdict(list)
    for user, item, _, estimate, _ in predictions:
        best[user].append((estimate, item))
    assert all(len(sorted(rows, reverse=True)[:10]) > 0 for rows in best.values())


def test_neighbours_of_an_item(data):
    trainset = data.build_full_trainset()
    algo = KNNBaseline(sim_options={"name": "pearson_baseline", "user_based": False}, verbose=False).fit(trainset)
    nearest = algo.get_neighbors(trainset.to_inner_iid(5), k=10)
    assert len({trainset.to_raw_iid(inner) for inner in nearest}) == 10


def test_a_dump(data, tmp_path):
    trainset, testset = train_test_split(data, test_size=0.2, random_state=2)
    algo = NormalPredictor().fit(trainset)
    predictions = algo.test(testset)
    file = os.path.join(tmp_path, "dumped")
    dump.dump(file, predictions=predictions, algo=algo)
    read, again = dump.load(file)
    assert read == predictions and again.trainset.n_ratings == trainset.n_ratings
