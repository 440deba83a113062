# SPDX-License-Identifier: Apache-2.0
"""The same programs with `implicit` and with likewise: shapes, types, results, warnings and errors.

Differences that are meant are not among them; docs/guide/from-implicit.md lists those, and
test_implicit_names.py has a test for each. Without `implicit` everything here is skipped.
"""
import gzip
import json
import os
import pathlib
import warnings

import numpy as np
import pytest
import scipy.sparse

import implicit_programs as programs
import likewise

pytest.importorskip("implicit", reason="needs implicit: pip install 'implicit==0.7.*'")

THEIRS, OURS = programs.Package("implicit"), programs.Package("likewise")
NO_SCORE = np.finfo(np.float32).min
#: Both compute in float32, in another order.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
#: Three iterations of float32 solves by other methods (Cholesky of other matrices) drift further.
TRAINED = {"rtol": 2e-3, "atol": 2e-4}


@pytest.fixture(scope="module", autouse=True)
def plain_blas():
    """As implicit asks for, which has threads of its own."""
    import threadpoolctl  # implicit depends on it

    with threadpoolctl.threadpool_limits(1, "blas"):
        yield


def outcome(program, package):
    """(result or exception, categories of warnings)."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = program(package, programs.make_data())
        except Exception as error:  # what is compared
            result = error
    # implicit warns of conversions that it makes itself, and divides 0 by 0.
    return result, {w.category.__name__ for w in heard} - {"RuntimeWarning"}


def is_lists(value):
    return (isinstance(value, tuple) and len(value) == 2 and all(isinstance(v, np.ndarray) for v in value)
            and value[0].dtype.kind == "i" and value[0].shape == value[1].shape)


def check_same(ours, theirs, close):
    if is_lists(theirs):
        assert is_lists(ours)
        assert [part.dtype for part in ours] == [part.dtype for part in theirs]
        assert ours[0].shape == theirs[0].shape
        for line in zip(*(np.atleast_2d(part) for part in (*ours, *theirs))):
            check_list(*line, close)
    elif scipy.sparse.issparse(theirs):
        assert (ours.format, ours.dtype, ours.shape) == (theirs.format, theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours.toarray(), theirs.toarray(), **close)
    elif isinstance(theirs, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, **close)
    elif isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        check_same(list(ours.values()), list(theirs.values()), close)
    elif isinstance(theirs, (list, tuple)):
        assert type(ours) is type(theirs) and len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            check_same(one, other, close)
    elif isinstance(theirs, (float, np.floating)):
        assert isinstance(ours, (float, np.floating))
        assert ours == pytest.approx(theirs, rel=close["rtol"], abs=close["atol"])
    else:
        assert ours == theirs


def check_list(ids, scores, their_ids, their_scores, close):
    """Equal scores at all places, and equal ids but where scores are equal, within `close`."""
    np.testing.assert_allclose(scores, their_scores, **close)
    scale = close["atol"] + close["rtol"] * np.abs(their_scores)
    differ = np.flatnonzero((ids != their_ids) & (their_scores > NO_SCORE))
    for place in differ:
        tied = np.abs(their_scores - their_scores[place]) <= 2 * scale[place]
        # A tie that goes on beyond the list may be cut elsewhere.
        assert tied[-1] or set(ids[tied]) == set(their_ids[tied]), (place, ids, their_ids, their_scores)
        assert tied.sum() > 1 or place == len(ids) - 1, (place, ids, their_ids, their_scores)


def check_program(program, close=CLOSE):
    (ours, our_warnings), (theirs, their_warnings) = outcome(program, OURS), outcome(program, THEIRS)
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert type(ours).__name__ == type(theirs).__name__, (ours, theirs)
    else:
        check_same(ours, theirs, close)
    return our_warnings, their_warnings


@pytest.mark.parametrize("name", programs.ALS)
def test_als(name):
    ours, theirs = check_program(programs.ALS[name], TRAINED if name.startswith("fit") else CLOSE)
    assert ours == theirs


@pytest.mark.parametrize("name", programs.BPR)
def test_bpr(name):
    ours, theirs = check_program(programs.BPR[name])
    assert ours == theirs


@pytest.mark.parametrize("learning_rate, regularization", [(1e-4, 0.0), (1e-4, 0.3), (3e-4, 0.3)])
def test_steps_of_bpr(learning_rate, regularization):
    """What an epoch adds to factors and biases, over the learning rate: a step is the same in both.

    Of 1000 likes half draw the other item: 500 steps, give or take 16 (one standard deviation). Users all
    have one step or none in ours, any number in implicit, which draws likes too: their sums are compared."""
    moves = []
    for package in (OURS, THEIRS):
        users, items = programs.stepped(package, 3, learning_rate, regularization, epochs=20)
        users = np.array([users[camp::2].sum(axis=0) for camp in (0, 1)])
        moves.append(np.concatenate([users, items]) / learning_rate / 20)
    one, other = moves
    np.testing.assert_allclose(one, other, rtol=0.05, atol=0.05 * np.abs(other).max())
    assert np.abs(other).max() > 50


@pytest.mark.parametrize("name", programs.NEIGHBOURS)
def test_neighbours(name):
    ours, theirs = check_program(programs.NEIGHBOURS[name])
    if "fit" in name:
        assert ours == theirs  # elsewhere implicit warns of conversions of its own


@pytest.mark.parametrize("name", programs.EVALUATION)
def test_evaluation(name):
    exact = {"rtol": 1e-9, "atol": 1e-9}
    ours, theirs = check_program(programs.EVALUATION[name], exact)
    assert ours == theirs or "neighbours" in name


@pytest.mark.parametrize("name", programs.ERRORS)
def test_errors(name):
    program, word = programs.ERRORS[name]
    (ours, _), (theirs, _) = outcome(program, OURS), outcome(program, THEIRS)
    assert isinstance(theirs, Exception) and type(ours) is type(theirs), (ours, theirs)
    assert word in str(ours)


def test_signatures():
    """What test_implicit_names.py compares with is what programs.signatures() finds in implicit."""
    kept = json.loads((pathlib.Path(__file__).parents[1] / "golden/implicit-signatures.json").read_text())
    assert programs.signatures(THEIRS) == kept


def test_implicit_takes_the_matrix_of_interactions():
    matrix = scipy.sparse.csr_matrix(likewise.Interactions(programs.make_data().liked).to_csr())
    train, _ = THEIRS.evaluation.train_test_split(matrix, random_state=1)
    for model in (THEIRS.als.AlternatingLeastSquares(factors=4), THEIRS.bpr.BayesianPersonalizedRanking(factors=4),
                  THEIRS.nearest_neighbours.BM25Recommender()):
        model.fit(matrix, show_progress=False)
        assert len(model.recommend(1, train[1], N=3)[0]) == 3


@pytest.mark.parametrize("saving, loading", [(OURS, THEIRS), (THEIRS, OURS)], ids=["ours", "theirs"])
def test_files_are_read_by_both(saving, loading, tmp_path):
    d = programs.make_data()
    model = programs.als(saving, d, iterations=4, random_state=8)
    model.save(tmp_path / "als.npz")
    loaded = loading.cpu__als.AlternatingLeastSquares.load(tmp_path / "als.npz")
    check_same(programs.arguments_of(loaded), programs.arguments_of(model), CLOSE)
    check_same(loaded.recommend([1], d.liked[[1]]), model.recommend([1], d.liked[[1]]), CLOSE)
    model = programs.bpr_of_file(saving, d, iterations=4, random_state=8)
    model.save(tmp_path / "bpr.npz")
    loaded = loading.cpu__bpr.BayesianPersonalizedRanking.load(tmp_path / "bpr.npz")
    check_same(programs.arguments_of_bpr(loaded), programs.arguments_of_bpr(model), CLOSE)
    check_same(loaded.recommend([1], d.liked[[1]]), model.recommend([1], d.liked[[1]]), CLOSE)
    model = programs.knn(saving, d, "BM25Recommender")
    model.save(tmp_path / "knn.npz")
    loaded = loading.nearest_neighbours.BM25Recommender.load(tmp_path / "knn.npz")
    check_same(loaded.recommend([1], d.liked[[1]], N=4), model.recommend([1], d.liked[[1]], N=4), CLOSE)


def ratings(name):
    """A real data set as users x items of float64, or a skip."""
    folder = pathlib.Path(os.environ.get("LIKEWISE_DATA", pathlib.Path(__file__).parents[3] / "shared/data"))
    files = {"ml-100k": ["u.data"], "ml-1m": ["ratings.dat", "ratings_notime.dat.gz"]}[name]
    found = next((folder / name / file for file in files if (folder / name / file).exists()), None)
    if found is None:
        pytest.skip(f"no {name} in {folder}: set LIKEWISE_DATA")
    text = (gzip.open(found) if found.suffix == ".gz" else open(found, "rb")).read()
    rows = np.array([line.split()[:3] for line in text.replace(b"::", b" ").splitlines()], dtype=np.int64)
    return scipy.sparse.csr_matrix((rows[:, 2].astype(np.float64), (rows[:, 0], rows[:, 1])))


@pytest.fixture(scope="module", params=["ml-100k", "ml-1m"])
def parts(request):
    return THEIRS.evaluation.train_test_split(ratings(request.param), random_state=42)


def overlap(one, other):
    return np.mean([len(np.intersect1d(a, b)) / len(a) for a, b in zip(one, other)])


@pytest.mark.parametrize("arguments", [
    {}, {"factors": 100}, {"regularization": 10.0}, {"alpha": 10.0, "regularization": 0.1},
    {"alpha": 40.0, "regularization": 0.1}, {"use_cg": False}, {"use_cg": False, "alpha": 10.0, "regularization": 5.0}],
    ids=repr)
def test_als_on_real_data(parts, arguments):
    """Equal arguments: NDCG@10 within 0.5 %, and more than 90 % of the lists of 10 in common."""
    train, test = parts
    users = np.flatnonzero(np.diff(test.indptr))
    lists, ndcg = [], []
    for package in (OURS, THEIRS):
        model = package.als.AlternatingLeastSquares(**{"factors": 32, **arguments}, random_state=7, use_gpu=False)
        model.fit(train, show_progress=False)
        lists.append(model.recommend(users, train[users], N=10)[0])
        ndcg.append(package.evaluation.ndcg_at_k(model, train, test, K=10, show_progress=False))
    print(f"NDCG@10 {ndcg[0]:.5f} and {ndcg[1]:.5f}, overlap {overlap(*lists):.4f}")
    assert ndcg[0] == pytest.approx(ndcg[1], rel=0.005)
    assert overlap(*lists) > 0.9


@pytest.mark.parametrize("arguments", [{}, {"factors": 32, "learning_rate": 0.05, "regularization": 0.05}], ids=repr)
def test_bpr_on_real_data(arguments):
    """Equal arguments: NDCG@10 on ml-100k is equal except for the draws.

    Both have a deviation of about 0.006 from seed to seed, so the means of three seeds one of 0.0035 each and
    their difference one of 0.005: three of these are allowed. Drawing again where implicit goes without a step
    would be off by 0.048 with the defaults."""
    train, test = THEIRS.evaluation.train_test_split(ratings("ml-100k"), random_state=42)
    ndcg = []
    for package in (OURS, THEIRS):
        found = []
        for seed in range(3):
            model = package.bpr.BayesianPersonalizedRanking(**arguments, random_state=seed, num_threads=1, use_gpu=False)
            model.fit(train, show_progress=False)
            found.append(package.evaluation.ndcg_at_k(model, train, test, K=10, show_progress=False))
        ndcg.append(np.mean(found))
    print(f"NDCG@10 {ndcg[0]:.4f} and {ndcg[1]:.4f}")
    assert ndcg[0] == pytest.approx(ndcg[1], abs=0.015)


@pytest.mark.parametrize("name", ["ItemItemRecommender", "CosineRecommender", "TFIDFRecommender",
                                  "BM25Recommender"])
def test_neighbours_on_real_data(parts, name):
    """The same similarities, lists and scores, to the accuracy of float32."""
    train, test = parts
    users = np.flatnonzero(np.diff(test.indptr))[:500]
    answers, metrics = [], []
    for package in (OURS, THEIRS):
        model = getattr(package.nearest_neighbours, name)(K=20)
        model.fit(train, show_progress=False)
        answers.append((model.similar_items(np.unique(train.indices)[:500], N=20),
                        model.recommend(users, train[users], N=10)))
        metrics.append(package.evaluation.ndcg_at_k(model, train, test, K=10, show_progress=False))
    check_same(answers[0][0], answers[1][0], CLOSE)
    print(f"NDCG@10 {metrics[0]:.5f} and {metrics[1]:.5f}")
    assert metrics[0] == pytest.approx(metrics[1], rel=1e-3)  # ties at the 20th neighbour
    assert overlap(answers[0][1][0], answers[1][1][0]) > 0.995


@pytest.mark.parametrize("K", [5, 10])
def test_metrics_on_real_data(parts, K):
    """One model's lists, measured by both: equal to 1e-9."""
    train, test = parts
    model = THEIRS.nearest_neighbours.BM25Recommender(K=50)
    model.fit(train, show_progress=False)
    ours, theirs = (package.evaluation.ranking_metrics_at_k(model, train, test, K=K, show_progress=False)
                    for package in (OURS, THEIRS))
    assert ours == pytest.approx(theirs, rel=1e-9, abs=0)
