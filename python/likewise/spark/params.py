# SPDX-License-Identifier: Apache-2.0
"""The parameters of ALS and of its models: those of `pyspark.ml.recommendation`, and ours."""
from __future__ import annotations

import inspect
from typing import Any, TypeVar

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (HasBlockSize, HasCheckpointInterval, HasMaxIter, HasPredictionCol,
                                     HasRegParam, HasSeed)

from likewise import _core
from likewise.arguments import refuse_idle


C = TypeVar("C")


def _param(name: str, doc: str, converter: Any) -> Any:
    return Param(Params._dummy(), name, doc, typeConverter=converter)


def documented(cls: type[C]) -> type[C]:
    """A class whose getters and setters say what their parameters are."""
    for name, method in vars(cls).items():
        verb = {"get": "The value of", "set": "Sets"}.get(name[:3])
        param = getattr(cls, name[3:4].lower() + name[4:], None)
        if verb and isinstance(param, Param) and inspect.isfunction(method) and not method.__doc__:
            method.__doc__ = f"{verb} {param.name}: {param.doc.rstrip('.')}."
    return cls


@documented
class ModelParams(HasPredictionCol, HasBlockSize):  # type: ignore[misc, unused-ignore]
    """Of the estimator and of the model."""

    userCol = _param("userCol", "column of the users' ids: integers of any size, or text", TypeConverters.toString)
    itemCol = _param("itemCol", "column of the items' ids: integers of any size, or text", TypeConverters.toString)
    coldStartStrategy = _param(
        "coldStartStrategy", "what transform() does with users and items that the model has not: 'nan' predicts "
        "not a number, 'drop' leaves the row out", TypeConverters.toString)
    device = _param("device", "what computes: cpu, cuda, auto", TypeConverters.toString)

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._setDefault(userCol="user", itemCol="item", coldStartStrategy="nan", blockSize=4096, device="cpu")

    def getUserCol(self) -> str:
        return str(self.getOrDefault(self.userCol))

    def getItemCol(self) -> str:
        return str(self.getOrDefault(self.itemCol))

    def getColdStartStrategy(self) -> str:
        return str(self.getOrDefault(self.coldStartStrategy))

    def getDevice(self) -> str:
        return str(self.getOrDefault(self.device))


