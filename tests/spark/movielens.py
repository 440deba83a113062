# SPDX-License-Identifier: Apache-2.0
"""MovieLens 1M as Spark has it, how well a model fits it, and how well Spark's own ALS did.

scripts/golden/make_spark_golden.py made the golden file, which also names the version of Spark.
"""
import json
import os
import pathlib

import numpy as np
import pyarrow as pa
import pytest
from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.sql import functions as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/spark.json"
#: Ratings are fitted to the end, where first factors do not matter.
CASES = {"ratings": {"rank": 4, "maxIter": 15, "regParam": 0.1, "implicitPrefs": False, "alpha": 1.0},
         "likes": {"rank": 8, "maxIter": 10, "regParam": 0.05, "implicitPrefs": True, "alpha": 2.0}}
BLOCKS = {"numUserBlocks": 2, "numItemBlocks": 2}


def load(spark):
    """The data set as rows of user, item, rating in two partitions; skips a test where there is none."""
    folder = pathlib.Path(os.environ.get("LIKEWISE_DATA", ROOT / "../shared/data"))
    files = [folder / "ml-1m" / name for name in ("ratings.dat", "ratings_notime.dat.gz")]
    found = [file for file in files if file.is_file()]
    if not found:
        pytest.skip(f"no ml-1m in {folder}: set LIKEWISE_DATA")
    parts = F.split("value", "::")
    return spark.read.text(str(found[0])).select(
        parts[0].cast("int").alias("user"), parts[1].cast("int").alias("item"),
        parts[2].cast("float").alias("rating")).repartition(2).cache()


def fit(of, data, case, **params):
    return of(**CASES[case], **BLOCKS, seed=1, **params).fit(data)


def fitted(model, data, case):
    """The objective by its definition, and the RMSE that Spark finds."""
    params = CASES[case]
    return {"objective": objective_of(model, data, params["implicitPrefs"], params["regParam"], params["alpha"]),
            "rmse": RegressionEvaluator(labelCol="rating").evaluate(model.transform(data))}


def golden(case):
    return json.loads(GOLDEN.read_text(encoding="utf-8"))[case]


def table(factors):
    return {row["id"]: np.array(row["features"]) for row in factors.collect()}


def objective_of(model, ratings, implicit, lam, alpha):
    """By its definition, in float64: cells by cells, and lambda times the row's likes or ratings."""
    sides = [table(factors) for factors in (model.userFactors, model.itemFactors)]
    names = [np.array(sorted(side)) for side in sides]
    x, y = (np.array([side[name] for name in sorted(side)], dtype=np.float64) for side in sides)
    rows = ratings.toArrow() if hasattr(ratings, "toArrow") else pa.Table.from_pandas(ratings.toPandas())
    ids = [rows[column].to_numpy() for column in ("user", "item")]
    u, i = (np.searchsorted(known, of_rows) for known, of_rows in zip(names, ids))
    assert (names[0][u] == ids[0]).all() and (names[1][i] == ids[1]).all()
    r = rows["rating"].to_numpy().astype(np.float64)
    scores = np.einsum("nf,nf->n", x[u], y[i])
    penalty = lam * ((np.bincount(u, minlength=len(x)) * (x**2).sum(1)).sum() +
                     (np.bincount(i, minlength=len(y)) * (y**2).sum(1)).sum())
    if not implicit:
        return ((r - scores) ** 2).sum() + penalty
    everywhere = np.sum((x.T @ x) * (y.T @ y))  # of all scores squared
    return everywhere - (scores**2).sum() + ((1 + alpha * r) * (1 - scores) ** 2).sum() + penalty
