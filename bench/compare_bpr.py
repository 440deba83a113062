#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""BPR compared to implicit: seconds an epoch at equal draws, and NDCG@10, each with its own best parameters.

    bench/compare_bpr.py quality FILE|SHAPE [--factors 64] [--epochs 100] [--rates 0.002,0.005,0.01,0.02,0.05]
                         [--lambdas 0.002,0.01,0.05] [--seeds 3] [--threads 2]
    bench/compare_bpr.py speed FILE|SHAPE [--factors 64] [--epochs 10] [--rounds 3] [--threads 2]

A file is read as by `likewise train`, a shape (ml-20m, 1000x500x20000) is made by `likewise generate`;
every interaction is a like. Of each user 80 % are trained on, 10 % choose the parameters and 10 % are the
test, drawn at random. Everybody's factors are ranked by one exact search. The contenders:

    likewise               likewise.Bpr: negatives are uniform, likes among them are drawn again
    likewise as implicit   likewise.bpr.BayesianPersonalizedRanking: the same algorithm as implicit's
    implicit               implicit.cpu.bpr.BayesianPersonalizedRanking

`quality` trains each on the same grid, and its best line of the validation with other seeds, of which it prints
the mean and each. `speed` trains all turn by turn with one learning rate and lambda, and prints medians of
the rounds with the least and the most: seconds an epoch as the packages count them (a draw for every like
each), seconds of the whole fit, NDCG@10. Run it on an idle machine: ratios within a round are what to quote.
"""
import argparse
import itertools
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import scipy.sparse

import likewise
import likewise.bpr
import likewise.evaluation
from likewise import program


def shown(values, digits=3):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} - {max(values):.{digits}f})"


def likes_of(source):
    """A matrix of ones (users, items)."""
    if pathlib.Path(source).exists():
        matrix = likewise.Interactions(source).to_csr()
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "likes.csv"
            subprocess.run([program.path(), "generate", source, "-o", path, "-q"], check=True)
            matrix = likewise.Interactions(path).to_csr()
    matrix.data = np.ones(matrix.nnz, dtype=np.float32)
    return matrix


def parts_of(matrix, seed=1):
    """(train, validation, test): of a user's n likes n // 10 each for the last two."""
    random = np.random.default_rng(seed)
    part = np.zeros(matrix.nnz, dtype=np.int8)
    for begin, end in itertools.pairwise(matrix.indptr):
        order = begin + random.permutation(end - begin)
        tenth = (end - begin) // 10
        part[order[:tenth]], part[order[tenth:2 * tenth]] = 1, 2
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return [scipy.sparse.csr_matrix((matrix.data[part == p], (rows[part == p], matrix.indices[part == p])),
                                    shape=matrix.shape) for p in (0, 1, 2)]


class Trained:
    """Tables of factors with a last column of ones and of biases, and how long they took."""

    def __init__(self, users, items, epoch, whole):
        self.tables, self.epoch, self.whole = (users, items), epoch, whole

    def ndcg(self, seen, test, threads):
        model = likewise.bpr.BayesianPersonalizedRanking(factors=self.tables[1].shape[1] - 1, num_threads=threads)
        model.user_factors, model.item_factors = self.tables
        return likewise.evaluation.ndcg_at_k(model, seen, test, K=10, show_progress=False)


def by_likewise(train, rate, lam, seed, given):
    entries = train.tocoo()
    data = likewise.Interactions((entries.row, entries.col, entries.data))
    begin = time.perf_counter()
    model = likewise.Bpr(factors=given.factors, iterations=given.epochs, learning_rate=rate, regularization=lam,
                         seed=seed, device="cpu", threads=given.threads).fit(data).model_
    whole = time.perf_counter() - begin
    users = np.zeros((train.shape[0], given.factors + 1), dtype=np.float32)
    items = np.zeros((train.shape[1], given.factors + 1), dtype=np.float32)
    users[np.asarray(model.users)] = np.column_stack([model.user_factors, np.ones(len(model.users))])
    items[np.asarray(model.items)] = np.column_stack([model.item_factors, model.item_bias])
    return Trained(users, items, statistics.median(one["seconds"] for one in model.iterations), whole)


