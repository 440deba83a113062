# SPDX-License-Identifier: Apache-2.0
"""`Interactions`: who liked what, from files, matrices, arrays and frames."""
from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Union, overload

import numpy as np
import numpy.typing as npt

from likewise import _core
from likewise.arguments import by_name, by_names, call, count_of, refuse_idle, shown
from likewise.columnar import ColumnarRows, columnar_files
from likewise.columns import Source, source_of
from likewise.display import cell_text, grid, table
from likewise.frames import Framed
from likewise.ids import Ids, spelled
from likewise.progress import Progress

Duplicates = Literal["auto", "newest", "sum", "mean", "max", "first", "last", "count", "error"]
Format = Literal["auto", "adjacency", "netflix", "kdd-cup"]
#: A time: a datetime or date of any kind, text as files have it, or seconds since 1970.
Moment = Union[str, int, float, datetime.date, np.datetime64]
Header = Literal["auto", "yes", "no"]
#: What names a file, as open() takes it.
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


@by_names
class Interactions(Framed):
    """Users, items, a value for each pair that has one, and maybe times; ids are whole numbers or text.

    `data` is one of

    * a path of a file or folder (str, bytes or os.PathLike), or a list of them: CSV, TSV, text separated by ; | :: or
      spaces, JSON lines or Matrix Market; plain, gzip or zstd; Parquet and Arrow, where pyarrow is. `user`, `item`, `value`, `time` name its columns (all or none of them; by well-known
      names without). With format="adjacency" a line is a user and its items, between blanks.
    * a SciPy sparse matrix or array, users x items. Ids are row and column numbers; entries that stand twice
      are summed, or become what `duplicates` says.
    * a pandas, polars (lazy too) or Arrow frame, whatever has the Arrow C stream interface, or a dict of
      arrays: `user`, `item`, `value`, `time` are names of its columns; those that are not given are told by
      their well-known names, as in files. Where two columns may hold the same, none is chosen: ValueError.
      value=None takes each row as 1, time=None leaves times out.
    * a tuple (users, items), (users, items, values) or (users, items, values, times) of arrays.

    Ids are whole numbers (64 bits) or text, and come back as they were given: "10" of a frame stays text, in
    the order of its number. In files they are whole numbers where all of a column are. Values are numbers, of Python, NumPy or Decimal, or bools.
    A missing id, value or time (None, NaN, NaT, NA, null, masked), a value that is not finite, and a
    time after the year 9999 are bad rows. Of a column of floats with NaN, which pandas makes of whole numbers
    with gaps, the other ids are whole numbers; TypeError for fractions, and for floats without NaN. Times are datetimes and dates of any unit, or numbers since
    1970 in `time_unit` ("s", "ms", "us" or "ns"; without it their size tells).

    values          what the words of the value column count, {"view": 1, "buy": 5}; without it they are
                    numbers, "true" and "false"
    since, until    only rows from one time on, and before another: datetimes, dates or ISO text
    half_life       of implicit feedback: a value counts half for each, as "90d" or a timedelta, that lies
                    between its time and `now`, which is the time of the newest row
    duplicates      what several rows with one user and item become: "newest" (by time), "sum", "mean", "max",
                    "first", "last", "count" or "error"; "auto" is "sum" without values and of a matrix, else
                    "newest", or "last" where there are no times
    min_value       then drops interactions below this value
    min_user_count  then drops users with fewer interactions, and
    min_item_count  items with fewer, until nothing changes
    on_bad_row      "fail", or "skip": `summary` counts them
    decimal         "," where values are text or from files and have decimal commas
    time_format     of times that are text or digits (20050131), as strptime has it: "%m/%d/%Y", "%Y%m%d"; without it
                    ISO 8601
    format, delimiter, header  of files: "adjacency", "netflix", "kdd-cup"; one character, "tab", "space" or
                    "::"; "yes" or "no"
    threads         0 takes all cores
    progress        shows a bar

    Interactions are what was read, without duplicates: `len` rows, by user and item. A row is
    (user, item, value, time), as far as there are values and times: data[0]; data[:100], data[mask] and
    data[places] are Interactions of some rows that share all users and items. They are copied and pickled
    like arrays, compared by what they hold (==), and become frames: to_pandas(), to_polars(), to_arrow().

    ValueError says which row or line is wrong, and what to do; also OSError and TypeError.
    """

    def __init__(self, data: Any, *, user: str | int | None = None, item: str | int | None = None,
                 value: str | int | None = "auto", time: str | int | None = "auto",
                 time_unit: Literal["s", "ms", "us", "ns"] | None = None,
                 duplicates: Duplicates = "auto", min_value: float | None = None,
                 min_user_count: int = 0, min_item_count: int = 0,
                 values: Mapping[str, float] | None = None, since: Moment | None = None,
                 until: Moment | None = None, half_life: str | datetime.timedelta | None = None,
                 now: Moment | None = None, decimal: Literal[".", ","] = ".", time_format: str = "",
                 on_bad_row: Literal["fail", "skip"] = "fail", format: Format = "auto",
                 delimiter: str = "", header: Header = "auto", threads: int = 0,
                 progress: bool = False):
        options: dict[str, Any] = {"duplicates": duplicates, "min_user_count": min_user_count,
                                   "min_item_count": min_item_count, "on_bad_row": on_bad_row}
        if min_value is not None:
            options["min_value"] = min_value
        for name, number in options.items():
            if isinstance(number, (bool, np.bool_)):
                raise TypeError(f"{name} must be a number, not {number}")
        options |= _times_and_words(values, since, until, half_life, now)
        if decimal != ".":
            options["decimal"] = decimal
        source = Source(user=user, item=item, value=value, time=time, time_unit=time_unit, time_format=time_format)
        if isinstance(data, list) and data and all(isinstance(one, (str, bytes, os.PathLike)) for one in data):
            paths = data
        else:
            paths = [data] if isinstance(data, (str, bytes, os.PathLike)) else []
        with Progress(progress) as listener:
            columnar = columnar_files(paths)
            if columnar:
                if delimiter or header != "auto" or format != "auto":
                    raise ValueError("format, delimiter and header are of text, not of Parquet and Arrow files")
                rows = ColumnarRows(columnar, (user, item, value, time))
                try:
                    self._core = source_of(rows.table, source, options | {"whole_ids": True}, threads, listener)
                except ValueError as error:
                    raise rows.by_file(error) from None
                self.name = os.path.basename(os.fsdecode(paths[0]))
            elif paths:
                options |= {"format": format, "delimiter": delimiter, "header": header, "time_format": time_format}
                self._core = source.read_files(paths, options, threads, listener)
                self.name = os.path.basename(os.fsdecode(paths[0]))
            else:
                if delimiter or header != "auto" or format != "auto":
                    raise ValueError("format, delimiter and header are of files, not of "
                                     f"{type(data).__name__}")
                self._core = source_of(data, source, options, threads, listener)
                self.name = ""
        self.has_values = bool(self._core.summary["columns"][2:3] not in ([], [""]))

    @classmethod
    def _of(cls, core: _core.Interactions, of: Interactions) -> Interactions:
        return cls._made(core, of.name, of.has_values)

    @classmethod
    def _made(cls, core: _core.Interactions, name: str, has_values: bool) -> Interactions:
        made = cls.__new__(cls)
        made._core, made.name, made.has_values = core, name, has_values
        return made

    @property
    def users(self) -> Ids:
        """The users' ids, in the order of the rows of to_csr()."""
        return Ids(self._core.users, "user")

    @property
    def items(self) -> Ids:
        """The items' ids, in the order of the columns of to_csr()."""
        return Ids(self._core.items, "item")

    @property
    def shape(self) -> tuple[int, int]:
        """(users, items)"""
        return self._core.shape

    @property
    def nnz(self) -> int:
        """How many pairs have a value."""
        return self._core.nnz

    @property
    def summary(self) -> dict[str, Any]:
        """What reading met: rows, bad_rows, duplicates, policy, below_min_value, format ..."""
        return self._core.summary

    @property
    def times(self) -> npt.NDArray[np.datetime64] | None:
        """datetime64[ns] beside the entries of to_csr(), or None. Where some lie outside of 1678 to 2261,
        which [ns] holds, datetime64[us], rounded down."""
        times: Any = self._core.times()
        return None if times is None else times[0].view(f"datetime64[{times[1]}]")

    def to_csr(self, *, copy: bool = True) -> Any:
        """scipy.sparse.csr_array, users x items; index r is users.take(r). It is the caller's to write into, and takes 8
        bytes for each entry and 4 for each user more. copy=False shares the memory of the interactions: it cannot be
        written to, and packages that ask for arrays to write into refuse it."""
        import scipy.sparse
        indptr, indices, values = self._core.csr()
        if self.nnz <= np.iinfo(indices.dtype).max:
            indptr = indptr.astype(indices.dtype)  # else SciPy makes the columns as wide as the offsets
        matrix = scipy.sparse.csr_array((values, indices, indptr), shape=self.shape, copy=copy)
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """A row per interaction, by user and item: user, item, value and time, as far as there are."""
        return self._columns(self._are_valued())

    def _are_valued(self) -> bool:
        """Whether rows come with values: there were some, or rows were counted."""
        return bool(self.has_values or (self._core.csr()[2] != 1).any())

    def _columns(self, valued: bool) -> dict[str, npt.NDArray[Any]]:
        indptr, indices, values = self._core.csr()
        rows = np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(indptr))
        result: dict[str, npt.NDArray[Any]] = {"user": self.users.take(rows), "item": self.items.take(indices)}
        if valued:
            result["value"] = values
        times = self.times
        if times is not None:
            result["time"] = times
        return result

    def to_qrels(self, min_relevant_value: float = 0.0) -> dict[str, dict[str, int]]:
        """{user: {item: 1}}, ids as text, of values of at least min_relevant_value and above 0: what evaluate()
        counts as relevant, as ranx and ir_measures take it."""
        indptr, indices, values = self._core.csr()
        users, items = (list(map(str, ids)) for ids in (self.users, self.items))
        relevant = (values > 0) & (values >= min_relevant_value)
        return {user: {items[column]: 1 for column in indices[start:end][relevant[start:end]].tolist()}
                for user, start, end in zip(users, indptr[:-1].tolist(), indptr[1:].tolist()) if relevant[start:end].any()}

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows, one after the other."""
        return zip(*(column if column.dtype.kind == "M" else column.tolist() for column in self.columns().values()))

    def __getitem__(self, rows: Any) -> Any:
        """One row, or Interactions of some, each once, which share users and items."""
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:  # as scikit-learn asks
            rows = rows[0]
            self._refuse_places_of_users(rows)
        if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool):
            return self._row(int(rows))
        if not isinstance(rows, slice):
            if hasattr(rows, "to_numpy"):
                raise TypeError(f"a {type(rows).__name__} is in the order of its frame, and rows here are in that of users and "
                                "items: choose rows of the frame before, or of this by to_pandas()")
            rows = np.asarray(rows)
            if rows.ndim != 1 or rows.dtype.kind not in "iub" and rows.size:
                raise TypeError(f"rows are whole numbers, a slice or a mask, not {shown(rows)}")
            rows = rows.astype(np.int64) if not rows.size else rows
        return self._some(np.unique(np.arange(len(self))[rows]))

    def _refuse_places_of_users(self, rows: Any) -> None:
        """scikit-learn's own splitters take shape[0], the users, for the number of rows, and so ask for some of
        the first rows only: it is told apart from chance."""
        users = self.shape[0]
        if isinstance(rows, np.ndarray) and rows.dtype.kind == "i" and 0 < len(rows) <= users and \
                rows.max() < users and (users / len(self)) ** len(rows) < 1e-6:
            raise TypeError("splitters of scikit-learn count the users of Interactions as rows: give "
                            "cv=likewise.Splitter(...), or use likewise.split()")

    def _row(self, row: int) -> tuple[Any, ...]:
        if not -len(self) <= row < len(self):
            raise IndexError(f"there are {len(self)} rows, not one at {row}")
        one = self._some(np.array([row % len(self)]))._columns(self._are_valued())
        return tuple(column.tolist()[0] if column.dtype.kind != "M" else column[0] for column in one.values())

    def _some(self, rows: npt.NDArray[np.int64]) -> Interactions:
        indptr, indices, values = self._core.csr()
        seconds, nanoseconds, form = self._core.whole_times()
        times: list[Any] = [None if part is None else part[rows] for part in (seconds, nanoseconds)]
        return self._of(_core.Interactions.from_entries(
            self._core.users, self._core.items, np.searchsorted(rows, indptr).astype(np.int64), indices[rows],
            values[rows], times[0], times[1], form, self.summary["policy"], self.summary["columns"],
            self.summary["faded"]), self)

    def __copy__(self) -> Interactions:
        return self

    def __deepcopy__(self, _: Any) -> Interactions:
        return self

    def __reduce__(self) -> Any:
        ids = [np.asarray(known) for known in (self.users, self.items)]
        users, items = (known.tolist() if known.dtype == object else known for known in ids)
        return _restored, (self.name, self.has_values, users, items, *(np.array(part) for part in self._core.csr()),
                           *self._core.whole_times(), self.summary["policy"], self.summary["columns"], self.summary["faded"])

    def save(self, path: Path) -> None:
        """Writes user,item,value[,time] as CSV (.tsv: tabs, .mtx: Matrix Market; and .gz, .zst). Matrix Market has
        places in place of ids, counted from 1, and no times."""
        call(self._core.write, path)

    def __len__(self) -> int:
        return self.nnz

    def __eq__(self, other: object) -> bool:
        """Whether they have the same users and items in the same order, and the same pairs, values and times."""
        if not isinstance(other, Interactions):
            return NotImplemented
        return self.has_values == other.has_values and all(
            (one is None) == (two is None) and np.array_equal(one, two)
            for one, two in zip(self._content(), other._content()))

    __hash__ = None  # type: ignore[assignment]

    def _content(self) -> tuple[Any, ...]:
        return (np.asarray(self.users), np.asarray(self.items), *self._core.csr(), *self._core.whole_times()[:2])

    def __repr__(self) -> str:
        return (f"<likewise.Interactions: {self.shape[0]:,} users, {self.shape[1]:,} items, "
                f"{self.nnz:,} interactions>")

    def _repr_html_(self) -> str:
        rows = {"users": f"{self.shape[0]:,}", "items": f"{self.shape[1]:,}", "interactions": f"{self.nnz:,}"}
        values, times = self._core.csr()[2], self.times
        if self.has_values and len(values):
            rows["values"] = f"{values.min():g} to {values.max():g}"
        if times is not None and len(times):
            rows["times"] = f"{times.min().astype('datetime64[D]')} to {times.max().astype('datetime64[D]')}"
        few = self[:5].columns()
        return table(f"Interactions {self.name}".rstrip(), rows) + grid(
            list(few), [[cell_text(cell) for cell in row] for row in zip(*few.values())])


def _times_and_words(values: Mapping[str, float] | None, since: Moment | None, until: Moment | None,
                     half_life: str | datetime.timedelta | None, now: Moment | None) -> dict[str, Any]:
    """The options that are given, as the extension takes them."""
    options: dict[str, Any] = {}
    if values is not None:
        if not isinstance(values, Mapping) or not values:
            raise TypeError(f"values must be a dict of numbers by word, as {{'view': 1, 'buy': 5}}, not {shown(values)}")
        options["values"] = [(str(word), float(number)) for word, number in values.items()]
    for name, moment in (("since", since), ("until", until), ("now", now)):
        if moment is not None:
            options[name] = written(moment, name)
    if half_life is not None:
        options["half_life"] = duration(half_life)
    return options


def duration(given: Any) -> Any:
    """A timedelta as text, which files have; anything else as it is."""
    return f"{given.total_seconds():.6f}s" if isinstance(given, datetime.timedelta) else given


def written(moment: Moment, name: str) -> str:
    """A moment as text, which files have."""
    if isinstance(moment, (bool, np.bool_)) or not isinstance(
            moment, (str, int, float, np.integer, np.floating, datetime.date, np.datetime64)):
        raise TypeError(f"{name} must be a datetime or a time such as \"2026-01-31\", not {shown(moment)}")
    if isinstance(moment, (datetime.date, np.datetime64)):
        return str(np.datetime64(moment)) if isinstance(moment, np.datetime64) else moment.isoformat()
    return str(moment)


def _restored(name: str, has_values: bool, *parts: Any) -> Interactions:
    return Interactions._made(_core.Interactions.from_entries(*parts), name, has_values)


def _alike(columns: list[npt.NDArray[Any]], which: str) -> list[npt.NDArray[Any]]:
    """Ids of several parts, as text or as whole numbers as those of the first are; TypeError where they cannot be."""
    kinds = [column.dtype == object for column in columns if len(column)]
    if len(set(kinds)) < 2:
        return columns
    of_text = [one for column in columns if column.dtype == object for one in column.tolist()]
    if any(isinstance(spelled(one, False), str) for one in of_text):
        raise TypeError(f"some parts have {which}s that are whole numbers, others text: make them alike")
    return [np.array([spelled(one, kinds[0]) for one in column.tolist()], dtype=object if kinds[0] else np.int64)
            for column in columns]


@by_name
def concat(parts: Sequence[Any], *, duplicates: Duplicates = "auto") -> Interactions:
    """Interactions of the rows of several Interactions, or what Interactions() takes, one after the other.

    duplicates  what becomes of a user and item that several have, as of Interactions: the values of the last
                part that has them, or where nobody has values the sum
    """
    if isinstance(parts, Interactions):
        raise TypeError("parts must be a list of Interactions, as [one, another], not one of them")
    data = [as_interactions(part, f"parts[{place}]") for place, part in enumerate(parts)]
    if not data:
        raise ValueError("there is nothing to concatenate: parts is empty")
    valued = [part.has_values for part in data]
    for what, there in (("values", valued), ("times", [part.times is not None for part in data])):
        if len(set(there)) > 1:
            raise ValueError(f"parts[{there.index(False)}] has no {what}, parts[{there.index(True)}] has: all of them "
                             "or none")
    frames = [part.columns() for part in data]
    for which in ("user", "item"):
        alike = _alike([frame[which] for frame in frames], which)
        frames = [frame | {which: column} for frame, column in zip(frames, alike)]
    values = [frame.get("value", np.ones(len(frame["user"]), dtype=np.float32)) for frame in frames]
    times = [frame["time"] for frame in frames if "time" in frame]
    coarse = "datetime64[us]" if len({column.dtype for column in times}) > 1 else None
    columns = (np.concatenate([frame["user"] for frame in frames]), np.concatenate([frame["item"] for frame in frames]),
               np.concatenate(values), np.concatenate([one.astype(coarse or one.dtype) for one in times]) if times else None)
    made = Interactions(columns, duplicates="sum" if duplicates == "auto" and not any(valued) else duplicates)
    made.has_values = any(valued)
    return made


def as_interactions(data: Any, name: str) -> Interactions:
    """What comes in at any door: Interactions, or what Interactions() takes. `name` is the argument's."""
    if isinstance(data, Interactions):
        return data
    try:
        return Interactions(data)
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"{name}: {str(error).removeprefix('interactions in memory: ')}") from error


