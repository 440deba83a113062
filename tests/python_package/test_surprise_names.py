# SPDX-License-Identifier: Apache-2.0
"""likewise.surprise without Surprise: programs as its guide has them. tests/friends/test_surprise.py compares results."""
import importlib
import pickle

import numpy as np
import pandas as pd
import pytest

from likewise import surprise
from likewise.surprise import (NMF, SVD, AlgoBase, BaselineOnly, CoClustering, Dataset, KNNBaseline, KNNBasic, KNNWithMeans,
                               KNNWithZScore, NormalPredictor, PredictionImpossible, Reader, SlopeOne, SVDpp, accuracy, dump)
from likewise.surprise.model_selection import (GridSearchCV, KFold, PredefinedKFold, RandomizedSearchCV, cross_validate,
                                               train_test_split)


@pytest.fixture(scope="module")
def data(triples):
    users, items, values = (column[:2000] for column in triples)
    frame = pd.DataFrame({"user": [f"u{user}" for user in users], "item": items, "value": values})
    return Dataset.load_from_df(frame, Reader(rating_scale=(1, 5)))


@pytest.fixture(scope="module")
def folds(data):
    return train_test_split(data, random_state=1)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "u.data"
    path.write_text("1\t10\t4\t881250949\n1\t11\t2\t881250950\n2\t10\t5\t881250951\n3\t12\t1\t881250952\n2\t12\t3\t88125095\n")
    return path


@pytest.mark.parametrize("module, names", [
    ("builtin_datasets", "get_dataset_dir"), ("dataset", "Dataset DatasetAutoFolds DatasetUserFolds"), ("reader", "Reader"),
    ("trainset", "Trainset"), ("utils", "get_rng"), ("model_selection.split", "KFold LeaveOneOut ShuffleSplit get_cv train_test_split"),
    ("model_selection.search", "GridSearchCV RandomizedSearchCV"), ("model_selection.validation", "cross_validate"),
    ("prediction_algorithms.algo_base", "AlgoBase"), ("prediction_algorithms.baseline_only", "BaselineOnly"),
    ("prediction_algorithms.co_clustering", "CoClustering"), ("prediction_algorithms.knns", "KNNBasic KNNBaseline KNNWithMeans KNNWithZScore"),
    ("prediction_algorithms.matrix_factorization", "NMF SVD SVDpp"), ("prediction_algorithms.predictions", "Prediction PredictionImpossible"),
    ("prediction_algorithms.random_pred", "NormalPredictor"), ("prediction_algorithms.slope_one", "SlopeOne")])
def test_names_are_where_surprise_has_them(module, names):
    found = importlib.import_module(f"likewise.surprise.{module}")
    for name in names.split():
        assert getattr(found, name) is getattr(surprise, name, getattr(found, name)), name


def test_files_are_read_by_a_reader(file, tmp_path, monkeypatch):
    for reader in (Reader("ml-100k"), Reader(line_format="user item rating timestamp", sep="\t")):
        assert Dataset.load_from_file(str(file), reader).raw_ratings[0] == ("1", "10", 4.0, "881250949")
    skipping = Reader(line_format="item user rating timestamp", skip_lines=3)
    assert Dataset.load_from_file(file, skipping).raw_ratings == [("12", "3", 1.0, "881250952"), ("12", "2", 3.0, "88125095")]
    with pytest.raises(ValueError, match="has 1 fields, line_format needs 3: check line_format and sep"):
        Dataset.load_from_file(file, Reader(sep=";"))
    with pytest.raises(ValueError, match="name user, item and rating"):
        Reader(line_format="user item stars")
    with pytest.raises(ValueError, match="'ml-2m' is no data set.*: ml-100k, ml-1m, jester"):
        Reader("ml-2m")
    monkeypatch.setenv("SURPRISE_DATA_FOLDER", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="likewise downloads nothing: unpack https://files.grouplens.org"):
        Dataset.load_builtin("ml-100k")
    (tmp_path / "ml-100k/ml-100k").mkdir(parents=True)
    file.rename(tmp_path / "ml-100k/ml-100k/u.data")
    assert len(Dataset.load_builtin("ml-100k").raw_ratings) == 5 and surprise.get_dataset_dir().startswith(str(tmp_path))


