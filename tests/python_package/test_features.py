# SPDX-License-Identifier: Apache-2.0
"""Features of items and users in Python."""
import numpy as np
import pandas as pd
import pytest

import likewise

LIKES = [(user, item) for user in range(30) for item in range(20)
         if (user < 15) == (item < 10) and (user * 7 + item * 5) % 10 < 7]
KNOWN = [pair for pair in LIKES if pair[1] not in (3, 13)]
KIND = {item: ["Crime" if item < 10 else "Love", "All"] for item in range(20)}


def data(pairs=KNOWN):
    return {"user": [user for user, _ in pairs], "item": [item for _, item in pairs]}


def als(**features):
    return likewise.Als(factors=4, iterations=5).fit(data(), **features)


FRAME = {"item": list(KIND), "kind": list(KIND.values())}


@pytest.mark.parametrize("made", ["dict", "pandas", "polars", "arrow", "file"])
def test_every_form_gives_the_same_model(made, tmp_path):
    usual = als(item_features=KIND)
    if made == "file":
        features = tmp_path / "tags.csv"
        features.write_text("item,kind\n" + "".join(f"{item},{'|'.join(tags)}\n" for item, tags in KIND.items()))
    elif made == "polars":
        features = pytest.importorskip("polars").DataFrame(FRAME)
    elif made == "arrow":
        features = pytest.importorskip("pyarrow").table(FRAME)
    else:
        features = KIND if made == "dict" else pd.DataFrame(FRAME)
    model = als(item_features=features)
    assert np.array_equal(model.model_.item_factors, usual.model_.item_factors)
    assert sorted(model.new_items) == [3, 13]


def test_new_items_are_recommended_and_measured(tmp_path):
    model = als(item_features=KIND, feature_regularization=0.1)
    lists = model.recommend([2, 20], 1, new_items=True)
    assert lists.to_pandas()["item"].tolist() == [3, 13]
    hidden = data([pair for pair in LIKES if pair[1] in (3, 13)])
    found = model.evaluate(hidden, k=1, metrics="ndcg", new_items=True)
    assert found["ndcg@1"] == 1.0
    model.save(tmp_path / "m")
    again = likewise.load_model(tmp_path / "m")
    assert again.recommend([2], 1, new_items=True).to_pandas()["item"].tolist() == [3]
    plain = als()
    known = [item for item in range(20) if item not in (3, 13)]
    assert plain.recommend(items=known).to_pandas().equals(model.recommend(items=known).to_pandas())


def test_frames_have_categories_and_numbers():
    frame = pd.DataFrame({"item": range(20), "kind": ["Crime"] * 10 + ["Love"] * 10,
                          "year": [1980.0 + item for item in range(19)] + [None]})
    model = als(item_features=frame)
    assert sorted(model.new_items) == [3, 13]


def test_users_join_too():
    taste = {user: ["dark" if user < 15 else "light"] for user in range(30)} | {99: ["light"]}
    model = als(user_features=taste)
    assert (model.recommend(99, 5).to_pandas()["item"] >= 10).all()


def test_updates_take_new_items():
    model = als(item_features=KIND)
    grown = model.update(data([(user, 3) for user in range(8)]), item_features={77: "Love"})
    assert sorted(grown.new_items) == [13, 77]
    assert sorted(model.new_items) == [3, 13]


@pytest.mark.parametrize("kind", [likewise.ItemKnn, likewise.Popular, likewise.Auto, likewise.Ease])
def test_models_without_factors_refuse_them(kind):
    with pytest.raises(ValueError, match="factors"):
        kind().fit(data(), item_features=KIND)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="item_features or user_features"):
        als(feature_regularization=1.0)
    with pytest.raises(ValueError, match="feature_regularization must be in"):
        als(item_features=KIND, feature_regularization=0.0)
    with pytest.raises(TypeError, match="item_features must be"):
        als(item_features=7)
    with pytest.raises(ValueError, match="holds a |"):
        als(item_features={1: ["a|b"], 2: ["c"]})
    with pytest.raises(ValueError, match="none of the 2 ids"):
        als(item_features={"x": "a", "y": "a"})
    plain = als()
    for ask in (lambda: plain.recommend(2, new_items=True), lambda: plain.evaluate(data(), new_items=True)):
        with pytest.raises(ValueError, match="nobody has touched"):
            ask()
    with pytest.raises(ValueError, match="exclude each other"):
        als(item_features=KIND).recommend(2, items=[3], new_items=True)


def test_whole_items_are_split_off():
    train, test = likewise.split(data(LIKES), "cold-items", test=0.25, seed=5)
    of_train, of_test = ({*part.columns()["item"].tolist()} for part in (train, test))
    assert not of_train & of_test and len(of_test) == 5
