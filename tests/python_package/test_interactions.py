# SPDX-License-Identifier: Apache-2.0
"""One matrix from every kind of data; what is wrong with data is said with its place."""
import copy
import datetime
import decimal
import fractions
import gzip
import pickle
import re

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


def test_text_that_spells_integers_is_in_their_order_as_in_files(triples):
    users, items, values = triples
    made, whole = Interactions((users.astype(str), items, values)), Interactions(triples)
    assert list(made.users) == [str(one) for one in whole.users] and list(made.items) == list(whole.items)
    assert np.array_equal(made.to_csr().toarray(), whole.to_csr().toarray())


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
    wide = coo.tocsr()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    same(Interactions(wide), expected)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr"])
@pytest.mark.parametrize("duplicates, value", [("auto", 5), ("sum", 5), ("max", 4), ("mean", 2.5), ("first", 4), ("last", 1), ("count", 2)])
def test_cells_that_stand_twice_in_a_matrix(layout, duplicates, value):
    at = {"coo": ([1, 0, 1], [2, 1, 2]), "csr": ([1, 2, 2], [0, 1, 3]), "csc": ([0, 1, 1], [0, 0, 1, 3]), "bsr": ([1, 2, 2], [0, 1, 3])}[layout]
    values = np.array([4.0, 9.0, 1.0] if layout == "coo" else [9.0, 4.0, 1.0])
    made = {"coo": sp.coo_array, "csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}[layout](
        (values.reshape(3, 1, 1) if layout == "bsr" else values, *([at] if layout == "coo" else at)), shape=(2, 3))
    assert Interactions(made, duplicates=duplicates)[1] == (1, 2, value)
    with pytest.raises(ValueError, match="several rows hold user '1' and item '2'"):
        Interactions(made, duplicates="error")


def test_sums_of_a_matrix_of_bytes_do_not_wrap():
    once = np.zeros(200, dtype=int)
    assert Interactions(sp.coo_matrix((np.ones(200, dtype=np.int8), (once, once))))[0] == (0, 0, 200.0)


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
    (lambda u, i, v: ([1, 2], [3, 4], ["x", "y"]), {}, ValueError, ["'x', 'y'", 'values={"x": 1, "y": 2}']),
    (lambda u, i, v: ([], []), {}, (ValueError, TypeError), []),
    (lambda u, i, v: pd.DataFrame({"a": u, "b": i}), {}, ValueError, ["users", "user=NAME", "'a', 'b'"]),
    (lambda u, i, v: pd.DataFrame({"user": u, "item": i, "points": v}), {}, ValueError, ["'points'", "value="]),
    (lambda u, i, v: pd.DataFrame({"user": u, "item": i}), {"value": "stars"}, ValueError, ["'stars'"]),
    (lambda u, i, v: pl.DataFrame({"user": [1, None], "item": [1, 2]}), {}, ValueError, ["position 1", "missing"]),
    (lambda u, i, v: pd.DataFrame({"user": pd.array(["a", None], dtype="str"), "item": [1, 2]}), {},
     ValueError, ["position 1", "user"]),
    (lambda u, i, v: pd.DataFrame({"user": ["a", 1], "item": [1, 2]}, dtype=object), {}, TypeError,
     ["row 1", "int", "text"]),
    (lambda u, i, v: pd.DataFrame({"user": [1, 2], "item": [1, 2], "value": ["a", "b"]}), {}, ValueError,
     ["holds words", "'a', 'b'"]),
    (lambda u, i, v: pl.DataFrame({"user": [[1]], "item": [1]}), {}, TypeError, ["users"]),
    (lambda u, i, v: 5, {}, TypeError, ["int", "pandas"]),
    (lambda u, i, v: "no-such-file.csv", {}, FileNotFoundError, ["no-such-file.csv"]),
    (lambda u, i, v: (u, i, v), {"user": "u"}, ValueError, ["tuple"]),
    (lambda u, i, v: (u, i, v), {"time_unit": "s"}, ValueError, ["time_unit", "no times"]),
    (lambda u, i, v: (u, i, v), {"duplicates": "median"}, ValueError, ["median", "sum"]),
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


def test_the_matrix_is_a_copy_to_write_into(ratings):
    matrix = ratings.to_csr()
    kept = matrix.copy()
    assert all(part.flags.writeable for part in (matrix.data, matrix.indices, matrix.indptr))
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32 and matrix.data.dtype == np.float32
    matrix.data[matrix.data < 4] = 0
    matrix.eliminate_zeros()
    assert matrix.nnz < kept.nnz and (ratings.to_csr() != kept).nnz == 0


def test_the_matrix_is_shared_and_read_only_on_request(ratings):
    matrix, again = (ratings.to_csr(copy=False) for _ in range(2))
    assert np.shares_memory(matrix.data, again.data) and np.shares_memory(matrix.indices, again.indices)
    assert not matrix.data.flags.writeable and not matrix.indices.flags.writeable and (matrix != ratings.to_csr()).nnz == 0
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
    with pytest.raises(ValueError, match="leave out user, item, value and time"):
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


# Times, masks and kinds of numbers.

def stamp(text, unit):
    return np.datetime64(text, unit)


