# SPDX-License-Identifier: Apache-2.0
"""The metrics of Model.evaluate(), by name. metrics.md has the formula of each."""
from __future__ import annotations

from typing import Any, Callable

from likewise import _core
from likewise.arguments import call


def names() -> list[str]:
    """What evaluate() measures: "precision", "ndcg", "rmse" ..."""
    return _core.metric_names()


def higher_is_better(metric: str) -> bool:
    """False for rmse, mae and popularity. Takes "ndcg" and "ndcg@10" alike; ValueError for others."""
    return call(_core.higher_is_better, metric)


def scorer(metric: str) -> Callable[..., float]:
    """score() by a metric, for `scoring=` of scikit-learn: scorer("ndcg@20"), scorer("rmse"). Larger is
    better: of an error it is the negative."""
    higher_is_better(metric)
    return _Scorer(metric)


class _Scorer:
    """Can be pickled."""

    def __init__(self, metric: str):
        self.metric = metric

    def __call__(self, estimator: Any, X: Any, y: None = None) -> float:
        return float(estimator.score(X, metric=self.metric))

    def __repr__(self) -> str:
        return f"likewise.metrics.scorer({self.metric!r})"
