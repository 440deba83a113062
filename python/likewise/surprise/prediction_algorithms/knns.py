# SPDX-License-Identifier: Apache-2.0
"""Neighbourhoods."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from likewise.estimator import Estimator
from likewise.surprise.prediction_algorithms.algo_base import AlgoBase
from likewise.surprise.prediction_algorithms.trained import Trained
from likewise.surprise.prediction_algorithms.words import Table, neighbour_words
from likewise.surprise.trainset import Trainset

if TYPE_CHECKING:
    from typing_extensions import Self


class SymmetricAlgo(AlgoBase):
    """An algorithm of users or of items: x are users and y items, or the other way round.

    n_x, n_y, xr, yr  how many there are, and their ratings: {x: [(y, rating)]} and {y: [(x, rating)]}
    """

    def __init__(self, sim_options: dict[str, Any] = {}, verbose: bool = True, **kwargs: Any):
        super().__init__(sim_options=sim_options, **kwargs)
        self.verbose = verbose

    def fit(self, trainset: Trainset) -> Self:
        """Takes the ratings to train on."""
        super().fit(trainset)
        self.n_x, self.n_y = self.switch(trainset.n_users, trainset.n_items)
        self.xr, self.yr = self.switch(trainset.ur, trainset.ir)
        return self

    def switch(self, u_stuff: Any, i_stuff: Any) -> tuple[Any, Any]:
        """What is of users and of items as what is of x and of y."""
        return (u_stuff, i_stuff) if self.sim_options["user_based"] else (i_stuff, u_stuff)


class _Neighbourhood(Trained, SymmetricAlgo):
    """A rating of y by x from those of the k most similar to x:

        level_xy + spread_x  sum s (r - level_ny) / spread_n  /  sum s,    over neighbours n with similarities s above 0
    """

    prediction: ClassVar[str]

    def __init__(self, k: int = 40, min_k: int = 1, sim_options: dict[str, Any] = {}, verbose: bool = True, **kwargs: Any):
        super().__init__(sim_options=sim_options, verbose=verbose, **kwargs)
        self.k = k
        self.min_k = min_k

    def _estimator(self) -> Estimator:
        return neighbour_words(self, self.k, prediction=self.prediction, min_neighbours=self.min_k)

    def _needs_definition(self) -> bool:
        in_order = self.prediction == "baseline" and self.bsl_options.get("method") == "sgd"
        return in_order or super()._needs_definition()

    def _learn(self) -> None:
        if self._needs_definition():
            self.sim = self.compute_similarities()
            return
        if self.verbose:
            print(f"Computing the {self._similarity_name()} similarity matrix...")
        super()._learn()
        if self.verbose:
            print("Done computing similarity matrix.")

    # What Surprise keeps of a training; the engine keeps its own, so that these are computed when they are asked for.

    @functools.cached_property
    def bu(self) -> Table:
        """Baselines of users, by inner id."""
        return self.compute_baselines()[0]

    @functools.cached_property
    def bi(self) -> Table:
        """Baselines of items, by inner id."""
        return self.compute_baselines()[1]

    @property
    def bx(self) -> Table:
        """Baselines of each x."""
        return self.switch(self.bu, self.bi)[0]  # type: ignore[no-any-return]

    @property
    def by(self) -> Table:
        """Baselines of each y."""
        return self.switch(self.bu, self.bi)[1]  # type: ignore[no-any-return]

    @functools.cached_property
    def means(self) -> Table:
        """The mean rating of each x."""
        return np.array([np.mean([rating for _, rating in self.xr[x]]) for x in range(self.n_x)])

    @functools.cached_property
    def overall_sigma(self) -> float:
        """The standard deviation of all ratings."""
        return float(np.std(self.trainset._columns[2]))

    @functools.cached_property
    def sigmas(self) -> Table:
        """The standard deviation of the ratings of each x; of all ratings where that is 0."""
        return np.array([np.std([rating for _, rating in self.xr[x]]) or self.overall_sigma for x in range(self.n_x)])

    @functools.cached_property
    def _levels(self) -> tuple[Table, Table, Table]:
        """level_xy is the sum of the first, of x, and the second, of y; spread_x is the third."""
        zeros, ones = np.zeros(max(self.n_x, self.n_y)), np.ones(self.n_x)
        if self.prediction == "baseline":
            return self._mean + self.bx, self.by, ones
        of_x = zeros if self.prediction == "mean" else self.means
        return of_x, zeros, self.sigmas if self.prediction == "z-score" else ones

    def _scores(self, users: Any, items: Any) -> Any:
        if not self._needs_definition():
            return super()._scores(users, items)
        return np.array([self._score(x, y) for x, y in zip(*self.switch(users, items))])

    def _score(self, x: int, y: int) -> float:
        of_x, of_y, spread = self._levels
        if x < 0 or y < 0:  # asked for by baselines alone
            return float((of_x[x] if x >= 0 else self._mean) + (of_y[y] if y >= 0 else 0.0))
        near, ratings = (np.array(column) for column in zip(*self.yr[y]))
        similar = np.where(near == x, 0.0, self.sim[x, near])
        best = np.argsort(-similar, kind="stable")[:self.k]  # of equals the first that was read
        best = best[similar[best] > 0]
        level, weights = of_x[x] + of_y[y], similar[best]
        if len(best) < self.min_k or not len(best):
            return float(level)
        others = (ratings[best] - of_x[near[best]] - of_y[y]) / spread[near[best]]
        return float(level + spread[x] * (weights @ others) / weights.sum())

    def _refusals(self, users: Any, items: Any) -> list[str | dict[str, Any]]:
        pairs = list(zip(*(one.tolist() for one in self.switch(users, items))))
        raters = {y: np.array([x for x, _ in self.yr[y]]) for y in {y for _, y in pairs} if y >= 0}
        found: list[str | dict[str, Any]] = []
        for x, y in pairs:
            if x < 0 or y < 0:
                found.append({} if self.prediction == "baseline" else "User and/or item is unknown.")
                continue
            near = raters[y]
            actual = min(self.k, int(np.count_nonzero((self.sim[x, near] > 0) & (near != x))))  # nobody is its own neighbour
            enough = actual >= self.min_k or self.prediction != "mean"
            found.append({"actual_k": actual} if enough else "Not enough neighbors.")
        return found


class KNNBasic(_Neighbourhood):
    """The mean of the k nearest ratings, weighted by similarity."""

    prediction = "mean"


class KNNWithMeans(_Neighbourhood):
    """The same about the means of users, or items."""

    prediction = "centred"


class KNNWithZScore(_Neighbourhood):
    """The same of z-scores of users, or items."""

    prediction = "z-score"


class KNNBaseline(_Neighbourhood):
    """The same about baselines."""

    prediction = "baseline"

    def __init__(self, k: int = 40, min_k: int = 1, sim_options: dict[str, Any] = {}, bsl_options: dict[str, Any] = {},
                 verbose: bool = True, **kwargs: Any):
        super().__init__(k, min_k, sim_options, verbose, bsl_options=bsl_options, **kwargs)
