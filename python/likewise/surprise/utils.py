# SPDX-License-Identifier: Apache-2.0
"""Random numbers."""
from __future__ import annotations

from typing import Any

import numpy as np


def get_rng(random_state: Any) -> Any:
    """A RandomState: NumPy's own for None, of a seed, or itself."""
    if random_state is None:
        return np.random.mtrand._rand
    if isinstance(random_state, np.random.RandomState):
        return random_state
    if isinstance(random_state, (int, np.integer)):
        return np.random.RandomState(random_state)
    raise ValueError(f"random_state must be None, a whole number or a RandomState, not {random_state!r}")
