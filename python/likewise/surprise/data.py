# SPDX-License-Identifier: Apache-2.0
"""Reader, Dataset and Trainset of Surprise."""
from __future__ import annotations

import collections
import functools
import itertools
import os
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from likewise.interactions import Interactions

#: user, item, rating and time, ids as they are in the data
RawRating = tuple[Any, Any, float, Any]

#: Of data sets by name: the file, below the folder of data sets, its form, and where it comes from.
_BUILTIN: dict[str, tuple[str, dict[str, Any], str]] = {
    "ml-100k": ("ml-100k/ml-100k/u.data", {"line_format": "user item rating timestamp", "sep": "\t"},
                "https://files.grouplens.org/datasets/movielens/ml-100k.zip"),
    "ml-1m": ("ml-1m/ml-1m/ratings.dat", {"line_format": "user item rating timestamp", "sep": "::"},
              "https://files.grouplens.org/datasets/movielens/ml-1m.zip"),
    "jester": ("jester/jester_ratings.dat", {"rating_scale": (-10, 10)},
               "https://eigentaste.berkeley.edu/dataset/archive/jester_dataset_2.zip"),
}


def get_dataset_dir() -> str:
    """The folder of data sets: SURPRISE_DATA_FOLDER, else .surprise_data in the home folder."""
    return os.environ.get("SURPRISE_DATA_FOLDER", os.path.join(os.path.expanduser("~"), ".surprise_data")) + os.sep


def _builtin(name: str) -> tuple[str, dict[str, Any], str]:
    if name not in _BUILTIN:
        raise ValueError(f"{name!r} is no data set that is known by name; these are: {', '.join(_BUILTIN)}")
    return _BUILTIN[name]


class Reader:
    """How lines of a file are read.

    name          of a data set, "ml-100k", "ml-1m" or "jester": its form, all else is ignored
    line_format   names of the fields in their order: user, item, rating and maybe timestamp
    sep           what stands between them; None: blanks
    rating_scale  the lowest and the highest rating: estimates stay within it
    skip_lines    so many at the beginning are no ratings
    """

    def __init__(self, name: str | None = None, line_format: str = "user item rating", sep: str | None = None,
                 rating_scale: tuple[float, float] = (1, 5), skip_lines: int = 0):
        if name:
            known = {"line_format": "user item rating", "sep": None, "rating_scale": (1, 5), **_builtin(name)[1]}
            line_format, sep, rating_scale, skip_lines = known["line_format"], known["sep"], known["rating_scale"], 0
        self.sep = sep
        self.skip_lines = skip_lines
        self.rating_scale = rating_scale
        fields = line_format.split()
        known_fields = ("user", "item", "rating", "timestamp")
        if not {*known_fields[:3]} <= {*fields} <= {*known_fields} or len(set(fields)) < len(fields):
            raise ValueError(f"line_format {line_format!r}: name user, item and rating, and maybe timestamp, each once")
        self.with_timestamp = "timestamp" in fields
        self.indexes = [fields.index(field) for field in known_fields if field in fields]

    def parse_line(self, line: str) -> RawRating:
        """(user, item, rating, time or None) of a line."""
        cells = line.split(self.sep)
        if len(cells) <= max(self.indexes):
            raise ValueError(f"the line {line.rstrip()!r} has {len(cells)} fields, line_format needs "
                             f"{max(self.indexes) + 1}: check line_format and sep")
        user, item, rating, *time = (cells[place].strip() for place in self.indexes)
        return user, item, float(rating), time[0] if time else None


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
        return uid in self.ur

    def knows_item(self, iid: Any) -> bool:
        return iid in self.ir

    def to_inner_uid(self, ruid: Any) -> int:
        return _inner(self._users, ruid, "user")

    def to_inner_iid(self, riid: Any) -> int:
        return _inner(self._items, riid, "item")

    def to_raw_uid(self, iuid: int) -> Any:
        return _raw(self._raw_users, iuid, "user")

    def to_raw_iid(self, iiid: int) -> Any:
        return _raw(self._raw_items, iiid, "item")

    def all_ratings(self) -> Iterator[tuple[int, int, float]]:
        """(inner user, inner item, rating) of all."""
        return ((user, item, rating) for user, rated in self.ur.items() for item, rating in rated)

    def all_users(self) -> range:
        return range(self.n_users)

    def all_items(self) -> range:
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
        return float(np.mean([rating for _, _, rating in self.all_ratings()]))

    def interactions(self) -> Interactions:
        """The same, as likewise trains on it: inner ids. Of several ratings of a pair the last counts."""
        users, items, ratings = zip(*self.all_ratings())
        return Interactions((np.array(users), np.array(items), np.array(ratings)))


