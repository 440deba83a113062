# SPDX-License-Identifier: Apache-2.0
"""Matrices, arrays and frames as the columns that the extension reads."""
from __future__ import annotations

import dataclasses
import datetime
import decimal
import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from likewise import _core
from likewise.arguments import call, shown
from likewise.sparse import by_rows, checked, is_sparse


#: What columns hold, in the order in which the extension tells it by their names.
ROLES = ("user", "item", "value", "time")


#: A time that is missing, or cannot be told in 64 bits: a bad row.
NO_TIME = np.iinfo(np.int64).min


@dataclasses.dataclass
class Source:
    """Which columns of the data hold what."""

    user: str | int | None
    item: str | int | None
    value: str | int | None
    time: str | int | None
    time_unit: str | None
    time_format: str = ""

    def named(self) -> bool:
        return (self.user, self.item, self.value, self.time) != (None, None, "auto", "auto")

    def read_files(self, paths: Sequence[Any], options: dict[str, Any], threads: int,
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
        return call(_core.Interactions.from_files, list(paths), options, threads, listener)

    def picked(self, known: list[str], numeric: Callable[[str], bool], of: str) -> dict[str, str | None]:
        """The columns that hold users, items, values and times: those that are named, else by the names
        that headers of files are read by. Where no other column has values, words for kinds of events are."""
        given = {which: self._given(which, known, of) for which in ROLES}
        free = [name for name in known if name not in given.values()]
        known_as = {which: [free[place] for place in places] if self._is_open(which) else []
                    for which, places in zip(ROLES, known_columns(free))}
        chosen = {which: known_as[which][0] if known_as[which] else given[which] for which in ROLES}
        _require_ids(chosen, known, of)
        for which in ROLES:
            _refuse_several(which, known_as[which], of)
        if chosen["user"] == chosen["item"]:
            raise ValueError(f"column {chosen['user']!r} is named for users and for items")
        if chosen["value"] is not None or self.value != "auto":
            return chosen
        events = [known[place] for place in _core.event_columns(_as_utf8(known))]
        words = [name for name in events if name not in chosen.values() and not numeric(name)]
        _refuse_several("value", words, of)
        if words:
            return chosen | {"value": words[0]}
        elsewhere = _known_otherwise(known, events)
        others = [name for name in known if name not in chosen.values() and name not in elsewhere and numeric(name)]
        if others and known.index(others[0]) == 0 and others[0] in _ROW_NUMBERS:
            del others[0]
        if others:
            raise ValueError(f"{of} has numbers in {names(others)}, and no column \"value\": say "
                             "value=NAME, or value=None to take each row as 1")
        return chosen

    def _is_open(self, which: str) -> bool:
        return bool(getattr(self, which) == (None if which in ROLES[:2] else "auto"))

    def _given(self, which: str, known: list[str], of: str) -> str | None:
        name = getattr(self, which)
        if self._is_open(which) or name is None:
            return None
        if isinstance(name, int) and str(name) in known:  # columns of a frame without a header are numbers
            return str(name)
        if name not in known:
            raise ValueError(f"{of} has no column {name!r} for {which}; it has {names(known)}")
        return name  # type: ignore[no-any-return]


def _as_utf8(columns: list[str]) -> list[str]:
    return [name.encode(errors="replace").decode() for name in columns]


def known_columns(columns: list[str]) -> list[list[int]]:
    """Which of them are known by their names to hold each of the ROLES."""
    return list(_core.known_columns(_as_utf8(columns)))


def _known_otherwise(known: list[str], events: list[str]) -> list[str]:
    """The columns that are known to hold ids or times: not values, though they may be numbers."""
    users, items, _, times = known_columns(known)
    return [known[place] for place in users + items + times if known[place] not in events]


def _require_ids(chosen: dict[str, str | None], known: list[str], of: str) -> None:
    if not known:
        raise ValueError(f"{of} has no columns: a user and an item are needed in each row")
    for which in ROLES[:2]:
        if chosen[which] is None:
            others = [name for name in known if name not in (chosen["user"], chosen["item"])]
            raise ValueError(f"{of} has no column that is known to hold {which}s" +
                             (f": say {which}=NAME, one of {names(others)}" if others else ", and no other"))


def _refuse_several(which: str, known: list[str], of: str) -> None:
    """Where several columns are known by their names to hold the same, the caller chooses."""
    if len(known) > 1:
        raise ValueError(f"{of} has {len(known)} columns that are known to hold {which}s, {names(known)}: say which with "
                         + " or ".join(f"{which}={shown(name)}" for name in known[:3]))


#: What pandas and polars call a first column without a name: it numbers the rows.
_ROW_NUMBERS = ("", "Unnamed: 0")


def names(columns: list[str]) -> str:
    return ", ".join(map(repr, columns[:20])) + (", ..." if len(columns) > 20 else "")


def collected(frame: Any) -> Any:
    """The frame, where polars has only planned it."""
    return frame.collect() if type(frame).__name__ == "LazyFrame" and hasattr(frame, "collect") else frame


def refuse_twins(columns: list[str], of: str) -> None:
    """ValueError where two columns have one name."""
    if len(set(columns)) < len(columns):
        raise ValueError(f"{of} has columns of one name: {names(columns)}")


def source_of(data: Any, source: Source, options: dict[str, Any], threads: int,
              listener: Any) -> _core.Interactions:
    """Interactions of what is in memory."""
    data = collected(data)
    if not isinstance(data, np.ndarray) and len(getattr(data, "shape", ())) == 1:
        raise TypeError(f"a frame is needed, not one column of {getattr(data, 'dtype', type(data).__name__)}; or a tuple "
                        "(users, items, values, times)")
    if is_sparse(data):
        return _from_sparse(data, source, options, threads, listener)
    if isinstance(data, tuple):
        columns = _of_tuple(data, source)
    elif isinstance(data, Mapping):
        columns = _of_arrays({str(name): column for name, column in data.items()}, _array, source, "the dict")
    elif _is_pandas(data):
        columns = _of_pandas(data, source)
    elif hasattr(data, "__arrow_c_stream__"):
        columns = _of_arrow(data, source)
    else:
        loads = next((name for name in ("compute", "toPandas", "to_pandas") if hasattr(data, name)), None)
        if loads is not None:
            raise TypeError(f"{type(data).__name__} is not in this process's memory: give its .{loads}()")
        raise TypeError(f"likewise.Interactions cannot be made of {type(data).__name__}: give a path, a SciPy "
                        "sparse matrix, a pandas, polars or Arrow frame, a dict of arrays or a tuple "
                        "(users, items, values, times)")
    users, items, values, times, unit, written = columns
    texts = {"value": values, "time": written}
    try:
        made = call(_core.Interactions.from_columns, users, items, values, times, unit, options, threads, listener)
    except ValueError as error:
        told = _with_text(str(error), texts)
        raise (error if told == str(error) else ValueError(told)) from None
    made.say_first_bad_row(_with_text(made.summary["first_bad_row"], texts))
    return made


#: How the extension names a cell that it could not read.
_UNREAD = re.compile(r"position (\d+): the (value|time) ")


def _with_text(error: str, columns: dict[str, Any]) -> str:
    """The error by the text that is no number or time, where one of these columns has it."""
    found = _UNREAD.search(error)
    column = columns[found[2]] if found else None
    if found is None or not isinstance(column, _core.IdColumn):
        return error
    place = int(found[1])
    cell = column.text(place)
    if not cell:
        return error
    if found[2] == "time":
        what = "is none that is known; say how it is written, as time_format=\"%d.%m.%Y\""
    elif re.fullmatch(r"[-+]?\d+,\d+", cell.strip()):
        what = "is not a number; with a decimal comma read it with decimal=\",\""
    else:
        what = "is not a number; give numbers"
    return f"row {place}: the {found[2]} {shown(cell)} {what}, or skip bad rows with on_bad_row=\"skip\""


def pairs_of(frame: Any) -> tuple[list[Any], list[Any]]:
    """Users and items of the rows of a frame."""
    known = [str(name) for name in getattr(frame, "column_names", frame.columns)]
    chosen = Source(None, None, None, None, None).picked(known, lambda _: False, "the frame")
    users, items = (frame[name] for name in (chosen["user"], chosen["item"]))
    lists = [column.to_pylist() if hasattr(column, "to_pylist") else column.to_list() for column in (users, items)]
    return lists[0], lists[1]


def id_column(array: Any, side: str) -> _core.IdColumn:
    """A column of ids of an array; TypeError for other than whole numbers and text."""
    if isinstance(array, Encoded):
        return _core.ids_of_codes(array.codes, id_column(array.keys, side))
    if isinstance(array, Streamed):
        return array.table.ids(0, side)
    kind = array.dtype.kind
    if is_masked(array) and kind in "iuUO":
        objects = array.data.astype(object)
        objects[np.ma.getmaskarray(array)] = None
        return _core.ids_of_objects(objects, side)
    if kind == "f" and (np.isnan(array).any() or is_masked(array)):
        return id_column(_whole_with_gaps(array, side), side)
    array = np.ma.getdata(array)
    if kind in "iu":
        if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
            raise ValueError(f"{side}: {array.max()} does not fit into 64 bits with a sign; give the "
                             "ids as text (astype(str))")
        return _core.ids_of_integers(np.ascontiguousarray(array, dtype=np.int64))
    if kind == "U":
        return _core.ids_of_objects(array.astype(object), side)
    if kind == "O":
        return _core.ids_of_objects(np.ascontiguousarray(array), side)
    if kind == "f":
        raise TypeError(f"{side}: ids are whole numbers or text, not {array.dtype}: make them whole numbers with "
                        "astype(\"int64\"), or text with astype(\"int64\").astype(str)")
    raise TypeError(f"{side}: ids are whole numbers or text, not {array.dtype}")


def _whole_with_gaps(array: Any, side: str) -> Encoded:
    """Ids of a column that is of floats because some are missing: what pandas makes of whole numbers with gaps."""
    missing = np.isnan(np.ma.getdata(array)) | np.ma.getmaskarray(array)
    keys, places = np.unique(np.ma.getdata(array)[~missing], return_inverse=True)
    whole = np.isfinite(keys) & (keys == np.trunc(keys))
    exact = np.abs(keys) < 2.0 ** min(np.finfo(keys.dtype).nmant + 1, 63)
    for fits, why in ((whole, "ids are whole numbers or text"),
                      (exact, "whole numbers of that size have lost digits there: read them as astype(\"Int64\") or as text")):
        if not fits.all():
            raise TypeError(f"{side}: a column of {array.dtype} with missing ids has {keys[~fits][0]!s}, and {why}")
    codes = np.full(len(array), -1, dtype=np.int32)
    codes[~missing] = places
    return Encoded(codes, keys.astype(np.int64))


def _is_text(array: Any) -> bool:
    """Whether a column holds text, each of its cells that is there."""
    if isinstance(array, Encoded):
        return _is_text(array.keys)
    if isinstance(array, Streamed):
        return array.table.is_text(0)  # type: ignore[no-any-return,unused-ignore]
    if array.dtype.kind == "O":
        cells = [one for one in np.ma.getdata(array) if not is_missing(one)]
        return bool(cells) and all(isinstance(one, str) for one in cells)
    return bool(array.dtype.kind == "U")


def value_column(array: Any) -> Any:
    """A column of numbers, NaN where one is missing, or of words, which the options give numbers."""
    return id_column(array, "values") if _is_text(array) else number_column(array)


def number_column(array: Any) -> Any:
    """A column of numbers, NaN where one is missing."""
    if isinstance(array, Encoded):
        raise TypeError("values are numbers, not categories of numbers")
    if isinstance(array, Streamed):
        return np.asarray(array.table.values(0))
    kind = array.dtype.kind
    if kind == "f":
        wanted = np.float32 if array.dtype.itemsize <= 4 else np.float64
    elif kind in "iub":
        wanted = np.float64 if array.dtype.itemsize > 2 else np.float32
    elif kind == "O":
        wanted, array = np.float64, _with_data(array, np.array([
            _real(one, row) for row, one in enumerate(np.ma.getdata(array))], dtype=np.float64))
    else:
        raise TypeError(f"values are numbers, not {array.dtype}")
    values = np.ascontiguousarray(np.ma.getdata(array), dtype=wanted)
    if is_masked(array):
        values = np.where(np.ma.getmaskarray(array), wanted(math.nan), values)
    return values


def time_column(array: Any, unit: str | None,
                time_format: str = "") -> tuple[npt.NDArray[np.int64], str | None, _core.IdColumn | None]:
    """Numbers and their unit, NO_TIME where one is missing, and the texts of times that are text. Datetimes say their
    unit, texts are read as in files."""
    if _is_text(array):
        if unit is not None:
            raise ValueError(f"time_unit={unit!r} would do nothing: the times are text")
        written = id_column(array, "times")
        return (*_core.times_of_texts(written, time_format), written)
    if isinstance(array, Encoded):
        raise TypeError("times are datetimes or numbers since 1970, not categories")
    if isinstance(array, Streamed):
        times, unit = _times_of_table(array.table, 0, unit)
    else:
        times, unit = _times_of(np.ma.getdata(array), unit)
    if is_masked(array):
        times = np.where(np.ma.getmaskarray(array), NO_TIME, times)
    return (*_by_format(times, unit, time_format), None)


def _by_format(times: npt.NDArray[np.int64], unit: str | None, time_format: str) -> Times:
    """Whole numbers such as 20050131 as `time_format` reads them; without one as they are."""
    if not time_format:
        return times, unit
    if unit is not None:
        raise ValueError("time_format would do nothing: the times have a unit")
    texts = np.where(times == NO_TIME, "", times.astype(str))
    return _core.times_of_texts(id_column(texts, "times"), time_format)


#: Units of datetimes that hold all years that a time may have, and the unit that the others become.
_HELD = {"s": "s", "ms": "ms", "us": "us", "ns": "ns", "Y": "s", "M": "s", "W": "s", "D": "s", "h": "s",
         "m": "s", "ps": "ns", "fs": "ns", "as": "ns"}


#: Times as numbers, and their unit; None where the size of each number tells it.
Times = tuple[npt.NDArray[np.int64], "str | None"]


def _times_of_table(table: _core.ArrowTable, column: int, unit: str | None) -> Times:
    return _times_of(np.asarray(table.values(column)), unit) if table.is_double(column) else \
        _in_unit(table.times(column), unit)


def _in_unit(times: Times, unit: str | None) -> Times:
    """The times, numbers of the unit that was given where they have none."""
    numbers, own = times
    if unit is not None and own is not None:
        raise ValueError(f"time_unit={unit!r} would do nothing: the times are datetimes")
    return numbers, unit if own is None else own


def _times_of_floats(array: npt.NDArray[np.float64], unit: str | None) -> Times:
    held = np.abs(array) < 2.0**63
    if (np.floor(array[held]) != array[held]).any():
        return _core.times_of_floats(np.ascontiguousarray(array), unit)
    return np.where(held, np.where(held, array, 0.0).astype(np.int64), NO_TIME), unit


def _times_of(array: npt.NDArray[Any], unit: str | None) -> Times:
    if array.dtype == np.float64:
        return _times_of_floats(array, unit)
    return _in_unit(_whole_times(array), unit)


def _whole_times(array: npt.NDArray[Any]) -> Times:
    """Of whole numbers and datetimes."""
    kind = array.dtype.kind
    if kind == "O":
        return _moments(array)
    if kind in "iu":
        beyond = array > np.iinfo(np.int64).max if array.dtype == np.uint64 else None
        plain = np.ascontiguousarray(array).astype(np.int64)
        return (plain if beyond is None else np.where(beyond, NO_TIME, plain)), None
    unit, count = np.datetime_data(array.dtype) if kind == "M" else ("", 0)
    if unit not in _HELD or (_HELD[unit] == "ns" and count != 1):
        raise TypeError(f"times are datetimes or numbers since 1970, of 64 bits where they have fractions, not {array.dtype}")
    held = _HELD[unit]
    if held == unit and count == 1:
        return np.ascontiguousarray(array).astype(f"datetime64[{unit}]").view(np.int64), unit
    # NumPy's casts wrap: only years that all units hold are cast. In their own unit nothing wraps.
    if held == "ns":
        low, high = np.array([-2**63 + 1, 2**63 - 1]).view(f"datetime64[{unit}]")
    else:
        low, high = (np.datetime64(year, "Y").astype(array.dtype) for year in ("-1300", "10001"))
    inside = (array >= low) & (array <= high)
    times = np.full(array.shape, NO_TIME)
    times[inside] = array[inside].astype(f"datetime64[{held}]").view(np.int64)
    return times, held


#: 1970, of datetimes without a zone, which are UTC, and with one.
_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=datetime.timezone.utc)


