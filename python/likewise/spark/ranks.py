# SPDX-License-Identifier: Apache-2.0
"""What runs in a task of the training stage: one rank.

A rank that fails for good (a wrong value, no memory) says so in its answer, so that the driver raises that and Spark
tries nothing again. One that lost another rank fails its task: Spark then tries the stage again, and the ranks go on
from the last checkpoint that all of them have.
"""
from __future__ import annotations

import dataclasses
import json
import socket
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from likewise.spark import gpus

#: What a rank answers with: rows of factors (side 0 users, 1 items), and one report (side 2).
SCHEMA = "side tinyint, idx int, features array<float>, report string"
USERS, ITEMS, REPORT = 0, 1, 2
#: Numbers that leave a rank in one batch.
BATCH_NUMBERS = 1 << 20


#: Errors that would come again.
LASTING = (ValueError, TypeError, MemoryError, ArithmeticError, OSError)


@dataclasses.dataclass(frozen=True)
class Plan:
    """What all ranks of a training are told."""

    params: dict[str, Any]
    users: list[int]
    items: list[int]
    iterations: int
    duplicates: str
    device: str
    threads: int
    cores: int
    token: str
    timeout: float
    version: str
    checkpoint: str
    every: int
    key: str

    @property
    def ranks(self) -> int:
        return len(self.users) - 1


def rank_task(plan: Plan) -> Any:
    """The function of the stage, which needs nothing of likewise to be read on another machine."""
    told = dataclasses.asdict(plan)

    def run(batches: Any) -> Any:
        try:
            from likewise.spark import ranks
        except ImportError as error:
            import json
            import socket

            import pyarrow
            report = {"error": "ImportError", "message": f"likewise cannot be loaded on {socket.gethostname()} ({error}): "
                      'pip install "likewise[spark]" on all machines'}
            yield pyarrow.RecordBatch.from_arrays(
                [pyarrow.array([2], pyarrow.int8()), pyarrow.array([0], pyarrow.int32()),
                 pyarrow.array([[]], pyarrow.list_(pyarrow.float32())), pyarrow.array([json.dumps(report)])],
                names=["side", "idx", "features", "report"])
            return
        yield from ranks.run_rank(ranks.Plan(**told), batches)

    return run


