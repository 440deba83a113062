# SPDX-License-Identifier: Apache-2.0
"""One matrix from every kind of data; what is wrong with data is said with its place."""
import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import likewise
from likewise import Interactions


def same(one, other):
    a, b = one.to_csr(), other.to_csr()
    assert np.array_equal(np.asarray(one.users), np.asarray(other.users))
    assert np.array_equal(np.asarray(one.items), np.asarray(other.items))
    for part in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(a, part), getattr(b, part)), part


def texts(triples):
    users, items, values = triples
    return (np.array([f"user {u}" for u in users]), np.array([f"ïtem-{i}" for i in items]), values)


def frames(triples):
    users, items, values = triples
    columns = {"user": users, "item": items, "value": values}
    half = len(users) // 2
    chunks = {name: pa.chunked_array([column[:half], column[half:]])
              for name, column in columns.items()}
    yield "dict", columns
    yield "tuple", triples
    yield "pandas", pd.DataFrame(columns)
    yield "polars", pl.DataFrame(columns)
    yield "arrow", pa.table(columns)
    yield "arrow chunks", pa.table(chunks)
    yield "arrow slice", pa.table({k: pa.concat_arrays([pa.array(v[:5]), pa.array(v)])
                                   for k, v in columns.items()}).slice(5)


def text_frames(triples):
    users, items, values = columns = texts(triples)
    frame = pd.DataFrame({"user": users, "item": items, "value": values})
    yield "pandas category", frame.astype({"user": "category", "item": "category"})
    yield "pandas string", frame.astype({"user": "string"})
    yield "pandas string of Arrow", frame.astype({"user": "string[pyarrow]", "item": "str"})
    yield "pandas text of Arrow", frame.astype({"user": pd.ArrowDtype(pa.large_string())})
    yield "pandas text of objects", frame.astype({"user": object, "item": object})
    yield "polars categorical", pl.from_pandas(frame).with_columns(pl.col("user").cast(pl.Categorical))
    yield "dictionary", pa.table({"user": pa.array(users).dictionary_encode(), "item": items,
                                  "value": values})
    yield "large text", pa.table({"user": pa.array(users).cast(pa.large_string()), "item": items,
                                  "value": values})
    yield "text views", pa.table({"user": pa.array(users).cast(pa.string_view()), "item": items,
                                  "value": values})
    yield "objects", tuple([columns[0].astype(object), columns[1].astype(object), columns[2]])
    yield from frames(columns)


def test_integers_of_any_frame_give_one_matrix(triples, tmp_path):
    lines = "".join(f"{u},{i},{v}\n" for u, i, v in zip(*triples))
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(("user,item,value\n" + lines).encode()))
    file = Interactions(tmp_path / "rows.csv.gz")
    assert file.shape == (len(set(triples[0])), len(set(triples[1]))) and file.nnz == 5000
    for name, frame in frames(triples):
        same(Interactions(frame), file)
    for dtype in (np.int8, np.int16, np.int32, np.uint16, np.uint64):
        small = (triples[0] % 100).astype(dtype)
        wide = small.astype(np.int64)
        rest = {"item": triples[1], "value": triples[2]}
        for kind in (pd.DataFrame, pl.DataFrame, pa.table, dict):
            same(Interactions(kind({"user": small, **rest})), Interactions({"user": wide, **rest}))


def test_text_of_any_frame_gives_one_matrix(triples, tmp_path):
    lines = "".join(f"{u},{i},{v}\n" for u, i, v in zip(*texts(triples)))
    (tmp_path / "rows.csv").write_text("user,item,value\n" + lines)
    file = Interactions(str(tmp_path / "rows.csv"))
    for name, frame in text_frames(triples):
        same(Interactions(frame), file)


def test_text_that_spells_integers_is_integers_as_in_files(triples):
    users, items, values = triples
    made = Interactions((users.astype(str), items, values))
    same(made, Interactions(triples))


def test_values_of_every_kind(triples):
    users, items, values = triples
    expected = Interactions(triples)
    for dtype in (np.float64, np.int64, np.int8, np.uint8, np.float16):
        same(Interactions((users, items, values.astype(dtype))), expected)
        if dtype != np.float16:
            same(Interactions(pl.DataFrame({"user": users, "item": items,
                                            "value": values.astype(dtype)})), expected)
    without = Interactions((users, items))
    assert (without.to_csr().data == 1).all() and not without.has_values and expected.has_values
    same(Interactions(pd.DataFrame({"user": users, "item": items, "stars": values}), value=None), without)


