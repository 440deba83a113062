# SPDX-License-Identifier: Apache-2.0
"""What is wrong with an argument is said in words, at every door; paths, data and sizes of any kind."""
import inspect
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import likewise
from likewise import Als, Interactions, Model


@pytest.fixture(scope="module")
def frame(triples):
    users, items, values = triples
    return pd.DataFrame({"user": users, "item": items, "value": values})


def kinds_of_data(frame, folder):
    frame.to_csv(folder / "rows.csv", index=False)
    yield frame
    yield pl.from_pandas(frame)
    yield {name: frame[name] for name in frame}
    yield tuple(frame[name] for name in frame)
    yield folder / "rows.csv"
    yield str(folder / "rows.csv").encode()


def test_bools_of_numpy_are_bools(ratings, model):
    yes, no = np.bool_(True), np.bool_(False)
    explicit = Als(feedback="explicit", biases=no, iterations=1, factors=4)
    assert explicit.plan(ratings).parameters["biases"] is False and explicit.fit(ratings).model_.params["biases"] is False
    assert (model.recommend(n=3, include_seen=yes).ids == model.recommend(n=3, include_seen=True).ids).all()
    nothing = Interactions(([10], [5]))
    assert model.evaluate(ratings, per_user=yes, seen=nothing).per_user and not model.evaluate(ratings, per_user=no, seen=nothing).per_user
    tables = np.ones((len(ratings.users), 2)), np.ones((len(ratings.items), 2))
    assert Model.from_factors(ratings, *tables, params={"nonnegative": yes}).params["nonnegative"] is True
    for call in (lambda: Als(factors=yes, iterations=1).fit(ratings), lambda: model.recommend(n=yes), lambda: Als(threads=yes).fit(ratings),
                 lambda: likewise.split(ratings, test=yes), lambda: Interactions(([1], [2]), min_user_count=yes)):
        with pytest.raises(TypeError, match="(factors|n|threads|test|min_user_count).* (an int|number).*, not"):
            call()


def test_data_of_any_kind_at_every_door(frame, ratings, model, tmp_path):
    nothing = pd.DataFrame({"user": [10], "item": [5], "value": [1.0]})
    expected = {
        "fit": Als(factors=4, iterations=2).fit(likewise.split(ratings)[0], validation=ratings).validation,
        "evaluate": model.evaluate(ratings, seen=Interactions(nothing), candidates=ratings),
        "update": model.update(ratings).user_factors,
        "split": likewise.split(ratings)[0].nnz,
        "tune": likewise.tune(likewise.split(ratings)[0], budget=1, algorithms="item-knn", validation=ratings).best["value"],
        "from_factors": Model.from_factors(ratings, model.user_factors, model.item_factors).predict([10], [5]),
    }
    for data in kinds_of_data(frame, tmp_path):
        found = {
            "fit": Als(factors=4, iterations=2).fit(likewise.split(data)[0], validation=data).validation,
            "evaluate": model.evaluate(data, seen=nothing, candidates=data),
            "update": model.update(data).user_factors,
            "split": likewise.split(data)[0].nnz,
            "tune": likewise.tune(likewise.split(data)[0], budget=1, algorithms="item-knn", validation=data).best["value"],
            "from_factors": Model.from_factors(data, model.user_factors, model.item_factors).predict([10], [5]),
        }
        for door, value in expected.items():
            assert np.array_equal(found[door], value) if door != "evaluate" else found[door] == value, door
    matrix = sp.random(30, 20, 0.3, format="csr", random_state=1)
    assert likewise.split(matrix)[0].nnz > 0
    for door in (Als().fit, model.evaluate, model.update, likewise.split, likewise.tune,
                 lambda data: Als().fit(ratings, validation=data), lambda data: model.evaluate(ratings, seen=data)):
        for wrong in (5, [1, 2], object(), np.eye(3)):
            with pytest.raises(TypeError, match="Interactions cannot be made of (int|list|object|ndarray)"):
                door(wrong)


