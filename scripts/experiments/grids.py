# SPDX-License-Identifier: Apache-2.0
"""Test values of parameters that were chosen from grids.

    scripts/experiment grids wide [ratings|ranking|books|time ...]     quality.md: factors, from wide grids
    scripts/experiment grids coarse [ratings|lists ...]                choosing.md: all algorithms, from coarse grids

Grids are the same for all data. The validation part is cut from the training part in the same way as the test part; the
chosen line is trained on the whole training part. Seconds and memory are those of the whole command that
trains the chosen line, with reading and saving; seconds of all its threads, so that other work on the machine hardly
disturbs them. --earlier 1,2 measures, of the last film of each user, not that but the second and the third last, the
later ones taken away, and the row has the means.
"""
import dataclasses
import itertools
import statistics
import sys
import tempfile

from . import similar_books
from .study import DATA, FILES, FOLDS, LAST, LIKED_BOOKS, Study, parser, require_data, row, table


def lines(*common, **choices):
    """All combinations, as options."""
    names = ["--" + name.replace("_", "-") for name in choices]
    for values in itertools.product(*choices.values()):
        yield [*common, *(str(word) for pair in zip(names, values) for word in pair)]


def joined(*grids):
    return list(itertools.chain(*grids))


EXPLICIT = ("--feedback", "explicit")
FACTORS = (16, 32, 64, 128)
# Two decades of lambda for each nu, such that every nu holds a row of 100 ratings alike.
WIDE_RATINGS = joined(*(lines(*EXPLICIT, factors=FACTORS, regularization_exponent=(nu,), regularization=lambdas)
                        for nu, lambdas in ((0, (1, 3, 10, 30, 100)), (0.5, (0.1, 0.3, 1, 3, 10)),
                                            (1, (0.01, 0.03, 0.1, 0.3, 1)))))
# The iALS form with two decades of lambda and of w0.
WIDE_LISTS = joined(*(lines(factors=FACTORS, unobserved_weight=(w0,), regularization_exponent=(1,),
                            regularization=(0.001, 0.003, 0.01, 0.03, 0.1)) for w0 in (0.01, 0.1, 1)))
POPULAR = [["--algorithm", "popular"]]
BIAS = [["--algorithm", "bias"]]
BIASES = [[[*BIAS[0], *how]] for how in ([], ["--baseline-method", "sgd"], ["--baseline", "global-mean"],
                                         ["--baseline", "user-mean"], ["--baseline", "item-mean"])]


def coarse_ratings(algorithm):
    common = (*EXPLICIT, "--algorithm", algorithm)
    if algorithm == "als":
        return joined(*(lines(*common, factors=(16, 128), regularization_exponent=(nu,), regularization=lambdas)
                        for nu, lambdas in ((0.5, (0.3, 1, 3)), (1, (0.03, 0.1, 0.3)))))
    return list(lines(*common, similarity=("msd", "pearson", "pearson-baseline"), shrinkage=(10, 100),
                      neighbours=(20, 40, 80), prediction=("centred", "baseline")))


def coarse_lists(algorithm):
    common = ("--algorithm", algorithm)
    if algorithm == "als":
        return list(lines(*common, factors=(64, 128), regularization_exponent=(1,), unobserved_weight=(0.01, 0.1, 1),
                          regularization=(0.001, 0.003, 0.01)))
    return list(lines(*common, similarity=("cosine", "tfidf", "bm25", "jaccard", "log-likelihood", "conditional"),
                      neighbours=(20, 50, 100, 200)))


COARSE_RATINGS = [coarse_ratings("als"), coarse_ratings("item-knn"), coarse_ratings("user-knn"), BIAS]
COARSE_LISTS = [coarse_lists("als"), coarse_lists("item-knn"), coarse_lists("user-knn"), POPULAR]


@dataclasses.dataclass
class Test:
    name: str
    metric: str
    source: object  # a file, or (train, test) of all folds
    how: list  # how the test part is cut, and the validation part
    grids: list  # of each row; one line is not searched for
    reading: tuple = ()


TENTH, FIFTH = ["--test", "0.1"], ["--test", "0.2"]
NEWEST = ["--method", "time", "--test", "0.2"]
LATEST = FILES["ml-latest-small"]
WIDE = {
    "ratings": [
        Test("ml-100k, mean of u1 to u5", "rmse", FOLDS, TENTH, [WIDE_RATINGS, *BIASES]),
        Test("ml-1m, random tenth", "rmse", FILES["ml-1m"], TENTH, [BIAS, WIDE_RATINGS])],
    "ranking": [Test("ml-1m, random fifth", "ndcg@10", FILES["ml-1m"], FIFTH, [POPULAR, WIDE_LISTS])],
    "books": [Test("goodbooks-10k, random tenth of 4 and 5 stars", "ndcg@10", FILES["goodbooks-10k"], TENTH,
                   [POPULAR, WIDE_LISTS], LIKED_BOOKS)],
    "time": [
        Test("ml-latest-small, newest fifth", "rmse", LATEST, NEWEST, [BIAS, WIDE_RATINGS]),
        Test("ml-latest-small, last of each user", "ndcg@10", LATEST, LAST, [POPULAR, WIDE_LISTS])],
}
COARSE = {
    "ratings": [
        Test("ml-100k, mean of u1 to u5", "rmse", FOLDS, TENTH, COARSE_RATINGS),
        Test("ml-latest-small, random tenth", "rmse", LATEST, TENTH, COARSE_RATINGS),
        Test("ml-1m, random tenth", "rmse", FILES["ml-1m"], TENTH, COARSE_RATINGS)],
    "lists": [
        Test("ml-100k, random fifth", "ndcg@10", FILES["ml-100k"], FIFTH, COARSE_LISTS),
        Test("ml-latest-small, last of each user", "ndcg@10", LATEST, LAST, COARSE_LISTS),
        Test("ml-1m, random fifth", "ndcg@10", FILES["ml-1m"], FIFTH, COARSE_LISTS),
        Test("goodbooks-10k, random tenth of 4 and 5 stars", "ndcg@10", FILES["goodbooks-10k"], TENTH, COARSE_LISTS,
             LIKED_BOOKS)],
}


