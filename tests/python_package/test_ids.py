# SPDX-License-Identifier: Apache-2.0
"""Ids come back in the type in which they were given, through all that a model goes through."""
import copy
import logging
import math
import os
import pickle
import subprocess

import likewise
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

WHOLE = [2, 9, 10, 11, 100, -3, 7, 12]
KINDS = {"whole": WHOLE, "text of whole": [str(one) for one in WHOLE],
         "text": ["a", "b", "10", "9", "ü", "x y", "007", "-"], "zeros": ["01", "02", "10", "11", "12", "13", "014", "7"]}
CONTAINERS = {
    "pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table, "dict": dict,
    "pandas objects": lambda data: pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in data.items()}),
    "pandas string": lambda data: pd.DataFrame(data).astype({name: "string" for name in ("user", "item") if isinstance(data[name][0], str)}),
    "pandas categories": lambda data: pd.DataFrame(data).astype({"user": "category", "item": "category"}),
    "polars categories": lambda data: pl.DataFrame(data).with_columns(
        pl.col(name).cast(pl.Categorical) for name in ("user", "item") if isinstance(data[name][0], str)),
    "arrow dictionaries": lambda data: pa.table({name: pa.array(column).dictionary_encode() if name != "value" else column
                                                 for name, column in data.items()}),
    "arrow large": lambda data: pa.table({name: pa.array(column, pa.large_string() if isinstance(column[0], str) else None)
                                          for name, column in data.items()}),
}


def rows(ids, start=0):
    """Everybody has three items, and nobody all."""
    count = len(ids)
    pairs = [(ids[u], ids[(u + step) % count]) for u in range(count) for step in (1, 2, 4)]
    return {"user": [user for user, _ in pairs], "item": [item for _, item in pairs],
            "value": [float(start + 1 + place % 5) for place in range(len(pairs))]}


def told(ids):
    return sorted((type(one).__name__, str(one)) for one in np.asarray(ids).tolist())


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kind", KINDS)
def test_ids_survive_everything(kind, container, tmp_path):
    ids = KINDS[kind]
    wanted = told(ids)
    data = likewise.Interactions(CONTAINERS[container](rows(ids)))
    model = likewise.Als(factors=2, iterations=2, threads=1).fit(data).model_
    model.save(tmp_path / "model")
    loaded = likewise.load_model(tmp_path / "model")
    again = CONTAINERS[container](rows(ids, start=1))
    for one in (data, pickle.loads(pickle.dumps(data)), copy.copy(data), data[:], likewise.concat([data, data]),
                *likewise.split(data, test=0.4), model, loaded, pickle.loads(pickle.dumps(model)), model.update(again),
                loaded.update(again).update(again)):
        assert told(one.users) == wanted and told(one.items) == wanted
    assert list(data.users) == list(loaded.users) == list(model.update(again).users)
    lists = loaded.recommend(n=3)
    assert told(lists.queries) == wanted and set(told(lists.to_pandas().item)) <= set(wanted)
    for user in ids:
        assert lists.of(user) == lists.of(np.array([user])[0]) == loaded.recommend([user], n=3)[0]
        assert loaded.predict([user], [ids[0]]) == model.predict(np.array([user]), np.array([ids[0]]))
    assert told([ids[0]]) == told([loaded.similar_items(ids[0], n=1).queries[0]])
    assert told([loaded.explain(ids[0], ids[1]).contributions[0][0]])[0] in wanted
    frame = loaded.recommend(n=2).to_pandas()
    merged = frame.merge(pd.DataFrame({"item": ids, "title": [f"title {one}" for one in ids]}), on="item")
    assert len(merged) == len(frame) and (merged.title == "title " + merged["item"].astype(str)).all()
    assert len(loaded.recommend(n=2).to_polars().join(pl.DataFrame({"item": ids, "title": ids}), on="item")) == len(frame)
    assert set(map(str, data.to_qrels())) == {str(one) for one in ids}


