# SPDX-License-Identifier: Apache-2.0
"""Features of items and users as the extension reads them."""
from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

from likewise import _core
from likewise.arguments import call, shown
from likewise.progress import logger


class Features:
    """What is known of items and users beside interactions, read before anything is trained."""

    def __init__(self, items: Any, users: Any, regularization: float | None):
        self._tables = [(side, table) for side, table in (("users", _read(users, "users", "user_features")),
                                                          ("items", _read(items, "items", "item_features")))
                        if table is not None]
        if regularization is not None and not self._tables:
            raise ValueError("feature_regularization would do nothing here: it needs item_features or user_features")
        self._regularization = regularization

    def __bool__(self) -> bool:
        return bool(self._tables)

    def add_to(self, model: _core.Model, threads: int) -> None:
        """To a model that nobody has yet."""
        for side, table in self._tables:
            told = call(_core.add_features, model, table, side, self._regularization, threads)
            logger.debug("features of %s: %s; %s", side, table.format, told)


def _read(features: Any, side: str, name: str) -> _core.FeatureTable | None:
    """A file's path, a dict of tags by id, or a frame: its first column (or one with a well-known name) is
    the id, the others have categories, numbers or lists of tags."""
    if features is None:
        return None
    if isinstance(features, (str, bytes, os.PathLike)):
        return call(_core.read_features, features, "", side, [])
    if isinstance(features, Mapping) and not hasattr(features, "to_dict"):
        rows: Iterable[Any] = ([key, tags] for key, tags in features.items())
        return call(_core.read_features, None, _text(["id", "tag"], rows, name), side, ["id", "tag"])
    columns = _columns(features, name)
    return call(_core.read_features, None, _text(list(columns), zip(*columns.values()), name), side, [])


def _columns(frame: Any, name: str) -> dict[str, list[Any]]:
    if hasattr(frame, "to_pydict"):  # pyarrow
        return dict(frame.to_pydict())
    if hasattr(frame, "columns") and hasattr(frame, "__getitem__"):  # pandas, polars
        known = [str(column) for column in frame.columns]
        return {text: list(frame[column]) for text, column in zip(known, frame.columns)}
    raise TypeError(f"{name} must be a file's path, a dict of tags by id or a frame, not {shown(frame)}")


def _text(header: list[str], rows: Iterable[Any], name: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
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
