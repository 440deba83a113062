# SPDX-License-Identifier: Apache-2.0
"""Items that nobody has touched: a fifth of the items is hidden whole, and ranked by features alone.

    PYTHONPATH=build/release/python python bench/compare_features.py DATA [--sets ml-1m ...] [--other PYTHON]

DATA holds ml-1m, ml-latest-small and goodbooks-10k. --other is a Python with lightfm or cmfrec; without one
these rows are left out. Every row ranks the same hidden items for the same users; NDCG@10 and recall@50 are
means over users with a hidden item. Parameters are chosen on another fifth, of the items that are left.
Warm rows are of a model with and without features on hidden interactions of known items. No times.
"""
import argparse
import csv
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import scipy.sparse as sp

import likewise

SEED = 42
FACTORS = {"ml-1m": 64, "ml-latest-small": 64, "goodbooks-10k": 128}


def lines(path, delimiter="::", encoding="utf-8"):
    with gzip.open(path, "rt", encoding=encoding) as text:
        if delimiter == "::":
            yield from (line.rstrip("\n").split("::") for line in text)
        else:
            yield from csv.reader(text)


def films(folder):
    rows = [(u, i) for u, i, _ in lines(folder / "ml-1m/ratings_notime.dat.gz")]
    tags = {}
    for item, title, genres in lines(folder / "ml-1m/movies.dat.gz", encoding="latin-1"):
        year = re.search(r"\((\d{3})\d\)\s*$", title)
        tags[item] = genres.split("|") + ([year.group(1) + "0s"] if year else [])
    return rows, tags


def few_films(folder):
    rows = [(row[0], row[1]) for row in list(lines(folder / "ml-latest-small/ratings.csv.gz", ","))[1:]]
    tags = {row[0]: row[2].split("|") for row in list(lines(folder / "ml-latest-small/movies.csv.gz", ","))[1:]}
    for _, item, tag, _ in list(lines(folder / "ml-latest-small/tags.csv.gz", ","))[1:]:
        if tag.lower() not in tags.setdefault(item, []):
            tags[item].append(tag.lower().replace("|", " "))
    return rows, tags


def books(folder):
    rows = list({(row[1], row[0]): None for row in list(lines(folder / "goodbooks-10k/ratings.csv.gz", ","))[1:]})
    table = list(lines(folder / "goodbooks-10k/books.csv.gz", ","))
    author, book = table[0].index("authors"), table[0].index("book_id")
    return rows, {row[book]: [name.strip() for name in row[author].split(",")] for row in table[1:]}


SETS = {"ml-1m": films, "ml-latest-small": few_films, "goodbooks-10k": books}


class Cold:
    """Training interactions, the items that are hidden, and who likes them."""

    def __init__(self, data, tags, seed):
        self.train, self.test = likewise.split(data, "cold-items", test=0.2, seed=seed)
        self.tags = {item: own for item, own in tags.items()}
        self.users = [str(u) for u in data.users]
        self.items = [str(i) for i in data.items]
        self.x = matrix(self.train, self.users, self.items)
        self.hidden = matrix(self.test, self.users, self.items)
        untouched = np.asarray(self.x.sum(0)).ravel() == 0
        self.f = shares(self.tags, self.items)
        known = np.asarray(abs(self.f).sum(1)).ravel() > 0
        self.cold = np.flatnonzero(untouched & known)

    def measure(self, scores, per=2000):
        """`scores(users)` of the cold items."""
        wanted = self.hidden[:, self.cold].tocsr()
        users = np.flatnonzero(np.diff(wanted.indptr))
        ndcg, recall = [], []
        discount = 1 / np.log2(np.arange(2, 12))
        for first in range(0, len(users), per):
            some = users[first:first + per]
            best = np.argsort(-scores(some), axis=1, kind="stable")[:, :50]
            for user, top in zip(some, best):
                relevant = wanted.indices[wanted.indptr[user]:wanted.indptr[user + 1]]
                hits = np.isin(top, relevant)
                recall.append(hits.sum() / len(relevant))
                ndcg.append((hits[:10] * discount[:len(hits[:10])]).sum() / discount[:len(relevant)].sum())
        return float(np.mean(ndcg)), float(np.mean(recall))


def matrix(data, users, items):
    u = {name: n for n, name in enumerate(users)}
    i = {name: n for n, name in enumerate(items)}
    columns = data.columns()
    rows = [u[str(one)] for one in columns["user"]], [i[str(one)] for one in columns["item"]]
    return sp.csr_matrix((np.ones(len(rows[0]), np.float32), rows), shape=(len(users), len(items)))


def shares(tags, items):
    """Normalised TF-IDF of tags that two items or more carry, by item."""
    names = {}
    rows, columns = [], []
    for row, item in enumerate(items):
        for tag in tags.get(item, ()):
            rows.append(row)
            columns.append(names.setdefault(tag, len(names)))
    f = sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(items), len(names)))
    carriers = np.asarray((f > 0).sum(0)).ravel()
    idf = np.where(carriers > 1, np.log1p((np.diff(f.indptr) > 0).sum() / np.maximum(carriers, 1)), 0)
    f = (f @ sp.diags(idf)).tocsr()
    length = np.sqrt(np.asarray(f.multiply(f).sum(1)).ravel())
    return (sp.diags(1 / np.where(length > 0, length, 1)) @ f).tocsr()


