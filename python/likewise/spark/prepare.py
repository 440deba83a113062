# SPDX-License-Identifier: Apache-2.0
"""Ratings made ready for ranks, by Spark SQL: ids of any kind become numbers 0, 1, 2, ..., the same in every run.

One pass over the dataset makes chunks of it (chunks.py) and counts each task's ids. Ids are put into buckets by a
hash, and numbered within a bucket in their order: no global sort, and no dependence on how the data lie. A rank has the
rows of neighbouring buckets, cut so that ranks have about as many ratings.
"""
from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from likewise.spark import chunks
from likewise.spark.checks import require_column

#: Enough that buckets are small beside a rank's part, few enough that their sizes fit into an expression.
BUCKETS = 1024
#: Tables of ids up to this many rows go to all executors, in place of the ratings over the network.
BROADCAST_ROWS = 2_000_000
#: Rows of a side (likewise::Index).
MOST_ROWS = 2**31 - 1
#: What a row costs beside its ratings, in ratings, about.
ROW_COST = 4


@dataclasses.dataclass(frozen=True)
class Side:
    """Users or items: `ids` has (id, idx), of what is kept until release(); `firsts` the first idx of each bucket, then
    the number of all."""

    column: str
    ids: DataFrame
    kept: DataFrame
    firsts: npt.NDArray[np.int64]
    costs: npt.NDArray[np.int64]
    ratings: int

    def release(self) -> None:
        self.kept.unpersist()

    @property
    def rows(self) -> int:
        return int(self.firsts[-1])

    def parts(self, ranks: int) -> list[int]:
        """The first idx of each rank, then the number of all: whole buckets of about the same cost."""
        sums = np.concatenate([[0], np.cumsum(self.costs)])
        goals = sums[-1] * np.arange(ranks + 1) / ranks
        cuts = np.searchsorted(sums, goals)
        nearer = (cuts > 0) & (goals - sums[np.maximum(cuts - 1, 0)] < sums[cuts] - goals)
        cuts = np.maximum.accumulate(np.where(nearer, cuts - 1, cuts))
        cuts[0], cuts[-1] = 0, len(sums) - 1
        return [int(first) for first in self.firsts[cuts]]


def id_column(dataset: DataFrame, name: str) -> Column:
    """A column as ids: integers and text as they are, whole numbers of other kinds as int. TypeError for others."""
    kind = dataset.schema[name].dataType
    column = F.col(f"`{name}`")
    if isinstance(kind, (T.ByteType, T.ShortType)):
        return column.cast("int")
    if isinstance(kind, (T.FloatType, T.DoubleType, T.DecimalType)):
        whole = column.cast("int")
        return F.when(whole == column, whole)  # null for what is none
    if isinstance(kind, (T.IntegerType, T.LongType, T.StringType)):
        return column
    raise TypeError(f"column {name!r} holds {kind.simpleString()}: ids are numbers without a fraction, or text")


def ratings_of(dataset: DataFrame, user: str, item: str, rating: str) -> DataFrame:
    """(user, item, v float). ValueError or TypeError for columns that are not there, or hold something else."""
    if rating:
        require_column(dataset, rating, "ratingCol")
        kind: Any = dataset.schema[rating].dataType
        if not isinstance(kind, T.NumericType):
            raise TypeError(f"ratingCol {rating!r} holds {kind.simpleString()}, not numbers")
    value = F.col(f"`{rating}`") if rating else F.lit(1.0)
    return dataset.select(id_column(dataset, user).alias("user"), id_column(dataset, item).alias("item"),
                          value.cast("float").alias("v"))


def gathered(ratings: DataFrame) -> DataFrame:
    """(what, cells, user, item, n): the ratings in chunks, and the ids with their counts, of each task."""
    kinds = ", ".join(f"{name} {ratings.schema[name].dataType.simpleString()}" for name in ("user", "item"))
    return ratings.mapInArrow(chunks.task_of("gather"), f"what tinyint, cells binary, {kinds}, n bigint")