@pytest.mark.parametrize("trained, asked", [(WHOLE, KINDS["text of whole"]), (KINDS["text of whole"], WHOLE)])
def test_both_spellings_find_one_id(trained, asked):
    data = likewise.Interactions(rows(trained))
    model = likewise.Als(factors=2, iterations=2).fit(data).model_
    wanted = told(trained)
    assert model.users.find(asked).tolist() == model.users.find(trained).tolist() == model.users.find(np.array(asked)).tolist()
    assert all(one in model.users and data.users.index(one) == data.users.index(other) for one, other in zip(asked, trained))
    lists = model.recommend(asked, n=2)
    assert told(lists.queries) == wanted and lists.of(asked[3]) == lists.of(trained[3]) == lists[3]
    assert model.recommend_new([asked[:3]]).indices.tolist() == model.recommend_new([trained[:3]]).indices.tolist()
    assert model.recommend_new([{asked[0]: 2.0}], n=2)[0] == model.recommend_new([{trained[0]: 2.0}], n=2)[0]
    assert model.recommend(trained[0], items=asked).ids.tolist() == model.recommend(trained[0], items=trained).ids.tolist()
    assert np.array_equal(model.predict(asked, asked), model.predict(trained, trained))
    assert model.evaluate(rows(asked), seen=data[:0]) == model.evaluate(rows(trained), seen=data[:0])
    model.set_titles({one: f"title {one}" for one in asked})
    assert set(model.recommend(n=1).to_pandas().title) <= {f"title {one}" for one in asked}
    grown = model.update(rows(asked))
    assert told(grown.users) == wanted and len(grown.users) == len(trained)
    assert told(likewise.concat([data, likewise.Interactions(rows(asked))]).users) == wanted
    for one in (True, 10.0, None, b"10"):
        with pytest.raises((TypeError, KeyError)):
            model.recommend([one])
    with pytest.raises(KeyError):
        lists.of("010")
    assert "010" not in model.users and "+10" not in model.users and " 10" not in model.users


def test_the_order_is_that_of_the_numbers_as_in_files(tmp_path):
    """So a frame of text gives the lists that the file does, ties and all."""
    made = rows(KINDS["text of whole"])
    pd.DataFrame(made).to_csv(tmp_path / "rows.csv", index=False)
    file, frame = likewise.Interactions(tmp_path / "rows.csv"), likewise.Interactions(made)
    assert [str(one) for one in file.users] == list(frame.users) == sorted(frame.users, key=int)
    assert file.users.is_integer and not frame.users.is_integer
    models = [likewise.ItemKnn().fit(one).model_ for one in (file, frame)]
    assert np.array_equal(models[0].recommend(n=5).indices, models[1].recommend(n=5).indices)
    frame.save(tmp_path / "saved.csv")
    assert np.array_equal(likewise.Interactions(tmp_path / "saved.csv").to_csr().toarray(), frame.to_csr().toarray())


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.csv.gz", "rows.tsv.zst"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_reads_back(kind, name, tmp_path):
    data = likewise.Interactions(rows(KINDS[kind]) | {"time": np.arange(24) * 1000 + 5})
    data.save(tmp_path / name)
    back = likewise.Interactions(tmp_path / name)
    assert list(map(str, back.users)) == list(map(str, data.users)) and list(map(str, back.items)) == list(map(str, data.items))
    assert np.array_equal(back.to_csr().toarray(), data.to_csr().toarray()) and np.array_equal(back.times, data.times)


def test_an_update_keeps_the_kind_as_far_as_can_be(caplog, tmp_path):
    whole = likewise.Als(factors=2, iterations=2).fit(rows(WHOLE)).model_
    text = likewise.Als(factors=2, iterations=2).fit(rows(KINDS["text of whole"])).model_
    assert whole.update((["50"], ["51"])).users.is_integer and not text.update(([50], [51])).users.is_integer
    assert text.update(([50, 5], [51, 51])).users.index("50") == text.update((["5", "50"], ["51"] * 2)).users.index(50)
    assert list(text.update(([50, 5], [51, 51])).users) == sorted([*map(str, WHOLE), "50", "5"], key=int)
    assert not caplog.records
    grown = whole.update((["bob"], [2]))
    assert not grown.users.is_integer and grown.items.is_integer
    assert "ids of users were whole numbers and are text from now on" in caplog.text and "items" not in caplog.text
    text.save(tmp_path / "text")
    (tmp_path / "more.csv").write_text("user,item\n60,2\n")
    subprocess.run([os.environ["LIKEWISE_CLI"], "update", "text", "more.csv", "-o", "more"], cwd=tmp_path, check=True,
                   capture_output=True)
    assert told(likewise.load_model(tmp_path / "more").users) == told([*KINDS["text of whole"], "60"])


def test_parts_of_other_kinds_are_not_put_together():
    with pytest.raises(TypeError, match="some parts have users that are whole numbers, others text"):
        likewise.concat([rows(WHOLE), rows(KINDS["text"])])
    with pytest.raises(TypeError, match="others text"):
        likewise.concat([rows(KINDS["zeros"]), rows(WHOLE)])


def test_training_goes_on_with_either_spelling():
    first = likewise.Als(factors=2, iterations=1, regularization=0.1, unobserved_weight=0.1).fit(rows(WHOLE))
    on = likewise.Als(factors=2, iterations=3, regularization=0.1, unobserved_weight=0.1)
    grown = on.fit(rows(KINDS["text of whole"]), resume=first).model_
    whole = on.fit(rows(WHOLE)).model_
    assert np.array_equal(grown.item_factors, whole.item_factors)


