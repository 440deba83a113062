# SPDX-License-Identifier: Apache-2.0
"""Matrices, arrays and frames as the columns that the extension reads."""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise import _core
from likewise.sparse import checked


#: Names of columns that are taken where none is given.
USUAL = {"user": ("user",), "item": ("item",), "value": ("value", "rating"),
         "time": ("time", "timestamp")}


#: Text of pandas whose dtype has no `storage`.
ARROW_TEXT = ("string[pyarrow]", "large_string[pyarrow]", "string_view[pyarrow]")


@dataclasses.dataclass
class Source:
    """Which columns of the data hold what."""

    user: str | int | None
    item: str | int | None
    value: str | int | None
    time: str | int | None
    time_unit: str | None

    def named(self) -> bool:
        return (self.user, self.item, self.value, self.time) != (None, None, "auto", "auto")

    def read_file(self, path: str, options: dict[str, Any], threads: int,
                  listener: Any) -> _core.Interactions:
        if self.time_unit is not None:
            raise ValueError("time_unit is not for files: the size of a number tells its unit")
        if self.named():
            if self.user is None or self.item is None:
                raise ValueError("a file's columns are named together: user=, item= and, where it "
                                 "has them, value= and time=")
            columns = [str(self.user), str(self.item)]
            value = None if self.value == "auto" else self.value
            time = None if self.time == "auto" else self.time
            columns += ["" if value is None else str(value), "" if time is None else str(time)]
            options = options | {"columns": columns}
        options = options | {"keep_times": self.time is not None}
        return _core.Interactions.from_file(path, options, threads, listener)

    def pick(self, which: str, known: list[str], of: str) -> str | None:
        """The column that holds users, items, values or times."""
        given = getattr(self, which)
        if given is None and which in ("value", "time"):
            return None
        if given is not None and given != "auto":
            if given not in known:
                raise ValueError(f"{of} has no column {given!r} for {which}; it has {names(known)}")
            return given  # type: ignore[no-any-return]
        for name in USUAL[which]:
            if name in known:
                return name
        if which in ("value", "time"):
            return None
        raise ValueError(f"{of} has no column {which!r}: say {which}=NAME, one of {names(known)}")

    def picked(self, known: list[str], numeric: set[str], of: str) -> dict[str, str | None]:
        chosen = {which: self.pick(which, known, of) for which in USUAL}
        others = [name for name in known if name in numeric and name not in chosen.values()]
        if chosen["value"] is None and self.value == "auto" and others:
            raise ValueError(f"{of} has numbers in {names(others)}, and no column \"value\": say "
                             "value=NAME, or value=None to take each row as 1")
        return chosen


def names(columns: list[str]) -> str:
    return ", ".join(map(repr, columns[:20])) + (", ..." if len(columns) > 20 else "")


def source_of(data: Any, source: Source, options: dict[str, Any], threads: int,
              listener: Any) -> _core.Interactions:
    """Interactions of what is in memory."""
    if _is_sparse(data):
        return _from_sparse(data, source, options, threads, listener)
    if isinstance(data, tuple):
        columns = _of_tuple(data, source)
    elif isinstance(data, Mapping):
        arrays = {str(name): _array(column, str(name)) for name, column in data.items()}
        columns = _of_arrays(arrays, source, "the dict")
    elif _is_pandas(data):
        columns = _of_pandas(data, source)
    elif hasattr(data, "__arrow_c_stream__"):
        columns = _of_arrow(data, source)
    else:
        raise TypeError(f"interactions cannot be made of {type(data).__name__}: give a path, a SciPy "
                        "sparse matrix, a pandas, polars or Arrow frame, a dict of arrays or a tuple "
                        "(users, items, values, times)")
    users, items, values, times, unit = columns
    return _core.Interactions.from_columns(users, items, values, times, unit, options, threads,
                                           listener)


