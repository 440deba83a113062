# SPDX-License-Identifier: Apache-2.0
"""Differences of items."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from likewise.surprise.prediction_algorithms.algo_base import AlgoBase
from likewise.surprise.prediction_algorithms.predictions import PredictionImpossible
from likewise.surprise.trainset import Trainset

if TYPE_CHECKING:
    from typing_extensions import Self


class SlopeOne(AlgoBase):
    """The user's mean and the mean of dev(i, j) over all j that the user has rated, where dev(i, j) is the mean difference
    of the ratings of i and j by those who have rated both (Lemire and Maclachlan 2005). Keeps n_items^2 numbers."""

    def fit(self, trainset: Trainset) -> Self:
        """Trains on these ratings."""
        super().fit(trainset)
        users, items, ratings = (np.array(column) for column in zip(*trainset.all_ratings()))
        shape = trainset.n_users, trainset.n_items
        table = sparse.csr_matrix((ratings, (users, items)), shape, dtype=np.float64)
        there = sparse.csr_matrix((np.ones(len(users)), (users, items)), shape)
        self.freq = np.asarray((there.T @ there).todense(), dtype=np.int64)
        differences = np.asarray((table.T @ there).todense(), dtype=np.float64)
        self.dev = np.divide(differences - differences.T, self.freq, out=np.zeros_like(differences), where=self.freq > 0)
        self.user_mean = [float(np.mean([rating for _, rating in trainset.ur[u]])) for u in trainset.all_users()]
        return self

    def estimate(self, u: Any, i: Any) -> float:
        """An estimate of inner ids; or PredictionImpossible."""
        if not (self.trainset.knows_user(u) and self.trainset.knows_item(i)):
            raise PredictionImpossible("User and/or item is unknown.")
        rated = [j for j, _ in self.trainset.ur[u] if self.freq[i, j] > 0]
        return float(self.user_mean[u] + (np.mean(self.dev[i, rated]) if rated else 0.0))
