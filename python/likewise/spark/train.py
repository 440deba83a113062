# SPDX-License-Identifier: Apache-2.0
"""Training as the driver sees it: one stage of ranks, whose factors stay in Spark."""
from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import secrets
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from likewise import NumericalError, __version__
from likewise.progress import logger
from likewise.spark import checks, prepare
from likewise.spark.checkpoints import forget
from likewise.spark.params import TrainingParams
from likewise.spark.ranks import ITEMS, REPORT, SCHEMA, USERS, Plan, rank_task

_ERRORS: dict[str, Any] = {"TypeError": TypeError, "MemoryError": MemoryError, "NumericalError": NumericalError,
                           "OSError": OSError, "FileNotFoundError": FileNotFoundError, "ImportError": ImportError,
                           "PermissionError": PermissionError}


@dataclasses.dataclass(frozen=True)
class Learned:
    """Factors as (id, features), kept by Spark, and what the ranks reported."""

    users: DataFrame
    items: DataFrame
    report: dict[str, Any]


def fit(dataset: DataFrame, params: TrainingParams) -> Learned:
    spark = checks.session_of(dataset)
    native = params.native_params()
    checks.require_column(dataset, params.getUserCol(), "userCol")
    checks.require_column(dataset, params.getItemCol(), "itemCol")
    level = storage_level("finalStorageLevel", params.getFinalStorageLevel())
    if params.getNumWorkers() > 1:
        checks.require_ranks(spark, params.getNumWorkers(), params.getDevice())
    # They are read three times, and have to be the same each time.
    ratings = prepare.gathered(
        prepare.ratings_of(dataset, params.getUserCol(), params.getItemCol(), params.getRatingCol()))
    ratings.persist(storage_level("intermediateStorageLevel", params.getIntermediateStorageLevel()))
    sides: list[Any] = []
    try:
        for name, column in (("user", params.getUserCol()), ("item", params.getItemCol())):
            with checks.loading_told():
                sides.append(prepare.number_ids(ratings, name, column))
        users, items = sides
        ranks = params.getNumWorkers() or suitable_ranks(spark, users, items, native)
        require_rows(ranks, users, items)
        checks.require_ranks(spark, ranks, params.getDevice())
        plan = make_plan(params, native, users.parts(ranks), items.parts(ranks), checks.executor_cores(spark))
        numbered = prepare.NumberedRatings(ratings, users, items)
        sides.append(numbered)
        return run(numbered.cells, plan, users, items, level)
    finally:
        for side in sides:
            side.release()
        ratings.unpersist()


def run(cells: DataFrame, plan: Plan, users: prepare.Side, items: prepare.Side, level: StorageLevel) -> Learned:
    """Trains, and raises what a rank could not go on with."""
    told = cells.repartition(plan.ranks, "part") if plan.ranks > 1 else cells.repartition(1)
    answers = told.mapInArrow(rank_task(plan), SCHEMA, barrier=plan.ranks > 1)
    # The shuffle ends the barrier stage: what is made of the factors are ordinary stages.
    kept = answers.repartition("side", "idx").persist(level)
    try:
        reports = [json.loads(row["report"]) for row in
                   kept.where(F.col("side") == REPORT).orderBy("idx").select("report").collect()]
        raise_reported(reports)
        require_all(reports, plan, users.ratings)
        for remark in reports[0]["remarks"]:
            logger.info("%s", remark)
        found = []
        for side, number in ((users, USERS), (items, ITEMS)):
            rows = kept.where(F.col("side") == number).select("idx", "features")
            factors = rows.join(side.ids, on="idx").select("id", "features").persist(level)
            count = factors.count()
            if count != side.rows:
                raise RuntimeError(f"{count} of {side.rows} rows of factors came back from the ranks")
            found.append(factors)
    finally:
        kept.unpersist()
    if plan.checkpoint:
        forget(plan.checkpoint, plan.key)
    return Learned(found[0], found[1], {**reports[0], "workers": plan.ranks})


def raise_reported(reports: list[dict[str, Any]]) -> None:
    """What others say of an error is longer than what the rank says that met it."""
    failed = [report for report in reports if "error" in report]
    if failed:
        first = min(failed, key=lambda report: len(report["message"]))
        raise _ERRORS.get(first["error"], ValueError)(first["message"])


def require_all(reports: list[dict[str, Any]], plan: Plan, ratings: int) -> None:
    if len(reports) != plan.ranks:
        raise RuntimeError(f"{len(reports)} of {plan.ranks} ranks reported")
    found = reports[0]["interactions"] + reports[0]["repeated"]
    if found != ratings:
        raise ValueError(f"the dataset had {ratings:,} rows when its ids were numbered, and {found:,} for training: its rows "
                         "change from one reading to the next; checkpoint() it, or write it to a file first")


def make_plan(params: TrainingParams, native: dict[str, Any], users: list[int], items: list[int], cores: int) -> Plan:
    what = json.dumps([native, users, items, params.native_duplicates(), __version__], sort_keys=True)
    return Plan(params=native, users=users, items=items, iterations=params.getMaxIter(),
                duplicates=params.native_duplicates(), device=_device(params.getDevice(), len(users) - 1),
                threads=params.getNumThreads(), cores=cores, token=secrets.token_hex(16),
                timeout=params.getRankTimeout(), version=__version__,
                checkpoint=params.getCheckpointPath() if params.getCheckpointInterval() > 0 else "",
                every=max(1, params.getCheckpointInterval()),
                key="likewise-" + hashlib.sha256(what.encode()).hexdigest()[:24])


def _device(asked: str, ranks: int) -> str:
    return "cpu" if asked == "auto" and ranks > 1 else asked


def require_rows(ranks: int, users: prepare.Side, items: prepare.Side) -> None:
    for side in (users, items):
        if side.rows < ranks:
            raise ValueError(f"numWorkers={ranks}, but column {side.column!r} has {side.rows} ids: some ranks would have "
                             f"nothing to do; take numWorkers={side.rows} or fewer")


def suitable_ranks(spark: Any, users: prepare.Side, items: prepare.Side, native: dict[str, Any]) -> int:
    """One where the plan of memory fits into a worker, else as many as it takes."""
    if checks.is_dynamic(spark):
        return 1
    needed = planned_bytes(users.rows, items.rows, users.ratings, native)
    return max(1, math.ceil(needed / checks.worker_memory(spark)))


def planned_bytes(users: int, items: int, ratings: int, native: dict[str, Any]) -> int:
    """What one process takes for all of it: the ratings both ways, and as they come; and the rest as planned."""
    cell = 8
    staged = 12 + 12
    factors = 4 * int(native["factors"]) * (users + items + max(users, items))
    return (2 * cell + staged) * ratings + factors


def storage_level(param: str, name: str) -> StorageLevel:
    level = getattr(StorageLevel, name, None)
    if not isinstance(level, StorageLevel) or name == "NONE":
        raise ValueError(f"{param}: {name!r} is no storage level that keeps anything, as MEMORY_AND_DISK")
    return level
