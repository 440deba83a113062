# SPDX-License-Identifier: Apache-2.0
"""Means and biases."""
from __future__ import annotations

from typing import Any

from likewise.estimator import Estimator
from likewise.estimators import Bias
from likewise.surprise.prediction_algorithms.trained import Trained
from likewise.surprise.prediction_algorithms.words import baseline_words
from likewise.surprise.trainset import Trainset


class BaselineOnly(Trained):
    """The mean and the biases of user and item."""

    def __init__(self, bsl_options: dict[str, Any] = {}, verbose: bool = True):
        super().__init__(bsl_options=bsl_options)
        self.verbose = verbose

    def _estimator(self) -> Estimator:
        if self.verbose:
            print("Estimating biases using", self.bsl_options.get("method", "als") + "...")
        return Bias(**baseline_words(self.bsl_options))

    def fit(self, trainset: Trainset) -> Any:
        super().fit(trainset)
        self.bu, self.bi = self._baselines = self._by_inner_id(self.model_)
        return self