#: Beyond what datetime64[ns] holds, in 1677 to 2262.
FAR = ["1200-01-01", "1970-01-01", "2024-02-29", "9999-12-31"]


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "25s", "10ms"])
def test_times_of_any_unit_are_kept_or_refused(unit):
    times = np.array(FAR, dtype="datetime64[D]").astype(f"datetime64[{unit}]")
    data = Interactions((np.arange(4), np.arange(4), np.ones(4), times))
    assert np.array_equal(data.times, times.astype("datetime64[us]"))
    _, test = likewise.split(Interactions((np.zeros(4, int), np.arange(4), np.ones(4), times[::-1])), "last")
    assert np.asarray(test.items)[test.to_csr().indices].tolist() == [0]  # of the year 9999
    for wrong in (np.datetime64(2**62, unit), np.datetime64(-2**62, unit), np.datetime64("NaT", unit)):
        times[2] = wrong
        with pytest.raises(ValueError, match="position 2: the time .*missing or out of range"):
            Interactions((np.arange(4), np.arange(4), np.ones(4), times))
        assert Interactions((np.arange(4), np.arange(4), np.ones(4), times), on_bad_row="skip").nnz == 3


@pytest.mark.parametrize("unit", ["ns", "ps", "fs", "as"])
def test_times_of_fine_units(unit):
    times = np.array([-1, 0, 2**62], dtype=f"datetime64[{unit}]")
    assert np.array_equal(Interactions((range(3), range(3), np.ones(3), times)).times,
                          times.astype("datetime64[ns]"))


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_times_of_a_column_of_floats(make):
    """pandas makes them of whole numbers with gaps."""
    def rows(*times):
        return make({"user": np.arange(3), "item": np.arange(3), "value": np.ones(3), "time": np.array(times)})

    whole = rows(1577880000.0, 1577880002.0, 1577880001.0)
    assert Interactions(whole).times.tolist() == Interactions(rows(1577880000, 1577880002, 1577880001)).times.tolist()
    for missing in (np.nan, np.inf, 2.0**63):
        gap = rows(1577880000.0, missing, 1577880001.0)
        with pytest.raises(ValueError, match="position 1: the time is missing or out of range"):
            Interactions(gap)
        assert Interactions(gap, on_bad_row="skip").nnz == 2
    parts = rows(1577880000.0, 1577880002.1, 1577880001.25)
    assert Interactions(parts).times.tolist() == [1577880000_000000000, 1577880002_100000000, 1577880001_250000000]
    seconds = Interactions(rows(0.5, 2.0, -1.25), time_unit="ms").times.astype(int).tolist()
    assert seconds == [500_000, 2_000_000, -1_250_000]
    with pytest.raises(ValueError, match="position 1: the time is missing or out of range"):
        Interactions(rows(1577880000.0, np.nan, 1577880001.25))
    with pytest.raises(ValueError, match="position 2: the time is missing or out of range"):
        Interactions(rows(0.0, 1.0, 1e12 + 0.5), time_unit="s")
    with pytest.raises(TypeError, match="of 64 bits where they have fractions, not float"):
        Interactions(rows(*np.array([0.0, 1.0, 0.5], dtype=np.float32)))


def test_columns_whose_names_are_numbers():
    frame = pd.DataFrame([[1, 5, 2.0], [2, 6, 3.0]])
    assert Interactions(frame, user=0, item=1, value=2) == Interactions(([1, 2], [5, 6], [2.0, 3.0]))
    with pytest.raises(ValueError, match="no column 3 for item"):
        Interactions(frame, user=0, item=3)


def test_text_that_is_not_utf8_becomes_no_frame(tmp_path):
    (tmp_path / "latin.csv").write_bytes("user,item\nnäme,1\nnäme,2\n".encode("latin-1"))
    data = Interactions(tmp_path / "latin.csv")
    for become in (data.to_pandas, data.to_polars, data.to_arrow):
        with pytest.raises(ValueError, match="is not UTF-8.*convert the data"):
            become()
    assert data.columns()["user"].tolist() == ["n\udce4me"] * 2


def test_times_beyond_64_bits_with_a_sign_are_refused():
    times = np.array([1, 2, 2**63 + 5], dtype=np.uint64)
    for make in (tuple, lambda parts: pl.DataFrame(dict(zip(("user", "item", "value", "time"), parts))),
                 lambda parts: pd.DataFrame(dict(zip(("user", "item", "value", "time"), parts))).astype(
                     {"time": "uint64[pyarrow]"})):
        with pytest.raises(ValueError, match="position 2: the time is missing or out of range"):
            Interactions(make((np.arange(3), np.arange(3), np.ones(3), times)))


def columns_of_times():
    """The times of FAR in whatever holds them."""
    days = np.array(FAR, dtype="datetime64[D]")
    dates = days.astype(object)
    utc = datetime.timezone.utc
    moments = [datetime.datetime.combine(day, datetime.time(0, 0)) for day in dates]
    yield "dates", dates.tolist()
    yield "datetimes", moments
    yield "datetimes with a zone", [moment.replace(tzinfo=utc) for moment in moments]
    yield "pandas s", pd.Series(days.astype("datetime64[s]"))
    yield "pandas zone", pd.Series(days.astype("datetime64[us]")).dt.tz_localize("UTC")
    yield "pandas objects", pd.Series(moments, dtype=object)
    yield "pandas Arrow", pd.Series(moments, dtype="timestamp[us][pyarrow]")
    yield "pandas Arrow dates", pd.Series(dates, dtype="date32[pyarrow]")
    yield "polars", pl.Series(moments)
    yield "polars dates", pl.Series(dates.tolist())
    for kind in (pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.date32(), pa.date64()):
        yield f"Arrow {kind}", pa.array(days.astype("datetime64[ms]")).cast(kind)


