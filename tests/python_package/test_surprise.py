# SPDX-License-Identifier: Apache-2.0
"""The neighbourhood classes and BaselineOnly of Surprise in our words give its predictions, pair by pair.

tests/cli/test_knn_golden.py and test_bias.py compare every similarity on every fold; here it is
the package, and the table of docs/guide/from-surprise.md.
"""
import json
import sys

import numpy as np
import pytest

import likewise
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests/cli"))
import knn_golden as golden  # noqa: E402

CLASSES = {"KNNBasic": "mean", "KNNWithMeans": "centred", "KNNWithZScore": "z-score", "KNNBaseline": "baseline"}


@pytest.mark.parametrize("side", golden.SIDES)
@pytest.mark.parametrize("name", CLASSES)
def test_predictions_are_those_of_surprise(real_data, name, side):
    folder = real_data / "ml-100k"
    estimator = (likewise.UserKnn if side == "user" else likewise.ItemKnn)(
        feedback="explicit", neighbours=40, similarity="msd", shrinkage=0.0, prediction=CLASSES[name])
    estimator.fit(likewise.Interactions(folder / "u1.base.gz"))
    test = np.loadtxt(folder / "u1.test.gz", dtype=np.int64)
    got = estimator.predict(test[:, 0], test[:, 1])
    kept = golden.load("surprise-u1.xz")
    row = golden.row_of(side, "msd", CLASSES[name])
    expected = golden.to_ratings(golden.unpack_rows(kept["estimates"])[row])
    decided = np.ones(len(test), dtype=bool)
    decided[kept[f"{side}-msd-ties"]] = False  # equals compete for the last place there
    assert decided.sum() > 15_000
    assert np.abs(got - expected)[decided].max() < 1e-4
    assert abs(np.sqrt(np.mean((got - test[:, 2]) ** 2)) - np.sqrt(np.mean((expected - test[:, 2]) ** 2))) < 2e-4


def test_baselines_are_those_of_surprise(real_data):
    golden_file = json.loads((ROOT / "tests/golden/baselines.json").read_text())
    train = likewise.Interactions(real_data / "ml-100k/u1.base.gz")
    test = np.loadtxt(real_data / "ml-100k/u1.test.gz", dtype=np.int64)
    for case in golden_file["cases"]:
        got = likewise.Bias(**case["likewise"]).fit(train).predict(test[:, 0], test[:, 1])
        expected = case["folds"][0]
        assert np.abs(got[::golden_file["every"]] - expected["estimates"]).max() < 2e-6
        assert abs(np.sqrt(np.mean((got - test[:, 2]) ** 2)) - expected["rmse"]) < 1e-6
