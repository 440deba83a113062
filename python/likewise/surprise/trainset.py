# SPDX-License-Identifier: Apache-2.0
"""Ratings to train on."""
from __future__ import annotations

import collections
import functools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.interactions import Interactions
from likewise.surprise.reader import RawRating


class Trainset:
    """Ratings to train on, with ids counted from 0 (inner) in the order of their first rating.

    ur, ir       {inner user: [(inner item, rating)]} and {inner item: [(inner user, rating)]}
    n_users, n_items, n_ratings, rating_scale, global_mean
    """

    def __init__(self, raw_ratings: Iterable[RawRating], rating_scale: tuple[float, float]):
        self.rating_scale = rating_scale
        self.ur: dict[int, list[tuple[int, float]]] = collections.defaultdict(list)
        self.ir: dict[int, list[tuple[int, float]]] = collections.defaultdict(list)
        self._users: dict[Any, int] = {}
        self._items: dict[Any, int] = {}
        self.n_ratings = 0
        for user, item, rating, _ in raw_ratings:
            u = self._users.setdefault(user, len(self._users))
            i = self._items.setdefault(item, len(self._items))
            self.ur[u].append((i, rating))
            self.ir[i].append((u, rating))
            self.n_ratings += 1
        self.n_users, self.n_items = len(self._users), len(self._items)
        self._raw_users, self._raw_items = list(self._users), list(self._items)

    def knows_user(self, uid: Any) -> bool:
        """Whether an inner id is a user's."""
        return uid in self.ur

    def knows_item(self, iid: Any) -> bool:
        """Whether an inner id is an item's."""
        return iid in self.ir

    def to_inner_uid(self, ruid: Any) -> int:
        """The inner id of a user; ValueError where it has no rating."""
        return _inner(self._users, ruid, "user")

    def to_inner_iid(self, riid: Any) -> int:
        """The inner id of an item; ValueError where it has no rating."""
        return _inner(self._items, riid, "item")

    def to_raw_uid(self, iuid: int) -> Any:
        """The id of a user in the data."""
        return _raw(self._raw_users, iuid, "user")

    def to_raw_iid(self, iiid: int) -> Any:
        """The id of an item in the data."""
        return _raw(self._raw_items, iiid, "item")

    def all_ratings(self) -> Iterator[tuple[int, int, float]]:
        """(inner user, inner item, rating) of all."""
        return ((user, item, rating) for user, rated in self.ur.items() for item, rating in rated)

    def all_users(self) -> range:
        """All inner ids of users."""
        return range(self.n_users)

    def all_items(self) -> range:
        """All inner ids of items."""
        return range(self.n_items)

    def build_testset(self) -> list[tuple[Any, Any, float]]:
        """All ratings, to test on what was trained on."""
        return [(self._raw_users[user], self._raw_items[item], rating) for user, item, rating in self.all_ratings()]

    def build_anti_testset(self, fill: float | None = None) -> list[tuple[Any, Any, float]]:
        """All pairs without a rating, `fill` or the mean in its place."""
        value = self.global_mean if fill is None else float(fill)
        return [(self._raw_users[user], raw, value) for user in self.all_users()
                for rated in [{item for item, _ in self.ur[user]}]
                for item, raw in enumerate(self._raw_items) if item not in rated]

    @functools.cached_property
    def global_mean(self) -> float:
        """The mean of all ratings."""
        return float(np.mean([rating for _, _, rating in self.all_ratings()]))

    @functools.cached_property
    def _columns(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Inner users, inner items and ratings, as all_ratings() has them."""
        users, items, ratings = zip(*self.all_ratings())
        return np.array(users), np.array(items), np.array(ratings, dtype=np.float64)

    @functools.cached_property
    def _repeated(self) -> int:
        """How many ratings are of pairs that have another."""
        users, items, _ = self._columns
        return self.n_ratings - len(np.unique(users * self.n_items + items))

    def interactions(self) -> Interactions:
        """The same, as likewise trains on it: inner ids. Of several ratings of a pair the last counts, and a warning
        says so."""
        if self._repeated:
            warnings.warn(f"{self._repeated} of {self.n_ratings} ratings are of pairs that have a later one: of each pair the last "
                          "counts, where Surprise trains on all", UserWarning, stacklevel=2)
        return Interactions(self._columns)


def _inner(known: dict[Any, int], raw: Any, what: str) -> int:
    if raw not in known:
        raise ValueError(f"{what} {raw} is not part of the trainset")
    return known[raw]


def _raw(known: Sequence[Any], inner: Any, what: str) -> Any:
    if not isinstance(inner, (int, np.integer)) or not 0 <= inner < len(known):
        raise ValueError(f"{inner} is no inner id of {what}s: they are 0 to {len(known) - 1}")
    return known[int(inner)]
