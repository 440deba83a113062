# SPDX-License-Identifier: Apache-2.0
"""The metrics of Model.evaluate(), by name. metrics.md has the formula of each."""
from __future__ import annotations

from likewise import _core
from likewise.arguments import call


def names() -> list[str]:
    """What evaluate() measures: "precision", "ndcg", "rmse" ..."""
    return _core.metric_names()


def higher_is_better(metric: str) -> bool:
    """False for rmse, mae and popularity. Takes "ndcg" and "ndcg@10" alike; ValueError for others."""
    return call(_core.higher_is_better, metric)