def test_folds_that_are_files(file):
    data = Dataset.load_from_folds([(file, file), (file, file)], Reader("ml-100k"))
    cv = PredefinedKFold()
    for train, test in cv.split(data):
        assert train.n_ratings == len(test) == 5
    assert len(cross_validate(BaselineOnly(verbose=False), data, cv=cv)["test_rmse"]) == 2
    with pytest.raises(ValueError, match="there is no file nowhere"):
        Dataset.load_from_folds([("nowhere", file)], Reader("ml-100k"))


def test_a_trainset_counts_ids_in_the_order_of_the_data(data):
    train = data.build_full_trainset()
    user, item, rating, _ = data.raw_ratings[0]
    assert (train.to_inner_uid(user), train.to_inner_iid(item)) == (0, 0) and train.ur[0][0] == (0, rating)
    assert train.to_raw_uid(0) == user and train.n_ratings == 2000 == len(train.build_testset())
    assert len(train.build_anti_testset()) == train.n_users * train.n_items - 2000
    assert train.build_anti_testset(fill=0)[0][2] == 0 and train.knows_user(0) and not train.knows_item("UKN__9")
    for call, words in ((lambda: train.to_inner_uid("nobody"), "user nobody is not part"), (lambda: train.to_raw_iid(10**6), "no inner id")):
        with pytest.raises(ValueError, match=words):
            call()


def test_what_was_impossible_is_said(folds):
    train, test = folds
    algo = KNNBasic(min_k=3, verbose=False).fit(train)
    known = algo.predict(*test[0])
    assert known.details == {"actual_k": known.details["actual_k"], "was_impossible": False} and 1 <= known.est <= 5
    nobody = algo.predict("nobody", test[0][1], r_ui=4, verbose=True)
    assert nobody.details == {"was_impossible": True, "reason": "User and/or item is unknown."}
    assert nobody.est == train.global_mean and "r_ui = 4.00" in str(nobody)
    few = [one for one in KNNBasic(min_k=30, verbose=False).fit(train).test(test) if one.details["was_impossible"]]
    assert few and {one.details["reason"] for one in few} <= {"Not enough neighbors.", "User and/or item is unknown."}
    assert not BaselineOnly(verbose=False).fit(train).predict("nobody", "nothing").details["was_impossible"]


def test_who_is_not_known_is_no_warning(folds, caplog):
    for algorithm in (SVD(n_epochs=1), BaselineOnly(verbose=False)):
        assert 1 <= algorithm.fit(folds[0]).predict("nobody", "nothing").est <= 5
    assert not caplog.records


def test_an_algorithm_of_ones_own(folds, data):
    class Mine(AlgoBase):
        def fit(self, trainset):
            AlgoBase.fit(self, trainset)
            self.bu, self.bi = self.compute_baselines()
            self.sim = self.compute_similarities()
            return self

        def estimate(self, u, i):
            if not (self.trainset.knows_user(u) and self.trainset.knows_item(i)):
                raise PredictionImpossible("unknown")
            near = max((self.sim[u, v], r) for v, r in self.trainset.ir[i])
            return self.trainset.global_mean + self.bu[u] + self.bi[i], {"near": near[1]}

    algo = Mine(sim_options={"name": "cosine"})
    predictions = algo.fit(folds[0]).test([*folds[1], ("nobody", 5, 3.0)])
    assert predictions[-1].details == {"was_impossible": True, "reason": "unknown"} and "near" in predictions[0].details
    biases = BaselineOnly(verbose=False).fit(folds[0]).test(folds[1])
    assert accuracy.rmse(predictions[:-1], verbose=False) == pytest.approx(accuracy.rmse(biases, verbose=False), rel=0.05)
    assert set(cross_validate(algo, data, cv=2)) == {"test_rmse", "test_mae", "fit_time", "test_time"}


