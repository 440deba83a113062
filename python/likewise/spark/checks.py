# SPDX-License-Identifier: Apache-2.0
"""What would keep a training from starting, found before it starts: each with one sentence."""
from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

#: Executors that Spark was asked for may take a moment to come.
SLOT_PATIENCE = 30.0


def session_of(dataset: DataFrame) -> SparkSession:
    """The dataset's session. TypeError for what is no DataFrame, or one of Spark Connect."""
    if not hasattr(dataset, "sparkSession"):
        raise TypeError(f"a DataFrame of Spark is needed, not {type(dataset).__name__}")
    if not hasattr(dataset, "_jdf"):
        raise TypeError("likewise.spark works in a driver with a SparkContext; this DataFrame is one of Spark Connect")
    return dataset.sparkSession


def require_column(dataset: DataFrame, name: str, what: str) -> None:
    if name not in dataset.columns:
        raise ValueError(f"{what} {name!r} is not a column; there are {', '.join(dataset.columns)}")


@contextlib.contextmanager
def loading_told() -> Iterator[None]:
    """ImportError in one sentence where tasks could not load likewise, in place of their tracebacks."""
    try:
        yield
    except Exception as error:
        found = re.search(r"likewise cannot be loaded on .* on all machines", str(error))
        if found is None:
            raise
        raise ImportError(found[0]) from None


def master_of(spark: SparkSession) -> str:
    return str(spark.sparkContext.master)


def is_dynamic(spark: SparkSession) -> bool:
    conf = spark.sparkContext.getConf()
    return conf.get("spark.dynamicAllocation.enabled", "false") == "true" and not master_of(spark).startswith("local")


def require_ranks(spark: SparkSession, workers: int, device: str, patience: float = SLOT_PATIENCE) -> None:
    """ValueError where Spark could not run so many tasks at once, or they could not share what they have."""
    if workers == 1:
        return
    if device not in ("cpu", "auto", "cuda"):
        raise ValueError(f"numWorkers={workers} with device {device!r}: several train on 'cpu', or on 'cuda', each on the "
                         "GPU that Spark assigns to it or that is next on its host; numWorkers=1 trains on any device")
    if is_dynamic(spark):
        raise ValueError(f"numWorkers={workers} trains in one barrier stage, which Spark does not run with dynamic "
                         "allocation: set spark.dynamicAllocation.enabled=false, or take numWorkers=1")
    deadline = time.monotonic() + patience
    while (slots := task_slots(spark)) < workers:
        if time.monotonic() >= deadline:
            raise ValueError(f"numWorkers={workers}, but Spark can run {slots} task{'s' * (slots != 1)} at once: take "
                             "fewer workers, or give the application more executors or cores")
        time.sleep(0.5)


def task_slots(spark: SparkSession) -> int:
    """How many tasks run at once now."""
    context: Any = spark.sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def executor_cores(spark: SparkSession) -> int:
    """Cores of an executor, or of this machine where there is no other."""
    master = master_of(spark)
    if master.startswith("local") and not master.startswith("local-cluster"):
        return int(spark.sparkContext.defaultParallelism)
    if master.startswith("local-cluster"):
        return int(master.split("[")[1].rstrip("]").split(",")[1])
    # A standalone worker gives an executor all of its cores where nobody says how many.
    return int(spark.sparkContext.getConf().get("spark.executor.cores", "0"))


def worker_memory(spark: SparkSession) -> int:
    """Bytes that a rank may take: what the application set aside for Python, or half an executor's memory."""
    conf = spark.sparkContext.getConf()
    size = conf.get("spark.executor.pyspark.memory", "")
    if size:
        return _bytes(size, 2**20)
    master = master_of(spark)
    if master.startswith("local") and not master.startswith("local-cluster"):
        with open("/proc/meminfo", encoding="ascii") as info:
            return int(info.readline().split()[1]) * 1024 // 2
    return _bytes(conf.get("spark.executor.memory", "1g"), 1) // 2


def _bytes(size: str, unit: int) -> int:
    """As Spark reads sizes: "2g", "512m", a number in units of its own."""
    units = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
    text = size.strip().lower().removesuffix("b")
    if text and text[-1] in units:
        return int(text[:-1]) * units[text[-1]]
    return int(text) * unit
