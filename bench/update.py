#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that grow: what an update keeps of what training again would gain, and how long each takes.

    bench/update.py [--data ratings_users_1_2999_with_time.dat.gz] [--parts 0.8,0.1,0.1] [--only als,bpr] \\
        [--set sgd:iterations=5,learning_rate=0.05] [--rounds 1] [--threads 0] [--times]

Splits ratings by their times into an old, a new and a test part (--parts; less than all leaves the
newest out, so that parameters can be chosen without the test: 0.7,0.1,0.1). Each model is trained on
the old part, updated with the new part, and trained again on both. All three are measured on the test
rows of users whom old and new part together know: lists leave out what a user did in either; the old
model answers users that it does not know with the most popular items of the old part, and their
ratings with its mean and the item's bias. The share is that of the gain of training again over the
old model which the update has. Prints a table in Markdown, with --times also the seconds (medians of
--rounds; reading, writing and measuring are not in them).
"""
import argparse
import platform
import statistics
import sys
import time

import numpy as np

import likewise

# The model, and the options of its update.
EXPLICIT = {"feedback": "explicit", "regularization": 1, "regularization_exponent": 0.5}
MODELS = {
    "als": ("ALS, implicit", likewise.Als, {"factors": 32, "iterations": 10, "regularization": 0.03,
                                            "regularization_exponent": 1, "unobserved_weight": 0.3}, {}),
    "bpr": ("BPR", likewise.Bpr, {"factors": 16, "iterations": 20, "regularization": 0.03}, {}),
    "item-knn": ("item-knn, implicit", likewise.ItemKnn,
                 {"neighbours": 400, "similarity": "cosine", "shrinkage": 0, "sum_lists": "own", "sum_scale": "none"}, {}),
    "als-explicit": ("ALS, explicit", likewise.Als, {**EXPLICIT, "factors": 16}, {}),
    "hybrid": ("the same, `--by sgd`", likewise.Als, {**EXPLICIT, "factors": 16}, {"by": "sgd"}),
    "sgd": ("SGD", likewise.Sgd, {}, {}),
    "item-knn-explicit": ("item-knn, explicit", likewise.ItemKnn, {"feedback": "explicit"}, {}),
}
K = 10


def parts_of(path, shares, by):
    """Rows by time or in random order, cut into parts of these shares: [(users, items, values), ...]."""
    data = likewise.Interactions(path)
    matrix = data.to_csr()
    users = np.asarray(data.users)[np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))]
    columns = users, np.asarray(data.items)[matrix.indices], matrix.data
    order = np.argsort(data.times, kind="stable") if by == "time" else \
        np.random.default_rng(2026).permutation(len(users))
    cuts = np.round(np.cumsum(shares) * len(order)).astype(int)
    return [tuple(column[order[a:b]] for column in columns) for a, b in zip([0, *cuts], cuts)]


def joined(*parts):
    return tuple(np.concatenate(columns) for columns in zip(*parts))


def ndcg(lists, test):
    """The mean over users; `lists`: K items of each user of `test`, best first."""
    discounts = 1 / np.log2(np.arange(2, K + 2))
    each = [discounts[:len(found)][[item in relevant for item in found]].sum() / discounts[:len(relevant)].sum()
            for found, relevant in ((lists[user], items) for user, items in test.items())]
    return float(np.mean(each))


class Judge:
    """The test rows of users that the merged data know, and what each saw."""

    def __init__(self, old, new, test):
        known = joined(old, new)
        self.seen = sets_of(known)
        here = np.isin(test[0], known[0])
        self.rows = tuple(column[here] for column in test)
        self.fresh = ~np.isin(self.rows[0], old[0])
        self.test = {user: items - self.seen[user] for user, items in sets_of(self.rows).items()}
        self.test = {user: items for user, items in self.test.items() if items}
        items, counts = np.unique(old[1], return_counts=True)
        self.popular = items[np.lexsort((items, -counts))].tolist()

    def ndcg(self, model):
        users = [user for user in self.test if user in model.users]
        most = max(len(self.seen[user]) for user in self.test) + K
        found = model.recommend(users, n=min(most, len(model.items)), include_seen=True)
        ranked = {user: self.popular for user in self.test}
        ranked.update(zip(users, found.ids.tolist()))
        return ndcg({user: first_of(items, self.seen[user]) for user, items in ranked.items()}, self.test)

    def rmse(self, model):
        return float(np.sqrt(np.mean((model.predict(*self.rows[:2]) - self.rows[2]) ** 2)))


def first_of(items, seen):
    found = []
    for item in items:
        if item not in seen:
            found.append(item)
            if len(found) == K:
                break
    return found


def sets_of(rows):
    sets = {}
    for user, item in zip(rows[0].tolist(), rows[1].tolist()):
        sets.setdefault(user, set()).add(item)
    return sets


def timed(work, rounds):
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds), result


def options_of(text):
    """als:iterations=2,learning_rate=0.1"""
    name, pairs = text.split(":", 1)
    values = dict(pair.split("=") for pair in pairs.split(","))
    return name, {key: float(value) if "." in value or "e" in value else int(value) if value.isdigit() else value
                  for key, value in values.items()}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", required=True)
    options.add_argument("--split", choices=["time", "random"], default="time")
    options.add_argument("--parts", default="0.8,0.1,0.1")
    options.add_argument("--only", default=",".join(MODELS))
    options.add_argument("--set", action="append", default=[], type=options_of)
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--threads", type=int, default=0)
    options.add_argument("--device", default="cpu")
    options.add_argument("--times", action="store_true")
    given = options.parse_args()
    old, new, test = parts_of(given.data, [float(share) for share in given.parts.split(",")], given.split)
    judge = Judge(old, new, test)
    print(f"{platform.machine()}, {likewise.info()['instruction_set']}; old {len(old[0]):,}, new {len(new[0]):,}, "
          f"test {len(judge.rows[0]):,} of {len(test[0]):,} ratings, of {len(np.unique(judge.rows[0])):,} users; "
          f"of these ratings {judge.fresh.mean():.0%} are of users whom the old part does not know\n\n"
          f"    {' '.join(sys.argv)}\n")
    head = ["model", "metric", "old", "updated", "again", "share of the gain"]
    head += ["train, s", "update, s", "again, s"] if given.times else []
    print("|", " | ".join(head), "|")
    print("|---" * 2 + "|---:" * (len(head) - 2) + "|")
    for name in given.only.split(","):
        shown, kind, params, update = MODELS[name]
        explicit = params.get("feedback") == "explicit" or kind is likewise.Sgd

        def data(rows):
            return likewise.Interactions(rows if explicit else rows[:2])

        def train(rows, kind=kind, params=params):
            return kind(**params, device=given.device, threads=given.threads).fit(rows).model_
        old_data, new_data, all_data = data(old), data(new), data(joined(old, new))
        base_time, base = timed(lambda: train(old_data), given.rounds)
        again_time, again = timed(lambda: train(all_data), given.rounds)
        for other, changes in [("", {})] + given.set:
            if other not in ("", name) or (other == "" and any(one == name for one, _ in given.set)):
                continue
            asked = {**update, **changes}
            update_time, grown = timed(lambda: base.update(new_data, **asked), given.rounds)
            measure, metric = (judge.rmse, "RMSE") if explicit else (judge.ndcg, f"NDCG@{K}")
            values = [measure(one) for one in (base, grown, again)]
            share = (values[1] - values[0]) / (values[2] - values[0])
            row = [shown + (f" {changes}" if changes else ""), metric, *(f"{value:.4f}" for value in values),
                   f"{share:.0%}"]
            row += [f"{one:.4f}" for one in (base_time, update_time, again_time)] if given.times else []
            print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
