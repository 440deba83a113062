# SPDX-License-Identifier: Apache-2.0
"""Features of items and users as the extension reads them."""
from __future__ import annotations

import csv
import io
import math
import numbers
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from likewise import _core
from likewise.arguments import call, shown
from likewise.columns import collected, known_columns, refuse_twins
from likewise.interactions import Interactions
from likewise.progress import logger


class Features:
    """What is known of items and users beside interactions, read before anything is trained."""

    def __init__(self, items: Any, users: Any, regularization: float | None, earlier: _core.Model | None = None):
        #: As the extension takes them: users, items, regularization.
        self.tables = (_read(users, "users", "user_features", earlier),
                       _read(items, "items", "item_features", earlier), regularization)
        for table in filter(None, self.tables[:2]):
            for column in table.unknown_columns:
                warnings.warn(f"the model had no feature {column!r}: it is learned as a new one", stacklevel=3)
        if regularization is not None and not self:
            raise ValueError("feature_regularization would do nothing here: it needs item_features or user_features")

    def __bool__(self) -> bool:
        return any(table is not None for table in self.tables[:2])

    def check(self, params: dict[str, Any], interactions: Interactions) -> None:
        """Before a training by these parameters."""
        if self:
            call(_core.require_features, params)
            call(_core.check_features, interactions._core, self.tables)

    def add_to(self, model: _core.Model, threads: int) -> None:
        """To a model that nobody has yet."""
        if self:
            self.log(call(_core.add_features, model, self.tables, threads))

    def log(self, learned: Mapping[str, Any]) -> None:
        for side, table in zip(("users", "items"), self.tables[:2]):
            if table is not None:
                logger.debug("features of %s: %s; %s", side, table.format, learned[side])


def visitors(features: Any, model: _core.Model) -> _core.FeatureTable:
    """Users who were not trained: what _read() takes, or a sequence of dicts of columns."""
    if isinstance(features, Sequence) and not isinstance(features, (str, bytes)):
        if not features:
            raise ValueError("features has no visitors")
        names = list(dict.fromkeys(name for one in features for name in _of_one(one)))
        return _by_place(names, ([one.get(name) for name in names] for one in features), model)
    if isinstance(features, Mapping) and any(isinstance(one, numbers.Real) for one in features.values()):
        raise TypeError(f"features of one visitor are a dict of columns in a list, [{shown(dict(features))}]; a dict alone has "
                        "lists of tags by id")
    if hasattr(features, "columns"):
        columns = _columns(features, "features")
        known = _ids_of_users(list(columns))
        if known is None:
            return _by_place(list(columns), zip(*columns.values()), model)
        return _of_columns({known: columns.pop(known)} | columns, "users", "features", model)
    table = _read(features, "users", "features", model)
    if table is None:
        raise TypeError("features must be a file's path, dicts of columns, a dict of tags by id or a frame, not None")
    return table


def _ids_of_users(columns: list[str]) -> str | None:
    """The first of them that is known by its name to hold ids of users."""
    plain = [name for name in columns if name.strip().lower() == "id"]
    return next(iter(plain + [columns[place] for place in known_columns(columns)[0]]), None)


def _by_place(names: list[str], rows: Iterable[Iterable[Any]], model: _core.Model) -> _core.FeatureTable:
    """Visitors whose ids are their places."""
    if not names:
        raise ValueError("features of visitors have no columns: give each of them at least one, as [{\"age\": 31}]")
    header = ["visitor", *names]
    text = _text(header, ([place, *row] for place, row in enumerate(rows)), "features")
    return call(_core.read_features, None, text, "users", header, model)


def _of_one(visitor: Any) -> Mapping[str, Any]:
    if not isinstance(visitor, Mapping):
        raise TypeError(f"features of visitors are dicts of columns, not {shown(visitor)}")
    return visitor


def _read(features: Any, side: str, name: str, earlier: _core.Model | None = None) -> _core.FeatureTable | None:
    """A file's path, a dict of tags by id, or a frame: its first column (or one with a well-known name) is
    the id, the others have categories, numbers or lists of tags. `earlier`: whose tags they are to join."""
    if features is None:
        return None
    if isinstance(features, (str, bytes, os.PathLike)):
        return call(_core.read_features, features, "", side, [], earlier)
    if isinstance(features, Mapping) and not hasattr(features, "to_dict"):
        of_columns = next((key for key, tags in features.items() if isinstance(tags, Mapping)), None)
        if of_columns is not None:
            raise TypeError(f"{name}: {shown(of_columns)} has a dict, and a dict of tags by id has lists of tags; give columns as a "
                            "frame")
        rows: Iterable[Any] = ([key, tags] for key, tags in features.items())
        return call(_core.read_features, None, _text(["id", "tag"], rows, name), side, ["id", "tag"], earlier)
    return _of_columns(_columns(features, name), side, name, earlier)


def _of_columns(columns: dict[str, list[Any]], side: str, name: str, earlier: _core.Model | None) -> _core.FeatureTable:
    return call(_core.read_features, None, _text(list(columns), zip(*columns.values()), name), side, [], earlier)


def _columns(frame: Any, name: str) -> dict[str, list[Any]]:
    frame = collected(frame)
    known = [str(column) for column in getattr(frame, "column_names", getattr(frame, "columns", ()))]
    refuse_twins(known, f"{name}: the frame")
    if hasattr(frame, "to_pydict"):  # pyarrow
        return dict(frame.to_pydict())
    if hasattr(frame, "columns") and hasattr(frame, "__getitem__"):  # pandas, polars
        return {text: list(frame[column]) for text, column in zip(known, frame.columns)}
    raise TypeError(f"{name} must be a file's path, a dict of tags by id or a frame, not {shown(frame)}")


def _text(header: list[str], rows: Iterable[Any], name: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(header)
    for row in rows:
        writer.writerow([_cell(value, name) for value in row])
    return out.getvalue()


def _cell(value: Any, name: str) -> str:
    if _is_missing(value):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value == int(value) else str(value)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)):
        tags = [_cell(tag, name) for tag in value]
        for tag in tags:
            if "|" in tag:
                raise ValueError(f"{name}: the tag {tag!r} holds a |, which separates tags")
        return "|".join(tags)
    return str(value)


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT, pandas.NA."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA, which is no truth; arrays, which have several
        return type(value).__name__ == "NAType"
