# SPDX-License-Identifier: Apache-2.0
import os
import pathlib

import numpy as np
import pytest

likewise = pytest.importorskip("likewise")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def needed(*modules):
    """Skips a file of tests where a package is missing; the last of modules."""
    return [pytest.importorskip(module, reason=f"no {module}: scripts/setup friends installs it") for module in modules][-1]


@pytest.fixture(scope="session")
def real_data():
    folder = pathlib.Path(os.environ.get("LIKEWISE_DATA", ROOT / "../shared/data"))
    if not (folder / "ml-100k").is_dir():
        pytest.skip(f"no real data in {folder}: set LIKEWISE_DATA")
    return folder


@pytest.fixture(scope="session")
def parts():
    """Training and test parts of ratings 1..5 of 200 users, in which some items are liked by most of a group."""
    draw = np.random.default_rng(5)
    cells = draw.choice(200 * 80, size=4000, replace=False)
    users, items = np.divmod(cells, 80)
    values = np.clip(3 + (users % 4 == items % 4) * 1.5 + draw.normal(0, 0.7, len(cells)), 1, 5).round().astype(np.float32)
    times = np.datetime64("2024-01-01") + draw.integers(0, 300, len(cells)).astype("timedelta64[D]")
    ratings = likewise.Interactions((users + 1000, items + 10, values, times))
    return likewise.split(ratings, "per-user", test=0.2)
