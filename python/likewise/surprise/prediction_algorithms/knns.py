# SPDX-License-Identifier: Apache-2.0
"""Neighbourhoods."""
from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from likewise.estimator import Estimator
from likewise.surprise.prediction_algorithms.trained import Trained
from likewise.surprise.prediction_algorithms.words import neighbour_words


class _Neighbourhood(Trained):
    prediction: ClassVar[str]

    def __init__(self, k: int = 40, min_k: int = 1, sim_options: dict[str, Any] = {}, verbose: bool = True, **kwargs: Any):
        super().__init__(sim_options=sim_options, **kwargs)
        self.verbose = verbose
        self.k = k
        self.min_k = min_k

    def _estimator(self) -> Estimator:
        if self.verbose:
            print(f"Computing the {self._similarity_name()} similarity matrix...\nDone computing similarity matrix.")
        return neighbour_words(self, self.k, prediction=self.prediction, min_neighbours=self.min_k)

    def _refusals(self, users: Any, items: Any) -> list[str | dict[str, Any]]:
        ub = self.sim_options["user_based"]
        rated = self.trainset.ir if ub else self.trainset.ur
        raters = {y: np.array([x for x, _ in rated[y]]) for y in set((items if ub else users).tolist()) if y >= 0}
        similar = self.sim > 0
        np.fill_diagonal(similar, False)  # nobody is its own neighbour
        found: list[str | dict[str, Any]] = []
        for x, y in zip(*((users, items) if ub else (items, users))):
            if x < 0 or y < 0:
                found.append({} if self.prediction == "baseline" else "User and/or item is unknown.")
                continue
            actual = min(self.k, int(similar[x, raters[int(y)]].sum()))
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