def test_times_beyond_nanoseconds_of_any_column(tmp_path):
    for name, times in columns_of_times():
        columns = {"user": np.arange(4), "item": np.arange(4), "value": np.ones(4), "time": times}
        frame = pd.DataFrame(columns) if name.startswith("pandas") else \
            pl.DataFrame(columns) if name.startswith("polars") else \
            pa.table(columns) if name.startswith("Arrow") else columns
        assert Interactions(frame).times.astype("datetime64[D]").astype(str).tolist() == FAR, name
        assert Interactions(columns).times.astype("datetime64[D]").astype(str).tolist() == FAR, name
    (tmp_path / "far.csv").write_text("user,item,value,time\n" + "".join(
        f"{n},{n},1,{day}\n" for n, day in enumerate(FAR)))
    assert Interactions(tmp_path / "far.csv").times.astype("datetime64[D]").astype(str).tolist() == FAR


@pytest.mark.parametrize("other", [datetime.datetime(2024, 1, 2), datetime.date(2024, 1, 2), np.datetime64("2024-01-02")])
def test_times_with_a_zone_and_without_are_not_mixed(other):
    here = datetime.timezone(datetime.timedelta(hours=2))
    with_zone = datetime.datetime(2024, 1, 1, tzinfo=here)
    with pytest.raises(ValueError, match=r"times: row 0 has a time zone, 2024-01-01 00:00:00\+02:00, and row 2 has none, 2024"):
        Interactions(([1, 2, 3], [1, 2, 3], None, [with_zone, with_zone, other]))
    two_zones = Interactions(([1, 2], [1, 2], None, [with_zone, with_zone.replace(tzinfo=datetime.timezone.utc)]))
    assert two_zones.times.astype("datetime64[h]").astype(str).tolist() == ["2023-12-31T22", "2024-01-01T00"]


def test_what_is_masked_is_missing():
    mask = [False, True, False]
    ints, texts = np.ma.array([7, 8, 9], mask=mask), np.ma.array(["a", "b", "c"], mask=mask)
    for user, item, words in ((ints, [1, 2, 3], "user is missing"), ([1, 2, 3], texts, "item is missing")):
        with pytest.raises(ValueError, match=f"position 1: the {words}"):
            Interactions((user, item))
        with pytest.raises(ValueError, match=f"position 1: the {words}"):
            Interactions({"user": user, "item": item})
        assert Interactions((user, item), on_bad_row="skip").nnz == 2
    plain = np.ma.array([7, 8, 9])
    same(Interactions((plain, plain, plain)), Interactions(([7, 8, 9], [7, 8, 9], [7, 8, 9])))
    for values in (ints, ints.astype(np.float32), ints.astype(np.int8)):
        with pytest.raises(ValueError, match="position 1: the value nan"):
            Interactions(([1, 2, 3], [1, 2, 3], values))
    for times in (ints, ints.astype("datetime64[s]")):
        with pytest.raises(ValueError, match="position 1: the time is missing"):
            Interactions(([1, 2, 3], [1, 2, 3], [1, 1, 1], times))


def test_what_is_missing_is_missing_in_every_frame():
    number, text = [7, None, 9], ["a", None, "c"]
    for user in (pd.array(number, dtype="Int64"), pd.array(number, dtype="int64[pyarrow]"), number, text,
                 pd.array(text, dtype="string"), pl.Series(text), np.array([7, pd.NA, 9], dtype=object)):
        frames = [{"user": user, "item": [1, 2, 3]}, pd.DataFrame({"user": user, "item": [1, 2, 3]})]
        if isinstance(user, (list, pl.Series)):
            frames = [pl.DataFrame({"user": user, "item": [1, 2, 3]})]
        for frame in frames:
            with pytest.raises(ValueError, match="position 1: the user (is missing|id is empty)"):
                Interactions(frame)
            assert Interactions(frame, on_bad_row="skip").nnz == 2
    for values in (pd.array([1.5, None, 2], dtype="Float64"), pd.array([1.5, None, 2], dtype="double[pyarrow]"),
                   pd.array([True, None, False], dtype="boolean"), [decimal.Decimal("1.5"), None, 2]):
        with pytest.raises(ValueError, match="position 1: the value nan"):
            Interactions(pd.DataFrame({"user": [1, 2, 3], "item": [1, 2, 3], "value": values}))


def columns_of_numbers():
    """1, 0, 1 in whatever holds them."""
    numbers = [1, 0, 1]
    for kind in (bool, np.float16, np.float64, np.longdouble, np.int8, np.uint64, object):
        yield f"{np.dtype(kind)}", np.array(numbers, dtype=kind)
    yield "decimals", [decimal.Decimal(one) for one in numbers]
    yield "fractions", [fractions.Fraction(one) for one in numbers]
    yield "bools", [bool(one) for one in numbers]
    for kind in ("Int8", "UInt64", "Float32", "boolean", "double[pyarrow]", "int64[pyarrow]", "bool[pyarrow]"):
        yield f"pandas {kind}", pd.array(numbers, dtype=kind)
    yield "pandas decimals", pd.array([decimal.Decimal(one) for one in numbers], dtype=pd.ArrowDtype(pa.decimal128(9, 2)))
    for kind in (pl.Boolean, pl.Float32, pl.Int16, pl.Decimal(9, 2)):
        yield f"polars {kind}", pl.Series(numbers).cast(kind)
    for kind in (pa.float16(), pa.bool_(), pa.decimal128(30, 9), pa.uint64()):
        yield f"Arrow {kind}", pa.array(np.array(numbers, dtype=np.float16)) if kind == pa.float16() else \
            pa.array(numbers).cast(kind)


