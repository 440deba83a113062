# SPDX-License-Identifier: Apache-2.0
"""Surprise's options in the words of likewise."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likewise.estimator import Estimator
from likewise.estimators import ItemKnn, UserKnn
from likewise.utils import check_random_state

if TYPE_CHECKING:
    from likewise.surprise.prediction_algorithms.algo_base import AlgoBase

Table = npt.NDArray[np.float64]


#: Surprise's names of similarities in our words.
SIMILARITIES = {"cosine": "cosine", "msd": "msd", "pearson": "pearson", "pearson_baseline": "pearson-baseline"}


def baseline_words(options: dict[str, Any]) -> dict[str, Any]:
    """bsl_options in our words."""
    names = {"als": {"n_epochs": "baseline_epochs", "reg_u": "baseline_user_regularization",
                     "reg_i": "baseline_item_regularization"},
             "sgd": {"n_epochs": "baseline_epochs", "reg": "baseline_regularization", "learning_rate": "baseline_learning_rate"}}
    method = options.get("method", "als")
    if method not in names:
        raise ValueError(f"bsl_options: there is no method {method!r}; there are als and sgd")
    unknown = sorted({*options} - {*names["als"], *names["sgd"], "method"})
    if unknown:
        raise ValueError(f"bsl_options has {unknown[0]!r}; it may have method, {', '.join(names[method])}")
    kept = {name: options[option] for option, name in names[method].items() if option in options}
    return {"baseline_method": method, **{name: int(value) if name == "baseline_epochs" else float(value)
                                          for name, value in kept.items()}}


def neighbour_words(algo: AlgoBase, k: int, *, prediction: str = "mean", **more: Any) -> Estimator:
    """The estimator of an algorithm's sim_options and bsl_options."""
    options = algo.sim_options
    unknown = sorted({*options} - {"name", "user_based", "min_support", "shrinkage"})
    if unknown:
        raise ValueError(f"sim_options has {unknown[0]!r}; it may have name, user_based, min_support and shrinkage")
    similarity = SIMILARITIES[algo._similarity_name()]
    shrinkage = float(options.get("shrinkage", 100)) if similarity == "pearson-baseline" else 0.0
    if prediction == "baseline" or similarity == "pearson-baseline":
        more |= baseline_words(algo.bsl_options)
    kind: type[Estimator] = UserKnn if options["user_based"] else ItemKnn
    return kind(feedback="explicit", neighbours=k, similarity=similarity, shrinkage=shrinkage, prediction=prediction,
                min_support=int(options.get("min_support", 1)), **more)


def seed_of(random_state: Any) -> int:
    """Of a training; without a state one that NumPy draws, as Surprise does."""
    if isinstance(random_state, int):
        return random_state
    if random_state is None:
        return int(np.random.randint(2**31 - 1))
    return int(check_random_state(random_state).integers(2**31 - 1))
