#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/knn: what outside packages compute with neighbours on MovieLens 100K.

    python3 -m venv /tmp/golden
    /tmp/golden/bin/pip install 'numpy<2' scikit-surprise==1.1.5 implicit==0.7.2
    /tmp/golden/bin/python scripts/golden/make_knn_golden.py [surprise] [implicit]

LIKEWISE_DATA (or ../shared/data) holds ml-100k; only numbers are kept, never the data.

surprise-uN.xz, for the fold N of GroupLens: the estimates of scikit-surprise for the rows of
uN.test, in the order of that file, from uN.base; 40 neighbours, everything else at its default.
`estimates` has a row for each side, similarity and algorithm (KNNBasic, KNNWithMeans,
KNNWithZScore, KNNBaseline), in the order of the lists in tests/cli/knn_golden.py.

Where the 40th and the 41st neighbour are equally similar (to 3e-7, what float32 can tell apart),
the order in which Surprise happens to read the data decides. `SIDE-SIMILARITY-ties` are the rows of
uN.test where that moves an estimate by more than 5e-5, `-lowest` and `-highest` [algorithm, tie]
the least and the greatest estimate that a choice among the equals can give.

implicit.xz, of u1.base with its ratings as counts: for cosine, tfidf and bm25 the 20 neighbours of
every item (`-neighbours`, `-scores`; the package keeps an item among its own neighbours, which is
taken out here, and no neighbour is -1) and the top 10 of users (`-recommended`,
`-recommended-scores`) from them. All are ids of the data.
"""
import argparse
import concurrent.futures
import gzip
import os
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
import knn_golden as golden

SAME = 3e-7  # relative; about five steps of float32
MATTERS = 5e-5
IMPLICIT_NEIGHBOURS = 20
LIST_USERS = 100
LIST_LENGTH = 10


def read(path):
    with gzip.open(path, "rt") as lines:
        return [(int(u), int(i), float(r)) for u, i, r, _ in (line.split("\t") for line in lines)]


def algorithms():
    import surprise

    return (surprise.KNNBasic, surprise.KNNWithMeans, surprise.KNNWithZScore, surprise.KNNBaseline)


def fit(kind, trainset, side, similarity, known_similarities=None):
    options = {"name": similarity.replace("-", "_"), "user_based": side == "user"}
    model = kind(k=golden.NEIGHBOURS, sim_options=options, verbose=False)
    if known_similarities is not None:  # they do not depend on the algorithm
        model.compute_similarities = lambda: known_similarities
    return model.fit(trainset)


def contributions(model, x, neighbours, y, ratings):
    """(offset, scale, what each neighbour adds): estimate = offset + scale * weighted mean."""
    kind = type(model).__name__
    if kind == "KNNBasic":
        return 0.0, 1.0, ratings
    if kind == "KNNWithMeans":
        return model.means[x], 1.0, ratings - model.means[neighbours]
    if kind == "KNNWithZScore":
        return (model.means[x], model.sigmas[x],
                (ratings - model.means[neighbours]) / model.sigmas[neighbours])
    mean = model.trainset.global_mean
    return (mean + model.bx[x] + model.by[y], 1.0,
            ratings - (mean + model.bx[neighbours] + model.by[y]))


def range_of_ties(models, x, y):
    """[(least, greatest)] of the algorithms over all choices among equally similar neighbours, or
    None where there is nothing to choose."""
    neighbours, ratings = (np.array(column) for column in zip(*models[0].yr[y]))
    if len(neighbours) <= golden.NEIGHBOURS:
        return None
    weights = models[0].sim[x, neighbours]
    ordered = np.sort(weights)[::-1]
    last = ordered[golden.NEIGHBOURS - 1]
    if last <= 0 or ordered[golden.NEIGHBOURS] < last * (1 - SAME):
        return None
    sure = weights > last * (1 + SAME)
    equal = ~sure & (weights >= last * (1 - SAME))
    chosen = golden.NEIGHBOURS - np.count_nonzero(sure)
    total = weights[sure].sum() + last * chosen
    ranges = []
    for model in models:
        offset, scale, parts = contributions(model, x, neighbours, y, ratings)
        choice = np.sort(parts[equal])
        ends = [offset + scale * ((weights[sure] * parts[sure]).sum() + last * some.sum()) / total
                for some in (choice[:chosen], choice[-chosen:])]
        ranges.append(np.clip(sorted(ends), golden.LOWEST, golden.HIGHEST))
    return ranges if max(high - low for low, high in ranges) > MATTERS else None


def find_ties(models, test):
    trainset = models[0].trainset
    rows, ranges = [], []
    for row, (user, item, _) in enumerate(test):
        try:
            x, y = models[0].switch(trainset.to_inner_uid(user), trainset.to_inner_iid(item))
        except ValueError:
            continue
        found = range_of_ties(models, x, y)
        if found:
            rows.append(row)
            ranges.append(found)
    ends = np.array(ranges).reshape(len(rows), len(models), 2)
    lowest, highest = (golden.to_whole(ends[:, :, end].T) for end in (0, 1))
    return np.array(rows, np.uint16), lowest, highest


def make_fold(folder, fold):
    """Writes the file of a fold; returns {(side, similarity, prediction): RMSE} and {...: ties}."""
    from surprise import Dataset, Reader

    base, test = (read(folder / f"u{fold}.{part}.gz") for part in ("base", "test"))
    data = Dataset(Reader(rating_scale=(golden.LOWEST, golden.HIGHEST)))
    trainset = data.construct_trainset([(*row, None) for row in base])
    actual = np.array([rating for _, _, rating in test])
    arrays, rows, errors, ties = {}, [], {}, {}
    for side in golden.SIDES:
        for similarity in golden.SIMILARITIES:
            models, known = [], None
            for kind, prediction in zip(algorithms(), golden.PREDICTIONS):
                models.append(fit(kind, trainset, side, similarity, known))
                known = models[-1].sim
                estimates = np.array([p.est for p in models[-1].test(test)])
                errors[side, similarity, prediction] = np.sqrt(np.mean((estimates - actual) ** 2))
                rows.append(golden.to_whole(estimates))
            found = find_ties(models, test)
            ties[side, similarity] = len(found[0])
            for name, values in zip(("ties", "lowest", "highest"), found):
                arrays[f"{side}-{similarity}-{name}"] = values
            print(f"u{fold} {side} {similarity}: {len(found[0])} ties", file=sys.stderr, flush=True)
    rows = np.array(rows)
    arrays["estimates"] = golden.pack_rows(rows)
    assert np.array_equal(golden.unpack_rows(arrays["estimates"]), rows)
    golden.save(f"surprise-u{fold}.xz", arrays)
    return errors, ties


def make_surprise(folder):
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        results = list(pool.map(make_fold, [folder] * len(golden.FOLDS), golden.FOLDS))
    print("| side | similarity | prediction | mean RMSE of u1 to u5 | ties |")
    print("|---|---|---|---:|---:|")
    for key in results[0][0]:
        mean = np.mean([errors[key] for errors, _ in results])
        print(f"| {' | '.join(key)} | {mean:.4f} | {sum(ties[key[:2]] for _, ties in results)} |")
        published = golden.PUBLISHED.get(key, mean)
        if abs(mean - published) > golden.PUBLISHED_TO:
            sys.exit(f"{key}: mean RMSE {mean:.5f}, but {published} is published")


def knn_matrix(weighted):
    """The package's similarities of 20 neighbours that are not the item itself; the smaller of
    equals, which the package would leave to chance."""
    import scipy.sparse as sparse
    from implicit.nearest_neighbours import all_pairs_knn

    items = weighted.shape[1]
    similar = all_pairs_knn(weighted, items, show_progress=False).tocsr()
    rows, columns, values = [], [], []
    for item in range(items):
        row = similar[item]
        others = [(-np.float32(score), other) for other, score in zip(row.indices, row.data)
                  if other != item and score > 0]
        for score, other in sorted(others)[:IMPLICIT_NEIGHBOURS]:
            rows.append(item)
            columns.append(other)
            values.append(-score)
    return sparse.csr_matrix((values, (rows, columns)), shape=(items, items))


def make_implicit(folder):
    import scipy.sparse as sparse
    from implicit import nearest_neighbours as package

    base = read(folder / "u1.base.gz")
    users, user_index = np.unique([row[0] for row in base], return_inverse=True)
    items, item_index = np.unique([row[1] for row in base], return_inverse=True)
    counts = sparse.csr_matrix(([row[2] for row in base], (user_index, item_index)))
    weighted = {
        "cosine": package.normalize(counts.T).T,
        "tfidf": package.normalize(package.tfidf_weight(counts.T)).T,
        "bm25": package.bm25_weight(counts.T, 1.2, 0.75).T,
    }
    some = np.linspace(0, len(users) - 1, LIST_USERS).astype(int)
    arrays = {}
    for name, matrix in weighted.items():
        model = package.ItemItemRecommender(K=IMPLICIT_NEIGHBOURS, num_threads=1)
        model.similarity = knn_matrix(matrix.tocsr())
        model.scorer = package.NearestNeighboursScorer(model.similarity)
        ids = np.full((len(items), IMPLICIT_NEIGHBOURS), -1, np.int16)
        scores = np.zeros(ids.shape, np.float32)
        for item in range(len(items)):
            row = model.similarity[item]
            best = np.lexsort((row.indices, -row.data))
            ids[item, :len(best)] = items[row.indices[best]]
            scores[item, :len(best)] = row.data[best]
        listed, values = model.recommend(some, counts[some], N=LIST_LENGTH)
        arrays[f"{name}-neighbours"], arrays[f"{name}-scores"] = ids, scores
        arrays[f"{name}-recommended"] = items[listed].astype(np.int16)
        arrays[f"{name}-recommended-scores"] = values.astype(np.float32)
    arrays["items"], arrays["users"] = items.astype(np.int16), users[some].astype(np.int16)
    golden.save("implicit.xz", arrays)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("packages", nargs="*", default=["surprise", "implicit"])
    args = parser.parse_args()
    golden.FOLDER.mkdir(exist_ok=True)
    folder = pathlib.Path(os.environ.get("LIKEWISE_DATA", ROOT / "../shared/data")) / "ml-100k"
    for package in args.packages:
        {"surprise": make_surprise, "implicit": make_implicit}[package](folder)


if __name__ == "__main__":
    main()