def test_numbers_of_any_kind_are_values_of_one_name():
    expected = Interactions(([1, 2, 3], [1, 2, 3], [1.0, 0.0, 1.0]))
    for name, values in columns_of_numbers():
        columns = {"user": [1, 2, 3], "item": [1, 2, 3], "value": values}
        kinds = [dict] + ([pd.DataFrame] if not name.startswith(("polars", "Arrow")) else []) + \
            ([pl.DataFrame] if name.startswith("polars") else []) + ([pa.table] if name.startswith("Arrow") else [])
        for kind in kinds:
            same(Interactions(kind(columns)), expected)
            columns_named = {"user": [1, 2, 3], "item": [1, 2, 3], "points": values}
            with pytest.raises(ValueError, match="'points'.*value="):
                Interactions(kind(columns_named))
            same(Interactions(kind(columns_named), value="points"), expected)


def test_decimals_and_halves_are_rounded_once():
    draw = np.random.default_rng(3)
    texts = [f"{a}.{b:010d}" for a, b in zip(draw.integers(-10**6, 10**6, 300), draw.integers(0, 10**10, 300))]
    table = pa.table({"user": range(300), "item": range(300),
                      "value": pa.array([decimal.Decimal(text) for text in texts], pa.decimal128(38, 10))})
    assert np.array_equal(Interactions(table).to_csr().diagonal(), np.array(texts, dtype=float).astype(np.float32))
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    table = pa.table({"user": np.arange(len(halves)), "item": np.zeros(len(halves), int), "value": pa.array(halves)})
    assert np.array_equal(Interactions(table).to_csr().toarray()[:, 0], halves.astype(np.float32))


@pytest.mark.parametrize("values, words", [
    (pl.Series([[1], [2], [3]]), "lists"),
    (pd.Categorical([1, 2, 1]), "categories"), (pa.array([1, 2, 1]).dictionary_encode(), "categories"),
    (np.array([1, 2, 3], dtype="m8[s]"), "timedelta|durations"), (np.array([1j, 2, 3]), "complex"),
    ([1, "a", 3], "'a'|text"), (pl.Series([datetime.time(1), None, None]), "times of day|time"),
])
def test_what_is_no_number_is_said_in_words(values, words):
    columns = {"user": [1, 2, 3], "item": [1, 2, 3], "value": values}
    kind = pl.DataFrame if isinstance(values, pl.Series) else pa.table if isinstance(values, pa.Array) else \
        pd.DataFrame
    with pytest.raises(TypeError, match="values are numbers.*" + f"({words})"):
        Interactions(kind(columns))


def test_ids_of_any_bytes_are_found_again(tmp_path):
    (tmp_path / "bytes.csv").write_bytes(b"user,item\n\xff\xfe,a\nb,a\n")
    data = Interactions(tmp_path / "bytes.csv")
    model = likewise.Popular().fit(data).model_
    assert all(one in model.users for one in np.asarray(data.users))
    assert len(model.recommend(np.asarray(data.users))) == 2
    same(Interactions((np.asarray(data.users), ["a", "a"])), data)
    with pytest.raises(ValueError, match="surrogates"):
        Interactions((["\ud800"], ["a"]))


def test_what_is_no_column_is_named():
    for users, kind in (({1, 2}, "set"), ((one for one in (1, 2)), "generator"), (3, "int")):
        with pytest.raises(TypeError, match=f"user: a list or an array is needed, .* of type {kind}"):
            Interactions({"user": users, "item": [1, 2]})


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 2 has it")
def test_text_of_any_length_of_numpy():
    names = np.array(["b", "a" * 40], dtype=np.dtypes.StringDType())
    assert np.asarray(Interactions({"user": names, "item": [1, 2]}).users).tolist() == ["a" * 40, "b"]


def test_well_known_names_are_those_of_files(triples, tmp_path):
    users, items, values = triples
    for names in (["userId", "movieId", "rating"], ["user_id", "Book-Id", "stars"], ["visitorid", "itemid", "plays"],
                  ["uid", "title", "weight"]):
        frame = pd.DataFrame(dict(zip(names, triples)))
        frame.to_csv(tmp_path / "ratings.csv", index=False)
        expected = Interactions(tmp_path / "ratings.csv")
        polars = pl.DataFrame(frame)
        for data in (frame, polars, polars.lazy(), pa.table(polars), frame.to_dict("list"), frame[names[::-1]]):
            same(Interactions(data), expected)
            assert Interactions(data).has_values
        frame.to_csv(tmp_path / "numbered.csv")
        same(Interactions(pd.read_csv(tmp_path / "numbered.csv")[["Unnamed: 0", *names[:2]]]),
             Interactions(frame[names[:2]]))
    frame = pd.DataFrame({"userId": users, "who": users + 1, "movieId": items})
    assert Interactions(frame, user="who", value=None).users[0] == users.min() + 1
    with pytest.raises(ValueError, match="hold items: say item=NAME, one of 'thing'"):
        Interactions({"userId": users, "thing": items})


def test_what_is_not_in_memory_says_how_to_load_it():
    class Task:
        def compute(self): ...
    with pytest.raises(TypeError, match=r"Task is not in this process's memory: give its .compute\(\)"):
        Interactions(Task())


@pytest.fixture(params=["integers", "text"])
def timed(request, triples):
    users, items, values = triples
    names = (users, items) if request.param == "integers" else ([f"u{one}" for one in users], [f"i{one}" for one in items])
    return Interactions((*names, values, np.arange(5000) + 1_600_000_000))


def entries(data):
    return list(zip(*(column.tolist() for column in data.columns().values())))


