# SPDX-License-Identifier: Apache-2.0
"""Every algorithm with its defaults on real data, on parts of it and on synthetic data, and what auto chooses.

    scripts/experiment families [lists|ratings|tuned] [--only TEXT] [--files FILE ...] [--budget 40]

Lists: NDCG@10 on a random fifth; ratings: RMSE on a random tenth. The best value of each line is bold; `ease` is left out
where there are more than 20,000 items. "tuned" compares
the lists of `--algorithm auto` to those of `tune`, which measures on a random fifth of the training part. --files
measures these files in place of the sets that are known here.
"""
import csv
import gzip
import pathlib
import random
import tempfile

from .study import FILES, Study, parser, require_data, row, table

FAMILIES = {"lists": ["als", "item-knn", "user-knn", "popular", "bpr", "ease", "spectral"],
            "ratings": ["als", "item-knn", "user-knn", "bias", "sgd"]}
MOST_OF_EASE = 20_000  # items: beyond them its dense weights take minutes
METRICS = {"lists": ("ndcg@10", max), "ratings": ("rmse", min)}


def real(name):
    """(user, item, value) of all rows."""
    if name == "ml-100k":
        with open(FILES[name]) as file:
            return [(user, item, float(value)) for user, item, value, _ in csv.reader(file, delimiter="\t")]
    if name == "ml-1m":
        with gzip.open(FILES[name], "rt") as file:
            return [(row[0], row[1], float(row[2])) for row in (line.split("::") for line in file)]
    user, item = ("userId", "movieId") if name == "ml-latest-small" else ("user_id", "book_id")
    with gzip.open(FILES[name], "rt") as file:
        rows = {(row[user], row[item]): float(row["rating"]) for row in csv.DictReader(file)}
    return [(user, item, value) for (user, item), value in rows.items()]


def by_user(rows):
    users = {}
    for row in rows:
        users.setdefault(row[0], []).append(row)
    return users


def likes(rows):
    return [row for row in rows if row[2] >= 4]


def transposed(rows):
    """Users for items."""
    return [(item, user, value) for user, item, value in rows]


def each(rows, count):
    """So many of each user."""
    draw, kept = random.Random(1), []
    for own in by_user(rows).values():
        draw.shuffle(own)
        kept += own[:count]
    return kept


def histories(rows, count):
    """Histories cut at random into users of their own, with so many items each."""
    draw, kept = random.Random(1), []
    for user, own in by_user(rows).items():
        draw.shuffle(own)
        for first in range(0, len(own) - len(own) % count, count):
            kept += [(f"{user}_{first}", item, value) for _, item, value in own[first:first + count]]
    return kept


def of_users(rows, count):
    kept = set(random.Random(1).sample(sorted(by_user(rows)), count))
    return [row for row in rows if row[0] in kept]


