# SPDX-License-Identifier: Apache-2.0
"""Tables of factors that all tasks search: a file that each executor has once, mapped by its Python workers."""
from __future__ import annotations

import dataclasses
import math
import os
import pathlib
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import SparkFiles
from pyspark.sql import DataFrame

from likewise.spark import checks, chunks

#: Rows of a table stand on 64-byte boundaries (likewise::padded_stride).
PADDING = 16
ALIGNMENT = 64
#: Bytes of factors of a task: with fewer it is not worth its start; with more it is slow to move.
LEAST_BYTES = 1 << 20
MOST_BYTES = 1 << 26
#: Rows that the driver has in memory when it sorts a table.
SORTED_AT_ONCE = 1 << 16


@dataclasses.dataclass(frozen=True)
class Table:
    """A file among those of the application: factors as padded float32 rows, and ids (Arrow), both by rising id."""

    name: str
    rows: int
    factors: int

    @property
    def stride(self) -> int:
        return padded(self.factors)


def padded(factors: int) -> int:
    return -(-factors // PADDING) * PADDING


def tasks_of_factors(spark: Any, rows: int, factors: int) -> int:
    """Some for each slot where there is work for them; none with more than Spark moves well."""
    size = 4 * factors * rows
    return max(1, min(math.ceil(size / LEAST_BYTES), checks.slots(spark)), math.ceil(size / MOST_BYTES))


def share_table(factors: DataFrame, rank: int) -> Table:
    """Writes the table on the driver's disk, a part after the other, and gives it to all executors."""
    name = f"likewise-{uuid.uuid4().hex}"
    context: Any = factors.sparkSession.sparkContext
    folder = tempfile.mkdtemp(prefix="likewise-", dir=context._temp_dir)  # goes when the application does
    found: list[pa.Array] = []
    try:
        with open(os.path.join(folder, "rows"), "wb") as file:
            for ids, rows in rows_of(factors, rank):
                found.append(ids)
                file.write(rows.tobytes())
        # Sorted here and not by Spark, whose shuffle would take longer than all the rest.
        ids = pa.chunked_array(found) if found else pa.chunked_array([], pa.int32())
        count = len(ids)
        order = chunks.numbers_of(pc.sort_indices(ids))
        _write_sorted(os.path.join(folder, "rows"), os.path.join(folder, name + ".factors"), order, padded(rank))
        with pa.OSFile(os.path.join(folder, name + ".ids"), "wb") as sink:
            with pa.ipc.new_file(sink, pa.schema([("id", ids.type)])) as writer:
                for first in range(0, count, SORTED_AT_ONCE):
                    some = ids.take(chunks.column_of(order[first:first + SORTED_AT_ONCE])).combine_chunks()
                    writer.write_batch(pa.RecordBatch.from_arrays([some], names=["id"]))
        for ending in (".factors", ".ids"):
            context.addFile(os.path.join(folder, name + ending))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Table(name, count, rank)


def _write_sorted(rows: str, path: str, order: Any, stride: int) -> None:
    """Rows of a file in this order; the file goes."""
    with open(path, "wb") as file:
        if len(order):
            table = np.memmap(rows, dtype=np.float32, mode="r", shape=(len(order), stride))
            for first in range(0, len(order), SORTED_AT_ONCE):
                file.write(table[order[first:first + SORTED_AT_ONCE]].tobytes())
    os.unlink(rows)


def rows_of(factors: DataFrame, rank: int) -> Iterator[tuple[pa.Array, Any]]:
    """(ids, padded rows) of (id, features) on the driver, a part after the other. Spark's JVM alone makes them."""
    batches = chunks.in_python(chunks.batches_of(factors), factors.sparkSession.sparkContext)
    for batch in chunks.read(batches.toLocalIterator(prefetchPartitions=True), chunks.schema_of(factors)):
        yield batch.column(0), features_of(batch.column(1), rank)


def features_of(column: Any, rank: int) -> Any:
    """A list column as float32 rows, padded with zeros. ValueError where a row has another length."""
    lengths = np.diff(chunks.numbers_of(column.offsets))
    if column.null_count or (lengths != rank).any():
        raise ValueError(f"features are lists of {rank} numbers; a row has {lengths[lengths != rank][:1].tolist() or 'none'}")
    values = chunks.numbers_of(column.flatten(), gaps=math.nan)
    rows = np.zeros((len(column), padded(rank)), dtype=np.float32)
    rows[:, :rank] = values.reshape(len(column), rank)
    return rows


_opened: dict[tuple[str, str, str], tuple[Any, Any]] = {}


def open_table(table: Table, metric: str, device: str) -> tuple[Any, pa.Array]:
    """(search, ids): made once in each Python worker, from the mapped file."""
    from likewise import _core

    key = (table.name, metric, device)
    if key not in _opened:
        _opened.clear()  # a worker that goes on to another table
        path = pathlib.Path(SparkFiles.get(table.name + ".factors"))
        if table.rows:
            factors = np.memmap(path, dtype=np.float32, mode="r", shape=(table.rows, table.stride))
        else:
            factors = np.zeros((0, table.stride), dtype=np.float32)  # type: ignore[assignment, unused-ignore]
        ids = pa.ipc.open_file(pa.memory_map(SparkFiles.get(table.name + ".ids"))).read_all().column(0).combine_chunks()
        if isinstance(ids, pa.ChunkedArray):
            ids = pa.concat_arrays(ids.chunks) if ids.num_chunks else pa.array([], ids.type)
        _opened[key] = (_core.FactorSearch(np.asarray(factors), None, metric, device), ids)
    return _opened[key]
