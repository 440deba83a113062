#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times neighbourhood methods in the shapes of two published tables; prints them in Markdown.

    .venv/bin/python bench/knn_tables.py build/release/bin/likewise [stages|plain|kept|dense|literal ...] \
        [--side item|user] [--device cpu|cuda] [--small]

stages  every missing rating predicted from the 40 nearest items, or users, of those that have it, by
        the cosine of centred ratings: the tiny input of the first table, MovieLens 100K, latest-small
        and 1M (LIKEWISE_DATA, or ../shared/data). "Read" is the reading of the ratings, the other stages are those of
        `predict --all-missing`, whose peak memory it is. "Write" runs beside "similarities" and "predict"; "in all" is the command's wall time.
plain   the same by what is nearest to the first table's own definition: the cosine of ratings about
        the means of the compared rows, the plain weighted mean over all that are rated.
kept    the same between users by the definition of Wang et al. (2014): Pearson over whole rows, the
        40 nearest users chosen once, of whom those who rated an item predict it. "Search" is the
        training's, which chooses them; "similarities" are then taken from the model.
dense   tables 2 and 3 of Wang et al. (2014): Pearson over whole rows, every rating there, K = 40,
        between users: 4,800 of them with 400 to 3,200 items, and 400 to 3,200 with 4,800 items.
        "sgemm" is NumPy's product of such a matrix with its transpose, m^2 n multiply-adds, on the
        same threads; the two take turns.
literal RMSE on u1.test of MovieLens 100K, trained on u1.base: the plain sum of s r over the sum of s of all
        that the user has rated, s the cosine of items' ratings about their means, by NumPy with negative
        similarities and without, and ours. No times.

--side takes one half of stages, plain and dense (user: 4,800 users). --small is a trial: the first set of
STAGED and tiny dense matrices.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

THREADS = 2
os.environ["OPENBLAS_NUM_THREADS"] = str(THREADS)

import numpy as np

from compare import spread
from works.student import TINY

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = pathlib.Path(os.environ.get("LIKEWISE_DATA", ROOT / "../shared/data"))
STAGED = {
    "5 x 5": TINY,
    "943 x 1682": DATA / "ml-100k/u.data",
    "671 x 9066": DATA / "ml-latest-small/ratings.csv.gz",
    "6040 x 3706": DATA / "ml-1m/ratings_notime.dat.gz",
}
DEFINITIONS = {
    "stages": lambda side: ["--similarity", "adjusted-cosine", "--prediction", "centred"],
    "plain": lambda side: ["--similarity", "adjusted-cosine", "--centring", side, "--prediction",
                           "mean", "--predict-from", "all"],
    "kept": lambda side: ["--similarity", "pearson-full", "--prediction", "centred",
                          "--predict-from", "kept"],
}
STAGES = ("magnitudes", "similarities", "predict", "write")
DENSE = {False: ((400, 800, 1600, 3200), 4800), True: ((40,), 480)}  # of a trial?


def seconds(text):
    """Of "12 ms", "3.53 s" or "2 min 5 s"."""
    units = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (\w+)", text))