def as_interactions_or_none(data: Any, name: str) -> _core.Interactions | None:
    return None if data is None else as_interactions(data, name)._core


Method = Literal["random", "per-user", "last", "time", "cold-items"]
Parts = tuple[Interactions, Interactions]


@overload
def split(data: Any, method: Method = "random", *, test: float | None = None, rows: int | None = None,
          last: int | None = None, at: Moment | None = None, rolling: Literal[0] = 0,
          seed: int | None = None) -> Parts: ...
@overload
def split(data: Any, method: Literal["kfold"], *, folds: int | None = None, seed: int | None = None) -> list[Parts]: ...
@overload
def split(data: Any, method: Literal["time"], *, rolling: int, test: float | None = None,
          at: Moment | None = None) -> list[Parts]: ...


@by_name
def split(data: Any,
          method: Literal["random", "per-user", "last", "time", "kfold", "cold-items"] = "random", *,
          test: float | None = None, rows: int | None = None, last: int | None = None, folds: int | None = None,
          at: Moment | None = None, rolling: int = 0, seed: int | None = None) -> Any:
    """Splits Interactions, or what Interactions() takes, into a training and a test part that share
    users and items.

    method  "random": a share `test` (0.2) of all interactions; "per-user": a share `test` of every user's,
            rounded, at least one of them in training, or in place of the share `rows` of every user with more;
            "last": the `last` (1) newest of every user with more; "time": the newest share `test`, or in place
            of it all from `at` on;
            "kfold": `folds` (5) pairs, each interaction in one test part; "cold-items": all interactions of
            a share `test` of the items
    seed    (42) of what is drawn: of "last" and "time" which of equally old interactions go where, of "time"
            with `at` or `rolling` nothing
    rolling of "time": so many test parts one after the other, each with all that is older to train on
    Returns (train, test), or a list of `folds` or `rolling` such pairs. The same for the same seed, whatever the
    order of rows. ValueError for values outside of their range, for what would do nothing, for "last" and "time" without
    times, and where a part would be empty.
    """
    refuse_idle(test=(test, method not in ("last", "kfold"), 'method="random", "per-user", "time" or "cold-items"'))
    refuse_idle(test=(test, rows is None and at is None, f"no {'at' if rows is None else 'rows'}"),
                last=(last, method == "last", 'method="last"'), folds=(folds, method == "kfold", 'method="kfold"'),
                seed=(seed, method != "time" or (at is None and not rolling), "neither at nor rolling, which draw nothing"))
    data = as_interactions(data, "data")
    count = 0 if rows is None else count_of(rows, "rows")
    parts = [(Interactions._of(train, data), Interactions._of(held_out, data))
             for train, held_out in call(data._core.split, method, 0.2 if test is None else test,
                                    1 if last is None else last, 5 if folds is None else folds, count,
                                    None if at is None else written(at, "at"), rolling, 42 if seed is None else seed)]
    return parts if method == "kfold" or rolling else parts[0]
