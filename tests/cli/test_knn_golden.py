# SPDX-License-Identifier: Apache-2.0
"""Predictions and lists from neighbours, compared to those of outside packages on MovieLens 100K.

scripts/golden/make_knn_golden.py made the golden files and says what is in them.
"""
import csv
import functools
import gzip
import io

import knn_golden as golden
import numpy as np
import pytest

# The files keep an estimate to half a step: this much of the 1e-4 is theirs.
TOLERANCE = 1e-4 - golden.HALF_STEP


@pytest.fixture
def movielens(real_data):
    folder = real_data / "ml-100k"
    if not folder.exists():
        pytest.skip(f"no ml-100k in {real_data}: set LIKEWISE_DATA")
    return folder


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@functools.cache
def pairs_of(path):
    """The pairs of a file as predictions have them, `user,item`, and their ratings."""
    with gzip.open(path, "rt") as lines:
        users, items, ratings, _ = zip(*(line.split("\t") for line in lines))
    return [",".join(pair) for pair in zip(users, items)], np.array(ratings, dtype=float)


def predict(program, model, path):
    """Predictions in the order of the file of pairs."""
    names, *lines = program("predict", model, path).stdout.splitlines()
    assert names == "user,item,prediction"
    found = dict(line.rsplit(",", 1) for line in lines)
    return np.array([found[pair] for pair in pairs_of(path)[0]], dtype=float)


def test_the_files_meet_published_errors(movielens):
    errors = []
    for fold in golden.FOLDS:
        _, actual = pairs_of(movielens / f"u{fold}.test.gz")
        kept = golden.load(f"surprise-u{fold}.xz")
        estimates = golden.to_ratings(golden.unpack_rows(kept["estimates"]))
        errors.append(np.sqrt(np.mean((estimates - actual) ** 2, axis=1)))
    means = np.mean(errors, axis=0)
    for method, published in golden.PUBLISHED.items():
        assert abs(means[golden.row_of(*method)] - published) < golden.PUBLISHED_TO


@pytest.mark.parametrize("prediction", golden.PREDICTIONS)
@pytest.mark.parametrize("similarity", golden.SIMILARITIES)
@pytest.mark.parametrize("side", golden.SIDES)
def test_predictions_equal_surprise_pair_by_pair(program, movielens, side, similarity, prediction):
    row = golden.row_of(side, similarity, prediction)
    method = golden.PREDICTIONS.index(prediction)
    tied, otherwise = 0, 0
    for fold in golden.FOLDS:
        kept = golden.load(f"surprise-u{fold}.xz")
        expected = golden.to_ratings(golden.unpack_rows(kept["estimates"])[row])
        program("train", movielens / f"u{fold}.base.gz", "-o", "model", "--feedback", "explicit",
                "--algorithm", f"{side}-knn", "--neighbours", golden.NEIGHBOURS,
                "--similarity", similarity, "--prediction", prediction,
                "--shrinkage", 100 if similarity == "pearson-baseline" else 0)
        got = predict(program, "model", movielens / f"u{fold}.test.gz")
        differs = np.abs(got - expected) > TOLERANCE

        # Where equals compete for the last place, any choice among them is right.
        ties = kept[f"{side}-{similarity}-ties"]
        low, high = (golden.to_ratings(kept[f"{side}-{similarity}-{end}"][method])
                     for end in ("lowest", "highest"))
        assert np.all(got[ties] > low - 1e-4) and np.all(got[ties] < high + 1e-4)
        tied += len(ties)
        otherwise += np.count_nonzero(differs[ties])

        differs[ties] = False
        worst = np.argmax(np.where(differs, np.abs(got - expected), 0))
        assert not differs.any(), (
            f"u{fold}: {np.count_nonzero(differs)} of {len(got)} differ, row {worst + 1} by most: "
            f"{got[worst]} against {expected[worst]}")
    ties, decided_otherwise = TIES[side, similarity]
    assert (tied, otherwise) == (ties, decided_otherwise[method])


# Pairs of all folds where a tie decides; how many of them came out otherwise than in Surprise, by
# prediction. Surprise computes equal cosines and correlations with rounding errors and compares
# those; its similarities from squared differences have none.
TIES = {
    ("user", "cosine"): (3499, (121, 166, 171, 174)),
    ("user", "msd"): (17976, (0, 0, 0, 0)),
    ("user", "pearson"): (1731, (113, 150, 151, 151)),
    ("user", "pearson-baseline"): (0, (0, 0, 0, 0)),
    ("item", "cosine"): (4781, (74, 118, 117, 118)),
    ("item", "msd"): (17225, (0, 0, 0, 0)),
    ("item", "pearson"): (1648, (72, 106, 107, 107)),
    ("item", "pearson-baseline"): (1, (0, 0, 0, 0)),
}


def train_lists(program, movielens, similarity):
    program("train", movielens / "u1.base.gz", "-o", "model", "--algorithm", "item-knn",
            "--neighbours", 20, "--similarity", similarity, "--prediction", "sum",
            "--shrinkage", 0, "--sum-lists", "own", "--sum-scale", "none")


def same_lists(got, ids, scores):
    """`got` is [(id, score)]. Scores agree to 1e-5, relative to the list's best; ids agree too but
    among equals."""
    expected = [(int(i), float(s)) for i, s in zip(ids, scores) if i >= 0]
    assert len(got) == len(expected)
    if not expected:
        return
    size = max(1.0, expected[0][1])
    assert np.allclose([s for _, s in got], [s for _, s in expected], rtol=0, atol=1e-5 * size)
    last = expected[-1][1]
    theirs = dict(expected)
    for item, score in got:
        if score > last + 2e-5 * size:
            assert abs(theirs[item] - score) <= 1e-5 * size


@pytest.mark.parametrize("similarity", ["cosine", "tfidf", "bm25"])
def test_neighbours_equal_implicit(program, movielens, similarity):
    kept = golden.load("implicit.xz")
    train_lists(program, movielens, similarity)
    lists = {}
    for row in rows_of(program("similar", "model", "--all-items", "-n", 20).stdout):
        lists.setdefault(int(row["item"]), []).append((int(row["similar_item"]), float(row["score"])))
    assert set(lists) <= set(kept["items"].tolist())
    for item, ids, scores in zip(kept["items"], kept[f"{similarity}-neighbours"],
                                 kept[f"{similarity}-scores"]):
        same_lists(lists.get(int(item), []), ids, scores)


@pytest.mark.parametrize("similarity", ["cosine", "tfidf", "bm25"])
def test_recommendations_equal_implicit(program, movielens, tmp_path, similarity):
    kept = golden.load("implicit.xz")
    train_lists(program, movielens, similarity)
    (tmp_path / "users").write_text("".join(f"{user}\n" for user in kept["users"]))
    lists = {}
    for row in rows_of(program("recommend", "model", "--users", "users", "-n", 10).stdout):
        lists.setdefault(int(row["user"]), []).append((int(row["item"]), float(row["score"])))
    for user, ids, scores in zip(kept["users"], kept[f"{similarity}-recommended"],
                                 kept[f"{similarity}-recommended-scores"]):
        same_lists(lists[int(user)], ids, scores)
