# SPDX-License-Identifier: Apache-2.0
"""Random ratings."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.surprise.prediction_algorithms.algo_base import AlgoBase
from likewise.surprise.trainset import Trainset

if TYPE_CHECKING:
    from typing_extensions import Self


class NormalPredictor(AlgoBase):
    """A random rating, of the normal distribution with mean and deviation of the ratings."""

    def fit(self, trainset: Trainset) -> Self:
        """Trains on these ratings."""
        super().fit(trainset)
        self.sigma = float(np.std([rating for _, _, rating in trainset.all_ratings()]))
        return self

    def estimate(self, u: Any, i: Any) -> float:
        """An estimate of inner ids."""
        return float(np.random.normal(self._mean, self.sigma))