def test_ids_in_sets_and_series(model, ratings):
    ids = model.users.take(np.arange(4, dtype=np.int32))
    series = pd.Series(ids, index=[7, 8, 9, 3])
    expected = model.recommend(ids, n=3)
    for given in (series, pl.Series(ids), pd.Index(ids), list(ids), tuple(ids), dict.fromkeys(ids).keys()):
        assert np.array_equal(model.recommend(given, n=3).indices, expected.indices)
    assert np.array_equal(model.recommend((one for one in ids), n=3).indices, expected.indices)
    found = model.recommend(set(ids.tolist()), n=3)
    assert sorted(found.queries.tolist()) == sorted(ids.tolist())
    items = model.items.take(np.arange(30, dtype=np.int32)).tolist()
    some = model.recommend(ids, n=3, items=set(items), exclude=set(items[:5]))
    assert np.array_equal(some.indices, model.recommend(ids, n=3, items=items, exclude=items[:5]).indices)
    assert np.array_equal(model.predict(series, pd.Series(items[:4], index=[5, 6, 5, 6])),
                          model.predict(ids, items[:4]))
    history = pd.Series(items[:3])
    assert np.array_equal(model.fold_in([history, set(items[:3])]), model.fold_in([items[:3], items[:3]]))
    with pytest.raises(KeyError, match="there is no user -5 in the model"):
        model.recommend(pd.Series([ids[0], -5], index=[4, 9]))
    unlike = ((one for one in [*some, -5]) for some in (items[:3], items[2:4]))
    assert model.recommend_new(unlike, 3, unknown="skip") == model.recommend_new([items[:3], items[2:4]], 3)
    for index in (pd.Index(items[:2], name="item"), items[:2], range(5, 9, 2), ["a", "b"]):
        with pytest.raises(TypeError, match=r"may mean either: give series.to_dict\(\)"):
            model.fold_in([pd.Series(items[:2], index=index)])
    with pytest.raises(TypeError, match="order"):
        model.predict(set(items), set(items))
    with pytest.raises(ValueError, match="place 1 is masked"):
        model.recommend(np.ma.array(ids, mask=[False, True, False, False]))


#: What no parameter takes, except for those that take all of its kind.
ODD = [1.5, -1, 10**30, "x", b"x", None, True, [], {}, {1}, object(), np.nan, (1, 2), ["a"], np.array(["a"])]
#: Words of the extension's and of Python's own refusals.
RAW = ["incompatible function arguments", "nanobind", "std::", "_core", "has no attribute", "cast", "not subscriptable",
       "object is not iterable", "unsupported operand", "not supported between", "not callable", "ufunc",
       "could not convert", "has no len", "embedded null", "codec", "expected str"]


def doors(model, ratings, folder):
    """(name, call(**one argument), its parameters)."""
    ids = model.users.take(np.arange(3, dtype=np.int32)).tolist()
    items = model.items.take(np.arange(3, dtype=np.int32)).tolist()
    usual = {"users": ids, "items": items, "user": ids[0], "item": items[0], "history": items, "histories": [items], "test": ratings,
             "interactions": ratings, "data": ratings, "titles": {}, "path": folder / "file", "n": 3}
    calls = {"recommend": model.recommend, "recommend_new": model.recommend_new, "similar_items": model.similar_items,
             "similar_users": model.similar_users, "predict": model.predict, "predict_new": model.predict_new,
             "fold_in": model.fold_in, "explain": model.explain, "explain_new": model.explain_new, "evaluate": model.evaluate, "update": model.update,
             "set_titles": model.set_titles, "read_titles": model.read_titles, "save": model.save,
             "split": likewise.split, "tune": likewise.tune, "load_model": likewise.load_model,
             "Interactions": Interactions, "Interactions.save": ratings.save,
             "fit": Als(factors=2, iterations=1).fit, "Als": lambda **given: Als(**{"factors": 2, "iterations": 1, **given}).fit(ratings),
             "ItemKnn": lambda **given: likewise.ItemKnn(**given).fit(ratings),
             "Sgd": lambda **given: likewise.Sgd(**{"iterations": 1, **given}).fit(ratings),
             "Bpr": lambda **given: likewise.Bpr(**{"iterations": 1, "factors": 2, **given}).fit(ratings)}
    for name, call in calls.items():
        shown = {"Als": Als, "ItemKnn": likewise.ItemKnn, "Sgd": likewise.Sgd, "Bpr": likewise.Bpr}.get(name, call)
        parameters = [one.name for one in inspect.signature(shown).parameters.values() if one.name not in ("y",)]
        first = {one: usual[one] for one in parameters if one in usual and not name.startswith(("Als", "Item", "Sgd", "Bpr"))}
        if name == "tune":
            first |= {"budget": 1, "algorithms": "item-knn"}
        yield name, call, parameters, first