def test_measures_and_printed_tables(data, capsys):
    found = cross_validate(SVD(n_factors=4, n_epochs=3), data, measures=["RMSE", "fcp"], cv=KFold(3, random_state=1),
                           return_train_measures=True, verbose=True)
    assert found["test_rmse"].shape == (3,) and found["train_fcp"].shape == (3,) and isinstance(found["fit_time"], tuple)
    told = capsys.readouterr().out
    assert told.startswith("Evaluating RMSE, FCP of algorithm SVD on 3 split(s).") and "RMSE (testset)" in told and "Std" in told
    rows = [("a", 1, 4.0, 3.5, {}), ("a", 2, 2.0, 3.0, {}), ("b", 1, 5.0, 5.0, {}), ("b", 2, 3.0, 5.0, {})]
    assert accuracy.rmse(rows) == pytest.approx(np.sqrt((0.25 + 1 + 0 + 4) / 4)) and accuracy.fcp(rows) == 0.5
    assert capsys.readouterr().out == "RMSE: 1.1456\nFCP:  0.5000\n"
    with pytest.raises(ValueError, match="empty"):
        accuracy.mae([])
    with pytest.raises(ValueError, match="no measure 'ndcg'"):
        cross_validate(SVD(), data, measures=["ndcg"])


def test_searches(data):
    grid = GridSearchCV(KNNBasic, {"k": [3, 30], "sim_options": {"name": ["msd", "cosine"], "user_based": [False]}, "verbose": [False]},
                        measures=["rmse"], cv=2, refit=True)
    grid.fit(data)
    frame = pd.DataFrame.from_dict(grid.cv_results)
    assert len(frame) == 4 and frame["rank_test_rmse"].tolist().count(1) == 1
    assert grid.best_params["rmse"] == frame.loc[grid.best_index["rmse"], "params"]
    assert 1 <= grid.predict("nobody", "nothing").est <= 5
    some = RandomizedSearchCV(BaselineOnly, {"bsl_options": {"method": ["als"], "reg_u": [5, 15, 50]}, "verbose": [False]}, n_iter=2,
                              random_state=3, cv=2)
    some.fit(data)
    assert len(some.cv_results["params"]) == 2
    with pytest.raises(ValueError, match="refit is False: predict"):
        some.predict("u1", 5)


def test_algorithms_are_kept_in_files(folds, tmp_path):
    algo = KNNBaseline(sim_options={"user_based": False}, verbose=False).fit(folds[0])
    predictions = algo.test(folds[1])
    dump.dump(tmp_path / "kept", predictions, algo)
    told, again = dump.load(tmp_path / "kept")
    assert again.test(folds[1]) == predictions == told and len(again.get_neighbors(0, 4)) == 4
    assert pickle.loads(pickle.dumps(SVD(n_factors=2, n_epochs=2, random_state=1).fit(folds[0]))).qi.shape[1] == 2


@pytest.fixture(scope="module")
def few():
    """Seven ratings, two of them of one pair."""
    frame = pd.DataFrame({"user": [1, 1, 2, 2, 3, 1, 3], "item": [1, 2, 1, 2, 2, 1, 3], "value": [5, 3, 4, 1, 2, 4, 5]})
    return Dataset.load_from_df(frame, Reader()).build_full_trainset()


@pytest.mark.parametrize("method, users, items", [
    ("sgd", [0.1429680142747587, -0.16300669926714834, 0.02532841800308072],
     [0.22780165784946102, -0.3713802314701541, 0.1493126508774806]),
    ("als", [0.09107950733397757, -0.1017290090666798, 0.01953706382376296],
     [0.20260428528341856, -0.3303539882927188, 0.1410810461458917])])
