# SPDX-License-Identifier: Apache-2.0
"""Means and biases."""
from __future__ import annotations

from typing import Any

import numpy as np

from likewise.estimator import Estimator
from likewise.estimators import Bias
from likewise.surprise.prediction_algorithms.trained import Trained
from likewise.surprise.prediction_algorithms.words import Table, baseline_words


class BaselineOnly(Trained):
    """The mean and the biases of user and item: bu and bi, by inner id. The model_ is trained when it is first asked
    for; by sgd it goes through the ratings in another order."""

    def __init__(self, bsl_options: dict[str, Any] = {}, verbose: bool = True):
        super().__init__(bsl_options=bsl_options)
        self.verbose = verbose

    def _estimator(self) -> Estimator:
        return Bias(**baseline_words(self.bsl_options))

    def _learn(self) -> None:
        self.bu, self.bi = self.compute_baselines()

    def _scores(self, users: Any, items: Any) -> Table:
        # An id of -1, which is not known, has the bias 0 at the end.
        found: Table = self._mean + np.append(self.bu, 0)[users] + np.append(self.bi, 0)[items]
        return found