# What is made of the rows of a set, or a shape of `generate`.
LISTS = {
    "ml-100k": ("ml-100k", lambda rows: rows),
    "ml-100k, likes": ("ml-100k", likes),
    "ml-latest-small": ("ml-latest-small", lambda rows: rows),
    "ml-latest-small, likes": ("ml-latest-small", likes),
    "ml-1m": ("ml-1m", lambda rows: rows),
    "ml-1m, likes": ("ml-1m", likes),
    "ml-1m, likes, transposed": ("ml-1m", lambda rows: transposed(likes(rows))),
    "ml-1m, likes of 1500 users": ("ml-1m", lambda rows: of_users(likes(rows), 1500)),
    "ml-1m, likes of 500 users": ("ml-1m", lambda rows: of_users(likes(rows), 500)),
    "ml-1m, 10 likes of each": ("ml-1m", lambda rows: each(likes(rows), 10)),
    "ml-1m, 5 likes of each": ("ml-1m", lambda rows: each(likes(rows), 5)),
    "ml-1m, 3 likes of each": ("ml-1m", lambda rows: each(likes(rows), 3)),
    "ml-1m, parts of 19 likes": ("ml-1m", lambda rows: histories(likes(rows), 19)),
    "ml-1m, parts of 9 likes": ("ml-1m", lambda rows: histories(likes(rows), 9)),
    "ml-1m, 600 users, parts of 7": ("ml-1m", lambda rows: histories(of_users(likes(rows), 600), 7)),
    "ml-1m, parts of 5 likes": ("ml-1m", lambda rows: histories(likes(rows), 5)),
    "ml-100k, parts of 10 likes": ("ml-100k", lambda rows: histories(likes(rows), 10)),
    "ml-100k, parts of 5 likes": ("ml-100k", lambda rows: histories(likes(rows), 5)),
    "ml-latest-small, parts of 10": ("ml-latest-small", lambda rows: histories(likes(rows), 10)),
    "ml-latest-small, parts of 5": ("ml-latest-small", lambda rows: histories(likes(rows), 5)),
    "goodbooks": ("goodbooks-10k", lambda rows: rows),
    "goodbooks, likes": ("goodbooks-10k", likes),
    "goodbooks, likes, transposed": ("goodbooks-10k", lambda rows: transposed(likes(rows))),
    "goodbooks, likes of 5000 users": ("goodbooks-10k", lambda rows: of_users(likes(rows), 5000)),
    "goodbooks, likes of 1000 users": ("goodbooks-10k", lambda rows: of_users(likes(rows), 1000)),
    "goodbooks, 5 likes of each": ("goodbooks-10k", lambda rows: each(likes(rows), 5)),
    "goodbooks, 3 likes of each": ("goodbooks-10k", lambda rows: each(likes(rows), 3)),
    "goodbooks, parts of 5 likes": ("goodbooks-10k", lambda rows: histories(likes(rows), 5)),
    **{f"`generate {shape}`": (shape, None) for shape in (
        "1kx10kx100k", "3kx3kx100k", "5kx1kx20k", "30kx5kx100k", "30kx5kx300k", "30kx30kx200k",
        "50kx20kx200k", "100kx20kx800k")},
}
RATINGS = {
    "ml-100k": ("ml-100k", lambda rows: rows),
    "ml-latest-small": ("ml-latest-small", lambda rows: rows),
    "ml-1m": ("ml-1m", lambda rows: rows),
    "ml-1m, transposed": ("ml-1m", transposed),
    "ml-1m, 500 users": ("ml-1m", lambda rows: of_users(rows, 500)),
    "ml-100k, 100 users": ("ml-100k", lambda rows: of_users(rows, 100)),
    "ml-latest-small, 150 users": ("ml-latest-small", lambda rows: of_users(rows, 150)),
    "ml-1m, 20 of each": ("ml-1m", lambda rows: each(rows, 20)),
    "ml-100k, 20 of each": ("ml-100k", lambda rows: each(rows, 20)),
    "ml-latest-small, 20 of each": ("ml-latest-small", lambda rows: each(rows, 20)),
    "ml-1m, 10 of each": ("ml-1m", lambda rows: each(rows, 10)),
    "ml-100k, 10 of each": ("ml-100k", lambda rows: each(rows, 10)),
    "ml-1m, 5 of each": ("ml-1m", lambda rows: each(rows, 5)),
    "ml-100k, 5 of each": ("ml-100k", lambda rows: each(rows, 5)),
    "ml-latest-small, 5 of each": ("ml-latest-small", lambda rows: each(rows, 5)),
    "ml-1m, parts of 5": ("ml-1m", lambda rows: histories(rows, 5)),
    "goodbooks": ("goodbooks-10k", lambda rows: rows),
    "goodbooks, transposed": ("goodbooks-10k", transposed),
    "goodbooks, 5000 users": ("goodbooks-10k", lambda rows: of_users(rows, 5000)),
    "goodbooks, 1000 users": ("goodbooks-10k", lambda rows: of_users(rows, 1000)),
    "goodbooks, 5000 users, 5 of each": ("goodbooks-10k", lambda rows: each(of_users(rows, 5000), 5)),
    "goodbooks, 5 of each": ("goodbooks-10k", lambda rows: each(rows, 5)),
    "goodbooks, 3 of each": ("goodbooks-10k", lambda rows: each(rows, 3)),
    **{f"`generate {shape}:explicit`": (f"{shape}:explicit", None) for shape in (
        "1kx10kx100k", "3kx3kx100k", "30kx5kx300k", "30kx30kx200k")},
}