def test_biases_are_those_of_surprise(few, method, users, items):
    """Numbers of Surprise 1.1.5. tests/friends/test_surprise.py compares more."""
    algo = BaselineOnly(bsl_options={"method": method}, verbose=False).fit(few)
    assert algo.bu == pytest.approx(users, abs=1e-15) and algo.bi == pytest.approx(items, abs=1e-15)
    near = KNNBaseline(bsl_options={"method": method}, verbose=False).fit(few)
    assert near.bu == pytest.approx(users, abs=1e-15) and near.by == pytest.approx(items, abs=1e-15)


def test_all_ratings_of_a_pair_count(few):
    algo = KNNWithZScore(verbose=False).fit(few)
    assert algo.sim == pytest.approx(np.array([[1, 0.375, 0.5], [0.375, 1, 0.5], [0.5, 0.5, 1]]))
    assert algo.means == pytest.approx([4, 2.5, 3.5]) and algo.sigmas == pytest.approx([np.sqrt(2 / 3), 1.5, 1.5])
    assert algo.predict(2, 3).est == pytest.approx(4) and algo.predict(1, 3).est == pytest.approx(4 + np.sqrt(2 / 3))
    for make in (lambda: SVD(n_epochs=1, n_factors=2), lambda: NMF(n_epochs=1, n_factors=2)):
        with pytest.warns(UserWarning, match="1 of 7 ratings are of pairs that have a later one.*Surprise trains on all"):
            make().fit(few)


@pytest.mark.parametrize("users", [True, False])
@pytest.mark.parametrize("name", ["msd", "cosine", "pearson", "pearson_baseline"])
def test_the_engine_and_the_definitions_agree(folds, name, users):
    options = {"sim_options": {"name": name, "user_based": users, "min_support": 2}, "verbose": False, "min_k": 2, "k": 9}
    for kind in (KNNBasic, KNNWithMeans, KNNWithZScore, KNNBaseline) if users else (KNNBaseline,):
        engine, plain = kind(**options), kind(**options)
        plain._needs_definition = lambda: True
        found = [algo.fit(folds[0]).test([*folds[1][:200], ("nobody", 1, 3.0)]) for algo in (engine, plain)]
        assert engine.sim == pytest.approx(plain.sim, abs=1e-5)
        assert [one.details for one in found[0]] == [one.details for one in found[1]]
        # Ratings are whole numbers: of neighbours that are equally similar either may be the last of nine.
        assert np.median(np.abs([one.est - other.est for one, other in zip(*found)])) < 1e-4


def test_a_prediction_looks_at_one_row_of_similarities(folds):
    algo = KNNBasic(verbose=False).fit(folds[0])
    kept, seen = algo.sim, []

    class Rows:
        def __getitem__(self, key):
            seen.append(key[0])
            return kept[key]

    algo.sim = Rows()
    uid, iid, _ = folds[0].build_testset()[0]
    expected = KNNBasic(verbose=False).fit(folds[0]).predict(uid, iid)
    assert algo.predict(uid, iid) == expected and set(seen) == {folds[0].to_inner_uid(uid)}


def test_estimates_are_numbers_or_pairs(folds):
    for algo in (SVD(n_epochs=1), BaselineOnly(verbose=False), NMF(n_epochs=1), SlopeOne(), NormalPredictor()):
        assert isinstance(algo.fit(folds[0]).estimate(0, 0), float)
    score, details = KNNBasic(verbose=False).fit(folds[0]).estimate(0, 0)
    assert isinstance(score, float) and set(details) == {"actual_k"}
    assert isinstance(KNNBaseline(verbose=False).fit(folds[0]).estimate("UKN__x", 0), float)


def test_what_was_asked_for_is_kept():
    algo = SVD(lr_all=0.01, reg_all=0.1)
    assert (algo.biased, algo.init_mean, algo.lr_bu, algo.lr_qi, algo.reg_bi, algo.reg_pu) == (True, 0, 0.01, 0.01, 0.1, 0.1)
    assert (NMF().reg_pu, NMF().reg_bu, NMF().lr_bi, NMF().init_high) == (0.06, 0.02, 0.005, 1)


