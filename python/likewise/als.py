# SPDX-License-Identifier: Apache-2.0
"""Alternating least squares under the names, arguments and defaults of `implicit` 0.7."""
from __future__ import annotations

import heapq
import logging
from typing import Any, Callable

import numpy as np
import scipy.linalg

from likewise import _core
from likewise.arguments import call, check_callback
from likewise.factor_recommender import FactorRecommender, require_gpu
from likewise.recommender_base import ModelFitError
from likewise.utils import (Array, as_ids, as_rows, canonical, check_csr, check_finite, check_random_state, in_rows, progress_bar,
                            threads_of)

logger = logging.getLogger("likewise")


class AlternatingLeastSquares(FactorRecommender):
    """ALS for implicit feedback (Hu, Koren, Volinsky: Collaborative Filtering for Implicit Feedback
    Datasets, ICDM 2008).

    The values r of a matrix are confidences: a stored cell weighs alpha |r|, a missing one 1. Cells above
    0 are likes, all others are not. Minimised is

        sum over all cells of weight (like - x_u . y_i)^2  +  regularization (sum |x_u|^2 + sum |y_i|^2).

    factors                    length of a user's or item's vector
    regularization, alpha      as above, >= 0 and > 0
    dtype                      of the factors: float32, or float64 (computed in float32)
    use_native                 accepted, and has no effect
    use_cg                     `cg_steps` (3) steps of conjugate gradients for each row, else exact
    use_gpu                    True: on a GPU, ValueError where there is none; None: where there is one
    iterations                 all users once, then all items once
    calculate_training_loss    logs the loss to the logger "likewise" and gives it to the callback
    num_threads                0 means all cores
    random_state               seed of the first factors: int, numpy.random.Generator, RandomState or None
    """

    saved = ("regularization", "factors", "num_threads", "iterations", "use_native", "use_cg", "cg_steps",
             "calculate_training_loss", "random_state", "alpha", "use_gpu")

    def __init__(self, factors: int = 100, regularization: float = 0.01, alpha: float = 1.0,
                 dtype: Any = np.float32, use_native: bool = True, use_cg: bool = True,
                 use_gpu: bool | None = None, iterations: int = 15, calculate_training_loss: bool = False,
                 num_threads: int = 0, random_state: Any = None):
        super().__init__(factors, dtype, num_threads, random_state)
        self.regularization = regularization
        self.alpha = alpha
        self.use_native = use_native
        self.use_cg = use_cg
        self.cg_steps = 3
        self.use_gpu = use_gpu
        self.iterations = iterations
        self.calculate_training_loss = calculate_training_loss
        if use_gpu:
            require_gpu()

    def fit(self, user_items: Any, show_progress: bool = True,
            callback: Callable[[int, float, float | None], Any] | None = None) -> None:
        """Learns user_factors and item_factors; factors that are there already are where it starts.

        user_items     CSR matrix (users, items); others are converted, with a ParameterWarning
        callback       called after each iteration with (iteration from 0, its seconds, loss or None); the model then
                       has and answers by the factors so far

        Where Ctrl-C or an exception of the callback ends it, the factors are those of the last iteration.
        The loss is the objective over the sum of the weights of all cells. ModelFitError for values that
        are not finite, or lead to factors that are not; ValueError for other arguments out of range.
        """
        check_callback(callback)
        matrix = canonical(check_csr(user_items))
        try:
            check_finite(matrix, "user_items")
        except ValueError as error:
            raise ModelFitError(str(error)) from None
        users, items = self._first_factors(matrix.shape)
        weights = self.alpha * float(np.abs(matrix.data, dtype=np.float64).sum())
        weights += float(matrix.shape[0]) * matrix.shape[1] - matrix.nnz

        def iterated(iteration: int, seconds: float, objective: float) -> None:
            loss = objective / weights if self.calculate_training_loss else None
            bar.update(1)
            if loss is not None:
                bar.set_postfix({"loss": loss})
                logger.info("iteration %i: loss %.4f", iteration, loss)
            if callback is not None:
                callback(iteration - 1, seconds, loss)

        with progress_bar(self.iterations, show_progress) as bar:
            self._train(matrix, matrix.data, self._params(), self._device(matrix), iterated, users=users, items=items)

    def recalculate_user(self, userid: Any, user_items: Any) -> Array:
        """The exact factors of users with these rows, (factors,) or (n, factors). Nothing is stored.

        user_items  CSR matrix with one row for each user of `userid`
        """
        return self._recalculated("user", userid, user_items, "user_items")

    def recalculate_item(self, itemid: Any, item_users: Any) -> Array:
        """The exact factors of items with these rows, (factors,) or (n, factors). Nothing is stored.

        item_users  CSR matrix with one row for each item of `itemid`
        """
        return self._recalculated("item", itemid, item_users, "item_users")

    def partial_fit_users(self, userids: Any, user_items: Any) -> None:
        """Puts recalculate_user() into user_factors, which grow for new ids; users in between get zeros."""
        self._partial_fit("user", userids, user_items, "user_items")

    def partial_fit_items(self, itemids: Any, item_users: Any) -> None:
        """Puts recalculate_item() into item_factors, which grow for new ids; items in between get zeros."""
        self._partial_fit("item", itemids, item_users, "item_users")

    def explain(self, userid: int, user_items: Any, itemid: int, user_weights: Any = None,
                N: int = 10) -> tuple[float, list[tuple[Any, Any]], Any]:
        """Why an item: how much each liked item adds to its score (section 5 of the paper).

        user_items    CSR matrix of all users; row `userid` is used
        user_weights  what an earlier call for this user returned last, which saves its work

        Returns the score, the N largest (itemid, contribution) pairs, and the factored matrix of the
        user, as scipy.linalg.cho_factor makes it.
        """
        matrix = check_csr(user_items)
        (user,), _ = as_ids(userid, matrix.shape[0], "user")
        (item,), _ = as_ids(itemid, len(self._table("item")), "item")
        row = as_rows(matrix[[user]], 1, "user_items", len(self._table("item")), np.float64)
        factors = self._table("item").astype(np.float64)
        liked = factors[row.indices]
        confidence = self.alpha * np.abs(row.data)
        if user_weights is None:  # Y'Y + lambda I + sum of (c - 1) y y' over the user's items
            inner = factors.T @ factors + self.regularization * np.eye(factors.shape[1])
            user_weights = scipy.linalg.cho_factor(inner + (liked.T * (confidence - 1)) @ liked)
        towards = scipy.linalg.cho_solve(user_weights, factors[item])
        parts = liked @ towards * confidence
        likes = np.flatnonzero(row.data > 0)
        best = heapq.nlargest(N, likes, key=parts.__getitem__)
        return parts[likes].sum(), [(row.indices[at], parts[at]) for at in best], user_weights

    @property
    def YtY(self) -> Array:
        """(factors, factors): item_factors' item_factors."""
        return self._table("item").T @ self._table("item")

    @property
    def XtX(self) -> Array:
        """(factors, factors): user_factors' user_factors."""
        return self._table("user").T @ self._table("user")

    @property
    def solver(self) -> Callable[..., None]:
        """solver(Cui, X, Y, regularization, num_threads): the exact rows of X, in place, where Y is fixed and Cui
        are confidences, rows of X x rows of Y."""
        def solve(Cui: Any, X: Any, Y: Any, regularization: float, num_threads: int = 0) -> None:
            rows = AlternatingLeastSquares(Y.shape[1], regularization, num_threads=num_threads)
            rows.item_factors = Y
            X[:] = rows.recalculate_user(np.arange(len(X)), Cui)

        return solve

    def _params(self) -> dict[str, Any]:
        return {"algorithm": "als", "feedback": "implicit", "confidence": "given", "factors": self.factors,
                "iterations": self.iterations, "regularization": self.regularization, "alpha": self.alpha,
                "solver": "cg" if self.use_cg else "cholesky",
                **({"cg_steps": self.cg_steps, "cg_preconditioner": "none"} if self.use_cg else {})}

    def _device(self, matrix: Any) -> str:
        """Where to train. GPUs take confidences of 1 and more only."""
        if self.use_gpu is not None:
            return "cuda" if self.use_gpu else "cpu"
        return "cpu" if matrix.nnz and self.alpha * np.abs(matrix.data).min() < 1 else "auto"

    def _first_factors(self, shape: tuple[int, int]) -> tuple[Array, Array]:
        """Where a training starts: uniform in [0, 0.01), users drawn before items."""
        random = check_random_state(self.random_state)
        tables = [self._checked(side, rows, self.factors) for side, rows in zip(("user", "item"), shape)]
        users, items = (random.random((rows, self.factors), dtype=self.dtype) * 0.01 if table is None else table
                        for table, rows in zip(tables, shape))
        return np.ascontiguousarray(users, dtype=np.float32), np.ascontiguousarray(items, dtype=np.float32)

    def _solve(self, side: str, rows: Any) -> Array:
        fixed = "item" if side == "user" else "user"
        if (fixed, "solver") not in self._made:
            table = np.ascontiguousarray(self._table(fixed), dtype=np.float32)
            nobody = np.zeros((1, table.shape[1]), dtype=np.float32)
            model = _core.Model.from_factors(nobody, table, self._params() | {"factors": table.shape[1]})
            self._made[fixed, "solver"] = call(_core.Recommender, model, device="cpu",
                                                            threads=threads_of(self.num_threads))
        factors: Array
        factors, _ = self._made[fixed, "solver"].fold_in("users", (rows.indptr, rows.indices, rows.data))
        return factors.astype(self.dtype, copy=False)

    def _recalculated(self, side: str, ids: Any, rows: Any, name: str) -> Array:
        other = "item" if side == "user" else "user"
        wanted, one = as_ids(ids, None, side)
        factors = self._solve(side, as_rows(check_csr(in_rows(rows)), len(wanted), name, len(self._table(other))))
        return factors[0] if one else factors

    def _partial_fit(self, side: str, ids: Any, rows: Any, name: str) -> None:
        wanted, _ = as_ids(ids, None, side)
        factors = self._recalculated(side, np.atleast_1d(wanted), rows, name)
        table = self._table(side)
        if wanted.size:
            grown = np.zeros((max(len(table), int(wanted.max()) + 1), table.shape[1]), dtype=self.dtype)
            grown[:len(table)] = table
            grown[wanted] = factors
            self._keep(side, grown)


def calculate_loss(Cui: Any, X: Any, Y: Any, regularization: float, num_threads: int = 0) -> float:
    """The objective of AlternatingLeastSquares over the weights of all cells, as its callback gets it.

    Cui   CSR matrix (users, items) of confidences, as fit() takes it; `alpha` is 1
    X, Y  factors of users and items
    """
    matrix = canonical(check_csr(Cui), np.float64)
    users, items = (np.asarray(table, dtype=np.float64) for table in (X, Y))
    if (len(users), len(items)) != matrix.shape:
        raise ValueError(f"{len(users)} users and {len(items)} items have factors; the matrix is of {matrix.shape}")
    entries = matrix.tocoo()
    scores = (users[entries.row] * items[entries.col]).sum(axis=1)
    weights = np.abs(entries.data)
    # All cells as if they were missing, then what is different of those that are stored.
    objective = ((users.T @ users) * (items.T @ items)).sum()
    objective += (weights * ((entries.data > 0) - scores) ** 2 - scores**2).sum()
    objective += regularization * ((users**2).sum() + (items**2).sum())
    return float(objective / (weights.sum() + len(users) * len(items) - entries.nnz))
