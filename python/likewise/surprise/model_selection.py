# SPDX-License-Identifier: Apache-2.0
"""Splits, cross-validation and search of Surprise. A random_state gives Surprise's folds."""
from __future__ import annotations

import itertools
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.surprise import accuracy
from likewise.surprise.data import Dataset, DatasetUserFolds, Trainset

Fold = tuple[Trainset, list[tuple[Any, Any, float]]]


def _random(random_state: Any) -> Any:
    if random_state is None:
        return np.random.mtrand._rand
    if isinstance(random_state, np.random.RandomState):
        return random_state
    if isinstance(random_state, (int, np.integer)):
        return np.random.RandomState(random_state)
    raise ValueError(f"random_state must be None, a whole number or a RandomState, not {random_state!r}")


def _part(data: Dataset, train: npt.NDArray[Any], test: npt.NDArray[Any]) -> Fold:
    return (data.construct_trainset([data.raw_ratings[place] for place in train]),
            data.construct_testset([data.raw_ratings[place] for place in test]))


class KFold:
    """Each rating is in the test set of one of n_splits folds."""

    def __init__(self, n_splits: int = 5, random_state: Any = None, shuffle: bool = True):
        self.n_splits, self.random_state, self.shuffle = n_splits, random_state, shuffle

    def split(self, data: Dataset) -> Iterator[Fold]:
        count = len(data.raw_ratings)
        if not 2 <= self.n_splits <= count:
            raise ValueError(f"n_splits is {self.n_splits}: from 2 to the {count} ratings are possible")
        places = np.arange(count)
        if self.shuffle:
            _random(self.random_state).shuffle(places)
        for test in np.array_split(np.arange(count), self.n_splits):
            yield _part(data, np.delete(places, test), places[test])

    def get_n_folds(self) -> int:
        return self.n_splits


class RepeatedKFold:
    """KFold, n_repeats times with other folds."""

    def __init__(self, n_splits: int = 5, n_repeats: int = 10, random_state: Any = None):
        self.n_splits, self.n_repeats, self.random_state = n_splits, n_repeats, random_state

    def split(self, data: Dataset) -> Iterator[Fold]:
        random = _random(self.random_state)
        for _ in range(self.n_repeats):
            yield from KFold(self.n_splits, random, True).split(data)

    def get_n_folds(self) -> int:
        return self.n_repeats * self.n_splits


class ShuffleSplit:
    """Random training and test sets: shares (float) or counts (int) of the ratings."""

    def __init__(self, n_splits: int = 5, test_size: float | int | None = 0.2, train_size: float | int | None = None,
                 random_state: Any = None, shuffle: bool = True):
        for name, value in (("n_splits", n_splits), ("test_size", test_size), ("train_size", train_size)):
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be above 0, not {value}")
        self.n_splits, self.test_size, self.train_size = n_splits, test_size, train_size
        self.random_state, self.shuffle = random_state, shuffle

    def _sizes(self, count: int) -> tuple[int, int]:
        test = math.ceil(self.test_size * count) if isinstance(self.test_size, float) else self.test_size
        train = math.floor(self.train_size * count) if isinstance(self.train_size, float) else self.train_size
        if train is None:
            train = count - (0 if test is None else test)
        if test is None:
            test = count - train
        if train <= 0 or test <= 0 or train + test > count:
            raise ValueError(f"{train} ratings to train on and {test} to test on cannot be taken from {count}")
        return train, test

    def split(self, data: Dataset) -> Iterator[Fold]:
        train, test = self._sizes(len(data.raw_ratings))
        random = _random(self.random_state)
        for _ in range(self.n_splits):
            places = random.permutation(len(data.raw_ratings)) if self.shuffle else np.arange(len(data.raw_ratings))
            yield _part(data, places[:train], places[train:train + test])

    def get_n_folds(self) -> int:
        return self.n_splits


def train_test_split(data: Dataset, test_size: float | int | None = 0.2, train_size: float | int | None = None,
                     random_state: Any = None, shuffle: bool = True) -> Fold:
    """One fold of ShuffleSplit."""
    return next(ShuffleSplit(1, test_size, train_size, random_state, shuffle).split(data))


