#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/spark.json: how well Spark's own ALS fits MovieLens 1M.

    scripts/setup spark
    PYTHONPATH=build/release/python .venv/bin/python scripts/golden/make_spark_golden.py

LIKEWISE_DATA (or ../shared/data) holds ml-1m. For each case of tests/spark/movielens.py the file has the objective of
Spark's model, by its definition in float64, and its RMSE by Spark's evaluator, both on the data it was trained on; and
the version of Spark.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/spark"))
import conftest
import movielens
from pyspark.ml.recommendation import ALS


def main():
    spark = conftest.open_session("local[2]")
    data = movielens.load(spark)
    found = {case: movielens.fitted(movielens.fit(ALS, data, case), data, case) for case in movielens.CASES}
    movielens.GOLDEN.write_text(json.dumps({"spark": spark.version, **found}, indent=1) + "\n", encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main()
