# SPDX-License-Identifier: Apache-2.0
"""`Splitter`: the splits of likewise for scikit-learn's cross-validations and searches."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from likewise.arguments import by_names
from likewise.columns import pairs_of
from likewise.interactions import Interactions, Method, Moment, as_interactions, split

Places = npt.NDArray[np.int64]


@by_names
class Splitter:
    """split() as scikit-learn takes it, `cv=Splitter("per-user", test=0.2)`: in cross_validate, GridSearchCV,
    HalvingRandomSearchCV and whatever else has a `cv`. Data are Interactions, or a pandas, polars or Arrow
    frame with columns of well-known names.

    "kfold" gives `folds` parts, `rolling` as many, the others one. Arguments: split().
    """

    def __init__(self, method: Method | Literal["kfold"] = "kfold", *, test: float | None = None,
                 rows: int | None = None, last: int | None = None, folds: int | None = None,
                 at: Moment | None = None, rolling: int = 0, seed: int | None = None):
        self.method = method
        self.test = test
        self.rows = rows
        self.last = last
        self.folds = folds
        self.at = at
        self.rolling = rolling
        self.seed = seed

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many splits there are; the arguments are those that scikit-learn passes."""
        if self.method == "kfold":
            return 5 if self.folds is None else self.folds
        return max(1, self.rolling)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Places, Places]]:
        """Places of the rows of each training and test part."""
        if not isinstance(X, Interactions) and not hasattr(X, "columns"):
            raise TypeError(f"X: rows are those of Interactions or of a frame, not of {type(X).__name__}: give likewise.Interactions(X)")
        data = as_interactions(X, "X")
        parts: Any = split(data, **vars(self))
        rows = _keys(data) if isinstance(X, Interactions) else _keys_of_frame(X, data)
        for train, test in parts if isinstance(parts, list) else [parts]:
            yield _places(rows, _keys(train)), _places(rows, _keys(test))

    def __repr__(self) -> str:
        return f"Splitter({', '.join(f'{name}={value!r}' for name, value in vars(self).items() if value is not None)})"


def _keys(data: Interactions) -> Places:
    """A number for the pair of each row. They rise."""
    matrix = data.to_csr(copy=False)
    users = np.repeat(np.arange(data.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return users * data.shape[1] + matrix.indices  # type: ignore[no-any-return]


def _keys_of_frame(frame: Any, data: Interactions) -> Places:
    users, items = pairs_of(frame)
    return data.users.find(users).astype(np.int64) * data.shape[1] + data.items.find(items)


def _places(rows: Places, part: Places) -> Places:
    return np.flatnonzero(np.isin(rows, part))
