# SPDX-License-Identifier: Apache-2.0
"""Answers from tables of factors: what ALS and other factorisations share."""
from __future__ import annotations

import copy
import warnings
from typing import Any, Callable, TypeVar

import numpy as np

from likewise import _core
from likewise.arguments import call, whole
from likewise.ids import listed
from likewise.recommender_base import Answer, ModelFitError, RecommenderBase, check_filters
from likewise.tensors import table_of
from likewise.utils import NO_SCORE, Array, as_count, as_ids, as_rows, file_of, fill, optional_ids, threads_of


_Model = TypeVar("_Model", bound="FactorRecommender")


class FactorRecommender(RecommenderBase):
    """Exact search in `user_factors` and `item_factors`; no approximation.

    Both are arrays (rows, factors) that cannot be written into: assign a new array, or a tensor of
    another library (by DLPack, from a GPU too), which is copied.
    """

    #: Arguments that save() keeps.
    saved: tuple[str, ...] = ("factors", "num_threads", "random_state", "use_gpu")

    #: True, False, or None: where there is one.
    use_gpu: bool | None = None

    def __init__(self, factors: int, dtype: Any, num_threads: int, random_state: Any):
        self.factors = factors
        self.dtype = np.dtype(dtype)
        self.num_threads = num_threads
        self.random_state = random_state
        self._kept: dict[str, Array | None] = {"user": None, "item": None}
        self._made: dict[tuple[str, str], Any] = {}
        self._look: Callable[[], Any] | None = None

    @property
    def _tables(self) -> dict[str, Array | None]:
        """The factors of both sides; while a callback of fit() is called those so far, which are copied when they are
        first looked at."""
        look, self._look = self._look, None
        learned = None if look is None else look()
        if learned is not None:
            self._keep_learned(*learned)
        return self._kept

    @property
    def user_factors(self) -> Any:
        """(users, factors), or None before fit()."""
        return self._tables["user"]

    @user_factors.setter
    def user_factors(self, table: Any) -> None:
        self._assign("user", table)

    @property
    def item_factors(self) -> Any:
        """(items, factors), or None before fit()."""
        return self._tables["item"]

    @item_factors.setter
    def item_factors(self, table: Any) -> None:
        self._assign("item", table)

    @property
    def user_norms(self) -> Array:
        """(users,): lengths of the rows of user_factors, 1e-10 for those of length 0."""
        return self._norms("user")

    @property
    def item_norms(self) -> Array:
        """(items,): lengths of the rows of item_factors, 1e-10 for those of length 0."""
        return self._norms("item")

    def recommend(self, userid: Any, user_items: Any, N: int = 10, filter_already_liked_items: bool = True,
                  filter_items: Any = None, recalculate_user: bool = False, items: Any = None) -> Answer:
        """The items with the largest products of factors. Arguments: RecommenderBase.recommend()."""
        check_filters(items, filter_items, "items and filter_items")
        users, one = as_ids(userid, None if recalculate_user else len(self._table("user")), "user")
        known = None
        if recalculate_user or filter_already_liked_items:
            known = as_rows(user_items, len(users), "user_items", len(self._table("item")))
        queries = self._solve("user", known) if recalculate_user else self._table("user")[users]
        liked = known if filter_already_liked_items else None
        return self._search("item", "dot", queries, one, N, items, filter_items, liked)

    def similar_items(self, itemid: Any, N: int = 10, recalculate_item: bool = False,
                      item_users: Any = None, filter_items: Any = None, items: Any = None) -> Answer:
        """The items with the largest cosines of factors. Arguments: RecommenderBase.similar_items()."""
        check_filters(items, filter_items, "items and filter_items")
        ids, one = as_ids(itemid, None if recalculate_item else len(self._table("item")), "item")
        if recalculate_item:
            rows = as_rows(item_users, len(ids), "item_users", len(self._table("user")))
            queries = self._solve("item", rows)
        else:
            queries = self._table("item")[ids]
        return self._search("item", "cosine", queries, one, N, items, filter_items)

    def similar_users(self, userid: Any, N: int = 10, filter_users: Any = None,
                      users: Any = None) -> Answer:
        """The users with the largest cosines of factors. Arguments: RecommenderBase.similar_users()."""
        check_filters(users, filter_users, "users and filter_users")
        ids, one = as_ids(userid, len(self._table("user")), "user")
        return self._search("user", "cosine", self._table("user")[ids], one, N, users, filter_users)

    def recommend_all(self, user_items: Any, N: int = 10, recalculate_user: bool = False,
                      filter_already_liked_items: bool = True, filter_items: Any = None,
                      users_items_offset: int = 0) -> Array:
        """Deprecated: the ids of recommend() for the rows of a matrix, users from the offset on."""
        warnings.warn("recommend_all is deprecated. Use recommend with an array of userids instead",
                      DeprecationWarning, stacklevel=2)
        users = np.arange(users_items_offset, users_items_offset + user_items.shape[0])
        return self.recommend(users, user_items, N=N, recalculate_user=recalculate_user,
                              filter_already_liked_items=filter_already_liked_items,
                              filter_items=filter_items)[0]

    def to_cpu(self: _Model) -> _Model:
        """A copy that trains on the CPU."""
        return self._on(False)

    def to_gpu(self: _Model) -> _Model:
        """A copy that trains on the GPU; ValueError where there is none."""
        require_gpu()
        return self._on(True)

    def save(self, fileobj_or_path: Any) -> None:
        """Writes factors and arguments as a NumPy .npz file, which `implicit` reads too.

        A random_state that is no integer is not kept, nor a use_gpu that is None.
        """
        values: dict[str, Any] = {name: getattr(self, name) for name in self.saved}
        if not isinstance(self.random_state, (int, np.integer)):
            values.pop("random_state", None)
        if self.use_gpu is None:
            values.pop("use_gpu", None)
        values |= {f"{side}_factors": table for side, table in self._tables.items() if table is not None}
        np.savez(file_of(fileobj_or_path), **values, dtype=self.dtype.name)

    @classmethod
    def load(cls, fileobj_or_path: Any) -> Any:
        """A model from a file of save(), or one that `implicit` saved.

        ValueError for a file of something else.
        """
        with np.load(file_of(fileobj_or_path), allow_pickle=False) as data:
            missing = {"factors", "dtype"} - set(data.files)
            if missing:
                raise ValueError(f"{fileobj_or_path} is no file of {cls.__name__}: it lacks "
                                 f"{', '.join(sorted(missing))}")
            model = cls(dtype=str(data["dtype"]))  # type: ignore[call-arg]
            for name in cls.saved:
                if name in data.files:
                    setattr(model, name, data[name].item())
            for side in ("user", "item"):
                if f"{side}_factors" in data.files:
                    model._assign(side, data[f"{side}_factors"])
        return model

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": self._tables, "_made": {}, "_look": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        for side, table in self._tables.items():
            self._keep(side, table)

    def _solve(self, side: str, rows: Any) -> Array:
        """Factors of users or items from their rows, the other side fixed."""
        raise NotImplementedError(f"{type(self).__name__} cannot compute factors anew: recalculate_{side} "
                                  "must be False")

    def _table(self, side: str) -> Array:
        table = self._tables[side]
        if table is None:
            raise ModelFitError(f"the model has no {side}_factors: call fit() first")
        return table

    def _checked(self, side: str, rows: int, columns: int) -> Array | None:
        """The table that a training would start from; ValueError where it has another shape."""
        if whole(self.factors, "factors") < 1:
            raise ValueError(f"factors must be 1 or more, not {self.factors}")
        table = self._tables[side]
        if table is not None and table.shape != (rows, columns):
            raise ValueError(f"training would start from the {side}_factors that are there, of shape "
                             f"{table.shape}; this matrix needs {(rows, columns)}. Make a new "
                             "model, or set user_factors = item_factors = None")
        if table is None:
            _core.check_memory(f"{side}_factors of {rows} x {columns}", float(rows) * columns * self.dtype.itemsize)
        return table

    def _on(self: _Model, gpu: bool) -> _Model:
        result = copy.copy(self)
        result._kept, result._made = dict(self._tables), {}
        result.use_gpu = gpu
        return result

    def _assign(self, side: str, table: Any) -> None:
        self._keep(side, None if table is None else table_of(table, f"{side}_factors", self.dtype))

    def _train(self, matrix: Any, values: Array, params: dict[str, Any], device: str, iterated: Callable[..., None],
               **more: Any) -> None:
        """Trains on a CSR matrix with these values and keeps what was learned: the last factors, too, where Ctrl-C or an
        exception of iterated(), which is called after each iteration, ends it."""
        def listener(iteration: int, seconds: float, objective: float, look: Callable[[], Any], *hits: Any) -> None:
            self._look = look
            try:
                iterated(iteration, seconds, objective, *hits)
            finally:
                self._look = None

        try:
            model, ended = call(_core.train_factors, matrix.indptr, matrix.indices, values, matrix.shape[1], params, device=device,
                                threads=threads_of(self.num_threads), on_iteration=listener, **more)
        except _core.NumericalError as error:
            raise ModelFitError(str(error)) from error
        self._keep_learned(model.user_factors, model.item_factors, model.item_bias)
        if ended is not None:
            raise ended

    def _keep_learned(self, users: Array, items: Array, item_bias: Array | None) -> None:
        """Takes the tables of a training."""
        self._keep("user", users.astype(self.dtype, copy=False))
        self._keep("item", items.astype(self.dtype, copy=False))

    def _keep(self, side: str, table: Array | None) -> None:
        """Takes a table that nobody else writes into."""
        if table is not None:
            table = table.view()
            table.flags.writeable = False
        self._kept[side] = table
        self._made = {key: made for key, made in self._made.items() if key[0] != side}

    def _norms(self, side: str) -> Array:
        norms: Array = np.linalg.norm(self._table(side), axis=1)
        norms[norms == 0] = 1e-10
        return norms

    def _search(self, side: str, metric: str, queries: Array, one: bool, N: Any, only: Any,
                without: Any, liked: Any = None) -> Answer:
        """The N best rows of a side for each query, all there are at most: ids and scores
        (queries, width), or (width,) for one.

        Places that filters leave over hold ids that were filtered. Their score, the lowest of
        float32, says that they are no answers.
        """
        rows = len(self._table(side))
        allow, deny = optional_ids(only, rows, side), optional_ids(without, rows, side)
        width = as_count(N, rows if allow is None else allow.size)
        if (side, metric) not in self._made:
            table = np.ascontiguousarray(self._table(side), dtype=np.float32)
            self._made[side, metric] = _core.FactorSearch(table, metric=metric, device="cpu")
        found, found_scores, counts = call(
            self._made[side, metric].top_k, np.ascontiguousarray(queries, dtype=np.float32), width, allow=allow, deny=deny,
            excluded=None if liked is None else (liked.indptr, liked.indices),
            threads=threads_of(self.num_threads))
        there = np.arange(found.shape[1]) < counts[:, None]
        ids = np.full((len(found), width), -1, dtype=np.int32)
        scores = np.full(ids.shape, NO_SCORE, dtype=self.dtype)
        ids[:, :found.shape[1]][there] = found[there]
        scores[:, :found.shape[1]][there] = found_scores[there]
        fill(ids, np.arange(rows) if allow is None else allow)
        if only is not None:
            ids = ids.astype(np.asarray(listed(only)).dtype, copy=False)
        return (ids[0], scores[0]) if one else (ids, scores)


def require_gpu() -> None:
    """ValueError where no GPU can be used."""
    from likewise.gpu import HAS_CUDA
    if not HAS_CUDA:
        raise ValueError("use_gpu=True: no CUDA device can be used here; likewise.info() says why")
