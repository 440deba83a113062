# SPDX-License-Identifier: Apache-2.0
"""likewise under the names of `implicit`, against the formulas; and each difference that is meant."""
import contextlib
import copy
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse

import implicit_programs as programs
from conftest import ROOT
from implicit_programs import FACTORS, ITEMS, USERS, als, bpr, fit_als, fit_bpr, knn, some

p = programs.Package("likewise")
NO_SCORE = np.finfo(np.float32).min


@pytest.fixture
def d():
    return programs.make_data()


def exact(fixed, rows, alpha, lam):
    """Each row's minimum of the objective, in float64."""
    fixed = fixed.astype(np.float64)
    result = []
    for r in rows:
        weight = np.where(r != 0, alpha * np.abs(r), 1.0)
        inner = (fixed.T * weight) @ fixed + lam * np.eye(fixed.shape[1])
        result.append(np.linalg.solve(inner, (fixed.T * weight) @ (r > 0)))
    return np.array(result)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 40.0])
def test_als_minimises_its_objective(d, alpha):
    model = fit_als(p, d, use_cg=False, alpha=alpha, regularization=0.5, iterations=12)
    dense = d.liked.toarray()
    assert model.item_factors == pytest.approx(exact(model.user_factors, dense.T, alpha, 0.5), abs=2e-4)
    recalculated = model.recalculate_user(np.arange(USERS), d.liked)
    assert recalculated == pytest.approx(exact(model.item_factors, dense, alpha, 0.5), rel=1e-3, abs=2e-4)


def test_loss_is_the_objective_over_the_weights(d):
    losses = []
    model = p.als.AlternatingLeastSquares(factors=4, alpha=0.3, regularization=2.0, iterations=2,
                                          calculate_training_loss=True, random_state=1, use_gpu=False)
    model.fit(d.liked, show_progress=False, callback=lambda epoch, seconds, loss: losses.append(loss))
    r = d.liked.toarray()
    weight = np.where(r != 0, 0.3 * r, 1.0)
    x, y = model.user_factors.astype(float), model.item_factors.astype(float)
    objective = (weight * ((r > 0) - x @ y.T) ** 2).sum() + 2.0 * ((x**2).sum() + (y**2).sum())
    assert losses[-1] == pytest.approx(objective / weight.sum(), rel=1e-5)
    assert losses[1] < losses[0]


def test_the_loss_is_logged(d, caplog):
    with caplog.at_level(logging.INFO, logger="likewise"):
        fit_als(p, d, calculate_training_loss=True)
    assert sum("loss" in record.getMessage() for record in caplog.records) == 3


def test_conjugate_gradients_come_close_to_the_exact_solver(d):
    one, other = (fit_als(p, d, use_cg=cg, iterations=15, regularization=0.5) for cg in (True, False))
    near = one.user_factors @ one.item_factors.T - other.user_factors @ other.item_factors.T
    assert np.abs(near).max() < 0.1


def test_a_seed_decides_the_factors(d):
    one, two, other = (fit_als(p, d, random_state=seed) for seed in (5, 5, 6))
    assert np.array_equal(one.item_factors, two.item_factors)
    assert not np.array_equal(one.item_factors, other.item_factors)


def test_a_random_state_seeds(d):
    one, two = (fit_als(p, d, random_state=np.random.RandomState(5)) for _ in range(2))
    assert np.array_equal(one.item_factors, two.item_factors)


def test_fit_goes_on_from_the_factors_that_are_there(d):
    at_once = fit_als(p, d, use_cg=False, iterations=4)
    in_parts = fit_als(p, d, use_cg=False, iterations=2)
    in_parts.fit(d.liked, show_progress=False)
    assert in_parts.item_factors == pytest.approx(at_once.item_factors, abs=1e-5)
    with pytest.raises(ValueError, match=f"\\({USERS}, {FACTORS}\\).*\\(5, {FACTORS}\\)"):
        in_parts.fit(d.liked[:5], show_progress=False)
    in_parts.user_factors = in_parts.item_factors = None
    in_parts.fit(d.liked[:5], show_progress=False)
    assert in_parts.user_factors.shape == (5, FACTORS)


