# SPDX-License-Identifier: Apache-2.0
"""The files of tests/golden/knn: how scripts/golden/make_knn_golden.py packs what the
outside packages compute, and how the tests unpack it.

A file is a compressed (xz) NumPy archive. Ratings from 1 to 5 are 16-bit whole numbers, so that
half a step is 3.1e-5. Estimates of similar methods lie close together, and high bytes are quieter
than low ones: a matrix of them is kept as its first row and the differences of each row to the one
before (modulo 2^16), the bytes apart.
"""
import functools
import io
import lzma
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "golden/knn"
FOLDS = (1, 2, 3, 4, 5)
SIDES = ("user", "item")
SIMILARITIES = ("cosine", "msd", "pearson", "pearson-baseline")
PREDICTIONS = ("mean", "centred", "z-score", "baseline")
NEIGHBOURS = 40
# Mean RMSE of the five folds as published for Surprise. Its rows were in the order of u.data;
# another order of equally similar neighbours moves these figures by up to 3e-4.
PUBLISHED = {
    ("user", "msd", "mean"): 0.9802,
    ("user", "msd", "centred"): 0.9528,
    ("user", "msd", "baseline"): 0.9323,
    ("item", "msd", "mean"): 0.9779,
    ("item", "msd", "centred"): 0.9364,
    ("item", "msd", "baseline"): 0.9330,
}
PUBLISHED_TO = 4e-4
LOWEST, HIGHEST = 1.0, 5.0
HALF_STEP = (HIGHEST - LOWEST) / 65535 / 2


def to_whole(ratings):
    return np.round((np.asarray(ratings) - LOWEST) / (2 * HALF_STEP)).astype(np.uint16)


def to_ratings(whole):
    return LOWEST + whole * (2 * HALF_STEP)


def pack_rows(rows):
    """uint16 [n, m] to bytes [2, n, m]."""
    steps = np.diff(rows, axis=0, prepend=np.zeros_like(rows[:1]))
    return np.stack([steps & 255, steps >> 8]).astype(np.uint8)


def unpack_rows(planes):
    steps = planes[0] + (planes[1].astype(np.uint16) << 8)
    return np.cumsum(steps, axis=0, dtype=np.uint16)


def row_of(side, similarity, prediction):
    """Where `estimates` keeps a method."""
    place = SIDES.index(side) * len(SIMILARITIES) + SIMILARITIES.index(similarity)
    return place * len(PREDICTIONS) + PREDICTIONS.index(prediction)


def save(name, arrays):
    content = io.BytesIO()
    np.savez(content, **arrays)
    (FOLDER / name).write_bytes(lzma.compress(content.getvalue(), preset=9 | lzma.PRESET_EXTREME))


@functools.cache
def load(name):
    """The arrays of a file, which is unpacked once: nobody changes them."""
    with lzma.open(FOLDER / name) as packed:
        return dict(np.load(io.BytesIO(packed.read())))
