# SPDX-License-Identifier: Apache-2.0
"""What a prediction is."""
from __future__ import annotations

from typing import Any, NamedTuple


class PredictionImpossible(Exception):
    """What estimate() raises: the prediction is then default_prediction(), and details say so."""


class Prediction(NamedTuple):
    """A user, an item, the rating if there is one, its estimate, and details: was_impossible and more."""

    uid: Any
    iid: Any
    r_ui: float | None
    est: float
    details: dict[str, Any]

    def __str__(self) -> str:
        rating = "None" if self.r_ui is None else f"{self.r_ui:1.2f}"
        return f"user: {self.uid:<10} item: {self.iid:<10} r_ui = {rating}   est = {self.est:1.2f}   {self.details}"
