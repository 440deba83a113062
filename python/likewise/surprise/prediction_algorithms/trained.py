# SPDX-License-Identifier: Apache-2.0
"""Algorithms that are estimators of likewise."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likewise.estimator import Estimator
from likewise.model import Model
from likewise.surprise.prediction_algorithms.algo_base import AlgoBase
from likewise.surprise.prediction_algorithms.predictions import Prediction, PredictionImpossible
from likewise.surprise.prediction_algorithms.words import Table
from likewise.surprise.trainset import Trainset

if TYPE_CHECKING:
    from typing_extensions import Self


class Trained(AlgoBase):
    """An algorithm that is an estimator of likewise."""

    def _estimator(self) -> Estimator:
        raise NotImplementedError

    def _refusals(self, users: Table, items: Table) -> list[str | dict[str, Any]]:
        """Of pairs of inner ids, -1 where one is unknown: why there is no estimate, or the details of one."""
        return [{} for _ in users]

    @functools.cached_property
    def model_(self) -> Model:
        """The model of likewise, of inner ids."""
        return self._estimator().fit(self.trainset.interactions()).model_

    def fit(self, trainset: Trainset) -> Self:
        """Trains on these ratings."""
        super().fit(trainset)
        self._learn()
        return self

    def _learn(self) -> None:
        self.model_  # noqa: B018: is trained here

    def _factors(self, model: Model) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Factors of users and of items, by inner id."""
        users = model.user_factors[model.users.find(np.arange(self.trainset.n_users))]
        return users, model.item_factors[model.items.find(np.arange(self.trainset.n_items))]

    def _scores(self, users: Table, items: Table) -> npt.NDArray[np.floating[Any]]:
        """Of pairs of inner ids, of which any may be unknown: that is no surprise here."""
        return self.model_._answers(False).predict(self.model_.users.find(users), self.model_.items.find(items))

    def estimate(self, u: Any, i: Any) -> Any:
        """An estimate of inner ids, or a pair of it and a dict of details; or PredictionImpossible."""
        pair = [np.array([one if isinstance(one, (int, np.integer)) else -1]) for one in (u, i)]
        (told,) = self._refusals(*pair)
        if isinstance(told, str):
            raise PredictionImpossible(told)
        score = float(self._scores(*pair)[0])
        return (score, told) if told else score

    def test(self, testset: Any, verbose: bool = False) -> list[Prediction]:
        """Predictions of (user, item, rating)s, at once."""
        kind = type(self)
        if (kind.estimate, kind.predict) != (Trained.estimate, AlgoBase.predict) or not len(testset):
            return super().test(testset, verbose)
        users = np.array([self.trainset._users.get(uid, -1) for uid, _, _ in testset])
        items = np.array([self.trainset._items.get(iid, -1) for _, iid, _ in testset])
        scores = self._scores(users, items).tolist()
        default = self.default_prediction()
        return [self._predicted(uid, iid, r_ui, (default, {"was_impossible": True, "reason": told}) if isinstance(told, str)
                                else (score, {**told, "was_impossible": False}), True, verbose)
                for (uid, iid, r_ui), told, score in zip(testset, self._refusals(users, items), scores)]

    def _by_inner_id(self, model: Model) -> tuple[Table, Table]:
        biases = [np.zeros(self.trainset.n_users), np.zeros(self.trainset.n_items)]
        for place, (ids, learned) in enumerate(((model.users, model.user_bias), (model.items, model.item_bias))):
            if learned is not None:
                biases[place][np.asarray(ids)] = learned
        return biases[0], biases[1]
