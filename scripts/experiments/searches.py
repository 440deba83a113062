# SPDX-License-Identifier: Apache-2.0
"""`likewise tune` compared to random search: the test value of what each finds in the same time.

    scripts/experiment searches [--budget 8m] [--seeds 1] [--cores 0,1 2,3 ...] [--data ml-1m,...]
                                [--methods tune,random] [--validation fifth] [--earlier 0,1,...]

Test parts are those of choosing.md and quality.md: of lists (NDCG@10) a random fifth of ml-1m, a random
tenth of the 4 and 5 stars of goodbooks-10k, the last film of each user of ml-latest-small; of ratings (RMSE) a
random tenth of ml-1m and of ml-latest-small, and the newest fifth of ml-latest-small. --earlier 0,1,2 repeats the
searches of the last film with the second and the third last, the later ones taken away. Both searches see the
training part only, and measure on the same part of it, cut in the same way (by the seed), or with --validation on a
random fifth. Random search draws the algorithm, then its parameters, from the ranges of `tune`
(command-line.md), and trains each to its end: `train` with the longest training of `tune`, its patience and no
halving; nothing starts at the defaults. A training that is under way when the budget is over does not count. The
winner of each is trained on the whole training part and scored on the test part once.

All searches run at the same time, each pinned to a pair of cores and with two threads: with fewer pairs than
searches some share a pair, which is said. They end within the budget and a minute. The table has the values of
choosing.md and those of defaults too.
"""
import concurrent.futures
import dataclasses
import math
import os
import pathlib
import random
import sys
import tempfile
import time

from .study import FILES, LAST, LIKED_BOOKS, Failed, Study, parser, require_data, row, table

AFTER = 60  # seconds that training and scoring the winners may take

SIMILARITIES = ("cosine", "tfidf", "bm25", "jaccard", "log-likelihood", "conditional", "rp3")
UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclasses.dataclass
class Data:
    file: pathlib.Path
    test: str  # in words
    reading: list[str]  # options of the first split
    cut: list[str]  # how the test part is cut
    grids: list[tuple[str, float]]  # of the pages: line, test value
    feedback: str = "implicit"

    @property
    def metric(self):
        return "ndcg@10" if self.feedback == "implicit" else "rmse"

    def better(self, a, b):
        return a > b if self.feedback == "implicit" else a < b


DATA = {
    "ml-1m": Data(FILES["ml-1m"], "random fifth", [], ["--test", "0.2"],
                  [("popular", 0.2038), ("als, best of its grid", 0.4050),
                   ("item-knn, best of its grid", 0.3884), ("user-knn, best of its grid", 0.3895)]),
    "goodbooks-10k": Data(FILES["goodbooks-10k"], "random tenth of 4 and 5 stars",
                          LIKED_BOOKS, ["--test", "0.1"],
                          [("popular", 0.0005), ("als, best of its grid", 0.1643),
                           ("item-knn, best of its grid", 0.2242), ("user-knn, best of its grid", 0.2001)]),
    "ml-latest-small": Data(FILES["ml-latest-small"], "last of each user", [],
                            LAST,
                            [("popular", 0.0209), ("als, best of its grid", 0.0423),
                             ("item-knn, best of its grid", 0.0385), ("user-knn, best of its grid", 0.0330)]),
    "ml-1m-ratings": Data(FILES["ml-1m"], "ratings, random tenth", [], ["--test", "0.1"],
                          [("bias", 0.9066), ("als, best of its grid", 0.8394)], "explicit"),
    "ml-latest-small-ratings": Data(FILES["ml-latest-small"], "ratings, random tenth", [], ["--test", "0.1"],
                                    [("bias", 0.8967), ("als, best of its grid", 0.8669)], "explicit"),
    "ml-latest-small-newest": Data(FILES["ml-latest-small"], "ratings, newest fifth", [],
                                   ["--test", "0.2", "--method", "time"],
                                   [("bias", 1.0242), ("als, best of its grid", 1.0152)], "explicit"),
}


def number(draw, kind, low, high):
    """As `tune` writes it: three digits."""
    value = low * (high / low) ** draw.random() if kind == "log" else low + (high - low) * draw.random()
    return f"{value:.3g}"


def count(draw, option, kind, low, high):
    return [option, str(round(float(number(draw, kind, low, high))))]


