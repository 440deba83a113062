#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/baselines.json: what Surprise's BaselineOnly computes on MovieLens 100K.

    python3 -m venv /tmp/golden
    /tmp/golden/bin/pip install 'numpy<2' scikit-surprise==1.1.5
    /tmp/golden/bin/python scripts/golden/make_bias_golden.py

LIKEWISE_DATA (or ../shared/data) holds ml-100k; only numbers are kept, never the data. For each set
of options of CASES, in their order, and each fold uN of GroupLens: RMSE and MAE over all of uN.test
from uN.base, and the estimates of every 200th row of uN.test. Rows of uN.base come sorted by user
and item, the order in which stochastic gradient descent goes over them.
"""
import gzip
import json
import os
import pathlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVERY = 200
CASES = [  # bsl_options, and the same in the words of likewise
    ({}, {}),
    ({"method": "als", "n_epochs": 3, "reg_u": 2, "reg_i": 30},
     {"baseline_epochs": 3, "baseline_user_regularization": 2.0,
      "baseline_item_regularization": 30.0}),
    ({"method": "sgd"}, {"baseline_method": "sgd"}),
    ({"method": "sgd", "n_epochs": 5, "reg": 0.1, "learning_rate": 0.02},
     {"baseline_method": "sgd", "baseline_epochs": 5, "baseline_regularization": 0.1,
      "baseline_learning_rate": 0.02}),
]


def read(path):
    with gzip.open(path, "rt") as lines:
        return [(int(u), int(i), float(r)) for u, i, r, _ in (line.split("\t") for line in lines)]


def fold_of(folder, fold, options):
    from surprise import BaselineOnly, Dataset, Reader

    base, test = (read(folder / f"u{fold}.{part}.gz") for part in ("base", "test"))
    data = Dataset(Reader(rating_scale=(1, 5)))
    trainset = data.construct_trainset([(*row, None) for row in sorted(base)])
    model = BaselineOnly(bsl_options=options, verbose=False).fit(trainset)
    estimates = np.array([prediction.est for prediction in model.test(test)])
    errors = estimates - np.array([rating for _, _, rating in test])
    return {"rmse": float(np.sqrt(np.mean(errors ** 2))), "mae": float(np.mean(np.abs(errors))),
            "estimates": [round(float(estimate), 7) for estimate in estimates[::EVERY]]}


def main():
    import surprise

    folder = pathlib.Path(os.environ.get("LIKEWISE_DATA", ROOT / "../shared/data")) / "ml-100k"
    cases = [{"surprise": theirs, "likewise": ours,
              "folds": [fold_of(folder, fold, theirs) for fold in (1, 2, 3, 4, 5)]}
             for theirs, ours in CASES]
    for case in cases:
        print(case["surprise"], np.mean([fold["rmse"] for fold in case["folds"]]))
    path = ROOT / "tests/golden/baselines.json"
    path.write_text(json.dumps({"made_by": "scripts/golden/make_bias_golden.py",
                                "surprise": surprise.__version__, "every": EVERY,
                                "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
