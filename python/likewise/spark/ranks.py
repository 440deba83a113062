# SPDX-License-Identifier: Apache-2.0
"""What runs in a task of the training stage: one rank.

A rank that fails for good (a wrong value, no memory) says so in its answer, so that the driver raises that and Spark
tries nothing again. One that lost another rank fails its task: Spark then tries the stage again, and the ranks go on
from the last checkpoint that all of them have.
"""
from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from likewise.spark import chunks, gpus

#: What the values that a rank answers with begin with: rows of users, rows of items, or its report (JSON).
USERS, ITEMS, REPORT = b"U", b"I", b"R"


#: Errors that would come again.
LASTING = (ValueError, TypeError, MemoryError, ArithmeticError, OSError)


@dataclasses.dataclass(frozen=True)
class Plan:
    """What all ranks of a training are told.

    schema          the columns that come (chunks.py): a user, an item, a value. Of one rank alone they are ids, which
                    it numbers; of several, numbers
    columns         what users, items and values are called in messages
    users, items    the first number of each rank, then that of all; none where one rank numbers
    digest          of the ratings, of which checkpoints are; one rank alone computes it
    place           tells the checkpoints of trainings apart that this driver runs at once (checkpoints.own_place)
    limit           the most bytes that one rank alone may take; 0: any
    """

    params: dict[str, Any]
    schema: dict[str, str]
    columns: tuple[str, str, str]
    users: list[int]
    items: list[int]
    ranks: int
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
    limit: int = 0
    digest: str = ""
    place: int = 0

    @property
    def key(self) -> str:
        """The folder of its checkpoints: another for what would learn something else."""
        what = json.dumps([self.params, self.iterations, self.device, self.users, self.items, self.duplicates, self.digest,
                           self.place, self.version], sort_keys=True)
        return "likewise-" + hashlib.sha256(what.encode()).hexdigest()[:24]


def rank_task(plan: Plan) -> Any:
    """The function of the stage, which needs nothing of likewise to be read on another machine."""
    told = dataclasses.asdict(plan)

    def run(values: Any) -> Any:
        try:
            from likewise.spark import ranks, workers
        except ImportError as error:
            import json
            import socket
            yield b"R" + json.dumps({"rank": 0, "error": "ImportError", "message":
                                     f"likewise cannot be loaded on {socket.gethostname()} ({error}): "
                                     'pip install "likewise[spark]" on all machines'}).encode()
            return
        yield from workers.lean(ranks.run_rank(ranks.Plan(**told), values))

    return run


def planned_bytes(users: int, items: int, ratings: int, params: dict[str, Any]) -> int:
    """What one process takes for all of it: the ratings both ways, and as they come; and the rest as planned."""
    cell = 8
    staged = 12 + 12
    factors = 4 * int(params["factors"]) * (users + items + max(users, items))
    return (2 * cell + staged) * ratings + factors


def run_rank(plan: Plan, values: Iterable[bytes]) -> Iterator[bytes]:
    """Trains, and yields this rank's factors and its report."""
    rank = 0
    try:
        member = Member(plan)
        rank = member.rank
        tables, report = train(member, chunks.read(values, plan.schema))
    except LASTING as error:
        kind = type(error).__name__
        yield _report(rank, {"error": kind, "message": str(error) or kind})
        return
    for mark, ids, table in tables:
        yield from chunks.blocks_of(mark, ids, table)
    yield _report(rank, report)


def _report(rank: int, report: dict[str, Any]) -> bytes:
    return REPORT + json.dumps({"rank": rank, **report}).encode()


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
          ) -> tuple[list[tuple[bytes, pa.Array, npt.NDArray[np.float32]]], dict[str, Any]]:
    """(mark, ids, factors) of this rank's users and items, and its report. Ids are numbers where Spark numbered them."""
    from likewise import DeviceError, __version__, _core
    from likewise.spark.checkpoints import Checkpoints
    from likewise.spark.coded import CodedRatings

    plan = member.plan
    listener = _core.RankListener()
    device, problem = None, ""
    try:
        device = member.open_device()
    except (DeviceError, ValueError) as error:
        problem = str(error)
    started = time.perf_counter()
    coded = None
    if not plan.users:
        coded = CodedRatings(batches, plan.columns)
        needed = planned_bytes(len(coded.users), len(coded.items), coded.rows, plan.params)
        if 0 < plan.limit < needed:
            return [], {"needed": needed}
        plan = dataclasses.replace(plan, users=[0, len(coded.users)], items=[0, len(coded.items)],
                                   digest=f"{coded.digest():x}" if plan.checkpoint else "")
    taking = time.perf_counter() - started
    kept = Checkpoints(plan.checkpoint, plan.key, member.rank, plan.ranks) if plan.checkpoint else None
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
        for users, items, values in coded.take() if coded else map(_numbers, batches):
            started = time.perf_counter()
            rank.add(users, items, values)
            taking += time.perf_counter() - started
        common = set(notes[0]["kept"]).intersection(*(note["kept"] for note in notes))
        done = max(common, default=0)
        started_users, started_items, changes = kept.load(done) if kept and done else (None, None, None)
        started = time.perf_counter()
        interactions, repeated, remarks = rank.begin(started_users, started_items, done, changes)
        beginning = time.perf_counter() - started
        started_users = started_items = changes = None
        objectives: list[float] = []
        seconds: list[float] = []
        for iteration in range(done + 1, plan.iterations + 1):
            started = time.perf_counter()
            objectives.append(rank.step())
            seconds.append(time.perf_counter() - started)
            if kept and iteration % plan.every == 0 and iteration < plan.iterations:
                kept.save(iteration, rank.factors("users"), rank.factors("items"), rank.changes())
        tables = [(USERS, rank.factors("users")), (ITEMS, rank.factors("items"))]
    except DeviceError:
        raise
    except BaseException as error:
        rank.abort(str(error) or type(error).__name__, lost=not isinstance(error, LASTING))
        if coded and isinstance(error, ValueError):
            ids = {"user": coded.users, "item": coded.items}
            raise ValueError(with_ids(str(error), lambda side, number: ids[side][number].as_py())) from error
        raise
    rank.end()
    names = [coded.users, coded.items] if coded else [
        chunks.column_of(np.arange(firsts[member.rank], firsts[member.rank + 1], dtype=np.int32))
        for firsts in (plan.users, plan.items)]
    return [(mark, ids, table) for (mark, table), ids in zip(tables, names)], {
        "objectives": objectives, "interactions": interactions, "repeated": repeated, "remarks": remarks,
        "resumed": done, "threads": member.threads, "machine": socket.gethostname(), "checkpoints": plan.key,
        "rows": [plan.users[-1], plan.items[-1]],
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


#: A user and an item by their numbers, as native code has them.
_PAIR = re.compile(r"\buser (?:row )?(\d+)(,| has) item (?:row )?(\d+)")


def with_ids(message: str, id_of: Callable[[str, int], Any]) -> str:
    """The message with the ids of the user and the item of which it has numbers; id_of("user" or "item", number)."""
    return _PAIR.sub(lambda pair: f"user {id_of('user', int(pair[1]))!r}{pair[2]} item {id_of('item', int(pair[3]))!r}", message)


def _numbers(batch: pa.RecordBatch) -> tuple[Any, Any, Any]:
    """Users, items and values over their own memory, which has no gaps."""
    users, items, values = (chunks.numbers_of(column) for column in batch.columns)
    return users, items, values
