# SPDX-License-Identifier: Apache-2.0
"""Factors."""
from __future__ import annotations

from typing import Any

import numpy as np

from likewise.estimator import Estimator
from likewise.estimators import Als, Sgd
from likewise.surprise.prediction_algorithms.absent import Absent
from likewise.surprise.prediction_algorithms.trained import Trained
from likewise.surprise.prediction_algorithms.words import seed_of


class SVD(Trained):
    """Factors and biases by stochastic gradient descent, as Surprise's: the same objective, steps and spread of the
    first factors; likewise goes through the ratings in another order, the same for any number of threads."""

    def __init__(self, n_factors: int = 100, n_epochs: int = 20, biased: bool = True, init_mean: float = 0,
                 init_std_dev: float = 0.1, lr_all: float = 0.005, reg_all: float = 0.02, lr_bu: float | None = None,
                 lr_bi: float | None = None, lr_pu: float | None = None, lr_qi: float | None = None,
                 reg_bu: float | None = None, reg_bi: float | None = None, reg_pu: float | None = None,
                 reg_qi: float | None = None, random_state: Any = None, verbose: bool = False):
        super().__init__()
        self.n_factors, self.n_epochs = n_factors, n_epochs
        self.init_std_dev, self.random_state, self.verbose = init_std_dev, random_state, verbose
        if not biased:
            raise ValueError("biased=False: factors of likewise are learned about the mean and biases; leave it out")
        if init_mean != 0:
            raise ValueError(f"init_mean is {init_mean}: the first factors of likewise have the mean 0")
        rates = {name: lr_all if rate is None else rate
                 for name, rate in (("lr_bu", lr_bu), ("lr_bi", lr_bi), ("lr_pu", lr_pu), ("lr_qi", lr_qi))}
        if len(set(rates.values())) > 1:
            raise ValueError(f"learning rates differ, {rates}: likewise has one, lr_all")
        self.biased, self.init_mean, self.lr_all = biased, init_mean, rates["lr_pu"]
        self.lr_bu = self.lr_bi = self.lr_pu = self.lr_qi = self.lr_all
        weights = [[reg_all if one is None else one for one in pair] for pair in ((reg_bu, reg_bi), (reg_pu, reg_qi))]
        for names, pair in zip(("reg_bu and reg_bi", "reg_pu and reg_qi"), weights):
            if pair[0] != pair[1]:
                raise ValueError(f"{names} differ, {pair[0]} and {pair[1]}: likewise has one for both")
        self.reg_bu = self.reg_bi = weights[0][0]
        self.reg_pu = self.reg_qi = weights[1][0]

    def _estimator(self) -> Estimator:
        # Our rate and first spread are relative to the spread of the ratings: math.md.
        spread = float(np.std([rating for _, _, rating in self.trainset.all_ratings()])) or 1.0
        return Sgd(factors=self.n_factors, iterations=self.n_epochs, schedule="constant",
                   learning_rate=self.lr_all * spread, regularization=float(self.reg_pu), regularization_exponent=1.0,
                   init_stddev=self.init_std_dev * float(np.sqrt(self.n_factors / spread)), seed=seed_of(self.random_state),
                   bias_regularization=float(self.reg_bu))

    def _learn(self) -> None:
        self.bu, self.bi = self._by_inner_id(self.model_)
        self.pu, self.qi = self._factors(self.model_)


class NMF(Trained):
    """Factors of 0 and more that minimise what Surprise's do, a rating's squared error and reg_pu and reg_qi for each
    rating, by nonnegative alternating least squares: it takes fewer epochs to get there, and goes on where Surprise's
    steps have not arrived."""

    def __init__(self, n_factors: int = 15, n_epochs: int = 50, biased: bool = False, reg_pu: float = 0.06,
                 reg_qi: float = 0.06, reg_bu: float = 0.02, reg_bi: float = 0.02, lr_bu: float = 0.005,
                 lr_bi: float = 0.005, init_low: float = 0, init_high: float = 1, random_state: Any = None,
                 verbose: bool = False):
        super().__init__()
        self.n_factors, self.n_epochs, self.biased = n_factors, n_epochs, biased
        self.random_state, self.verbose = random_state, verbose
        if (init_low, init_high) != (0, 1):
            raise ValueError(f"init_low and init_high are {init_low} and {init_high}: the first factors of likewise are "
                             "sizes of normal numbers; leave them out")
        if (lr_bu, lr_bi) != (0.005, 0.005):
            raise ValueError(f"lr_bu and lr_bi are {lr_bu} and {lr_bi}: least squares has no learning rates; leave them out")
        weights = {"reg_pu": reg_pu, "reg_qi": reg_qi, **({"reg_bu": reg_bu, "reg_bi": reg_bi} if biased else {})}
        if len(set(weights.values())) > 1:
            raise ValueError(f"weights differ, {weights}: likewise has one for all of them")
        self.reg_pu, self.reg_qi, self.reg_bu, self.reg_bi = reg_pu, reg_qi, reg_bu, reg_bi
        self.lr_bu, self.lr_bi, self.init_low, self.init_high = lr_bu, lr_bi, init_low, init_high

    def _estimator(self) -> Estimator:
        return Als(feedback="explicit", factors=self.n_factors, iterations=self.n_epochs, biases=self.biased,
                   regularization=float(self.reg_pu), regularization_exponent=1.0, nonnegative=True, init_stddev=1.0,
                   seed=seed_of(self.random_state))

    def _refusals(self, users: Any, items: Any) -> list[str | dict[str, Any]]:
        unknown = (np.asarray(users) < 0) | (np.asarray(items) < 0)
        return ["User and item are unknown." if one and not self.biased else {} for one in unknown]

    def _learn(self) -> None:
        self.bu, self.bi = self._by_inner_id(self.model_)
        self.pu, self.qi = self._factors(self.model_)


class SVDpp(Absent):
    """Not there: SVD with what a user has rated as implicit feedback."""

    instead = "SVD learns factors and biases; likewise.Als(feedback=\"explicit\") does by least squares"