def id_column(array: Any, side: str) -> _core.IdColumn:
    """A column of ids of an array; TypeError for other than whole numbers and text."""
    if isinstance(array, Encoded):
        return _core.ids_of_codes(array.codes, id_column(array.keys, side))
    if isinstance(array, Streamed):
        return array.table.ids(0, side)
    kind = array.dtype.kind
    if kind in "iu":
        if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
            raise ValueError(f"{side}: {array.max()} does not fit into 64 bits with a sign; give the "
                             "ids as text (astype(str))")
        return _core.ids_of_integers(np.ascontiguousarray(array, dtype=np.int64))
    if kind == "U":
        return _core.ids_of_objects(array.astype(object), side)
    if kind == "O":
        return _core.ids_of_objects(np.ascontiguousarray(array), side)
    if kind == "f" and array.size and np.isnan(array).any():
        row = int(np.argmax(np.isnan(array)))
        raise ValueError(f"{side}: row {row} has no id (NaN), and that makes the column one of "
                         f"{array.dtype}; drop such rows and give whole numbers or text")
    raise TypeError(f"{side}: ids are whole numbers or text, not {array.dtype}")


def value_column(array: Any) -> npt.NDArray[Any]:
    if isinstance(array, (Encoded, Streamed)):
        raise TypeError(f"values are numbers, not {array.what}")
    kind = array.dtype.kind
    if kind == "f":
        wanted = np.float32 if array.dtype.itemsize <= 4 else np.float64
    elif kind in "iub":
        wanted = np.float64 if array.dtype.itemsize > 2 else np.float32
    else:
        raise TypeError(f"values are numbers, not {array.dtype}")
    return np.ascontiguousarray(array, dtype=wanted)


