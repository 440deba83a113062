# SPDX-License-Identifier: Apache-2.0
"""Splits and ranking metrics under the names, arguments and formulas of `implicit` 0.7."""
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from likewise.arguments import whole
from likewise.sparse import checked
from likewise.utils import Array, as_count, canonical, check_random_state, progress_bar, row_of_entry

#: Users are asked for this many at a time.
BATCH = 1024


def train_test_split(ratings: Any, train_percentage: float = 0.8,
                     random_state: Any = None) -> tuple[Any, Any]:
    """Each entry goes to `train` with this probability, else to `test`: (train, test), both CSR.

    train_percentage  a share, 0 to 1
    random_state      seed: int, numpy.random.Generator, RandomState or None. A seed splits as in `implicit`
    """
    if not 0 <= train_percentage <= 1:
        raise ValueError(f"train_percentage must be a share from 0 to 1, not {train_percentage}")
    entries = _sparse(ratings).tocoo()
    train = check_random_state(random_state).random(entries.nnz) < train_percentage
    return _part(entries, train), _part(entries, ~train)


def leave_k_out_split(ratings: Any, K: int = 1, train_only_size: float = 0.0,
                      random_state: Any = None) -> tuple[Any, Any]:
    """K entries, drawn at random, of each user with more than K + 1 go to `test`: (train, test), both CSR.

    train_only_size  the share of such users of whom no entry does, 0 up to and without 1
    random_state     seed: int, numpy.random.Generator, RandomState or None
    """
    if whole(K, "K") < 1:
        raise ValueError(f"The 'K' must be >= 1, not {K}.")
    if not 0 <= train_only_size < 1:
        raise ValueError("The 'train_only_size' must be in the range (0.0 <= x < 1.0), not "
                         f"{train_only_size}.")
    random = check_random_state(random_state)
    entries = _sparse(ratings).tocoo()
    counts = np.bincount(entries.row, minlength=entries.shape[0])
    tested = counts > K + 1
    if train_only_size > 0:
        users = np.flatnonzero(tested)
        tested[random.choice(users, int(len(users) * train_only_size), replace=False)] = False
    order = np.lexsort((random.random(entries.nnz), entries.row))
    starts = np.cumsum(counts) - counts
    test = np.zeros(entries.nnz, dtype=bool)
    test[order] = np.arange(entries.nnz) - starts[entries.row[order]] < K
    test &= tested[entries.row]
    return _part(entries, ~test), _part(entries, test)


def ranking_metrics_at_k(model: Any, train_user_items: Any, test_user_items: Any, K: int = 10,
                         show_progress: bool = True, num_threads: int = 1) -> dict[str, float]:
    """precision, map, ndcg and auc of the K items that a model recommends, without those of training.

    Over the users u with entries in test_user_items, L_u, where h_ui = 1 if place i, from 1, holds one:

        precision = sum_u sum_i h_ui / sum_u min(K, |L_u|)
        map       = mean over u of sum_i h_ui (h_u1 + ... + h_ui) / i / min(K, |L_u|)
        ndcg      = mean over u of sum_i h_ui / log2(i + 1) / sum of 1 / log2(i + 1) for i to min(K, |L_u|)
        auc       = mean over u of the area under the curve, where what is beyond place K has no order

    All other items of the catalogue are those not liked. num_threads is accepted: the model has its own.
    ZeroDivisionError where test_user_items has no entries, or a user's are all items there are.
    """
    train, test = _sparse(train_user_items).tocsr(), canonical(_sparse(test_user_items).tocsr())
    counts = np.diff(test.indptr)
    users = np.flatnonzero(counts)
    if not users.size:
        raise ZeroDivisionError("test_user_items has no entries: nobody to measure with")
    if users[-1] >= train.shape[0]:
        raise IndexError(f"test_user_items has entries of user {users[-1]}; train_user_items has "
                         f"{train.shape[0]} users")
    if counts.max() == test.shape[1]:
        raise ZeroDivisionError(f"user {counts.argmax()} has all {test.shape[1]} items in test_user_items: "
                                "the auc is not defined")
    width = as_count(K, test.shape[1], "K")
    totals = np.zeros(4)
    with progress_bar(len(users), show_progress) as bar:
        for start in range(0, len(users), BATCH):
            some = users[start:start + BATCH]
            ids, _ = model.recommend(some, train[some], N=width)
            totals += _totals(_hits(test, some, ids), counts[some], test.shape[1], width)
            bar.update(len(some))
    precision = totals[0] / np.minimum(counts[users], width).sum()
    others = totals[1:] / len(users)
    return {"precision": float(precision), "map": float(others[0]), "ndcg": float(others[1]),
            "auc": float(others[2])}


