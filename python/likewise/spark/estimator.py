# SPDX-License-Identifier: Apache-2.0
"""`ALS`: the estimator."""
from __future__ import annotations

from typing import Any

from pyspark import keyword_only
from pyspark.ml.base import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsReader, DefaultParamsWritable, MLReader
from pyspark.sql import DataFrame, SparkSession

from likewise.spark.model import ALSModel
from likewise.spark.params import TrainingParams, documented
from likewise.spark.train import fit


SPARK_CLASS = "org.apache.spark.ml.recommendation.ALS"
OWN_CLASS = "likewise.spark.estimator.ALS"


class Reader(MLReader):  # type: ignore[misc, type-arg, unused-ignore]
    """Of our estimators in files, and of Spark's."""

    def __init__(self, cls: Any):
        super().__init__()
        self._cls = cls

    def load(self, path: str) -> Any:
        """ValueError for a folder of something else."""
        metadata = DefaultParamsReader.loadMetadata(path, SparkSession.active().sparkContext)
        if metadata["class"] not in (SPARK_CLASS, OWN_CLASS):
            raise ValueError(f"{path} holds {metadata['class']!r}, not an ALS")
        als = self._cls()
        als._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(als, metadata)
        return als


@documented
class ALS(Estimator, TrainingParams, DefaultParamsReadable, DefaultParamsWritable):  # type: ignore[misc, type-arg, unused-ignore]
    """Alternating least squares, as `pyspark.ml.recommendation.ALS` and with its parameters: the same objective,
    trained by native ranks in one stage.

    rank, maxIter, regParam, implicitPrefs, alpha, userCol, itemCol, ratingCol, seed, coldStartStrategy,
    predictionCol    as Spark's, with its defaults. Ids are integers of any size, or text
    nonnegative      factors of 0 and more, by nonnegative least squares
    intermediateStorageLevel, finalStorageLevel
                     of the ratings while they are made ready, and of the factors
    numUserBlocks, numItemBlocks, blockSize
                     1 and more, and without effect
    numWorkers       ranks, each a task of a barrier stage; 0: one where its memory suffices, else as many as it
                     takes. One rank is an ordinary task, which dynamic allocation allows too
    numThreads       of a rank; 0: its share of the executor's cores
    solver           "auto" (the fastest with the exact objective), "cholesky" (exact), "cg"
    device           "cpu", or "cuda": each rank on the GPU that Spark assigned to its task, else on the one numbered by
                     its place among the ranks of its host. One rank alone also trains on any other device
    precision        "auto", "fp32"; on a GPU "tf32", "bf16", "fp16" too
    unobservedWeight implicit: above 0 it is w0 of the iALS form, and alpha has no effect
    regularizationCount  implicit: "likes" as in Spark, or "cells" (math.md)
    duplicates       rows of one user and item: "sum", "mean", "max", "error"; "auto" is the sum of implicit values
                     and the mean of ratings
    checkpointPath   folder that all machines see; every checkpointInterval iterations each rank writes its factors
                     there. A stage that Spark tries again goes on from there, and so does a later fit() with the
                     same ratings and parameters, after a driver that died. Each application needs a folder of its own
    rankTimeout      seconds until a rank that hangs is given up

    fit() raises ValueError, TypeError, MemoryError or likewise.NumericalError with one sentence; what Spark cannot
    run (a lost rank, four times) comes as Spark's own exception, with the rank's name in it.
    """

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(self, *, rank: int = 10, maxIter: int = 10, regParam: float = 0.1, numUserBlocks: int = 10,
                 numItemBlocks: int = 10, implicitPrefs: bool = False, alpha: float = 1.0, userCol: str = "user",
                 itemCol: str = "item", seed: int | None = None, ratingCol: str = "rating", nonnegative: bool = False,
                 checkpointInterval: int = 10, intermediateStorageLevel: str = "MEMORY_AND_DISK",
                 finalStorageLevel: str = "MEMORY_AND_DISK", coldStartStrategy: str = "nan", blockSize: int = 4096,
                 predictionCol: str = "prediction", numWorkers: int = 0, numThreads: int = 0, solver: str = "auto",
                 device: str = "cpu", precision: str = "auto", unobservedWeight: float = 0.0,
                 regularizationCount: str = "likes", duplicates: str = "auto", checkpointPath: str = "",
                 rankTimeout: float = 600.0):
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(self, *, rank: int = 10, maxIter: int = 10, regParam: float = 0.1, numUserBlocks: int = 10,
                  numItemBlocks: int = 10, implicitPrefs: bool = False, alpha: float = 1.0, userCol: str = "user",
                  itemCol: str = "item", seed: int | None = None, ratingCol: str = "rating", nonnegative: bool = False,
                  checkpointInterval: int = 10, intermediateStorageLevel: str = "MEMORY_AND_DISK",
                  finalStorageLevel: str = "MEMORY_AND_DISK", coldStartStrategy: str = "nan", blockSize: int = 4096,
                  predictionCol: str = "prediction", numWorkers: int = 0, numThreads: int = 0, solver: str = "auto",
                  device: str = "cpu", precision: str = "auto", unobservedWeight: float = 0.0,
                  regularizationCount: str = "likes", duplicates: str = "auto", checkpointPath: str = "",
                  rankTimeout: float = 600.0) -> ALS:
        """Sets those that are given."""
        return self._set(**self._input_kwargs)  # type: ignore[no-any-return, unused-ignore]

    @classmethod
    def read(cls) -> Any:
        """A reader: .load(path)."""
        return Reader(cls)

    def _fit(self, dataset: DataFrame) -> ALSModel:
        learned = fit(dataset, self)
        model = ALSModel(self.getRank(), learned.users, learned.items, learned.report, self.trained_params())
        model._resetUid(self.uid)
        return self._copyValues(model)  # type: ignore[no-any-return, unused-ignore]

    def setRank(self, value: int) -> ALS:
        return self._with(rank=value)

    def setMaxIter(self, value: int) -> ALS:
        return self._with(maxIter=value)

    def setRegParam(self, value: float) -> ALS:
        return self._with(regParam=value)

    def setNumUserBlocks(self, value: int) -> ALS:
        return self._with(numUserBlocks=value)

    def setNumItemBlocks(self, value: int) -> ALS:
        return self._with(numItemBlocks=value)

    def setNumBlocks(self, value: int) -> ALS:
        """Sets numUserBlocks and numItemBlocks."""
        return self._with(numUserBlocks=value, numItemBlocks=value)

    def setImplicitPrefs(self, value: bool) -> ALS:
        return self._with(implicitPrefs=value)

    def setAlpha(self, value: float) -> ALS:
        return self._with(alpha=value)

    def setUserCol(self, value: str) -> ALS:
        return self._with(userCol=value)

    def setItemCol(self, value: str) -> ALS:
        return self._with(itemCol=value)

    def setRatingCol(self, value: str) -> ALS:
        return self._with(ratingCol=value)

    def setNonnegative(self, value: bool) -> ALS:
        return self._with(nonnegative=value)

    def setIntermediateStorageLevel(self, value: str) -> ALS:
        return self._with(intermediateStorageLevel=value)

    def setFinalStorageLevel(self, value: str) -> ALS:
        return self._with(finalStorageLevel=value)

    def setColdStartStrategy(self, value: str) -> ALS:
        return self._with(coldStartStrategy=value)

    def setCheckpointInterval(self, value: int) -> ALS:
        return self._with(checkpointInterval=value)

    def setSeed(self, value: int) -> ALS:
        return self._with(seed=value)

    def setBlockSize(self, value: int) -> ALS:
        return self._with(blockSize=value)

    def setPredictionCol(self, value: str) -> ALS:
        return self._with(predictionCol=value)

    def setNumWorkers(self, value: int) -> ALS:
        return self._with(numWorkers=value)

    def setNumThreads(self, value: int) -> ALS:
        return self._with(numThreads=value)

    def setSolver(self, value: str) -> ALS:
        return self._with(solver=value)

    def setDevice(self, value: str) -> ALS:
        return self._with(device=value)

    def setPrecision(self, value: str) -> ALS:
        return self._with(precision=value)

    def setUnobservedWeight(self, value: float) -> ALS:
        return self._with(unobservedWeight=value)

    def setRegularizationCount(self, value: str) -> ALS:
        return self._with(regularizationCount=value)

    def setDuplicates(self, value: str) -> ALS:
        return self._with(duplicates=value)

    def setCheckpointPath(self, value: str) -> ALS:
        return self._with(checkpointPath=value)

    def setRankTimeout(self, value: float) -> ALS:
        return self._with(rankTimeout=value)

    def _with(self, **values: Any) -> ALS:
        return self._set(**values)  # type: ignore[no-any-return, unused-ignore]
