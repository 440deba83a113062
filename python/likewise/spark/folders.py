# SPDX-License-Identifier: Apache-2.0
"""Models in files: folders as Spark has them (metadata as JSON, factors as Parquet), and likewise's model file."""
from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import __version__ as spark_version
from pyspark.ml.util import MLReader, MLWriter
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from likewise import _core

SPARK_CLASS = "org.apache.spark.ml.recommendation.ALSModel"
OWN_CLASS = "likewise.spark.model.ALSModel"
#: What Spark's class knows; it refuses a folder with others.
SPARK_PARAMS = ("userCol", "itemCol", "predictionCol", "coldStartStrategy", "blockSize")


class Writer(MLWriter):  # type: ignore[misc, unused-ignore]
    """Of our class, or of Spark's."""

    def __init__(self, model: Any, spark: bool):
        super().__init__()
        self._model = model
        self._spark = spark

    def saveImpl(self, path: str) -> None:
        model = self._model
        if self._spark:
            for side, factors in (("users", model.userFactors), ("items", model.itemFactors)):
                kind = factors.schema["id"].dataType
                if not isinstance(kind, T.IntegerType):
                    raise ValueError(f"the ids of the {side} are {kind.simpleString()}, and Spark's ALSModel has int "
                                     "only: save() keeps them")
        write_text(model.userFactors.sparkSession, f"{path}/metadata", json.dumps(metadata_of(model, self._spark)))
        model.userFactors.write.parquet(f"{path}/userFactors")
        model.itemFactors.write.parquet(f"{path}/itemFactors")


def metadata_of(model: Any, spark: bool) -> dict[str, Any]:
    def plain(values: dict[Any, Any]) -> dict[str, Any]:
        named = {param.name: value for param, value in values.items()}
        return {name: value for name, value in named.items() if not spark or name in SPARK_PARAMS}

    told = {"class": SPARK_CLASS if spark else OWN_CLASS, "timestamp": int(time.time() * 1000),
            "sparkVersion": spark_version, "uid": model.uid, "paramMap": plain(model._paramMap),
            "defaultParamMap": plain(model._defaultParamMap), "rank": model.rank}
    return told if spark else {**told, "trained": model._trained}


def write_text(spark: SparkSession, path: str, line: str) -> None:
    spark.createDataFrame([(line,)], "value string").coalesce(1).write.text(path)


class Reader(MLReader):  # type: ignore[misc, type-arg, unused-ignore]
    """Of both."""

    def __init__(self, cls: Any):
        super().__init__()
        self._cls = cls

    def load(self, path: str) -> Any:
        """ValueError naming the folder and what is wrong with it."""
        spark = SparkSession.active()
        line = spark.read.text(f"{path}/metadata").first()
        try:
            metadata = json.loads(line["value"] if line else "")
        except ValueError as error:
            raise ValueError(f"{path}/metadata is not JSON ({error})") from error
        if not isinstance(metadata, dict) or metadata.get("class") not in (SPARK_CLASS, OWN_CLASS):
            found = metadata.get("class") if isinstance(metadata, dict) else metadata
            raise ValueError(f"{path} holds {found!r}, not an ALSModel")
        rank = metadata.get("rank")
        if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
            raise ValueError(f"{path}/metadata: rank {rank!r} is not a number above 0")
        sides = [_factors(spark, f"{path}/{name}") for name in ("userFactors", "itemFactors")]
        model = self._cls(rank, *sides, trained=metadata.get("trained"))
        model._resetUid(str(metadata["uid"]))
        for name, value in metadata.get("paramMap", {}).items():
            if model.hasParam(name):
                model.set(model.getParam(name), value)
        for name, value in metadata.get("defaultParamMap", {}).items():
            if model.hasParam(name):
                model._setDefault(**{name: value})
        return model


def _factors(spark: SparkSession, path: str) -> DataFrame:
    factors = spark.read.parquet(path)
    if factors.columns != ["id", "features"]:
        raise ValueError(f"{path} has the columns {', '.join(factors.columns)}; id and features are needed")
    return factors


def save_model_file(model: Any, trained: dict[str, Any], path: str) -> None:
    users, user_ids = _collected(model.userFactors, model.rank)
    items, item_ids = _collected(model.itemFactors, model.rank)
    params = {**trained, "factors": model.rank}
    _core.Model.from_factors(users, items, params, user_ids=user_ids, item_ids=item_ids).save(path)


def _collected(factors: DataFrame, rank: int) -> tuple[Any, Any]:
    """(rows, ids) by rising id, on the driver."""
    from likewise.spark.tables import rows_of

    tables: list[Any] = []
    ids: list[Any] = []
    for some, rows in rows_of(factors, rank):
        ids.append(some)
        tables.append(rows[:, :rank])
    table = np.concatenate(tables) if tables else np.zeros((0, rank), dtype=np.float32)
    names = pa.concat_arrays(ids) if ids else pa.array([], pa.int64())
    if pa.types.is_integer(names.type):
        numbers = names.cast(pa.int64()).to_numpy(zero_copy_only=False)
        order = np.argsort(numbers, kind="stable")
        return np.ascontiguousarray(table[order]), np.ascontiguousarray(numbers[order])
    texts = names.to_pylist()
    order = np.array(sorted(range(len(texts)), key=lambda at: texts[at].encode()), dtype=np.int64)
    return np.ascontiguousarray(table[order]), [texts[at] for at in order]


def load_model_file(cls: Any, path: str) -> Any:
    model = _core.Model.load(path)
    if model.algorithm != "als" or model.user_bias is not None or model.item_bias is not None or model.global_mean != 0:
        raise ValueError(f"{path} is a model by {model.algorithm}, or one with biases; ALS without them is needed")
    spark = SparkSession.active()
    sides = [_frame(spark, ids, factors) for ids, factors in ((model.users, model.user_factors),
                                                              (model.items, model.item_factors))]
    trained = {name: value for name, value in model.params.items() if value is not None}
    return cls(int(model.user_factors.shape[1]), *sides, trained=trained)


def _frame(spark: SparkSession, ids: Any, factors: Any) -> DataFrame:
    from likewise.ids import Ids

    names = np.asarray(Ids(ids, "row"))
    if names.dtype.kind in "iu":
        small = not len(names) or -2**31 <= names.min() and names.max() < 2**31
        kind: Any = T.IntegerType() if small else T.LongType()
        values: list[Any] = [int(name) for name in names]
    else:
        kind = T.StringType()
        values = [str(name) for name in names]
    schema = T.StructType([T.StructField("id", kind), T.StructField("features", T.ArrayType(T.FloatType()))])
    rows = [(value, row.tolist()) for value, row in zip(values, np.asarray(factors))]
    return spark.createDataFrame(rows, schema)
