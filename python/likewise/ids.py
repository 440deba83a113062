# SPDX-License-Identifier: Apache-2.0
"""Between the ids that users know and the indices that the extension takes."""
from __future__ import annotations

import numbers
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Callable, Literal

import numpy as np
import numpy.typing as npt

from likewise import _core
from likewise.arguments import shown

IndexArray = npt.NDArray[np.int32]
IdArray = npt.NDArray[Any]
#: What becomes of ids that a model does not know: KeyError, or they are left out and counted.
Unknown = Literal["raise", "skip"]


def is_one(ids: object) -> bool:
    """Whether this is one id rather than a sequence of them."""
    if isinstance(ids, np.ndarray):
        return ids.ndim == 0
    return isinstance(ids, (str, bytes)) or not (hasattr(ids, "__len__") or isinstance(ids, Iterable))


def _refuse_tables(ids: Any, side: str) -> None:
    """What has rows and columns is no sequence of ids."""
    shape = getattr(ids, "shape", ())
    if not isinstance(shape, tuple) or len(shape) < 2:
        return
    names = getattr(ids, "column_names", getattr(ids, "columns", None))
    if names is None or callable(names):
        column = ", such as ids[:, 0]" if isinstance(ids, np.ndarray) and len(shape) == 2 else ""
        raise TypeError(f"{side}s are a sequence of ids, not of type {type(ids).__name__} and shape {shape}: give one "
                        f"column{column}")
    names = [str(name) for name in names]
    known = _core.known_columns([name.encode(errors="replace").decode() for name in names])[side == "item"]
    name = shown(names[known[0]]) if known else shown(names[0]) if names else "NAME"
    raise TypeError(f"{side}s are a sequence of ids, not a frame: give the column that holds them, such as frame[{name}]")


def listed(ids: Any) -> Any:
    """Ids that count by their places: of sets, of generators, and of Series whatever their index is."""
    if isinstance(ids, np.ma.MaskedArray) and np.ma.getmaskarray(ids).any():
        raise ValueError(f"ids: place {int(np.argmax(np.ma.getmaskarray(ids)))} is masked: leave it out")
    if isinstance(ids, (list, tuple, np.ndarray)):
        return ids
    if not isinstance(ids, Iterable) or isinstance(ids, (str, bytes)):
        raise TypeError(f"a sequence of ids is needed, not {shown(ids)}")
    return ids.to_numpy() if hasattr(ids, "to_numpy") else list(ids)


def spelled(one: Any, as_text: bool) -> Any:
    """An id as text or as a whole number, where it can be the other: 10 and "10" are one id, "010" is another."""
    if as_text and isinstance(one, numbers.Integral) and not isinstance(one, bool):
        return str(int(one))
    if not as_text and isinstance(one, str) and _WHOLE.fullmatch(one):
        return int(one)
    return one


#: What to do about ids of another type.
_HINTS = {bool: ": of a mask, give the ids that it takes, frame.column[mask]",
          str: ", next to whole numbers: give all as numbers, or all as text"}


def _hint(wrong: Any, ids: Any) -> str:
    """What to do about an id of another type among these."""
    if not isinstance(wrong, float):
        return _HINTS.get(type(wrong), "")
    if not isinstance(ids, np.ndarray) or ids.dtype.kind != "f":
        return f": give int({wrong!r}), or a whole number" if wrong.is_integer() else ""
    gaps = np.isnan(ids)
    if (ids[~gaps] != np.trunc(ids[~gaps])).any():
        return ""
    return f": {'leave out those that are missing, and ' if gaps.any() else ''}make them whole with astype(\"int64\")"


#: A whole number as it is written canonically, and ids are read as one.
_WHOLE = re.compile("0|-?[1-9][0-9]{0,18}", re.ASCII)


def _are_texts(ids: Any) -> bool:
    return len(ids) > 0 and all(isinstance(one, str) for one in ids)