class LeaveOneOut:
    """One random rating of each user with more than min_n_ratings is tested; other users are left out."""

    def __init__(self, n_splits: int = 5, random_state: Any = None, min_n_ratings: int = 0):
        self.n_splits, self.random_state, self.min_n_ratings = n_splits, random_state, min_n_ratings

    def split(self, data: Dataset) -> Iterator[Fold]:
        by_user = defaultdict(list)
        for place, (user, *_) in enumerate(data.raw_ratings):
            by_user[user].append(place)
        random = _random(self.random_state)
        for _ in range(self.n_splits):
            train: list[int] = []
            test = []
            for places in by_user.values():
                if len(places) > self.min_n_ratings:
                    chosen = random.randint(0, len(places))
                    test.append(places[chosen])
                    train += places[:chosen] + places[chosen + 1:]
            if not train:
                raise ValueError(f"nothing is left to train on: min_n_ratings is {self.min_n_ratings}")
            yield _part(data, np.array(train), np.array(test))

    def get_n_folds(self) -> int:
        return self.n_splits


class PredefinedKFold:
    """The folds of Dataset.load_from_folds()."""

    def split(self, data: DatasetUserFolds) -> Iterator[Fold]:
        self.n_splits = len(data.folds_files)
        for train, test in data.folds_files:
            yield data.construct_trainset(data.read_ratings(train)), data.construct_testset(data.read_ratings(test))

    def get_n_folds(self) -> int:
        return self.n_splits


def _iterator(cv: Any) -> Any:
    if cv is None or (isinstance(cv, (int, np.integer)) and not isinstance(cv, bool)):
        return KFold(n_splits=5 if cv is None else int(cv))
    if not hasattr(cv, "split"):
        raise ValueError(f"cv must be None, a number of folds or an iterator as KFold, not {cv!r}")
    return cv


def _measured(algo: Any, fold: Fold, measures: Sequence[str], train_too: bool) -> dict[str, float]:
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


def _names(measures: Sequence[str]) -> list[str]:
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
    names = _names(measures)
    folds = [_measured(algo, fold, names, return_train_measures) for fold in _iterator(cv).split(data)]
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


class _Search:
    """best_score, best_params, best_index and best_estimator by measure, and cv_results for a frame."""

    def __init__(self, algo_class: Any, measures: Sequence[str] = ("rmse", "mae"), cv: Any = None,
                 refit: bool | str = False, return_train_measures: bool = False, n_jobs: int = 1,
                 pre_dispatch: Any = "2*n_jobs", joblib_verbose: int = 0):
        self.algo_class, self.measures, self.cv = algo_class, _names(measures), cv
        self.return_train_measures = return_train_measures
        self.refit = self.measures[0] if refit is True else refit.lower() if isinstance(refit, str) else ""
        if self.refit and self.refit not in self.measures:
            raise ValueError(f"refit by {self.refit!r}: the measures are {', '.join(self.measures)}")
        self.param_combinations: list[dict[str, Any]] = []

    def fit(self, data: Dataset) -> None:
        """Measures all combinations on all folds."""
        if self.refit and isinstance(data, DatasetUserFolds):
            raise ValueError("refit needs all ratings: data of load_from_folds() has none but its folds")
        cv = _iterator(self.cv)
        runs = [[_measured(self.algo_class(**params), fold, self.measures, self.return_train_measures) for fold in cv.split(data)]
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
        random = _random(random_state)
        if all(isinstance(values, (list, tuple)) for values in self.param_distributions.values()):
            grid = _options(self.param_distributions)
            if len(grid) < n_iter:
                raise ValueError(f"there are {len(grid)} combinations, and n_iter is {n_iter}: take GridSearchCV")
            self.param_combinations = [grid[place] for place in random.permutation(len(grid))[:n_iter]]
        else:
            self.param_combinations = [
                {name: values.rvs(random_state=random) if hasattr(values, "rvs") else values[random.randint(len(values))]
                 for name, values in sorted(self.param_distributions.items())} for _ in range(n_iter)]
