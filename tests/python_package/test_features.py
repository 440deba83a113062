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
    of_columns = als(item_features=pd.DataFrame({"item": list(KIND), "kind": [tags[0] for tags in KIND.values()], "year": 1990}))
    with pytest.warns(UserWarning, match="the model had no feature 'genre': it is learned as a new one"):
        of_columns.update(data([(1, 3)]), item_features=pd.DataFrame({"item": [78], "genre": ["Love"], "year": [1990]}))


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


def test_tune_trains_its_winner_with_features():
    search = likewise.tune(data(), budget=3, item_features=KIND, feature_regularization=0.5)
    assert {trial["algorithm"] for trial in search.trials} == {"als", "bpr", "spectral"}
    assert sorted(search.model.new_items) == [3, 13]
    with pytest.raises(ValueError, match="item-knn has none"):
        likewise.tune(data(), algorithms="item-knn", budget=1, item_features=KIND)
    with pytest.raises(ValueError, match="none of the 2 ids"):
        likewise.tune(data(), budget=3, item_features={"x": "a", "y": "a"})
    with pytest.raises(ValueError, match="feature_regularization would do nothing"):
        likewise.tune(data(), budget=3, feature_regularization=0.5)


def test_cross_validation_learns_features():
    rare = data([(user, item) for user, item in LIKES if (user + 7 * item) % 8 == 0])
    made = likewise.Als(factors=4)
    plain, found = (made.cross_validate(rare, folds=3, item_features=features) for features in (None, KIND))
    assert dict(plain) != dict(found), "some items are without interactions in a fold"
    with pytest.raises(ValueError, match="item-knn has none"):
        likewise.ItemKnn().cross_validate(rare, item_features=KIND)


PEOPLE = pd.DataFrame({"user": range(30), "taste": ["dark"] * 15 + ["light"] * 15, "age": range(20, 50)})


@pytest.mark.parametrize("asked, queries", [
    ([{"taste": "light", "age": 41}, {"age": 22.0}], [0, 1]),
    (pd.DataFrame({"user": ["anna", "bob"], "taste": ["light", "dark"], "age": [41, None]}), ["anna", "bob"]),
    (pd.DataFrame({"taste": ["light", "dark", "dark"], "age": [41, 22, 22]}), [0, 1, 2]),
    (pd.DataFrame({"age": [41, 22, 22], "taste": ["light", "dark", "dark"], "customer": ["a", "c", "b"]}), ["a", "b", "c"]),
    ({7: "taste=light", 8: ["taste=dark"]}, [7, 8]),
])
def test_visitors_are_answered_by_their_features(asked, queries):
    model = als(user_features=PEOPLE)
    lists = model.recommend_new(features=asked, n=3)
    frame = lists.to_pandas()
    assert frame["user"].tolist() == [query for query in queries for _ in range(3)]
    assert all((item >= 10) == (user == queries[0]) for user, item in zip(frame["user"], frame["item"]))


def test_visitors_that_cannot_be_answered():
    model = als(user_features=PEOPLE)
    strange = [{"taste": "light"}, {"taste": "green"}]
    with pytest.raises(ValueError, match="user '1': the model has learned none of the features"):
        model.recommend_new(features=strange)
    for other in ({"Age": 31}, {"taste": "light", "tast": "dark"}):
        with pytest.raises(ValueError, match=f"has learned no feature '{list(other)[-1]}'; its features are age, taste"):
            model.recommend_new(features=[other], unknown="skip")
    some = model.recommend_new(features=strange, unknown="skip")
    assert some.unknown == 1 and some.to_pandas()["user"].unique().tolist() == [0]
    with pytest.raises(ValueError, match="one of both"):
        model.recommend_new()
    with pytest.raises(ValueError, match="one of both"):
        model.recommend_new([[2]], features=strange)
    for nothing in ([{}], [{}, {}]):
        with pytest.raises(ValueError, match=r"features of visitors have no columns: give each of them at least one, as \[{\"age\": 31}\]"):
            model.recommend_new(features=nothing)
    with pytest.raises(TypeError, match="dicts of columns"):
        model.recommend_new(features=["light"])
    with pytest.raises(ValueError, match="has learned no features of users"):
        als().recommend_new(features=strange)


def test_a_user_known_by_features_alone_is_not_explained_by_items():
    taste = {user: ["left" if user < 15 else "right"] for user in [*range(30), 77]}
    model = als(user_features=taste).model_
    assert model.predict([77], [12])[0] > 0
    with pytest.raises(ValueError, match="user 77 has done nothing: its scores are by its features"):
        model.explain(77, 12)
    assert model.explain(20, 12).contributions