def test_factors_are_assigned_not_written(d):
    model = als(p, d)
    before = model.recommend(1, d.liked[1])[1]
    with pytest.raises(ValueError, match="read-only"):
        model.item_factors[0] = 1
    doubled = d.item_factors * 2
    model.item_factors = doubled
    doubled[:] = 0  # the model has a copy
    assert model.recommend(1, d.liked[1])[1] == pytest.approx(2 * before)
    assert not pickle.loads(pickle.dumps(model)).item_factors.flags.writeable


def test_a_list_that_filters_leave_short_says_so(d):
    ids, scores = als(p, d).recommend([1], some(d, 1), N=ITEMS, filter_items=[0, 7])
    liked = set(d.liked[1].indices)
    answers = scores[0] > NO_SCORE
    assert not (liked | {0, 7}) & set(ids[0, answers])
    assert set(ids[0, answers.sum():]) == liked | {0, 7}
    ids, scores = als(p, d).recommend(1, d.liked[1], N=9, items=[*liked, *liked])
    assert ids.tolist() == sorted(liked) and (scores == NO_SCORE).all()


def test_lists_are_as_wide_as_the_catalogue_at_most(d):
    model, near = als(p, d), knn(p, d)
    for N in (ITEMS + 3, 10**9):
        assert model.recommend([1], some(d, 1), N=N)[0].shape == (1, ITEMS)
        assert model.recommend(1, d.liked[1], N=N)[1].shape == (ITEMS,)
        assert model.similar_items([1, 2], N=N)[0].shape == (2, ITEMS)
        assert model.similar_users([1, 2], N=N)[0].shape == (2, min(N, USERS))
        assert model.recommend_all(d.liked, N=N).shape == (USERS, ITEMS)
        assert near.recommend([1], some(d, 1), N=N)[0].shape == near.similar_items([1], N=N)[0].shape == (1, ITEMS)
    with pytest.raises(TypeError, match="N must be a whole number, not 1.5"):
        model.similar_items(1, N=1.5)


def test_sets_and_series_of_ids(d):
    import pandas
    expected = als(p, d).recommend([2, 1], some(d, 2, 1), items=[9, 3, 4])[0]
    series = pandas.Series([2, 1], index=[7, 9])
    assert np.array_equal(als(p, d).recommend(series, some(d, 2, 1), items={9, 3, 4})[0], expected)
    with pytest.raises(ValueError, match="masked"):
        als(p, d).similar_items(np.ma.array([1, 2], mask=[True, False]))


@pytest.mark.parametrize("call, words", [
    (lambda d: fit_als(p, d, num_threads=1.5), "num_threads must be a whole number, not 1.5"),
    (lambda d: fit_als(p, d, factors=1.5), "factors must be a whole number, not 1.5"),
    (lambda d: fit_als(p, d, random_state="x"), "random_state must be .*not 'x'"),
    (lambda d: knn(p, d, K=1.5), "K must be a whole number, not 1.5"),
    (lambda d: als(p, d).fit(d.liked, callback=5), "callback must be a function, not 5"),
    (lambda d: p.als.AlternatingLeastSquares.load(5), "a path is a str, bytes or os.PathLike, not 5"),
    (lambda d: p.evaluation.leave_k_out_split(d.liked, K=1.5), "K must be a whole number, not 1.5")])
def test_types_of_arguments_in_words(d, call, words):
    with pytest.raises(TypeError, match=words):
        call(d)


def test_more_neighbours_than_items_are_all(d):
    assert (knn(p, d, K=10**9).similarity != knn(p, d, K=ITEMS).similarity).nnz == 0


def test_items_are_ranked_once(d):
    model = als(p, d)
    assert sorted(model.recommend(1, d.liked[1], items=[9, 3, 9])[0]) == [3, 9]
    assert model.similar_items(2, N=4, items=[8, 2])[0].tolist() == model.similar_items(2, N=4, items=[8, 2, 8])[0].tolist() == [2, 8]
    assert model.similar_items([2, 3], N=4, items=[8, 2])[0].shape == model.similar_users([2, 3], N=4, users=[8, 2, 2])[1].shape == (2, 2)
    with pytest.raises(ValueError, match="items is empty"):
        als(p, d).recommend(1, d.liked[1], items=[])


