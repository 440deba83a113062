# SPDX-License-Identifier: Apache-2.0
"""Models of RecTools: its wrapper of ALS around likewise.als, and any estimator."""
import numpy as np
import pandas as pd
import pytest

import likewise
import likewise.als
from conftest import needed

needed("rectools")
import implicit.als  # noqa: E402
import rectools.models  # noqa: E402
from rectools import Columns  # noqa: E402
from rectools.dataset import Dataset  # noqa: E402
from rectools.metrics import MAP, calc_metrics  # noqa: E402

from likewise.rectools import EstimatorModel, ImplicitALSWrapperModel  # noqa: E402


@pytest.fixture(scope="module")
def frame(parts):
    return parts[0].to_pandas().rename(columns={"user": Columns.User, "item": Columns.Item, "value": Columns.Weight,
                                                "time": Columns.Datetime})


@pytest.fixture(scope="module")
def dataset(frame):
    return Dataset.construct(frame)


def asked(model, dataset, users, **options):
    return model.recommend(users, dataset, k=5, **{"filter_viewed": True, **options})


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("features", [False, True])
def test_the_wrapper_of_als_takes_that_of_likewise(frame, together, features):
    items = frame[Columns.Item].unique()
    table = pd.DataFrame({"id": items, "feature": "kind", "value": items % 4})
    dataset = Dataset.construct(frame, **({"item_features_df": table, "cat_item_features": ["kind"]} if features else {}))
    users = frame[Columns.User].unique()[:20]
    options = {"factors": 8, "iterations": 8, "random_state": 3, "use_cg": False, "num_threads": 1}
    got = asked(ImplicitALSWrapperModel(likewise.als.AlternatingLeastSquares(**options), together).fit(dataset), dataset, users)
    theirs = rectools.models.ImplicitALSWrapperModel(implicit.als.AlternatingLeastSquares(**options, use_gpu=False), together)
    expected = asked(theirs.fit(dataset), dataset, users)
    assert np.allclose(got[Columns.Score], expected[Columns.Score], rtol=2e-3, atol=2e-3)
    assert (got[Columns.Item].to_numpy() == expected[Columns.Item].to_numpy()).mean() > 0.95


def test_another_model_is_refused(dataset):
    with pytest.raises(TypeError, match="likewise.als.AlternatingLeastSquares, not <implicit"):
        ImplicitALSWrapperModel(implicit.als.AlternatingLeastSquares(use_gpu=False))
    with pytest.raises(TypeError, match="estimator must be one of likewise"):
        EstimatorModel("als")
    wrapper = ImplicitALSWrapperModel(likewise.als.AlternatingLeastSquares(factors=3))
    assert wrapper.get_config()["model"]["factors"] == 3
    assert ImplicitALSWrapperModel.from_config(wrapper.get_config(mode="pydantic"))._model.factors == 3


@pytest.mark.parametrize("estimator", [likewise.Als(factors=6), likewise.ItemKnn(), likewise.Popular()])
def test_any_estimator_is_a_model(dataset, frame, parts, estimator):
    model = EstimatorModel(estimator).fit(dataset)
    users = frame[Columns.User].unique()[:20]
    inner = dataset.interactions.df
    own = type(estimator)(**estimator.get_params()).fit(likewise.Interactions((inner[Columns.User], inner[Columns.Item], inner[Columns.Weight])))
    got = asked(model, dataset, users)
    assert got.groupby(Columns.User).size().eq(5).all()
    expected = own.recommend(dataset.user_id_map.convert_to_internal(users), n=5)
    assert np.allclose(got[Columns.Score], expected.to_pandas()["score"], rtol=1e-5)
    assert got[Columns.Item].tolist() == dataset.item_id_map.convert_to_external(expected.to_pandas()["item"]).tolist()
    seen = asked(model, dataset, users, filter_viewed=False, items_to_recommend=frame[Columns.Item].unique()[:7])
    assert set(seen[Columns.Item]) <= set(frame[Columns.Item].unique()[:7]) and len(seen)
    near = model.recommend_to_items(frame[Columns.Item].unique()[:3], dataset, k=4) if estimator.algorithm != "popular" else None
    assert near is None or len(near) == 12
    held_out = parts[1].to_pandas().rename(columns={"user": Columns.User, "item": Columns.Item})
    assert 0 <= calc_metrics({"map": MAP(5)}, got, held_out)["map"] <= 1
    again = EstimatorModel.from_config(model.get_config())
    assert again.estimator.get_params() == estimator.get_params()
