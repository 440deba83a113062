# SPDX-License-Identifier: Apache-2.0
"""One estimator per algorithm. Their keyword parameters are those of the library, which describes
each of them once: name, range, default and meaning. Type checkers read them in estimators.pyi, which
the build writes (python/make_stubs.py)."""
from __future__ import annotations

from typing import Any

from likewise.estimator import Estimator, _Own, described

__all__ = ["Als", "Auto", "Bias", "Bpr", "Ease", "ItemKnn", "Popular", "Sgd", "Spectral", "UserKnn"]


@described
class Als(Estimator):
    """Matrix factorisation by alternating least squares, implicit (Hu, Koren and Volinsky 2008;
    Rendle et al. 2022) and explicit (Zhou et al. 2008, Koren et al. 2009)."""

    algorithm = "als"


@described
class Auto(Estimator):
    """The algorithm that suits the data, with its defaults: chosen in no time by a rule on counts. After
    fit(), model_.algorithm and model_.provenance["choice"] say which and why; tune() searches instead."""

    algorithm = "auto"

    def fit(self: _Own, interactions: Any, y: None = None, **options: Any) -> _Own:  # type: ignore[override]
        for name in ("target", "checkpoint", "resume"):
            if options.get(name) is not None:
                raise ValueError(f"{name} would do nothing here: it needs Als or another that iterates; Auto may "
                                 "choose one that does not")
        for name in ("item_features", "user_features"):
            if options.get(name) is not None:
                raise ValueError(f"{name} would do nothing here: it needs Als or another with factors; Auto may "
                                 "choose one without")
        return super().fit(interactions, y, **options)


@described
class ItemKnn(Estimator):
    """The nearest items of every item, by any of thirteen similarities."""

    algorithm = "item-knn"


@described
class UserKnn(Estimator):
    """The nearest users of every user."""

    algorithm = "user-knn"


@described
class Popular(Estimator):
    """Everybody gets what most people took. Any model has to beat it."""

    algorithm = "popular"


@described
class Sgd(Estimator):
    """Factors and biases for ratings by stochastic gradient descent (Funk 2006; Koren et al. 2009)."""

    algorithm = "sgd"


@described
class Bias(Estimator):
    """Ratings from the mean and how far users and items are off it (Koren 2010), or from a mean alone.
    Any model of ratings has to beat it."""

    algorithm = "bias"


@described
class Bpr(Estimator):
    """Factors that rank what a user liked above what it did not take (Rendle et al. 2009)."""

    algorithm = "bpr"


@described
class Ease(Estimator):
    """Weights between items by ridge regression (EASE, Steck 2019; EDLAE, Steck 2020), with weights of users
    and items; of all pairs of items, or of each item and its most similar ones."""

    algorithm = "ease"


@described
class Spectral(Estimator):
    """Factors of the largest singular values of the normalised interactions: a low-pass filter of the graph
    of users and items."""

    algorithm = "spectral"
