# SPDX-License-Identifier: Apache-2.0
"""Bayesian personalised ranking under the names, arguments and defaults of `implicit` 0.7."""
from __future__ import annotations

import logging
from typing import Any, Callable

import numpy as np

from likewise.arguments import check_callback, whole
from likewise.factor_recommender import FactorRecommender, require_gpu
from likewise.gpu import HAS_CUDA
from likewise.recommender_base import ModelFitError
from likewise.utils import Array, canonical, check_csr, check_finite, check_random_state, progress_bar

logger = logging.getLogger("likewise")


class BayesianPersonalizedRanking(FactorRecommender):
    """Factors and an item bias that rank what a user liked above what it did not take (Rendle and others:
    BPR: Bayesian Personalized Ranking from Implicit Feedback, UAI 2009).

    A stored cell is a like, whatever its value. In an epoch each like (u, i) meets an item j, drawn as often
    as it is liked; where u likes j too, nothing is done. Otherwise a step with `learning_rate` goes against
    the gradient of

        -ln sigma(s_ui - s_uj)  +  regularization / 2 (|x_u|^2 + |y_i|^2 + |y_j|^2 + b_i^2 + b_j^2)

    with s_ui = x_u . y_i + b_i. The last column of item_factors is b, that of user_factors is 1.

    factors                  length of a user's or item's vector, without that column
    learning_rate            > 0
    regularization           as above, >= 0
    dtype                    of the factors: float32, or float64 (computed in float32)
    iterations               epochs, of as many draws as there are likes
    use_gpu                  True: on a GPU, ValueError where there is none; None: where there is one. There steps
                             race, and no two trainings are alike to the last digit
    num_threads              0 means all cores; the result does not depend on it
    verify_negative_samples  accepted, and has no effect: that u does not like j is checked always
    random_state             seed of first factors and draws: int, numpy.random.Generator, RandomState or None
    """

    saved = ("regularization", "factors", "learning_rate", "verify_negative_samples", "num_threads",
             "iterations", "random_state", "use_gpu")

    def __init__(self, factors: int = 100, learning_rate: float = 0.01, regularization: float = 0.01,
                 dtype: Any = np.float32, iterations: int = 100, use_gpu: bool | None = None,
                 num_threads: int = 0, verify_negative_samples: bool = True, random_state: Any = None):
        super().__init__(factors, dtype, num_threads, random_state)
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.iterations = iterations
        self.verify_negative_samples = verify_negative_samples
        self.use_gpu = use_gpu
        if use_gpu:
            require_gpu()

    def fit(self, user_items: Any, show_progress: bool = True,
            callback: Callable[[int, float, int, int], Any] | None = None) -> None:
        """Learns user_factors and item_factors; factors that are there already are where it starts.

        user_items  CSR matrix (users, items) of likes; others are converted, with a ParameterWarning
        callback    called after each epoch with (epoch from 0, its seconds, correct, skipped): of one new
                    draw for each like, how many like scores more than the item drawn, and how many of those
                    are liked too; the model then has and answers by the factors so far

        Where Ctrl-C or an exception of the callback ends it, the factors are those of the last epoch. Where no
        user has both likes and other items, nothing is learned, and the logger says so. ModelFitError for values
        that are not finite, and where the factors leave all bounds; ValueError for other arguments out of range.
        """
        check_callback(callback)
        matrix = canonical(check_csr(user_items))
        try:
            check_finite(matrix, "user_items")
        except ValueError as error:
            raise ModelFitError(str(error)) from None
        likes = np.diff(matrix.indptr)
        random = check_random_state(self.random_state)
        users, items = self._first_factors(matrix, random)
        if not ((likes > 0) & (likes < matrix.shape[1])).any():
            logger.warning("no user has both items that it likes and items that it does not: there is nothing to "
                           "rank, and nothing was learned")
            self._keep("user", users.astype(self.dtype, copy=False))
            self._keep("item", items.astype(self.dtype, copy=False))
            return

        def iterated(iteration: int, seconds: float, objective: float, *hits: tuple[int, int]) -> None:
            bar.update(1)
            bar.set_postfix({"loss": objective / matrix.nnz})
            logger.debug("epoch %i: loss %.4f", iteration, objective / matrix.nnz)
            if callback is not None:
                callback(iteration - 1, seconds, *hits[0])

        with progress_bar(self.iterations, show_progress) as bar:
            self._train(matrix, np.ones(matrix.nnz, dtype=np.float32), self._params(int(random.integers(2**63))),
                        "cuda" if self._on_gpu() else "cpu", iterated, users=np.ascontiguousarray(users[:, :-1]),
                        items=np.ascontiguousarray(items[:, :-1]), item_bias=np.ascontiguousarray(items[:, -1]),
                        hits=callback is not None)

    def recalculate_user(self, userid: Any, user_items: Any) -> Array:
        """Refused, as in `implicit`: likewise.Bpr has recommend_new() and fold_in()."""
        return self._solve("user", user_items)

    def recalculate_item(self, itemid: Any, item_users: Any) -> Array:
        """Refused, as in `implicit`."""
        return self._solve("item", item_users)

    def _on_gpu(self) -> bool:
        return HAS_CUDA if self.use_gpu is None else self.use_gpu

    def _params(self, seed: int) -> dict[str, Any]:
        return {"algorithm": "bpr", "factors": self.factors, "iterations": self.iterations,
                "learning_rate": self.learning_rate, "regularization": self.regularization,
                "negatives": "popular", "liked_draws": "skip",
                "order": "racing" if self._on_gpu() else "blocked", "seed": seed}

    def _first_factors(self, likes: Any, random: np.random.Generator) -> tuple[Array, Array]:
        """Where a training starts: uniform in [-1/2, 1/2) / factors, items drawn before users, 0 for those
        without likes."""
        users, items = (self._checked(side, rows, whole(self.factors, "factors") + 1)
                        for side, rows in zip(("user", "item"), likes.shape))
        if items is None:
            items = self._drawn(random, likes.shape[1])
            items[np.bincount(likes.indices, minlength=len(items)) == 0] = 0
        if users is None:
            users = self._drawn(random, likes.shape[0])
            users[np.diff(likes.indptr) == 0] = 0
            users[:, -1] = 1
        elif (users[:, -1] != 1).any():
            raise ValueError("the last column of user_factors must be 1: it multiplies the items' biases")
        return users.astype(np.float32, copy=False), items.astype(np.float32, copy=False)

    def _drawn(self, random: np.random.Generator, rows: int) -> Array:
        table: Array = (random.random((rows, self.factors + 1), dtype=self.dtype) - 0.5) / self.factors
        return table

    def _keep_learned(self, users: Array, items: Array, item_bias: Array | None) -> None:
        super()._keep_learned(np.column_stack([users, np.ones(len(users), dtype=np.float32)]),
                              np.column_stack([items, np.asarray(item_bias)]), None)
