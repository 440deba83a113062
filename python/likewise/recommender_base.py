# SPDX-License-Identifier: Apache-2.0
"""What all recommenders for programs written for `implicit` 0.7 have in common."""
from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, Callable

import numpy as np

from likewise.utils import Array

Answer = tuple[Array, Array]


class ModelFitError(Exception):
    """A model is not fit: its data cannot be learnt from, or fit() was not called."""


class RecommenderBase(ABC):
    """Ids are rows and columns of the matrix that was given to fit().

    Queries about one id answer with arrays (N,), queries about a sequence of n ids with (n, N): ids, and
    scores in falling order. Lists are as wide as what is ranked at most, where each id counts once. Where
    filters leave less than N, the places left over have the lowest score of float32.
    """

    @abstractmethod
    def fit(self, user_items: Any, show_progress: bool = True,
            callback: Callable[..., Any] | None = None) -> None:
        """Learns from a sparse matrix (users, items) of who liked what, and how much."""

    @abstractmethod
    def recommend(self, userid: Any, user_items: Any, N: int = 10, filter_already_liked_items: bool = True,
                  filter_items: Any = None, recalculate_user: bool = False, items: Any = None) -> Answer:
        """The best items for users.

        user_items                  CSR matrix with one row for each user of `userid`: what they liked
        filter_already_liked_items  leaves out what is in that row
        filter_items                ids that nobody gets
        recalculate_user            uses the row in place of what was learnt of the user
        items                       ranks these ids only; not together with filter_items
        """

    @abstractmethod
    def similar_items(self, itemid: Any, N: int = 10, recalculate_item: bool = False,
                      item_users: Any = None, filter_items: Any = None, items: Any = None) -> Answer:
        """The items most similar to items, the item itself among them.

        filter_items      ids that are left out
        recalculate_item  uses the rows of `item_users` (CSR, items x users) in place of what was learnt
        items             ranks these ids only; not together with filter_items
        """

    @abstractmethod
    def similar_users(self, userid: Any, N: int = 10, filter_users: Any = None,
                      users: Any = None) -> Answer:
        """The users most similar to users, the user itself among them; arguments as of similar_items()."""

    @abstractmethod
    def save(self, fileobj_or_path: Any) -> None:
        """Writes the model as a NumPy .npz file; a path gets that ending if it has none."""

    @classmethod
    @abstractmethod
    def load(cls, fileobj_or_path: Any) -> Any:
        """A model from a file of save(), or one that `implicit` saved."""

    def rank_items(self, userid: Any, user_items: Any, selected_items: Any,
                   recalculate_user: bool = False) -> Answer:
        """Deprecated: recommend() with `items`."""
        warnings.warn("rank_items is deprecated. Use recommend with the 'items' parameter instead",
                      DeprecationWarning, stacklevel=2)
        return self.recommend(userid, user_items, N=len(selected_items), items=selected_items,
                              recalculate_user=recalculate_user, filter_already_liked_items=False)


def check_filters(only: Any, without: Any, names: str) -> None:
    """ValueError where no ids are to be ranked, or some are and others are to be left out."""
    if only is None:
        return
    if without is not None:
        raise ValueError(f"{names} cannot be set together: the first ranks only its ids, the second leaves "
                         "its ids out")
    if np.size(only) == 0:
        raise ValueError(f"{names.split()[0]} is empty: there is nothing to rank")
