#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures every algorithm with its defaults on real data, on parts of it and on made-up data, and what
`--algorithm auto` chooses there; docs/guide/choosing.md explains.

    scripts/families.py [lists|ratings|tuned] [--only TEXT] [--files FILE ...] [--threads N] [--budget 40]

Lists: NDCG@10 on a random fifth; ratings: RMSE on a random tenth. Prints one Markdown table, with the best value
of each line in bold, as it goes. The real sets are those of scripts/choosing.py. "tuned" puts the lists of
`--algorithm auto` beside those of `tune`, which measures on a random fifth of the training part. --files measures
these files in place of the sets that are known here.
"""
import argparse
import csv
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = pathlib.Path(os.environ.get("LIKEWISE_DATA", ROOT / "../shared/data"))
PROGRAM = os.environ.get("LIKEWISE_CLI", str(ROOT / "build/release/bin/likewise"))
FAMILIES = {"lists": ["als", "item-knn", "user-knn", "popular", "bpr"],
            "ratings": ["als", "item-knn", "user-knn", "bias", "sgd"]}
METRICS = {"lists": ("ndcg", "ndcg@10", max), "ratings": ("rmse", "rmse", min)}
SEED = "2026"


def real(name):
    """(user, item, value) of all rows."""
    if name == "ml-100k":
        with open(DATA / "ml-100k/u.data") as file:
            return [(user, item, float(value)) for user, item, value, _ in csv.reader(file, delimiter="\t")]
    if name == "ml-1m":
        with gzip.open(DATA / "ml-1m/ratings_notime.dat.gz", "rt") as file:
            return [(row[0], row[1], float(row[2])) for row in (line.split("::") for line in file)]
    folder, user, item = {"ml-latest": ("ml-latest-small", "userId", "movieId"),
                          "goodbooks": ("goodbooks-10k", "user_id", "book_id")}[name]
    with gzip.open(DATA / folder / "ratings.csv.gz", "rt") as file:
        rows = {(row[user], row[item]): float(row["rating"]) for row in csv.DictReader(file)}
    return [(user, item, value) for (user, item), value in rows.items()]


def by_user(rows):
    users = {}
    for row in rows:
        users.setdefault(row[0], []).append(row)
    return users


def likes(rows):
    return [row for row in rows if row[2] >= 4]


def swapped(rows):
    """Users and items exchanged."""
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
    "ml-latest-small": ("ml-latest", lambda rows: rows),
    "ml-latest-small, likes": ("ml-latest", likes),
    "ml-1m": ("ml-1m", lambda rows: rows),
    "ml-1m, likes": ("ml-1m", likes),
    "ml-1m, likes, exchanged": ("ml-1m", lambda rows: swapped(likes(rows))),
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
    "ml-latest-small, parts of 10": ("ml-latest", lambda rows: histories(likes(rows), 10)),
    "ml-latest-small, parts of 5": ("ml-latest", lambda rows: histories(likes(rows), 5)),
    "goodbooks": ("goodbooks", lambda rows: rows),
    "goodbooks, likes": ("goodbooks", likes),
    "goodbooks, likes, exchanged": ("goodbooks", lambda rows: swapped(likes(rows))),
    "goodbooks, likes of 5000 users": ("goodbooks", lambda rows: of_users(likes(rows), 5000)),
    "goodbooks, likes of 1000 users": ("goodbooks", lambda rows: of_users(likes(rows), 1000)),
    "goodbooks, 5 likes of each": ("goodbooks", lambda rows: each(likes(rows), 5)),
    "goodbooks, 3 likes of each": ("goodbooks", lambda rows: each(likes(rows), 3)),
    "goodbooks, parts of 5 likes": ("goodbooks", lambda rows: histories(likes(rows), 5)),
    **{f"`generate {shape}`": (shape, None) for shape in (
        "1kx10kx100k", "3kx3kx100k", "5kx1kx20k", "30kx5kx100k", "30kx5kx300k", "30kx30kx200k",
        "50kx20kx200k", "100kx20kx800k")},
}
RATINGS = {
    "ml-100k": ("ml-100k", lambda rows: rows),
    "ml-latest-small": ("ml-latest", lambda rows: rows),
    "ml-1m": ("ml-1m", lambda rows: rows),
    "ml-1m, exchanged": ("ml-1m", swapped),
    "ml-1m, 500 users": ("ml-1m", lambda rows: of_users(rows, 500)),
    "ml-100k, 100 users": ("ml-100k", lambda rows: of_users(rows, 100)),
    "ml-latest-small, 150 users": ("ml-latest", lambda rows: of_users(rows, 150)),
    "ml-1m, 20 of each": ("ml-1m", lambda rows: each(rows, 20)),
    "ml-100k, 20 of each": ("ml-100k", lambda rows: each(rows, 20)),
    "ml-latest-small, 20 of each": ("ml-latest", lambda rows: each(rows, 20)),
    "ml-1m, 10 of each": ("ml-1m", lambda rows: each(rows, 10)),
    "ml-100k, 10 of each": ("ml-100k", lambda rows: each(rows, 10)),
    "ml-1m, 5 of each": ("ml-1m", lambda rows: each(rows, 5)),
    "ml-100k, 5 of each": ("ml-100k", lambda rows: each(rows, 5)),
    "ml-latest-small, 5 of each": ("ml-latest", lambda rows: each(rows, 5)),
    "ml-1m, parts of 5": ("ml-1m", lambda rows: histories(rows, 5)),
    "goodbooks": ("goodbooks", lambda rows: rows),
    "goodbooks, exchanged": ("goodbooks", swapped),
    "goodbooks, 5000 users": ("goodbooks", lambda rows: of_users(rows, 5000)),
    "goodbooks, 1000 users": ("goodbooks", lambda rows: of_users(rows, 1000)),
    "goodbooks, 5000 users, 5 of each": ("goodbooks", lambda rows: each(of_users(rows, 5000), 5)),
    "goodbooks, 5 of each": ("goodbooks", lambda rows: each(rows, 5)),
    "goodbooks, 3 of each": ("goodbooks", lambda rows: each(rows, 3)),
    **{f"`generate {shape}:explicit`": (f"{shape}:explicit", None) for shape in (
        "1kx10kx100k", "3kx3kx100k", "30kx5kx300k", "30kx30kx200k")},
}


def run(threads, *words):
    command = [PROGRAM, *map(str, words), "--quiet", "--threads", str(threads)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return json.loads(done.stdout) if done.stdout.startswith(b"{") else {}


def cut(task, source, make, threads, folder):
    """Training and test part."""
    everything = folder / "all.csv"
    if pathlib.Path(source).is_file():
        everything = source
    elif make is None:
        run(threads, "generate", source, "-o", everything)
    else:
        with open(everything, "w") as file:
            file.write("user,item,value\n")
            file.writelines(f"{user},{item},{value}\n" for user, item, value in make(real(source)))
    run(threads, "split", everything, "-o", folder, "--test", "0.1" if task == "ratings" else "0.2", "--seed", SEED)


def families_line(task, args, folder):
    """Cells of the table of all algorithms."""
    model, threads = folder / "model", args.threads
    feedback = [] if task == "lists" else ["--feedback", "explicit"]
    metric, key, best_of = METRICS[task]
    values = {}
    for family in FAMILIES[task]:
        run(threads, "train", folder / "train.csv", "-o", model, "--algorithm", family, *feedback)
        values[family] = run(threads, "evaluate", model, folder / "test.csv", "--metrics", metric, "--json")[key]
    told = run(threads, "train", folder / "train.csv", "-o", model, "--algorithm", "auto", "--json", *feedback)
    best = best_of(values.values())
    shown = [f"**{value:.4f}**" if value == best else f"{value:.4f}" for value in values.values()]
    place = sorted(values.values(), reverse=best_of is max).index(values[told["algorithm"]]) + 1
    return [f"{told['users']:,}", f"{told['items']:,}", f"{told['interactions'] / told['users']:.1f}", *shown,
            told["algorithm"], str(place)]


def tuned_line(_, args, folder):
    """Cells of the table of what defaults reach."""
    model, threads = folder / "model", args.threads

    def score():
        return run(threads, "evaluate", model, folder / "test.csv", "--metrics", "ndcg", "--json")["ndcg@10"]
    usual = run(threads, "train", folder / "train.csv", "-o", model, "--algorithm", "auto", "--json")["algorithm"]
    by_auto = score()
    told = run(threads, "tune", folder / "train.csv", "-o", model, "--budget", args.budget, "--seed", "1",
               "--validation-share", "0.2", "--json")
    words = told["command"].split()
    by_tune = score()
    return [usual, f"{by_auto:.4f}", f"`{' '.join(words[words.index('--algorithm') + 1:])}`", f"{by_tune:.4f}",
            f"{100 * by_auto / by_tune:.0f} %"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="?", default="lists", choices=["lists", "ratings", "tuned"])
    parser.add_argument("--only", default="", help="sets whose names have this in them")
    parser.add_argument("--files", nargs="+", metavar="FILE", help="measure these: user, item [, value]")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--budget", default="40", help="of tune, with tuned")
    args = parser.parse_args()
    cells_of = tuned_line if args.task == "tuned" else families_line
    if args.task == "tuned":
        print("| data | auto | NDCG@10 | tune | NDCG@10 | auto reaches |")
        print("|---|---|---:|---|---:|---:|")
    else:
        print("| data | users | items | a user has |", " | ".join(FAMILIES[args.task]), "| auto | place |")
        print("|---|---:|---:|---:|" + "---:|" * len(FAMILIES[args.task]) + "---|---:|")
    sets = RATINGS if args.task == "ratings" else LISTS
    if args.files:
        sets = {pathlib.Path(file).name: (file, None) for file in args.files}
    for name, (source, make) in sets.items():
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            cut(args.task, source, make, args.threads, place)
            cells = cells_of(args.task, args, place)
        print("|", " | ".join([name, *cells]), "|", flush=True)


if __name__ == "__main__":
    main()