class Bench:
    def __init__(self, args):
        self.args = args
        self.model = os.path.join(args.work, "tables.safetensors")

    def run(self, *words):
        """(standard output, messages, MB)"""
        command = [self.args.binary, *map(str, words), "--threads", str(THREADS)]
        if words[0] in ("train", "predict"):
            command += ["--device", self.args.device]
        with tempfile.TemporaryFile("w+") as messages:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=messages)
            output = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            messages.seek(0)
            told = messages.read()
        if status != 0:
            sys.exit(f"failed: {' '.join(command)}\n{told}")
        return output, told, usage.ru_maxrss / 1024

    def data(self, shape):
        """The file itself, or one made to a shape."""
        if isinstance(shape, pathlib.Path):
            return shape
        if shape == TINY:
            path = pathlib.Path(self.args.work, "tiny.txt")
            path.write_text(TINY, encoding="ascii")
            return path
        path = os.path.join(self.args.work, shape.replace(":", "-") + ".csv")
        if not os.path.exists(path):
            self.run("generate", shape, "-o", path, "--seed", "1")
        return path

    def train(self, data, side, definition):
        """{stage: seconds}"""
        output, _, _ = self.run(
            "train", data, "-o", self.model, "--feedback", "explicit", "--algorithm",
            f"{side}-knn", *DEFINITIONS[definition](side), "--neighbours", "40", "--json")
        return json.loads(output)["seconds"]

    def sides(self):
        return [self.args.side] if self.args.side else ["item", "user"]

    def stages(self, definition, sides):
        stages = ("read", *(["search"] if definition == "kept" else []), *STAGES, "in all")
        print(f"\n{definition}:\n\n| side | users x items | " + ", s | ".join(stages) +
              ", s | ratings predicted | peak memory, MB |")
        print("|---|---|" + "---:|" * (len(stages) + 2))
        for side in sides:
            for name, shape in list(STAGED.items())[:1 if self.args.small else None]:
                self.stages_of(definition, side, name, self.data(shape))

    def stages_of(self, definition, side, name, data):
        times, memory, predicted = [], 0, ""
        for _ in range(self.args.rounds):
            trained = self.train(data, side, definition)
            begin = time.perf_counter()
            _, messages, peak = self.run("predict", self.model, "--all-missing", "-o",
                                         os.path.join(self.args.work, "all.csv"))
            wall = time.perf_counter() - begin
            told = next(line for line in messages.splitlines() if line.startswith("time: "))
            told = dict(part.split(" ", 1) for part in told.removeprefix("time: ").split(", "))
            search = [trained["train"]] if definition == "kept" else []
            times.append([trained["read"], *search, *(seconds(told[stage]) for stage in STAGES), wall])
            memory = max(memory, peak)
            predicted = re.search(r"([\d,]+) predictions", messages)[1]
        columns = " | ".join(spread(column, 3) for column in zip(*times))
        print(f"| {side} | {name} | {columns} | {predicted} | {memory:.0f} |", flush=True)

    def dense(self):
        sizes, other = DENSE[self.args.small]
        for side in reversed(self.sides()):
            what = f"{other} users, items" if side == "user" else f"{other} items, users"
            print(f"\n| {what} | likewise, s | GFLOP/s | sgemm, s | GFLOP/s | of sgemm |")
            print("|---|---:|---:|---:|---:|---:|")
            for size in sizes:
                self.dense_of(*((other, size) if side == "user" else (size, other)), size)

    def dense_of(self, users, items, name):
        data = self.data(f"{users}x{items}x{users * items}:explicit")
        ratings = np.random.default_rng(1).integers(1, 6, size=(users, items)).astype(np.float32)
        ratings -= ratings.mean(axis=1, keepdims=True)
        same = ratings.copy()  # NumPy would see a symmetric product and do half of it
        ours, theirs = [], []
        for _ in range(self.args.rounds):
            ours.append(self.train(data, "user", "kept")["train"])
            begin = time.perf_counter()
            ratings @ same.T
            theirs.append(time.perf_counter() - begin)
        work = 2e-9 * users**2 * items
        rates = [work / statistics.median(times) for times in (ours, theirs)]
        print(f"| {name} | {spread(ours, 3)} | {rates[0]:.1f} | {spread(theirs, 3)} "
              f"| {rates[1]:.0f} | {rates[0] / rates[1]:.0%} |", flush=True)

    def literal(self):
        train, test = (DATA / f"ml-100k/u1.{part}.gz" for part in ("base", "test"))
        known, held_out = triplets(train), triplets(test)
        print("\n| prediction | RMSE | cells without one |\n|---|---:|---:|")
        for name, negative, clip in (("negative similarities kept", True, False),
                                     ("the same, ratings end at 1 and 5", True, True),
                                     ("negative similarities left out", False, False)):
            predicted = plain_quotients(known, held_out, negative)
            missing = np.isnan(predicted)
            predicted[missing] = known[:, 2].mean()
            if clip:
                predicted = predicted.clip(1, 5)
            error = np.sqrt(np.mean((predicted - held_out[:, 2]) ** 2))
            print(f"| literal, {name} | {error:.4f} | {missing.sum()} |")
        for name, options in (("the same formula", [*DEFINITIONS["plain"]("item"), "--neighbours", "40"]),
                              ("its defaults", [])):
            self.run("train", train, "-o", self.model, "--feedback", "explicit", "--algorithm", "item-knn", *options)
            told = json.loads(self.run("evaluate", self.model, test, "--metrics", "rmse", "--json")[0])
            print(f"| likewise, item-knn, {name} | {told['rmse']:.4f} | |")


def triplets(path):
    """User, item, rating."""
    with gzip.open(path) as lines:
        return np.loadtxt(lines, usecols=(0, 1, 2))


def plain_quotients(known, asked, negative):
    """sum s r / sum s over all that the user has rated; NaN where the divisor is 0."""
    shape = np.maximum(known[:, :2].max(0), asked[:, :2].max(0)).astype(int) + 1
    ratings, rated = np.zeros(shape), np.zeros(shape)
    users, items = known[:, :2].astype(int).T
    ratings[users, items], rated[users, items] = known[:, 2], 1
    counts = np.maximum(rated.sum(0), 1)
    centred = np.where(rated > 0, ratings - ratings.sum(0) / counts, 0)
    lengths = np.linalg.norm(centred, axis=0)
    unit = centred / np.where(lengths > 0, lengths, 1)
    similar = unit.T @ unit
    if not negative:
        similar = np.where(similar > 1e-12, similar, 0)
    users, items = asked[:, :2].astype(int).T
    above, below = (ratings @ similar)[users, items], (rated @ similar)[users, items]
    return np.where(below != 0, above / np.where(below != 0, below, 1), np.nan)


TABLES = {
    "stages": lambda bench: bench.stages("stages", bench.sides()),
    "plain": lambda bench: bench.stages("plain", bench.sides()),
    "kept": lambda bench: bench.stages("kept", ["user"]),
    "dense": Bench.dense,
    "literal": Bench.literal,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("tables", nargs="*", default=list(TABLES), help=", ".join(TABLES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--side", choices=["item", "user"])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--work", default="/tmp/likewise-compare")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    for table in args.tables:
        if table not in TABLES:
            parser.error(f"no table '{table}': {', '.join(TABLES)}")
        TABLES[table](Bench(args))


if __name__ == "__main__":
    main()