def test_every_argument_of_another_type_is_said_in_words(model, ratings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # "x" is a path, too
    (tmp_path / "file").write_text("1,2\n")
    raw = []
    for name, call, parameters, usual in doors(model, ratings, tmp_path):
        for parameter in parameters:
            for odd in ODD:
                if parameter in ("progress", "factors", "neighbours") and odd is True:
                    continue
                try:
                    call(**{**usual, parameter: odd})
                except (TypeError, ValueError, KeyError, OSError, IndexError, MemoryError, OverflowError,
                        likewise.DeviceError, likewise.NumericalError) as error:
                    told = str(error)
                    if not told or type(error) is OverflowError or any(word in told for word in RAW):
                        raw.append(f"{name}({parameter}={odd!r}): {error!r}")
                except Exception as error:  # of another type
                    raw.append(f"{name}({parameter}={odd!r}): {error!r}")
    assert not raw, "\n".join(raw)


@pytest.mark.parametrize("call, words", [
    (lambda d, m: Interactions(([1], [2]), threads=1.5), "threads must be a whole number, not 1.5 of type float"),
    (lambda d, m: Als(threads=1.5).fit(d), "threads must be a whole number, not 1.5"),
    (lambda d, m: Als(threads=True).fit(d), "threads must be a whole number, not True"),
    (lambda d, m: Interactions(([1], [2]), threads=False), "threads must be a whole number, not False"),
    (lambda d, m: likewise.Model.from_bytes(m.to_bytes(), threads=True), "threads must be a whole number, not True"),
    (lambda d, m: likewise.Model.from_bytes(m.to_bytes(), threads="2"), "threads must be a whole number, not '2'"),
    (lambda d, m: m.evaluate(d, negatives=3, seed=True), "seed must be a whole number, not True"),
    (lambda d, m: likewise.split(d, "last", last=True), "last must be a whole number, not True"),
    (lambda d, m: likewise.split(d, test=True), "test must be a number, not True"),
    (lambda d, m: Interactions(([1], [2]), min_user_count=True), "min_user_count must be a number, not True"),
    (lambda d, m: m.save(None), "path must be a str, bytes or os.PathLike, not None"),
    (lambda d, m: d.save(None), "path must be a str, bytes or os.PathLike, not None"),
    (lambda d, m: likewise.load_model(None), "path must be a str, bytes or os.PathLike, not None"),
    (lambda d, m: likewise.split(d, seed="4"), "seed must be a whole number, not '4'"),
    (lambda d, m: likewise.tune(d, seed=1.5), "seed must be a whole number, not 1.5"),
    (lambda d, m: m.evaluate(d, min_relevant_value="4"), "min_relevant_value must be a number, not '4'"),
    (lambda d, m: m.recommend(include_seen=1), "include_seen must be True or False, not 1"),
    (lambda d, m: m.set_titles({5: None}), "the title of item 5 must be text"),
    (lambda d, m: Interactions(([1], [2], [3.0], [4]), half_life=np.timedelta64(9, "D")), r'half_life must be a timedelta, or text such as "90d"'),
    (lambda d, m: likewise.tune(d, budget=1.5), 'budget must be a time, as "10m" or a timedelta, or a number of trials, not 1.5'),
    (lambda d, m: likewise.concat(d), "parts must be a list of Interactions"),
    (lambda d, m: m.save(5), "a path is a str, bytes or os.PathLike, not 5"),
    (lambda d, m: Als().fit(d, resume="model"), "resume must be a model or a fitted estimator, not 'model'"),
    (lambda d, m: Als().fit(d, callback=5), "callback must be a function, not 5"),
    (lambda d, m: Als().fit(d, checkpoint="c", checkpoint_every=1.5), "checkpoint_every must be a whole number"),
    (lambda d, m: likewise.tune(d, algorithms=5), "algorithms must be a name or several"),
    (lambda d, m: m.evaluate(d, metrics=[5]), "metrics must be a sequence of texts"),
    (lambda d, m: likewise.metrics.higher_is_better(5), "metric must be text"),
    (lambda d, m: Model.from_bytes("x"), "data must be bytes"),
    (lambda d, m: Model.from_factors(d, "x", "y"), "user_factors must be a table of numbers"),
    (lambda d, m: Model.from_factors(d, m.user_factors * 1j, m.item_factors), "user_factors must be a table of numbers, not of complex"),
    (lambda d, m: Model.from_factors(d, m.user_factors.astype("U8"), m.item_factors), "user_factors must be a table of numbers, not of <U8"),
    (lambda d, m: Model.from_factors(d, m.user_factors, m.item_factors.astype("M8[s]")), "item_factors must be a table of numbers"),
    (lambda d, m: Model.from_factors(d, m.user_factors, m.item_factors, params={5: 5}), "params must be a dict"),
    (lambda d, m: m.fold_in([{5: "x"}]), "values are numbers"),
    (lambda d, m: m.users.find(5), "a sequence of ids is needed, not 5"),
    (lambda d, m: Interactions(pd.Series([1, 2])), "one column of int64"),
    (lambda d, m: m.recommend_new(d), r"not Interactions: give \[dict\(zip\(rows.item, rows.value\)\) for _, rows in histories.to_pandas"),
    (lambda d, m: m.fold_in(Interactions(([10], [5]))), r"not Interactions: give \[list\(rows.item\) for _, rows in histories"),
    (lambda d, m: m.recommend_new(d.to_csr()), "columns are items 0, 1, 2 and so on, and the model has other ids"),
    (lambda d, m: m.recommend_new([d.to_csr()[[0]]]), "a history is .* not a matrix: give one matrix of users x items"),
    (lambda d, m: m.recommend(1.0), r"not 1.0 of type float: give int\(1.0\), or a whole number"),
    (lambda d, m: m.recommend(1.5), "not 1.5 of type float$"),
    (lambda d, m: m.recommend(np.array([1.0])), r"make them whole with astype\(\"int64\"\)"),
    (lambda d, m: m.recommend(pd.Series([1, None])), r": leave out those that are missing, and make them whole with astype"),
    (lambda d, m: m.recommend([[1, 2], [3, 4]]), r"whole numbers \(int\), not \[1, 2\] of type list"),
    (lambda d, m: m.recommend([[1], [3, 4]]), r"not \[1\] of type list"),
    (lambda d, m: m.recommend(np.ones((3, 2), dtype=int)), r"users are a sequence of ids, not of type ndarray and shape \(3, 2\): give one column, such as ids\[:, 0\]"),
    (lambda d, m: m.recommend(d), "users are a sequence of ids, not of type Interactions"),
])
def test_types_in_words(ratings, model, call, words):
    with pytest.raises(TypeError, match=words):
        call(ratings, model)


@pytest.mark.parametrize("kind", ["pandas", "polars", "Arrow", "mixed", "one column", "no rows"])
def test_a_frame_is_no_sequence_of_ids(model, kind):
    frame = pd.DataFrame({"movieId": model.items[:3], "userId": model.users[:3], "rating": [1.0, 2.0, 3.0]})
    frame = {"mixed": frame.assign(title="a"), "one column": frame[["userId"]], "no rows": frame[:0]}.get(kind, frame)
    given = {"polars": pl.from_pandas, "Arrow": lambda one: pl.from_pandas(one).to_arrow()}.get(kind, lambda one: one)(frame)
    item = "userId" if kind == "one column" else "movieId"
    for ask, words in ((lambda: model.recommend(given, n=1), r"users are .*, not a frame: give .* such as frame\['userId'\]"),
                       (lambda: model.similar_users(given, n=1), r"users are .* frame\['userId'\]"),
                       (lambda: model.similar_items(given, n=1), rf"items are .* frame\['{item}'\]"),
                       (lambda: model.recommend(items=given), rf"items are .* frame\['{item}'\]"),
                       (lambda: model.recommend(exclude=given, unknown="skip"), rf"items are .* frame\['{item}'\]"),
                       (lambda: model.recommend_new([given], unknown="skip"), rf"items are .* frame\['{item}'\]"),
                       (lambda: model.users.find(given), "users are .* frame")):
        with pytest.raises(TypeError, match=words):
            ask()
    if len(frame):
        assert len(model.recommend(frame["userId"], n=1)) == 3


def test_a_list_is_neither_a_user_nor_an_item_to_explain(model, ratings):
    user, (item, *others) = int(model.users[0]), model.items[:3].tolist()
    for several in ([user, user], others, np.array(others), pd.Series(others), {user}, []):
        with pytest.raises(TypeError, match=rf"may mean several users, or what one likes: explain\(user, {item}\) .*explain_new\("):
            model.explain(several, item)
    for ask in (lambda: model.explain(user, [item]), lambda: model.explain_new(others, {item: 1.0})):
        with pytest.raises(TypeError, match="one item, not .*: ask for each by itself"):
            ask()
    liked = model.explain_new(others, item)
    assert liked == model.explain(dict.fromkeys(others, 1.0), item) and len(liked.contributions) == 2


def test_a_second_argument_of_fit_is_not_passed_over(ratings, frame):
    for given in (ratings, frame, pl.from_pandas(frame), {"user": [1], "item": [2]}, "test.csv", ratings.to_csr(), ([1], [2])):
        for estimator in (Als(iterations=1), likewise.Auto(), likewise.Popular()):
            with pytest.raises(TypeError, match=r"first argument alone.*validation=test"):
                estimator.fit(ratings, given)
    for labels in (None, frame["value"], frame["value"].to_numpy(), frame["value"].tolist()):
        likewise.Popular().fit(frame, labels)


@pytest.mark.parametrize("name, hint", [
    ("ALS", "did you mean likewise.Als?"), ("KNN", "did you mean likewise.UserKnn or likewise.ItemKnn?"),
    ("ItemKNN", "did you mean likewise.ItemKnn?"), ("Interaction", "did you mean likewise.Interactions?"),
    ("train", "that is likewise.Als().fit(interactions) here"), ("evaluate", "that is model.evaluate(test) here"),
    ("train_test_split", "that is likewise.split(interactions) here")])
def test_a_name_that_is_not_there_gets_the_nearest(name, hint):
    with pytest.raises(AttributeError) as refused:
        getattr(likewise, name)
    assert str(refused.value).startswith(f"module 'likewise' has no attribute '{name}'") and str(refused.value).endswith(hint)
    assert not hasattr(likewise, name) and name not in dir(likewise)
    with pytest.raises(ImportError, match=f"cannot import name '{name}'"):
        exec(f"from likewise import {name}")


@pytest.mark.parametrize("call, said", [
    (lambda model, data: model.recommend(1, k=3), r"recommend\(\) has no parameter 'k' \(did you mean n\?\); it has users, n, items"),
    (lambda model, data: model.recommend(1, N=3), r"recommend\(\) has no parameter 'N' \(did you mean n\?\)"),
    (lambda model, data: model.similar_items(items=1, top_k=3), r"similar_items\(\) has no parameter 'top_k' \(did you mean n\?\)"),
    (lambda model, data: model.evaluate(data, n=3), r"evaluate\(\) has no parameter 'n' \(did you mean k\?\)"),
    (lambda model, data: likewise.split(data, test_size=0.2), r"split\(\) has no parameter 'test_size' \(did you mean test\?\)"),
    (lambda model, data: likewise.Splitter("random", tests=0.2), r"Splitter has no parameter 'tests' \(did you mean test\?\)"),
    (lambda model, data: Interactions(data, min_val=1), r"Interactions has no parameter 'min_val' \(did you mean min_value\?\)"),
    (lambda model, data: likewise.tune(data, n_trials=9), r"tune\(\) has no parameter 'n_trials' \(did you mean budget\?\)"),
    (lambda model, data: Als(n_factors=9), r"Als has no parameter 'n_factors' \(did you mean factors\?\); it has feedback"),
    (lambda model, data: Als().fit(data, epochs=9), r"fit\(\) has no parameter 'epochs'; it has interactions"),
    (lambda model, data: likewise.Model.from_bytes(b"", threads_=1), r"from_bytes\(\) has no parameter 'threads_' \(did you mean threads\?\)")])
def test_a_parameter_that_is_not_there_gets_the_nearest(call, said, model, ratings):
    with pytest.raises(TypeError, match=said):
        call(model, ratings)


def test_a_method_that_is_not_there_gets_the_nearest(model):
    for answers in (model, likewise.Popular()):
        with pytest.raises(AttributeError, match=r"has no attribute 'recomend' \(did you mean recommend\?\)$"):
            answers.recomend(1)
        with pytest.raises(AttributeError, match="has no attribute 'zzzz'$"):
            answers.zzzz
        assert not hasattr(answers, "__array__")


def test_names_that_are_like_nothing_get_no_hint():
    for name in ("zzzz", "__wrapped__", "_Als"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'$"):
            getattr(likewise, name)


def test_a_file_of_the_other_kind_is_named(model, ratings, tmp_path):
    ratings.save(tmp_path / "train.csv")
    model.save(tmp_path / "model.safetensors")
    for name, load, reads in (("train.csv", likewise.load_model, "it is text, not a model; .* likewise.Interactions()"),
                              ("model.safetensors", Interactions, "such as a model, not text; .* likewise.load_model()")):
        with pytest.raises(ValueError, match=f"{name}: .*{reads}"):
            load(tmp_path / name)


@pytest.mark.parametrize("text, given, words", [
    ("user,film,stars\n1,2,3\n", {"user": "user", "item": "user"}, "column 'user' is named twice"),
    ("user,stuff,rating\n1,2,3\n", {}, 'user="USER", item="ITEM", value="VALUE", time="TIME"'),
    ("abc\n", {}, 'say delimiter="TEXT" if it is another one'),
    ("one\ntwo\n", {"delimiter": ","}, 'say delimiter="TEXT" if that is wrong'),
    ("1 2 3\n", {"format": "adjacency", "user": 1, "item": 2}, "leave out user, item, value and time"),
    ("1 2 3\n", {"format": "adjacency", "header": "yes"}, "leave out header"),
    ("%%MatrixMarket matrix coordinate real general\n", {"format": "adjacency"}, "leave out format"),
    ("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n", {"user": 1, "item": 2}, "leave out user, item"),
    ("1:\n2,3,2005-01-01\n", {"format": "netflix", "user": 1, "item": 2},
     'user, item, value and time would do nothing: the file is read by format="netflix"'),
    ("user,item\n1,2\n", {"user": "user", "item": "item", "header": "no"}, 'which header="no" rules out')])
def test_messages_of_files_name_keywords(tmp_path, text, given, words):
    (tmp_path / "rows").write_text(text)
    with pytest.raises(ValueError, match=words) as refused:
        Interactions(tmp_path / "rows", **given)
    assert not any(word in str(refused.value) for word in ("--", "option", "columns=", " columns;"))


def test_messages_of_metrics_and_titles_name_keywords(model, ratings, tmp_path):
    with pytest.raises(ValueError, match='metric "ndcg@5": .* by k=5 and metrics="ndcg"$'):
        model.evaluate(ratings, metrics="ndcg@5")
    (tmp_path / "titles").write_text("nr,short,long\n5,A,B\n7,C,D\n")
    with pytest.raises(ValueError, match=r'choose the columns with columns=\["ID", "TITLE"\]$'):
        model.read_titles(tmp_path / "titles")


def test_titles_of_other_items_stay(model):
    names = ["one", "two", "three"]
    ids = model.items[:3].tolist()
    titles_of = lambda: model.recommend(n=200, include_seen=True).to_pandas().drop_duplicates("item").set_index("item").get("title")
    model.set_titles({})
    model.set_titles({-5: "nobody's"})
    assert titles_of() is None
    for one, name in zip(ids, names):
        model.set_titles({one: name})
    assert titles_of()[ids].tolist() == names
    model.set_titles({ids[1]: ""})
    assert titles_of()[ids].tolist() == ["one", "", "three"]
    model.set_titles(dict.fromkeys(ids, ""))
    assert titles_of() is None


def test_an_item_that_is_asked_for_by_its_title_is_named(model):
    one, two, three = model.items[:3].tolist()
    model.set_titles({one: "Alien", two: "Heat", three: "Heat"})
    asks = (model.similar_items, lambda title: model.explain(model.users[0], title), lambda title: model.recommend_new([[title]]),
            lambda title: model.recommend(items=[title]))
    for ask in asks:
        for title, hint in (("Alien", f"; that is the title of item {one}: ask for {one}"),
                            ("Heat", f"; that is the title of item {two} and of {three}: ask for {two} or {three}")):
            with pytest.raises(KeyError) as refused:
                ask(title)
            assert hint in refused.value.args[0]
    for ask, unknown in ((model.similar_items, "Alie"), (model.similar_users, "Alien"), (model.similar_items, "")):
        with pytest.raises(KeyError) as refused:
            ask(unknown)
        assert "title" not in refused.value.args[0]


def test_numbers_out_of_range_are_named(ratings):
    for call in (lambda: likewise.split(ratings, seed=-1), lambda: likewise.tune(ratings, seed=10**30)):
        with pytest.raises(ValueError, match="seed: (-1|10+) is out of range"):
            call()


def test_a_fitted_estimator_is_resumed(ratings):
    one = Als(factors=4, iterations=2).fit(ratings)
    both = [Als(factors=4, iterations=4).fit(ratings, resume=given).user_factors for given in (one, one.model_)]
    assert np.array_equal(*both)
    with pytest.raises(AttributeError, match="call fit"):
        Als().fit(ratings, resume=Als())


def paths(model, ratings, compatible):
    """Every place where a path enters."""
    nearest = likewise.nearest_neighbours.CosineRecommender()
    yield "Interactions", Interactions
    yield "Interactions.save", ratings.save
    yield "save", model.save
    yield "load_model", likewise.load_model
    yield "read_titles", model.read_titles
    yield "checkpoint", lambda path: Als(iterations=1, factors=2).fit(ratings, checkpoint=path)
    yield "journal", lambda path: likewise.tune(ratings, budget=1, algorithms="item-knn", journal=path)
    yield "validation", lambda path: Als().fit(ratings, validation=path)
    yield "report", lambda path: likewise.model.Report("<p>").save(path)
    yield "compatible save", compatible.save
    yield "compatible load", type(compatible).load
    yield "nearest save", nearest.save
    yield "nearest load", type(nearest).load


def test_a_path_with_a_NUL_is_refused_everywhere(model, ratings, tmp_path):
    compatible = likewise.als.AlternatingLeastSquares()
    for name, call in paths(model, ratings, compatible):
        for path in (f"{tmp_path}/a\0x", pathlib.Path(f"{tmp_path}/a\0x"), f"{tmp_path}/a\0x".encode()):
            with pytest.raises(ValueError, match="NUL character"):
                call(path)
    assert not list(tmp_path.iterdir())


def test_paths_of_any_kind(model, ratings, tmp_path):
    for name in (b"bytes", b"\xff\xfe", "ünïcode", pathlib.Path("path")):
        path = tmp_path / (name if isinstance(name, (str, pathlib.Path)) else name.decode("utf-8", "surrogateescape"))
        given = bytes(path) if isinstance(name, bytes) else path
        model.save(given)
        assert np.array_equal(likewise.load_model(given).user_factors, model.user_factors)
        ratings.save(given)
        assert Interactions(given).nnz == ratings.nnz
    with pytest.raises(FileNotFoundError):
        likewise.load_model(tmp_path / b"\xff\xfd".decode("utf-8", "surrogateescape"))


def test_widths_end_at_the_catalogue(model, ratings):
    items = len(model.items)
    for found in (model.recommend(n=10**9), model.recommend_new([[5]], n=10**9), model.similar_items(n=10**9),
                  likewise.UserKnn().fit(ratings).similar_users_new([[5]], n=10**9)):
        assert found.indices.shape[1] <= max(items, len(model.users))
    assert model.evaluate(ratings, k=10**9, seen=Interactions(([10], [5])))["recall@1000000000"] <= 1


def with_memory(gibibytes, text):
    """What a program prints that may take so much more than it has after its imports."""
    program = """
import resource, numpy as np, scipy.sparse as sp, likewise
draw = np.random.default_rng(1)
data = likewise.Interactions((draw.integers(0, 60_000, 300_000), draw.integers(0, 20_000, 300_000)))
model = likewise.Als(factors=4, iterations=1, threads=1).fit(data).model_
matrix = data.to_csr()
als = likewise.als.AlternatingLeastSquares(factors=4, iterations=1, num_threads=1)
als.fit(sp.csr_matrix(matrix), show_progress=False)
knn = likewise.nearest_neighbours.CosineRecommender(K=3, num_threads=1)
knn.fit(sp.csr_matrix(matrix), show_progress=False)
def told(call):
    try:
        call()
        print("done")
    except Exception as error:
        print(type(error).__name__, error)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
""" + f"resource.setrlimit(resource.RLIMIT_AS, (used + {gibibytes} * 2**30,) * 2)\n"
    done = subprocess.run([sys.executable, "-c", program + textwrap.dedent(text)], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_lists_that_cannot_fit_are_refused_with_figures():
    told = with_memory(2, """
    users, items = map(np.arange, matrix.shape)
    rows = sp.csr_matrix(matrix)
    told(lambda: model.recommend(n=10**9))
    told(lambda: model.similar_users(n=10**9))
    told(lambda: als.recommend(users, rows, N=10**9))
    told(lambda: als.similar_users(users, N=10**9))
    told(lambda: als.similar_items(items, N=10**9))
    told(lambda: knn.recommend(users, rows, N=10**9))
    told(lambda: knn.similar_items(items, N=10**9))
    told(lambda: likewise.als.AlternatingLeastSquares(factors=10**9).fit(rows[:3], show_progress=False))
    told(lambda: likewise.bpr.BayesianPersonalizedRanking(factors=10**9).fit(rows[:3], show_progress=False))
    told(lambda: model.predict_new([[1, 2]] * 60_000, model.items))
    for call in (lambda: als.recommend(0, rows[0], N=10**9), lambda: als.similar_items(0, N=10**9),
                 lambda: knn.recommend(0, rows[0], N=10**9), lambda: knn.similar_items(0, N=10**9)):
        told(call)
    """)
    assert all(line.startswith("MemoryError") and "GiB are available" in line for line in told[:10]), told
    assert told[10:] == ["done"] * 4
