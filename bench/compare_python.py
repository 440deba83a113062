#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package compared to C++ and, where it is installed, to implicit.

    bench/compare_python.py [--shape ml-20m] [--factors 64] [--threads 2] [--rounds 3]
                            [--answers build/release/bin/bench_answers]

Generates the shape once. Every round measures, turn by turn: reading a pandas frame of rows with text
ids; training, the lists of all users and all items' similar ones in Python, as arrays; the same in
C++, by the program (its own seconds of training) and by bench_answers; and from a SciPy matrix to a
model and the lists of all users under implicit's names, by likewise and by implicit (implicit's
defaults). Prints medians, with the least and the most. Run it on an idle machine: ratios within a
round are what to quote.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import pandas as pd
import scipy.sparse

import likewise
from likewise import program


def seconds(work):
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def shown(times):
    return f"{statistics.median(times):.3f} s ({min(times):.3f} - {max(times):.3f})"


def by_program(path, folder, given):
    """Seconds of training, by the program."""
    told = subprocess.run([program.path(), "train", path, "-o", folder / "m", "--json", "--factors",
                           str(given.factors), "--iterations", str(given.iterations), "--threads",
                           str(given.threads), "--device", "cpu", "--quiet"],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(told)["seconds"]["train"]


def answered(given, folder):
    """Seconds of the lists of all users, and of all items' similar ones, by C++."""
    told = subprocess.run([given.answers, folder / "m", "10", str(given.threads)], check=True,
                          capture_output=True, text=True).stdout
    return map(float, told.split())


def new(fit):
    """The model without what it keeps for its next answers."""
    return likewise.Model(fit.model_._core, device="cpu", threads=fit.threads)


def by_likewise(matrix, given):
    import likewise.als
    model = likewise.als.AlternatingLeastSquares(factors=given.factors, iterations=given.iterations,
                                                 num_threads=given.threads, use_gpu=False, random_state=1)
    model.fit(matrix, show_progress=False)
    return model.recommend(np.arange(matrix.shape[0]), matrix, N=10)


def by_implicit(matrix, given):
    import implicit.als
    model = implicit.als.AlternatingLeastSquares(factors=given.factors, iterations=given.iterations,
                                                 num_threads=given.threads, use_gpu=False, random_state=1)
    model.fit(matrix, show_progress=False)
    return model.recommend(np.arange(matrix.shape[0]), matrix, N=10)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--shape", default="ml-20m")
    options.add_argument("--factors", type=int, default=64)
    options.add_argument("--iterations", type=int, default=15)
    options.add_argument("--threads", type=int, default=os.cpu_count())
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--answers", default="build/release/bin/bench_answers")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "rows.csv"
        subprocess.run([program.path(), "generate", given.shape, "-o", path, "-q"], check=True)
        data = likewise.Interactions(path)
        matrix = scipy.sparse.csr_matrix(data.to_csr(), copy=True)
        rows = np.repeat(np.arange(data.shape[0]), np.diff(matrix.indptr))
        frame = pd.DataFrame({"user": [f"user {u}" for u in rows], "item": [f"item {i}" for i in matrix.indices],
                              "value": matrix.data})
        print(f"{given.shape}: {data!r}, {given.threads} threads, {given.rounds} rounds")
        times = {}
        fit = likewise.Als(factors=given.factors, iterations=given.iterations, threads=given.threads, device="cpu")
        for _ in range(given.rounds):
            measured = {"frame with text ids": seconds(lambda: likewise.Interactions(frame, threads=given.threads))[0],
                        "training, C++": by_program(path, folder, given),
                        "training, Python": seconds(lambda: fit.fit(data))[0],
                        "lists for all, Python": seconds(lambda: new(fit).recommend(n=10))[0],
                        "similar for all, Python": seconds(lambda: new(fit).similar_items(n=10))[0],
                        "matrix to lists, likewise": seconds(lambda: by_likewise(matrix, given))[0]}
            measured["lists for all, C++"], measured["similar for all, C++"] = answered(given, folder)
            try:
                measured["matrix to lists, implicit"] = seconds(lambda: by_implicit(matrix, given))[0]
            except ImportError:
                pass
            for what, took in measured.items():
                times.setdefault(what, []).append(took)
        for what, taken in times.items():
            print(f"{what:28} {shown(taken)}")
        print(f"frame: {len(frame) / statistics.median(times['frame with text ids']) / 1e6:.1f} M rows/s")
        for over, under in (("training, Python", "training, C++"), ("lists for all, Python", "lists for all, C++"),
                            ("similar for all, Python", "similar for all, C++"),
                            ("matrix to lists, implicit", "matrix to lists, likewise")):
            if over in times:
                ratios = [a / b for a, b in zip(times[over], times[under])]
                print(f"{over} / {under}: {statistics.median(ratios):.2f} ({min(ratios):.2f} - {max(ratios):.2f})")


if __name__ == "__main__":
    main()