def time_column(array: Any, unit: str | None) -> tuple[npt.NDArray[np.int64], str | None]:
    """Numbers and their unit. Datetimes say theirs."""
    if isinstance(array, (Encoded, Streamed)):
        raise TypeError(f"times are datetimes or whole numbers since 1970, not {array.what}")
    if array.dtype.kind == "M":
        if unit is not None:
            raise ValueError(f"time_unit={unit!r} would do nothing: the times are {array.dtype}")
        if np.isnat(array).any():
            raise ValueError(f"times: row {int(np.argmax(np.isnat(array)))} has none (NaT)")
        return array.astype("datetime64[ns]").view(np.int64), "ns"
    if array.dtype.kind not in "iu":
        raise TypeError(f"times are datetimes or whole numbers since 1970, not {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.int64), unit


Columns = tuple[_core.IdColumn, _core.IdColumn, Any, Any, "str | None"]


def _columns(users: Any, items: Any, values: Any, times: Any, unit: str | None) -> Columns:
    for name, array in (("users", users), ("items", items), ("values", values), ("times", times)):
        if array is not None and (array.ndim != 1 or len(array) != len(users)):
            raise ValueError(f"{name} have the shape {array.shape}; it must be ({len(users)},), one "
                             "for each row")
    if times is not None:
        times, unit = time_column(times, unit)
    elif unit is not None:
        raise ValueError(f"time_unit={unit!r} would do nothing: there are no times")
    return (id_column(users, "users"), id_column(items, "items"),
            None if values is None else value_column(values), times, unit)


def _array(data: Any, name: str) -> npt.NDArray[Any]:
    array = np.asarray(data)
    if array.dtype.kind == "U" and not isinstance(data, np.ndarray):
        array = np.asarray(data, dtype=object)  # a number among texts is to be seen
    if array.ndim != 1:
        raise ValueError(f"{name}: an array of one dimension is needed, not of shape {array.shape}")
    return array


def _of_tuple(data: tuple[Any, ...], source: Source) -> Columns:
    if source.named():
        raise ValueError("user, item, value and time name columns of frames; a tuple's order is "
                         "(users, items, values, times)")
    if not 2 <= len(data) <= 4:
        raise ValueError(f"a tuple of {len(data)}: (users, items), with values and times if you like")
    parts = ("users", "items", "values", "times")
    arrays = [None if part is None else _array(part, name) for part, name in zip(data, parts)]
    users, items, values, times = arrays + [None] * (4 - len(arrays))
    if users is None or items is None:
        raise ValueError("a tuple begins with users and items, and both have to be there")
    return _columns(users, items, values, times, source.time_unit)


def _of_arrays(arrays: dict[str, npt.NDArray[Any]], source: Source, of: str) -> Columns:
    numeric = {name for name, array in arrays.items() if array.dtype.kind in "iuf"}
    chosen = source.picked(list(arrays), numeric, of)
    users, items, values, times = (None if chosen[which] is None else arrays[str(chosen[which])]
                                   for which in USUAL)
    return _columns(users, items, values, times, source.time_unit)


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns")


def _of_pandas(frame: Any, source: Source) -> Columns:
    known = [str(name) for name in frame.columns]
    if len(set(known)) < len(known):
        raise ValueError(f"the frame has columns of one name: {names(known)}")
    numeric = {str(name) for name in frame.columns if getattr(frame.dtypes[name], "kind", "O") in "iuf"}
    chosen = source.picked(known, numeric, "the frame")
    by_name = dict(zip(known, frame.columns))
    series = {which: None if name is None else frame[by_name[name]] for which, name in chosen.items()}
    arrays = {which: None if one is None else _unpacked(one) for which, one in series.items()}
    return _columns(arrays["user"], arrays["item"], arrays["value"], arrays["time"], source.time_unit)


class Encoded:
    """Ids as codes of keys; the code -1 is a missing id."""

    ndim = 1
    what = "categories"

    def __init__(self, codes: npt.NDArray[Any], keys: npt.NDArray[Any]):
        self.codes = np.ascontiguousarray(codes, dtype=np.int32)
        self.keys = keys
        self.shape = codes.shape

    def __len__(self) -> int:
        return len(self.codes)


class Streamed:
    """Text in Arrow's layout, which is read as it lies."""

    ndim = 1
    what = "text"

    def __init__(self, column: Any):
        import pyarrow
        self.table = _core.ArrowTable(pyarrow.table({"text": column}).__arrow_c_stream__())
        self.shape = (len(column),)

    def __len__(self) -> int:
        return self.shape[0]


def _unpacked(series: Any) -> Any:
    """A column as an array, categories as codes, text of Arrow as it lies."""
    if hasattr(series, "cat"):
        return Encoded(series.cat.codes.to_numpy(), series.cat.categories.to_numpy())
    if getattr(series.dtype, "storage", "") == "pyarrow" or str(series.dtype) in ARROW_TEXT:
        return Streamed(series.array.__arrow_array__())
    return series.to_numpy()


def _of_arrow(frame: Any, source: Source) -> Columns:
    table = _core.ArrowTable(frame.__arrow_c_stream__())
    known = [name for name, _ in table.columns]
    if len(set(known)) < len(known):
        raise ValueError(f"the frame has columns of one name: {names(known)}")
    numeric = {name for name, code in table.columns if code in "cCsSiIlLfg"}
    chosen = source.picked(known, numeric, "the frame")
    at = {which: known.index(name) for which, name in chosen.items() if name is not None}
    values = table.values(at["value"]) if "value" in at else None
    times, unit = table.times(at["time"]) if "time" in at else (None, source.time_unit)
    if source.time_unit is not None and (times is None or unit is not None):
        raise ValueError(f"time_unit={source.time_unit!r} would do nothing: "
                         + ("there are no times" if times is None else f"the times are in {unit}"))
    return (table.ids(at["user"], "users"), table.ids(at["item"], "items"), values, times,
            source.time_unit if unit is None else unit)


def _is_sparse(data: Any) -> bool:
    return type(data).__module__.startswith("scipy.sparse") and hasattr(data, "tocsr")


def _from_sparse(matrix: Any, source: Source, options: dict[str, Any], threads: int,
                 listener: Any) -> _core.Interactions:
    if source.named() or source.time_unit is not None:
        raise ValueError("user, item, value, time and time_unit are of frames; a matrix has users as "
                         "rows and items as columns")
    csr = checked(matrix).tocsr()
    if csr.dtype.kind not in "fiub":
        raise TypeError(f"values are numbers, not {csr.dtype}")
    if options["duplicates"] == "auto":
        options = options | {"duplicates": "sum"}
    return _core.Interactions.from_csr(np.ascontiguousarray(csr.indptr),
                                       np.ascontiguousarray(csr.indices), value_column(csr.data),
                                       csr.shape[1], options, threads, listener)