def test_interactions_are_pickled_and_copied(timed, ratings):
    train, test = likewise.split(timed, "last")
    for data in (timed, train, test, ratings, Interactions(([1, 1], [2, 3]))):
        back = pickle.loads(pickle.dumps(data))
        same(back, data)
        assert entries(back) == entries(data) and back.has_values == data.has_values
        assert (back.summary["policy"], back.summary["columns"]) == (data.summary["policy"], data.summary["columns"])
        assert len(back.users) == len(data.users) and copy.deepcopy(data) is copy.copy(data) is data
    fine = Interactions(([1], [2], [3.0], [datetime.datetime(2500, 1, 1)]))
    assert pickle.loads(pickle.dumps(fine)).times[0] == fine.times[0]


def test_interactions_become_frames(timed):
    for frame in (timed.to_pandas(), timed.to_polars(), timed.to_arrow(), pl.DataFrame(timed)):
        same(Interactions(frame), timed)
        assert np.array_equal(Interactions(frame).times, timed.times) and len(frame) == len(timed) == 5000
    assert list(Interactions(([1, 1], [2, 3])).to_pandas().columns) == ["user", "item"]


def test_rows_of_interactions(timed):
    rows = entries(timed)
    user, item, value, time = timed[7]
    assert (user, item, value) == rows[7][:3] and time == timed.times[7] and timed[-1][:3] == rows[-1][:3]
    few = timed[10:20]
    assert entries(few) == rows[10:20] and few.shape == timed.shape and few.has_values
    assert entries(timed[[3, 1, 3]]) == [rows[1], rows[3]] and len(timed[[]]) == 0
    mask = timed.columns()["value"] >= 4
    assert entries(timed[mask]) == [row for row in rows if row[2] >= 4]
    assert list(few) == [timed[place] for place in range(10, 20)]
    with pytest.raises(IndexError, match="5000 rows"):
        timed[5000]
    with pytest.raises(IndexError):
        timed[mask[:7]]
    with pytest.raises(TypeError, match="rows are whole numbers"):
        timed["value"]


def test_parts_are_put_together(timed, ratings):
    train, test = likewise.split(timed, "random")
    assert entries(likewise.concat([train, test])) == entries(timed)
    later = Interactions(timed[0][:2] and ([timed[0][0]], [timed[0][1]], [9.0], [1_700_000_000]))
    assert likewise.concat([timed, later])[0][2] == 9
    likes = Interactions(([1, 1], [2, 3]))
    assert likewise.concat([likes, likes]).to_csr().data.tolist() == [2, 2]
    with pytest.raises(ValueError, match=r"parts\[1\] has no times"):
        likewise.concat([timed, timed.to_pandas().drop(columns="time")])
    with pytest.raises(TypeError, match="whole numbers, others text"):
        likewise.concat([ratings, Interactions((["a"], ["b"], [1.0]))])


@pytest.mark.parametrize("ids", [[3, 1, 2], ["b", "a", "10"], ["10", "9"]])
def test_ids_are_compared_copied_and_pickled(ids):
    data, others = Interactions((ids, list(range(len(ids))))), Interactions((ids[:1], [0]))
    assert data.users == data.users == likewise.Popular().fit(data).model_.users
    assert data.users != others.users and data.users != data.items and data.users != ids
    for same_ids in (copy.copy(data.users), copy.deepcopy(data.users), pickle.loads(pickle.dumps(data.users))):
        assert same_ids == data.users and same_ids.find(ids).tolist() == data.users.find(ids).tolist()
    with pytest.raises(TypeError, match="unhashable"):
        hash(data.users)


def test_ids_are_a_sequence(timed):
    users = np.asarray(timed.users).tolist()
    assert list(timed.users) == users and timed.users[0] == users[0] and timed.users[-1] == users[-1]
    assert timed.users[2:5].tolist() == users[2:5] and timed.users.index(users[4]) == 4
    with pytest.raises(IndexError, match=f"there are {len(users)} users"):
        timed.users[len(users)]
    with pytest.raises(ValueError, match="is no user"):
        timed.users.index(type(users[0])(123456))


WORDS = {"user": [1, 1, 2], "item": ["a", "b", "a"], "event": ["view", "buy", "view"]}


@pytest.mark.parametrize("frame", [
    WORDS, pd.DataFrame(WORDS), pd.DataFrame(WORDS).astype({"event": "category"}), pl.DataFrame(WORDS), pa.table(WORDS),
    pl.DataFrame(WORDS).with_columns(pl.col("event").cast(pl.Categorical)),
    pd.DataFrame(WORDS).astype({"event": "string[pyarrow]"}), {**WORDS, "event": np.array(WORDS["event"])}])
def test_words_are_values_where_they_are_explained(frame):
    assert Interactions(frame, values={"view": 1, "buy": 5}).to_csr().toarray().tolist() == [[1, 5], [1, 0]]
    with pytest.raises(ValueError, match='holds words without a number, \'view\', \'buy\'.*values={"view": 1, "buy": 2}'):
        Interactions(frame)
    with pytest.raises(ValueError, match="'buy'"):
        Interactions(frame, values={"view": 1})


def test_bools_and_numbers_as_text_are_values():
    data = {"user": [1, 1, 2], "item": [1, 2, 1], "rating": [True, False, True]}
    for rating in ([True, False, True], ["true", "False", "TRUE"], ["1", "0", "1.0"]):
        assert Interactions(pd.DataFrame(data | {"rating": rating})).to_csr().toarray().tolist() == [[1, 0], [1, 0]]
    assert Interactions(data | {"rating": ["1,5", "0", "2"]}, decimal=",").to_csr()[0, 0] == 1.5
    numbers = data | {"rating": [1.0, 0.0, 1.0]}
    for given in (data, numbers, pd.DataFrame(numbers), sp.csr_array(np.eye(2))):
        for option in ({"values": {"view": 1}}, {"decimal": ","}):
            with pytest.raises(ValueError, match=f"^{next(iter(option))} would do nothing: (a matrix|the column of values) holds no (words|text)$"):
                Interactions(given, **option)


