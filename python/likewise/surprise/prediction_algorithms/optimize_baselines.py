# SPDX-License-Identifier: Apache-2.0
"""Biases by Surprise's definitions, in double precision: of all ratings, in the order of the trainset."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from likewise.surprise.prediction_algorithms.words import Table

if TYPE_CHECKING:
    from likewise.surprise.prediction_algorithms.algo_base import AlgoBase


def baseline_als(self: AlgoBase) -> tuple[Table, Table]:
    """Biases of users and of items by alternating least squares."""
    options, trainset = self.bsl_options, self.trainset
    users, items, ratings = trainset._columns
    above = ratings - trainset.global_mean
    bu, bi = np.zeros(trainset.n_users), np.zeros(trainset.n_items)
    of_users = np.bincount(users, minlength=len(bu)) + options.get("reg_u", 15)
    of_items = np.bincount(items, minlength=len(bi)) + options.get("reg_i", 10)
    for _ in range(options.get("n_epochs", 10)):
        bi = np.bincount(items, above - bu[users], len(bi)) / of_items
        bu = np.bincount(users, above - bi[items], len(bu)) / of_users
    return bu, bi


def baseline_sgd(self: AlgoBase) -> tuple[Table, Table]:
    """Biases of users and of items by stochastic gradient descent. A step follows from those before it, so that their
    order counts: no step waits for NumPy, which is slower for one number."""
    options, trainset = self.bsl_options, self.trainset
    rate, weight, mean = options.get("learning_rate", 0.005), options.get("reg", 0.02), trainset.global_mean
    bu, bi = [0.0] * trainset.n_users, [0.0] * trainset.n_items
    ratings = list(trainset.all_ratings())
    for _ in range(options.get("n_epochs", 20)):
        for u, i, r in ratings:
            error = r - (mean + bu[u] + bi[i])
            bu[u] += rate * (error - weight * bu[u])
            bi[i] += rate * (error - weight * bi[i])
    return np.array(bu), np.array(bi)