def test_a_second_fit_forgets_the_first(folds, few):
    algo = KNNBaseline(verbose=False).fit(folds[0])
    assert len(algo.bu) == len(algo.means) == len(algo.sim) == folds[0].n_users
    algo.fit(few)
    assert len(algo.bu) == len(algo.means) == len(algo.sim) == algo.n_x == 3


def test_a_seed_and_numpys_state_decide(folds):
    def estimates(algo):
        np.random.seed(5)
        return [one.est for one in algo.fit(folds[0]).test(folds[1])]

    for make in (lambda: SVD(n_epochs=2, n_factors=3, random_state=4), lambda: SVD(n_epochs=2, n_factors=3), NormalPredictor):
        assert estimates(make()) == estimates(make())


def test_nonnegative_factors(folds):
    train, test = folds
    algo = NMF(n_factors=4, n_epochs=20, random_state=1).fit(train)
    assert algo.pu.shape == (train.n_users, 4) and algo.pu.min() == 0 and algo.qi.min() >= 0
    u, i = train.to_inner_uid(test[0][0]), next(iter(train.all_items()))
    assert algo.predict(test[0][0], train.to_raw_iid(i), clip=False).est == pytest.approx(algo.pu[u] @ algo.qi[i], rel=1e-4)
    assert algo.predict("nobody", 5).details == {"was_impossible": True, "reason": "User and item are unknown."}
    at_random = accuracy.rmse(NormalPredictor().fit(train).test(test), verbose=False)
    assert accuracy.rmse(algo.test(test), verbose=False) < at_random


def test_slope_one_by_its_definition(folds):
    train, test = folds
    algo = SlopeOne().fit(train)
    uid, iid, _ = next(one for one in test if one[0] in train._users and one[1] in train._items)
    u, i = train.to_inner_uid(uid), train.to_inner_iid(iid)
    deviations = []
    for j, _ in train.ur[u]:
        both = [(of_i, of_j) for v, of_i in train.ir[i] for w, of_j in train.ir[j] if v == w]
        if both:
            deviations.append(np.mean([of_i - of_j for of_i, of_j in both]))
    mean = np.mean([rating for _, rating in train.ur[u]])
    wanted = mean + (np.mean(deviations) if deviations else 0)
    assert algo.predict(uid, iid, clip=False).est == pytest.approx(wanted)
    assert algo.predict("nobody", iid).details["was_impossible"]


@pytest.mark.parametrize("make, error, words", [
    (SVDpp, NotImplementedError, "no SVDpp: SVD learns"), (CoClustering, NotImplementedError, "no CoClustering: "),
    (lambda: SVD(biased=False), ValueError, "biased=False: factors of likewise are learned about the mean"),
    (lambda: NMF(init_high=2), ValueError, "init_low and init_high are 0 and 2"),
    (lambda: NMF(lr_bu=0.1), ValueError, "least squares has no learning rates"),
    (lambda: NMF(reg_pu=0.1), ValueError, "weights differ, .*likewise has one for all"),
    (lambda: SVD(lr_bu=0.1), ValueError, "learning rates differ.*likewise has one, lr_all"),
    (lambda: SVD(reg_pu=0.1), ValueError, "reg_pu and reg_qi differ, 0.1 and 0.02"),
    (lambda: SVD(init_mean=0.1), ValueError, "init_mean is 0.1")])
def test_what_is_not_there_is_refused_by_a_sentence(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("options, error, words", [
    ({"sim_options": {"name": "tanimoto"}}, NameError, "no similarity 'tanimoto'; there are cosine, msd"),
    ({"sim_options": {"name": "pearson_baseline"}, "bsl_options": {"method": "lbfgs"}}, ValueError, "no method 'lbfgs'"),
    ({"sim_options": {"name": "pearson_baseline"}, "bsl_options": {"reg_x": 1}}, ValueError, "has 'reg_x'; it may have method, n_epochs"),
    ({"sim_options": {"user_base": False}}, ValueError, "sim_options has 'user_base'")])
def test_options_that_are_not_known(folds, options, error, words):
    with pytest.raises(error, match=words):
        KNNBasic(verbose=False, **options).fit(folds[0])
