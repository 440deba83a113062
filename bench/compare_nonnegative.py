#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nonnegative factors of ratings by likewise, cmfrec and Spark's MLlib, as a Markdown table.

    PYTHONPATH=build/release/python PYTHON bench/compare_nonnegative.py [--factors 32] [--rounds 3] [--programs likewise,cmfrec,mllib]

Data are MovieLens 1M (LIKEWISE_DATA, or ../shared/data), of which a random fifth is hidden. All minimise the sum of the squared errors plus
lambda n |x|^2 for each user and item, n its ratings, without biases, by 10 iterations of ALS on two threads. The programs take turns.
Seconds are those of fit(), the least and the most in parentheses; MLlib's first fit() of a session is left out. The objective is
computed from the factors over the training ratings; RMSE is of the hidden ratings whose user and item were trained. Needs NumPy; a program that
is not installed has no row.
"""
import argparse
import gzip
import importlib.util
import os
import pathlib
import statistics
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np

DATA = pathlib.Path(os.environ.get("LIKEWISE_DATA", pathlib.Path(__file__).resolve().parents[1] / "../shared/data"))
ITERATIONS = 10
LAMBDA = 0.05


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--factors", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--programs", default="likewise,cmfrec,mllib")
    return parser.parse_args()


def read_ratings():
    with gzip.open(DATA / "ml-1m/ratings_notime.dat.gz", "rt", encoding="ascii") as lines:
        table = np.array([line.split("::") for line in lines], dtype=np.int32)
    hidden = np.random.default_rng(42).random(len(table)) < 0.2
    train, test = table[~hidden], table[hidden]
    known = np.isin(test[:, 0], train[:, 0]) & np.isin(test[:, 1], train[:, 1])
    return train, test[known]


class Likewise:
    """Whole-number ids are rows of the factors in their order."""

    package = "likewise"

    def __init__(self, train, factors):
        import likewise

        self.make = lambda: likewise.Als(feedback="explicit", factors=factors, iterations=ITERATIONS, regularization=LAMBDA,
                                         regularization_exponent=1.0, biases=False, nonnegative=True, device="cpu", threads=2)
        self.ratings = likewise.Interactions((train[:, 0], train[:, 1], train[:, 2].astype(np.float32)))
        self.name = f"likewise {likewise.__version__}"

    def fit(self):
        self.model = self.make().fit(self.ratings).model_

    def factors(self):
        return (np.asarray(self.model.users), self.model.user_factors), (np.asarray(self.model.items), self.model.item_factors)


class Cmfrec:
    package = "cmfrec"

    def __init__(self, train, factors):
        import importlib.metadata

        import cmfrec
        import pandas as pd

        self.make = lambda: cmfrec.CMF(k=factors, lambda_=LAMBDA, scale_lam=True, nonneg=True, user_bias=False, item_bias=False, center=False,
                                       method="als", use_cg=False, niter=ITERATIONS, nthreads=2, verbose=False, precompute_for_predictions=False)
        self.ratings = pd.DataFrame(train, columns=["UserId", "ItemId", "Rating"]).astype({"Rating": np.float32})
        self.name = f"cmfrec {importlib.metadata.version('cmfrec')}"

    def fit(self):
        self.model = self.make().fit(self.ratings)

    def factors(self):
        return (np.asarray(self.model.user_mapping_), self.model.A_), (np.asarray(self.model.item_mapping_), self.model.B_)


class Mllib:
    package = "pyspark"

    def __init__(self, train, factors):
        import pandas as pd
        import pyspark
        from pyspark.ml.recommendation import ALS
        from pyspark.sql import SparkSession

        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        frame = pd.DataFrame(train, columns=["user", "item", "rating"]).astype({"rating": np.float32})
        self.ratings = session.createDataFrame(frame).cache()
        self.als = ALS(rank=factors, maxIter=ITERATIONS, regParam=LAMBDA, nonnegative=True, userCol="user", itemCol="item", ratingCol="rating", seed=1)
        self.name = f"Spark {pyspark.__version__}, MLlib"
        self.fit()

    def fit(self):
        self.model = self.als.fit(self.ratings)
        self.model.userFactors.count(), self.model.itemFactors.count()

    def factors(self):
        def table(rows):
            rows = rows.collect()
            return np.array([row.id for row in rows]), np.array([row.features for row in rows])
        return table(self.model.userFactors), table(self.model.itemFactors)


def measure(program, train, test):
    """Objective over the training ratings, RMSE of the hidden ones, and the least factor."""
    tables = []
    for side, (ids, factors) in enumerate(program.factors()):
        table = np.zeros((max(train[:, side].max(), ids.max()) + 1, factors.shape[1]))
        table[ids.astype(np.int64)] = factors
        tables.append(table)
    users, items = tables

    def errors(rows):
        return rows[:, 2] - np.einsum("ij,ij->i", users[rows[:, 0]], items[rows[:, 1]])
    penalty = sum(float((np.bincount(train[:, side], minlength=len(table)) * (table ** 2).sum(1)).sum()) for side, table in enumerate(tables))
    return float((errors(train) ** 2).sum()) + LAMBDA * penalty, float(np.sqrt((errors(test) ** 2).mean())), min(users.min(), items.min())


def main():
    args = read_arguments()
    train, test = read_ratings()
    wanted = [kind for kind in (Likewise, Cmfrec, Mllib) if kind.__name__.lower() in args.programs.split(",")]
    missing = [kind.package for kind in wanted if importlib.util.find_spec(kind.package) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
    programs = [kind(train, args.factors) for kind in wanted if kind.package not in missing]
    seconds = {program.name: [] for program in programs}
    for _ in range(args.rounds):
        for program in programs:
            begin = time.perf_counter()
            program.fit()
            seconds[program.name].append(time.perf_counter() - begin)
    print(f"\nMovieLens 1M, {len(train):,} training ratings, {args.factors} factors, {ITERATIONS} iterations, lambda {LAMBDA} a rating:\n")
    print("| program | fit(), s | objective | RMSE, hidden | least factor |\n|---|---:|---:|---:|---:|")
    for program in programs:
        taken = seconds[program.name]
        objective, rmse, least = measure(program, train, test)
        print(f"| {program.name} | {statistics.median(taken):.2f} ({min(taken):.2f} - {max(taken):.2f}) | {objective:,.0f} | {rmse:.4f} | {least:.3g} |")


if __name__ == "__main__":
    main()