@pytest.mark.parametrize("ids", [-1, [0, -1]])
def test_negative_ids_are_unknown(d, ids):
    rows = d.liked[:np.size(ids)]
    for call in (lambda: als(p, d).recommend(ids, rows), lambda: als(p, d).similar_items(ids),
                 lambda: als(p, d).similar_users(ids), lambda: knn(p, d).similar_items(ids),
                 lambda: als(p, d).partial_fit_users(np.atleast_1d(ids), rows)):
        with pytest.raises(IndexError, match="-1 is not in the model"):
            call()


def test_sparse_arrays_are_taken(d):
    array = scipy.sparse.csr_array(d.liked)
    assert np.array_equal(fit_als(p, d, array).item_factors, fit_als(p, d).item_factors)
    assert np.array_equal(als(p, d).recommend([1], array[[1]])[0], als(p, d).recommend([1], some(d, 1))[0])
    assert np.array_equal(knn(p, d).recommend([1], array[[1]])[0], knn(p, d).recommend([1], some(d, 1))[0])


def test_rows_of_sparse_arrays_are_matrices_of_one_row(d):
    users, items = (scipy.sparse.csr_array(one) for one in (d.liked, d.liked.T))
    model, other = als(p, d), als(p, d)
    assert users[1].ndim == 1
    assert np.array_equal(model.recalculate_user(1, users[1]), model.recalculate_user(1, d.liked[1]))
    assert np.array_equal(model.recalculate_item(2, items[2]), model.recalculate_item(2, d.liked.T.tocsr()[2]))
    model.partial_fit_users([1], users[1])
    other.partial_fit_users([1], d.liked[1])
    assert np.array_equal(model.user_factors, other.user_factors)


def test_duplicates_are_added_up_in_a_copy(d):
    twice = scipy.sparse.csr_matrix((np.ones(4), np.array([7, 2, 7, 2]), np.array([0, 4])), shape=(1, ITEMS))
    once = scipy.sparse.csr_matrix((np.full(2, 2.0), np.array([2, 7]), np.array([0, 2])), shape=(1, ITEMS))
    assert np.array_equal(als(p, d).recalculate_user(1, twice), als(p, d).recalculate_user(1, once))
    assert twice.nnz == 4 and twice.indices.tolist() == [7, 2, 7, 2]


@pytest.mark.parametrize("matrix", [[[1, 2], [0, 1]], np.eye(3)])
def test_dense_matrices_are_refused(d, matrix):
    for fit in (als(p, d).fit, p.nearest_neighbours.CosineRecommender().fit, p.utils.check_csr,
                p.evaluation.train_test_split):
        with pytest.raises(TypeError, match="sparse"):
            fit(matrix)


@pytest.mark.parametrize("arguments, word", [
    ({"factors": 0}, "factors"), ({"factors": -3}, "factors"), ({"regularization": -1.0}, "regularization"),
    ({"alpha": 0.0}, "alpha"), ({"iterations": -1}, "iterations"), ({"num_threads": -1}, "num_threads must be 0 .all cores. to 4096, not -1")])
def test_arguments_out_of_range(d, arguments, word):
    with pytest.raises(ValueError, match=word):
        fit_als(p, d, **arguments)


def test_where_a_value_is_not_finite(d):
    d.liked.data[0] = np.inf
    row, column = d.liked.nonzero()[0][0], d.liked.indices[0]
    with pytest.raises(p.recommender_base.ModelFitError, match=f"row {row}, column {column}"):
        fit_als(p, d)


def test_an_exception_of_a_callback_ends_fit(d):
    def stop(*_):
        raise LookupError("enough")
    with pytest.raises(LookupError, match="enough"):
        p.als.AlternatingLeastSquares(factors=4).fit(d.liked, show_progress=False, callback=stop)


BOTH_FIT = [pytest.param(fit_als, id="als"), pytest.param(fit_bpr, id="bpr")]


def watched(fit, d, callback, **arguments):
    """A model whose fit() calls callback(model, iteration), as far as it came."""
    model = fit(p, d, iterations=0, **arguments)
    model.user_factors = model.item_factors = None
    model.iterations = 4
    with contextlib.suppress(LookupError, KeyboardInterrupt):
        model.fit(d.liked, show_progress=False, callback=lambda iteration, *_: callback(model, iteration))
    return model