def algorithm_of(line):
    return line[line.index("--algorithm") + 1] if "--algorithm" in line else "als"


class Search(Study):
    def validated(self, train, validation, metric, line):
        """(value, line); of factors with the best number of iterations."""
        if algorithm_of(line) != "als":
            self.train(train, line)
            return self.value(validation, metric), line
        told = self.train(train, [*line, "--iterations", "60", "--patience", "5", "--validation", validation]).told
        best = told["best_iteration"]
        value = next(one["validation"] for one in told["iterations"] if one["iteration"] == best)
        return value, [*line, "--iterations", str(best)]

    def choose(self, train, validation, metric, grid, digits):
        """The best line of the grid; the first of those that are equal to so many digits, or exactly."""
        if len(grid) == 1:
            return grid[0]
        tried = []
        for line in grid:
            tried.append(self.validated(train, validation, metric, line))
            print(f"{tried[-1][0]:.4f} {' '.join(tried[-1][1])}", file=sys.stderr, flush=True)
        best = min if metric == "rmse" else max
        return best(tried, key=lambda one: one[0] if digits is None else round(one[0], digits))[1]

    def measure(self, test, parts, grid, digits):
        """Prints a row of the table; the lines that were chosen."""
        found, chosen = [], []
        for train, held_out in parts:
            chosen.append(self.choose(*self.split(train, "search", test.how), test.metric, grid, digits))
            ran = self.train(train, chosen[-1])
            told = self.evaluate(held_out, test.metric)
            print(f"{test.name}: {told}", file=sys.stderr, flush=True)
            found.append((told[test.metric], ran.seconds, ran.memory))
        value, seconds, memory = map(statistics.mean, zip(*found))
        row([test.name, test.metric, algorithm_of(chosen[0]), f"{value:.4f}", f"{seconds:.2f}", f"{memory:.0f}",
             "; ".join(dict.fromkeys(f"`{' '.join(line)}`" for line in chosen))])
        return chosen

    def same_author(self, line):
        """Neighbours of books of every kind."""
        self.run("train", FILES["goodbooks-10k"], "-o", "model", *LIKED_BOOKS, *line)
        self.run("similar", "model", "--all-items", "-n", "10", "-o", "neighbours.csv")
        share = similar_books.share(self.folder / "neighbours.csv", DATA / "goodbooks-10k/books.csv.gz")
        row(["goodbooks-10k, all 4 and 5 stars", "same author among 10", "als", share, "", "", f"`{' '.join(line)}`"])


def main(words, prog):
    given = parser(__doc__, prog)
    given.add_argument("grids", choices=["wide", "coarse"])
    given.add_argument("parts", nargs="*", help="some of them [all]")
    given.add_argument("--only", default="", help="tests whose names have this in them")
    given.add_argument("--algorithms", default="", help="some of als, item-knn, user-knn, popular, bias [all]")
    given.add_argument("--earlier", default="0", help="of the last of each user: 0,1,2 [0]")
    args = given.parse_args(words)
    tests = WIDE if args.grids == "wide" else COARSE
    digits = 4 if args.grids == "wide" else None
    for part in args.parts:
        if part not in tests:
            given.error(f"{part}: choose from {', '.join(tests)}")
    require_data()
    table(["data, test part", "metric", "algorithm", "value", "training, processor s", "peak memory, MB", "parameters"],
          {3, 4, 5})
    for part in args.parts or tests:
        for test in tests[part]:
            if args.only not in test.name:
                continue
            with tempfile.TemporaryDirectory() as folder:
                search = Search(folder, args.threads)
                counts = [int(count) for count in args.earlier.split(",")] if test.how == LAST else [0]
                parts = test.source if isinstance(test.source, list) else \
                    search.earlier(test.source, "part", test.how, counts, test.reading)
                for grid in test.grids:
                    if args.algorithms and algorithm_of(grid[0]) not in args.algorithms.split(","):
                        continue
                    chosen = search.measure(test, parts, grid, digits)
                    if part == "books" and grid is WIDE_LISTS:
                        search.same_author(chosen[0])
    return 0
