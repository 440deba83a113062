# SPDX-License-Identifier: Apache-2.0
"""What outside packages compute with neighbours on MovieLens 100K.

scripts/golden/make_neighbour_golden.py made the golden files and says what is in them.
"""
import gzip

import neighbour_golden as golden
import numpy as np
import pytest


@pytest.fixture
def movielens(real_data):
    folder = real_data / "ml-100k"
    if not folder.exists():
        pytest.skip(f"no ml-100k in {real_data}: set LIKEWISE_DATA")
    return folder


def test_the_files_meet_published_errors(movielens):
    errors = []
    for fold in golden.FOLDS:
        with gzip.open(movielens / f"u{fold}.test.gz", "rt") as lines:
            actual = np.array([float(line.split("\t")[2]) for line in lines])
        kept = golden.load(f"surprise-u{fold}.xz")
        estimates = golden.to_ratings(golden.unpack_rows(kept["estimates"]))
        errors.append(np.sqrt(np.mean((estimates - actual) ** 2, axis=1)))
    means = np.mean(errors, axis=0)
    for method, published in golden.PUBLISHED.items():
        assert abs(means[golden.row_of(*method)] - published) < golden.PUBLISHED_TO