def test_sparse_matrices_of_every_layout(triples):
    users, items, values = triples
    coo = sp.coo_matrix((values, (users, items)), shape=(1000, 300))
    expected = Interactions(coo.tocsr())
    assert expected.shape == (1000, 300)
    for kind in (sp.coo_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array, sp.lil_matrix, sp.dok_matrix):
        same(Interactions(kind(coo)), expected)
    twice = sp.coo_matrix(([1.0, 2.0], ([0, 0], [1, 1])))
    assert Interactions(twice).to_csr()[0, 1] == 3
    wide = coo.tocsr()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    same(Interactions(wide), expected)


def test_times(triples):
    users, items, values = triples
    seconds = np.arange(5000, dtype=np.int64) * 60 + 1_600_000_000
    stamps = (seconds * 10**9).view("datetime64[ns]")
    expected = Interactions((users, items, values, seconds), time_unit="s").times
    assert expected.dtype == "datetime64[ns]" and expected.min() == stamps.min()
    frame = {"user": users, "item": items, "value": values, "time": stamps}
    for data in ((users, items, values, seconds), (users, items, values, seconds * 1000), frame,
                 pd.DataFrame(frame), pl.DataFrame(frame), pa.table(frame)):
        assert np.array_equal(Interactions(data).times, expected)
    assert Interactions(frame, time=None).times is None
    train, test = likewise.split(Interactions(frame), "last", last=1)
    assert test.nnz == len({u for u in users if (users == u).sum() > 1})


@pytest.mark.parametrize("kind, options, error, words", [
    (lambda u, i, v: (u, i[:5]), {}, ValueError, ["(5,)", "(5000,)"]),
    (lambda u, i, v: (u.astype(float), i), {}, TypeError, ["users", "float64"]),
    (lambda u, i, v: (u, i, v, u, u), {}, ValueError, ["tuple of 5"]),
    (lambda u, i, v: ([1, None], [1, 2]), {}, ValueError, ["position 1", "user is missing"]),
    (lambda u, i, v: (["a", None], [1, 2]), {}, ValueError, ["position 1", "user is missing"]),
    (lambda u, i, v: (["a", 3], [1, 2]), {}, TypeError, ["row 1", "3", "int"]),
    (lambda u, i, v: (np.array(["a", 3], dtype=object), [1, 2]), {}, TypeError, ["row 1", "3", "int"]),
    (lambda u, i, v: ([2**63], [1]), {}, ValueError, ["users", str(2**63)]),
    (lambda u, i, v: ([1, 2], [3, 4], [1.0, float("nan")]), {}, ValueError, ["position 1", "nan"]),
    (lambda u, i, v: ([1, 2], [3, 4], ["x", "y"]), {}, TypeError, ["values"]),
    (lambda u, i, v: ([], []), {}, (ValueError, TypeError), []),
    (lambda u, i, v: pd.DataFrame({"a": u, "b": i}), {}, ValueError, ["'user'", "'a', 'b'"]),
    (lambda u, i, v: pd.DataFrame({"user": u, "item": i, "stars": v}), {}, ValueError, ["'stars'", "value="]),
    (lambda u, i, v: pd.DataFrame({"user": u, "item": i}), {"value": "stars"}, ValueError, ["'stars'"]),
    (lambda u, i, v: pl.DataFrame({"user": [1, None], "item": [1, 2]}), {}, ValueError, ["row 1", "null"]),
    (lambda u, i, v: pd.DataFrame({"user": pd.array(["a", None], dtype="str"), "item": [1, 2]}), {},
     ValueError, ["position 1", "user"]),
    (lambda u, i, v: pd.DataFrame({"user": ["a", 1], "item": [1, 2]}, dtype=object), {}, TypeError,
     ["row 1", "int", "text"]),
    (lambda u, i, v: pd.DataFrame({"user": [1, 2], "item": [1, 2], "value": ["a", "b"]}), {}, TypeError,
     ["values are numbers", "text"]),
    (lambda u, i, v: pl.DataFrame({"user": [[1]], "item": [1]}), {}, TypeError, ["users"]),
    (lambda u, i, v: 5, {}, TypeError, ["int", "pandas"]),
    (lambda u, i, v: "no-such-file.csv", {}, FileNotFoundError, ["no-such-file.csv"]),
    (lambda u, i, v: (u, i, v), {"user": "u"}, ValueError, ["tuple"]),
    (lambda u, i, v: (u, i, v), {"time_unit": "s"}, ValueError, ["time_unit", "no times"]),
    (lambda u, i, v: (u, i, v), {"duplicates": "mean"}, ValueError, ["mean", "sum"]),
    (lambda u, i, v: (u, i, v), {"delimiter": ";"}, ValueError, ["delimiter"]),
    (lambda u, i, v: (u, i, v), {"min_user_count": 100_000}, ValueError, []),
    (lambda u, i, v: sp.csr_matrix((v, (u, i))), {"user": "u"}, ValueError, ["matrix"]),
    (lambda u, i, v: sp.csr_matrix(([np.inf], ([0], [0]))), {}, ValueError, ["inf"]),
    (lambda u, i, v: sp.csr_matrix(([1j], ([0], [0]))), {}, TypeError, ["complex"]),
])
def test_what_is_wrong_is_said(triples, kind, options, error, words):
    with pytest.raises(error) as refused:
        Interactions(kind(*triples), **options)
    for word in words:
        assert word in str(refused.value)


