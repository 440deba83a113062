# SPDX-License-Identifier: Apache-2.0
"""Ranks with a GPU each: which one, and what keeps them from training. A plug-in without CUDA stands for the real one
(tests/backends/fakes/plugin.cpp), so no GPU is needed: of six GPUs 1, 3 and 4 are of one kind."""
import os
import pathlib
import types

import numpy as np
import pytest

from conftest import PACKAGES, require_spark

require_spark()

from likewise.spark import ALS, gpus
from likewise.spark.ranks import check_devices

FAKE = pathlib.Path(os.environ.get("LIKEWISE_BUILD", pathlib.Path(PACKAGES).parent)) / "tests/fake_plugin"
if not (FAKE / "liblikewise_cuda.so").is_file():
    pytest.skip(f"no plug-in without CUDA in {FAKE}", allow_module_level=True)

MASTER = "local-cluster[1,2,2048]"
DISCOVERY = pathlib.Path(__file__).with_name("two_gpus.sh")
SETTINGS = {"spark.executor.memory": "1g", "spark.executor.cores": "1", "spark.worker.resource.gpu.amount": "2",
            "spark.worker.resource.gpu.discoveryScript": str(DISCOVERY), "spark.executor.resource.gpu.amount": "1",
            "spark.task.resource.gpu.amount": "1"}


def fit(ratings, **params):
    return ALS(**{"rank": 4, "maxIter": 3, "seed": 1, "numWorkers": 2, "device": "cuda", "solver": "cholesky",
                  **params}).fit(ratings)


@pytest.fixture
def workers(spark):
    """The environment of Python workers."""
    environment = spark.sparkContext.environment
    before = dict(environment)
    environment.update({"LIKEWISE_PLUGIN_PATH": str(FAKE), "FAKE_PLUGIN": "several"})
    yield environment
    environment.clear()
    environment.update(before)


def test_a_rank_has_the_gpu_that_spark_assigned():
    assert gpus.number_of(["3"], ["a", "a"], 0) == 3
    with pytest.raises(ValueError, match=r"assigned 2 GPUs to its task \(0, 1\).*spark.task.resource.gpu.amount=1"):
        gpus.number_of(["0", "1"], ["a"], 0)
    with pytest.raises(ValueError, match=r"assigned 0 GPUs to its task \(none\)"):
        gpus.number_of([], ["a"], 0)
    with pytest.raises(ValueError, match="calls its GPU 'GPU-1f', and a number is needed"):
        gpus.number_of(["GPU-1f"], ["a"], 0)


def test_where_spark_manages_no_gpus_ranks_of_a_host_are_counted():
    hosts = ["a", "b", "a", "c", "b", "a"]
    assert [gpus.number_of(None, hosts, rank) for rank in range(6)] == [0, 0, 1, 0, 1, 2]


def test_what_a_task_says_of_its_gpus():
    def context(resources):
        return types.SimpleNamespace(resources=lambda: resources)

    assert gpus.assigned_to(None) is None and gpus.assigned_to(context({})) is None
    assert gpus.assigned_to(context({"fpga": types.SimpleNamespace(addresses=["7"])})) is None
    assert gpus.assigned_to(context({"gpu": types.SimpleNamespace(addresses=["7"])})) == ["7"]


def test_the_first_rank_with_a_problem_is_named():
    notes = [{"machine": name, "problem": problem} for name, problem in (("a", ""), ("b", "no GPU"), ("c", "no plug-in"))]
    check_devices(notes[:1])
    with pytest.raises(ValueError, match="^rank 1 on b: no GPU$"):
        check_devices(notes)


def test_ranks_train_on_the_gpus_of_their_tasks(ratings, workers, tmp_path):
    workers["FAKE_PLUGIN_USED"] = str(tmp_path / "used")
    model = fit(ratings)
    assert sorted((tmp_path / "used").read_text().splitlines()) == ["rank 1", "rank 4"]
    assert model.report["remarks"] == ["by NCCL 2.28.9"]
    assert np.allclose(model.report["objectives"], fit(ratings, device="cpu").report["objectives"], rtol=1e-5)
    fit(ratings, numWorkers=1)
    *_, last = (tmp_path / "used").read_text().splitlines()
    assert last in ("als 1", "als 4")


@pytest.mark.parametrize(("change", "message"), [
    ({"FAKE_PLUGIN": "twins"}, r"rank 0 on .+ \(cuda:[14]\) and rank 1 on .+ \(cuda:[14]\) have the same GPU"),
    ({"FAKE_PLUGIN_ALONE": "yes"}, r"rank 0 on .+ \(cuda:[14]\): the link is down"),
    ({"FAKE_PLUGIN": "no GPU"}, "rank 0 on .+: device cuda:[14]: there is no GPU in this test"),
    ({"FAKE_PLUGIN": "version"}, "rank 0 on .+0.0.9"),
    ({"LIKEWISE_PLUGIN_PATH": "/nonexistent"}, "rank 0 on .+: .*there is no CUDA plug-in"),
], ids=["one GPU twice", "no NCCL", "no GPU", "another version", "no plug-in"])
def test_what_keeps_ranks_from_training_is_told_before(ratings, workers, change, message):
    workers.update(change)
    with pytest.raises(ValueError, match=message) as told:
        fit(ratings)
    assert "\n" not in str(told.value)


def test_a_gpu_that_is_lost_is_named(ratings, workers):
    workers["FAKE_PLUGIN_LOST"] = "3"
    with pytest.raises(Exception, match="the GPU fell off the bus"):
        fit(ratings)