@pytest.mark.parametrize("fit", BOTH_FIT)
def test_a_callback_sees_the_factors_so_far(d, fit):
    seen = []

    def look(model, iteration):
        ids, _ = model.recommend(1, d.liked[1], N=4)
        copied = (pickle.loads(pickle.dumps(model)), copy.copy(model), model.to_cpu())
        seen.append((iteration, model.user_factors, model.item_factors))
        assert all(np.array_equal(one.recommend(1, d.liked[1], N=4)[0], ids) for one in copied)

    model = watched(fit, d, look)
    assert [iteration for iteration, *_ in seen] == [0, 1, 2, 3]
    for (_, users, items), count in zip(seen, (1, 2, 3, 4)):
        shorter = fit(p, d, iterations=count)
        assert np.array_equal(users, shorter.user_factors) and np.array_equal(items, shorter.item_factors)
    assert np.array_equal(model.item_factors, seen[-1][2]) and not seen[0][1].flags.writeable
    before = model.item_factors
    sums = []
    model.fit(d.liked, show_progress=False, callback=lambda *_: sums.append(np.abs(model.item_factors - before).sum()))
    assert 0 < sums[0] < sums[-1]  # not those of the fit() before


@pytest.mark.parametrize("error", [LookupError, KeyboardInterrupt])
@pytest.mark.parametrize("fit", BOTH_FIT)
def test_what_ends_a_fit_leaves_the_factors_so_far(d, fit, error):
    def stop(model, iteration):
        if iteration == 1:
            raise error

    model = watched(fit, d, stop)
    assert np.array_equal(model.user_factors, fit(p, d, iterations=2).user_factors)
    assert np.array_equal(model.item_factors, fit(p, d, iterations=2).item_factors)


def test_ctrl_c_leaves_the_factors_so_far(d):
    model = p.als.AlternatingLeastSquares(factors=4, iterations=10**6, use_gpu=False)

    def press(iteration, *_):
        if iteration == 0:
            threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        model.fit(d.liked, show_progress=False, callback=press)
    assert model.user_factors.shape == (USERS, 4)


def test_bpr_does_not_depend_on_threads(d):
    one, many = (fit_bpr(p, d, num_threads=threads, iterations=20) for threads in (1, 3))
    assert np.array_equal(one.item_factors, many.item_factors)
    other = fit_bpr(p, d, random_state=6, iterations=20)
    assert not np.array_equal(one.item_factors, other.item_factors)


def test_bpr_ranks_likes_above_the_rest(d):
    model = fit_bpr(p, d, iterations=300, learning_rate=0.05)
    scores = model.user_factors @ model.item_factors.T
    liked = d.liked.toarray() > 0
    assert scores[liked].mean() > scores[~liked].mean() + 1


def test_negatives_of_bpr_are_verified_always(d):
    one, other = (fit_bpr(p, d, verify_negative_samples=verify) for verify in (True, False))
    assert np.array_equal(one.item_factors, other.item_factors)


def test_bpr_goes_on_from_the_factors_that_are_there(d):
    model = fit_bpr(p, d, iterations=0)
    users, items = model.user_factors, model.item_factors
    model.iterations = 1
    model.fit(d.liked, show_progress=False)
    assert 0 < np.abs(model.item_factors - items).max() < 0.1
    with pytest.raises(ValueError, match=f"\\({ITEMS}, {FACTORS + 1}\\)|\\({USERS}, {FACTORS + 1}\\)"):
        model.fit(d.liked[:5], show_progress=False)
    model.user_factors = users * 2
    with pytest.raises(ValueError, match="last column of user_factors must be 1"):
        model.fit(d.liked, show_progress=False)


def test_what_a_callback_of_bpr_is_told(d):
    """At its end nearly all likes stand above what is drawn; a row in d has 8 of 40 items."""
    seen = []
    model = p.bpr.BayesianPersonalizedRanking(factors=30, iterations=200, learning_rate=0.1, regularization=0.0,
                                              random_state=1)
    model.fit(d.liked, show_progress=False, callback=lambda *given: seen.append(given))
    assert [epoch for epoch, *_ in seen] == list(range(200))
    shares = np.array([(correct / (d.liked.nnz - skipped), skipped / d.liked.nnz) for *_, correct, skipped in seen])
    assert 0.3 < shares[0, 0] < 0.7 and shares[-1, 0] > 0.95
    assert 0.15 < shares[:, 1].mean() < 0.3


@pytest.mark.parametrize("arguments, word", [
    ({"factors": 0}, "factors"), ({"regularization": -1.0}, "regularization"), ({"learning_rate": 0.0}, "learning_rate"),
    ({"iterations": -1}, "iterations")])
