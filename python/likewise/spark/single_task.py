# SPDX-License-Identifier: Apache-2.0
"""What tasks do for single.py: one learns a model and hands on its file; others answer from the file."""
from __future__ import annotations

import json
import os
import pathlib
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import SparkFiles

from likewise.spark import chunks

#: Bytes of a model's file that are one value.
PIECE = 1 << 22


def learn(values: Iterable[bytes], *, algorithm: str, params: dict[str, Any], schema: dict[str, str],
          duplicates: Any, columns: tuple[str, str, str], has_values: bool, threads: int) -> Iterator[bytes]:
    """The task: pieces of the file, each after a mark and its number, or a report of what is wrong."""
    import likewise
    from likewise.estimator import estimator_of
    from likewise.spark.coded import CodedRatings

    with tempfile.TemporaryDirectory(prefix="likewise-") as folder:
        path = os.path.join(folder, "model")
        try:
            coded = CodedRatings(chunks.read(values, schema), columns)
            parts = [np.concatenate(column) for column in zip(*coded.take())]
            # By user and item, so that numbers do not depend on the order of rows.
            order = np.lexsort((parts[2], parts[1], parts[0]))
            rows = {name: ids.take(chunks.column_of(part[order]))
                    for name, ids, part in zip(("user", "item"), (coded.users, coded.items), parts)}
            if has_values:
                rows["value"] = chunks.column_of(parts[2][order])
            data = likewise.Interactions(pa.table(rows), duplicates=duplicates, value="value" if has_values else None)
            estimator_of(algorithm)(**params, device="cpu", threads=threads).fit(data).model_.save(path)
        except (ValueError, TypeError, MemoryError, ArithmeticError, OSError) as error:
            yield b"R" + json.dumps({"error": type(error).__name__, "message": str(error) or type(error).__name__}).encode()
            return
        with open(path, "rb") as file:
            number = 0
            while piece := file.read(PIECE):
                yield b"M" + number.to_bytes(4, "big") + piece
                number += 1


_opened: dict[str, Any] = {}


def open_model(name: str) -> Any:
    """Made once in each Python worker."""
    if name not in _opened:
        from likewise.model import load_model
        _opened.clear()  # a worker that goes on to another model
        _opened[name] = load_model(pathlib.Path(SparkFiles.get(name)), device="cpu", threads=1)
    return _opened[name]


def predicted(name: str, users: Any, items: Any) -> Any:
    """A pandas Series of float32."""
    import pandas as pd

    model = open_model(name)
    places = [_places(ids, pa.Array.from_pandas(column)) for ids, column in ((model.users, users), (model.items, items))]
    result = np.full(len(users), np.nan, dtype=np.float32)
    known = (places[0] >= 0) & (places[1] >= 0)
    if known.any():
        result[known] = model._answers().predict(*(place[known] for place in places))
    return pd.Series(result)


def _places(ids: Any, column: Any) -> Any:
    """Numbers of ids; -1 for what the model has not, and for none."""
    there = chunks.numbers_of(pc.indices_nonzero(column.is_valid()))
    places = np.full(len(column), -1, dtype=np.int32)
    if len(there):
        known = column.drop_null()
        is_usual = pa.types.is_int32(known.type) or pa.types.is_int64(known.type)
        places[there] = ids.find(chunks.numbers_of(known) if is_usual else known.to_pylist())
    return places


def answer(batches: Iterable[pa.RecordBatch], *, name: str, side: str, count: int, similar: bool, seen: bool, every: int,
           kinds: tuple[str, str], names: tuple[str, str, str]) -> Iterator[pa.RecordBatch]:
    """Lists of the users or items of the batches; with every > 0 those of each task's share of all."""
    model = open_model(name)
    sides = {"user": model.users, "item": model.items}
    for batch in batches:
        if every:
            rows = np.concatenate([np.arange(first, len(sides[side]), every, dtype=np.int32)
                                   for first in chunks.numbers_of(batch.column(0))])
        else:
            rows = _places(sides[side], batch.column(0))
            rows = rows[rows >= 0]
        for first in range(0, len(rows), 4096):
            some = rows[first:first + 4096]
            if similar:
                found = model._answers().similar(f"{side}s", some, count)
            else:
                found = model._answers().recommend(some, count, include_seen=seen)
            indices, scores, counts = found
            there = np.arange(indices.shape[1]) < np.asarray(counts)[:, None]
            others = sides[side] if similar else sides["item"]
            entries = pa.StructArray.from_arrays([_ids(others, indices[there], kinds[1]), chunks.column_of(scores[there])],
                                                 names=list(names[1:]))
            offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
            yield pa.RecordBatch.from_arrays(
                [_ids(sides[side], some, kinds[0]), pa.ListArray.from_arrays(chunks.column_of(offsets), entries)],
                names=[names[0], "recommendations"])


def _ids(ids: Any, rows: Any, kind: str) -> pa.Array:
    found = ids.take(np.ascontiguousarray(rows, dtype=np.int32))
    return pa.array(found, pa.utf8()) if kind == "string" else chunks.column_of(found.astype("i4" if kind == "int" else "i8"))
