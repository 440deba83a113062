# SPDX-License-Identifier: Apache-2.0
"""Rows on their way between Spark and native code: record batches in Arrow's format, each one value of bytes.

Spark's JVM turns the rows of a DataFrame into batches of some ten thousand rows, in all tasks at once, and moves each as
one value: no Python worker wakes for it. Tasks and the driver read them where they lie.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from likewise.spark.workers import shared_workers

#: Of rows of factors that leave a rank as one value.
BLOCK_BYTES = 1 << 20

#: Spark's names of types, as Arrow has them.
_KINDS = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.utf8(), "float": pa.float32(),
          "array<float>": pa.list_(pa.float32())}


def batches_of(frame: Any) -> Any:
    """A JavaRDD of its rows, each element a record batch."""
    return frame._jdf.toArrowBatchRdd().toJavaRDD()


def schema_of(frame: Any) -> dict[str, str]:
    """The columns of batches_of(), for read()."""
    large = frame.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false") == "true"
    kinds = {field.name: field.dataType.simpleString() for field in frame.schema}
    return {name: "large string" if large and kind == "string" else kind for name, kind in kinds.items()}


def rows_at_once(frame: Any) -> int:
    """Rows of a full batch; 0 where a batch is a partition."""
    return max(0, int(frame.sparkSession.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")))


def in_python(batches: Any, context: Any) -> Any:
    """A JavaRDD of bytes for Python's tasks, and for the driver."""
    from pyspark import RDD
    from pyspark.serializers import NoOpSerializer
    return RDD(batches, context, NoOpSerializer())


def in_spark(blocks: Any, spark: Any) -> Any:
    """What Python's tasks yield, bytes, as a DataFrame (value binary). The JVM does not look into them."""
    from pyspark.sql import DataFrame

    blocks._bypass_serializer = True
    with shared_workers(spark):
        rows = blocks._jrdd.rdd()
    binary = spark.sparkContext._jvm.org.apache.spark.sql.Encoders.BINARY()
    return DataFrame(spark._jsparkSession.createDataset(rows, binary).toDF(), spark)


def read(values: Iterable[Any], schema: dict[str, str]) -> Iterator[pa.RecordBatch]:
    """The batches that the values are, where they lie."""
    fields = pa.schema([(name, pa.large_utf8() if kind == "large string" else _KINDS[kind])
                        for name, kind in schema.items()])
    for value in values:
        yield pa.ipc.read_record_batch(pa.py_buffer(value), fields)


#: Types of numbers, as NumPy has them.
_NUMBERS = {"f4": pa.float32(), "f8": pa.float64(), "i1": pa.int8(), "i4": pa.int32(), "i8": pa.int64(), "u8": pa.uint64()}


def column_of(numbers: npt.NDArray[Any]) -> pa.Array:
    """An array over the memory of numbers. (pa.array() loads pandas, some 40 MB in each worker, to see whether they are its.)"""
    kind = _NUMBERS[numbers.dtype.str[1:]]
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])


def numbers_of(column: pa.Array, gaps: float | None = None) -> npt.NDArray[Any]:
    """The other way round (to_numpy() loads pandas, too); `gaps` stands for nulls, where there may be some."""
    kind = next(np.dtype(name) for name, arrow in _NUMBERS.items() if arrow == column.type)
    if gaps is not None and column.null_count:
        filled = np.full(len(column), gaps, dtype=kind)
        filled[numbers_of(pc.indices_nonzero(column.is_valid()))] = numbers_of(column.drop_null())
        return filled
    if not len(column):
        return np.empty(0, dtype=kind)
    return np.frombuffer(column.buffers()[1], dtype=kind, count=len(column), offset=column.offset * kind.itemsize)


def lists_of(table: npt.NDArray[np.float32]) -> pa.Array:
    """Rows of a table as lists."""
    count, width = table.shape
    return pa.ListArray.from_arrays(column_of(np.arange(count + 1, dtype=np.int32) * np.int32(width)),
                                    column_of(table.reshape(-1)))


def blocks_of(mark: bytes, ids: pa.Array, table: npt.NDArray[np.float32]) -> Iterator[bytes]:
    """Rows (id, features) as values of bytes that begin with a mark."""
    rows = max(1, BLOCK_BYTES // max(4, 4 * table.shape[1]))
    for first in range(0, len(table), rows):
        some = pa.RecordBatch.from_arrays([ids.slice(first, rows), lists_of(table[first:first + rows])],
                                          names=["id", "features"])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, some.schema) as writer:
            writer.write_batch(some)
        yield mark + sink.getvalue().to_pybytes()


def open_blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of blocks, which are the first column."""
    for batch in batches:
        for block in batch.column(0):
            with pa.ipc.open_stream(block.as_buffer().slice(1)) as stream:
                yield from stream


def opened(blocks: Any, ids: str) -> Any:
    """Blocks of a DataFrame as rows (id, features)."""
    def run(batches: Any) -> Any:
        from likewise.spark import chunks
        yield from chunks.open_blocks(batches)

    return blocks.mapInArrow(run, f"id {ids}, features array<float>")
