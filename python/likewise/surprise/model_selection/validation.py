# SPDX-License-Identifier: Apache-2.0
"""Measures over folds."""
from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise.surprise import accuracy
from likewise.surprise.dataset import Dataset
from likewise.surprise.model_selection.split import Fold, get_cv


def measured(algo: Any, fold: Fold, measures: Sequence[str], train_too: bool) -> dict[str, float]:
    start = time.perf_counter()
    algo.fit(fold[0])
    fitted = time.perf_counter()
    predictions = algo.test(fold[1])
    found = {"fit_time": fitted - start, "test_time": time.perf_counter() - fitted}
    found |= {f"test_{name}": getattr(accuracy, name)(predictions, verbose=False) for name in measures}
    if train_too:
        known = algo.test(fold[0].build_testset())
        found |= {f"train_{name}": getattr(accuracy, name)(known, verbose=False) for name in measures}
    return found


def names_of_measures(measures: Sequence[str]) -> list[str]:
    names = [name.lower() for name in measures]
    for name in names:
        if name not in ("rmse", "mse", "mae", "fcp"):
            raise ValueError(f"there is no measure {name!r}; there are rmse, mse, mae and fcp")
    return names


def cross_validate(algo: Any, data: Dataset, measures: Sequence[str] = ("rmse", "mae"), cv: Any = None,
                   return_train_measures: bool = False, n_jobs: int = 1, pre_dispatch: Any = "2*n_jobs",
                   verbose: bool = False) -> dict[str, Any]:
    """Measures over folds: arrays test_rmse ..., tuples fit_time and test_time. n_jobs is accepted: each training takes
    all cores."""
    names = names_of_measures(measures)
    folds = [measured(algo, fold, names, return_train_measures) for fold in get_cv(cv).split(data)]
    found: dict[str, Any] = {key: np.array([fold[key] for fold in folds]) for key in folds[0]}
    if verbose:
        _print(type(algo).__name__, names, found)
    for key in ("fit_time", "test_time"):
        found[key] = tuple(found[key].tolist())
    return found


def _print(name: str, measures: Sequence[str], found: dict[str, Any]) -> None:
    count = len(found["fit_time"])
    print(f"Evaluating {', '.join(measure.upper() for measure in measures)} of algorithm {name} on {count} split(s).\n")
    print(f"{'':<18}" + "".join(f"{head:<8}" for head in [*(f"Fold {fold + 1}" for fold in range(count)), "Mean", "Std"]))
    rows = {f"{measure.upper()} ({part}set)": (found[f"{part}_{measure}"], 4) for part in ("test", "train")
            for measure in measures if f"{part}_{measure}" in found}
    for head, (values, digits) in {**rows, "Fit time": (found["fit_time"], 2), "Test time": (found["test_time"], 2)}.items():
        print(f"{head:<18}" + "".join(f"{value:<8.{digits}f}" for value in [*values, np.mean(values), np.std(values)]))
