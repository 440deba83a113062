# SPDX-License-Identifier: Apache-2.0
"""What trains in no time on one machine, for data that Spark holds: one task learns, and its model, a file as
`likewise` writes it, goes to each executor, whose Python workers answer from it."""
from __future__ import annotations

import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from typing import Any

from pyspark.ml.base import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasPredictionCol
from pyspark.ml.util import (DefaultParamsReadable, DefaultParamsReader, DefaultParamsWritable, MLReadable, MLReader,
                             MLWritable, MLWriter)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.storagelevel import StorageLevel

from likewise import _core
from likewise.arguments import count_of, no_parameter
from likewise.spark import checks, chunks
from likewise.spark.params import documented, drops_rows
from likewise.spark.prepare import id_column, ratings_of
from likewise.spark.train import raise_reported

_CONVERTERS = {"int": TypeConverters.toInt, "float": TypeConverters.toFloat, "bool": TypeConverters.toBoolean,
               "choice": TypeConverters.toString}


class SingleParams(HasPredictionCol):  # type: ignore[misc, unused-ignore]
    """Of the estimators and of their models."""

    userCol = Param(Params._dummy(), "userCol", "column of the users' ids: integers of any size, or text", TypeConverters.toString)
    itemCol = Param(Params._dummy(), "itemCol", "column of the items' ids: integers of any size, or text", TypeConverters.toString)
    coldStartStrategy = Param(
        Params._dummy(), "coldStartStrategy", "what transform() does with users and items that the model has not: 'nan' "
        "predicts not a number, 'drop' leaves the row out", TypeConverters.toString)

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._setDefault(userCol="user", itemCol="item", coldStartStrategy="nan")

    def value_of(self, name: str) -> Any:
        """The value of a parameter, by its name."""
        return self.getOrDefault(self.getParam(name))


class SingleEstimator(Estimator, SingleParams, DefaultParamsReadable, DefaultParamsWritable):  # type: ignore[misc, type-arg, unused-ignore]
    """Parameters are given by keyword and, for grids, attributes: userCol, itemCol, ratingCol ('' counts rows),
    predictionCol, coldStartStrategy, duplicates ('sum', 'max' or 'error'), seed where there is one, and those of the
    estimator in `likewise` of the same name, which are described there."""

    algorithm = ""
    ratingCol = Param(Params._dummy(), "ratingCol", "column of the values; '' makes each row count 1", TypeConverters.toString)
    duplicates = Param(Params._dummy(), "duplicates", "several rows of one user and item: sum, max or error", TypeConverters.toString)

    def __init_subclass__(cls) -> None:
        """An estimator has the parameters of its algorithm."""
        super().__init_subclass__()
        for one in _core.parameters(cls.algorithm):
            setattr(cls, one["name"], Param(Params._dummy(), one["name"], one["help"], _CONVERTERS[one["kind"]]))

    def __init__(self, **params: Any):
        super().__init__()
        self._setDefault(ratingCol="rating", duplicates="sum")
        self.setParams(**params)

    def setParams(self, **params: Any) -> SingleEstimator:
        """Sets those that are given. TypeError for a name that there is none of."""
        known = [param.name for param in self.params]
        for name in params:
            if name not in known:
                raise TypeError(no_parameter(type(self).__name__, name, list(known)))
        return self._set(**params)  # type: ignore[no-any-return, unused-ignore]

    def _fit(self, dataset: DataFrame) -> SingleModel:
        spark = checks.session_of(dataset)
        names = [parameter["name"] for parameter in _core.parameters(self.algorithm)]
        params = {name: self.value_of(name) for name in names if self.isSet(self.getParam(name))}
        checks.require_column(dataset, self.value_of("userCol"), "userCol")
        checks.require_column(dataset, self.value_of("itemCol"), "itemCol")
        duplicates = self.value_of("duplicates")
        if duplicates not in ("sum", "max", "error"):
            raise ValueError(f"duplicates: {duplicates!r} is none of sum, max, error")
        rating = self.value_of("ratingCol")
        if params.get("feedback") == "explicit" and not rating:
            raise ValueError("feedback='explicit' needs ratingCol: rows alone are no ratings")
        ratings = ratings_of(dataset, self.value_of("userCol"), self.value_of("itemCol"), rating)
        checks.require_workers(spark)
        told = {"algorithm": self.algorithm, "params": params, "schema": chunks.schema_of(ratings), "duplicates": duplicates,
                "columns": (self.value_of("userCol"), self.value_of("itemCol"), rating), "has_values": bool(rating),
                "threads": checks.executor_cores(spark)}
        file = trained(ratings, told)
        kinds = {side: ratings.schema[side].dataType.simpleString() for side in ("user", "item")}
        model = self.model_class(file, kinds)  # type: ignore[attr-defined]
        model._resetUid(self.uid)
        return self._copyValues(model)  # type: ignore[no-any-return, unused-ignore]


