# SPDX-License-Identifier: Apache-2.0
"""Searches for good parameters."""
from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise.surprise.dataset import Dataset, DatasetUserFolds
from likewise.surprise.model_selection.split import get_cv
from likewise.surprise.model_selection.validation import measured, names_of_measures
from likewise.surprise.utils import get_rng


class _Search:
    """best_score, best_params, best_index and best_estimator by measure, and cv_results for a frame."""

    def __init__(self, algo_class: Any, measures: Sequence[str] = ("rmse", "mae"), cv: Any = None,
                 refit: bool | str = False, return_train_measures: bool = False, n_jobs: int = 1,
                 pre_dispatch: Any = "2*n_jobs", joblib_verbose: int = 0):
        self.algo_class, self.measures, self.cv = algo_class, names_of_measures(measures), cv
        self.return_train_measures = return_train_measures
        self.refit = self.measures[0] if refit is True else refit.lower() if isinstance(refit, str) else ""
        if self.refit and self.refit not in self.measures:
            raise ValueError(f"refit by {self.refit!r}: the measures are {', '.join(self.measures)}")
        self.param_combinations: list[dict[str, Any]] = []

    def fit(self, data: Dataset) -> None:
        """Measures all combinations on all folds."""
        if self.refit and isinstance(data, DatasetUserFolds):
            raise ValueError("refit needs all ratings: data of load_from_folds() has none but its folds")
        cv = get_cv(self.cv)
        runs = [[measured(self.algo_class(**params), fold, self.measures, self.return_train_measures) for fold in cv.split(data)]
                for params in self.param_combinations]
        self.cv_results: dict[str, Any] = {}
        for key in runs[0][0]:
            table = np.array([[fold[key] for fold in folds] for folds in runs])
            if not key.endswith("_time"):
                part, _, name = key.partition("_")
                self.cv_results |= {f"split{place}_{part}_{name}": column for place, column in enumerate(table.T)}
            self.cv_results |= {f"mean_{key}": table.mean(axis=1), f"std_{key}": table.std(axis=1)}
        self._choose()
        if self.refit:
            self.best_estimator[self.refit].fit(data.construct_trainset(data.raw_ratings))

    def _choose(self) -> None:
        self.best_index: dict[str, int] = {}
        self.best_params: dict[str, dict[str, Any]] = {}
        self.best_score: dict[str, float] = {}
        self.best_estimator: dict[str, Any] = {}
        for name in self.measures:
            means = self.cv_results[f"mean_test_{name}"] * (-1 if name == "fcp" else 1)
            ranks = np.empty(len(means), dtype=np.int64)
            ranks[means.argsort()] = np.arange(len(means)) + 1
            self.cv_results[f"rank_test_{name}"] = ranks
            self.best_index[name] = int(means.argmin())
            self.best_params[name] = self.param_combinations[self.best_index[name]]
            self.best_score[name] = float(abs(means.min()))
            self.best_estimator[name] = self.algo_class(**self.best_params[name])
        self.cv_results["params"] = self.param_combinations
        for one in self.param_combinations[0]:
            self.cv_results[f"param_{one}"] = [params[one] for params in self.param_combinations]

    def test(self, testset: Any, verbose: bool = False) -> Any:
        """Predictions of the best, which refit has trained."""
        return self._refitted("test").test(testset, verbose)

    def predict(self, *args: Any) -> Any:
        """A prediction of the best, which refit has trained."""
        return self._refitted("predict").predict(*args)

    def _refitted(self, what: str) -> Any:
        if not self.refit:
            raise ValueError(f"refit is False: {what}() needs the best trained on everything, by refit=True")
        return self.best_estimator[self.refit]


def _options(values: Any) -> list[Any]:
    """Of sim_options and bsl_options, dicts of lists: all dicts."""
    return [dict(zip(values, chosen)) for chosen in itertools.product(*values.values())]


class GridSearchCV(_Search):
    """Measures all combinations of lists of parameters; sim_options and bsl_options are dicts of lists."""

    def __init__(self, algo_class: Any, param_grid: dict[str, Any], measures: Sequence[str] = ("rmse", "mae"), cv: Any = None,
                 refit: bool | str = False, return_train_measures: bool = False, n_jobs: int = 1,
                 pre_dispatch: Any = "2*n_jobs", joblib_verbose: int = 0):
        super().__init__(algo_class, measures, cv, refit, return_train_measures, n_jobs, pre_dispatch, joblib_verbose)
        self.param_grid = {name: _options(values) if name in ("sim_options", "bsl_options") else values
                           for name, values in param_grid.items()}
        self.param_combinations = _options(self.param_grid)


class RandomizedSearchCV(_Search):
    """Measures n_iter combinations, drawn from lists or from what has rvs(), as SciPy's distributions."""

    def __init__(self, algo_class: Any, param_distributions: dict[str, Any], n_iter: int = 10,
                 measures: Sequence[str] = ("rmse", "mae"), cv: Any = None, refit: bool | str = False,
                 return_train_measures: bool = False, n_jobs: int = 1, pre_dispatch: Any = "2*n_jobs", random_state: Any = None,
                 joblib_verbose: int = 0):
        super().__init__(algo_class, measures, cv, refit, return_train_measures, n_jobs, pre_dispatch, joblib_verbose)
        self.n_iter, self.random_state = n_iter, random_state
        self.param_distributions = {name: _options(values) if name in ("sim_options", "bsl_options") else values
                                    for name, values in param_distributions.items()}
        random = get_rng(random_state)
        if all(isinstance(values, (list, tuple)) for values in self.param_distributions.values()):
            grid = _options(self.param_distributions)
            if len(grid) < n_iter:
                raise ValueError(f"there are {len(grid)} combinations, and n_iter is {n_iter}: take GridSearchCV")
            self.param_combinations = [grid[place] for place in random.permutation(len(grid))[:n_iter]]
        else:
            self.param_combinations = [
                {name: values.rvs(random_state=random) if hasattr(values, "rvs") else values[random.randint(len(values))]
                 for name, values in sorted(self.param_distributions.items())} for _ in range(n_iter)]
