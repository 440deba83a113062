# SPDX-License-Identifier: Apache-2.0
"""Real worker processes that are killed or hang: each ends with the model or one clear error, soon."""
import os
import pathlib
import signal
import threading
import time

import numpy as np
import pytest

from conftest import require_spark

require_spark()

from likewise.spark import ALS, checks

MASTER = "local-cluster[2,1,2048]"
SETTINGS = {"spark.executor.memory": "1g", "spark.executor.cores": "1"}
#: An undisturbed fit takes some seconds, of which training is the larger part.
ITERATIONS = 400
EVERY = 20


@pytest.fixture(scope="module")
def many(spark):
    draw = np.random.default_rng(5)
    cells = draw.choice(3000 * 800, size=60_000, replace=False)
    users, items = np.divmod(cells, 800)
    rows = [(int(u), int(i), float(r)) for u, i, r in zip(users, items, draw.integers(1, 6, len(cells)))]
    return spark.createDataFrame(rows, "user int, item int, rating float").repartition(4)


def als(folder="", **params):
    return ALS(**{"rank": 16, "maxIter": ITERATIONS, "numWorkers": 2, "solver": "cholesky", "rankTimeout": 8.0,
                  "checkpointPath": str(folder), "checkpointInterval": EVERY if folder else -1, **params})


def factors(model):
    return {row["id"]: np.array(row["features"]) for row in model.itemFactors.collect()}


@pytest.fixture(scope="module")
def undisturbed(many):
    return factors(als().fit(many))


# What processes there are, below this one.

def processes():
    """(pid, parent, command line) of all that can be read."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            yield int(folder.name), parent, (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, ValueError):
            pass


def ticks(pid):
    """Processor time so far."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])
    except OSError:
        return 0


def own(kind):
    """The pid of one of this test's executors, or of the Python worker below them that computes most."""
    all_of_them = list(processes())
    parents = {pid: parent for pid, parent, _ in all_of_them}

    def is_ours(pid):
        while pid in parents:
            if parents[pid] == os.getpid():
                return True
            pid = parents[pid]
        return False

    executors = [pid for pid, _, line in all_of_them if "CoarseGrainedExecutorBackend" in line and is_ours(pid)]
    if kind == "executor":
        return executors[0]
    workers = [pid for pid, _, line in all_of_them if "pyspark.daemon" in line and is_ours(pid)]
    before = {pid: ticks(pid) for pid in workers}
    time.sleep(0.2)
    return max(workers, key=lambda pid: ticks(pid) - before[pid])


def disturbed(folder, harm, fit):
    """What fit() returns or raises when `harm` comes once a checkpoint is there, and how long it took since."""
    answer = []

    def work():
        try:
            answer.append(fit())
        except Exception as error:
            answer.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    deadline = time.monotonic() + 60
    while not list(folder.glob("*/iteration-*.arrow")):
        assert thread.is_alive() and time.monotonic() < deadline, answer
        time.sleep(0.01)
    harm()
    begin = time.monotonic()
    thread.join(90)
    assert not thread.is_alive(), "it still waits"
    return answer[0], time.monotonic() - begin


@pytest.mark.parametrize("kind", ["worker", "executor"])
def test_what_is_killed_is_started_again(many, undisturbed, tmp_path, kind):
    killed = []

    def harm():
        killed.append(own(kind))
        os.kill(killed[0], signal.SIGKILL)

    model, seconds = disturbed(tmp_path, harm, lambda: als(tmp_path).fit(many))
    assert killed
    if isinstance(model, Exception):
        raise model
    assert seconds < 60
    assert model.report["resumed"] > 0
    found = factors(model)
    # The same numbers: as many ranks, and each with its own rows.
    assert all((found[name] == value).all() for name, value in undisturbed.items())
    assert not list(tmp_path.iterdir())


def test_a_rank_that_hangs_is_given_up(many, undisturbed, tmp_path):
    stopped = []

    def harm():
        stopped.append(own("worker"))
        os.kill(stopped[0], signal.SIGSTOP)

    try:
        model, seconds = disturbed(tmp_path, harm, lambda: als(tmp_path).fit(many))
    finally:
        for pid in stopped:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    if isinstance(model, Exception):
        raise model
    assert seconds < 60
    found = factors(model)
    assert all((found[name] == value).all() for name, value in undisturbed.items())


def test_one_worker_trains_without_a_barrier(many):
    model = als(numWorkers=0, maxIter=3).fit(many)
    assert len(model.report["objectives"]) == 3 and model.report["remarks"] == []


def test_checkpoints_are_whole_or_refused(tmp_path):
    from likewise.spark.checkpoints import Checkpoints, forget

    kept = Checkpoints(tmp_path.as_uri(), "job", 1, 3)
    users, items = np.ones((4, 3), np.float32), np.zeros((0, 3), np.float32)
    changes = np.arange(12, dtype=np.uint16), np.zeros(0, np.uint16), np.array([0.5, 0.25], np.float32)
    assert kept.iterations() == []
    for iteration in (5, 10, 15):
        kept.save(iteration, users * iteration, items, changes)
    assert kept.iterations() == [10, 15] and Checkpoints(str(tmp_path), "job", 0, 3).iterations() == []
    found = kept.load(10)
    assert (found[0] == 10).all() and found[0].shape == (4, 3) and found[1].shape == (0, 3)
    assert all((one == other).all() for one, other in zip(found[2], changes, strict=True))
    for broken in (b"", b"nothing of the kind" * 100):
        next(tmp_path.glob("job/*15*")).write_bytes(broken)
        with pytest.raises(ValueError, match="is no checkpoint"):
            kept.load(15)
    forget(str(tmp_path), "job")
    forget(str(tmp_path), "job")
    assert not list(tmp_path.iterdir())


def test_what_spark_cannot_run_is_told_before_training(spark, many, monkeypatch):
    monkeypatch.setattr(checks, "SLOT_PATIENCE", 0.0)
    monkeypatch.setattr(checks.require_ranks, "__defaults__", (0.0,))
    with pytest.raises(ValueError, match="numWorkers=3, but Spark can run 2 tasks at once"):
        als(numWorkers=3).fit(many)
    monkeypatch.setattr(checks, "is_dynamic", lambda session: True)
    with pytest.raises(ValueError, match="spark.dynamicAllocation.enabled=false, or take numWorkers=1"):
        als(numWorkers=2).fit(many)


def test_versions_that_differ_are_told():
    from likewise.spark.ranks import check_versions

    notes = [{"version": "1.0", "machine": "a"}, {"version": "1.1", "machine": "b"}]
    with pytest.raises(ValueError, match="rank 1 on b has likewise 1.1 and the driver 1.0"):
        check_versions(notes, "1.0")


def test_sizes_of_memory_are_read_as_spark_does():
    sizes = {"2g": 2 << 30, "512m": 512 << 20, "1024kb": 1 << 20, "3": 3}
    assert {text: checks._bytes(text, 1) for text in sizes} == sizes


def test_addresses_of_spark_are_read():
    from likewise.spark.ranks import host_of, with_port

    assert [host_of(text) for text in ("10.0.0.1:4040", "[fe80::1]:4040", "worker-1:80", "worker-1")] == [
        "10.0.0.1", "fe80::1", "worker-1", "worker-1"]
    assert with_port("fe80::1", 5) == "[fe80::1]:5" and with_port("a", 5) == "a:5"
