# SPDX-License-Identifier: Apache-2.0
import os
import pathlib

import numpy as np
import pytest

import likewise

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def real_data():
    """The folder of the real data sets."""
    folder = pathlib.Path(os.environ.get("LIKEWISE_DATA", ROOT / "../shared/data"))
    if not (folder / "ml-100k").is_dir():
        pytest.skip(f"no real data in {folder}: set LIKEWISE_DATA")
    return folder


@pytest.fixture(scope="session")
def triples():
    """Users, items and values 1..5: 5,000 rows, no pair twice, some users and items rare."""
    draw = np.random.default_rng(7)
    cells = draw.choice(300 * 120, size=5000, replace=False)
    users, items = np.divmod(cells, 120)
    return users * 3 + 10, items * 2 + 5, draw.integers(1, 6, 5000).astype(np.float32)


@pytest.fixture(scope="session")
def ratings(triples):
    return likewise.Interactions(triples)


@pytest.fixture(scope="session")
def trained(ratings):
    return likewise.Als(factors=12, iterations=4).fit(ratings).model_.to_bytes()


@pytest.fixture
def model(trained):
    """One of its own for each test: titles that one sets are in no other's frames."""
    return likewise.Model.from_bytes(trained)
