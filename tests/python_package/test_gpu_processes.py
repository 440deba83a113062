# SPDX-License-Identifier: Apache-2.0
"""Processes that train on a real GPU each, which NCCL connects. Skipped where there are not two GPUs."""
import json
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

import likewise

GPUS = sum(device["name"].startswith("cuda:") and device["available"] for device in likewise.info()["devices"])
pytestmark = pytest.mark.skipif(GPUS < 2, reason=f"two GPUs are needed, there are {GPUS}")

USERS, ITEMS, ROWS, ITERATIONS = 6040, 3706, 1_000_209, 12
PARAMS = {"algorithm": "als", "feedback": "implicit", "factors": 64, "alpha": 1.0, "regularization": 0.1, "solver": "cholesky",
          "precision": "fp32", "seed": 3}


def cells():
    """As many as ml-1m has, popular items first."""
    draw = np.random.default_rng(5)
    users = draw.integers(0, USERS, ROWS, dtype=np.int32)
    items = np.minimum((ITEMS * draw.random(ROWS) ** 3).astype(np.int32), ITEMS - 1)
    return users, items, np.ones(ROWS, np.float32)


def rank(number, folder, iterations, resume):
    """What each process runs: it says one line of JSON after each iteration, and keeps the factors of each third."""
    from likewise import _core

    listener = _core.RankListener()
    (folder / f"port-{number}.new").write_text(str(listener.port))
    (folder / f"port-{number}.new").rename(folder / f"port-{number}")
    while not all((folder / f"port-{one}").exists() for one in range(2)):
        time.sleep(0.01)
    addresses = [f"127.0.0.1:{(folder / f'port-{one}').read_text()}" for one in range(2)]
    half = [0, USERS // 2, USERS], [0, ITEMS // 2, ITEMS]
    one = _core.make_rank(listener, number, addresses, "a token of theirs alone", PARAMS, *half, repeated="sum",
                          device=_core.Device(f"cuda:{number}"), threads=4, patience=60.0, connect_patience=60.0)
    one.add(*(column[number::2].copy() for column in cells()))
    start = np.load(folder / f"kept-{number}.npz") if resume else {}
    done = int(start["iteration"]) if resume else 0
    remarks = one.begin(start.get("users"), start.get("items"), done)[2]
    for iteration in range(done + 1, iterations + 1):
        time.sleep(0.02)  # for someone to come in between
        print(json.dumps({"iteration": iteration, "objective": one.step(), "remarks": remarks}), flush=True)
        if iteration % 3 == 0:
            with open(folder / f"kept-{number}.new", "wb") as file:
                np.savez(file, users=one.factors("users"), items=one.factors("items"), iteration=iteration)
            (folder / f"kept-{number}.new").rename(folder / f"kept-{number}.npz")
    one.end()


def start(folder, iterations=ITERATIONS, resume=False):
    for port in folder.glob("port-*"):
        port.unlink()
    return [subprocess.Popen([sys.executable, __file__, str(number), str(folder), str(iterations), str(int(resume))],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for number in range(2)]


def lines_of(process):
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return [json.loads(line) for line in out.splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    first, second = map(lines_of, start(tmp_path_factory.mktemp("whole")))
    assert [line["objective"] for line in first] == [line["objective"] for line in second]
    return first


def test_two_processes_learn_what_one_gpu_does(whole):
    assert whole[0]["remarks"][0].startswith("users: each of 2 GPUs")
    options = {name: value for name, value in PARAMS.items() if name not in ("algorithm", "feedback")}
    data = likewise.Interactions(cells(), duplicates="sum")
    alone = likewise.Als(**options, iterations=ITERATIONS, device="cuda:0").fit(data).model_
    for line, one in zip(whole, alone.iterations, strict=True):
        assert line["objective"] == pytest.approx(one["objective"], rel=1e-4)


def test_a_killed_process_ends_the_other_and_the_training_goes_on(whole, tmp_path):
    first, second = start(tmp_path, iterations=100_000)
    for line in second.stdout:
        if json.loads(line)["iteration"] == 7:
            break
    second.kill()
    begin = time.monotonic()
    error = first.communicate(timeout=60)[1]
    assert time.monotonic() - begin < 30 and first.returncode != 0
    assert "DeviceError" in error and "rank 1" in error, error
    second.communicate()
    kept = [np.load(tmp_path / f"kept-{number}.npz")["iteration"] for number in range(2)]
    assert kept[0] == kept[1] >= 6
    first, second = map(lines_of, start(tmp_path, int(kept[0]) + 3, resume=True))
    assert first[0]["iteration"] == kept[0] + 1
    for line in first:
        if line["iteration"] <= ITERATIONS:
            assert line["objective"] == whole[line["iteration"] - 1]["objective"]


if __name__ == "__main__":
    rank(int(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]), bool(int(sys.argv[4])))