def test_what_is_odd_about_values_is_told(caplog):
    alike = {"user": [1, 1, 2], "item": [1, 2, 1], "rating": [3.0, 3.0, 3.0]}
    plan = likewise.Bias().plan(alike)
    assert plan.notes == ["all ratings are 3: there is nothing to tell apart, and rmse will be 0"] and "note: all" in str(plan)
    assert likewise.Popular().plan(alike).notes == []
    zeros = likewise.Popular().plan(alike | {"rating": [0, -1, 1]}).notes
    assert zeros == ["1 of 3 values are 0, which is no like", "1 of 3 values are below 0, which is a dislike"]
    caplog.set_level(logging.WARNING, "likewise")
    likewise.Bias().fit(alike)
    likewise.Popular().fit(alike)
    assert [record.getMessage() for record in caplog.records] == plan.notes
    with pytest.raises(ValueError, match='all 3 values are 0.*is it feedback="explicit"'):
        likewise.Popular().plan(alike | {"rating": [0, 0, 0]})


def test_factors_of_which_next_to_nothing_is_left_are_told(caplog):
    caplog.set_level(logging.WARNING, "likewise")
    likewise.Als(factors=2, regularization=0.01).fit(rows(WHOLE))
    assert caplog.records == []
    likewise.Als(factors=2, regularization=1e6).fit(rows(WHOLE))
    assert [record.getMessage().partition("next to nothing; ")[2] for record in caplog.records] == [
        "with less than regularization=1e+06, or with more iterations, they may add more"]


def test_features_of_frames_keep_ids_and_columns():
    data = rows(WHOLE)
    frame = pd.DataFrame({"kind": ["a", "b"] * 4, "item": WHOLE})
    for features in (frame, frame[["item", "kind"]], pl.from_pandas(frame).lazy(), pa.Table.from_pandas(frame)):
        model = likewise.Als(factors=2, iterations=1).fit(data, item_features=features).model_
        assert list(model.new_items) == []
    spaced = pd.DataFrame({"user": ["u", "v"], "item": ["i ", " j"]})
    model = likewise.Als(factors=2, iterations=1).fit(
        spaced, item_features=pd.DataFrame({"item": ["i ", " j", "k"], "text": ["One.\nTwo, more", "a;b", "a;b"]})).model_
    assert list(model.new_items) == ["k"]
    with pytest.raises(ValueError, match="item_features: the frame has columns of one name: 'item', 'kind', 'kind'"):
        likewise.Als(factors=2).fit(data, item_features=pd.concat([frame[["item", "kind"]], frame[["kind"]]], axis=1))
    with pytest.raises(TypeError, match="item_features: 2 has a dict, and a dict of tags by id has lists of tags; give columns as a frame"):
        likewise.Als(factors=2).fit(data, item_features={2: {"kind": "a"}})


def test_values_that_fade_are_of_implicit_feedback(tmp_path):
    frame = pd.DataFrame({"user": [1, 1, 2, 3], "item": [1, 2, 1, 3], "rating": [5.0, 3.0, 4.0, 2.0], "time": [0, 86400, 172800, 259200]})
    frame.to_csv(tmp_path / "r.csv", index=False)
    for given in (frame, tmp_path / "r.csv"):
        faded = likewise.Interactions(given, half_life="1d")
        likewise.Als(factors=2, iterations=1, alpha=1).fit(faded)
        with pytest.raises(ValueError, match="half_life would do nothing here: als takes all values above 0 alike; als with alpha"):
            likewise.Als(factors=2, iterations=1).fit(faded)
        model = likewise.Bias().fit(given).model_
        for ask in (lambda: likewise.Bias().fit(faded), lambda: likewise.Als(feedback="explicit", factors=2).fit(faded),
                    lambda: likewise.Sgd(factors=2).fit(likewise.split(faded, test=0.5)[0]), lambda: model.update(faded),
                    lambda: likewise.Bias().fit(faded[:3]), lambda: likewise.Bias().fit(pickle.loads(pickle.dumps(faded))),
                    lambda: likewise.Bias().cross_validate(faded, folds=2), lambda: likewise.Bias().plan(faded),
                    lambda: likewise.tune(faded, feedback="explicit", budget=9)):
            with pytest.raises(ValueError, match="half_life is for implicit feedback: an old rating is not a lower one"):
                ask()
        with pytest.raises(ValueError, match="half_life has made those of the test set lower: read it without"):
            model.evaluate(faded, metrics=["rmse"])


