# SPDX-License-Identifier: Apache-2.0
"""What would keep a training from starting, found before it starts: each with one sentence."""
from __future__ import annotations

import re
import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from likewise import _core
from likewise.spark.workers import shared_workers

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


def require_new_column(dataset: DataFrame, name: str) -> None:
    if name in dataset.columns:
        raise ValueError(f"predictionCol {name!r} is a column already: drop it, or take another name")


def require_device(name: str) -> None:
    """ValueError for a name of none. Whether there is such a GPU, its workers know."""
    if not re.fullmatch(r"auto|cuda(:(all|\d+(,\d+)*))?", name):
        _core.Device(name)


def require_workers(spark: SparkSession) -> None:
    """ImportError where Python's workers are not as the driver, in one sentence: found by one small task."""
    context = spark.sparkContext
    try:
        with shared_workers(spark):
            found = context.parallelize([0], 1).map(probe_task()).collect()[0]
    except Exception as error:
        raise ImportError(f"{_cause(str(error))}: {_advice(context)}") from None
    for name, mine in probe_task()(0)["versions"].items():
        theirs, why = found["versions"][name], found["missing"].get(name)
        if theirs is None:
            raise ImportError(f"the workers' Python ({found['python']} on {found['host']}) cannot load {name} ({why}): "
                              f"{_advice(context)}")
        if not same_version(name, mine, theirs):
            raise ImportError(f"the workers' Python ({found['python']} on {found['host']}) has {name} {theirs}, and the "
                              f"driver {mine}: {_advice(context)}")


def probe_task() -> Any:
    """What Python's worker is and has; needs nothing of likewise to be read on another machine."""
    def probe(_: Any) -> dict[str, Any]:
        import importlib
        import importlib.metadata
        import platform
        import socket
        import sys
        versions: dict[str, Any] = {"Python": platform.python_version()}
        missing = {}
        for name in ("pyarrow", "pandas", "likewise"):
            try:
                # pandas is slow to load, and only Spark's own code needs it
                versions[name] = (importlib.metadata.version(name) if name == "pandas" else
                                  importlib.import_module(name).__version__)
            except Exception as error:
                versions[name], missing[name] = None, str(error) or type(error).__name__
        return {"python": sys.executable, "host": socket.gethostname(), "versions": versions, "missing": missing}

    return probe


def same_version(name: str, mine: str | None, theirs: str) -> bool:
    """likewise has to be the very same; of others patches may differ."""
    if mine is None or name == "likewise":
        return mine in (None, theirs)
    return mine.split(".")[:2] == theirs.split(".")[:2]


def _cause(trace: str) -> str:
    """Why the small task failed, of what Spark says of it."""
    patterns = (r"PYTHON_VERSION_MISMATCH\] (.+?)\.?(?=\s+Please| PySpark|\n|$)", r"Cannot run program [^\n]+?(?=\n|$)",
                r"(?m)^(?:\w+\.)*\w*(?:Error|Exception): .+$")
    for pattern in patterns:
        match = re.search(pattern, trace)
        if match:
            return f"Python's workers do not start ({(match[1] if match.groups() else match[0]).strip()})"
    return f"Python's workers do not start ({trace.strip().splitlines()[0] if trace.strip() else 'no reason given'})"


def _advice(context: Any) -> str:
    return (f"workers run {context.pythonExec!r}, so install the driver's versions there (pip install \"likewise[spark]\"), or "
            "set PYSPARK_PYTHON, on all machines, to an interpreter that has them, before the session starts")


def slots(spark: SparkSession) -> int:
    """Tasks that Spark would run at once, about."""
    return max(1, int(spark.sparkContext.defaultParallelism))


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
