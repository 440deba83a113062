# SPDX-License-Identifier: Apache-2.0
"""Ratings by the formulas of two publications (docs/reference/math.md, "Predicted ratings"), every missing cell of
MovieLens 100K against the definition in float64."""
import numpy as np
import pyarrow.csv
import pytest

LOWEST, HIGHEST = 1.0, 5.0
NEIGHBOURS = 40


@pytest.fixture(scope="module")
def ratings(real_data):
    """The ids of users and of items, and their values as a matrix; 0 where nothing is."""
    file = real_data / "ml-100k/u.data"
    if not file.exists():
        pytest.skip(f"no ml-100k in {real_data}: set LIKEWISE_DATA")
    user, item, value, _ = np.loadtxt(file, dtype=np.int64).T
    ids = np.unique(user), np.unique(item)
    matrix = np.zeros((len(ids[0]), len(ids[1])))
    matrix[np.searchsorted(ids[0], user), np.searchsorted(ids[1], item)] = value
    return file, ids, matrix


def row_means(matrix):
    return matrix.sum(axis=1, keepdims=True) / (matrix > 0).sum(axis=1, keepdims=True)


def whole_row_pearson(matrix):
    """The cosine of rows about their means, blanks as zeros, where negative ones are no neighbours;
    and which pairs are so near 0 that rounding decides whether they are."""
    centred = np.where(matrix > 0, matrix - row_means(matrix), 0.0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 0)
    similar = unit @ unit.T
    common = (matrix > 0).astype(float) @ (matrix > 0).T.astype(float) > 0
    np.fill_diagonal(common, False)
    doubtful = common & (np.abs(similar) < 1e-7)
    similar[(similar < 1e-7) | ~common] = 0.0
    return similar, doubtful


def quotient(above, below, otherwise):
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), otherwise)


def predicted(program, ratings, *options):
    file, (users, items), matrix = ratings
    program("train", file, "-o", "m", "--feedback", "explicit", *options)
    program("predict", "m", "--all-missing", "-o", "all.csv")
    found = np.full(matrix.shape, np.nan)
    user, item, value = pyarrow.csv.read_csv(program.folder / "all.csv").columns
    found[np.searchsorted(users, user), np.searchsorted(items, item)] = value
    assert np.array_equal(np.isnan(found), matrix > 0)
    return found


def assert_same(found, expected, where=True):
    compared = ~np.isnan(found) & where
    assert compared.sum() > 0.85 * (~np.isnan(found)).sum()
    assert np.abs(found - np.clip(expected, LOWEST, HIGHEST))[compared].max() < 2e-6


@pytest.mark.parametrize("similarity", ["pearson-full", "adjusted-cosine"])
@pytest.mark.parametrize("side", ["item", "user"])
def test_all_raters_make_a_plain_weighted_mean(program, ratings, side, similarity):
    options = ["--algorithm", f"{side}-knn", "--similarity", similarity, "--prediction", "mean",
               "--predict-from", "all"]
    if similarity == "adjusted-cosine":  # the same two formulas
        options += ["--centring", side]
    found = predicted(program, ratings, *options)
    _, _, matrix = ratings
    rows = matrix if side == "user" else matrix.T
    similar, doubtful = whole_row_pearson(rows)
    mean = matrix.sum() / (matrix > 0).sum()
    weights = similar @ (rows > 0)
    expected = quotient(similar @ rows, weights, mean)
    # A similarity is rounded to float32, and so are the values that it is made of: 1e-7.
    sure = (weights > 1e-2) | ((weights == 0) & (doubtful.astype(float) @ (rows > 0) == 0))
    if side == "item":
        expected, sure = expected.T, sure.T
    assert_same(found, expected, sure)


def test_the_nearest_of_all_predict_what_they_have(program, ratings):
    found = predicted(program, ratings, "--algorithm", "user-knn", "--similarity", "pearson-full",
                      "--prediction", "centred", "--predict-from", "kept", "--neighbours", NEIGHBOURS)
    _, _, matrix = ratings
    similar, _ = whole_row_pearson(matrix)
    order = np.argsort(-similar, axis=1, kind="stable")
    ranked = np.take_along_axis(similar, order, axis=1)
    # In a near tie for the last place float32 may take the other one.
    sure = ranked[:, NEIGHBOURS - 1] - ranked[:, NEIGHBOURS] > 1e-6
    np.put_along_axis(similar, order[:, NEIGHBOURS:], 0.0, axis=1)
    mean = row_means(matrix)
    deviations = np.where(matrix > 0, matrix - mean, 0.0)
    expected = mean + quotient(similar @ deviations, similar @ (matrix > 0), 0.0)
    assert_same(found, expected, sure[:, np.newaxis])


def test_who_may_predict_matters(program, ratings):
    kept, rated, every = (
        predicted(program, ratings, "--algorithm", "item-knn", "--predict-from", who)
        for who in ("kept", "rated", "all"))
    missing = ~np.isnan(kept)
    assert np.mean(kept[missing] == rated[missing]) < 0.5
    assert np.mean(every[missing] == rated[missing]) < 0.9  # many users have few items
