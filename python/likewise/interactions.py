# SPDX-License-Identifier: Apache-2.0
"""`Interactions`: who liked what, from files, matrices, arrays and frames."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, Union

import numpy as np
import numpy.typing as npt

from likewise import _core
from likewise.arguments import call, count_of
from likewise.columns import Source, source_of
from likewise.ids import Ids
from likewise.progress import Progress

Duplicates = Literal["auto", "sum", "last", "max", "error"]
Format = Literal["auto", "adjacency"]
Header = Literal["auto", "yes", "no"]
#: What names a file, as open() takes it.
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class Interactions:
    """Users, items, a value for each pair that has one, and maybe times; ids of any kind.

    `data` is one of

    * a path of a file (str, bytes or os.PathLike): CSV, TSV, text separated by ; | :: or spaces, or Matrix Market; plain, gzip
      or zstd. `user`, `item`, `value`, `time` name its columns (all or none of them; by well-known
      names without). With format="adjacency" a line is a user and its items, between blanks.
    * a SciPy sparse matrix or array, users x items. Ids are row and column numbers; entries of COO
      that stand twice are summed, as SciPy does.
    * a pandas, polars or Arrow frame, whatever has the Arrow C stream interface, or a dict of
      arrays: `user`, `item`, `value`, `time` are names of its columns, "user", "item", "value" and
      "time" where they are not given. value=None takes each row as 1, time=None leaves times out.
    * a tuple (users, items), (users, items, values) or (users, items, values, times) of arrays.

    Ids are whole numbers (64 bits) or text; values are numbers, of Python, NumPy or Decimal, or bools.
    A missing id, value or time (None, NaN, NaT, NA, null, masked), a value that is not finite, and a
    time after the year 9999 are bad rows. Times are datetimes and dates of any unit, or numbers since
    1970 in `time_unit` ("s", "ms", "us" or "ns"; without it their size tells).

    duplicates      what several rows with one user and item become: "sum", "last", "max" or
                    "error"; "auto" is "sum" without values, else "last"
    min_value       then drops interactions below this value
    min_user_count  then drops users with fewer interactions, and
    min_item_count  items with fewer, until nothing changes
    on_bad_row      "fail", or "skip": `summary` counts them
    format, delimiter, header  of files: "adjacency"; one character, "tab", "space" or "::"; "yes"
                    or "no"
    threads         0 takes all cores
    progress        shows a bar (tqdm)

    ValueError says which row or line is wrong, and what to do; also OSError and TypeError.
    """

    def __init__(self, data: Any, *, user: str | int | None = None, item: str | int | None = None,
                 value: str | int | None = "auto", time: str | int | None = "auto",
                 time_unit: Literal["s", "ms", "us", "ns"] | None = None,
                 duplicates: Duplicates = "auto", min_value: float | None = None,
                 min_user_count: int = 0, min_item_count: int = 0,
                 on_bad_row: Literal["fail", "skip"] = "fail", format: Format = "auto",
                 delimiter: str = "", header: Header = "auto", threads: int = 0,
                 progress: bool = False):
        options: dict[str, Any] = {"duplicates": duplicates, "min_user_count": min_user_count,
                                   "min_item_count": min_item_count, "on_bad_row": on_bad_row}
        if min_value is not None:
            options["min_value"] = min_value
        source = Source(user=user, item=item, value=value, time=time, time_unit=time_unit)
        with Progress(progress) as listener:
            if isinstance(data, (str, bytes, os.PathLike)):
                options |= {"format": format, "delimiter": delimiter, "header": header}
                self._core = source.read_file(data, options, threads, listener)
                self.name = os.path.basename(os.fsdecode(data))
            else:
                if delimiter or header != "auto" or format != "auto":
                    raise ValueError("format, delimiter and header are of files, not of "
                                     f"{type(data).__name__}")
                self._core = source_of(data, source, options, threads, listener)
                self.name = ""
        self.has_values = bool(self._core.summary["columns"][2:3] not in ([], [""]))

    @classmethod
    def _of(cls, core: _core.Interactions, of: Interactions) -> Interactions:
        made = cls.__new__(cls)
        made._core = core
        made.name = of.name
        made.has_values = of.has_values
        return made

    @property
    def users(self) -> Ids:
        return Ids(self._core.users, "user")

    @property
    def items(self) -> Ids:
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

    def to_csr(self) -> Any:
        """scipy.sparse.csr_array, users x items; index r is users.take(r). Shares the memory: it
        cannot be written to."""
        import scipy.sparse
        indptr, indices, values = self._core.csr()
        matrix = scipy.sparse.csr_array((values, indices, indptr), shape=self.shape, copy=False)
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix

    def save(self, path: Path) -> None:
        """Writes user,item,value[,time] as CSV (.tsv: tabs, .mtx: Matrix Market; and .gz, .zst)."""
        call(self._core.write, path)

    def __len__(self) -> int:
        return self.nnz

    def __repr__(self) -> str:
        return (f"<likewise.Interactions: {self.shape[0]:,} users, {self.shape[1]:,} items, "
                f"{self.nnz:,} interactions>")


def as_interactions(data: Any, name: str) -> Interactions:
    """What comes in at any door: Interactions, or what Interactions() takes. `name` is the argument's."""
    if isinstance(data, Interactions):
        return data
    try:
        return Interactions(data)
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"{name}: {error}") from error


def as_interactions_or_none(data: Any, name: str) -> _core.Interactions | None:
    return None if data is None else as_interactions(data, name)._core


def split(data: Any,
          method: Literal["random", "per-user", "last", "time", "kfold"] = "random", *,
          test: float = 0.2, rows: int | None = None, last: int = 1, folds: int = 5,
          seed: int = 42) -> Any:
    """Splits Interactions, or what Interactions() takes, into a training and a test part that share
    users and items.

    method  "random": a share `test` of all interactions; "per-user": a share `test` of every user's,
            rounded, at least one of them in training, or `rows` of every user with more; "last": the
            `last` newest of every user with more; "time": the newest share `test`; "kfold": `folds`
            pairs, each interaction in one test part
    Returns (train, test), or a list of `folds` such pairs. The same for the same seed, whatever the
    order of rows. ValueError for values outside of their range, for "last" and "time" without
    times, and where a part would be empty.
    """
    data = as_interactions(data, "data")
    count = 0 if rows is None else count_of(rows, "rows")
    parts = [(Interactions._of(train, data), Interactions._of(held_out, data))
             for train, held_out in call(data._core.split, method, test, last, folds, count, seed)]
    return parts if method == "kfold" else parts[0]
