# SPDX-License-Identifier: Apache-2.0
"""Ratings made ready for ranks, by Spark SQL: ids of any kind become numbers 0, 1, 2, ..., the same in every run.

Ids are numbered by their order, so that it does not matter how the data lie. A rank has neighbouring ids, cut so that
ranks have about as many ratings. (One rank alone numbers them itself, in the same way: coded.py.) How many tasks a step
has follows from its rows, never from spark.sql.shuffle.partitions.
"""
from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from likewise.spark.checks import require_column
from likewise.spark.coded import A_VALUE, AN_ID

#: Rows of a task.
TASK_ROWS = 1 << 20
#: Runs of neighbouring ids whose counts the driver is told, about: ranks begin where runs do.
RUNS = 1 << 14
#: Tables of ids up to this many rows go to all executors, in place of the ratings over the network.
BROADCAST_ROWS = 2_000_000
#: Rows of a side (likewise::Index).
MOST_ROWS = 2**31 - 1
#: What a row costs beside its ratings, in ratings, about.
ROW_COST = 4


@dataclasses.dataclass(frozen=True)
class Side:
    """Users or items: `ids` has (id, idx), of what is kept until release(); `firsts` the first idx of each run, then the
    number of all; `costs` are those of the runs."""

    column: str
    ids: DataFrame
    kept: list[DataFrame]
    firsts: npt.NDArray[np.int64]
    costs: npt.NDArray[np.int64]
    ratings: int

    def release(self) -> None:
        for frame in self.kept:
            frame.unpersist()

    @property
    def rows(self) -> int:
        return int(self.firsts[-1])

    def id_of(self, number: int) -> Any:
        return self.ids.where(F.col("idx") == number).first()["id"]  # type: ignore[index, unused-ignore]

    def parts(self, ranks: int) -> list[int]:
        """The first idx of each rank, then the number of all: whole runs of about the same cost."""
        sums = np.concatenate([[0], np.cumsum(self.costs)])
        goals = sums[-1] * np.arange(ranks + 1) / ranks
        cuts = np.searchsorted(sums, goals)
        nearer = (cuts > 0) & (goals - sums[np.maximum(cuts - 1, 0)] < sums[cuts] - goals)
        cuts = np.maximum.accumulate(np.where(nearer, cuts - 1, cuts))
        cuts[0], cuts[-1] = 0, len(sums) - 1
        return [int(first) for first in self.firsts[cuts]]


def id_column(dataset: DataFrame, name: str, counted: bool = False) -> Column:
    """A column as ids: integers and text as they are, whole numbers of other kinds as int. TypeError for other columns.
    A number with a fraction ends the job with an error; where ids that are missing are `counted`, it is one of these."""
    kind = dataset.schema[name].dataType
    column = F.col(f"`{name}`")
    if isinstance(kind, (T.ByteType, T.ShortType)):
        return column.cast("int")
    if isinstance(kind, (T.FloatType, T.DoubleType, T.DecimalType)):
        whole = column.cast("int")
        found = F.when(whole == column, whole)  # null for what is none
        if counted:
            return found
        told = F.concat(F.lit(f"column {name!r} holds "), column.cast("string"), F.lit(": ids are numbers without a fraction"))
        return found.when(column.isNotNull(), F.raise_error(told).cast("int"))
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
    return dataset.select(id_column(dataset, user, True).alias("user"), id_column(dataset, item, True).alias("item"),
                          value.cast("float").alias("v"))


def counted(ratings: DataFrame, column: str) -> tuple[int, str]:
    """How many rows there are, and a digest of them, whose order does not matter. ValueError for rows without a value,
    whose column is called `column` in the message."""
    row = F.xxhash64("user", "item", "v")
    # Halves of 32 bits, whose sums fit into 64.
    halves = (row.bitwiseAND(F.lit(2**32 - 1)), F.shiftrightunsigned(row, 32))
    found = ratings.agg(F.count(F.lit(1)), F.count("v"), *(F.sum(half) for half in halves)).collect()[0]
    if found[1] < found[0]:
        raise ValueError(f"column {column!r} has {found[0] - found[1]:,} rows without {A_VALUE}")
    return found[0], f"{found[2] or 0:x}-{found[3] or 0:x}"


def tasks_for(rows: int) -> int:
    return max(1, math.ceil(rows / TASK_ROWS))


def number_ids(ratings: DataFrame, side: str, column: str, tasks: int) -> Side:
    """Of `side` ("user" or "item") of the ratings, which is called `column` in messages. ValueError where there are no
    ids, or rows without one."""
    counted = ratings.select(F.col(side).alias("id")).repartition(tasks, "id").groupBy("id").agg(
        F.count(F.lit(1)).alias("n")).persist()
    kept = [counted]
    try:
        found = counted.agg(F.count(F.lit(1)).alias("rows"), F.sum(F.when(F.isnull("id"), F.col("n"))).alias("without")
                            ).collect()[0]
        if found["without"]:
            raise ValueError(f"column {column!r} has {found['without']:,} rows without {AN_ID}")
        if found["rows"] == 0:
            raise ValueError("there are no ratings to train on")
        if found["rows"] > MOST_ROWS:
            raise ValueError(f"column {column!r} has {found['rows']:,} ids; a training takes {MOST_ROWS:,} at most")
        parts = tasks_for(found["rows"])
        # Positions in a sorted partition; the upper bits of the number are the partition.
        place = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << 33) - 1))
        placed = counted.repartitionByRange(parts, "id").sortWithinPartitions("id").select(
            "id", "n", F.spark_partition_id().alias("part"), place.alias("place")).persist()
        kept.append(placed)
        run = max(1, found["rows"] // RUNS)
        runs = placed.select("part", (F.col("place") / run).cast("long").alias("run"), "n").repartition(
            parts, "part", "run").groupBy("part", "run").agg(F.count(F.lit(1)).alias("rows"), F.sum("n").alias("cells"))
        told = np.array(sorted(tuple(row) for row in runs.collect()), dtype=np.int64)
    except BaseException:
        for frame in kept:
            frame.unpersist()
        raise
    firsts = np.concatenate([[0], np.cumsum(told[:, 2])])
    begins = [int(firsts[np.searchsorted(told[:, 0], part)]) for part in range(parts)]
    offsets = F.expr(f"array({','.join(map(str, begins))})")
    ids = placed.select("id", (F.element_at(offsets, F.col("part") + 1) + F.col("place")).cast("int").alias("idx"))
    return Side(column, ids, kept, firsts, told[:, 3] + ROW_COST * told[:, 2], int(told[:, 3].sum()))


def numbered(ratings: DataFrame, users: Side, items: Side, tasks: int) -> DataFrame:
    """(u int, i int, v float): the ratings by their numbers."""
    cells = ratings
    for side, name, number in ((users, "user", "u"), (items, "item", "i")):
        cells = joined(cells, name, side.ids.select(F.col("id").alias(name), F.col("idx").alias(number)), side.rows, tasks)
    return cells.select("u", "i", "v")


def joined(left: DataFrame, on: str, right: DataFrame, rows: int, tasks: int) -> DataFrame:
    """By a table of so many rows that goes to all executors, or where it is too large, by shuffles into so many tasks."""
    if rows <= BROADCAST_ROWS:
        return left.join(F.broadcast(right), on)
    return left.repartition(tasks, on).join(right.repartition(tasks, on), on)