def factors_of_als(draw, suited):
    return count(draw, "--factors", "log", 16, 1024 if suited["factors"] >= 512 else 512)


def drawn_of_ratings(draw, suited):
    """As drawn(), of explicit feedback."""
    algorithm = draw.choice(("als", "sgd", "item-knn", "user-knn"))
    options = ["--algorithm", algorithm]
    nu = number(draw, "linear", 0, 1)
    if algorithm == "als":
        about = suited["regularization"] * 100 ** (suited["regularization_exponent"] - float(nu))
        return options + [*factors_of_als(draw, suited), "--regularization-exponent", nu,
                          "--regularization", number(draw, "log", about / 10, about * 10)]
    if algorithm == "sgd":
        weight = 100 ** (1 - float(nu))
        return options + [*count(draw, "--factors", "log", 8, 256), "--regularization-exponent", nu,
                          "--regularization", number(draw, "log", 0.01 * weight, weight),
                          "--learning-rate", number(draw, "log", 0.005, 0.1)]
    return options + [*count(draw, "--neighbours", "log", 5, 500),
                      "--similarity", draw.choice(("msd", "pearson", "pearson-baseline")),
                      "--shrinkage", number(draw, "log", 1, 300),
                      "--prediction", draw.choice(("centred", "baseline"))]


def drawn(draw, suited):
    """Options of `train`, drawn from the ranges of `tune`; suited: parameters of als by default for the data."""
    algorithm = draw.choice(("als", "bpr", "ease", "item-knn", "spectral", "user-knn"))
    options = ["--algorithm", algorithm]
    if algorithm == "als":
        w0 = suited["unobserved_weight"]
        options += factors_of_als(draw, suited)
        weight = number(draw, "log", w0 / 16, w0 * 16)
        about = suited["regularization"] * math.sqrt(w0 / float(weight))
        return options + ["--unobserved-weight", weight, "--regularization-exponent", "1",
                          "--regularization", number(draw, "log", about / 8, about * 8)]
    if algorithm == "bpr":
        return options + count(draw, "--factors", "log", 16, 256) + [
            "--regularization", number(draw, "log", 3e-4, 0.1), "--learning-rate", number(draw, "log", 0.01, 0.3),
            "--negatives", draw.choice(("uniform", "popular"))]
    if algorithm == "ease":
        return options + ["--user-exponent", number(draw, "linear", 0, 1), "--item-exponent", number(draw, "linear", 0, 1),
                          "--regularization", number(draw, "log", 0.1, 90), "--dropout", number(draw, "linear", 0, 0.9)]
    if algorithm == "spectral":
        return options + count(draw, "--factors", "log", 16, 1024) + [
            "--item-exponent", number(draw, "linear", 0, 1), "--spectrum-exponent", number(draw, "linear", 0, 2)]
    similarity = draw.choice(SIMILARITIES)
    options += [*count(draw, "--neighbours", "log", 5, 500), "--similarity", similarity,
                "--shrinkage", number(draw, "log", 1, 300)]
    if similarity == "bm25":
        options += ["--bm25-k1", number(draw, "log", 0.1, 100), "--bm25-b", number(draw, "linear", 0, 1)]
    if similarity == "conditional":
        options += ["--popularity-damping", number(draw, "linear", 0, 1)]
    if similarity == "rp3":
        options += ["--user-exponent", number(draw, "linear", 0, 1.5), "--item-exponent", number(draw, "linear", 0, 1)]
    lists = draw.choice(("own", "reverse", "both"))
    options += ["--sum-lists", lists]
    if algorithm == "item-knn":
        options += ["--sum-scale", draw.choice(("none", "mean", "offset")[:3 if lists == "reverse" else 2])]
    return options