def number_ids(told: DataFrame, side: str, column: str) -> Side:
    """Of `side` ("user" or "item") of what was gathered, which is called `column` in messages. ValueError where there
    are no ids, or rows without one."""
    mine = told.where(F.col("what") == (chunks.USERS if side == "user" else chunks.ITEMS))
    counted = mine.groupBy(F.col(side).alias("id")).agg(F.sum("n").alias("n"))
    bucket = F.pmod(F.xxhash64("id"), F.lit(BUCKETS)).cast("int").alias("bucket")
    counted = counted.select("id", "n", bucket)
    window = Window.partitionBy("bucket").orderBy("id")
    placed = counted.withColumn("place", F.row_number().over(window) - 1).persist()
    try:
        missing = F.sum(F.when(F.isnull("id"), F.col("n")))
        rows = placed.groupBy("bucket").agg(F.count(F.lit(1)).alias("rows"), F.sum("n").alias("cells"),
                                            missing.alias("missing")).collect()
        sizes = np.zeros(BUCKETS, dtype=np.int64)
        cells = np.zeros(BUCKETS, dtype=np.int64)
        for row in rows:
            sizes[row["bucket"]], cells[row["bucket"]] = row["rows"], row["cells"]
        without = sum(row["missing"] or 0 for row in rows)
        firsts = np.concatenate([[0], np.cumsum(sizes)])
        if without:
            raise ValueError(f"column {column!r} has {without:,} rows without an id (null, or a number that no int is)")
        if firsts[-1] == 0:
            raise ValueError("there are no ratings to train on")
        if firsts[-1] > MOST_ROWS:
            raise ValueError(f"column {column!r} has {firsts[-1]:,} ids; a training takes {MOST_ROWS:,} at most")
    except BaseException:
        placed.unpersist()
        raise
    offsets = F.expr(f"array({','.join(map(str, firsts[:-1]))})")
    ids = placed.select("id", (F.element_at(offsets, F.col("bucket") + 1) + F.col("place")).cast("int").alias("idx"))
    return Side(column, ids, placed, firsts, cells + ROW_COST * sizes, int(cells.sum()))


class NumberedRatings:
    """`cells` is (part int, cells binary): chunks of (u int, i int, v float), the ratings by their numbers."""

    def __init__(self, told: DataFrame, users: Side, items: Side):
        self._tables: list[Any] = []
        chunked = told.where(F.col("what") == chunks.CELLS).select("cells")
        if max(users.rows, items.rows) <= BROADCAST_ROWS:
            context: Any = told.sparkSession.sparkContext
            self._tables = [context.broadcast(_ids_table(side)) for side in (users, items)]
            task = chunks.task_of("number", users=self._tables[0], items=self._tables[1])
        else:
            kinds = ", ".join(f"{name} {told.schema[name].dataType.simpleString()}" for name in ("user", "item"))
            chunked = _joined(chunked.mapInArrow(chunks.task_of("unpack"), f"{kinds}, v float"), users, items)
            task = chunks.task_of("pack")
        self.cells = chunked.mapInArrow(task, "part int, cells binary")

    def release(self) -> None:
        for table in self._tables:
            table.destroy()


def _ids_table(side: Side) -> bytes:
    """(id, idx) in Arrow's format."""
    rows = side.ids.mapInArrow(chunks.task_of("pack"), "part int, cells binary").select("cells").collect()
    parts = list(chunks.opened(pa.array([bytes(row["cells"])], pa.binary()) for row in rows))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, parts[0].schema) as writer:
        for part in parts:
            writer.write_batch(part)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return, unused-ignore]


def _joined(cells: DataFrame, users: Side, items: Side) -> DataFrame:
    """By shuffles, where a table of ids is too large to go to all executors."""
    for side, name, number in ((users, "user", "u"), (items, "item", "i")):
        ids = side.ids.select(F.col("id").alias(name), F.col("idx").alias(number))
        cells = cells.join(F.broadcast(ids) if side.rows <= BROADCAST_ROWS else ids, on=name)
    return cells.select("u", "i", "v")
