# SPDX-License-Identifier: Apache-2.0
"""Ratings that one task has all of: their ids become numbers as they come."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from likewise.spark import chunks

#: Rows that are coded together: an eighth of those before them, so that neither the groups nor the rows of one are many.
LEAST_GROUP_ROWS = 1 << 17
MOST_GROUP_ROWS = 1 << 20
#: What rows may be without, in messages.
AN_ID = "an id (null, or a number that no int is)"
A_VALUE = "a value (null)"


class CodedRatings:
    """Ids are numbered by their order, so that neither the order of rows nor their partitions matter.

    users, items    the ids, rising (Arrow)
    """

    def __init__(self, batches: Iterable[pa.RecordBatch], columns: tuple[str, str, str]):
        """Batches of (user, item, v), whose columns are called `columns` in messages. ValueError for rows without an id
        or a value."""
        self.rows = 0
        self._codes: tuple[list[Any], list[Any]] = ([], [])
        self._values: list[Any] = []
        self._without = [0, 0, 0]
        held: list[pa.RecordBatch] = []
        for batch in batches:
            if not batch.num_rows:
                continue
            held.append(batch)
            self.rows += batch.num_rows
            if sum(one.num_rows for one in held) >= min(max(self.rows // 8, LEAST_GROUP_ROWS), MOST_GROUP_ROWS):
                self._code(held)
                held = []
        if held:
            self._code(held)
        for name, count, what in zip(columns, self._without, (AN_ID, AN_ID, A_VALUE)):
            if count:
                raise ValueError(f"column {name!r} has {count:,} rows without {what}")
        if not self.rows:
            raise ValueError("there are no ratings to train on")
        self.users, self.items = (self._number(codes) for codes in self._codes)

    def take(self) -> Iterator[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]]:
        """Users, items and values by their numbers; what was taken is gone."""
        for codes in self._codes:
            codes.reverse()
        self._values.reverse()
        while self._values:
            yield self._codes[0].pop(), self._codes[1].pop(), chunks.numbers_of(self._values.pop())

    def digest(self) -> int:
        """64 bits of all rows by their numbers, in whatever order they came; before take()."""
        total = 0
        for users, items, values in zip(*self._codes, self._values):
            numbers = chunks.numbers_of(values).view(np.uint32).astype(np.uint64)
            hashes = _mixed(_mixed(users.astype(np.uint64) << 32 | items.astype(np.uint64)) ^ numbers)
            total += int(hashes.sum(dtype=np.uint64))
        return total % 2**64

    def _code(self, held: list[pa.RecordBatch]) -> None:
        group = pa.Table.from_batches(held).combine_chunks()
        for side, codes in enumerate(self._codes):
            column = group.column(side).chunk(0)
            self._without[side] += column.null_count
            codes.append(column.dictionary_encode())
        values = group.column(2).chunk(0)
        self._without[2] += values.null_count
        self._values.append(values)

    @staticmethod
    def _number(codes: list[Any]) -> pa.Array:
        whole = pa.chunked_array(codes).unify_dictionaries()
        ids = whole.chunk(0).dictionary
        order = pc.sort_indices(ids)
        places = np.empty(len(ids), dtype=np.int32)
        places[chunks.numbers_of(order)] = np.arange(len(ids), dtype=np.int32)
        for at, chunk in enumerate(whole.chunks):
            codes[at] = places[chunks.numbers_of(chunk.indices)]
        return ids.take(order)


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A hash of each number: the last steps of SplitMix64 (Steele, Lea, Flood, 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
