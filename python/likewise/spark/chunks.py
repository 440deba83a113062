# SPDX-License-Identifier: Apache-2.0
"""Ratings on their way through Spark: chunks of some thousand rows, each one binary value in Arrow's format.

Spark moves a chunk as it moves any value, so that rows are taken apart once, and put into native memory once. These
are the functions of its tasks.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

#: Bytes of a chunk, about. Spark hands values to a task ten thousand at once, which have to fit into a gigabyte or two.
CHUNK_BYTES = 1 << 15
#: Bytes of rows that a task handles together.
GROUP_BYTES = 1 << 24
#: Ids with their counts that a task keeps until it adds them up.
MOST_COUNTS = 1 << 22

#: What a row of gather() is: a chunk of ratings, or a user or an item with its count in the task.
CELLS, USERS, ITEMS = range(3)

Batches = Iterable[pa.RecordBatch]


def task_of(function: str, **told: Any) -> Any:
    """chunks.`function` for mapInArrow, which needs nothing of likewise to be read on another machine."""
    def run(batches: Any) -> Any:
        try:
            from likewise.spark import chunks
        except ImportError as error:
            import socket
            raise ImportError(f"likewise cannot be loaded on {socket.gethostname()} ({error}): "
                              'pip install "likewise[spark]" on all machines') from error
        yield from getattr(chunks, function)(batches, **told)

    return run


def gather(batches: Batches) -> Iterator[pa.RecordBatch]:
    """(user, item, v) as chunks, and every user and item of the task with its count: (what, cells, user, item, n)."""
    counts: dict[str, list[pa.Table]] = {"user": [], "item": []}
    kinds: dict[str, Any] = {}
    for group in groups_of(batches):
        kinds = {name: group.schema.field(name).type for name in counts}
        for name, found in counts.items():
            pairs = group.column(name).value_counts()
            found.append(pa.table({"id": pairs.field(0), "n": pairs.field(1)}))
            if sum(map(len, found)) > MOST_COUNTS:
                found[:] = [added_up(found)]
        for cells in packed(group):
            yield _gathered(CELLS, 1, kinds, cells=cells)
    for what, (name, found) in zip((USERS, ITEMS), counts.items()):
        if found:
            total = added_up(found)
            yield _gathered(what, len(total), kinds, **{name: _one(total["id"]), "n": _one(total["n"])})


def number(batches: Batches, users: Any, items: Any) -> Iterator[pa.RecordBatch]:
    """Chunks of (user, item, v) as (part int, cells): chunks of (u int, i int, v) by the tables of ids."""
    tables = [pa.ipc.open_stream(pa.py_buffer(told.value)).read_all().combine_chunks() for told in (users, items)]
    places = counted_from_task()
    for group in groups_of(opened(batch.column(0) for batch in batches)):
        numbers = []
        for column, table in zip(group.columns[:2], tables):
            found = pc.index_in(column, value_set=_one(table["id"]).cast(column.type))
            numbers.append(_one(table["idx"]).take(found))
        result = pa.RecordBatch.from_arrays([*numbers, group.column(2)], names=["u", "i", "v"])
        if numbers[0].null_count or numbers[1].null_count:  # rows that changed: the driver counts what came
            result = result.filter(pc.and_(numbers[0].is_valid(), numbers[1].is_valid()))
        yield from _parted(places, result)


def pack(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Rows as (part int, cells): chunks."""
    places = counted_from_task()
    for group in groups_of(batches):
        yield from _parted(places, group)


def unpack(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Chunks as rows."""
    yield from opened(batch.column(0) for batch in batches)


def groups_of(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Larger batches of the same rows."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        size += batch.nbytes
        if size >= GROUP_BYTES:
            yield _joined(held)
            held, size = [], 0
    if held:
        yield _joined(held)


def opened(columns: Iterable[pa.Array]) -> Iterator[pa.RecordBatch]:
    """The chunks that binary values are, where they lie."""
    for column in columns:
        for one in column:
            with pa.ipc.open_stream(one.as_buffer()) as stream:
                yield from stream


def packed(group: pa.RecordBatch) -> Iterator[pa.Array]:
    """Its rows as chunks, each an array of one binary value."""
    rows = max(1, group.num_rows * CHUNK_BYTES // max(1, group.nbytes))
    for first in range(0, group.num_rows, rows):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, group.schema) as writer:
            writer.write_batch(group.slice(first, rows))
        buffer = sink.getvalue()
        offsets = pa.array([0, buffer.size], pa.int32()).buffers()[1]
        yield pa.Array.from_buffers(pa.binary(), 1, [None, offsets, buffer])


def counted_from_task() -> Iterator[int]:
    """Numbers by which chunks are dealt out: from another one on in each task."""
    from pyspark import TaskContext
    context = TaskContext.get()
    return itertools.count(context.partitionId() if context else 0)


def added_up(counts: list[pa.Table]) -> pa.Table:
    total = pa.concat_tables(counts).group_by("id").aggregate([("n", "sum")])
    return pa.table({"id": total["id"], "n": total["n_sum"]})


def _gathered(what: int, rows: int, kinds: dict[str, Any], **columns: Any) -> pa.RecordBatch:
    schema = {"cells": pa.binary(), **kinds, "n": pa.int64()}
    arrays = [columns[name] if name in columns else pa.nulls(rows, kind) for name, kind in schema.items()]
    return pa.RecordBatch.from_arrays([pa.array([what] * rows, pa.int8()), *arrays], names=["what", *schema])


def _parted(places: Iterator[int], group: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for cells in packed(group):
        yield pa.RecordBatch.from_arrays([pa.array([next(places)], pa.int32()), cells], names=["part", "cells"])


def _joined(held: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(held).combine_chunks().to_batches()[0]


def _one(column: Any) -> Any:
    """A column as one array."""
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