def trained(ratings: DataFrame, told: dict[str, Any]) -> DataFrame:
    """The model's file in pieces (value binary), kept by Spark."""
    spark = ratings.sparkSession
    batches = chunks.batches_of(ratings)
    batches.persist(spark.sparkContext._getJavaStorageLevel(StorageLevel.MEMORY_AND_DISK))
    try:
        if batches.count() == 0:
            raise ValueError("there are no ratings to train on")

        def run(values: Any) -> Any:
            from likewise.spark import single_task, workers
            yield from workers.lean(single_task.learn(values, **told))

        answers = chunks.in_python(batches.coalesce(1), spark.sparkContext).mapPartitions(run)
        file = chunks.in_spark(answers, spark).persist(StorageLevel.MEMORY_AND_DISK)
        reports = file.where(F.substring("value", 1, 1) == F.lit(bytearray(b"R"))).collect()
        try:
            raise_reported([json.loads(bytes(row["value"])[1:]) for row in reports])
        except BaseException:
            file.unpersist()
            raise
        return file  # type: ignore[no-any-return, unused-ignore]
    finally:
        batches.unpersist(False)


@documented
class SingleModel(Model, SingleParams, MLWritable, MLReadable):  # type: ignore[misc, type-arg, unused-ignore]
    """A model that each executor has whole.

    save() and load() keep it; saveAsLikewise() writes the model file itself, for likewise.load_model().
    """

    def __init__(self, file: DataFrame | None = None, kinds: dict[str, str] | None = None):
        super().__init__()
        self._file: Any = file
        self._kinds = kinds or {}
        self._name = ""

    def setUserCol(self, value: str) -> SingleModel:
        return self._set(userCol=value)  # type: ignore[no-any-return, unused-ignore]

    def setItemCol(self, value: str) -> SingleModel:
        return self._set(itemCol=value)  # type: ignore[no-any-return, unused-ignore]

    def setColdStartStrategy(self, value: str) -> SingleModel:
        return self._set(coldStartStrategy=value)  # type: ignore[no-any-return, unused-ignore]

    def setPredictionCol(self, value: str) -> SingleModel:
        return self._set(predictionCol=value)  # type: ignore[no-any-return, unused-ignore]

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """The dataset with predictionCol (float): what the model predicts for its user and item; not a number where the
        model has not both (coldStartStrategy 'nan'), or without such rows ('drop')."""
        import pandas as pd

        checks.session_of(dataset)
        checks.require_new_column(dataset, self.getPredictionCol())
        drop = drops_rows(self.value_of("coldStartStrategy"))
        for side in ("user", "item"):
            self._check_ids(dataset, side)
        name = self._shared()

        def predict(users: Any, items: Any) -> Any:
            from likewise.spark import single_task
            return single_task.predicted(name, users, items)

        predict.__annotations__ = dict.fromkeys(("users", "items", "return"), pd.Series)  # by which Spark knows its kind
        columns = [id_column(dataset, self._column(side)) for side in ("user", "item")]
        # pandas has integers with gaps as floats, so no null goes there.
        full = [F.coalesce(column, F.lit("" if self._kinds[side] == "string" else 0))
                for column, side in zip(columns, ("user", "item"))]
        found = F.when(columns[0].isNotNull() & columns[1].isNotNull(),
                       pandas_udf(predict, T.FloatType())(*full))  # type: ignore[call-overload]
        # What pandas hands back has null for not a number.
        prediction = F.coalesce(found, F.lit(float("nan")).cast("float"))
        result = dataset.withColumn(self.getPredictionCol(), prediction)
        return result.where(~F.isnan(F.col(f"`{self.getPredictionCol()}`"))) if drop else result

    def recommendForAllUsers(self, numItems: int, includeSeen: bool = False) -> DataFrame:
        """(userCol, recommendations array<struct<itemCol, rating float>>): the best items of every user, the best first,
        as likewise's recommend(): without what it has, unless includeSeen."""
        return self._lists("user", "item", "rating", count_of(numItems, "numItems"), None, includeSeen)

    def recommendForUserSubset(self, dataset: DataFrame, numItems: int, includeSeen: bool = False) -> DataFrame:
        """The same for those users of the dataset's userCol that the model knows, each once."""
        return self._lists("user", "item", "rating", count_of(numItems, "numItems"), dataset, includeSeen)

    def write(self) -> Any:
        """A writer: .overwrite().save(path)."""
        return SingleWriter(self)

    @classmethod
    def read(cls) -> Any:
        """A reader: .load(path)."""
        return SingleReader(cls)

    def saveAsLikewise(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file (model-format.md) on the driver."""
        with open(path, "wb") as file:
            for piece in self._pieces():
                file.write(piece)

    # Parts of the above.

    def _similar(self, side: str, count: int, dataset: DataFrame | None) -> DataFrame:
        return self._lists(side, side, "similarity", count_of(count, f"num{side.title()}s"), dataset, False)

    def _lists(self, side: str, other: str, score: str, count: int, dataset: DataFrame | None, seen: bool) -> DataFrame:
        if dataset is None:
            spark = self._file.sparkSession
            parts = checks.slots(spark)
            queries = spark.range(0, parts, 1, parts).select(F.col("id").alias("query"))
            every = parts
        else:
            self._check_ids(dataset, side)
            queries = dataset.select(id_column(dataset, self._column(side)).alias("query")).repartition(
                checks.slots(dataset.sparkSession), "query").dropDuplicates()
            every = 0
        told: dict[str, Any] = {"name": self._shared(), "side": side, "count": count, "similar": score == "similarity", "seen": seen,
                "every": every, "kinds": (self._kinds[side], self._kinds[other]),
                "names": (self._column(side), self._column(other), score)}
        entry = T.StructType([T.StructField(told["names"][1], T._parse_datatype_string(self._kinds[other])),
                              T.StructField(score, T.FloatType())])
        schema = T.StructType([T.StructField(told["names"][0], T._parse_datatype_string(self._kinds[side]), False),
                               T.StructField("recommendations", T.ArrayType(entry))])

        def run(batches: Any) -> Any:
            from likewise.spark import single_task
            yield from single_task.answer(batches, **told)

        return queries.mapInArrow(run, schema)  # type: ignore[no-any-return, unused-ignore]

    def _column(self, side: str) -> str:
        return str(self.value_of(f"{side}Col"))

    def _check_ids(self, dataset: DataFrame, side: str) -> None:
        """Text beside numbers would be compared, and nothing found."""
        name = self._column(side)
        checks.require_column(dataset, name, f"{side}Col")
        mine, theirs = self._kinds[side] == "string", isinstance(dataset.schema[name].dataType, T.StringType)
        if mine != theirs:
            kinds = {True: "text", False: "numbers"}
            raise TypeError(f"column {name!r} holds {kinds[theirs]}, and the model's {side}s are {kinds[mine]}: cast it")

    def _pieces(self) -> Iterator[bytes]:
        for value in sorted((bytes(row["value"]) for row in self._file.toLocalIterator()), key=lambda one: one[:5]):
            yield value[5:]

    def _shared(self) -> str:
        """The file's name among those of the application."""
        if not self._name:
            context = self._file.sparkSession.sparkContext
            folder = tempfile.mkdtemp(prefix="likewise-", dir=context._temp_dir)  # goes when the application does
            name = f"likewise-{uuid.uuid4().hex}.model"
            try:
                self.saveAsLikewise(os.path.join(folder, name))
                context.addFile(os.path.join(folder, name))
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self._name = name
        return self._name


class SingleWriter(MLWriter):  # type: ignore[misc, unused-ignore]
    def __init__(self, model: SingleModel):
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:
        from pyspark.ml.util import DefaultParamsWriter

        model = self._model
        spark = model._file.sparkSession
        DefaultParamsWriter.saveMetadata(model, path, spark.sparkContext, extraMetadata={"kinds": model._kinds})
        model._file.write.parquet(f"{path}/model")


class SingleReader(MLReader):  # type: ignore[misc, type-arg, unused-ignore]
    def __init__(self, cls: Any):
        super().__init__()
        self._cls = cls

    def load(self, path: str) -> Any:
        """ValueError naming the folder and what is wrong with it."""
        spark = SparkSession.active()
        metadata = DefaultParamsReader.loadMetadata(path, spark.sparkContext)
        expected = f"{self._cls.__module__}.{self._cls.__name__}"
        if metadata.get("class") != expected or set(metadata.get("kinds", {})) != {"user", "item"}:
            raise ValueError(f"{path} holds {metadata.get('class')!r}, not {expected}")
        model = self._cls(spark.read.parquet(f"{path}/model"), metadata["kinds"])
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


class SimilarItems(SingleModel):
    """A model that knows which items are alike."""

    def similarItems(self, numItems: int, dataset: DataFrame | None = None) -> DataFrame:
        """(itemCol, recommendations array<struct<itemCol, similarity float>>): the items nearest to all items, or to the
        dataset's."""
        return self._similar("item", numItems, dataset)


class SimilarUsers(SingleModel):
    """A model that knows which users are alike."""

    def similarUsers(self, numUsers: int, dataset: DataFrame | None = None) -> DataFrame:
        """(userCol, recommendations array<struct<userCol, similarity float>>)."""
        return self._similar("user", numUsers, dataset)


class ItemKnnModel(SimilarItems):
    """A model of ItemKnn."""


class UserKnnModel(SimilarUsers):
    """A model of UserKnn."""


class EaseModel(SimilarItems):
    """A model of Ease."""


class SpectralModel(SimilarItems, SimilarUsers):
    """A model of Spectral."""


class BprModel(SimilarItems, SimilarUsers):
    """A model of Bpr."""


class SgdModel(SimilarItems, SimilarUsers):
    """A model of Sgd."""


class PopularModel(SingleModel):
    """A model of Popular."""


class BiasModel(SingleModel):
    """A model of Bias."""


class ItemKnn(SingleEstimator):
    """The nearest items of every item, as likewise.ItemKnn."""

    algorithm = "item-knn"
    model_class = ItemKnnModel


class UserKnn(SingleEstimator):
    """The nearest users of every user, as likewise.UserKnn."""

    algorithm = "user-knn"
    model_class = UserKnnModel


class Popular(SingleEstimator):
    """Everybody gets what most people took, as likewise.Popular."""

    algorithm = "popular"
    model_class = PopularModel


class Bias(SingleEstimator):
    """Ratings from the mean and how far users and items are off it, as likewise.Bias."""

    algorithm = "bias"
    model_class = BiasModel


class Ease(SingleEstimator):
    """Weights between items in closed form, as likewise.Ease: of likes."""

    algorithm = "ease"
    model_class = EaseModel


class Spectral(SingleEstimator):
    """The largest singular vectors, as likewise.Spectral: of likes."""

    algorithm = "spectral"
    model_class = SpectralModel


class Bpr(SingleEstimator):
    """Factors that order pairs of items, as likewise.Bpr: of likes."""

    algorithm = "bpr"
    model_class = BprModel


class Sgd(SingleEstimator):
    """Factors of ratings by gradient descent, as likewise.Sgd."""

    algorithm = "sgd"
    model_class = SgdModel