class Families(Study):
    def cut(self, task, source, make):
        """Training and test part."""
        return self.cut_by(source, make, ["--test", "0.1"] if task == "ratings" else ["--test", "0.2"])

    def cut_by(self, source, make, how):
        everything = self.folder / "all.csv"
        if pathlib.Path(source).is_file():
            everything = pathlib.Path(source).resolve()
        elif make is None:
            self.run("generate", source, "-o", everything)
        else:
            with open(everything, "w") as file:
                file.write("user,item,value\n")
                file.writelines(f"{user},{item},{value}\n" for user, item, value in make(real(source)))
        return self.split(everything, "parts", how)

    def compared(self, task, train, test):
        """Cells of the table of all algorithms."""
        feedback = [] if task == "lists" else ["--feedback", "explicit"]
        metric, best_of = METRICS[task]
        values = {}
        for family in FAMILIES[task]:
            if family == "ease" and told["items"] > MOST_OF_EASE:
                continue
            told = self.train(train, ["--algorithm", family, *feedback]).told
            values[family] = self.value(test, metric)
        told = self.train(train, ["--algorithm", "auto", *feedback]).told
        best = best_of(values.values())
        shown = [f"**{values[family]:.4f}**" if values.get(family) == best else
                 f"{values[family]:.4f}" if family in values else "" for family in FAMILIES[task]]
        place = sorted(values.values(), reverse=best_of is max).index(values[told["algorithm"]]) + 1
        return [f"{told['users']:,}", f"{told['items']:,}", f"{told['interactions'] / told['users']:.1f}", *shown,
                told["algorithm"], place]

    def tuned(self, budget, train, test):
        """Cells of the table of what defaults reach."""
        usual = self.train(train, ["--algorithm", "auto"]).told["algorithm"]
        by_auto = self.value(test, "ndcg@10")
        told = self.run("tune", train, "-o", "model", "--budget", budget, "--seed", "1", "--validation-share", "0.2",
                        "--json").told
        words = told["command"].split()
        by_tune = self.value(test, "ndcg@10")
        return [usual, f"{by_auto:.4f}", f"`{' '.join(words[words.index('--algorithm') + 1:])}`", f"{by_tune:.4f}",
                f"{100 * by_auto / by_tune:.0f} %"]


def main(words, prog):
    given = parser(__doc__, prog)
    given.add_argument("task", nargs="?", default="lists", choices=["lists", "ratings", "tuned"])
    given.add_argument("--only", default="", help="sets whose names have this in them")
    given.add_argument("--files", nargs="+", metavar="FILE", help="measure these: user, item [, value]")
    given.add_argument("--budget", default="40", help="of tune, with tuned [40]")
    args = given.parse_args(words)
    require_data()
    if args.task == "tuned":
        table(["data", "auto", "NDCG@10", "tune", "NDCG@10", "auto reaches"], {2, 4, 5})
    else:
        families = FAMILIES[args.task]
        table(["data", "users", "items", "a user has", *families, "auto", "place"],
              {*range(1, 4 + len(families)), 5 + len(families)})
    sets = RATINGS if args.task == "ratings" else LISTS
    if args.files:
        sets = {pathlib.Path(file).name: (file, None) for file in args.files}
    for name, (source, make) in sets.items():
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            families = Families(folder, args.threads)
            parts = families.cut(args.task, source, make)
            row([name, *(families.tuned(args.budget, *parts) if args.task == "tuned" else
                         families.compared(args.task, *parts))])
    return 0
