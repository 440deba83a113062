#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures factors, neighbours and popularity on the same real data; docs/guide/choosing.md explains.

    scripts/choosing.py [ratings|lists] [--data ml-100k,...] [--algorithms als,...] [--threads N] [--earlier 0,1,...]

Parameters are chosen on a validation part that is cut from the training part in the same way as the
test part, from grids that are the same for all data; then the chosen line is trained on the whole
training part and the test part is measured once. Prints one Markdown table; every step of the
searches goes to standard error. Seconds and memory are those of the whole command that trains the
chosen line, with reading and saving; seconds of all its threads, so that other work on the machine
hardly disturbs them. --earlier 1,2 measures not the last film of each user of ml-latest-small but the second
and the third last, the later ones taken away, and the row has the means.

LIKEWISE_DATA is the folder with ml-100k, ml-1m, ml-latest-small and goodbooks-10k (../shared/data),
LIKEWISE_CLI the program (build/release/bin/likewise).
"""
import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = pathlib.Path(os.environ.get("LIKEWISE_DATA", ROOT / "../shared/data"))
PROGRAM = os.environ.get("LIKEWISE_CLI", str(ROOT / "build/release/bin/likewise"))
SEED = 2026

LATEST = DATA / "ml-latest-small/ratings.csv.gz"
ML_1M = DATA / "ml-1m/ratings_notime.dat.gz"
BOOKS = DATA / "goodbooks-10k/ratings.csv.gz"
FOLDS = [(DATA / f"ml-100k/u{n}.base.gz", DATA / f"ml-100k/u{n}.test.gz") for n in range(1, 6)]

LAST = ["--method", "last"]

# What is split how; ml-100k comes split into five folds.
RATINGS = {
    "ml-100k": (FOLDS, ["--test", "0.1"]),
    "ml-latest-small": (LATEST, ["--test", "0.1"]),
    "ml-1m": (ML_1M, ["--test", "0.1"]),
}
LISTS = {
    "ml-100k": (DATA / "ml-100k/u.data", ["--test", "0.2"]),
    "ml-latest-small": (LATEST, LAST),
    "ml-1m": (ML_1M, ["--test", "0.2"]),
    "goodbooks-10k": (BOOKS, ["--test", "0.1", "--min-value", "4",
                              "--columns", "user_id,book_id,rating"]),
}


def lines(**choices):
    """All combinations, as options."""
    names = ["--" + name.replace("_", "-") for name in choices]
    for values in itertools.product(*choices.values()):
        yield [str(word) for pair in zip(names, values) for word in pair]


def rating_lines(algorithm):
    common = ["--feedback", "explicit", "--algorithm", algorithm]
    if algorithm == "bias":
        return [common]
    if algorithm == "als":
        grids = [lines(factors=(16, 128), regularization_exponent=(nu,), regularization=lambdas)
                 for nu, lambdas in ((0.5, (0.3, 1, 3)), (1, (0.03, 0.1, 0.3)))]
    else:
        grids = [lines(similarity=("msd", "pearson", "pearson-baseline"), shrinkage=(10, 100),
                       neighbours=(20, 40, 80), prediction=("centred", "baseline"))]
    return [common + line for line in itertools.chain(*grids)]


def list_lines(algorithm):
    common = ["--algorithm", algorithm]
    if algorithm == "popular":
        return [common]
    if algorithm == "als":
        grid = lines(factors=(64, 128), regularization_exponent=(1,),
                     unobserved_weight=(0.01, 0.1, 1), regularization=(0.001, 0.003, 0.01))
    else:
        grid = lines(similarity=("cosine", "tfidf", "bm25", "jaccard", "log-likelihood",
                                 "conditional"), neighbours=(20, 50, 100, 200))
    return [common + line for line in grid]


class Study:
    def __init__(self, folder, threads):
        self.folder = pathlib.Path(folder)
        self.threads = ["--threads", str(threads), "--quiet"]

    def run(self, *words):
        """(standard output, processor seconds, peak MB)"""
        command = [PROGRAM, *map(str, words), *self.threads]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"failed: {' '.join(command)}")
        return output, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

    def split(self, name, ratings, how):
        """(train, test) files of ours"""
        seed = [] if "--method" in how else ["--seed", SEED]  # the others draw nothing
        self.run("split", ratings, "-o", self.folder / name, *seed, *how)
        return self.folder / name / "train.csv", self.folder / name / "test.csv"

    def parts(self, name, ratings, how, earlier):
        """Of data cut by the last of each user, the parts that are so many cuts back; of others the one cut."""
        if how != LAST:
            return [self.split(name, ratings, how)]
        found = [self.split(f"{name}-0", ratings, how)]
        for number in range(1, max(earlier) + 1):
            found.append(self.split(f"{name}-{number}", found[-1][0], how))
        return [found[number] for number in earlier]

    def value(self, test, metric):
        output = self.run("evaluate", self.folder / "model", test, "--json", "--metrics",
                          metric.split("@")[0])[0]
        return json.loads(output)[metric]

    def train(self, train, line):
        """(report, processor seconds, peak MB) of the whole command"""
        output, seconds, memory = self.run(
            "train", train, "-o", self.folder / "model", "--json", *line)
        return json.loads(output), seconds, memory

    def validated(self, train, validation, metric, line):
        """(value, line); of factors with the best number of iterations."""
        if "als" not in line:
            self.train(train, line)
            return self.value(validation, metric), line
        report = self.train(train, line + ["--iterations", "60", "--patience", "5",
                                           "--validation", str(validation)])[0]
        best = report["best_iteration"]
        value = next(i["validation"] for i in report["iterations"] if i["iteration"] == best)
        return value, line + ["--iterations", str(best)]

    def choose(self, train, validation, metric, grid):
        if len(grid) == 1:
            return grid[0]
        better = min if metric == "rmse" else max
        tried = []
        for line in grid:
            tried.append(self.validated(train, validation, metric, line))
            print(f"{tried[-1][0]:.4f} {' '.join(tried[-1][1])}", file=sys.stderr, flush=True)
        return better(tried, key=lambda one: one[0])[1]  # the first among equals

    def measure(self, name, source, how, metric, grid, earlier):
        """A row of the table."""
        # Values below --min-value are gone once split, and the columns have their usual names.
        cut = how[:2]
        if isinstance(source, list):
            parts = source
        else:
            parts = self.parts(name, source, how, earlier)
        found = []
        for train, test in parts:
            line = self.choose(*self.split("search", train, cut), metric, grid)
            _, seconds, memory = self.train(train, line)
            found.append((self.value(test, metric), seconds, memory, " ".join(line)))
            print(f"{name}: {found[-1]}", file=sys.stderr, flush=True)
        value, seconds, memory = (statistics.mean(column) for column in list(zip(*found))[:3])
        chosen = "; ".join(dict.fromkeys(one[3] for one in found))
        return f"{value:.4f} | {seconds:.2f} | {memory:.0f} | `{chosen}` |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tasks", nargs="*", default=["ratings", "lists"])
    parser.add_argument("--data", default=",".join(LISTS))
    parser.add_argument("--algorithms", default="als,item-knn,user-knn,popular,bias")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--earlier", default="0")
    args = parser.parse_args()
    print("| data | metric | algorithm | value | training, processor s | peak memory, MB | "
          "parameters |")
    print("|---|---|---|---:|---:|---:|---|")
    for task in args.tasks:
        of_ratings = task == "ratings"
        metric = "rmse" if of_ratings else "ndcg@10"
        data = RATINGS if of_ratings else LISTS
        for name in filter(data.get, args.data.split(",")):
            source, how = data[name]
            for algorithm in args.algorithms.split(","):
                if algorithm == ("popular" if of_ratings else "bias"):
                    continue  # the baseline of the other task
                grid = (rating_lines if of_ratings else list_lines)(algorithm)
                with tempfile.TemporaryDirectory() as folder:
                    row = Study(folder, args.threads).measure(name, source, how, metric, grid,
                                                              [int(n) for n in args.earlier.split(",")])
                print(f"| {name} | {metric} | {algorithm} | {row}", flush=True)


if __name__ == "__main__":
    main()
