# SPDX-License-Identifier: Apache-2.0
"""What all algorithms have in common."""
from __future__ import annotations

import functools
import heapq
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.surprise import similarities
from likewise.surprise.prediction_algorithms.optimize_baselines import baseline_als, baseline_sgd
from likewise.surprise.prediction_algorithms.predictions import Prediction, PredictionImpossible
from likewise.surprise.prediction_algorithms.words import SIMILARITIES, Table, baseline_words, neighbour_words
from likewise.surprise.trainset import Trainset

if TYPE_CHECKING:
    from typing_extensions import Self


class AlgoBase:
    """What all algorithms have in common. One of your own has an estimate(u, i) of inner ids; those that are not in
    the trainset are texts."""

    verbose: bool = False
    trainset: Trainset

    def __init__(self, **kwargs: Any):
        self.bsl_options: dict[str, Any] = kwargs.get("bsl_options", {})
        self.sim_options: dict[str, Any] = {"user_based": True, **kwargs.get("sim_options", {})}

    def fit(self, trainset: Trainset) -> Self:
        """Takes the ratings to train on, and forgets what was computed of others."""
        for name in [one for one in vars(self) if isinstance(getattr(type(self), one, None), functools.cached_property)]:
            del vars(self)[name]
        self.trainset = trainset
        self._baselines: tuple[Table, Table] | None = None
        vars(self).pop("_sim", None)
        self._mean = trainset.global_mean
        return self

    def estimate(self, u: Any, i: Any) -> Any:
        """An estimate of inner ids, or a pair of it and a dict of details; or PredictionImpossible."""
        raise NotImplementedError(f"{type(self).__name__} has no estimate(u, i)")

    def default_prediction(self) -> float:
        """What is predicted where nothing can be estimated: the mean of all ratings."""
        return self._mean

    def predict(self, uid: Any, iid: Any, r_ui: float | None = None, clip: bool = True, verbose: bool = False) -> Prediction:
        """The prediction of a pair of raw ids, within the rating scale unless clip=False. Its details say whether it
        was_impossible, and why."""
        return self._predicted(uid, iid, r_ui, self._estimated(*self._inner(uid, iid)), clip, verbose)

    def test(self, testset: Any, verbose: bool = False) -> list[Prediction]:
        """Predictions of (user, item, rating)s."""
        return [self.predict(uid, iid, r_ui, verbose=verbose) for uid, iid, r_ui in testset]

    def compute_baselines(self) -> tuple[Table, Table]:
        """Biases of users and of items, by inner id."""
        if self._baselines is None:
            method = baseline_words(self.bsl_options)["baseline_method"]
            if self.verbose:
                print("Estimating biases using", method + "...")
            self._baselines = (baseline_sgd if method == "sgd" else baseline_als)(self)
        return self._baselines

    def compute_similarities(self) -> Table:
        """Similarities of all users, or items, by inner id."""
        if self.verbose:
            print(f"Computing the {self._similarity_name()} similarity matrix...")
        found = (self._similarities_by_definition if self._needs_definition() else self._similarities_of_engine)()
        if self.verbose:
            print("Done computing similarity matrix.")
        return found

    def _needs_definition(self) -> bool:
        """Whether the engine's data do not hold what Surprise trains on: several ratings of a pair, or, of steps of
        baselines, their order."""
        in_order = self._similarity_name() == "pearson_baseline" and self.bsl_options.get("method") == "sgd"
        return in_order or self.trainset._repeated > 0

    def _similarities_by_definition(self) -> Table:
        name, trainset, users = self._similarity_name(), self.trainset, self.sim_options["user_based"]
        n, yr = (trainset.n_users, trainset.ir) if users else (trainset.n_items, trainset.ur)
        support = int(self.sim_options.get("min_support", 1))
        if name != "pearson_baseline":
            found: Table = getattr(similarities, name)(n, yr, support)
            return found
        baselines = self.compute_baselines()
        bx, by = baselines if users else baselines[::-1]
        return similarities.pearson_baseline(n, yr, support, self._mean, bx, by, float(self.sim_options.get("shrinkage", 100)))

    def _similarities_of_engine(self) -> Table:
        users = self.sim_options["user_based"]
        n = self.trainset.n_users if users else self.trainset.n_items
        signs: dict[str, Any] = {} if self._similarity_name() == "msd" else {"keep_negative": True}  # msd has none
        model = neighbour_words(self, max(n - 1, 1), **signs).fit(self.trainset.interactions()).model_
        lists = (model.similar_users if users else model.similar_items)(range(n), n=max(n - 1, 1))
        found = np.eye(n)
        there = lists.indices >= 0
        found[np.nonzero(there)[0], lists.ids[there]] = lists.scores[there]
        return found

    def get_neighbors(self, iid: int, k: int) -> list[int]:
        """Inner ids of the k users, or items, most similar to one."""
        others = [(one, self.sim[iid, one]) for one in range(len(self.sim)) if one != iid]
        return [one for one, _ in heapq.nlargest(k, others, key=lambda pair: pair[1])]

    @property
    def sim(self) -> Table:
        """Similarities by inner id; computed when they are first asked for."""
        if "_sim" not in vars(self):
            told, self.verbose = self.verbose, False
            self._sim = self.compute_similarities()
            self.verbose = told
        return self._sim

    @sim.setter
    def sim(self, table: Table) -> None:
        self._sim = table

    def _similarity_name(self) -> str:
        name = str(self.sim_options.get("name", "msd")).lower()
        if name not in SIMILARITIES:
            raise NameError(f"there is no similarity {name!r}; there are {', '.join(SIMILARITIES)}")
        return name

    def _inner(self, uid: Any, iid: Any) -> tuple[Any, Any]:
        return self.trainset._users.get(uid, f"UKN__{uid}"), self.trainset._items.get(iid, f"UKN__{iid}")

    def _estimated(self, u: Any, i: Any) -> tuple[float, dict[str, Any]]:
        try:
            found = self.estimate(u, i)
        except PredictionImpossible as error:
            return self.default_prediction(), {"was_impossible": True, "reason": str(error)}
        estimate, details = found if isinstance(found, tuple) else (found, {})
        return estimate, {**details, "was_impossible": False}

    def _predicted(self, uid: Any, iid: Any, r_ui: float | None, estimated: tuple[float, dict[str, Any]], clip: bool,
                   verbose: bool) -> Prediction:
        estimate, details = estimated
        if clip:
            low, high = self.trainset.rating_scale
            estimate = max(low, min(high, estimate))
        made = Prediction(uid, iid, r_ui, estimate, details)
        if verbose:
            print(made)
        return made
