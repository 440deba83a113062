# SPDX-License-Identifier: Apache-2.0
"""`implicit.gpu.als`: the class that trains on a GPU."""
from __future__ import annotations

from typing import Any

import numpy as np

from likewise import als


class AlternatingLeastSquares(als.AlternatingLeastSquares):
    """likewise.als.AlternatingLeastSquares with use_gpu=True and the arguments and defaults of this path.

    The factors are NumPy arrays, as everywhere.
    """

    def __init__(self, factors: int = 64, regularization: float = 0.01, alpha: float = 1.0,
                 dtype: Any = np.float32, iterations: int = 15, calculate_training_loss: bool = False,
                 random_state: Any = None):
        super().__init__(factors=factors, regularization=regularization, alpha=alpha, dtype=dtype,
                         use_gpu=True, iterations=iterations,
                         calculate_training_loss=calculate_training_loss, random_state=random_state)