def test_files_of_parquet_are_as_the_command_line_reads_them(tmp_path):
    frame = pd.DataFrame({"user": [1, 2, 3, 4], "item": [5, 6, 7, 8]})
    frame[frame.item != 6].to_parquet(tmp_path / "part.parquet")  # with its index, as a column
    assert pa.parquet.read_schema(tmp_path / "part.parquet").names[-1] == "__index_level_0__"
    data = likewise.Interactions(tmp_path / "part.parquet")
    assert (list(data.users), data.has_values) == ([1, 3, 4], False)
    assert list(likewise.Interactions(tmp_path / "part.parquet", user="__index_level_0__", item="item").users) == [0, 2, 3]
    whole = (tmp_path / "part.parquet").read_bytes()
    (tmp_path / "part.parquet").write_bytes(whole[:-40])
    with pytest.raises(ValueError, match="part.parquet: pyarrow cannot read it, it is damaged or of a new kind: "):
        likewise.Interactions(tmp_path / "part.parquet")
    parts = tmp_path / "parts"
    parts.mkdir()
    for place, values in enumerate(([1.0, 2.0], [3.0, math.inf])):
        pd.DataFrame({"user": [1, 2], "item": [3, 4], "rating": values}).to_parquet(parts / f"{place}.parquet")
    with pytest.raises(ValueError, match="^[^:]*parts/1.parquet: row 2: the value inf is not a finite"):
        likewise.Interactions(parts)
    pd.DataFrame({"user": ["1"], "item": [3], "rating": ["2,5"]}).to_parquet(tmp_path / "comma.parquet")
    with pytest.raises(ValueError, match="comma.parquet: row 1: the value '2,5' is not a number; with a decimal comma"):
        likewise.Interactions(tmp_path / "comma.parquet")


def test_parts_of_parquet_may_have_types_of_different_width(tmp_path):
    def write(place, user, item, rating):
        pa.parquet.write_table(pa.table({"user": user, "item": item, "rating": rating}), tmp_path / f"{place}.parquet")

    write(0, pa.array([1, 2], pa.int32()), pa.array(["a", "b"]), pa.array([1.0, 2.0], pa.float32()))
    write(1, pa.array([3, None], pa.int64()), pa.array(["a", "c"], pa.large_string()), pa.array([3.0, 0.5]))
    write(2, pa.array([2**40], pa.uint64()), pa.array(["a"]).dictionary_encode(), pa.array([4.0], pa.float32()))
    data = likewise.Interactions(tmp_path, on_bad_row="skip")
    assert (list(data.users), list(data.items)) == ([1, 2, 3, 2**40], ["a", "b"])
    assert data.columns()["value"].tolist() == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="1.parquet: row 2: the user is missing"):
        likewise.Interactions(tmp_path)
    write(2, pa.array([2**63], pa.uint64()), pa.array(["a"]), pa.array([4.0]))
    with pytest.raises(ValueError, match="2.parquet: its numbers do not fit the columns of the other files"):
        likewise.Interactions(tmp_path)
    write(2, pa.array([7]), pa.array(["a"]), pa.array([4]))
    with pytest.raises(ValueError, match="0.parquet has the columns .*, but .*2.parquet has .*need the same columns"):
        likewise.Interactions(tmp_path)


def test_folders_of_parquet_and_streams(tmp_path):
    parts = tmp_path / "rows"
    parts.mkdir()
    (parts / "_SUCCESS").write_text("")
    (parts / ".part-0.parquet.crc").write_bytes(b"\0")
    for place, ids in enumerate((["1", "2"], ["3", "4"])):
        pd.DataFrame({"user": ids, "item": [1, 2], "rating": [1.0, 2.0]}).to_parquet(parts / f"part-{place}.parquet")
    for given in (parts, [parts / "part-0.parquet", parts / "part-1.parquet"], str(parts)):
        assert list(likewise.Interactions(given).users) == [1, 2, 3, 4]
    table = pa.table({"user": [1, 2], "item": ["10", "11"]})
    with pa.OSFile(str(tmp_path / "stream.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    assert list(likewise.Interactions(tmp_path / "stream.arrow").items) == [10, 11]
    pd.DataFrame({"user": [1], "item": [1]}).to_parquet(parts / "part-2.parquet")
    with pytest.raises(ValueError, match="part-2.parquet has user.*need the same columns"):
        likewise.Interactions(parts)
    (parts / "part-2.parquet").write_text("user,item\n1,2\n")
    with pytest.raises(ValueError, match="part-2.parquet is neither Parquet nor Arrow"):
        likewise.Interactions(parts)
    with pytest.raises(ValueError, match="are of text"):
        likewise.Interactions(parts / "part-0.parquet", header="yes")
    (parts / "part-2.parquet").unlink()
    (parts / "day=1").mkdir()
    with pytest.raises(ValueError, match="day=1"):
        likewise.Interactions(parts)
