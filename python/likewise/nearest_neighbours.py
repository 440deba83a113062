# SPDX-License-Identifier: Apache-2.0
"""Item-item nearest neighbours under the names, arguments and defaults of `implicit` 0.7."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np
import scipy.sparse

from likewise import _core
from likewise.arguments import call, whole
from likewise.ids import listed as listed_ids
from likewise.lazy import absent
from likewise.recommender_base import Answer, ModelFitError, RecommenderBase, check_filters
from likewise.sparse import checked
from likewise.utils import (NO_SCORE, Array, as_count, as_ids, as_rows, canonical, check_csr, check_finite,
                            file_of, fill, optional_ids, progress_bar, row_of_entry, threads_of)

__getattr__ = absent("likewise.nearest_neighbours", "recommend() of the classes of this module scores by their `similarity`",
                     ("NearestNeighboursScorer",))

#: Users are answered this many at a time, which bounds the memory of a call.
BATCH = 4096


class ItemItemRecommender(RecommenderBase):
    """Recommends what is similar to a user's items: the score of item i is the sum of r_uj s_ji over them.

    The similarity of two items is the sum of the products of their columns. `similarity` is a CSR matrix
    (items, items) of float64, with the K largest of each item in its row, the item itself among them.

    K            neighbours of an item, itself among them
    num_threads  of fit(); 0 means all cores
    """

    def __init__(self, K: int = 20, num_threads: int = 0):
        self.K = K
        self.num_threads = num_threads
        self.similarity: Any = None

    def fit(self, weighted: Any, show_progress: bool = True,
            callback: Callable[..., Any] | None = None) -> None:
        """Finds the neighbours of each item.

        weighted  CSR matrix (users, items); others are converted, with a ParameterWarning
        callback  has to be None: nothing here is repeated
        """
        self._fit(weighted, show_progress, callback)

    def recommend(self, userid: Any, user_items: Any, N: int = 10, filter_already_liked_items: bool = True,
                  filter_items: Any = None, recalculate_user: bool = False, items: Any = None) -> Answer:
        """The items with the largest scores. Arguments: RecommenderBase.recommend().

        Only items that are a neighbour of one of the user's are listed. For one user the list may be
        shorter than N; for many, places without an answer have the id -1 and the lowest score of float32.
        With `items` all of those are listed, the ones without a score with the lowest of float64.

        Everything is computed from the rows: `userid` only tells one user from many, and `recalculate_user`
        changes nothing.
        """
        check_filters(items, filter_items, "items and filter_items")
        users, one = as_ids(userid, None, "user")
        count = self._fitted().shape[0]
        rows = as_rows(user_items, len(users), "user_items", count, np.float64)
        rows.resize((rows.shape[0], count))
        check_finite(rows, "user_items")
        listed, left_out = optional_ids(items, count, "item"), optional_ids(filter_items, count, "item")
        width = as_count(N, count if listed is None else listed.size)
        _check_room(len(users), width)
        ids = np.full((len(users), width), -1, dtype=np.int32)
        scores = np.full(ids.shape, NO_SCORE, dtype=np.float64)
        for start in range(0, len(users), BATCH):
            some = rows[start:start + BATCH]
            reached = (some @ self.similarity).tocsr()
            liked = some if filter_already_liked_items else None
            ids[start:start + BATCH], scores[start:start + BATCH] = best(
                without(reached, liked, left_out, listed), width)
        if listed is not None:
            scores[ids < 0] = np.finfo(np.float64).min
            fill(ids, listed)
        if not one:
            return ids, scores
        found = ids[0] >= 0
        return (ids[0, found].astype(np.asarray(ids if items is None else listed_ids(items)).dtype),
                scores[0, found])

    def similar_items(self, itemid: Any, N: int = 10, recalculate_item: bool = False,
                      item_users: Any = None, filter_items: Any = None, items: Any = None) -> Answer:
        """The neighbours of items, themselves among them. Arguments: RecommenderBase.similar_items().

        There are K at most. For one item the list may be shorter than N; for many, places without an answer
        have the id -1 and the lowest score of float32. With `items` all of those are listed, the ones
        without a similarity with the lowest of float64.
        """
        check_filters(items, filter_items, "items and filter_items")
        if recalculate_item:
            raise NotImplementedError("recalculate_item: the neighbours of an item are those of fit()")
        wanted, one = as_ids(itemid, self._fitted().shape[0], "item")
        count = self.similarity.shape[0]
        listed, left_out = optional_ids(items, count, "item"), optional_ids(filter_items, count, "item")
        width = as_count(N, count if listed is None else listed.size)
        _check_room(len(wanted), width)
        ids, scores = best(without(self.similarity[wanted], None, left_out, listed), width)
        if listed is not None:
            scores[ids < 0] = np.finfo(np.float64).min
            fill(ids, listed)
        if not one:
            return ids, scores
        return ids[0, ids[0] >= 0], scores[0, ids[0] >= 0]

    def similar_users(self, userid: Any, N: int = 10, filter_users: Any = None,
                      users: Any = None) -> Answer:
        """Not available: these models compare items."""
        raise NotImplementedError(f"{type(self).__name__} compares items, not users")

    def save(self, fileobj_or_path: Any) -> None:
        """Writes similarities and arguments as a NumPy .npz file, which `implicit` reads too."""
        kept, arrays = self.similarity, {}
        if kept is not None:
            arrays = {"shape": kept.shape, "data": kept.data, "indptr": kept.indptr, "indices": kept.indices}
        arguments = {name: value for name, value in vars(self).items() if name != "similarity"}
        np.savez(file_of(fileobj_or_path), **arguments, **arrays)

    @classmethod
    def load(cls, fileobj_or_path: Any) -> Any:
        """A model from a file of save(), or one that `implicit` saved.

        ValueError for a file of something else.
        """
        model = cls()
        with np.load(file_of(fileobj_or_path), allow_pickle=False) as data:
            missing = {"shape", "data", "indptr", "indices"} - set(data.files)
            fitted = len(missing) < 4 or "K" not in data.files  # before fit() there are arguments alone
            if missing and fitted:
                raise ValueError(f"{fileobj_or_path} is no file of {cls.__name__}: it lacks "
                                 f"{', '.join(sorted(missing))}")
            for name in set(vars(model)) & set(data.files):
                setattr(model, name, data[name].item())
            if fitted:
                model.similarity = scipy.sparse.csr_matrix((data["data"], data["indices"], data["indptr"]),
                                                           shape=tuple(data["shape"]))
        return model

    def _fit(self, matrix: Any, show_progress: bool, callback: Any, weigh: Callable[[Any], Any] = lambda items: items) -> None:
        """Keeps the neighbours by what weigh() makes of the matrix (items, users)."""
        if callback is not None:
            raise NotImplementedError(f"{type(self).__name__} has no iterations to call a callback after")
        users = weigh(check_csr(matrix).T).T.tocsr()
        self.similarity = all_pairs_knn(users, self.K, self.num_threads, show_progress).tocsr()

    def _fitted(self) -> Any:
        if self.similarity is None:
            raise ModelFitError("the model has no similarities: call fit() first")
        return self.similarity


def _check_room(lists: int, width: int) -> None:
    """MemoryError where so many lists cannot fit."""
    _core.check_memory(f"{lists} lists of {width} answers, to be asked for in parts", 12.0 * lists * width)


class CosineRecommender(ItemItemRecommender):
    """Items by the cosine of their columns."""

    def fit(self, counts: Any, show_progress: bool = True, callback: Callable[..., Any] | None = None) -> None:
        """As ItemItemRecommender.fit(), of a matrix (users, items) that is weighed first."""
        self._fit(counts, show_progress, callback, normalize)


class TFIDFRecommender(ItemItemRecommender):
    """Items by the cosine of their columns in the weights of tfidf_weight()."""

    def fit(self, counts: Any, show_progress: bool = True, callback: Callable[..., Any] | None = None) -> None:
        """As ItemItemRecommender.fit(), of a matrix (users, items) that is weighed first."""
        self._fit(counts, show_progress, callback, lambda items: normalize(tfidf_weight(items)))


class BM25Recommender(ItemItemRecommender):
    """Items by the product of their columns in the weights of bm25_weight()."""

    def __init__(self, K: int = 20, K1: float = 1.2, B: float = 0.75, num_threads: int = 0):
        super().__init__(K, num_threads)
        self.K1 = K1
        self.B = B

    def fit(self, counts: Any, show_progress: bool = True, callback: Callable[..., Any] | None = None) -> None:
        """As ItemItemRecommender.fit(), of a matrix (users, items) that is weighed first."""
        self._fit(counts, show_progress, callback, lambda items: bm25_weight(items, self.K1, self.B))


def all_pairs_knn(users: Any, K: int = 100, num_threads: int = 0, show_progress: bool = True) -> Any:
    """The K items whose columns of a matrix (users, items) have the largest products with an item's.

    Returns a COO matrix (items, items) of float64 with the accuracy of float32: each row holds the neighbours
    of an item, itself among them, best first. Pairs whose product is 0 are not there.
    """
    matrix = canonical(check_csr(users), np.float64)
    if whole(K, "K") < 1:
        raise ValueError(f"K must be 1 or more, not {K}")
    count = matrix.shape[1]
    params = {"algorithm": "item-knn", "feedback": "implicit", "similarity": "dot", "neighbours": min(int(K), max(count, 1)),
              "keep_negative": True}
    with progress_bar(count, show_progress) as bar:
        indptr, others, products = call(
            _core.train_neighbours, matrix.indptr, matrix.indices, matrix.data.astype(np.float32), matrix.shape[1], params,
            threads=threads_of(num_threads))
        bar.update(count)
    own = np.bincount(matrix.indices, weights=matrix.data**2, minlength=count).astype(np.float32)
    there = np.flatnonzero(own)
    rows = np.concatenate([there, np.repeat(np.arange(count), np.diff(indptr))])
    cols = np.concatenate([there, others])
    values = np.concatenate([own[there], products])
    order = np.lexsort((np.arange(len(rows)), -values, rows))
    order = order[rank_in_row(rows[order], count) < K]
    return scipy.sparse.coo_matrix((values[order].astype(np.float64), (rows[order], cols[order])),
                                   shape=(count, count))


def _entries(X: Any) -> Any:
    """A matrix of any kind as COO of float64."""
    return scipy.sparse.coo_matrix(checked(X) if scipy.sparse.issparse(X) else X, dtype=np.float64)


def bm25_weight(X: Any, K1: float = 100, B: float = 0.8) -> Any:
    """BM25 weights of a matrix (rows, terms) of counts, as COO of float64.

        weight = idf (K1 + 1) r / (K1 (1 - B + B |row| / mean |row|) + r)
        idf    = ln(rows / (1 + rows with the term))

    |row| is the sum of a row (Robertson and Zaragoza: The Probabilistic Relevance Framework, 2009).
    """
    X = _entries(X)
    lengths = np.bincount(X.row, weights=X.data, minlength=X.shape[0])
    relative = lengths / lengths.mean() if X.nnz else lengths
    saturation = K1 * (1 - B + B * relative[X.row])
    weights = X.data * (K1 + 1) / (saturation + X.data) * _idf(X)[X.col]
    return scipy.sparse.coo_matrix((weights, (X.row, X.col)), shape=X.shape)


def tfidf_weight(X: Any) -> Any:
    """TF-IDF weights sqrt(r) ln(rows / (1 + rows with the term)) of a matrix (rows, terms), as COO."""
    X = _entries(X)
    return scipy.sparse.coo_matrix((np.sqrt(X.data) * _idf(X)[X.col], (X.row, X.col)), shape=X.shape)


def normalize(X: Any) -> Any:
    """The rows of a matrix divided by their Euclidean lengths, as COO of float64; rows of length 0 stay."""
    X = _entries(X)
    lengths = np.sqrt(np.bincount(X.row, weights=X.data**2, minlength=X.shape[0]))
    lengths[lengths == 0] = 1
    return scipy.sparse.coo_matrix((X.data / lengths[X.row], (X.row, X.col)), shape=X.shape)


def _idf(X: Any) -> Array:
    idf: Array = np.log(max(X.shape[0], 1)) - np.log1p(np.bincount(X.col, minlength=X.shape[1]))
    return idf


def rank_in_row(rows: Array, count: int) -> Array:
    """The place, from 0, of each entry among those of its row; rows rise."""
    starts = np.searchsorted(rows, np.arange(count))
    places: Array = np.arange(len(rows)) - starts[rows]
    return places


def without(matrix: Any, liked: Any, left_out: Array | None, listed: Array | None) -> Any:
    """A CSR matrix of finite values without the entries of `liked`, without some columns, with some only."""
    if liked is not None:  # a sum of sparse matrices marks what is in both
        matrix = matrix + scipy.sparse.csr_matrix((np.full(liked.nnz, np.nan), liked.indices, liked.indptr),
                                                  shape=liked.shape)
    columns = np.full(matrix.shape[1], listed is None)
    if listed is not None:
        columns[listed] = True
    if left_out is not None:
        columns[left_out] = False
    kept = columns[matrix.indices] & ~np.isnan(matrix.data)
    entries = (matrix.data[kept], (row_of_entry(matrix)[kept], matrix.indices[kept]))
    return scipy.sparse.csr_matrix(entries, shape=matrix.shape)


def best(matrix: Any, width: int) -> Answer:
    """The columns of the largest values of each row, ties to the smaller; -1 where there are no more."""
    matrix.sort_indices()
    rows = row_of_entry(matrix)
    order = np.argsort(-matrix.data, kind="stable")
    # NumPy sorts 16-bit numbers by radix, and there are BATCH rows at most in the long calls.
    small = rows.astype(np.min_scalar_type(matrix.shape[0]))
    order = order[np.argsort(small[order], kind="stable")]
    rank = rank_in_row(rows, matrix.shape[0])
    order, rows, rank = order[rank < width], rows[rank < width], rank[rank < width]
    ids = np.full((matrix.shape[0], width), -1, dtype=np.int32)
    scores = np.full(ids.shape, NO_SCORE, dtype=np.float64)
    ids[rows, rank] = matrix.indices[order]
    scores[rows, rank] = matrix.data[order]
    return ids, scores
