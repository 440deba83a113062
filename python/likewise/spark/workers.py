# SPDX-License-Identifier: Apache-2.0
"""Python's workers, which Spark keeps for the next task: few of them, and no more memory than they need."""
from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any, TypeVar

import pyarrow as pa

Row = TypeVar("Row")

_M_MMAP_THRESHOLD = -3
#: An array of this size goes back to the system as soon as it is freed. glibc's own limit rises to 32 MB by what is freed.
OWN_MEMORY_BYTES = 1 << 20


@contextlib.contextmanager
def shared_workers(spark: Any) -> Iterator[None]:
    """Tasks of RDDs that are made ready here (`rdd._jrdd`) run on the workers of DataFrames' tasks, a process each of some
    100 MB. Spark gives a worker tasks of one environment, and tells those of DataFrames one word more."""
    context = spark.sparkContext
    environment = context.environment
    simplified = spark.conf.get("spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled", "true") == "true"
    context.environment = {**environment, **({"SPARK_SIMPLIFIED_TRACEBACK": "1"} if simplified else {})}
    try:
        yield
    finally:
        context.environment = environment


def lean(rows: Iterator[Row]) -> Iterator[Row]:
    """What a task yields. What it frees meanwhile goes back to the system. Arrow and glibc
    would keep 100 MB after a training of a million ratings. Without glibc only Arrow is told."""
    pa.set_memory_pool(pa.system_memory_pool())
    glibc: Any = ctypes.CDLL(None)
    has_glibc = hasattr(glibc, "mallopt") and hasattr(glibc, "malloc_trim")
    if has_glibc:
        glibc.mallopt(_M_MMAP_THRESHOLD, OWN_MEMORY_BYTES)
    try:
        yield from rows
    finally:
        if has_glibc:
            glibc.malloc_trim(0)