def by_class(kind, train, rate, lam, seed, given):
    model = kind(factors=given.factors, iterations=given.epochs, learning_rate=rate, regularization=lam,
                 random_state=seed, num_threads=given.threads)
    model.use_gpu = False
    epochs = []
    begin = time.perf_counter()
    model.fit(train, show_progress=False)
    whole = time.perf_counter() - begin
    tables = model.user_factors, model.item_factors
    if given.what == "speed":  # a second training, as listening to epochs may take time of its own
        model.user_factors = model.item_factors = None
        model.fit(train, show_progress=False, callback=lambda *told: epochs.append(told[1]))
    return Trained(*tables, statistics.median(epochs) if epochs else float("nan"), whole)


def contenders():
    import implicit.cpu.bpr
    import likewise.cpu.bpr
    return {"likewise": by_likewise,
            "likewise as implicit": lambda *rest: by_class(likewise.cpu.bpr.BayesianPersonalizedRanking, *rest),
            "implicit": lambda *rest: by_class(implicit.cpu.bpr.BayesianPersonalizedRanking, *rest)}


def numbers(text):
    return [float(word) for word in text.split(",")]


def quality(train, validation, test, given):
    for name, fit in contenders().items():
        grid = {}
        for rate, lam in itertools.product(numbers(given.rates), numbers(given.lambdas)):
            grid[rate, lam] = fit(train, rate, lam, 0, given).ndcg(train, validation, given.threads)
            print(f"{name:22} learning rate {rate:g}, lambda {lam:g}: validation {grid[rate, lam]:.4f}", flush=True)
        rate, lam = max(grid, key=grid.get)
        found = [fit(train, rate, lam, seed, given).ndcg(train + validation, test, given.threads)
                 for seed in range(1, given.seeds + 1)]
        print(f"{name:22} learning rate {rate:g}, lambda {lam:g}: test NDCG@10 {np.mean(found):.4f} "
              f"({', '.join(f'{one:.4f}' for one in found)})", flush=True)


def speed(train, validation, test, given):
    measured = {name: [] for name in contenders()}
    for seed in range(given.rounds):
        for name, fit in contenders().items():
            measured[name].append(fit(train, given.rate, given.lam, seed, given))
    for name, rounds in measured.items():
        ratios = [theirs.epoch / ours.epoch for ours, theirs in zip(rounds, measured["implicit"])]
        found = [one.ndcg(train + validation, test, given.threads) for one in rounds]
        print(f"{name:22} epoch {shown([one.epoch for one in rounds])} s, whole {shown([one.whole for one in rounds])}"
              f" s, NDCG@10 {shown(found, 4)}, {shown(ratios, 2)} times implicit", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = options.add_subparsers(dest="what", required=True)
    for name, epochs in (("quality", 100), ("speed", 10)):
        kind = kinds.add_parser(name)
        kind.add_argument("source", metavar="FILE|SHAPE")
        kind.add_argument("--factors", type=int, default=64)
        kind.add_argument("--epochs", type=int, default=epochs)
        kind.add_argument("--threads", type=int, default=os.cpu_count())
        if name == "quality":
            kind.add_argument("--rates", default="0.002,0.005,0.01,0.02,0.05")
            kind.add_argument("--lambdas", default="0.002,0.01,0.05")
            kind.add_argument("--seeds", type=int, default=3)
        else:
            kind.add_argument("--rate", type=float, default=0.05)
            kind.add_argument("--lam", type=float, default=0.01)
            kind.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    parts = parts_of(likes_of(given.source))
    print(f"{given.source}: {parts[0].shape[0]:,} users, {parts[0].shape[1]:,} items, likes "
          f"{' + '.join(f'{part.nnz:,}' for part in parts)}; {given.factors} factors, {given.epochs} epochs, "
          f"{given.threads} threads", flush=True)
    {"quality": quality, "speed": speed}[given.what](*parts, given)


if __name__ == "__main__":
    main()
