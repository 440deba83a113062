# SPDX-License-Identifier: Apache-2.0
"""Recommenders on Spark: ALS as in `pyspark.ml.recommendation`, trained by native ranks, and others by one task.

    from likewise.spark import ALS            # in place of pyspark.ml.recommendation
    model = ALS(rank=64, implicitPrefs=True, userCol="user", itemCol="item", ratingCol="plays").fit(plays)
    model.recommendForAllUsers(10).write.parquet("lists")

Spark holds and prepares the data, schedules, and restarts; training is one stage whose tasks are ranks
(from-spark.md). Needs PySpark 3.5 or newer: pip install "likewise[spark]", on all machines.
"""
try:
    import pyspark  # noqa: F401
except ImportError as error:
    raise ImportError('likewise.spark needs PySpark: pip install "likewise[spark]"') from error

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.spark.estimator import ALS
    from likewise.spark.model import ALSModel
    from likewise.spark.single import (Bias, BiasModel, Bpr, BprModel, Ease, EaseModel, ItemKnn, ItemKnnModel, Popular,
                                       PopularModel, Sgd, SgdModel, Spectral, SpectralModel, UserKnn, UserKnnModel)

__all__ = ["ALS", "ALSModel", "Bias", "BiasModel", "Bpr", "BprModel", "Ease", "EaseModel", "ItemKnn", "ItemKnnModel", "Popular",
           "PopularModel", "Sgd", "SgdModel", "Spectral", "SpectralModel", "UserKnn", "UserKnnModel"]


def __getattr__(name: str) -> Any:
    """Tasks, which need modules of this folder, do not wait for pyspark.ml."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = {"ALS": "estimator", "ALSModel": "model"}.get(name, "single")
    return getattr(importlib.import_module(f"likewise.spark.{module}"), name)
