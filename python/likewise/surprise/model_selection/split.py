# SPDX-License-Identifier: Apache-2.0
"""Iterators of folds. A random_state gives Surprise's."""
from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.surprise.dataset import Dataset, DatasetUserFolds
from likewise.surprise.trainset import Trainset
from likewise.surprise.utils import get_rng

Fold = tuple[Trainset, list[tuple[Any, Any, float]]]


def _part(data: Dataset, train: npt.NDArray[Any], test: npt.NDArray[Any]) -> Fold:
    return (data.construct_trainset([data.raw_ratings[place] for place in train]),
            data.construct_testset([data.raw_ratings[place] for place in test]))


class KFold:
    """Each rating is in the test set of one of n_splits folds."""

    def __init__(self, n_splits: int = 5, random_state: Any = None, shuffle: bool = True):
        self.n_splits, self.random_state, self.shuffle = n_splits, random_state, shuffle

    def split(self, data: Dataset) -> Iterator[Fold]:
        """(trainset, testset) of each fold."""
        count = len(data.raw_ratings)
        if not 2 <= self.n_splits <= count:
            raise ValueError(f"n_splits is {self.n_splits}: from 2 to the {count} ratings are possible")
        places = np.arange(count)
        if self.shuffle:
            get_rng(self.random_state).shuffle(places)
        for test in np.array_split(np.arange(count), self.n_splits):
            yield _part(data, np.delete(places, test), places[test])

    def get_n_folds(self) -> int:
        """How many folds there are."""
        return self.n_splits


class RepeatedKFold:
    """KFold, n_repeats times with other folds."""

    def __init__(self, n_splits: int = 5, n_repeats: int = 10, random_state: Any = None):
        self.n_splits, self.n_repeats, self.random_state = n_splits, n_repeats, random_state

    def split(self, data: Dataset) -> Iterator[Fold]:
        """(trainset, testset) of each fold."""
        random = get_rng(self.random_state)
        for _ in range(self.n_repeats):
            yield from KFold(self.n_splits, random, True).split(data)

    def get_n_folds(self) -> int:
        """How many folds there are."""
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
        """(trainset, testset) of each fold."""
        train, test = self._sizes(len(data.raw_ratings))
        random = get_rng(self.random_state)
        for _ in range(self.n_splits):
            places = random.permutation(len(data.raw_ratings)) if self.shuffle else np.arange(len(data.raw_ratings))
            yield _part(data, places[:train], places[train:train + test])

    def get_n_folds(self) -> int:
        """How many folds there are."""
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
        """(trainset, testset) of each fold."""
        by_user = defaultdict(list)
        for place, (user, *_) in enumerate(data.raw_ratings):
            by_user[user].append(place)
        random = get_rng(self.random_state)
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
        """How many folds there are."""
        return self.n_splits


class PredefinedKFold:
    """The folds of Dataset.load_from_folds()."""

    def split(self, data: DatasetUserFolds) -> Iterator[Fold]:
        """(trainset, testset) of each fold."""
        self.n_splits = len(data.folds_files)
        for train, test in data.folds_files:
            yield data.construct_trainset(data.read_ratings(train)), data.construct_testset(data.read_ratings(test))

    def get_n_folds(self) -> int:
        """How many folds there are."""
        return self.n_splits


def get_cv(cv: Any) -> Any:
    """The iterator of folds that cv names: itself, or KFold of a number of folds, 5 for None."""
    if cv is None or (isinstance(cv, (int, np.integer)) and not isinstance(cv, bool)):
        return KFold(n_splits=5 if cv is None else int(cv))
    if not hasattr(cv, "split"):
        raise ValueError(f"cv must be None, a number of folds or an iterator as KFold, not {cv!r}")
    return cv