def by_model(cold, estimator):
    estimator.fit(cold.train, item_features=cold.tags)
    found = estimator.model_.evaluate(cold.test, k=[10, 50], metrics=["ndcg", "recall"], new_items=True)
    return found["ndcg@10"], found["recall@50"]


def by_more_users(cold, factors, copies):
    """Tags as more users, each `copies` times."""
    tags = (cold.f > 0).T.tocsr().astype(np.float32)
    x = sp.vstack([cold.x, *[tags] * copies]).tocsr()
    model = likewise.Als(factors=factors).fit(x).model_
    users, items = np.asarray(model.user_factors), np.asarray(model.item_factors)
    return cold.measure(lambda some: users[some] @ items[cold.cold].T)


def by_popularity_of_tags(cold):
    likes = np.asarray(cold.x.sum(0)).ravel()
    touched = (likes > 0).astype(float)
    carriers = np.maximum(cold.f.T @ touched, 1e-9)
    popular = cold.f @ ((cold.f.T @ likes) / carriers)
    return cold.measure(lambda some: np.tile(popular[cold.cold], (len(some), 1)))


def by_content(cold):
    profile = cold.x @ cold.f
    return cold.measure(lambda some: np.asarray((profile[some] @ cold.f[cold.cold].T).todense()))


def by_chance(cold):
    draw = np.random.default_rng(SEED)
    return cold.measure(lambda some: draw.random((len(some), len(cold.cold))))


def by_other(cold, python, name, factors, choices):
    """lightfm or cmfrec in another Python, which leaves user and item tables for each choice."""
    with tempfile.TemporaryDirectory() as folder:
        sp.save_npz(f"{folder}/x.npz", cold.x)
        sp.save_npz(f"{folder}/f.npz", cold.f)
        here = pathlib.Path(__file__).with_name("compare_features_other.py")
        done = subprocess.run([python, here, name, folder, str(factors), json.dumps(choices)], check=False,
                              capture_output=True, text=True)
        if done.returncode:
            return {}
        found = {}
        for n, choice in enumerate(choices):
            tables = np.load(f"{folder}/{n}.npz")
            found[json.dumps(choice)] = cold.measure(
                lambda some: tables["users"][some] @ tables["items"][cold.cold].T + tables["bias"][cold.cold])
        return found


def warm_rows(data, tags, factors):
    train, test = likewise.split(data, "per-user", test=0.2, seed=SEED)
    for features in (None, tags):
        model = likewise.Als(factors=factors).fit(train, item_features=features).model_
        yield features is not None, model.evaluate(test, k=10, metrics=["ndcg"])["ndcg@10"]


def say(*row):
    print("| " + " | ".join(f"{one:.3f}" if isinstance(one, float) else str(one) for one in row) + " |", flush=True)


def compare(name, folder, other):
    rows, tags = SETS[name](folder)
    data = likewise.Interactions({"user": [u for u, _ in rows], "item": [i for _, i in rows]})
    test = Cold(data, tags, SEED)
    validation = Cold(test.train, tags, SEED + 1)
    factors = FACTORS[name]
    say(name, f"{len(test.cold)} hidden items", "NDCG@10", "recall@50")
    say(name, "chance", *by_chance(test))
    say(name, "popularity of the tags", *by_popularity_of_tags(test))
    say(name, "content (cosine of tags)", *by_content(test))
    copies = max((1, 3, 10), key=lambda count: by_more_users(validation, factors, count)[0])
    say(name, f"als, tags as {copies} more users each", *by_more_users(test, factors, copies))
    for kind in (likewise.Als(factors=factors), likewise.Bpr(factors=factors), likewise.Spectral(factors=factors)):
        say(name, f"{kind.algorithm}, `item_features`", *by_model(test, kind))
    say(name, "als with its own factors, `item_features`", *by_model(test, likewise.Als()))
    for kind, choices in (("lightfm", [{"epochs": e, "item_alpha": a} for e in (10, 30) for a in (0.0, 1e-5)]),
                          ("cmfrec", [{"w_item": w, "lambda_": l} for w in (0.1, 0.5, 5.0) for l in (1.0, 10.0, 50.0)])):
        if not other:
            continue
        seen = by_other(validation, other, kind, factors, choices)
        if not seen:
            say(name, f"{kind}: not there", "", "")
            continue
        best = max(seen, key=lambda choice: seen[choice][0])
        say(name, f"{kind} {best}", *by_other(test, other, kind, factors, [json.loads(best)])[best])
    for with_features, ndcg in warm_rows(data, tags, factors):
        say(name, f"warm items, als {'with' if with_features else 'without'} features", ndcg, "")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=pathlib.Path)
    arguments.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    arguments.add_argument("--other", help="a Python with lightfm or cmfrec")
    given = arguments.parse_args()
    for name in given.sets:
        compare(name, given.data, given.other)


if __name__ == "__main__":
    sys.exit(main())
