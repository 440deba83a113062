#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares likewise to the PyPI packages `implicit` and `irspack` and prints one Markdown table.

    python3 -m venv /tmp/peer && /tmp/peer/bin/pip install implicit irspack==0.5.2 numpy scipy
    /tmp/peer/bin/python bench/compare.py build/release/bin/likewise [--rounds 3] [--work DIR] \
        [--device cpu|cuda] [--threads 2] [--shape ml-20m] [--factors 64 128] [--exact on|off] \
        [--peers implicit irspack] [--irspack CG CHOLESKY IALSPP]

All use the same device, which is named above the table: the CPU unless `--device cuda` asks for the
GPU (install `implicit`'s own build for it; `irspack` has none). Same machine, data (a shape of our
generator), threads and objective (beside `implicit` Hu's form, alpha 1, lambda 0.01; beside
`irspack` the iALS form on the same cells as likes, w0 0.1, lambda 0.003, nu 1); they take turns, round
by round. Every training time is that of one whole iteration as the program itself reports it; the
objective of `irspack`'s factors is computed by the same formula as ours, and the input of `implicit` is
1 + r so that both use the confidence 1 + alpha r. All other times and all memory are of whole
processes.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compare_peer.py")


def run(command):
    """(seconds, peak MB, standard output) of a whole process."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024, output


HU = ["--alpha", "1", "--regularization", "0.01"]
WEIGHT, LAMBDA = "0.1", "0.003"
IALS = ["--unobserved-weight", WEIGHT, "--regularization", LAMBDA, "--regularization-exponent", "1"]
IALS_EPOCHS = 5


def train_ours(args, data, model, factors, solver, iterations, form):
    command = [args.binary, "train", data, "-o", model, "--factors", str(factors), "--iterations",
               str(iterations), "--threads", str(args.threads), "--json", "--solver", solver,
               "--device", args.device, *form]
    _, memory, output = run(command)
    report = json.loads(output)
    args.devices.add(f"likewise on {report['device']}")
    times = [step["seconds"] for step in report["iterations"]]
    args.reads.append(report["interactions"] / 1e6 / report["seconds"]["read"])
    return statistics.median(times), memory, report["iterations"][-1]["objective"]


def peer(*arguments):
    _, memory, output = run([sys.executable, PEER, *map(str, arguments)])
    return json.loads(output), memory


def spread(values, digits=2):
    middle = statistics.median(values)
    return f"{middle:.{digits}f} ({min(values):.{digits}f} - {max(values):.{digits}f})"


def ratio(theirs, ours):
    pairs = [t / o for t, o in zip(theirs, ours)]
    return f"{statistics.median(pairs):.1f} x ({min(pairs):.1f} - {max(pairs):.1f})"


def print_round(factors, times):
    """The last seconds of each: what is known if a later round is cut off."""
    print(f"f = {factors}, an iteration, s: " + ", ".join(
        f"{name} {seconds[-1]:.4f}" for name, seconds in times.items() if seconds), flush=True)


def compare_training(args, data, matrix, factors, rows):
    ours, memory, cg, exact, peer_memory = [], [], [], [], []
    model = os.path.join(args.work, f"model-{factors}.safetensors")
    for _ in range(args.rounds):
        seconds, megabytes, objective = train_ours(args, data, model, factors, "auto", 10, HU)
        ours.append(seconds)
        memory.append(megabytes)
        report, megabytes = peer("train", matrix, factors, args.device, "cg", 3)
        cg.append(report["seconds"])
        args.devices.add(f"implicit on {report['device']}")
        peer_memory.append(megabytes)
        if args.device == "cpu" and args.exact == "on":  # on a GPU it has no exact solver
            report, _ = peer("train", matrix, factors, args.device, "cholesky", 1)
            exact.append(report["seconds"])
        print_round(factors, {"likewise": ours, "implicit CG": cg, "implicit exact": exact})
    rows.append((f"implicit iteration, f = {factors}, s: against its CG (3 steps)",
                 spread(ours, 4), spread(cg, 4), ratio(cg, ours)))
    if exact:
        rows.append(("the same against its exact solver", spread(ours, 4), spread(exact, 4),
                     ratio(exact, ours)))
    rows += [
        (f"peak memory of training, f = {factors}, MB", spread(memory, 0), spread(peer_memory, 0), ratio(peer_memory, memory)),
    ]
    print(f"f = {factors}: objective after 10 iterations {objective:.8g}", end="")
    if args.exact == "on":
        best = train_ours(args, data, model + ".exact", factors, "cholesky", 10, HU)[2]
        print(f", exact solver {best:.8g}, relative difference {objective / best - 1:+.1e}", end="")
    print(flush=True)
    return model


def compare_ials(args, data, matrix, factors, rows):
    """Beside each solver of irspack, from first factors of the same spread."""
    model = os.path.join(args.work, "model-ials.safetensors")
    ours = []
    theirs = {solver: [] for solver in args.irspack}
    objectives = {}
    for _ in range(args.rounds):
        seconds, _, objectives["likewise"] = train_ours(args, data, model, factors, "auto",
                                                        IALS_EPOCHS, IALS)
        ours.append(seconds)
        for solver, times in theirs.items():
            report, _ = peer("train_ials", matrix, factors, solver, IALS_EPOCHS, WEIGHT, LAMBDA)
            times.append(report["seconds"])
            objectives[f"irspack {solver}"] = report["objective"]
        print_round(factors, {"likewise": ours} | {f"irspack {s}": t for s, t in theirs.items()})
    for solver, times in theirs.items():
        rows.append((f"likes, iALS form, an iteration, f = {factors}, s: against irspack's {solver}",
                     spread(ours, 4), spread(times, 4), ratio(times, ours)))
    print(f"f = {factors}, likes: objective after {IALS_EPOCHS} iterations: " + ", ".join(
        f"{name} {value:.8g}" for name, value in objectives.items()), flush=True)


def compare_recommending(args, model, matrix, factors, rows):
    """On the CPU. The peer's time is its call alone; ours is the whole command, with reading and
    writing."""
    ours, theirs = [], []
    lists = os.path.join(args.work, "lists.csv")
    for _ in range(args.rounds):
        ours.append(run([args.binary, "recommend", model, "--all", "-n", "10", "-o", lists,
                         "--threads", str(args.threads), "--device", "cpu"])[0])
        theirs.append(peer("recommend", matrix, factors)[0]["seconds"])
    rows.append((f"top 10 for all users, f = {factors}, seen filtered, s", spread(ours), spread(theirs), ratio(theirs, ours)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", default="/tmp/likewise-compare")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--shape", default="ml-20m", help="of the generator")
    parser.add_argument("--factors", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--exact", choices=["on", "off"], default="on", help="exact solvers beside `implicit`, too")
    parser.add_argument("--peers", nargs="+", choices=["implicit", "irspack"], default=["implicit", "irspack"])
    parser.add_argument("--irspack", nargs="+", choices=["CG", "CHOLESKY", "IALSPP"],
                        default=["CG", "CHOLESKY", "IALSPP"], help="its solvers")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)  # the peers' too
    args.reads = []
    args.devices = set()
    os.makedirs(args.work, exist_ok=True)
    data = os.path.join(args.work, f"{args.shape}.csv")
    matrix = os.path.join(args.work, f"{args.shape}.npz")
    if not os.path.exists(matrix):
        run([args.binary, "generate", args.shape, "-o", data, "--seed", "1"])
        peer("convert", data, matrix)
    rows = []
    for factors in args.factors:
        if "implicit" in args.peers:
            model = compare_training(args, data, matrix, factors, rows)
            if args.device == "cpu":
                compare_recommending(args, model, matrix, factors, rows)
        if "irspack" in args.peers and args.device == "cpu":
            compare_ials(args, data, matrix, factors, rows)
    if args.reads:
        rows.append(("reading the CSV (user,item,value), M rows/s", spread(args.reads, 1), "", ""))
    print("\n" + "; ".join(sorted(args.devices)))
    print("\n| work | likewise | the peer | ratio, round by round |\n|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
