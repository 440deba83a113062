#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nearest neighbours of all rows by brute force and by an inverted file: likewise (exact) and faiss, as a Markdown table.

    bench/compare_inverted.py BENCH_TOP_K [--rows N] [--columns D] [--neighbours K] [--rounds R] [--small]

Rows are normal numbers, which no clustering helps with, and points about 200 centres, which it does. faiss' inverted file has
sqrt(N) lists, of which `probes` are looked at; its recall is the part of the true neighbours that it finds. Building it (clusters and
lists) is a column of its own. Seconds, medians with the least and the most, by the threads that each takes by itself. The lines of
likewise are bench_top_k's, of rows drawn in the same way. Needs NumPy and faiss-cpu.
"""
import argparse
import math
import statistics
import subprocess
import time


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench_top_k")
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--neighbours", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="1,000 rows of 16, 10 neighbours, one round")
    args = parser.parse_args()
    if args.small:
        args.rows, args.columns, args.neighbours, args.rounds = 1000, 16, 10, 1
    return args


CENTRES = 200


def rows_of(np, kind, count, columns):
    random = np.random.default_rng(1)
    noise = random.standard_normal((count, columns), dtype=np.float32)
    if kind == "normal":
        return noise
    centres = 2 * random.standard_normal((CENTRES, columns), dtype=np.float32)
    return centres[random.integers(CENTRES, size=count)] + noise


def spread(seconds):
    return f"{statistics.median(seconds):.3f} ({min(seconds):.3f} - {max(seconds):.3f})"


def searched(index, rows, k, rounds):
    """Seconds of each round, and the neighbours."""
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        _, found = index.search(rows, k)
        seconds.append(time.perf_counter() - begin)
    return seconds, found


def recall(truth, found):
    return statistics.mean(len(set(a) & set(b)) / len(a) for a, b in zip(truth.tolist(), found.tolist(), strict=True))


def search_exactly(kind, args):
    items = f"{args.rows}@{CENTRES}" if kind == "clusters" else str(args.rows)
    told = subprocess.run([args.bench_top_k, "cpu", "0", items, str(args.columns), str(args.neighbours), "euclidean"],
                          capture_output=True, text=True, check=True).stdout
    print(f"| {kind} | likewise, exact | | | {told.splitlines()[2].split(' | ')[6]} | 1 |", flush=True)


def compare(np, faiss, kind, args):
    search_exactly(kind, args)
    rows = rows_of(np, kind, args.rows, args.columns)
    flat = faiss.IndexFlatL2(args.columns)
    flat.add(rows)
    seconds, truth = searched(flat, rows, args.neighbours, args.rounds)
    print(f"| {kind} | faiss, brute force | | | {spread(seconds)} | 1 |")
    lists = round(math.sqrt(args.rows))
    begin = time.perf_counter()
    inverted = faiss.IndexIVFFlat(faiss.IndexFlatL2(args.columns), args.columns, lists)
    inverted.train(rows)
    inverted.add(rows)
    built = time.perf_counter() - begin
    for probes in sorted({1, 4, 16, lists // 2}):
        inverted.nprobe = probes
        seconds, found = searched(inverted, rows, args.neighbours, args.rounds)
        print(f"| {kind} | faiss, inverted file of {lists} lists | {probes} | {built:.3f} | {spread(seconds)} | {recall(truth, found):.3f} |",
              flush=True)


def main():
    args = read_arguments()
    import faiss  # pylint: disable=import-outside-toplevel
    import numpy as np  # pylint: disable=import-outside-toplevel
    print(f"{args.rows} rows of {args.columns}, {args.neighbours} neighbours each, faiss {faiss.__version__}\n")
    print("| rows | program | probes | built, s | search, s | recall |\n|---|---|---:|---:|---|---:|")
    for kind in ("normal", "clusters"):
        compare(np, faiss, kind, args)


if __name__ == "__main__":
    main()