def test_a_word_that_was_skipped_is_shown():
    events = {"user": [1, 1, 2], "item": [1, 2, 1], "event": ["view", "buy", "view"]}
    read = Interactions(events, values={"view": 1}, on_bad_row="skip")
    assert len(read) == 2 and read.summary["first_bad_row"].startswith("row 1: the value 'buy' is not a number")


@pytest.mark.parametrize("index, given", [(["user", "item"], {}), (["user"], {}), ("who", {"user": "who", "item": "item"})])
def test_ids_in_the_index_of_a_frame_are_pointed_at(index, given):
    frame = pd.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "rating": [1.0, 2.0, 3.0]})
    moved = frame.rename(columns={"user": "who"} if index == "who" else {}).set_index(index)
    with pytest.raises(ValueError, match=r"in its index, and columns are needed: give frame.reset_index\(\)"):
        Interactions(moved, **given)
    assert Interactions(moved.reset_index(), **given) == Interactions(frame) == Interactions(frame.rename_axis("row"))


def test_rows_are_those_of_iteration():
    counted = Interactions(([1, 1, 1, 2], [1, 1, 2, 1]))
    assert list(counted) == [counted[row] for row in range(3)] == [(1, 1, 2.0), (1, 2, 1.0), (2, 1, 1.0)]
    likes = Interactions(([1, 2], [1, 1]))
    assert list(likes) == [likes[0], likes[1]] == [(1, 1), (2, 1)]


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("kind", [int, float, str])
def test_dates_without_separators_are_no_seconds(frame, kind):
    data = {"user": [1, 2], "item": [1, 2], "value": [1.0, 2.0], "time": [kind(20200131), kind(20210131)]}
    with pytest.raises(ValueError, match='dates without separators .20200131.: read them with time_format="%Y%m%d", or with time_'):
        Interactions(frame(data))
    read = Interactions(frame(data), time_format="%Y%m%d")
    assert read.times.astype("datetime64[D]").astype(str).tolist() == ["2020-01-31", "2021-01-31"]
    seconds = {"time_format": "%s"} if kind is str else {"time_unit": "s"}
    assert Interactions(frame(data), **seconds).times.astype("datetime64[s]").astype(int).tolist() == [20200131, 20210131]
    with pytest.raises(ValueError, match="time_format=.%H:%M. has no year"):
        Interactions(frame(data), time_format="%H:%M")
    data["time"][1] = kind(86400)
    Interactions(frame(data))


def test_times_as_text_and_what_they_decide():
    data = {"user": [1, 1, 2, 2], "item": [1, 1, 1, 2], "value": [4.0, 8.0, 4.0, 2.0],
            "time": ["2026-01-21", "2026-01-01", "2026-01-11T00:00:00Z", "2026-01-21"]}
    for frame in (data, pd.DataFrame(data), pl.DataFrame(data), pa.table(data)):
        read = Interactions(frame)
        assert read.times.astype("datetime64[D]").astype(str).tolist() == ["2026-01-21", "2026-01-11", "2026-01-21"]
        assert read.to_csr()[0, 0] == 4 and read.summary["policy"] == "newest"
    for age in ("10d", datetime.timedelta(days=10)):
        assert Interactions(data, half_life=age, duplicates="sum").to_csr().toarray().tolist() == [[6, 0], [2, 2]]
    for since in ("2026-01-12", datetime.date(2026, 1, 12), np.datetime64("2026-01-12"), pd.Timestamp("2026-01-12", tz="UTC")):
        assert len(Interactions(data, since=since)) == 2 and len(Interactions(data, until=since)) == 2
    dates = data | {"time": ["01/21/2026", "01/01/2026", "01/11/2026", "01/21/2026"]}
    assert np.array_equal(Interactions(dates, time_format="%m/%d/%Y").times, Interactions(data).times)
    with pytest.raises(ValueError, match="row 0: the time '01/21/2026' is none that is known; say how it is written, as time_format="):
        Interactions(dates)
    with pytest.raises(ValueError, match='since must be a datetime or a time such as "2026-01-31", not "2026"'):
        Interactions(data, since="2026")
    train, test = likewise.split(data, "time", at="2026-01-15")
    assert (len(train), len(test)) == (1, 2)
    with pytest.raises(TypeError, match='float64: make them whole numbers with astype'):
        Interactions({"user": [1.0, 2.0], "item": [1, 2]})


def test_text_finds_whole_numbers():
    data = Interactions({"user": ["10", "11"], "item": [1, 2]})
    assert data.users.find(["11", "x", "010"]).tolist() == [1, -1, -1]
    assert data.users.find([10]).tolist() == [0] and "10" in data.users and data.users.index("11") == 1


