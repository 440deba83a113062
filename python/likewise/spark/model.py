# SPDX-License-Identifier: Apache-2.0
"""`ALSModel`: what was learned, and its answers."""
from __future__ import annotations

import os
import uuid
from typing import Any

from pyspark.ml.base import Model
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from likewise.arguments import count_of
from likewise.spark import checks, folders
from likewise.spark.params import ModelParams, TrainingParams, documented, drops_rows
from likewise.spark.prepare import id_column
from likewise.spark.recommend import Search, lists, with_seen
from likewise.spark.tables import Table, share_table, tasks_of_factors


@documented
class ALSModel(Model, ModelParams, MLWritable, MLReadable):  # type: ignore[misc, type-arg, unused-ignore]
    """A model of ALS, as `pyspark.ml.recommendation.ALSModel`.

    rank                        numbers per user and per item
    userFactors, itemFactors    DataFrames (id, features array<float>)
    report                      what training said: "objectives" after each iteration, "interactions", "repeated",
                                "resumed" (the iteration of the checkpoint it went on from), "workers", and of rank 0
                                "seconds" ("take": ratings from Arrow to native memory, "begin": their exchange and
                                the first factors, "iterations": each) ...; empty if loaded

    save() and load() keep it as it is. saveAsSpark() writes a folder that Spark's own class reads, and load() reads
    one; saveAsLikewise() writes a model file for `likewise` on one machine.
    """

    def __init__(self, rank: int = 0, userFactors: DataFrame | None = None, itemFactors: DataFrame | None = None,
                 report: dict[str, Any] | None = None, trained: dict[str, Any] | None = None):
        """`trained` are the parameters of likewise's ALS that it was trained with; none where nobody knows them."""
        super().__init__()
        self.rank = rank
        self._trained = trained
        self._factors: dict[str, Any] = {"user": userFactors, "item": itemFactors}
        self._tables: dict[str, Table] = {}
        self._counts: dict[str, int] = {}
        self.report: dict[str, Any] = report or {}

    @property
    def userFactors(self) -> DataFrame:
        """(id, features array<float>), a row for each user."""
        return self._factors["user"]  # type: ignore[no-any-return, unused-ignore]

    @property
    def itemFactors(self) -> DataFrame:
        """(id, features array<float>), a row for each item."""
        return self._factors["item"]  # type: ignore[no-any-return, unused-ignore]

    def setUserCol(self, value: str) -> ALSModel:
        return self._with(userCol=value)

    def setItemCol(self, value: str) -> ALSModel:
        return self._with(itemCol=value)

    def setColdStartStrategy(self, value: str) -> ALSModel:
        return self._with(coldStartStrategy=value)

    def setPredictionCol(self, value: str) -> ALSModel:
        return self._with(predictionCol=value)

    def setBlockSize(self, value: int) -> ALSModel:
        return self._with(blockSize=value)

    def setDevice(self, value: str) -> ALSModel:
        return self._with(device=value)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """The dataset with predictionCol (float): the score of its user and item, not a number where the model has
        not both (coldStartStrategy 'nan'), or without such rows ('drop')."""
        checks.session_of(dataset)
        checks.require_new_column(dataset, self.getPredictionCol())
        drop = drops_rows(self.getColdStartStrategy())
        scored = dataset
        mark = uuid.uuid4().hex  # no column of the dataset has it in its name
        for side, name in (("user", self.getUserCol()), ("item", self.getItemCol())):
            self._check_ids(dataset, side, name)
            known = self._factors[side].select(F.col("id").alias(f"{side}_{mark}"),
                                               F.col("features").alias(f"{side}_features_{mark}"))
            scored = scored.join(known, id_column(dataset, name) == F.col(f"{side}_{mark}"), "left")
        # The sum in float32, in order, as Spark's class adds it up.
        dot = F.expr(f"aggregate(zip_with(user_features_{mark}, item_features_{mark}, (x, y) -> x * y), "
                     "cast(0 as float), (total, one) -> cast(total + one as float))")
        prediction = F.coalesce(dot, F.lit(float("nan")).cast("float"))
        result = scored.select(*[F.col(f"`{name}`") for name in dataset.columns],
                               prediction.alias(self.getPredictionCol()))
        if drop:
            return result.where(~F.isnan(F.col(f"`{self.getPredictionCol()}`")))
        return result

    def recommendForAllUsers(self, numItems: int, seen: DataFrame | None = None) -> DataFrame:
        """(userCol, recommendations array<struct<itemCol, rating float>>): the best items of every user, the best
        first, ties by the smaller id. Exact.

        seen    rows with userCol and itemCol, as the ratings: items that lists leave out
        """
        return self._recommend("user", self.userFactors, numItems, seen)

    def recommendForAllItems(self, numUsers: int, seen: DataFrame | None = None) -> DataFrame:
        """(itemCol, recommendations array<struct<userCol, rating float>>): the users who like an item best."""
        return self._recommend("item", self.itemFactors, numUsers, seen)

    def recommendForUserSubset(self, dataset: DataFrame, numItems: int, seen: DataFrame | None = None) -> DataFrame:
        """As recommendForAllUsers(), for those users of the dataset's userCol that the model knows, each once."""
        return self._recommend("user", self._subset("user", dataset), numItems, seen)

    def recommendForItemSubset(self, dataset: DataFrame, numUsers: int, seen: DataFrame | None = None) -> DataFrame:
        """As recommendForAllItems(), for those items of the dataset's itemCol that the model knows, each once."""
        return self._recommend("item", self._subset("item", dataset), numUsers, seen)

    def similarItems(self, numItems: int, dataset: DataFrame | None = None) -> DataFrame:
        """(itemCol, recommendations array<struct<itemCol, similarity float>>): the items with the largest cosine of
        factors, the item itself left out; of the dataset's items only, where one is given."""
        return self._similar("item", numItems, dataset)

    def similarUsers(self, numUsers: int, dataset: DataFrame | None = None) -> DataFrame:
        """(userCol, recommendations array<struct<userCol, similarity float>>)."""
        return self._similar("user", numUsers, dataset)

    def write(self) -> Any:
        """A writer: .overwrite().save(path)."""
        return folders.Writer(self, spark=False)

    def saveAsSpark(self, path: str, overwrite: bool = False) -> None:
        """Writes a folder that `pyspark.ml.recommendation.ALSModel.load()` reads. ValueError where ids are not int."""
        writer = folders.Writer(self, spark=True)
        (writer.overwrite() if overwrite else writer).save(path)

    def saveAsLikewise(self, path: str | os.PathLike[str], estimator: TrainingParams | None = None) -> None:
        """Writes a model file (model-format.md), for likewise.load_model() and the program, on the driver: the
        factors go through its memory. No history is in it.

        estimator   an ALS with the parameters of the training. Only a model that Spark's class wrote needs it, for
                    its folder does not keep them: ValueError where it is missing
        """
        trained = self._trained if estimator is None else estimator.trained_params()
        if trained is None:
            raise ValueError("the folder of this model does not say how it was trained: pass the ALS with the "
                             "parameters of the training as estimator")
        folders.save_model_file(self, trained, os.fspath(path))

    @classmethod
    def fromLikewise(cls, path: str | os.PathLike[str]) -> ALSModel:
        """A model file of ALS without biases as a model of this session. ValueError for any other. Items and
        users that joined by features are among its rows; the features stay behind."""
        return folders.load_model_file(cls, os.fspath(path))  # type: ignore[no-any-return]

    @classmethod
    def read(cls) -> Any:
        """A reader: .load(path)."""
        return folders.Reader(cls)

    # Parts of the above.

    def _recommend(self, side: str, queries: DataFrame, count: int, seen: DataFrame | None) -> DataFrame:
        other = "item" if side == "user" else "user"
        if seen is not None:
            for name, what in ((self._column(side), f"{side}Col"), (self._column(other), f"{other}Col")):
                checks.require_column(seen, name, what)
            self._check_ids(seen, side, self._column(side))
            self._check_ids(seen, other, self._column(other))
            queries = with_seen(queries, seen.select(id_column(seen, self._column(side)).alias("query"),
                                                     id_column(seen, self._column(other)).alias("answer")), self._tasks(side))
        search = Search(self._table(other), count_of(count, f"num{other.title()}s"), "dot", self.getDevice(), True, self._column(side),
                        self._column(other), "rating")
        return lists(queries, search, self._factors[other].schema["id"].dataType)

    def _similar(self, side: str, count: int, dataset: DataFrame | None) -> DataFrame:
        queries = self._factors[side] if dataset is None else self._subset(side, dataset)
        name = self._column(side)
        search = Search(self._table(side), count_of(count, f"num{side.title()}s"), "cosine", self.getDevice(), False, name,
                        name, "similarity")
        return lists(queries, search, self._factors[side].schema["id"].dataType)

    def _subset(self, side: str, dataset: DataFrame) -> DataFrame:
        name = self._column(side)
        checks.require_column(dataset, name, f"{side}Col")
        self._check_ids(dataset, side, name)
        tasks = self._tasks(side)
        wanted = dataset.select(id_column(dataset, name).alias("wanted")).repartition(tasks, "wanted")
        return self._factors[side].repartition(tasks, "id").join(wanted, F.col("id") == F.col("wanted"), "left_semi")  # type: ignore[no-any-return, unused-ignore]

    def _table(self, side: str) -> Table:
        if side not in self._tables:
            self._tables[side] = share_table(self._factors[side], self.rank)
        return self._tables[side]

    def _tasks(self, side: str) -> int:
        """In how many its rows meet those of another table."""
        if side not in self._counts:
            self._counts[side] = self._factors[side].count()
        spark = self._factors[side].sparkSession
        return max(checks.slots(spark), tasks_of_factors(spark, self._counts[side], self.rank))

    def _column(self, side: str) -> str:
        return self.getUserCol() if side == "user" else self.getItemCol()

    def _check_ids(self, dataset: DataFrame, side: str, name: str) -> None:
        """Text beside numbers would be compared, and nothing found."""
        checks.require_column(dataset, name, f"{side}Col")
        mine = isinstance(self._factors[side].schema["id"].dataType, T.StringType)
        theirs = isinstance(dataset.schema[name].dataType, T.StringType)
        if mine != theirs:
            kinds = {True: "text", False: "numbers"}
            raise TypeError(f"column {name!r} holds {kinds[theirs]}, and the model's {side}s are {kinds[mine]}: cast it")

    def _with(self, **values: Any) -> ALSModel:
        return self._set(**values)  # type: ignore[no-any-return, unused-ignore]
