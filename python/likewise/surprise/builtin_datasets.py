# SPDX-License-Identifier: Apache-2.0
"""Data sets that are known by name."""
from __future__ import annotations

import os
from typing import Any

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


def builtin(name: str) -> tuple[str, dict[str, Any], str]:
    if name not in _BUILTIN:
        raise ValueError(f"{name!r} is no data set that is known by name; these are: {', '.join(_BUILTIN)}")
    return _BUILTIN[name]