def test_arguments_of_bpr_out_of_range(d, arguments, word):
    with pytest.raises(ValueError, match=word):
        fit_bpr(p, d, **arguments)


def test_bpr_of_nothing_is_its_first_factors(d, caplog):
    for matrix in (d.liked * 0, scipy.sparse.csr_matrix(np.ones((3, 4))), scipy.sparse.csr_matrix((3, 4))):
        matrix.eliminate_zeros()
        model = fit_bpr(p, d, matrix)
        assert model.user_factors.shape[0] == matrix.shape[0] and "nothing was learned" in caplog.text
        assert matrix.nnz or not model.item_factors.any()
        caplog.clear()


def test_bpr_refuses_what_is_no_number(d):
    d.liked.data[0] = np.nan
    with pytest.raises(p.recommender_base.ModelFitError, match="row 0, column"):
        fit_bpr(p, d)
    with pytest.raises(NotImplementedError, match="recalculate_user"):
        fit_bpr(p, programs.make_data()).recalculate_user(1, d.liked[1])
    with pytest.raises(ValueError, match="read-only"):
        bpr(p, d).item_factors[0] = 1


def test_models_that_are_not_fit(d):
    for call in (lambda: p.als.AlternatingLeastSquares().recommend(0, d.liked[0]),
                 lambda: p.als.AlternatingLeastSquares().similar_items(0),
                 lambda: p.nearest_neighbours.CosineRecommender().recommend(0, d.liked[0])):
        with pytest.raises(p.recommender_base.ModelFitError, match="call fit"):
            call()


def test_no_gpu_is_an_error_where_one_is_asked_for(d):
    if p.gpu.HAS_CUDA:
        pytest.skip("there is a GPU")
    for ask in (lambda: p.als.AlternatingLeastSquares(use_gpu=True), p.gpu__als.AlternatingLeastSquares,
                als(p, d).to_gpu, lambda: p.bpr.BayesianPersonalizedRanking(use_gpu=True),
                p.gpu__bpr.BayesianPersonalizedRanking, bpr(p, d).to_gpu):
        with pytest.raises(ValueError, match="CUDA"):
            ask()


def test_copies(d):
    for model in (bpr(p, d), als(p, d)):
        for one in (model.to_cpu(), copy.copy(model), copy.deepcopy(model)):
            assert np.array_equal(one.recommend([1], some(d, 1))[0], model.recommend([1], some(d, 1))[0])
    one = model.to_cpu()
    one.item_factors = d.item_factors * 0
    assert np.array_equal(model.item_factors, d.item_factors)


def test_arguments_have_the_names_and_defaults_of_implicit(d):
    ours = programs.signatures(p)
    for name, arguments in json.loads((ROOT / "tests/golden/implicit-signatures.json").read_text()).items():
        assert ours[name] == arguments, name
    for name in ("CosineRecommender", "TFIDFRecommender", "BM25Recommender"):
        model = getattr(p.nearest_neighbours, name)(K=6)
        model.fit(counts=d.liked, show_progress=False)
        assert (model.similarity != knn(p, d, name).similarity).nnz == 0


def test_paths_of_the_class():
    assert p.cpu__bpr.BayesianPersonalizedRanking is p.bpr.BayesianPersonalizedRanking
    assert issubclass(p.gpu__bpr.BayesianPersonalizedRanking, p.bpr.BayesianPersonalizedRanking)
    assert p.cpu__als.AlternatingLeastSquares is p.als.AlternatingLeastSquares
    assert issubclass(p.gpu__als.AlternatingLeastSquares, p.als.AlternatingLeastSquares)


def test_files(d, tmp_path):
    path = tmp_path / "model"
    model = als(p, d, random_state=np.random.default_rng(3))  # no number: not kept
    model.save(path)
    loaded = p.als.AlternatingLeastSquares.load(f"{path}.npz")
    assert np.array_equal(loaded.user_factors, d.user_factors) and loaded.random_state is None
    with pytest.raises(ValueError, match="is no file of CosineRecommender: it lacks"):
        p.nearest_neighbours.CosineRecommender.load(f"{path}.npz")
    neighbours = knn(p, d, "BM25Recommender", K1=3.0, num_threads=2)
    neighbours.save(path)
    again = p.nearest_neighbours.BM25Recommender.load(f"{path}.npz")
    assert (again.K, again.K1, again.B, again.num_threads) == (6, 3.0, 0.75, 2)
    assert (again.similarity != neighbours.similarity).nnz == 0
    with pytest.raises(ValueError, match="is no file of AlternatingLeastSquares: it lacks"):
        p.als.AlternatingLeastSquares.load(f"{path}.npz")


