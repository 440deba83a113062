# SPDX-License-Identifier: Apache-2.0
"""Recommendations from who liked what: exact ALS and neighbourhood models, on CPUs and GPUs.

    import likewise
    ratings = likewise.Interactions("ratings.csv")
    model = likewise.Als(factors=64).fit(ratings)
    model.recommend("ann", n=10).to_pandas()

Programs written for `implicit` find its names in `likewise.als`, `likewise.bpr`,
`likewise.nearest_neighbours`, `likewise.evaluation` and `likewise.utils`; those for Surprise in `likewise.surprise`.
"""

from typing import TYPE_CHECKING

from likewise import metrics
from likewise._core import DeviceError, NumericalError, __version__
from likewise.answers import Lists
from likewise.estimators import Als, Auto, Bias, Bpr, Ease, ItemKnn, Popular, Sgd, Spectral, UserKnn
from likewise.index import IndexVectors, index_vectors
from likewise.information import info
from likewise.interactions import Interactions, concat, split
from likewise.lazy import loader
from likewise.model import Evaluation, Explanation, Model, load_model
from likewise.plan import TrainingPlan
from likewise.tuning import Search, tune
from likewise.splitter import Splitter

__all__ = [
    "Als", "Auto", "Bias", "Bpr", "DeviceError", "Ease", "Evaluation", "Explanation", "IndexVectors", "Interactions",
    "ItemKnn", "Lists", "Model", "NumericalError", "Popular", "Search", "Sgd", "Spectral", "Splitter", "TrainingPlan",
    "UserKnn", "__version__", "concat", "index_vectors", "info", "load_model", "metrics", "split", "tune",
]

if TYPE_CHECKING:
    from likewise import (als, ann, approximate_als, bpr, cpu, datasets, evaluation, gpu, lenskit, lmf, mlflow, nearest_neighbours,
                          recommender_base, rectools, spark, surprise, utils)
else:
    #: Each needs a package of others, and is not listed, so that who walks through the names needs none.
    _FRIENDS = ("lenskit", "mlflow", "rectools", "spark")

    #: The names of `implicit`, Surprise and others: loaded by their first use.
    _MODULES = ("als", "ann", "approximate_als", "bpr", "cpu", "datasets", "evaluation", "gpu", "lmf", "nearest_neighbours",
                "recommender_base", "surprise", "utils", *_FRIENDS)

    #: Words of the command line and of other packages for what methods do here.
    _ELSEWHERE = {"train": "likewise.Als().fit(interactions)", "fit": "likewise.Als().fit(interactions)",
                  "cross_validate": "likewise.Als().cross_validate(interactions)", "recommend": "model.recommend(users)",
                  "similar": "model.similar_items(items)", "predict": "model.predict(users, items)",
                  "explain": "model.explain(user, item)", "evaluate": "model.evaluate(test)",
                  "update": "model.update(interactions)", "report": "model.report()", "load": "likewise.load_model(path)",
                  "train_test_split": "likewise.split(interactions)", "Dataset": "likewise.Interactions(data)",
                  "AlternatingLeastSquares": "likewise.Als(), or likewise.als.AlternatingLeastSquares()"}

    __getattr__ = loader("likewise", _MODULES, __all__, _ELSEWHERE)

    #: Of these nothing is here: each says what to use.
    _EMPTY = {"ann", "approximate_als", "datasets", "lmf"}

    def __dir__():
        return [*__all__, *(name for name in _MODULES if name not in _EMPTY and name not in _FRIENDS)]
