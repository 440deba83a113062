#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares likewise's neighbourhood methods to the PyPI packages `implicit` and `scikit-surprise`.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install 'numpy<2' implicit scikit-surprise
    /tmp/peers/bin/python bench/compare_knn.py build/release/bin/likewise [--rounds 3]
        [--work DIR] [--only ml-20m,ml-1m,ml-10m]

Prints one Markdown table. All of it runs on the CPU. Same machine, data, threads, similarity and number of neighbours; the
programs take turns, round by round. "Alone" is the search for neighbours as each program times it:
the training stage of ours, `fit` of theirs with data already in their own form. "Whole" is the
process from start to end: ours reads CSV and writes a model that also holds the history; implicit
loads a binary matrix and saves its own, scikit-surprise (which has one thread) reads the same CSV
and keeps nothing. Memory is the peak of the whole process, and processor seconds, of all its
threads, say what holds where other work disturbs the times. After each round the similarities of
some rows are compared; they must agree to 1e-5.

  ml-20m   item cosine and BM25, K = 20, the ML-20M shape from `likewise generate`, against implicit
  ml-1m    user and item Pearson, K = 40, the real ratings (LIKEWISE_DATA), against scikit-surprise
  ml-10m   the same on 69,878 x 10,677 with 10 million ratings from `likewise generate`

scikit-surprise holds seven n x n matrices of 8 bytes; where --memory GB is not enough for them it
is left out and the table says what it would take.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import time

from compare import THREADS, ratio, spread

ROOT = pathlib.Path(__file__).resolve().parents[1]
PEER = ROOT / "bench/compare_knn_peer.py"
SAMPLE = 300  # rows whose lists are compared
SURPRISE_MATRICES = 7
MEASURED = (("alone, s", 2), ("whole, s", 2), ("whole, processor s", 2), ("peak memory, MB", 0))


def run(command):
    """(standard output, [seconds, processor seconds, MB]) of a whole process."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    seconds = time.perf_counter() - begin
    return output, [seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]


def peer(*arguments):
    """(report, costs) of a job of the peer."""
    output, costs = run([sys.executable, str(PEER), *map(str, arguments)])
    return json.loads(output), costs


def train(args, data, side, similarity, neighbours, reading):
    """Seconds alone, then the costs of the whole command."""
    model = os.path.join(args.work, "model.safetensors")
    output, costs = run([
        args.binary, "train", data, "-o", model, "--algorithm", f"{side}-knn", "--neighbours",
        str(neighbours), "--similarity", similarity, "--threads", str(THREADS), "--json",
        "--device", "cpu", *reading])
    return [json.loads(output)["seconds"]["train"], *costs]


def lists(args, side, ids, neighbours):
    """{id: similarities, falling} from our model."""
    model = os.path.join(args.work, "model.safetensors")
    command = [args.binary, "similar", model, "-n", str(neighbours)]
    for row in ids:
        command += [f"--{side}", str(row)]
    found = {row: [] for row in ids}
    for line in csv.DictReader(run(command)[0].splitlines()):
        found[int(line[side])].append(float(line["score"]))
    return found


def worst_difference(ours, theirs):
    """Between similarities at the same place, relative to the best of the row."""
    worst = 0.0
    for row, expected in theirs.items():
        expected = [value for value in expected if value > 0]
        got = ours[int(row)][:len(expected)]
        if len(got) != len(expected):
            return float("inf")
        for a, b in zip(got, expected):
            worst = max(worst, abs(a - b) / expected[0])
    return worst


def compare(args, name, data, side, similarity, neighbours, reading, other):
    """`other` runs the peer's job, or is a reason why not."""
    ours, theirs = [], []
    for _ in range(args.rounds):
        ours.append(train(args, data, side, similarity, neighbours, reading))
        if callable(other):
            report, costs = other()
            theirs.append([report["seconds"], *costs])
            worst = worst_difference(lists(args, side, list(map(int, report["lists"])), neighbours),
                                     report["lists"])
            print(f"{name}: similarities of {len(report['lists'])} rows differ by at most "
                  f"{worst:.1e}", file=sys.stderr, flush=True)
            if worst > 1e-5:
                sys.exit("that is not the same work")
    for place, (what, digits) in enumerate(MEASURED):
        mine = [values[place] for values in ours]
        if callable(other):
            peers = [values[place] for values in theirs]
            figures = spread(peers, digits), ratio(peers, mine)
        else:
            figures = other, ""
        cells = (f"{name}: {what}", spread(mine, digits), *figures)
        print("| " + " | ".join(cells) + " |", flush=True)


def compare_with_implicit(args):
    data, matrix = (os.path.join(args.work, name) for name in ("ml-20m.csv", "ml-20m-counts.npz"))
    if not os.path.exists(matrix):
        run([args.binary, "generate", "ml-20m", "-o", data, "--seed", "1"])
        peer("convert", data, matrix)
    for similarity in ("cosine", "bm25"):
        compare(args, f"ML-20M shape, item {similarity}, K = 20", data, "item", similarity, 20,
                ["--prediction", "sum"],
                lambda: peer("implicit", matrix, similarity, 20, SAMPLE))


def compare_with_surprise(args, name, data, sizes, reading):
    for side in ("user", "item"):
        needed = SURPRISE_MATRICES * 8 * sizes[side] ** 2 / 1e9
        other = lambda: peer("surprise", data, side, 40, SAMPLE)
        if needed > args.memory:
            other = f"cannot: matrices of {needed:.0f} GB"
        compare(args, f"{name}, {side} Pearson, K = 40", data, side, "pearson", 40,
                ["--feedback", "explicit", *reading], other)


def compare_ml_1m(args):
    folder = pathlib.Path(os.environ.get("LIKEWISE_DATA", ROOT / "../shared/data"))
    data = folder / "ml-1m/ratings_notime.dat.gz"
    if not data.exists():
        sys.exit(f"no {data}: set LIKEWISE_DATA to a folder with MovieLens")
    compare_with_surprise(args, "ml-1m", str(data), {"user": 6040, "item": 3706}, [])


def compare_ml_10m(args):
    data = os.path.join(args.work, "ml-10m.csv")
    if not os.path.exists(data):
        run([args.binary, "generate", "69878x10677x10m:explicit", "-o", data, "--seed", "1"])
    compare_with_surprise(args, "ML-10M shape", data, {"user": 69878, "item": 10677}, [])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", default="/tmp/likewise-compare")
    parser.add_argument("--only", default="ml-20m,ml-1m,ml-10m")
    parser.add_argument("--memory", type=float, default=8)
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    print("| work | likewise | the peer | ratio, round by round |\n|---|---|---|---|", flush=True)
    parts = {"ml-20m": compare_with_implicit, "ml-1m": compare_ml_1m, "ml-10m": compare_ml_10m}
    for part in args.only.split(","):
        parts[part](args)


if __name__ == "__main__":
    main()