def test_what_is_not_fit_is_kept_in_files(tmp_path):
    near = p.nearest_neighbours.BM25Recommender(K=7, K1=3.0)
    near.save(tmp_path / "near")
    loaded = p.nearest_neighbours.BM25Recommender.load(tmp_path / "near")
    assert (loaded.K, loaded.K1, loaded.similarity) == (7, 3.0, None)
    with pytest.raises(p.recommender_base.ModelFitError, match="call fit"):
        loaded.similar_items(1)
    assert implicit_loads(tmp_path / "near.npz") in (None, 7)
    factors = p.als.AlternatingLeastSquares(factors=3)
    factors.save(tmp_path / "factors")
    assert p.als.AlternatingLeastSquares.load(tmp_path / "factors").user_factors is None


def implicit_loads(path):
    """K of the model that the other package reads; None where it is not installed."""
    try:
        from implicit.nearest_neighbours import BM25Recommender
    except ImportError:
        return None
    return BM25Recommender.load(str(path)).K


@pytest.mark.parametrize("use_gpu", [None, False])
def test_where_to_train_is_kept_in_files(d, tmp_path, use_gpu):
    for kind in (p.als.AlternatingLeastSquares, p.bpr.BayesianPersonalizedRanking):
        kind(use_gpu=use_gpu).save(tmp_path / "model")
        assert kind.load(tmp_path / "model").use_gpu is use_gpu