def longest(algorithm):
    """Options of a whole training: iterations and patience."""
    most = {"als": 63, "bpr": 180, "sgd": 90}.get(algorithm, 0)
    return ["--iterations", str(most), "--patience", str(most // 9)] if most else []


class Job(Study):
    """A search of one data set, in a folder of its own."""

    def __init__(self, args, name, parts, folder, seed):
        super().__init__(folder, args.threads)
        self.args = args
        self.data = DATA[name]
        self.name = name
        self.training, self.test = parts
        self.seed = seed
        self.begin = time.monotonic()
        self.most = args.seconds + AFTER  # seconds from the beginning

    def ask(self, *words, limit=math.inf):
        """What it printed, as JSON; None where it did not end within so many seconds of the search."""
        most = min(limit, self.most)
        ran = self.run(*words, until=None if most == math.inf else self.begin + most)
        return ran and ran.told

    def validation(self, share, method):
        """The cut of the validation part, in options of these names."""
        cut = ["--test", "0.2"] if self.args.validation == "fifth" else self.data.cut
        return [{"--test": share, "--method": method}.get(word, word) for word in cut]

    def score(self):
        """Test value of the model."""
        metric = self.data.metric
        told = self.ask("evaluate", "model", self.test, "--metrics", metric.split("@")[0], "--json")
        if told is None:
            raise Failed("the winner was not trained and scored in time")
        return told[metric]

    def defaults(self, algorithm):
        told = self.ask("train", self.training, "-o", "model", "--algorithm", algorithm, "--feedback", self.data.feedback,
                        "--json", "--device", "cpu")
        return {"chosen by": "`--algorithm auto`" if algorithm == "auto" else "defaults", "winner": told["algorithm"],
                "test": self.score()}

    def tune(self):
        told = self.ask("tune", self.training, "-o", "model", "--budget", self.args.budget, "--seed", self.seed,
                        "--metric", self.data.metric, "--feedback", self.data.feedback,
                        *self.validation("--validation-share", "--validation-method"), "--device", "cpu", "--json")
        if told is None:
            raise Failed("the search did not end in time")
        words = told["command"].split()
        line = " ".join(words[words.index("--algorithm") + 1:])
        return {"chosen by": NAMES[Job.tune], "trials": len(told["trials"]), "seconds": told["seconds"],
                "winner": line, "validation": told["best"]["value"], "test": self.score()}

    def draw_from(self, train):
        """What draws the options of one training."""
        draw = random.Random(f"{self.name} {self.seed}")
        told = self.ask(*train, "--iterations", 0)
        if told is None:
            raise Failed("the budget was over before the first training")
        of_feedback = drawn_of_ratings if self.data.feedback == "explicit" else drawn
        return lambda: of_feedback(draw, told["parameters"])

    def random_search(self):
        self.split(self.training, "parts", self.validation("--test", "--method"), seed=self.seed)
        common = ["--feedback", self.data.feedback, "--device", "cpu"]
        train = ["train", "parts/train.csv", "-o", "trial", "--json", *common]
        draw = self.draw_from(train)
        trials, best, winner = 0, None, None
        while time.monotonic() - self.begin < self.args.seconds:
            options = draw()
            try:
                told = self.ask(*train, *options, *longest(options[1]), "--validation", "parts/test.csv",
                                "--validation-metric", self.data.metric, limit=self.args.seconds)
            except Failed:  # steps too long for these data
                trials += 1
                continue
            if told is None:
                break
            trials += 1
            iterations = ["--iterations", str(told["best_iteration"])] if longest(options[1]) else []
            values = [one["validation"] for one in told["iterations"] or [told]]
            value = max(values) if self.data.better(1, 0) else min(values)
            if best is None or self.data.better(value, best):
                best, winner = value, options + iterations
        if winner is None:
            raise Failed("no training ended within the budget")
        seconds = time.monotonic() - self.begin
        self.ask("train", self.training, "-o", "model", *winner, *common)
        return {"chosen by": NAMES[Job.random_search], "trials": trials, "seconds": seconds,
                "winner": " ".join(winner[1:]), "validation": best, "test": self.score()}


NAMES = {Job.tune: "`tune`", Job.random_search: "random search"}
METHODS = {"tune": Job.tune, "random": Job.random_search}


def pinned(cores, work):
    """What the work comes to on these cores, or why it failed. Programs that a thread starts inherit its cores."""
    os.sched_setaffinity(0, cores)
    try:
        return work()
    except Failed as failure:
        return {"failed": str(failure)}


def place_of(name, earlier):
    """In words."""
    return f"{name}, {DATA[name].test}" + (f", {earlier} earlier" if earlier else "")


def cells_of(name, earlier, found):
    return [place_of(name, earlier), found.get("chosen by", ""), found.get("seed", ""), found.get("trials", ""),
            f"{found['seconds']:.0f}" if "seconds" in found else "",
            f"`{found['winner']}`" if "winner" in found else found.get("failed", ""),
            *(f"{found[key]:.4f}" if key in found else "" for key in ("validation", "test"))]


def parsed(words, prog):
    given = parser(__doc__, prog)
    given.add_argument("--budget", default="8m", help="of each search: 30s, 8m, 1h [8m]")
    given.add_argument("--seeds", default="1", help="a search by each method and data set for each: 1,2,3 [1]")
    given.add_argument("--data", default="ml-1m,goodbooks-10k,ml-latest-small", help=f"some of {', '.join(DATA)}")
    given.add_argument("--methods", default="tune,random", help="one of them or both")
    given.add_argument("--earlier", default="0", help="films of each user to take away first: 0,1,2; a search for each")
    given.add_argument("--validation", choices=["as-test", "fifth"], default="as-test",
                       help="the validation part: cut as the test part, or a random fifth")
    given.add_argument("--cores", nargs="+", help="a pair for each search: 0,1 2,3 ... [all that there are]")
    args = given.parse_args(words)
    try:
        args.seconds = float(args.budget[:-1]) * UNITS[args.budget[-1]]
    except (ValueError, KeyError, IndexError):
        given.error(f"--budget {args.budget}: give a time, as 30s, 8m or 1h")
    for option, some, all_ in (("--data", args.data, DATA), ("--methods", args.methods, METHODS)):
        unknown = set(some.split(",")) - set(all_)
        if unknown:
            given.error(f"{option}: there is no {', '.join(sorted(unknown))}; there are {', '.join(all_)}")
    own = sorted(os.sched_getaffinity(0))
    args.pairs = [own[i:i + 2] for i in range(0, len(own) - len(own) % 2 or 1, 2)]
    if args.cores:
        args.pairs = [[int(core) for core in pair.split(",")] for pair in args.cores]
    args.tests = [(name, int(earlier)) for name in args.data.split(",") for earlier in args.earlier.split(",")
                  if earlier == "0" or DATA[name].cut == LAST]
    if {name for name, _ in args.tests} != set(args.data.split(",")):
        given.error("--earlier: of data other than ml-latest-small there is only 0, the test part itself")
    return args


def main(words, prog):
    args = parsed(words, prog)
    require_data()
    seeds = [int(seed) for seed in args.seeds.split(",")]
    methods = [METHODS[name] for name in args.methods.split(",")]
    searches = len(args.tests) * len(seeds) * len(methods)
    if len(args.pairs) < searches:
        print(f"{searches} searches share {len(args.pairs)} pairs of cores: they have less than two each",
              file=sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        place = pathlib.Path(temporary)

        def folder(*parts):
            made = place / "-".join(map(str, parts))
            made.mkdir()
            return made

        rows = {(name, earlier): [] if earlier else
                [{"chosen by": f"docs: {line}", "test": value} for line, value in DATA[name].grids]
                for name, earlier in args.tests}
        jobs = []
        for name, earlier in args.tests:
            data, study = DATA[name], Study(folder(name, earlier), args.threads)
            parts = study.earlier(data.file, "part", data.cut, [earlier], data.reading)[0]
            first = Job(args, name, parts, study.folder, 0)
            first.most = math.inf  # it is no search
            rows[name, earlier] += [first.defaults("als"), first.defaults("auto")]
            for seed in seeds:
                for method in methods:
                    jobs.append((name, earlier, seed, method, parts))

        def search(at):
            name, earlier, seed, method, parts = jobs[at]
            job = Job(args, name, parts, folder(name, earlier, method.__name__, seed), seed)
            found = {**pinned(args.pairs[at % len(args.pairs)], lambda: method(job)), "seed": seed}
            found.setdefault("chosen by", NAMES[method])
            print(cells_of(name, earlier, found), file=sys.stderr, flush=True)
            return found

        with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
            for (name, earlier, *_), found in zip(jobs, pool.map(search, range(len(jobs)))):
                rows[name, earlier].append(found)
    table(["data, test part", "chosen by", "seed", "trials", "seconds", "winner", "validation", "test"], {2, 3, 4, 6, 7})
    for test, some in rows.items():
        for found in some:
            row(cells_of(*test, found))
    return 1 if any("failed" in found for some in rows.values() for found in some) else 0
