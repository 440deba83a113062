# SPDX-License-Identifier: Apache-2.0
"""Estimators as components of LensKit's pipelines. Needs lenskit 2025 or newer.

    from lenskit.pipeline import topn_pipeline
    from likewise.lenskit import LikewiseScorer
    pipeline = topn_pipeline(LikewiseScorer(algorithm="als", params={"factors": 64}))
"""
from __future__ import annotations

from typing import Any

import numpy as np
from lenskit.data import Dataset, ItemList, QueryInput, RecQuery  # type: ignore[import-not-found,import-untyped,unused-ignore]
from lenskit.pipeline import Component  # type: ignore[import-not-found,import-untyped,unused-ignore]
from lenskit.training import Trainable, TrainingOptions  # type: ignore[import-not-found,import-untyped,unused-ignore]
from pydantic import BaseModel  # type: ignore[import-not-found,unused-ignore]

from likewise.estimator import estimator_of
from likewise.interactions import Interactions
from likewise.model import Model


class LikewiseConfig(BaseModel):  # type: ignore[misc,unused-ignore]
    """Which estimator, and its parameters."""

    #: "als", "item-knn", "bpr" ...: estimators by the names of the command line
    algorithm: str = "auto"
    #: its parameters, as of likewise.Als(...)
    params: dict[str, Any] = {}


class LikewiseScorer(Component[ItemList], Trainable):  # type: ignore[misc,unused-ignore]
    """Scores items for a user by any estimator; `model_` is the trained likewise.Model.

    A user who was in the training is scored by that. Another who brings a history is folded in.
    """

    config: LikewiseConfig
    model_: Model

    def train(self, data: Dataset, options: TrainingOptions = TrainingOptions()) -> None:
        if hasattr(self, "model_") and not options.retrain:
            return
        estimator = estimator_of(self.config.algorithm)(**self.config.params)
        frame = data.interaction_table(format="pandas", original_ids=True)
        names = {"rating": "value", "timestamp": "time"}
        kept = {names.get(name, name.removesuffix("_id")): frame[name].to_numpy()
                for name in ("user_id", "item_id", "rating", "timestamp") if name in frame}
        self.model_ = estimator.fit(Interactions(kept)).model_

    def __call__(self, query: QueryInput, items: ItemList) -> ItemList:
        query = RecQuery.create(query)
        ids = list(items.ids())
        scores = np.full(len(ids), np.nan, dtype=np.float32)
        known = self.model_.items.find(ids) >= 0 if ids else np.zeros(0, dtype=bool)
        some = [one for one, there in zip(ids, known) if there]
        if some and query.user_id is not None and query.user_id in self.model_.users:
            scores[known] = self.model_.predict([query.user_id] * len(some), some)
        elif some and query.query_items is not None and len(query.query_items):
            history = query.query_items
            values = history.field("rating")
            liked = list(history.ids()) if values is None else dict(zip(history.ids(), map(float, values)))
            scores[known] = self.model_.predict_new([liked], some, unknown="skip")[0]
        return ItemList(items, scores=scores)
