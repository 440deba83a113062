# SPDX-License-Identifier: Apache-2.0
"""`CrossValidation`: what metrics are over several folds."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from likewise.display import grid

if TYPE_CHECKING:
    import pandas


@dataclasses.dataclass(frozen=True)
class Fold:
    """One of the trainings and what it came to."""

    algorithm: str  #: Auto may choose another one for each fold
    trained: int  #: interactions of the training part
    tested: int  #: and of the test part
    users_evaluated: int
    users_not_ranked: int  #: without a history in the training part, of which lists say nothing
    pairs_evaluated: int
    seconds: float  #: of training and evaluation
    metrics: dict[str, float]


class CrossValidation(dict[str, float]):
    """Means over the folds by metric, as found["ndcg@10"].

    deviations  of a sample, sqrt(sum (x - mean)^2 / (folds - 1)), by metric
    folds       each of them
    """

    def __init__(self, metrics: dict[str, tuple[float, float, float, float]], folds: list[Fold]):
        super().__init__({name: mean for name, (mean, *_) in metrics.items()})
        self.deviations = {name: deviation for name, (_, deviation, *_) in metrics.items()}
        self.folds = folds

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each fold, a column for each metric."""
        import pandas
        return pandas.DataFrame([fold.metrics for fold in self.folds],
                                index=pandas.RangeIndex(1, len(self.folds) + 1, name="fold"))

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {mean:.4f} ± {self.deviations[name]:.4f}" for name, mean in self.items())
        left_out = sum(fold.users_not_ranked for fold in self.folds)
        users = left_out + sum(fold.users_evaluated for fold in self.folds)
        return f"<{len(self.folds)} folds: {told}" + (
            f"; {left_out:,} of {users:,} users have no history: not ranked>" if left_out else ">")

    def _repr_html_(self) -> str:
        return grid(["metric", "mean", "deviation"],
                    [[name, f"{mean:.4f}", f"{self.deviations[name]:.4f}"] for name, mean in self.items()])


def made(metrics: Any, folds: Any) -> CrossValidation:
    """Of what the extension gives."""
    return CrossValidation(metrics, [Fold(**fold) for fold in folds])
