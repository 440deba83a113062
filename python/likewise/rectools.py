# SPDX-License-Identifier: Apache-2.0
"""Models of RecTools over likewise. Needs rectools.

    from likewise.rectools import EstimatorModel, ImplicitALSWrapperModel
    EstimatorModel(likewise.Als(factors=64)).fit(dataset).recommend(users, dataset, k=10, filter_viewed=True)
    ImplicitALSWrapperModel(likewise.als.AlternatingLeastSquares(factors=64))      # RecTools' own, with features
"""
from __future__ import annotations

from typing import Any

import numpy as np
import rectools.models as _rectools  # type: ignore[import-not-found,import-untyped,unused-ignore]
from rectools import Columns  # type: ignore[import-not-found,import-untyped,unused-ignore]
from rectools.models.base import ModelBase, ModelConfig  # type: ignore[import-not-found,import-untyped,unused-ignore]

from likewise.als import AlternatingLeastSquares
from likewise.answers import Lists
from likewise.arguments import shown
from likewise.estimator import Estimator, estimator_of
from likewise.interactions import Interactions
from likewise.model import Model


class ImplicitALSWrapperModel(_rectools.ImplicitALSWrapperModel):  # type: ignore[misc,unused-ignore]
    """RecTools' wrapper of `implicit`, features too, around likewise.als.AlternatingLeastSquares."""

    def __init__(self, model: AlternatingLeastSquares, fit_features_together: bool = False,
                 recommend_n_threads: int | None = None, recommend_use_gpu_ranking: bool | None = None, verbose: int = 0):
        if not isinstance(model, AlternatingLeastSquares):
            raise TypeError(f"model must be a likewise.als.AlternatingLeastSquares, not {shown(model)}")
        super().__init__(model, fit_features_together, model.num_threads if recommend_n_threads is None else recommend_n_threads,
                         bool(recommend_use_gpu_ranking), verbose)

    @classmethod
    def _make_config(cls, model: AlternatingLeastSquares, verbose: int, fit_features_together: bool,
                     recommend_n_threads: int | None = None, recommend_use_gpu_ranking: bool | None = None) -> Any:
        names = ("factors", "regularization", "alpha", "dtype", "use_native", "use_cg", "use_gpu", "iterations",
                 "calculate_training_loss", "num_threads", "random_state")
        # Not validated: that would refuse a class that is none of implicit's.
        config = cls.config_class.model_construct(
            verbose=verbose, fit_features_together=fit_features_together, recommend_n_threads=recommend_n_threads,
            recommend_use_gpu_ranking=recommend_use_gpu_ranking,
            model={"cls": AlternatingLeastSquares, **{name: getattr(model, name) for name in names}})
        config.cls = cls
        return config


class EstimatorConfig(ModelConfig):  # type: ignore[misc,unused-ignore]
    """An estimator's algorithm and parameters."""

    algorithm: str = "auto"
    params: dict[str, Any] = {}


class EstimatorModel(ModelBase):  # type: ignore[misc,unused-ignore]
    """Any estimator of likewise as a model of RecTools; `estimator.model_` is the likewise.Model."""

    recommends_for_warm = False
    recommends_for_cold = False
    config_class = EstimatorConfig

    def __init__(self, estimator: Estimator, verbose: int = 0):
        super().__init__(verbose=verbose)
        if not isinstance(estimator, Estimator):
            raise TypeError(f"estimator must be one of likewise, as likewise.Als(), not {shown(estimator)}")
        self.estimator = estimator

    def _get_config(self) -> EstimatorConfig:
        given = {name: value for name, value in self.estimator.get_params().items() if value is not None}
        return EstimatorConfig(cls=type(self), algorithm=self.estimator.algorithm, params=given, verbose=self.verbose)

    @classmethod
    def _from_config(cls, config: EstimatorConfig) -> EstimatorModel:
        return cls(estimator_of(config.algorithm)(**config.params), verbose=config.verbose)

    def _fit(self, dataset: Any) -> None:
        frame = dataset.interactions.df
        columns = {"user": frame[Columns.User].to_numpy(), "item": frame[Columns.Item].to_numpy(),
                   "value": frame[Columns.Weight].to_numpy(), "time": frame[Columns.Datetime].to_numpy()}
        self.estimator.fit(Interactions(columns, duplicates="sum"))

    def _recommend_u2i(self, user_ids: Any, dataset: Any, k: int, filter_viewed: bool,
                       sorted_item_ids_to_recommend: Any) -> Any:
        model: Model = self.estimator.model_
        asked = np.asarray(user_ids, dtype=np.int64)
        some = None if sorted_item_ids_to_recommend is None else np.asarray(sorted_item_ids_to_recommend, dtype=np.int64)
        if not filter_viewed:
            return _triplet(model.recommend(asked, k, items=some, include_seen=True, unknown="skip"))
        # What was seen in the data of the question, which need not be those of the training.
        seen = dataset.get_user_item_matrix(include_weights=False).tocsr()
        most = int(np.diff(seen.indptr)[asked].max(initial=0))
        lists = model.recommend(asked, k + most, items=some, include_seen=True, unknown="skip")
        users, items, scores = _triplet(lists)
        kept = ~np.isin(users * np.int64(seen.shape[1]) + items,
                        np.repeat(np.arange(seen.shape[0]), np.diff(seen.indptr)) * np.int64(seen.shape[1]) + seen.indices)
        users, items, scores = users[kept], items[kept], scores[kept]
        starts = np.r_[True, users[1:] != users[:-1]] if len(users) else np.zeros(0, dtype=bool)
        places = np.arange(len(users)) - np.maximum.accumulate(np.where(starts, np.arange(len(users)), 0))
        return users[places < k], items[places < k], scores[places < k]

    def _recommend_i2i(self, target_ids: Any, dataset: Any, k: int, sorted_item_ids_to_recommend: Any) -> Any:
        lists = self.estimator.model_.similar_items(np.asarray(target_ids, dtype=np.int64), k, unknown="skip")
        items, others, scores = _triplet(lists)
        if sorted_item_ids_to_recommend is not None:
            kept = np.isin(others, sorted_item_ids_to_recommend)
            items, others, scores = items[kept], others[kept], scores[kept]
        return items, others, scores


def _triplet(lists: Lists) -> tuple[Any, Any, Any]:
    columns = lists.columns()
    return columns[lists.query_name], columns[lists.answer_name], columns["score"]