def _moments(array: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], str | None]:
    """Objects, all datetimes and dates or all whole numbers, all of them with a zone or none."""
    times: list[int | None] = []
    kinds = set()
    zoned: dict[bool, int] = {}  # the first row with a zone, and without
    for row, one in enumerate(array):
        if is_missing(one):
            times.append(None)
            continue
        kinds.add(isinstance(one, numbers.Integral))
        times.append(_nanoseconds(one, row))
        if len(kinds) > 1:
            raise TypeError(f"times: row {row} has {shown(one)} of type {type(one).__name__}; they are all "
                            "datetimes or all whole numbers")
        zoned.setdefault(getattr(one, "tzinfo", None) is not None, row)
        if len(zoned) > 1:
            raise ValueError(f"times: row {zoned[True]} has a time zone, {array[zoned[True]]}, and row {zoned[False]} "
                             f"has none, {array[zoned[False]]}: give all of them a zone, or none (then they are UTC)")
    if kinds != {False}:
        return _as_int64(times), None
    fine = all(one is None or abs(one) < 2**63 for one in times)
    return (_as_int64(times), "ns") if fine else \
        (_as_int64([None if one is None else one // 1000 for one in times]), "us")


def _nanoseconds(one: Any, row: int) -> int:
    """Since 1970; whole numbers are themselves."""
    if isinstance(one, numbers.Integral) and not isinstance(one, (bool, np.bool_)):
        return int(one)
    if isinstance(one, datetime.datetime):
        since = one - (_EPOCH if one.tzinfo is None else _EPOCH_UTC)
        return since // datetime.timedelta(microseconds=1) * 1000 + int(getattr(one, "nanosecond", 0))
    if isinstance(one, np.datetime64):
        (number,), unit = _whole_times(np.array([one]))
        return int(number) * {"s": 10**9, "ms": 10**6, "us": 1000}.get(str(unit), 1)
    if isinstance(one, datetime.date):
        return (one - _EPOCH.date()).days * 86_400 * 10**9
    raise TypeError(f"times: row {row} has {shown(one)} of type {type(one).__name__}; they are datetimes or whole "
                    "numbers since 1970")


def _as_int64(times: Iterable[int | None]) -> npt.NDArray[np.int64]:
    return np.array([NO_TIME if one is None or abs(one) >= 2**63 else one for one in times], dtype=np.int64)


def is_missing(one: Any) -> bool:
    """None, NaN, and what pandas has for them."""
    return one is None or one is np.ma.masked or type(one).__name__ in ("NAType", "NaTType") or \
        (isinstance(one, (float, np.floating, decimal.Decimal)) and one != one)


def is_masked(array: Any) -> bool:
    return isinstance(array, np.ma.MaskedArray) and bool(np.ma.getmaskarray(array).any())


def _with_data(array: Any, data: npt.NDArray[Any]) -> Any:
    """The data with the mask of an array that may have one."""
    return np.ma.MaskedArray(data, np.ma.getmaskarray(array)) if is_masked(array) else data


def _real(one: Any, row: int) -> float:
    if is_missing(one):
        return math.nan
    if not isinstance(one, (numbers.Real, decimal.Decimal, np.bool_)):
        raise TypeError(f"values are numbers: row {row} has {shown(one)} of type {type(one).__name__}")
    try:
        return float(one)
    except OverflowError:
        return math.inf


def is_numeric(array: Any) -> bool:
    """Whether a column holds numbers, and may be meant as values: of any width and kind, objects too."""
    if isinstance(array, Encoded):
        return is_numeric(array.keys)
    if isinstance(array, Streamed):
        return array.table.columns[0][1]  # type: ignore[no-any-return]
    if array.dtype.kind != "O":
        return array.dtype.kind in "iufb"
    first = next((one for one in np.ma.getdata(array) if not is_missing(one)), None)
    return isinstance(first, (numbers.Real, decimal.Decimal, np.bool_))


#: Users, items, values, times, their unit, and the texts of times that are text.
Columns = tuple[_core.IdColumn, _core.IdColumn, Any, Any, "str | None", "_core.IdColumn | None"]


def _columns(users: Any, items: Any, values: Any, times: Any, source: Source) -> Columns:
    unit = source.time_unit
    written = None
    for name, array in (("users", users), ("items", items), ("values", values), ("times", times)):
        if array is not None and (array.ndim != 1 or len(array) != len(users)):
            raise ValueError(f"{name} have the shape {array.shape}; it must be ({len(users)},), one "
                             "for each row")
    if times is not None:
        times, unit, written = time_column(times, unit, source.time_format)
    elif source.time_format:
        raise ValueError("time_format would do nothing: there are no times")
    elif unit is not None:
        raise ValueError(f"time_unit={unit!r} would do nothing: there are no times")
    return (id_column(users, "users"), id_column(items, "items"),
            None if values is None else value_column(values), times, unit, written)


def _array(data: Any, name: str) -> Any:
    if _is_of_pandas(data) and hasattr(data, "dtype") and getattr(data, "ndim", 0) == 1:
        import pandas
        return _unpacked(pandas.Series(data))
    array = np.asanyarray(data) if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
    if array.dtype.kind == "U" and not isinstance(data, np.ndarray):
        array = np.asarray(data, dtype=object)  # a number among texts is to be seen
    if array.dtype.kind == "T":  # NumPy's text of any length
        array = array.astype(object)
    if array.ndim == 0:
        raise TypeError(f"{name}: a list or an array is needed, with an entry for each row, not {shown(data)} of "
                        f"type {type(data).__name__}")
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
    return _columns(users, items, values, times, source)


def _of_arrays(named: dict[str, Any], array_of: Callable[[Any, str], Any], source: Source, of: str) -> Columns:
    """Columns by name, which array_of() makes arrays of."""
    chosen = source.picked(list(named), lambda name: is_numeric(array_of(named[name], name)), of)
    users, items, values, times = (None if name is None else array_of(named[name], name)
                                   for name in chosen.values())
    return _columns(users, items, values, times, source)


def _is_of_pandas(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas"


def _is_pandas(data: Any) -> bool:
    return _is_of_pandas(data) and hasattr(data, "columns")


def _of_pandas(frame: Any, source: Source) -> Columns:
    known = [str(name) for name in frame.columns]
    refuse_twins(known, "the frame")
    _refuse_index(frame, known, source)
    return _of_arrays({name: frame[given] for name, given in zip(known, frame.columns)},
                      lambda series, _: _unpacked(series), source, "the frame")


def _refuse_index(frame: Any, known: list[str], source: Source) -> None:
    """ValueError where users or items are in the index alone, not in a column."""
    levels = [str(name) for name in frame.index.names if name is not None and str(name) not in known]
    for given, of_index, of_columns in zip((source.user, source.item), known_columns(levels), known_columns(known)):
        if given in levels or (given is None and of_index and not of_columns):
            raise ValueError(f"the frame has {names(levels)} in its index, and columns are needed: give frame.reset_index()")


class Encoded:
    """Ids as codes of keys; the code -1 is a missing id."""

    ndim = 1

    def __init__(self, codes: npt.NDArray[Any], keys: npt.NDArray[Any]):
        self.codes = np.ascontiguousarray(codes, dtype=np.int32)
        self.keys = keys if len(keys) else np.empty(0, dtype=np.int64)
        self.shape = codes.shape

    def __len__(self) -> int:
        return len(self.codes)


class Streamed:
    """A column in Arrow's layout, which is read as it lies."""

    ndim = 1

    def __init__(self, column: Any):
        import pyarrow
        self.table = _core.ArrowTable(pyarrow.table({"": column}).__arrow_c_stream__())
        self.shape = (len(column),)

    def __len__(self) -> int:
        return self.shape[0]


def _unpacked(series: Any) -> Any:
    """A column as an array, categories as codes, what Arrow holds as it lies."""
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        return Encoded(series.cat.codes.to_numpy(), series.cat.categories.to_numpy())
    if getattr(dtype, "storage", "") == "pyarrow" or hasattr(dtype, "pyarrow_dtype"):
        return Streamed(series.array.__arrow_array__())
    if getattr(dtype, "tz", None) is not None:
        return series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    if dtype.kind in "iufb" and getattr(dtype, "na_value", None) is not None and hasattr(dtype, "numpy_dtype"):
        zero = dtype.numpy_dtype.type(0)
        return np.ma.MaskedArray(series.to_numpy(dtype=dtype.numpy_dtype, na_value=zero), series.isna().to_numpy())
    return series.to_numpy()


def _of_arrow(frame: Any, source: Source) -> Columns:
    table = _core.ArrowTable(frame.__arrow_c_stream__())
    known = [name for name, _ in table.columns]
    refuse_twins(known, "the frame")
    chosen = source.picked(known, dict(table.columns).__getitem__, "the frame")
    at = {which: known.index(name) for which, name in chosen.items() if name is not None}
    values = written = None
    if "value" in at:
        values = table.ids(at["value"], "values") if table.is_text(at["value"]) else table.values(at["value"])
    if "time" in at and table.is_text(at["time"]):
        written = table.ids(at["time"], "times")
        times, unit = _core.times_of_texts(written, source.time_format)
    elif "time" in at:
        times, unit = _by_format(*_times_of_table(table, at["time"], source.time_unit), source.time_format)
    elif source.time_format:
        raise ValueError("time_format would do nothing: there are no times")
    else:
        times = unit = None
    if source.time_unit is not None and (times is None or written is not None):
        raise ValueError(f"time_unit={source.time_unit!r} would do nothing: "
                         + ("there are no times" if times is None else "the times are text"))
    return table.ids(at["user"], "users"), table.ids(at["item"], "items"), values, times, unit, written


def _from_sparse(matrix: Any, source: Source, options: dict[str, Any], threads: int,
                 listener: Any) -> _core.Interactions:
    if source.named() or source.time_unit is not None:
        raise ValueError("user, item, value, time and time_unit are of frames; a matrix has users as "
                         "rows and items as columns")
    for name in ("since", "until", "half_life", "now", "time_format"):
        if name in options or (name == "time_format" and source.time_format):
            raise ValueError(f"{name} needs times, and a matrix has none: give a frame or a tuple with times")
    csr = by_rows(checked(matrix))
    if csr.dtype.kind not in "fiub":
        raise TypeError(f"values are numbers, not {csr.dtype}")
    if options["duplicates"] == "auto":
        options = options | {"duplicates": "sum"}
    return call(_core.Interactions.from_csr, np.ascontiguousarray(csr.indptr),
                np.ascontiguousarray(csr.indices), number_column(csr.data), csr.shape[1], options, threads,
                listener)


