# SPDX-License-Identifier: Apache-2.0
"""Ratings of files and frames."""
from __future__ import annotations

import itertools
import os
import pathlib
from collections.abc import Iterable
from typing import Any

from likewise.surprise.builtin_datasets import builtin, get_dataset_dir
from likewise.surprise.reader import RawRating, Reader
from likewise.surprise.trainset import Trainset


class Dataset:
    """Ratings with a Reader: made by load_from_file, load_from_df, load_from_folds or load_builtin."""

    raw_ratings: list[RawRating]

    def __init__(self, reader: Reader):
        self.reader = reader

    @classmethod
    def load_builtin(cls, name: str = "ml-100k", prompt: bool = True) -> DatasetAutoFolds:
        """A data set by its name, from the folder of data sets. Nothing is downloaded."""
        place, _, source = builtin(name)
        path = pathlib.Path(get_dataset_dir()) / place
        if not path.is_file():
            raise FileNotFoundError(f"{path} is not there, and likewise downloads nothing: unpack {source} into "
                                    f"{pathlib.Path(get_dataset_dir()) / name}, or name a folder that Surprise has filled by "
                                    "SURPRISE_DATA_FOLDER")
        return cls.load_from_file(path, Reader(name))

    @classmethod
    def load_from_file(cls, file_path: Any, reader: Reader) -> DatasetAutoFolds:
        """The ratings of a file, a line each, as the reader has it."""
        made = DatasetAutoFolds(reader)
        made.raw_ratings = made.read_ratings(file_path)
        return made

    @classmethod
    def load_from_df(cls, df: Any, reader: Reader) -> DatasetAutoFolds:
        """A frame whose columns are user, item and rating, in this order."""
        if len(df.columns) != 3:
            raise ValueError(f"the frame must have three columns, user, item and rating in this order; it has {list(df.columns)}")
        made = DatasetAutoFolds(reader)
        columns = [df[name].tolist() if hasattr(df[name], "tolist") else list(df[name]) for name in df.columns]
        made.raw_ratings = [(user, item, float(rating), None) for user, item, rating in zip(*columns)]
        return made

    @classmethod
    def load_from_folds(cls, folds_files: Iterable[tuple[Any, Any]], reader: Reader) -> DatasetUserFolds:
        """Pairs of a training and a test file, for PredefinedKFold."""
        made = DatasetUserFolds(reader)
        made.folds_files = list(folds_files)
        for path in itertools.chain.from_iterable(made.folds_files):
            if not os.path.isfile(os.path.expanduser(path)):
                raise ValueError(f"there is no file {path}")
        return made

    def read_ratings(self, file_name: Any) -> list[RawRating]:
        """(user, item, rating, time or None) of the lines of a file."""
        with open(os.path.expanduser(file_name), encoding="utf-8") as file:
            return [self.reader.parse_line(line) for line in itertools.islice(file, self.reader.skip_lines, None)]

    def construct_trainset(self, raw_trainset: Iterable[RawRating]) -> Trainset:
        """These ratings to train on."""
        return Trainset(raw_trainset, self.reader.rating_scale)

    def construct_testset(self, raw_testset: Iterable[RawRating]) -> list[tuple[Any, Any, float]]:
        """These ratings to test on: (user, item, rating) each."""
        return [(user, item, rating) for user, item, rating, _ in raw_testset]


class DatasetAutoFolds(Dataset):
    """Ratings that are split by the iterators of model_selection."""

    def build_full_trainset(self) -> Trainset:
        """All ratings to train on."""
        return self.construct_trainset(self.raw_ratings)


class DatasetUserFolds(Dataset):
    """Folds that are files."""

    folds_files: list[tuple[Any, Any]]