def precision_at_k(model: Any, train_user_items: Any, test_user_items: Any, K: int = 10,
                   show_progress: bool = True, num_threads: int = 1) -> float:
    """precision of ranking_metrics_at_k()."""
    return ranking_metrics_at_k(model, train_user_items, test_user_items, K, show_progress,
                                num_threads)["precision"]


def mean_average_precision_at_k(model: Any, train_user_items: Any, test_user_items: Any, K: int = 10,
                                show_progress: bool = True, num_threads: int = 1) -> float:
    """map of ranking_metrics_at_k()."""
    return ranking_metrics_at_k(model, train_user_items, test_user_items, K, show_progress,
                                num_threads)["map"]


def ndcg_at_k(model: Any, train_user_items: Any, test_user_items: Any, K: int = 10,
              show_progress: bool = True, num_threads: int = 1) -> float:
    """ndcg of ranking_metrics_at_k()."""
    return ranking_metrics_at_k(model, train_user_items, test_user_items, K, show_progress,
                                num_threads)["ndcg"]


def AUC_at_k(model: Any, train_user_items: Any, test_user_items: Any, K: int = 10,
             show_progress: bool = True, num_threads: int = 1) -> float:
    """auc of ranking_metrics_at_k()."""
    return ranking_metrics_at_k(model, train_user_items, test_user_items, K, show_progress,
                                num_threads)["auc"]


def _hits(test: Any, users: Array, ids: Array) -> Array:
    """(users, K): whether each place of the lists holds an item of the user's row."""
    rows = test[users]
    width = np.int64(test.shape[1])
    known = row_of_entry(rows) * width + rows.indices
    asked = np.arange(len(users))[:, None] * width + ids
    inside = (ids >= 0) & (ids < width)
    return np.isin(asked, known) & inside


def _totals(hits: Array, liked: Array, items: int, k: int) -> Array:
    """Sums over users: hits, average precision, NDCG, AUC."""
    place = np.arange(1, hits.shape[1] + 1)
    so_far = np.cumsum(hits, axis=1)
    most = np.minimum(k, liked)
    precision = (hits * so_far / place).sum(axis=1) / most
    gain = 1 / np.log2(place + 1)
    ndcg = hits @ gain / np.cumsum(1 / np.log2(np.arange(2, k + 2)))[most - 1]
    # Pairs of a liked and another item in the right order; beyond the list half of them are.
    misses = ~hits
    pairs = (misses * so_far).sum(axis=1)
    pairs = pairs + (so_far[:, -1] + liked) / 2 * (items - liked - misses.sum(axis=1))
    auc = pairs / (liked * (items - liked))
    return np.array([hits.sum(), precision.sum(), ndcg.sum(), auc.sum()])


def _sparse(matrix: Any) -> Any:
    if not scipy.sparse.issparse(matrix):
        raise TypeError(f"a SciPy sparse matrix is needed, not {type(matrix).__name__}")
    return checked(matrix)


def _part(entries: Any, chosen: Array) -> Any:
    return scipy.sparse.csr_matrix((entries.data[chosen], (entries.row[chosen], entries.col[chosen])),
                                   shape=entries.shape)
