#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`likewise tune` beside random search: the test NDCG@10 of what each finds in the same time.

    bench/tune.py [--program likewise] [--budget 8m] [--seeds 1] [--cores 0,1 2,3 ...] [--data ml-1m,...]
                  [--validation fifth]

Test parts are those of docs/choosing.md: ml-1m a random fifth, goodbooks-10k a random tenth of 4 and 5 stars,
ml-latest-small the last film of each user. Both searches see the training part only, and measure on the same
part of it, cut in the same way (by the seed), or with --validation on a random fifth. Random search draws the algorithm, then its parameters, from the
ranges of `tune` (docs/command-line.md), and trains each to its end: `train` with the longest training of
`tune`, its patience and no halving; nothing starts at the defaults. A training that is under way when the
budget is over does not count. The winner of each is trained on the whole training part and scored on the test
part once.

All searches run at the same time, each pinned to a pair of cores and with two threads: with fewer pairs than
searches some share a pair, which is said. They end within the budget and a minute. Needs the program and
LIKEWISE_DATA, the folder of the data; nothing but Python's own library. Prints one Markdown table, with the
values of docs/choosing.md and those of defaults beside; progress goes to standard error.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

METRIC = "ndcg@10"
SPLIT_SEED = 2026  # of the test parts
AFTER = 60  # seconds that training and scoring the winners may take

FACTORS = ("--factors", "log", 16, 256)
SIMILARITIES = ("cosine", "tfidf", "bm25", "jaccard", "log-likelihood", "conditional")
UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclasses.dataclass
class Data:
    file: str
    test: str  # in words
    reading: list[str]  # options of the first split
    cut: list[str]  # how the test part is cut
    grids: list[tuple[str, float]]  # of docs/choosing.md: line, test value


DATA = {
    "ml-1m": Data("ml-1m/ratings_notime.dat.gz", "random fifth", [], ["--test", "0.2"],
                  [("popular", 0.2038), ("als, best of its grid", 0.4050),
                   ("item-knn, best of its grid", 0.3647), ("user-knn, best of its grid", 0.3788)]),
    "goodbooks-10k": Data("goodbooks-10k/ratings.csv.gz", "random tenth of 4 and 5 stars",
                          ["--min-value", "4", "--columns", "user_id,book_id,rating"],
                          ["--test", "0.1"],
                          [("popular", 0.0005), ("als, best of its grid", 0.1643),
                           ("item-knn, best of its grid", 0.2040), ("user-knn, best of its grid", 0.1992)]),
    "ml-latest-small": Data("ml-latest-small/ratings.csv.gz", "last of each user", [],
                            ["--method", "last"],
                            [("popular", 0.0209), ("als, best of its grid", 0.0436),
                             ("item-knn, best of its grid", 0.0380), ("user-knn, best of its grid", 0.0339)]),
}


def number(draw, kind, low, high):
    """As `tune` writes it: three digits."""
    value = low * (high / low) ** draw.random() if kind == "log" else low + (high - low) * draw.random()
    return f"{value:.3g}"


def count(draw, option, kind, low, high):
    return [option, str(round(float(number(draw, kind, low, high))))]


def drawn(draw, suited):
    """Options of `train`, drawn from the ranges of `tune`; suited: (w0, lambda) of the data."""
    algorithm = draw.choice(("als", "bpr", "item-knn", "user-knn"))
    options = ["--algorithm", algorithm]
    if algorithm == "als":
        w0, lambda_ = suited
        options += count(draw, *FACTORS)
        weight = number(draw, "log", w0 / 16, w0 * 16)
        about = lambda_ * math.sqrt(w0 / float(weight))
        return options + ["--unobserved-weight", weight, "--regularization-exponent", "1",
                          "--regularization", number(draw, "log", about / 8, about * 8)]
    if algorithm == "bpr":
        return options + count(draw, *FACTORS) + [
            "--regularization", number(draw, "log", 3e-4, 0.1), "--learning-rate", number(draw, "log", 0.01, 0.3),
            "--negatives", draw.choice(("uniform", "popular"))]
    similarity = draw.choice(SIMILARITIES)
    options += [*count(draw, "--neighbours", "log", 5, 500), "--similarity", similarity]
    if similarity == "bm25":
        options += ["--bm25-k1", number(draw, "log", 0.1, 100), "--bm25-b", number(draw, "linear", 0, 1)]
    if similarity == "conditional":
        options += ["--popularity-damping", number(draw, "linear", 0, 1)]
    lists = draw.choice(("own", "reverse", "both"))
    options += ["--sum-lists", lists]
    if algorithm == "item-knn":
        options += ["--sum-scale", draw.choice(("none", "mean", "offset")[:3 if lists == "reverse" else 2])]
    return options


