# SPDX-License-Identifier: Apache-2.0
"""Predicting ratings: neighbours and factors on MovieLens 100K, on its own five folds.

    python ratings.py FOLDER       with u1.base, u1.test ... (or .gz), as ml-100k has them
"""
import pathlib
import sys

import numpy as np

import likewise

ESTIMATORS = {
    "nearest items": likewise.ItemKnn(feedback="explicit", similarity="msd", prediction="baseline"),
    "nearest users": likewise.UserKnn(feedback="explicit", similarity="pearson-baseline"),
    "factors": likewise.Als(feedback="explicit", factors=64, regularization=0.07, iterations=20),
}


def read(folder: str, name: str) -> likewise.Interactions:
    path = pathlib.Path(folder, name)
    return likewise.Interactions(path if path.exists() else path.with_name(name + ".gz"))


def main(folder: str, folds: str = "5") -> None:
    for name, estimator in ESTIMATORS.items():
        errors = []
        for fold in range(1, int(folds) + 1):
            estimator.fit(read(folder, f"u{fold}.base"))
            errors.append(estimator.evaluate(read(folder, f"u{fold}.test"))["rmse"])
        print(f"{name:14} RMSE {np.mean(errors):.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