def run_rank(plan: Plan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Trains, and yields this rank's factors and its report."""
    rank = 0
    try:
        member = Member(plan)
        rank = member.rank
        tables, report = train(member, batches)
    except LASTING as error:
        kind = type(error).__name__
        yield _report(rank, {"error": kind, "message": str(error) or kind})
        return
    for side, first, table in tables:
        yield from _batches(side, first, table)
    yield _report(rank, report)


class Member:
    """This task among the others of its stage. One task alone has no others to ask."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.rank = 0
        self._context: Any = None
        self.host = "127.0.0.1"
        self.addresses_of_tasks = [self.host]
        if plan.ranks == 1:
            from pyspark import TaskContext
            self.gpus = gpus.assigned_to(TaskContext.get())
            return
        from pyspark import BarrierTaskContext
        self._context = BarrierTaskContext.get()
        self.rank = self._context.partitionId()
        self.addresses_of_tasks = [info.address for info in self._context.getTaskInfos()]
        if len(self.addresses_of_tasks) != plan.ranks:
            raise ValueError(f"the training has {plan.ranks} ranks, and its stage {len(self.addresses_of_tasks)} tasks")
        self.host = host_of(self.addresses_of_tasks[self.rank])
        self.gpus = gpus.assigned_to(self._context)

    def open_device(self) -> Any:
        """What this rank trains on. ValueError or likewise.DeviceError."""
        from likewise import _core

        if self.plan.device == "cuda" and (self.plan.ranks > 1 or self.gpus is not None):
            return gpus.open_gpu(self.gpus, [host_of(address) for address in self.addresses_of_tasks], self.rank)
        return _core.Device(self.plan.device)

    def gather(self, mine: Any) -> list[Any]:
        """What all ranks say, in their order."""
        if self._context is None:
            return [mine]
        return [json.loads(one) for one in self._context.allGather(json.dumps(mine))]

    @property
    def threads(self) -> int:
        """Of this rank: its share of the executor's cores, where nobody says how many."""
        if self.plan.threads or not self.plan.cores:
            return self.plan.threads
        here = self.addresses_of_tasks.count(self.addresses_of_tasks[self.rank])
        return max(1, self.plan.cores // here)


def host_of(address: str) -> str:
    """The host of Spark's "host:port" or "[IPv6 address]:port"."""
    host = address.rsplit(":", 1)[0] if ":" in address else address
    return host.strip("[]")


def with_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def train(member: Member, batches: Iterable[pa.RecordBatch]
          ) -> tuple[list[tuple[int, int, npt.NDArray[np.float32]]], dict[str, Any]]:
    """(side, first row, factors) of this rank's users and items, and its report."""
    from likewise import DeviceError, __version__, _core
    from likewise.spark import chunks
    from likewise.spark.checkpoints import Checkpoints

    plan = member.plan
    listener = _core.RankListener()
    kept = Checkpoints(plan.checkpoint, plan.key, member.rank, plan.ranks) if plan.checkpoint else None
    device, problem = None, ""
    try:
        device = member.open_device()
    except (DeviceError, ValueError) as error:
        problem = str(error)
    notes = member.gather({"address": with_port(member.host, listener.port), "version": __version__,
                           "machine": socket.gethostname(), "kept": kept.iterations() if kept else [],
                           "problem": problem})
    check_versions(notes, plan.version)
    check_devices(notes)
    rank = _core.make_rank(
        listener, member.rank, [note["address"] for note in notes], plan.token, plan.params, plan.users, plan.items,
        repeated=plan.duplicates, device=device, threads=member.threads, patience=plan.timeout,
        connect_patience=min(plan.timeout, 60.0))
    try:
        taking = 0.0
        for batch in chunks.opened(one.column(1) for one in batches):
            started = time.perf_counter()
            rank.add(_numbers(batch, 0, np.int32), _numbers(batch, 1, np.int32), _numbers(batch, 2, np.float32))
            taking += time.perf_counter() - started
        common = set(notes[0]["kept"]).intersection(*(note["kept"] for note in notes))
        done = max(common, default=0)
        users, items = kept.load(done) if kept and done else (None, None)
        started = time.perf_counter()
        interactions, repeated, remarks = rank.begin(users, items, done)
        beginning = time.perf_counter() - started
        users = items = None
        objectives: list[float] = []
        seconds: list[float] = []
        for iteration in range(done + 1, plan.iterations + 1):
            started = time.perf_counter()
            objectives.append(rank.step())
            seconds.append(time.perf_counter() - started)
            if kept and iteration % plan.every == 0 and iteration < plan.iterations:
                kept.save(iteration, rank.factors("users"), rank.factors("items"))
        tables = [(USERS, plan.users[member.rank], rank.factors("users")),
                  (ITEMS, plan.items[member.rank], rank.factors("items"))]
    except DeviceError:
        raise
    except BaseException as error:
        rank.abort(str(error) or type(error).__name__, lost=not isinstance(error, LASTING))
        raise
    rank.end()
    return tables, {"objectives": objectives, "interactions": interactions, "repeated": repeated, "remarks": remarks,
                    "resumed": done, "threads": member.threads, "machine": socket.gethostname(),
                    "seconds": {"take": taking, "begin": beginning, "iterations": seconds}}


def check_versions(notes: list[dict[str, Any]], wanted: str) -> None:
    for number, note in enumerate(notes):
        if note["version"] != wanted:
            raise ValueError(f"rank {number} on {note['machine']} has likewise {note['version']} and the driver {wanted}: "
                             "install one version on all machines")


def check_devices(notes: list[dict[str, Any]]) -> None:
    for number, note in enumerate(notes):
        if note["problem"]:
            raise ValueError(f"rank {number} on {note['machine']}: {note['problem']}")


def _numbers(batch: pa.RecordBatch, place: int, kind: Any) -> npt.NDArray[Any]:
    """A column over its own memory, which has no gaps."""
    column = batch.column(place)
    if column.null_count:
        raise ValueError("a rating has no value (null)")
    return np.ascontiguousarray(column.to_numpy(zero_copy_only=False), dtype=kind)


def _batches(side: int, first: int, table: npt.NDArray[np.float32]) -> Iterator[pa.RecordBatch]:
    rows = max(1, BATCH_NUMBERS // max(1, table.shape[1]))
    for begin in range(0, len(table), rows):
        part = table[begin:begin + rows]
        count, width = part.shape
        offsets = pa.array(np.arange(count + 1, dtype=np.int32) * width)
        features = pa.ListArray.from_arrays(offsets, pa.array(part.reshape(-1)))
        idx = np.arange(first + begin, first + begin + count, dtype=np.int32)
        yield _batch(np.full(count, side, dtype=np.int8), idx, features, pa.nulls(count, pa.string()))


def _report(rank: int, report: dict[str, Any]) -> pa.RecordBatch:
    return _batch(np.array([REPORT], dtype=np.int8), np.array([rank], dtype=np.int32),
                  pa.array([[]], pa.list_(pa.float32())), pa.array([json.dumps(report)], pa.string()))


def _batch(side: Any, idx: Any, features: Any, report: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(side), pa.array(idx), features, report],
                                      names=["side", "idx", "features", "report"])