def test_paths_are_there_after_one_import():
    done = subprocess.run([sys.executable, "-c", "import likewise\nprint(likewise.cpu.als, likewise.cpu.bpr, "
                           "likewise.gpu.als, likewise.gpu.bpr, likewise.gpu.HAS_CUDA, hasattr(likewise.cpu, 'x'))"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.count("<module") == 4, done.stderr


@pytest.mark.parametrize("kind", [np.float32, np.int64, bool])
def test_neighbours_of_any_type_of_values(d, kind):
    matrix = d.liked.astype(kind)
    products = matrix.astype(float).T @ matrix.astype(float)
    found = knn(p, d, "ItemItemRecommender", matrix, K=ITEMS).similarity
    assert found.toarray() == pytest.approx(products.toarray())


def test_neighbours_of_values_that_are_not_finite(d):
    d.liked.data[0] = np.nan
    for call in (lambda: knn(p, d), lambda: knn(p, programs.make_data()).recommend([0], some(d, 0))):
        with pytest.raises(ValueError, match=f"row 0.*column.*{d.liked.indices[0]}"):
            call()


def test_neighbours_that_are_less_than_K(d):
    assert p.nearest_neighbours.all_pairs_knn(d.liked, K=5, show_progress=False).getnnz(axis=1)[5] == 0
    with pytest.raises(ValueError, match="K must be 1 or more"):
        knn(p, d, K=0)


def test_liked_items_are_left_out_of_neighbours_lists(d):
    ids, _ = knn(p, d, K=ITEMS).recommend([1], some(d, 1), N=ITEMS)
    assert not set(ids[0]) & set(d.liked[1].indices) and (ids[0] == -1).any()
    ids, scores = knn(p, d).recommend(1, d.liked[1], N=3, items=[9, 3, 2, 5, 7])
    assert len(ids) == len(scores) == 3
    with pytest.raises(ValueError, match="1 row"):
        knn(p, d).recommend(1, d.liked)


def test_similar_items_among_some_lists_all_of_them(d):
    near = knn(p, d, K=3)
    ids, scores = near.similar_items([2, 3], N=5, items=[2, 8, 9, 11, 3, 7])
    for one, row, score in zip((2, 3), ids, scores):
        there = score > np.finfo(np.float64).min
        known = near.similarity[one].tocoo()
        among = dict(zip(known.col.tolist(), known.data.tolist()))
        assert row[0] == one and 0 < there.sum() <= 3 and set(row) <= {2, 8, 9, 11, 3, 7} and len(set(row)) == 5
        assert score[there].tolist() == [among[i] for i in row[there]] and not set(row[~there]) & set(among)
    assert near.similar_items(2, N=9, items=[8, 2, 9])[0].shape == (3,)


def test_similar_items_among_some(d):
    ids, scores = knn(p, d, K=ITEMS).similar_items(2, N=3, items=[2, 8, 9, 11])
    assert set(ids) <= {2, 8, 9, 11} and ids[0] == 2 and scores[0] == pytest.approx(1)
    with pytest.raises(IndexError, match=str(ITEMS)):
        knn(p, d).similar_items(ITEMS)


def test_similarity_may_be_assigned(d):
    model = p.nearest_neighbours.ItemItemRecommender()
    model.similarity = scipy.sparse.csr_matrix(([2.0, 3.0], ([4, 4], [6, 9])), shape=(ITEMS, ITEMS))
    liked = scipy.sparse.csr_matrix(([1.5], ([0], [4])), shape=(1, ITEMS))
    assert [part.tolist() for part in model.recommend(0, liked)] == [[9, 6], [4.5, 3.0]]


class Lists:
    """A recommender whose lists are known."""

    def __init__(self, *lists):
        self.lists = np.array(lists)

    def recommend(self, users, rows, N):
        return self.lists[users][:, :N], np.zeros((len(users), N))


def test_metrics_by_hand():
    test = scipy.sparse.csr_matrix(np.array([[1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0]]))
    metrics = p.evaluation.ranking_metrics_at_k(Lists([2, 1, 0], [0, 1, 2], [4, 3, 1]), test * 0, test, K=3,
                                                show_progress=False)
    ndcg = [(1 + 1 / np.log2(4)) / (1 + 1 / np.log2(3)), 1 / np.log2(4)]
    # Of user 0's 2 x 3 pairs (liked, other) 1 is right in the list, item 1 after 2; the 2 x 2 with items
    # beyond it are: both likes come before. Of user 2's 1 x 4 pairs the 2 with items beyond the list.
    assert metrics == pytest.approx({"precision": 3 / 3, "map": ((1 + 2 / 3) / 2 + 1 / 3) / 2,
                                     "ndcg": np.mean(ndcg), "auc": ((1 + 4) / 6 + 2 / 4) / 2})


def test_metrics_beyond_the_catalogue(d):
    train, test = programs.split(d)
    one, other = (p.evaluation.ranking_metrics_at_k(als(p, d), train, test, K=K, show_progress=False)
                  for K in (ITEMS, 90))
    assert one == other


def test_metrics_that_are_not_defined(d):
    with pytest.raises(ZeroDivisionError, match="user 3 has all"):
        test = d.liked.tolil()
        test[3] = 1
        p.evaluation.AUC_at_k(als(p, d), d.liked, test.tocsr(), show_progress=False)
    with pytest.raises(IndexError, match=f"user {USERS - 1}"):
        p.evaluation.ndcg_at_k(als(p, d), d.liked[:5], d.liked, show_progress=False)


def test_leave_k_out_keeps_values_and_follows_its_seed(d):
    one, two, other = (p.evaluation.leave_k_out_split(d.liked, K=2, random_state=seed) for seed in (3, 3, 4))
    assert ((one[0] + one[1]) != d.liked).nnz == 0
    assert (one[1] != two[1]).nnz == 0 and (one[1] != other[1]).nnz > 0
    eligible = np.diff(d.liked.indptr) > 3
    assert one[1].getnnz(axis=1).tolist() == np.where(eligible, 2, 0).tolist()
    few = p.evaluation.leave_k_out_split(d.liked, K=2, train_only_size=0.5, random_state=3)[1]
    assert np.count_nonzero(few.getnnz(axis=1)) == eligible.sum() - eligible.sum() // 2


def test_train_test_split_refuses_what_is_no_share(d):
    with pytest.raises(ValueError, match="train_percentage"):
        p.evaluation.train_test_split(d.liked, 80)


def broken(d):
    """Matrices whose arrays do not belong together: SciPy's own code would read beyond them."""
    for part, at, value in (("indptr", 3, 10**6), ("indptr", 3, -1), ("indptr", 0, 2), ("indptr", -1, 10**6),
                            ("indices", 5, ITEMS), ("indices", 5, -1), ("indices", 5, 2**31 - 1)):
        for kind in ("csr", "csc"):
            matrix = d.liked.asformat(kind, copy=True)
            getattr(matrix, part)[at] = USERS + 9 if kind == "csc" and value == ITEMS else value
            yield matrix
    for part in ("row", "col"):
        matrix = d.liked.tocoo(copy=True)
        getattr(matrix, part)[4] = 10**6
        yield matrix


def test_broken_matrices_are_errors_everywhere(d):
    trained, near = als(p, d), knn(p, d, "CosineRecommender")
    users = np.arange(USERS)
    for matrix in broken(d):
        calls = [lambda: fit_als(p, d, matrix), lambda: p.nearest_neighbours.BM25Recommender().fit(matrix),
                 lambda: p.nearest_neighbours.tfidf_weight(matrix), lambda: p.nearest_neighbours.normalize(matrix),
                 lambda: p.nearest_neighbours.all_pairs_knn(matrix, K=3),
                 lambda: p.evaluation.train_test_split(matrix), lambda: p.evaluation.leave_k_out_split(matrix),
                 lambda: p.evaluation.ndcg_at_k(trained, matrix, d.liked, show_progress=False),
                 lambda: p.evaluation.ndcg_at_k(trained, d.liked, matrix, show_progress=False),
                 lambda: trained.recalculate_user(users, matrix),
                 lambda: trained.partial_fit_users(users, matrix)]
        if matrix.format == "csr":
            calls += [lambda: trained.recommend(users, matrix), lambda: near.recommend(users, matrix)]
        for call in calls:
            with pytest.raises((ValueError, IndexError)):
                call()


def test_progress_is_shown_on_request(d, capfd):
    pytest.importorskip("tqdm")
    p.als.AlternatingLeastSquares(factors=4, iterations=2).fit(d.liked)
    assert "2/2" in capfd.readouterr().err
    fit_als(p, d)
    assert capfd.readouterr().err == ""


def test_calculate_loss_is_the_loss_of_training(d):
    losses = []
    model = p.als.AlternatingLeastSquares(factors=4, regularization=2.0, iterations=1, calculate_training_loss=True,
                                          random_state=1, use_gpu=False)
    model.fit(d.liked, show_progress=False, callback=lambda epoch, seconds, loss: losses.append(loss))
    from likewise.cpu.als import calculate_loss
    assert calculate_loss(d.liked, model.user_factors, model.item_factors, 2.0, num_threads=1) == pytest.approx(losses[0])
    with pytest.raises(ValueError, match="5 users"):
        calculate_loss(d.liked, model.user_factors[:5], model.item_factors, 2.0)


@pytest.mark.parametrize("line, words", [
    ("from likewise.lmf import LogisticMatrixFactorization", "likewise.als"),
    ("from likewise.approximate_als import AnnoyAlternatingLeastSquares", "exactly"),
    ("from likewise.ann.faiss import FaissModel", "item_factors"),
    ("from likewise.datasets.movielens import get_movielens", "likewise.Interactions"),
    ("from likewise.nearest_neighbours import NearestNeighboursScorer", "recommend"),
    ("from likewise.cpu.lmf import LogisticMatrixFactorization", "likewise.als"),
    ("from likewise.cpu.topk import topk", "from_factors"), ("import likewise; likewise.cpu.topk.topk", "from_factors"),
    ("import likewise; likewise.lmf.LogisticMatrixFactorization", "likewise.bpr")])
def test_what_is_not_there_is_said(line, words):
    with pytest.raises(ImportError, match=f"is not there: .*{words}"):
        exec(line)
    with pytest.raises(AttributeError):
        p.nearest_neighbours.Nothing


def test_the_base_class_has_its_path(d):
    from likewise.cpu.matrix_factorization_base import MatrixFactorizationBase
    assert isinstance(als(p, d), MatrixFactorizationBase) and isinstance(bpr(p, d), MatrixFactorizationBase)


def test_a_row_of_a_csr_array_is_one_row(d):
    """SciPy gives it one dimension."""
    liked = scipy.sparse.csr_array(d.liked)
    assert liked[0].ndim == 1
    model = fit_als(p, d)
    for got, expected in zip(model.recommend(0, liked[0]), model.recommend(0, liked[[0]])):
        assert np.array_equal(got, expected)
