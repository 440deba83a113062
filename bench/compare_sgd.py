#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SGD compared to LIBMF: seconds an epoch and test RMSE after equal epochs, on the same ratings.

    bench/compare_sgd.py [--shape 69878x10677x10M:explicit] [--factors 64,128] [--epochs 20] [--threads 2] [--rounds 3]
    bench/compare_sgd.py --curve 1,2,4,8,15 [--shape ...] [--factors ...] [--threads 16]

Generates ratings of a shape and holds out a tenth. Every round trains by LIBMF (its adaptive steps
and its defaults but for the rates) and by likewise in the orders asked for, turn by turn. Seconds an
epoch are the difference between a long and a short training, so that what stands before the first
epoch does not count; the whole training is given too. --curve trains by LIBMF alone, once for each of so many
epochs, and prints lines as those of bench_epochs: data,device,training,iteration,seconds,metric; seconds are those of
the epochs. They also go to the file BENCH_CURVES. LIBMF at its best is built from source:

    CFLAGS="-O3 -march=native -DUSEAVX -DUSEOMP -fopenmp" CXXFLAGS="$CFLAGS" LDFLAGS=-fopenmp \\
        pip install --no-binary libmf libmf
"""
import argparse
import contextlib
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


def train_libmf(rows, factors, epochs, given):
    with contextlib.redirect_stdout(None):  # it says where it is installed
        from libmf import mf
    engine = mf.MF(k=factors, nr_iters=epochs, nr_threads=given.threads, quiet=True,
                   lambda_p1=0.0, lambda_q1=0.0, lambda_p2=given.regularization,
                   lambda_q2=given.regularization,
                   eta=given.learning_rate)
    engine.fit(rows)
    return engine


def error_of_libmf(engine, test):
    users, items = test[:, 0].astype(int), test[:, 1].astype(int)
    p, q = engine.p_factors(), engine.q_factors()
    parts = (slice(begin, begin + 1_000_000) for begin in range(0, len(test), 1_000_000))
    predicted = [np.einsum("ij,ij->i", p[users[part]], q[items[part]]) for part in parts]
    return rmse(np.concatenate(predicted), test[:, 2])


def by_libmf(rows, test, factors, epochs, given):
    whole, engine = seconds(lambda: train_libmf(rows, factors, epochs, given))
    part, _ = seconds(lambda: train_libmf(rows, factors, epochs // 2, given))
    return (whole - part) / (epochs - epochs // 2), whole, error_of_libmf(engine, test)


def curve_of_libmf(rows, test, factors, counts, given):
    """[(epochs, their seconds, RMSE)] by trainings after one that does not count. What stands before the first epoch is
    that of the line nearest to all of them."""
    def trained(count):
        whole, engine = seconds(lambda: train_libmf(rows, factors, count, given))
        return count, whole, error_of_libmf(engine, test)  # an engine holds a copy of the rows: one at a time

    train_libmf(rows, factors, 1, given)
    all_trained = [trained(count) for count in counts]
    _, before = np.polyfit(counts, [whole for _, whole, _ in all_trained], 1)
    return [(count, whole - before, error) for count, whole, error in all_trained]


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


def places(ids, known):
    """Where each of these ids is among the known ones, which are sorted; -1 where it is not."""
    ids, known = np.asarray(ids), np.asarray(known)
    at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return np.where(known[at] == ids, at, -1)


def print_curves(rows, test, counts, given):
    if len(counts) < 2 or counts != sorted(set(counts)):
        raise SystemExit("compare_sgd: --curve wants two numbers of epochs at least, rising")
    for factors in map(int, given.factors.split(",")):
        training = f"libmf:factors={factors}:iterations={counts[-1]}"
        lines = [f"{given.shape},cpu,{training},{count},{took:.6f},{error:.6f}"
                 for count, took, error in curve_of_libmf(rows, test, factors, counts, given)]
        print("\n".join(lines))
        if path := os.environ.get("BENCH_CURVES"):
            with open(path, "a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--shape", default="69878x10677x10M:explicit")
    options.add_argument("--factors", default="64,128")
    options.add_argument("--epochs", type=int, default=20)
    options.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--orders", default="blocked,racing")
    options.add_argument("--regularization", type=float, default=0.05)
    options.add_argument("--learning-rate", type=float, default=0.1)
    options.add_argument("--biases", choices=["on", "off"], default="on")
    options.add_argument("--curve", metavar="EPOCHS,...")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "ratings.csv"
        subprocess.run([program.path(), "generate", given.shape, "-o", path, "-q"], check=True)
        train, test = likewise.split(likewise.Interactions(path), "random", test=0.1, seed=1)
    rows, held = triples(train), triples(test)
    held_rows = np.column_stack([places(test.users, train.users)[held[:, 0].astype(int)],
                                 places(test.items, train.items)[held[:, 1].astype(int)], held[:, 2]]).astype(np.float32)
    held_rows = held_rows[(held_rows[:, 0] >= 0) & (held_rows[:, 1] >= 0)]
    if given.curve:
        print_curves(rows, held_rows, [int(count) for count in given.curve.split(",")], given)
        return
    print(f"{given.shape}: {train!r}, test {len(held):,}, {given.threads} threads, {given.epochs} epochs, "
          f"{given.rounds} rounds")
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