class Ids:
    """Ids of the users or of the items, in the order of their indices.

    Integer ids are int64 arrays, text ids arrays of `str`, as they were given: "10" of a frame stays text. A whole
    number finds the text id that it is spelled as, and text the whole number that it spells, so programs go on where
    the first text joined ids that were whole numbers. They are copied and pickled like arrays, and == compares ids
    and their order.
    """

    def __init__(self, core: _core.IdMap, what: str, titles_at: Callable[[IndexArray], list[str]] | None = None):
        self._core = core
        self.what = what  #: "user" or "item"
        self._titles_at = titles_at

    @property
    def is_integer(self) -> bool:
        """Whether the ids are whole numbers, not text."""
        return self._core.is_integer

    def __len__(self) -> int:
        return len(self._core)

    def __getitem__(self, place: Any) -> Any:
        """The id of a place, from the end where it is negative; an array of ids for slices and arrays."""
        if isinstance(place, (int, np.integer)) and not isinstance(place, bool):
            if not -len(self) <= place < len(self):
                raise IndexError(f"there are {len(self)} {self.what}s, not one at {place}")
            return self.take(np.array([place % len(self)])).tolist()[0]
        return self.take(np.arange(len(self), dtype=np.int32)[place])

    def __iter__(self) -> Iterator[Any]:
        return iter(np.asarray(self).tolist())

    def index(self, one: Any) -> int:
        """The place of an id; ValueError where there is none, as of a list."""
        place = int(self.find([one])[0])
        if place < 0:
            raise ValueError(f"{shown(one)} is no {self.what} of these")
        return place

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> IdArray:
        return self.take(np.arange(len(self), dtype=np.int32))

    def __eq__(self, other: object) -> bool:
        """Whether they are the same ids in the same order, of users both or of items."""
        if not isinstance(other, Ids):
            return NotImplemented
        return self.what == other.what and self.is_integer == other.is_integer and np.array_equal(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> Ids:
        return self

    def __deepcopy__(self, _: Any) -> Ids:
        return self

    def __reduce__(self) -> Any:
        ids = np.asarray(self)
        return _restored, (ids if self.is_integer else ids.tolist(), self.what)

    def __contains__(self, one: object) -> bool:
        try:
            return bool(self.find([one])[0] >= 0)
        except TypeError:
            return False

    def __repr__(self) -> str:
        kind = "integer" if self._core.is_integer else "text"
        return f"<{len(self):,} {kind} ids of {self.what}s>"

    def take(self, indices: IndexArray) -> IdArray:
        """The ids of indices, in their shape."""
        indices = np.asarray(indices)
        if indices.dtype.kind not in "iu" and indices.size:
            raise TypeError(f"indices are whole numbers, not {indices.dtype}")
        flat = np.ascontiguousarray(indices, dtype=np.int32).reshape(-1)
        if self._core.is_integer:
            return self._core.take_integers(flat).reshape(indices.shape)
        result = np.empty(flat.shape, dtype=object)
        result[:] = self._core.take_texts(flat)
        return result.reshape(indices.shape)

    def find(self, ids: Iterable[Any]) -> IndexArray:
        """The indices of ids, -1 for those that are not known. TypeError for ids of another kind."""
        _refuse_tables(ids, self.what)
        given = listed(ids)
        if self._core.is_integer and not _are_texts(given):
            return self._core.find_integers(self._integers(given))
        return self._core.find_texts([self._text(one) for one in (given.tolist() if isinstance(given, np.ndarray) else given)])

    def require(self, ids: Iterable[Any]) -> IndexArray:
        """As find(), but KeyError names the first that is not known."""
        _refuse_tables(ids, self.what)
        given = listed(ids)
        indices = self.find(given)
        if len(indices) and indices.min() < 0:
            one = given[int(np.argmax(indices < 0))]
            one = getattr(one, "item", lambda: one)()
            raise KeyError(f"there is no {self.what} {shown(one)} in the model{self._by_title(one)}")
        return indices

    def _by_title(self, one: Any) -> str:
        """How to ask for an item of which this is the title, and not the id."""
        titles = [] if self._titles_at is None else self._titles_at(np.arange(len(self), dtype=np.int32))
        places = [place for place, title in enumerate(titles) if title and title == one]
        if not places:
            return ""
        named = [shown(self[place]) for place in places[:3]]
        return f"; that is the title of {self.what} {' and of '.join(named)}: ask for {' or '.join(named)}"

    def known(self, ids: Iterable[Any], unknown: Unknown) -> tuple[IndexArray, int]:
        """The indices of ids, and how many were skipped: none unless unknown is "skip"."""
        if unknown not in ("raise", "skip"):
            raise ValueError(f"unknown must be \"raise\" or \"skip\", not {shown(unknown)}")
        if unknown == "raise":
            try:
                return self.require(ids), 0
            except KeyError as error:
                raise KeyError(f"{error.args[0]}; unknown=\"skip\" leaves such ids out") from None
        indices = self.find(ids)
        there = indices >= 0
        return indices[there], int(len(there) - there.sum())

    def _text(self, one: Any) -> str:
        if isinstance(one, str):
            return one
        if isinstance(one, numbers.Integral) and not isinstance(one, bool):
            return str(int(one))
        raise TypeError(f"ids of {self.what}s are text (str), not {shown(one)} of type {type(one).__name__}")

    def _integers(self, ids: Sequence[Any] | IdArray) -> npt.NDArray[np.int64]:
        if len(ids) == 0:
            return np.empty(0, dtype=np.int64)
        try:
            array = np.asarray(ids)
        except ValueError:  # sequences of several lengths
            array = np.asarray(ids, dtype=object)
        if array.dtype.kind not in "iu" or array.ndim != 1:
            wrong = next((one for one in ids if isinstance(one, bool) or not isinstance(one, numbers.Integral)), ids[0])
            wrong = wrong.item() if isinstance(wrong, np.generic) else wrong
            raise TypeError(f"ids of {self.what}s are whole numbers (int), not {shown(wrong)} of "
                            f"type {type(wrong).__name__}{_hint(wrong, ids)}")
        if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
            raise KeyError(f"there is no {self.what} {array.max()} in the model")
        return np.ascontiguousarray(array, dtype=np.int64)


def _restored(ids: Any, what: str) -> Ids:
    return Ids(_core.IdMap.of(ids), what)