def test_bad_rows_are_skipped_on_request():
    made = Interactions((["a", "", "b"], ["x", "y", "z"], [1.0, 2.0, float("inf")]), on_bad_row="skip")
    assert made.nnz == 1 and made.summary["bad_rows"] == 2


def test_a_broken_matrix_is_refused(triples):
    users, items, values = triples
    matrix = sp.csr_matrix((values, (users, items)))
    matrix.indices[7] = matrix.shape[1] + 5
    with pytest.raises(ValueError, match=str(matrix.shape[1] + 5)):
        Interactions(matrix)
    matrix = sp.csr_matrix((values, (users, items)))
    matrix.indptr[3] = -1
    with pytest.raises(ValueError):
        Interactions(matrix)


def test_the_matrix_is_shared_and_read_only(ratings):
    matrix = ratings.to_csr()
    assert not matrix.data.flags.writeable and not matrix.data.flags.owndata
    with pytest.raises(ValueError):
        matrix.data[0] = 3


def test_a_file_reads_back(ratings, tmp_path):
    for name in ("a.csv", "b.tsv.gz", "c.csv.zst"):
        ratings.save(tmp_path / name)
        same(Interactions(tmp_path / name), ratings)


@pytest.mark.parametrize("name", ["i.parquet", "i.json", "i.xlsx", "i.csv.bz2"])
def test_a_file_of_an_unknown_format_is_refused(ratings, tmp_path, name):
    with pytest.raises(ValueError, match=r"end the name in \.csv, \.tsv, \.mtx"):
        ratings.save(tmp_path / name)
    assert not any(tmp_path.iterdir())


def test_ids_with_line_breaks_come_back_or_are_refused(tmp_path):
    users, items = ["a\nb", "\n", 'c"\r\n,'], ["x", "\ty\n", "\r"]
    data = Interactions((users, items, [1.0, 2.0, 3.0]))
    data.save(tmp_path / "a.csv")
    same(Interactions(tmp_path / "a.csv"), data)
    with pytest.raises(ValueError, match="line break"):
        data.save(tmp_path / "a.tsv")
    with pytest.raises(ValueError, match="zero byte"):
        Interactions((["a\0b"], ["x"])).save(tmp_path / "zero.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_folds_share_ids_and_add_up(ratings):
    folds = likewise.split(ratings, "kfold", folds=3)
    assert sum(test.nnz for _, test in folds) == ratings.nnz
    for train, test in folds:
        assert train.shape == test.shape == ratings.shape and train.nnz + test.nnz == ratings.nnz
    with pytest.raises(ValueError, match="times"):
        likewise.split(ratings, "time")
    with pytest.raises(ValueError, match="test"):
        likewise.split(ratings, test=2.0)


def test_lists_of_items_and_lines_of_counts(tmp_path):
    (tmp_path / "lists.txt").write_text("7 1 2 3\n8\n9 2\n")
    data = Interactions(tmp_path / "lists.txt", format="adjacency")
    assert data.nnz == 4 and np.asarray(data.users).tolist() == [7, 9] and not data.has_values
    assert data.summary["format"].startswith("adjacency")
    with pytest.raises(ValueError, match="columns"):
        Interactions(tmp_path / "lists.txt", format="adjacency", user=1, item=2, value=None, time=None)
    with pytest.raises(ValueError, match="format"):
        Interactions(([1], [2]), format="adjacency")
    with pytest.raises(ValueError, match="lists"):
        Interactions(tmp_path / "lists.txt", format="lists")
    (tmp_path / "counted.txt").write_text("30 20 600\n" + "".join(
        f"{i % 30} {i // 30} {i % 5 + 1}\n" for i in range(600)))
    counted = Interactions(tmp_path / "counted.txt")
    assert counted.nnz == 600 and counted.shape == (30, 20)


def test_random_rows_of_each_user():
    users, items = np.repeat(np.arange(20), 10), np.tile(np.arange(10), 20)
    data = Interactions((users, items))
    for given, count in (({"rows": 3}, 3), ({"test": 0.4}, 4)):
        train, test = likewise.split(data, "per-user", **given)
        assert (test.to_csr().sum(axis=1) == count).all()
        assert (train.to_csr() + test.to_csr()).sum() == data.nnz
    for wrong in ({"method": "per-user", "rows": 0}, {"method": "random", "rows": 2},
                  {"method": "per-user", "rows": 10}):
        with pytest.raises(ValueError, match="rows"):
            likewise.split(data, **wrong)
