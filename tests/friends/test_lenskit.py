# SPDX-License-Identifier: Apache-2.0
"""A component of LensKit's pipelines: its lists and predictions are the model's."""
import numpy as np
import pytest

import likewise
from conftest import needed

needed("lenskit")
from lenskit.data import ItemList, RecQuery, from_interactions_df  # noqa: E402
from lenskit.pipeline import topn_pipeline  # noqa: E402

from likewise.lenskit import LikewiseScorer  # noqa: E402


@pytest.fixture(scope="module")
def data(parts):
    frame = parts[0].to_pandas().rename(columns={"user": "user_id", "item": "item_id", "value": "rating", "time": "timestamp"})
    return from_interactions_df(frame)


@pytest.mark.parametrize("algorithm, params", [("als", {"factors": 6}), ("item-knn", {}), ("popular", {})])
def test_lists_of_a_pipeline_are_those_of_the_model(data, parts, algorithm, params):
    from lenskit import recommend
    pipeline = topn_pipeline(LikewiseScorer(algorithm=algorithm, params=params), n=5)
    pipeline.train(data)
    model = pipeline.node("scorer").component.model_
    own = {"als": likewise.Als, "item-knn": likewise.ItemKnn, "popular": likewise.Popular}[algorithm](**params).fit(parts[0])
    for user in parts[0].users[:5].tolist():
        found = recommend(pipeline, user)
        expected = own.recommend(user, n=5)
        # LensKit sorts items of one popularity otherwise.
        assert algorithm == "popular" or list(found.ids()) == expected.ids[0].tolist()
        assert np.allclose(found.scores(), expected.scores[0], rtol=1e-5)
    assert model.algorithm == algorithm


def test_ratings_and_who_was_not_trained(data, parts):
    scorer = LikewiseScorer(algorithm="als", params={"feedback": "explicit", "factors": 4})
    scorer.train(data)
    user, items = parts[0].users[0], [10, 11, 999]
    got = scorer(RecQuery(user_id=user), ItemList(item_ids=items)).scores()
    assert np.allclose(got[:2], scorer.model_.predict([user] * 2, items[:2])) and np.isnan(got[2])
    history = ItemList(item_ids=[12, 13], rating=[5.0, 1.0])
    got = scorer(RecQuery(history_items=history), ItemList(item_ids=items)).scores()
    assert np.allclose(got[:2], scorer.model_.predict_new([{12: 5.0, 13: 1.0}], items[:2])[0])
    assert np.isnan(scorer(RecQuery(user_id=5), ItemList(item_ids=items)).scores()).all()
    with pytest.raises(ValueError, match="algorithm 'svd' is none of als, auto"):
        LikewiseScorer(algorithm="svd").train(data)
