# SPDX-License-Identifier: Apache-2.0
"""`implicit.gpu.bpr`: the class that trains on a GPU."""
from __future__ import annotations

from typing import Any

import numpy as np

from likewise import bpr


class BayesianPersonalizedRanking(bpr.BayesianPersonalizedRanking):
    """likewise.bpr.BayesianPersonalizedRanking with use_gpu=True and the arguments of this path.

    The factors are NumPy arrays, as everywhere.
    """

    def __init__(self, factors: int = 100, learning_rate: float = 0.01, regularization: float = 0.01,
                 dtype: Any = np.float32, iterations: int = 100, verify_negative_samples: bool = True,
                 random_state: Any = None):
        super().__init__(factors=factors, learning_rate=learning_rate, regularization=regularization,
                         dtype=dtype, iterations=iterations, use_gpu=True,
                         verify_negative_samples=verify_negative_samples, random_state=random_state)
