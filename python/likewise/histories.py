# SPDX-License-Identifier: Apache-2.0
"""What users like who were not trained, before their items are looked up."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from likewise.arguments import shown
from likewise.ids import Ids, is_one
from likewise.interactions import Interactions
from likewise.sparse import by_rows, checked, is_sparse

#: What somebody liked who was not trained: ids, or ids with values.
History = Mapping[Any, float] | Iterable[Any]


class Matrix(Protocol):
    """A SciPy sparse matrix or array."""

    def tocsr(self) -> Any: ...


#: Of several users.
Histories = Sequence[History] | Matrix
#: Sparse rows: offsets, columns, values.
Rows = tuple[Any, Any, Any]


def rows_of_matrix(matrix: Any, items: Ids) -> Rows:
    """Histories that are the rows of a SciPy matrix of users x items, whose columns are the model's items."""
    from likewise.utils import canonical, check_finite
    if not np.array_equal(np.asarray(items), np.arange(len(items))):
        raise TypeError("histories are a matrix, whose columns are items 0, 1, 2 and so on, and the model has other ids: give a "
                        "sequence of item ids, or a dict of values by item id, for each user")
    rows = by_rows(checked(matrix.reshape(1, -1) if matrix.ndim == 1 else matrix))
    if rows.shape[1] != len(items):
        raise ValueError(f"histories are a matrix of {rows.shape[1]} columns, and the model has {len(items)} items: give a column "
                         "for each item")
    check_finite(rows, "histories")
    merged = canonical(rows)
    return merged.indptr.astype(np.int64), merged.indices, merged.data


def refuse_tables(histories: Any) -> None:
    """TypeError for what is not one history after the other."""
    if isinstance(histories, Interactions):
        one = "dict(zip(rows.item, rows.value))" if histories.has_values else "list(rows.item)"
        raise TypeError("histories are a sequence with one history for each user, not Interactions: give "
                        f"[{one} for _, rows in histories.to_pandas().groupby(\"user\")]")
    if is_one(histories) or isinstance(histories, Mapping):
        raise TypeError("histories must be a sequence with one history for each user")


def unambiguous(history: History) -> History:
    """The history, of which a length is known; TypeError for what may mean other things than what somebody likes."""
    if is_one(history):
        raise TypeError(f"histories hold one history for each user, a sequence of item ids or a dict of values by "
                        f"item id, not {shown(history)}: one user's are [[{shown(history)}, ...]]")
    if is_sparse(history):
        raise TypeError("a history is a sequence of item ids or a dict of values by item id, not a matrix: give one matrix of "
                        "users x items in place of all histories")
    if _has_labels(history):
        raise TypeError("a history that is a Series with an index of its own may mean either: give series.to_dict() for "
                        "values by item id, series.to_list() for item ids")
    return history if hasattr(history, "__len__") else list(history)


def _has_labels(history: Any) -> bool:
    """Whether it is a Series of pandas whose index does not just count its rows."""
    index = getattr(history, "index", None)
    if index is None or callable(index):
        return False
    counts = isinstance(getattr(index, "start", None), int) and index.start == 0 and index.step == 1
    return not counts or index.name is not None
