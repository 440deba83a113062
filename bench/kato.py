#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Table of Kato and Hosino (2009): seconds an iteration of factorising a sparse n x n matrix by gradient steps.

    bench/kato.py PROGRAM [--device cpu] [--sizes 10000,20000,40000] [--iterations 9] [--threads 0]

1 % of the matrix is filled, with 256 factors. Their algorithm is `--order alternating`: all users with the
items held fixed, then all items with the users held fixed. The matrices are made by `likewise generate`.
Prints medians over the iterations but for the first, with the least and the most.
"""
import argparse
import json
import pathlib
import platform
import statistics
import subprocess
import tempfile

FILLED = 0.01
FACTORS = 256
PUBLISHED = {10_000: "6.2 / 0.2"}  # Core i7 / GTX 280


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sizes", default="10000,20000,40000")
    parser.add_argument("--iterations", type=int, default=9)
    parser.add_argument("--threads", type=int, default=0)
    return parser.parse_args()


def seconds_of(given, folder, n):
    def likewise(*words):
        return subprocess.run([given.program, *map(str, words)], cwd=folder, check=True, capture_output=True,
                              text=True).stdout

    likewise("generate", f"{n}x{n}x{int(FILLED * n * n)}:explicit", "-o", "ratings.csv")
    told = json.loads(likewise("train", "ratings.csv", "-o", "model", "--algorithm", "sgd", "--order",
                               "alternating", "--factors", FACTORS, "--iterations", given.iterations,
                               "--device", given.device, "--threads", given.threads, "--json"))
    return told["device"], told["interactions"], [one["seconds"] for one in told["iterations"][1:]]


def main():
    given = parse()
    lines, device = [], ""
    for n in map(int, given.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            device, ratings, seconds = seconds_of(given, pathlib.Path(folder), n)
        lines.append(f"| {n:,} | {ratings:,} | {PUBLISHED.get(n, '')} | {statistics.median(seconds):.4f} "
                     f"({min(seconds):.4f} - {max(seconds):.4f}) |")
    print(f"{platform.machine()}, {device}")
    print("| n | ratings | published, i7 / GTX 280, s | likewise, s |\n|---:|---:|---:|---:|", *lines, sep="\n")


if __name__ == "__main__":
    main()
