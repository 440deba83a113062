# SPDX-License-Identifier: Apache-2.0
"""Similarities by Surprise's definitions, in double precision: of n_x users (or items) by their common ratings.

yr           {y: [(x, rating)]}: the ratings of each item (or user)
min_support  fewer common ratings make a similarity of 0

Algorithms take those of the engine, except where the engine's data cannot hold what Surprise trains on.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

Table = npt.NDArray[np.float64]
Ratings = Mapping[int, Sequence[tuple[int, float]]]


class _Common(NamedTuple):
    """Sums over the common ratings of x and x'. A pair that is rated twice counts as two ratings, each with each."""

    counts: Table
    products: Table
    squares: Table  # of x; those of x' are its transpose
    sums: Table  # of x


def cosine(n_x: int, yr: Ratings, min_support: int) -> Table:
    """sum r r' / sqrt(sum r^2 sum r'^2)"""
    common = _common(n_x, yr)
    return _similar(common, min_support, common.products, np.sqrt(common.squares * common.squares.T))


def msd(n_x: int, yr: Ratings, min_support: int) -> Table:
    """1 / (1 + the mean of (r - r')^2)"""
    common = _common(n_x, yr)
    differences = np.maximum(common.squares + common.squares.T - 2 * common.products, 0)
    return _similar(common, min_support, common.counts, differences + common.counts)


def pearson(n_x: int, yr: Ratings, min_support: int) -> Table:
    """The correlation of r and r'."""
    common = _common(n_x, yr)
    spread = common.counts * common.squares - common.sums**2
    return _similar(common, min_support, common.counts * common.products - common.sums * common.sums.T,
                    np.sqrt(np.maximum(spread * spread.T, 0)))


def pearson_baseline(n_x: int, yr: Ratings, min_support: int, global_mean: float, x_biases: Any, y_biases: Any,
                     shrinkage: float = 100) -> Table:
    """The correlation about baselines, times (n - 1) / (n - 1 + shrinkage) for n common ratings."""
    x_biases = np.asarray(x_biases)
    common = _common(n_x, yr, lambda x, y, r: r - (global_mean + y_biases[y] + x_biases[x]))
    found = _similar(common, max(2, min_support), common.products, np.sqrt(common.squares * common.squares.T))
    fewer = np.maximum(common.counts - 1, 0)
    found *= np.divide(fewer, fewer + shrinkage, out=np.zeros_like(fewer), where=fewer > 0)
    np.fill_diagonal(found, 1)
    return found


def _common(n_x: int, yr: Ratings, changed: Any = lambda x, y, r: r) -> _Common:
    rows = [(x, y, rating) for y, rated in yr.items() for x, rating in rated]
    x, y = (np.array([row[place] for row in rows], dtype=np.int64) for place in (0, 1))
    r = changed(x, y, np.array([row[2] for row in rows], dtype=np.float64))
    shape = (n_x, int(y.max(initial=-1)) + 1)
    of_ones, of_ratings, of_squares = (sparse.csr_matrix((values, (x, y)), shape) for values in (np.ones(len(x)), r, r * r))
    return _Common(*((one @ other.T).toarray() for one, other in ((of_ones, of_ones), (of_ratings, of_ratings), (of_squares, of_ones),
                                                      (of_ratings, of_ones))))


def _similar(common: _Common, min_support: int, above: Table, below: Table) -> Table:
    counted = (common.counts >= max(min_support, 1)) & (below > 0)
    found: Table = np.divide(above, below, out=np.zeros(below.shape), where=counted)
    np.fill_diagonal(found, 1)
    return found
