# SPDX-License-Identifier: Apache-2.0
"""Errors of lists of predictions, as Surprise measures them. Of (user, item, rating, estimate, details)."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def rmse(predictions: Sequence[Any], verbose: bool = True) -> float:
    """The root of the mean squared error."""
    return _told("RMSE: ", float(np.sqrt(np.mean(_errors(predictions)**2))), verbose)


def mse(predictions: Sequence[Any], verbose: bool = True) -> float:
    """The mean squared error."""
    return _told("MSE: ", float(np.mean(_errors(predictions)**2)), verbose)


def mae(predictions: Sequence[Any], verbose: bool = True) -> float:
    """The mean absolute error."""
    return _told("MAE:  ", float(np.mean(np.abs(_errors(predictions)))), verbose)


def fcp(predictions: Sequence[Any], verbose: bool = True) -> float:
    """The share of concordant pairs (Koren and Sill 2013): of two items of a user, how often the one with the higher
    rating has the higher estimate; means over users with such a pair, of those that are concordant and those that
    are not."""
    _errors(predictions)
    by_user = defaultdict(list)
    for user, _, rating, estimate, _ in predictions:
        by_user[user].append((rating, estimate))
    right, wrong = [], []
    for pairs in by_user.values():
        ratings, estimates = np.array(pairs, dtype=np.float64).T
        higher = ratings[:, None] > ratings[None, :]
        above = estimates[:, None] > estimates[None, :]
        right.append(int((higher & above).sum()))
        wrong.append(int((higher & ~above).sum()))
    means = [np.mean([count for count in counts if count] or [0]) for counts in (right, wrong)]
    if not sum(means):
        raise ValueError("no user has two predictions with different ratings: nothing can be concordant")
    return _told("FCP:  ", float(means[0] / sum(means)), verbose)


def _errors(predictions: Sequence[Any]) -> npt.NDArray[np.float64]:
    if not predictions:
        raise ValueError("the list of predictions is empty")
    return np.array([rating - estimate for _, _, rating, estimate, _ in predictions], dtype=np.float64)


def _told(name: str, value: float, verbose: bool) -> float:
    if verbose:
        print(f"{name}{value:1.4f}")
    return value