def _inner(known: dict[Any, int], raw: Any, what: str) -> int:
    if raw not in known:
        raise ValueError(f"{what} {raw} is not part of the trainset")
    return known[raw]


def _raw(known: Sequence[Any], inner: Any, what: str) -> Any:
    if not isinstance(inner, (int, np.integer)) or not 0 <= inner < len(known):
        raise ValueError(f"{inner} is no inner id of {what}s: they are 0 to {len(known) - 1}")
    return known[int(inner)]


class Dataset:
    """Ratings with a Reader: made by load_from_file, load_from_df, load_from_folds or load_builtin."""

    raw_ratings: list[RawRating]

    def __init__(self, reader: Reader):
        self.reader = reader

    @classmethod
    def load_builtin(cls, name: str = "ml-100k", prompt: bool = True) -> Dataset:
        """A data set by its name, from the folder of data sets. Nothing is downloaded."""
        place, _, source = _builtin(name)
        path = pathlib.Path(get_dataset_dir()) / place
        if not path.is_file():
            raise FileNotFoundError(f"{path} is not there, and likewise downloads nothing: unpack {source} into "
                                    f"{pathlib.Path(get_dataset_dir()) / name}, or name a folder that Surprise has filled by "
                                    "SURPRISE_DATA_FOLDER")
        return cls.load_from_file(path, Reader(name))

    @classmethod
    def load_from_file(cls, file_path: Any, reader: Reader) -> Dataset:
        made = DatasetAutoFolds(reader)
        made.raw_ratings = made.read_ratings(file_path)
        return made

    @classmethod
    def load_from_df(cls, df: Any, reader: Reader) -> Dataset:
        """A frame whose columns are user, item and rating, in this order."""
        if len(df.columns) != 3:
            raise ValueError(f"the frame must have three columns, user, item and rating in this order; it has {list(df.columns)}")
        made = DatasetAutoFolds(reader)
        columns = [df[name].tolist() if hasattr(df[name], "tolist") else list(df[name]) for name in df.columns]
        made.raw_ratings = [(user, item, float(rating), None) for user, item, rating in zip(*columns)]
        return made

    @classmethod
    def load_from_folds(cls, folds_files: Iterable[tuple[Any, Any]], reader: Reader) -> Dataset:
        """Pairs of a training and a test file, for PredefinedKFold."""
        made = DatasetUserFolds(reader)
        made.folds_files = list(folds_files)
        for path in itertools.chain.from_iterable(made.folds_files):
            if not os.path.isfile(os.path.expanduser(path)):
                raise ValueError(f"there is no file {path}")
        return made

    def read_ratings(self, file_name: Any) -> list[RawRating]:
        with open(os.path.expanduser(file_name), encoding="utf-8") as file:
            return [self.reader.parse_line(line) for line in itertools.islice(file, self.reader.skip_lines, None)]

    def construct_trainset(self, raw_trainset: Iterable[RawRating]) -> Trainset:
        return Trainset(raw_trainset, self.reader.rating_scale)

    def construct_testset(self, raw_testset: Iterable[RawRating]) -> list[tuple[Any, Any, float]]:
        return [(user, item, rating) for user, item, rating, _ in raw_testset]


class DatasetAutoFolds(Dataset):
    """Ratings that are split by the iterators of model_selection."""

    def build_full_trainset(self) -> Trainset:
        """All ratings to train on."""
        return self.construct_trainset(self.raw_ratings)


class DatasetUserFolds(Dataset):
    """Folds that are files."""

    folds_files: list[tuple[Any, Any]]