def longest(algorithm):
    """Options of a whole training: iterations and patience."""
    most = {"als": 63, "bpr": 180}.get(algorithm, 0)
    return ["--iterations", str(most), "--patience", str(most // 9)] if most else []


class Failed(Exception):
    pass


class Job:
    """A search of one data set, in a folder of its own."""

    def __init__(self, args, name, parts, folder, seed):
        self.args = args
        self.data = DATA[name]
        self.name = name
        self.train, self.test = parts / "train.csv", parts / "test.csv"
        self.folder = folder
        self.seed = seed
        self.begin = time.monotonic()
        self.most = args.seconds + AFTER  # seconds from the beginning

    def run(self, *words, limit=math.inf):
        """What it printed, as JSON; None where it did not end within so many seconds of the search."""
        left = min(limit, self.most) - (time.monotonic() - self.begin)
        command = [self.args.program, *map(str, words), "--quiet"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False,
                                  timeout=None if left == math.inf else max(0.01, left))
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: {done.stderr.strip()}")
        return json.loads(done.stdout) if done.stdout.startswith("{") else {}

    def cut(self, file, folder, seed, cut, *reading):
        drawn_by = [] if "--method" in cut else ["--seed", seed]  # "last" draws nothing
        self.run("split", file, "-o", folder, *reading, *cut, *drawn_by)

    def validation(self, share, method):
        """The cut of the validation part, in options of these names."""
        option, value = ("--test", "0.2") if self.args.validation == "fifth" else self.data.cut
        return [method if option == "--method" else share, value]

    def score(self):
        """Test value of the model."""
        told = self.run("evaluate", "model", self.test, "--metrics", "ndcg", "--json", *THREADS)
        if told is None:
            raise Failed("the winner was not trained and scored in time")
        return told[METRIC]

    def defaults(self, algorithm):
        told = self.run("train", self.train, "-o", "model", "--algorithm", algorithm, "--json", "--device", "cpu", *THREADS)
        return {"chosen by": "`--algorithm auto`" if algorithm == "auto" else "defaults", "winner": told["algorithm"],
                "test": self.score()}

    def tune(self):
        told = self.run("tune", self.train, "-o", "model", "--budget", self.args.budget, "--seed", self.seed,
                        "--metric", METRIC, *self.validation("--validation-share", "--validation-method"), "--device", "cpu", "--json", *THREADS)
        if told is None:
            raise Failed("the search did not end in time")
        words = told["command"].split()
        line = " ".join(words[words.index("--algorithm") + 1:])
        return {"chosen by": NAMES[Job.tune], "trials": len(told["trials"]), "seconds": told["seconds"],
                "winner": line, "validation": told["best"]["value"], "test": self.score()}

    def random_search(self):
        self.cut(self.train, self.folder / "parts", self.seed, self.validation("--test", "--method"))
        train = ["train", "parts/train.csv", "-o", "trial", "--json", "--device", "cpu", *THREADS]
        told = self.run(*train, "--iterations", 0)
        if told is None:
            raise Failed("the budget was over before the first training")
        told = told["parameters"]
        suited = told["unobserved_weight"], told["regularization"]
        draw = random.Random(f"{self.name} {self.seed}")
        trials, best, winner = 0, -math.inf, None
        while time.monotonic() - self.begin < self.args.seconds:
            options = drawn(draw, suited)
            try:
                told = self.run(*train, *options, *longest(options[1]), "--validation", "parts/test.csv",
                                "--validation-metric", METRIC, limit=self.args.seconds)
            except Failed:  # steps too long for these data
                trials += 1
                continue
            if told is None:
                break
            trials += 1
            iterations = ["--iterations", str(told["best_iteration"])] if longest(options[1]) else []
            value = max(one["validation"] for one in told["iterations"] or [told])
            if value > best:
                best, winner = value, options + iterations
        if winner is None:
            raise Failed("no training ended within the budget")
        seconds = time.monotonic() - self.begin
        self.run("train", self.train, "-o", "model", "--device", "cpu", *winner, *THREADS)
        return {"chosen by": NAMES[Job.random_search], "trials": trials, "seconds": seconds,
                "winner": " ".join(winner[1:]), "validation": best, "test": self.score()}


THREADS = ["--threads", "2"]
NAMES = {Job.tune: "`tune`", Job.random_search: "random search"}


def pinned(cores, work):
    """What the work comes to on these cores, or why it failed. Programs that a thread starts inherit its cores."""
    os.sched_setaffinity(0, cores)
    try:
        return work()
    except Failed as failure:
        return {"failed": str(failure)}


def row(name, found):
    cells = [f"{name}, {DATA[name].test}", found.get("chosen by", ""), found.get("seed", ""), found.get("trials", "")]
    cells.append(f"{found['seconds']:.0f}" if "seconds" in found else "")
    cells.append(f"`{found['winner']}`" if "winner" in found else found.get("failed", ""))
    cells += [f"{found[key]:.4f}" if key in found else "" for key in ("validation", "test")]
    return "| " + " | ".join(map(str, cells)) + " |"


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.environ.get("LIKEWISE_CLI", "build/release/bin/likewise"))
    parser.add_argument("--budget", default="8m", help="of each search: 30s, 8m, 1h")
    parser.add_argument("--seeds", default="1", help="a search by each method and data set for each: 1,2,3")
    parser.add_argument("--data", default=",".join(DATA), help="some of them")
    parser.add_argument("--validation", choices=["as-test", "fifth"], default="as-test",
                        help="the validation part: cut as the test part, or a random fifth")
    parser.add_argument("--cores", nargs="+", help="a pair for each search: 0,1 2,3 ... [all that there are]")
    args = parser.parse_args()
    args.program = str(pathlib.Path(args.program).resolve())
    try:
        args.seconds = float(args.budget[:-1]) * UNITS[args.budget[-1]]
    except (ValueError, KeyError, IndexError):
        parser.error(f"--budget {args.budget}: give a time, as 30s, 8m or 1h")
    unknown = set(args.data.split(",")) - set(DATA)
    if unknown:
        parser.error(f"--data: there is no {', '.join(sorted(unknown))}; there are {', '.join(DATA)}")
    own = sorted(os.sched_getaffinity(0))
    args.pairs = [own[i:i + 2] for i in range(0, len(own) - len(own) % 2 or 1, 2)]
    if args.cores:
        args.pairs = [[int(core) for core in pair.split(",")] for pair in args.cores]
    return parser, args


def main():
    parser, args = parsed()
    if "LIKEWISE_DATA" not in os.environ:
        parser.error("LIKEWISE_DATA has to name the folder with ml-1m, goodbooks-10k and ml-latest-small")
    source = pathlib.Path(os.environ["LIKEWISE_DATA"]).resolve()
    names = args.data.split(",")
    seeds = [int(seed) for seed in args.seeds.split(",")]
    searches = len(names) * len(seeds) * 2
    if len(args.pairs) < searches:
        print(f"{searches} searches share {len(args.pairs)} pairs of cores: they have less than two each",
              file=sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        place = pathlib.Path(temporary)

        def folder(*words):
            made = place / "-".join(map(str, words))
            made.mkdir()
            return made

        rows = {name: [{"chosen by": f"docs: {line}", "test": value} for line, value in DATA[name].grids]
                for name in names}
        jobs = []
        for name in names:
            parts = folder(name)
            first = Job(args, name, parts, parts, 0)
            first.most = math.inf  # it is no search
            first.cut(source / DATA[name].file, ".", SPLIT_SEED, DATA[name].cut, *DATA[name].reading)
            rows[name] += [first.defaults("als"), first.defaults("auto")]
            for seed in seeds:
                for method in (Job.tune, Job.random_search):
                    jobs.append((name, seed, method, parts))

        def search(at):
            name, seed, method, parts = jobs[at]
            job = Job(args, name, parts, folder(name, method.__name__, seed), seed)
            found = {**pinned(args.pairs[at % len(args.pairs)], lambda: method(job)), "seed": seed}
            found.setdefault("chosen by", NAMES[method])
            print(row(name, found), file=sys.stderr, flush=True)
            return found

        with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
            for (name, *_), found in zip(jobs, pool.map(search, range(len(jobs)))):
                rows[name].append(found)
    print("| data, test part | chosen by | seed | trials | seconds | winner | validation | test NDCG@10 |")
    print("|---|---|---:|---:|---:|---|---:|---:|")
    for name in names:
        for found in rows[name]:
            print(row(name, found))
    if any("failed" in found for some in rows.values() for found in some):
        sys.exit(1)


if __name__ == "__main__":
    main()
