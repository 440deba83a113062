#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SGD compared to LIBMF: seconds an epoch and test RMSE after equal epochs, on the same ratings.

    bench/compare_sgd.py [--shape 69878x10677x10M:explicit] [--factors 64,128] [--epochs 20] [--threads 2] [--rounds 3]

Generates ratings of a shape and holds out a tenth. Every round trains by LIBMF (its adaptive steps
and its defaults but for the rates) and by likewise in the orders asked for, turn by turn. Seconds an
epoch are the difference between a long and a short training, so that what stands before the first
epoch does not count; the whole training is given too. LIBMF at its best is built from source:

    CFLAGS="-O3 -march=native -DUSEAVX -DUSEOMP -fopenmp" CXXFLAGS="$CFLAGS" LDFLAGS=-fopenmp \\
        pip install --no-binary libmf libmf
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np

import likewise
from likewise import program


def seconds(work):
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def shown(values, digits=3):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} - {max(values):.{digits}f})"


def rmse(predicted, values):
    return float(np.sqrt(np.mean((predicted - values) ** 2)))


def by_libmf(rows, test, factors, epochs, given):
    from libmf import mf

    def train(count):
        engine = mf.MF(k=factors, nr_iters=count, nr_threads=given.threads, quiet=True,
                       lambda_p1=0.0, lambda_q1=0.0, lambda_p2=given.regularization,
                       lambda_q2=given.regularization,
                       eta=given.learning_rate)
        engine.fit(rows)
        return engine
    whole, engine = seconds(lambda: train(epochs))
    part, _ = seconds(lambda: train(epochs // 2))
    users, items = test[:, 0].astype(int), test[:, 1].astype(int)
    predicted = np.einsum("ij,ij->i", engine.p_factors()[users], engine.q_factors()[items])
    return (whole - part) / (epochs - epochs // 2), whole, rmse(predicted, test[:, 2])


def by_likewise(train, test, order, factors, epochs, given):
    def fit(count):
        return likewise.Sgd(factors=factors, iterations=count, order=order, biases=given.biases == "on",
                            regularization=given.regularization, regularization_exponent=1.0, learning_rate=given.learning_rate,
                            threads=given.threads, device="cpu").fit(train)
    whole, model = seconds(lambda: fit(epochs))
    epoch = statistics.median(one["seconds"] for one in model.model_.iterations)
    return epoch, whole, model.evaluate(test, metrics=["rmse"])["rmse"]


def triples(data):
    matrix = data.to_csr()
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.column_stack([rows, matrix.indices, matrix.data]).astype(np.float32)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--shape", default="69878x10677x10M:explicit")
    options.add_argument("--factors", default="64,128")
    options.add_argument("--epochs", type=int, default=20)
    options.add_argument("--threads", type=int, default=os.cpu_count())
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--orders", default="blocked,racing")
    options.add_argument("--regularization", type=float, default=0.05)
    options.add_argument("--learning-rate", type=float, default=0.1)
    options.add_argument("--biases", choices=["on", "off"], default="on")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "ratings.csv"
        subprocess.run([program.path(), "generate", given.shape, "-o", path, "-q"], check=True)
        train, test = likewise.split(likewise.Interactions(path), "random", test=0.1, seed=1)
    held = triples(test)
    print(f"{given.shape}: {train!r}, test {len(held):,}, {given.threads} threads, {given.epochs} epochs, "
          f"{given.rounds} rounds")
    names = {row: at for at, row in enumerate(np.asarray(train.users).tolist())}
    items = {row: at for at, row in enumerate(np.asarray(train.items).tolist())}
    users_of_test, items_of_test = np.asarray(test.users).tolist(), np.asarray(test.items).tolist()
    rows = triples(train)
    held_rows = np.array([[names.get(users_of_test[int(u)], -1), items.get(items_of_test[int(i)], -1), v]
                          for u, i, v in held], dtype=np.float32)
    held_rows = held_rows[(held_rows[:, 0] >= 0) & (held_rows[:, 1] >= 0)]
    for factors in map(int, given.factors.split(",")):
        measured = {}
        for _ in range(given.rounds):
            runs = {f"likewise, {order}": by_likewise(train, test, order, factors, given.epochs, given)
                    for order in given.orders.split(",")}
            runs["LIBMF"] = by_libmf(rows, held_rows, factors, given.epochs, given)
            for what, figures in runs.items():
                measured.setdefault(what, []).append(figures)
        for what, all_figures in measured.items():
            epoch, whole, error = zip(*all_figures)
            ratio = [theirs[0] / ours[0] for theirs, ours in zip(measured["LIBMF"], all_figures)]
            print(f"k = {factors:4} {what:22} epoch {shown(epoch)} s, whole {shown(whole)} s, RMSE "
                  f"{shown(error, 4)}, {shown(ratio, 2)} times LIBMF")


if __name__ == "__main__":
    main()
