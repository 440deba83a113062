#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/metrics.json: metric values that outside packages compute.

    python3 -m venv .venv && .venv/bin/pip install ranx pytrec_eval-terrier scikit-learn
    .venv/bin/python scripts/golden/make_metric_golden.py tests/golden/metrics.json DATA/ml-100k

Rankings come from trec_eval (through pytrec_eval) and are checked against ranx, AUC, RMSE and MAE
from scikit-learn. Where a package's definition is not ours, the conversion stands below with its
reason. Coverage and popularity exist in none of them and are counted with NumPy from the lists.

The folder of MovieLens 100K (u1.base.gz, u1.test.gz: GroupLens' own split) adds the values of the
popularity baseline on real data; only those numbers are kept, never the data.
"""

import collections
import gzip
import importlib.metadata
import json
import pathlib
import sys

import numpy as np
import pytrec_eval
import ranx
from sklearn.metrics import mean_absolute_error, mean_squared_error, roc_auc_score

ITEMS = 37
USERS = 16  # a power of two: shares of users are exact in float32
LENGTHS = [1, 2, 3, 5, 10, 20, 50]  # 50 is more than there are items
SEED = 20240611


def make_users(rng):
    """Each user: seen items, the ranking of all others cut to some length, the relevant items."""
    users = []
    for u in range(USERS):
        seen = rng.choice(ITEMS, size=int(rng.integers(0, 12)), replace=False)
        rest = rng.permutation(np.setdiff1d(np.arange(ITEMS), seen))
        length = len(rest) if u % 3 else int(rng.integers(1, len(rest)))
        relevant = rng.choice(rest, size=int(rng.integers(1, min(14, len(rest)))), replace=False)
        users.append({"seen": seen, "ranking": rest[:length], "relevant": relevant})
    everything = np.arange(ITEMS)
    # No hit at all; every place a hit; a list shorter than every k but 1; one relevant item, last.
    users[0] = {"seen": everything[:2], "ranking": everything[2:22], "relevant": everything[30:35]}
    users[1] = {"seen": everything[5:9], "ranking": everything[10:30], "relevant": everything[10:30]}
    users[2] = {"seen": everything[2:], "ranking": everything[[1, 0]], "relevant": everything[[0]]}
    users[3] = {"seen": everything[:0], "ranking": everything, "relevant": everything[[36]]}
    return users


def as_run(ranking):
    # Distinct falling scores: the packages then have no ties to break in their own way.
    return {f"i{item}": float(len(ranking) - place) for place, item in enumerate(ranking)}


def list_values(user, lengths=LENGTHS):
    """All list metrics of one user, from trec_eval."""
    ranking, relevant = user["ranking"], len(user["relevant"])
    qrel = {"u": {f"i{item}": 1 for item in user["relevant"]}}
    cuts = ",".join(map(str, lengths))
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrel, {f"P.{cuts}", f"recall.{cuts}", f"success.{cuts}", f"map_cut.{cuts}", f"ndcg_cut.{cuts}"}
    )
    reciprocal_rank = pytrec_eval.RelevanceEvaluator(qrel, {"recip_rank"})
    got = evaluator.evaluate({"u": as_run(ranking)})["u"]
    values = {}
    for k in lengths:
        attainable = min(k, relevant)
        values[f"precision@{k}"] = got[f"P_{k}"]
        values[f"recall@{k}"] = got[f"recall_{k}"]
        # Ours divides by min(k, relevant), trec_eval by relevant.
        values[f"truncated_recall@{k}"] = got[f"recall_{k}"] * relevant / attainable
        values[f"hit_rate@{k}"] = got[f"success_{k}"]
        # Ours divides by min(k, relevant), trec_eval by relevant.
        values[f"map@{k}"] = got[f"map_cut_{k}"] * relevant / attainable
        # trec_eval has no cut for the reciprocal rank: cut the run.
        values[f"mrr@{k}"] = reciprocal_rank.evaluate({"u": as_run(ranking[:k])})["u"]["recip_rank"]
        values[f"ndcg@{k}"] = got[f"ndcg_cut_{k}"]
    return values


def check_with_ranx(user, values):
    """A second opinion, to the same definitions after the same conversions."""
    relevant = len(user["relevant"])
    qrels = ranx.Qrels({"u": {f"i{item}": 1 for item in user["relevant"]}})
    run = ranx.Run({"u": as_run(user["ranking"])})
    names = {"precision": "precision", "recall": "recall", "hit_rate": "hit_rate", "map": "map",
             "mrr": "mrr", "ndcg": "ndcg"}
    for ours, theirs in names.items():
        for k in LENGTHS:
            got = float(ranx.evaluate(qrels, run, f"{theirs}@{k}"))
            if ours == "map":
                got *= relevant / min(k, relevant)
            if abs(got - values[f"{ours}@{k}"]) > 1e-6:
                raise SystemExit(f"{ours}@{k}: trec_eval {values[f'{ours}@{k}']}, ranx {got}: {user}")


def popularity_and_coverage(users):
    shares = np.zeros(ITEMS)
    for user in users:
        shares[user["seen"]] += 1.0 / USERS
    values = {}
    for k in LENGTHS:
        values[f"popularity@{k}"] = float(np.mean([np.mean(shares[u["ranking"][:k]]) for u in users]))
        values[f"coverage@{k}"] = len(set(np.concatenate([u["ranking"][:k] for u in users]))) / ITEMS
    return values


def auc_cases(rng):
    cases = [
        ([3.0, 2.0, 1.0], [1, 0, 0]),
        ([3.0, 2.0, 1.0], [0, 0, 1]),
        ([1.0, 1.0, 1.0, 1.0], [1, 0, 1, 0]),  # nothing but ties
        ([2.0, 1.0, 1.0, 1.0, 0.0], [0, 1, 1, 0, 0]),
        ([-1.0, 0.0, 0.0, 5.0], [0, 1, 0, 1]),
    ]
    for size in (2, 7, 40, 300):
        scores = rng.integers(0, max(2, size // 4), size=size).astype(float)  # many ties
        labels = np.zeros(size, dtype=int)
        labels[rng.choice(size, size=max(1, size // 5), replace=False)] = 1
        cases.append((scores.tolist(), labels.tolist()))
    return [{"scores": s, "relevant": r, "auc": float(roc_auc_score(r, s))} for s, r in cases]


def rating_cases(rng):
    cases = []
    for size in (1, 2, 501):
        actual = rng.integers(1, 6, size=size).astype(float)
        # Sixteenths are exact in float32, which the library predicts in.
        predicted = rng.integers(8, 90, size=size) / 16.0
        cases.append({
            "actual": actual.tolist(),
            "predicted": predicted.tolist(),
            "rmse": float(np.sqrt(mean_squared_error(actual, predicted))),
            "mae": float(mean_absolute_error(actual, predicted)),
        })
    return cases


def read_ratings(path):
    """{user: {item: rating}} of a tab-separated file."""
    rows = collections.defaultdict(dict)
    with gzip.open(path, "rt") as lines:
        for line in lines:
            user, item, rating, _ = line.split("\t")
            rows[int(user)][int(item)] = float(rating)
    return rows


def popularity_on_movielens(folder, lengths=(5, 20), min_value=4.0):
    """Everybody gets the most rated unseen items (ties to the smaller id), scored per user."""
    train = read_ratings(folder / "u1.base.gz")
    test = read_ratings(folder / "u1.test.gz")
    counts = collections.Counter(item for row in train.values() for item in row)
    order = sorted(counts, key=lambda item: (-counts[item], item))
    users = []
    for user in sorted(set(test) & set(train)):
        ranking = [item for item in order if item not in train[user]]
        relevant = [i for i, r in test[user].items() if r >= min_value and i in counts]
        if relevant:
            users.append({"ranking": ranking, "relevant": relevant})
    values = [list_values(u, lengths) for u in users]
    aucs = [roc_auc_score([i in set(u["relevant"]) for i in u["ranking"]],
                          [counts[i] for i in u["ranking"]]) for u in users]
    means = {key: float(np.mean([v[key] for v in values])) for key in values[0]}
    for k in lengths:
        means[f"coverage@{k}"] = len({i for u in users for i in u["ranking"][:k]}) / len(counts)
        means[f"popularity@{k}"] = float(
            np.mean([np.mean([counts[i] / len(train) for i in u["ranking"][:k]]) for u in users]))
    means["auc"] = float(np.mean(aucs))
    return {"k": list(lengths), "min_relevant_value": min_value, "users": len(users), "means": means}


def main(path, movielens):
    rng = np.random.default_rng(SEED)
    users = make_users(rng)
    values = [list_values(user) for user in users]
    for user, of_user in zip(users, values):
        check_with_ranx(user, of_user)
    means = {key: float(np.mean([v[key] for v in values])) for key in values[0]}
    packages = ["pytrec_eval-terrier", "ranx", "scikit-learn", "numpy"]
    golden = {
        "made_by": "scripts/golden/make_metric_golden.py",
        "packages": {name: importlib.metadata.version(name) for name in packages},
        "items": ITEMS,
        "k": LENGTHS,
        "users": [
            {**{name: sorted(map(int, u[name])) for name in ("seen", "relevant")},
             "ranking": [int(i) for i in u["ranking"]], "values": v}
            for u, v in zip(users, values)
        ],
        "means": {**means, **popularity_and_coverage(users)},
        "auc": auc_cases(rng),
        "ratings": rating_cases(rng),
        "ml_100k_u1_popularity": popularity_on_movielens(pathlib.Path(movielens)),
    }
    with open(path, "w", encoding="utf-8") as out:
        json.dump(golden, out, separators=(",", ":"))
        out.write("\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