def test_several_files_and_files_of_columns(tmp_path):
    for part in (1, 2):
        pd.DataFrame({"user": [part, 9], "item": [1, 2], "rating": [part, part]}).to_csv(tmp_path / f"{part}.csv", index=False)
    both = Interactions([tmp_path / "1.csv", str(tmp_path / "2.csv")])
    assert both.to_csr().toarray().tolist() == [[1, 0], [2, 0], [0, 2]]
    assert np.array_equal(Interactions(tmp_path).to_csr().toarray(), both.to_csr().toarray())
    frame = pd.read_csv(tmp_path / "1.csv")
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_feather(tmp_path / "rows.feather")
    for name in ("rows.parquet", "rows.feather"):
        assert np.array_equal(Interactions(tmp_path / name).to_csr().toarray(), Interactions(frame).to_csr().toarray())
    with pytest.raises(ValueError, match="one by one"):
        Interactions([tmp_path / "rows.parquet", tmp_path / "1.csv"])
    text = frame.astype({"user": str})
    text.to_csv(tmp_path / "text.csv", index=False)
    for kind in (str, "category"):
        text.astype({"user": kind}).to_parquet(tmp_path / "text.parquet")
        assert Interactions(tmp_path / "text.parquet") == Interactions(tmp_path / "text.csv")
    assert list(Interactions(tmp_path / "text.parquet").users) == [1, 9] and list(Interactions(text).users) == ["1", "9"]
    text.assign(user=["1", "a"]).to_parquet(tmp_path / "text.parquet")
    assert list(Interactions(tmp_path / "text.parquet").users) == ["1", "a"]


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame, lambda data: pd.DataFrame(data).astype("category"),
                                   lambda data: pa.table(data)], ids=["dict", "pandas", "polars", "categories", "arrow"])
def test_a_text_that_is_no_number_is_shown(frame):
    ids = {"user": ["a", "b", "c"], "item": ["x", "y", "z"]}
    with pytest.raises(ValueError, match="row 1: the value '2,5' is not a number; with a decimal comma read it with decimal=\",\""):
        Interactions(frame(ids | {"value": ["4", "2,5", "3"]}))
    with pytest.raises(ValueError, match="row 2: the value '3 stars' is not a number; give numbers, or skip bad rows"):
        Interactions(frame(ids | {"value": ["4", "2", "3 stars"]}))


def test_a_text_that_is_no_utf8_is_shown_too():
    with pytest.raises(ValueError, match="row 1: the time '1\\\\udcff' is none that is known"):
        Interactions({"user": ["a", "b"], "item": ["x", "y"], "time": ["2026-01-21", "1\udcff"]})


def test_columns_that_are_not_there_are_told():
    with pytest.raises(ValueError, match="the frame has no columns: a user and an item are needed in each row"):
        Interactions(pd.DataFrame())
    with pytest.raises(ValueError, match="no column that is known to hold items, and no other$"):
        Interactions(pd.DataFrame({"user": [1, 2]}))
    with pytest.raises(ValueError, match="hold items: say item=NAME, one of 'rating', 'timestamp'$"):
        Interactions(pd.DataFrame({"userId": [1, 2], "rating": [1, 2], "timestamp": [5, 6]}))
    with pytest.raises(ValueError, match="column 'who' is named for users and for items"):
        Interactions(pd.DataFrame({"who": [1, 2], "what": [1, 2]}), user="who", item="who")
    with pytest.raises(TypeError, match="a frame is needed, not one column of int64; or a tuple"):
        Interactions(pd.Series([1, 2]))


def test_whole_numbers_with_gaps_are_ids_and_bad_rows():
    gaps = pd.DataFrame({"user": [10, None, 3, 10], "item": [1, 2, 3, 4]})
    assert gaps.user.dtype == "float64"
    for data in (gaps, gaps.astype({"user": "float32"}), gaps.astype({"user": "Int64"}), dict(gaps),
                 {"user": np.ma.MaskedArray([10.0, 0.5, 3.0, 10.0], [False, True, False, False]), "item": gaps.item}):
        with pytest.raises(ValueError, match="position 1: the user is missing.*on_bad_row=\"skip\""):
            Interactions(data)
        read = Interactions(data, on_bad_row="skip")
        assert np.asarray(read.users).tolist() == [3, 10] and np.asarray(read.users).dtype == np.int64
        assert len(read) == 3 and read.summary["bad_rows"] == 1
    for wrong, words in ((2.5, "2.5, and ids are whole numbers"), (np.inf, "inf, and ids"),
                         (2.0**53, "lost digits there")):
        with pytest.raises(TypeError, match=f"users: a column of float64 with missing ids has .*{words}"):
            Interactions({"user": [1.0, np.nan, wrong], "item": [1, 2, 3]}, on_bad_row="skip")
    with pytest.raises(TypeError, match="not float64: make them whole numbers"):
        Interactions({"user": [1.0, 2.0], "item": [1, 2]})
    with pytest.raises(ValueError, match="bad"):
        Interactions({"user": [np.nan, np.nan], "item": [1, 2]}, on_bad_row="skip")
    with pytest.raises(TypeError, match=r'users: ids are whole numbers or text, not float64: make the column one of them, as cast\("int64"\)'):
        Interactions(pl.DataFrame({"user": [1.0, None, 2.0], "item": [1, 2, 3]}))