@documented
class TrainingParams(ModelParams, HasMaxIter, HasRegParam, HasCheckpointInterval, HasSeed):  # type: ignore[misc, unused-ignore]
    """Of the estimator."""

    rank = _param("rank", "numbers learnt per user and per item, 1 to 4096", TypeConverters.toInt)
    numUserBlocks = _param("numUserBlocks", "1 and more, and without effect: numWorkers says how work is cut",
                           TypeConverters.toInt)
    numItemBlocks = _param("numItemBlocks", "1 and more, and without effect: numWorkers says how work is cut",
                           TypeConverters.toInt)
    implicitPrefs = _param("implicitPrefs", "whether values are strengths of likes, not ratings",
                           TypeConverters.toBoolean)
    alpha = _param("alpha", "implicit: confidence per unit of value", TypeConverters.toFloat)
    ratingCol = _param("ratingCol", "column of the values; '' makes each row count 1", TypeConverters.toString)
    nonnegative = _param("nonnegative", "factors of 0 and more, by nonnegative least squares",
                         TypeConverters.toBoolean)
    intermediateStorageLevel = _param("intermediateStorageLevel", "storage level of the ratings while they are made ready",
                                      TypeConverters.toString)
    finalStorageLevel = _param("finalStorageLevel", "storage level of the factors", TypeConverters.toString)
    numWorkers = _param("numWorkers", "ranks that train together, each a task; 0: one where the plan of memory "
                        "fits, else as many as it takes", TypeConverters.toInt)
    numThreads = _param("numThreads", "threads of a rank; 0: its share of the executor's cores",
                        TypeConverters.toInt)
    solver = _param("solver", "auto, cholesky or cg: how rows are solved", TypeConverters.toString)
    precision = _param("precision", "auto, fp32; on a GPU tf32, bf16, fp16 too", TypeConverters.toString)
    unobservedWeight = _param("unobservedWeight", "implicit: w0, the weight of missing cells in the iALS form, in "
                              "which values and alpha only tell likes from dislikes; 0: Hu's form",
                              TypeConverters.toFloat)
    regularizationCount = _param("regularizationCount", "implicit: what regParam is multiplied by, the row's likes "
                                 "as in Spark ('likes') or the weight of all its cells ('cells')",
                                 TypeConverters.toString)
    duplicates = _param("duplicates", "several rows of one user and item: sum, mean, max or error; auto: the sum "
                        "of implicit values, the mean of ratings", TypeConverters.toString)
    checkpointPath = _param("checkpointPath", "folder that all machines see, for checkpoints every "
                            "checkpointInterval iterations: a path, or a URI as PyArrow reads it; '': none",
                            TypeConverters.toString)
    rankTimeout = _param("rankTimeout", "seconds that ranks wait for one of them in a half-step before they give "
                         "it up", TypeConverters.toFloat)

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._setDefault(
            rank=10, maxIter=10, regParam=0.1, numUserBlocks=10, numItemBlocks=10, implicitPrefs=False, alpha=1.0,
            ratingCol="rating", nonnegative=False, checkpointInterval=10, intermediateStorageLevel="MEMORY_AND_DISK",
            finalStorageLevel="MEMORY_AND_DISK", numWorkers=0, numThreads=0, solver="auto", precision="auto",
            unobservedWeight=0.0, regularizationCount="likes", duplicates="auto", checkpointPath="", rankTimeout=600.0,
            seed=42)

    def getRank(self) -> int:
        return int(self.getOrDefault(self.rank))

    def getNumUserBlocks(self) -> int:
        return int(self.getOrDefault(self.numUserBlocks))

    def getNumItemBlocks(self) -> int:
        return int(self.getOrDefault(self.numItemBlocks))

    def getImplicitPrefs(self) -> bool:
        return bool(self.getOrDefault(self.implicitPrefs))

    def getAlpha(self) -> float:
        return float(self.getOrDefault(self.alpha))

    def getRatingCol(self) -> str:
        return str(self.getOrDefault(self.ratingCol))

    def getNonnegative(self) -> bool:
        return bool(self.getOrDefault(self.nonnegative))

    def getIntermediateStorageLevel(self) -> str:
        return str(self.getOrDefault(self.intermediateStorageLevel))

    def getFinalStorageLevel(self) -> str:
        return str(self.getOrDefault(self.finalStorageLevel))

    def getNumWorkers(self) -> int:
        return int(self.getOrDefault(self.numWorkers))

    def getNumThreads(self) -> int:
        return int(self.getOrDefault(self.numThreads))

    def getSolver(self) -> str:
        return str(self.getOrDefault(self.solver))

    def getPrecision(self) -> str:
        return str(self.getOrDefault(self.precision))

    def getUnobservedWeight(self) -> float:
        return float(self.getOrDefault(self.unobservedWeight))

    def getRegularizationCount(self) -> str:
        return str(self.getOrDefault(self.regularizationCount))

    def getDuplicates(self) -> str:
        return str(self.getOrDefault(self.duplicates))

    def getCheckpointPath(self) -> str:
        return str(self.getOrDefault(self.checkpointPath))

    def getRankTimeout(self) -> float:
        return float(self.getOrDefault(self.rankTimeout))

    def native_params(self) -> dict[str, Any]:
        """The parameters of likewise's ALS. ValueError for what it does not do."""
        self._check()
        params: dict[str, Any] = {
            "algorithm": "als", "factors": self.getRank(), "regularization": float(self.getRegParam()),
            "regularization_exponent": 1.0, "init_stddev": 1.0, "solver": self.getSolver(), "precision": self.getPrecision(),
            "nonnegative": self.getNonnegative(), "seed": self.native_seed()}
        if not self.getImplicitPrefs():
            params |= {"feedback": "explicit", "biases": False}
        else:
            params |= {"feedback": "implicit", "regularization_count": self.getRegularizationCount()}
            weight = self.getUnobservedWeight()
            params |= {"unobserved_weight": weight} if weight > 0 else {"alpha": self.getAlpha()}
        try:
            _core.check_rank_params(params)
        except ValueError as error:
            name, _, wrong = str(error).partition(" ")  # its sentences begin with the name of the parameter
            raise ValueError(f"{_NAMES.get(name, name)} {wrong}") from None
        return params

    def _check(self) -> None:
        """ValueError for what likewise's ALS would not see."""
        for name, least in _LEAST.items():
            value = self.getOrDefault(name)
            if not value >= least:
                raise ValueError(f"{name} must be {least} or more, not {value}")
        interval, seed = self.getCheckpointInterval(), self.getSeed()
        if interval < 1 and interval != -1:
            raise ValueError(f"checkpointInterval must be 1 or more, or -1 for no checkpoints, not {interval}")
        if not -2**63 <= seed < 2**64:
            raise ValueError(f"seed must be in [-2^63, 2^64), not {seed}")
        drops_rows(self.getColdStartStrategy())
        _one_of("duplicates", self.getDuplicates(), ("auto", "sum", "mean", "max", "error"))
        _one_of("regularizationCount", self.getRegularizationCount(), ("likes", "cells"))
        refuse_idle(unobservedWeight=(self.getUnobservedWeight() or None, self.getImplicitPrefs(), "implicitPrefs=True"))

    def trained_params(self) -> dict[str, Any]:
        """Those that a model file keeps."""
        return {**self.native_params(), "iterations": self.getMaxIter()}

    def native_seed(self) -> int:
        """Spark's seeds are signed; the default one is a hash of the class's name."""
        return int(self.getSeed()) & (2**64 - 1)

    def native_checkpoint(self) -> str:
        """The folder of checkpoints; "" for none."""
        return self.getCheckpointPath() if self.getCheckpointInterval() > 0 else ""

    def native_duplicates(self) -> str:
        """What several rows of one user and item become."""
        if self.getDuplicates() != "auto":
            return self.getDuplicates()
        return "sum" if self.getImplicitPrefs() else "mean"


#: What Spark calls parameters of likewise.
_NAMES = {"factors": "rank", "regularization": "regParam", "unobserved_weight": "unobservedWeight"}
#: The smallest values of parameters.
_LEAST = {"maxIter": 0, "numUserBlocks": 1, "numItemBlocks": 1, "blockSize": 1, "unobservedWeight": 0, "numWorkers": 0,
          "numThreads": 0, "rankTimeout": 0.001}


def drops_rows(strategy: str) -> bool:
    """Whether this coldStartStrategy is "drop" and not "nan", in letters of any case. ValueError for another."""
    if strategy.lower() not in ("nan", "drop"):
        raise ValueError(f"coldStartStrategy: {strategy!r} is none of nan, drop")
    return strategy.lower() == "drop"


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name}: {value!r} is none of {', '.join(known)}")
