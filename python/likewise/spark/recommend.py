# SPDX-License-Identifier: Apache-2.0
"""Lists: the nearest rows of a table, for the rows of a DataFrame, in ordinary stages."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from likewise.spark.chunks import column_of, numbers_of
from likewise.spark.tables import Table, features_of, open_table


@dataclasses.dataclass(frozen=True)
class Search:
    """What a task does with each of its rows (id, features, and ids to leave out where there are any)."""

    table: Table
    count: int
    metric: str
    device: str
    itself: bool  # whether a row may be its own answer
    query: str
    answer: str
    rating: str


def lists(queries: DataFrame, search: Search, answer_type: T.DataType) -> DataFrame:
    """(query, recommendations): the best first, as array<struct<answer, rating>>; ties go to the smaller id."""
    entry = T.StructType([T.StructField(search.answer, answer_type), T.StructField(search.rating, T.FloatType())])
    schema = T.StructType([T.StructField(search.query, queries.schema["id"].dataType, False),
                           T.StructField("recommendations", T.ArrayType(entry))])
    return queries.mapInArrow(_task(search), schema)


def with_seen(queries: DataFrame, seen: DataFrame, tasks: int) -> DataFrame:
    """The queries with the ids that each has in `seen` (query, answer); none where it has none."""
    taken = seen.where(F.col("answer").isNotNull()).repartition(tasks, "query").groupBy("query").agg(
        F.collect_set("answer").alias("seen"))
    joined = queries.repartition(tasks, "id").join(taken, F.col("id") == F.col("query"), "left")
    return joined.select("id", "features", "seen")


def _task(search: Search) -> Any:
    told = dataclasses.asdict(search)

    def run(batches: Any) -> Any:
        from likewise.spark import recommend, tables, workers
        table = tables.Table(**told["table"])
        yield from workers.lean(recommend.answer(recommend.Search(**{**told, "table": table}), batches))

    return run


def answer(search: Search, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    table, ids = open_table(search.table, search.metric, search.device)
    for batch in batches:
        if not batch.num_rows:
            continue
        queries = features_of(batch.column(1), search.table.factors)
        excluded = _excluded(batch, search, ids)
        found, scores, counts = table.top_k(queries, search.count, excluded=excluded, threads=1)
        yield _lists(batch.column(0), found, scores, counts, search, ids)


def _excluded(batch: pa.RecordBatch, search: Search, ids: pa.Array) -> Any:
    """(indptr, indices) of what each row's answers leave out, rising and without repetition; None: nothing."""
    rows: list[Any] = []
    places: list[Any] = []
    if batch.num_columns > 2:
        seen = batch.column(2)
        lengths = np.diff(numbers_of(seen.offsets))
        rows.append(np.repeat(np.arange(len(seen)), lengths))
        places.append(_places(seen.flatten(), ids))
    if not search.itself:
        rows.append(np.arange(batch.num_rows))
        places.append(_places(batch.column(0), ids))
    if not rows:
        return None
    cells = np.concatenate(rows).astype(np.int64) * (len(ids) + 1) + np.concatenate(places)
    cells = np.unique(cells[cells % (len(ids) + 1) < len(ids)])
    owners, indices = np.divmod(cells, len(ids) + 1)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=batch.num_rows))])
    return indptr.astype(np.int64), indices.astype(np.int32)


def _places(wanted: pa.Array, ids: pa.Array) -> Any:
    """Places among the ids; their number for one that is not there."""
    found = pc.index_in(wanted.cast(ids.type), value_set=ids)
    return numbers_of(found, gaps=len(ids)).astype(np.int64)


def _lists(queries: pa.Array, found: Any, scores: Any, counts: Any, search: Search, ids: pa.Array) -> pa.RecordBatch:
    there = np.arange(found.shape[1]) < np.asarray(counts)[:, None]
    answers = ids.take(column_of(found[there]))
    entries = pa.StructArray.from_arrays([answers, column_of(scores[there])], names=[search.answer, search.rating])
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.RecordBatch.from_arrays([queries, pa.ListArray.from_arrays(column_of(offsets), entries)],
                                      names=[search.query, "recommendations"])
