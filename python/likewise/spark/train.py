# SPDX-License-Identifier: Apache-2.0
"""Training as the driver sees it: one stage of ranks, whose factors stay in Spark."""
from __future__ import annotations

import dataclasses
import json
import math
import secrets
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from likewise import NumericalError, __version__
from likewise.progress import logger
from likewise.spark import checks, chunks, prepare
from likewise.spark.checkpoints import forget, own_place, require_folder
from likewise.spark.params import TrainingParams
from likewise.spark.ranks import ITEMS, REPORT, USERS, Plan, planned_bytes, rank_task, with_ids
from likewise.spark.tables import tasks_of_factors

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
    kept = [storage_level(name, params.getOrDefault(name)) for name in ("intermediateStorageLevel", "finalStorageLevel")]
    checks.require_device(params.getDevice())
    if params.native_checkpoint():
        require_folder(params.native_checkpoint())
    ratings = prepare.ratings_of(dataset, params.getUserCol(), params.getItemCol(), params.getRatingCol())
    ranks = params.getNumWorkers()
    if ranks > 1:
        checks.require_ranks(spark, ranks, params.getDevice())
    checks.require_workers(spark)
    if ranks <= 1:
        limit = 0 if ranks == 1 or checks.is_dynamic(spark) else checks.worker_memory(spark)
        learned, needed = fit_alone(ratings, params, native, limit, *kept)
        if learned is not None:
            return learned
        ranks = math.ceil(needed / limit)
        checks.require_ranks(spark, ranks, params.getDevice())
    return fit_together(ratings, params, native, ranks, *kept)


def fit_alone(ratings: DataFrame, params: TrainingParams, native: dict[str, Any], limit: int, level: StorageLevel,
              final: StorageLevel) -> tuple[Learned | None, int]:
    """By one rank, an ordinary task that numbers the ids. Where it would take more than limit bytes: (None, how many)."""
    spark = ratings.sparkSession
    plan = make_plan(params, native, ratings, 1, limit)
    batches = chunks.batches_of(ratings)
    # All tasks turn rows into batches; one takes them from there.
    batches.persist(spark.sparkContext._getJavaStorageLevel(level))
    try:
        count, parts = batches.count(), batches.getNumPartitions()
        if count == 0:
            raise ValueError("there are no ratings to train on")
        least = planned_bytes(0, 0, max(0, count - parts) * chunks.rows_at_once(ratings), native)
        if 0 < limit < least:
            return None, least
        with own_place(plan.key) as place:
            plan = dataclasses.replace(plan, place=place)
            answers = chunks.in_python(batches.coalesce(1), spark.sparkContext).mapPartitions(rank_task(plan))
            blocks = chunks.in_spark(answers, spark).persist(final)
            try:
                report = reports_of(blocks, plan)[0]
                if "needed" in report:
                    return None, report["needed"]
                ids = [ratings.schema[name].dataType.simpleString() for name in ("user", "item")]
                return learned_from(spark, blocks, ids, report, plan, final), 0
            finally:
                blocks.unpersist()
    finally:
        batches.unpersist(False)


def fit_together(ratings: DataFrame, params: TrainingParams, native: dict[str, Any], ranks: int, level: StorageLevel,
                 final: StorageLevel) -> Learned:
    """By several ranks, the tasks of a barrier stage; Spark numbers the ids."""
    spark = ratings.sparkSession
    ratings.persist(level)  # read three times, and the same each time
    sides: list[prepare.Side] = []
    try:
        rows, digest = prepare.counted(ratings, params.getRatingCol())
        tasks = prepare.tasks_for(rows)
        for name, column in (("user", params.getUserCol()), ("item", params.getItemCol())):
            sides.append(prepare.number_ids(ratings, name, column, tasks))
        users, items = sides
        require_rows(ranks, users, items)
        numbered = prepare.numbered(ratings, users, items, tasks)
        plan = make_plan(params, native, numbered, ranks, 0, users.parts(ranks), items.parts(ranks), digest)
        dealt = chunks.in_python(chunks.batches_of(numbered).repartition(ranks), spark.sparkContext)
        with own_place(plan.key) as place:
            plan = dataclasses.replace(plan, place=place)
            answers = dealt.barrier().mapPartitions(rank_task(plan))
            # The shuffle ends the barrier stage: what is made of the factors are ordinary stages.
            blocks = chunks.in_spark(answers, spark).repartition(ranks).persist(final)
            try:
                reports = reports_of(blocks, plan, sides)
                require_all(reports, plan, users.ratings)
                return learned_from(spark, blocks, ["int", "int"], reports[0], plan, final, sides)
            finally:
                blocks.unpersist()
    finally:
        for side in sides:
            side.release()
        ratings.unpersist()