def test_whole_numbers_with_fractions_are_no_ids_in_files(tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating\n1.0,10,4\n2.0,10,3\n")
    with pytest.raises(ValueError, match=r"r.csv: all ids of column 1 \(user\) are whole numbers with a fraction, such as '1.0'.*Int64"):
        Interactions(tmp_path / "r.csv")
    (tmp_path / "r.csv").write_text("user,item,rating\n1.0,10,4\n2.5,10,3\n")
    assert list(Interactions(tmp_path / "r.csv").users) == ["1.0", "2.5"]


def test_a_matrix_has_no_times():
    for given in ({"half_life": "90d"}, {"since": "2026-01-01"}, {"time_format": "%Y"}):
        with pytest.raises(ValueError, match=f"{next(iter(given))} needs times, and a matrix has none"):
            Interactions(sp.csr_matrix(np.eye(3)), **given)


TWICE_KNOWN = [
    ({"userId": 1, "movieId": 2, "item": 3, "rating": 4}, "item", ["movieId", "item"]),
    ({"userId": 1, "movieId": 2, "item_id": 3}, "item", ["movieId", "item_id"]),
    ({"user_id": 1, "userId": 2, "item": 3}, "user", ["user_id", "userId"]),
    ({"user": 1, "item": 2, "rating": 3, "score": 4}, "value", ["rating", "score"]),
    ({"user": 1, "item": 2, "date": 1_000_000_000, "time": 1_000_000_001}, "time", ["date", "time"]),
]


@pytest.mark.parametrize("row, role, columns", TWICE_KNOWN)
def test_two_columns_of_one_role_are_refused_until_one_is_named(row, role, columns, tmp_path):
    frame = pd.DataFrame({name: [cell, cell + 1] for name, cell in row.items()})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    polars = pl.DataFrame(frame)
    for data in (frame, polars, pa.table(polars), frame.to_dict("list"), frame[frame.columns[::-1]], tmp_path / "rows.csv"):
        with pytest.raises(ValueError, match=role) as refused:
            Interactions(data)
        for name in columns:
            assert name in str(refused.value) and re.search(f"{role}=['\"]{name}['\"]", str(refused.value))
    for name in columns:
        read = Interactions(frame, **{role: name})  # and the other is not taken for values
        assert len(read) == 2
    if role in ("user", "item"):
        assert np.asarray(getattr(read, f"{role}s")).tolist() == frame[name].tolist()
    left_out = {"value": {"value": None}, "time": {"time": None}}.get(role)
    if left_out:
        assert len(Interactions(frame, **left_out)) == 2


def test_what_stands_beside_an_id_is_not_ambiguous():
    amazon = {"reviewerID": ["a"], "asin": ["b"], "title": ["t"], "overall": [4.0], "unixReviewTime": [1252800000],
              "reviewTime": ["09 13, 2009"]}
    assert Interactions(amazon).items[0] == "b" and Interactions(amazon).times[0] == np.datetime64("2009-09-13")
    tags = {"userId": [1], "movieId": [2], "tag": ["funny"], "timestamp": [1252800000]}
    assert Interactions(tags).items[0] == 2


def test_a_folder_says_that_all_its_files_are_read(tmp_path):
    (tmp_path / "README.txt").write_text("Summary\n=======\n\nThese are ratings, of people.\n")
    (tmp_path / "ratings.csv").write_text("user,item\n1,2\n")
    with pytest.raises(ValueError, match="README.txt.*; of the folder '.*' all files are read, but those whose names begin with _ or ."):
        Interactions(tmp_path)
    with pytest.raises(ValueError) as refused:
        Interactions(tmp_path / "README.txt")
    assert "of the folder" not in str(refused.value)


@pytest.mark.parametrize("start, words", [
    (b"BZh91", "unpack it first, or give the frame that pandas.read_csv"), (b"\xfd7zXZ\0", "pandas.read_csv"),
    (b"PK\x03\x04", "pandas.read_csv"), (b"\x04\x22\x4d\x18", "unpack it first$"), (b"7z\xbc\xaf", "unpack it first$")])
def test_packed_files_are_told_in_words_of_python(start, words, tmp_path):
    (tmp_path / "r.csv").write_bytes(start + b"\1" * 40)
    with pytest.raises(ValueError, match=words) as refused:
        Interactions(tmp_path / "r.csv")
    assert "`" not in str(refused.value)


def test_interactions_are_equal_by_what_they_hold():
    rows = {"user": [1, 2, 2], "item": [1, 1, 3], "value": [1.0, 2.0, 3.0], "time": [5, 6, 7]}
    data = Interactions(rows)
    assert data == Interactions(pd.DataFrame(rows)) and not data != Interactions(rows)
    assert data != 3 and data != Interactions({"user": [1], "item": [1]})
    for change in ({"user": [1, 2, 9]}, {"item": [1, 1, 4]}, {"value": [1.0, 2.0, 4.0]}, {"time": [5, 6, 8]},
                   {"user": ["1", "2", "2"]}):
        assert data != Interactions(rows | change), change
    assert data != Interactions(rows, time=None) and data != Interactions(rows, value=None)
    with pytest.raises(TypeError, match="unhashable"):
        hash(data)


def test_times_without_a_fraction_are_shown_to_the_second():
    shown = Interactions({"user": [1, 2], "item": [1, 2], "time": [1260759144, 1260759145]})._repr_html_()
    assert "<td>2009-12-14T02:52:24</td>" in shown
    halves = np.array(["2009-12-14T02:52:24.5", "2009-12-14T02:52:25"], dtype="M8[ms]")
    assert "2009-12-14T02:52:24.500" in Interactions({"user": [1, 2], "item": [1, 2], "time": halves})._repr_html_()


def test_rows_are_not_chosen_by_a_column_of_a_frame():
    data = Interactions({"user": [1, 2], "item": [1, 2]})
    with pytest.raises(TypeError, match="a Series is in the order of its frame"):
        data[pd.Series([True, False])]
    assert len(data[np.array([True, False])]) == 1


def test_interactions_and_lists_of_text_are_taken_again():
    data = Interactions({"user": ["a", "a", "b"], "item": ["x", "y", "y"], "value": [1.0, 2.0, 3.0]})
    assert Interactions(data).to_csr().toarray().tolist() == data.to_csr().toarray().tolist()
    lists = likewise.Popular().fit(data).recommend(n=2, include_seen=True)
    assert Interactions(lists, value="score").to_csr().shape == (2, 2)