def reports_of(blocks: DataFrame, plan: Plan, sides: list[prepare.Side] | None = None) -> list[dict[str, Any]]:
    """Trains: what the ranks said, in their order. Raises what one could not go on with; where Spark numbered the ids,
    by these."""
    said = blocks.where(marked(REPORT)).collect()
    reports = sorted((json.loads(bytes(row["value"])[1:]) for row in said), key=lambda report: report["rank"])
    raise_reported(reports, sides)
    for remark in reports[0].get("remarks", []):
        logger.info("%s", remark)
    return reports


def marked(mark: bytes) -> Any:
    return F.substring("value", 1, 1) == F.lit(bytearray(mark))


def learned_from(spark: Any, blocks: DataFrame, ids: list[str], report: dict[str, Any], plan: Plan, level: StorageLevel,
                 sides: list[prepare.Side] | None = None) -> Learned:
    """The factors as rows, each side kept by Spark in tasks of a suitable size."""
    found = []
    for at, mark in enumerate((USERS, ITEMS)):
        rows = report["rows"][at]
        tasks = tasks_of_factors(spark, rows, int(plan.params["factors"]))
        factors = chunks.opened(blocks.where(marked(mark)).repartition(tasks), ids[at])
        if sides is not None:
            named = sides[at].ids.select("idx", F.col("id").alias("name"))
            factors = prepare.joined(factors.withColumnRenamed("id", "idx"), "idx", named, rows, tasks).select(
                F.col("name").alias("id"), "features")
        found.append(factors.persist(level))
    both = found[0].select(F.lit(0).alias("side")).unionAll(found[1].select(F.lit(1).alias("side")))
    count = both.agg(*(F.count(F.when(F.col("side") == side, 1)) for side in range(2))).collect()[0]
    if list(count) != report["rows"]:
        raise RuntimeError(f"{list(count)} of {report['rows']} rows of factors came back from the ranks")
    if plan.checkpoint:
        forget(plan.checkpoint, report["checkpoints"])
    told = {name: value for name, value in report.items() if name not in ("rank", "checkpoints", "rows")}
    return Learned(found[0], found[1], {**told, "workers": plan.ranks})


def raise_reported(reports: list[dict[str, Any]], sides: list[prepare.Side] | None = None) -> None:
    """What others say of an error is longer than what the rank says that met it."""
    failed = [report for report in reports if "error" in report]
    if failed:
        first = min(failed, key=lambda report: len(report["message"]))
        ids = dict(zip(("user", "item"), sides or []))
        message = with_ids(first["message"], lambda side, number: ids[side].id_of(number)) if ids else first["message"]
        raise _ERRORS.get(first["error"], ValueError)(message)


def require_all(reports: list[dict[str, Any]], plan: Plan, ratings: int) -> None:
    if len(reports) != plan.ranks:
        raise RuntimeError(f"{len(reports)} of {plan.ranks} ranks reported")
    found = reports[0]["interactions"] + reports[0]["repeated"]
    if found != ratings:
        raise ValueError(f"the dataset had {ratings:,} rows when its ids were numbered, and {found:,} for training: its rows "
                         "change from one reading to the next; checkpoint() it, or write it to a file first")


def make_plan(params: TrainingParams, native: dict[str, Any], rows: DataFrame, ranks: int, limit: int,
              users: list[int] | None = None, items: list[int] | None = None, digest: str = "") -> Plan:
    columns = (params.getUserCol(), params.getItemCol(), params.getRatingCol())
    return Plan(params=native, schema=chunks.schema_of(rows), columns=columns,
                users=users or [], items=items or [], ranks=ranks, iterations=params.getMaxIter(),
                duplicates=params.native_duplicates(), device=_device(params.getDevice(), ranks),
                threads=params.getNumThreads(), cores=checks.executor_cores(rows.sparkSession), token=secrets.token_hex(16),
                timeout=params.getRankTimeout(), version=__version__,
                checkpoint=params.native_checkpoint(),
                every=max(1, params.getCheckpointInterval()), limit=limit, digest=digest)


def _device(asked: str, ranks: int) -> str:
    return "cpu" if asked == "auto" and ranks > 1 else asked


def require_rows(ranks: int, users: prepare.Side, items: prepare.Side) -> None:
    for side in (users, items):
        if side.rows < ranks:
            raise ValueError(f"numWorkers={ranks}, but column {side.column!r} has {side.rows} ids: some ranks would have "
                             f"nothing to do; take numWorkers={side.rows} or fewer")


def storage_level(param: str, name: str) -> StorageLevel:
    level = getattr(StorageLevel, name, None)
    if not isinstance(level, StorageLevel) or name == "NONE":
        raise ValueError(f"{param}: {name!r} is no storage level that keeps anything, as MEMORY_AND_DISK")
    return level
