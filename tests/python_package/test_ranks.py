# SPDX-License-Identifier: Apache-2.0
"""Ranks that are processes: of this machine, by IPv4 and IPv6, and of two networks of their own."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import likewise
from likewise import _core

PARAMS = {"algorithm": "als", "feedback": "implicit", "alpha": 2.0, "factors": 6, "regularization": 0.1,
          "solver": "cholesky"}
USERS, ITEMS, STEPS, PORT = 90, 40, 3, 39_417
PROGRAM = """
import json, sys
import numpy as np
from likewise import _core
told = json.load(open(sys.argv[1]))
rank = int(sys.argv[2])
cells = np.load(told["cells"])
listener = _core.RankListener("", told["ports"][rank])
member = _core.make_rank(listener, rank, told["addresses"], "token", told["params"], told["users"], told["items"],
                         patience=30.0, connect_patience=30.0, threads=1)
mine = slice(rank, None, len(told["addresses"]))
member.add(cells["users"][mine].copy(), cells["items"][mine].copy(), cells["values"][mine].copy())
member.begin()
objectives = [member.step() for _ in range(told["steps"])]
np.savez(f"{sys.argv[1]}.{rank}.npz", objectives=objectives, users=member.factors("users"), items=member.factors("items"))
member.end()
"""


@pytest.fixture(scope="module")
def cells():
    draw = np.random.default_rng(3)
    users, items = np.divmod(draw.choice(USERS * ITEMS, size=900, replace=False), ITEMS)
    return {"users": users.astype(np.int32), "items": items.astype(np.int32),
            "values": draw.integers(1, 5, 900).astype(np.float32)}


@pytest.fixture(scope="module")
def alone(cells):
    listener = _core.RankListener("127.0.0.1")
    member = _core.make_rank(listener, 0, [f"127.0.0.1:{listener.port}"], "token", PARAMS, [0, USERS], [0, ITEMS])
    member.add(cells["users"], cells["items"], cells["values"])
    assert member.begin() == (900, 0, [])
    objectives = [member.step() for _ in range(STEPS)]
    return objectives, member.factors("users"), member.factors("items")


def train(folder, cells, addresses, ports, prefixes):
    """The objectives and factors of ranks that are processes, each behind the words of its prefix."""
    np.savez(folder / "cells.npz", **cells)
    ranks = len(addresses)
    (folder / "job").write_text(json.dumps({
        "cells": str(folder / "cells.npz"), "addresses": addresses, "ports": ports, "params": PARAMS, "steps": STEPS,
        "users": [USERS * r // ranks for r in range(ranks + 1)], "items": [ITEMS * r // ranks for r in range(ranks + 1)]}))
    path = str(pathlib.Path(likewise.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": path}
    processes = [subprocess.Popen([*prefix, sys.executable, "-c", PROGRAM, str(folder / "job"), str(rank)],
                                  env=environment, stderr=subprocess.PIPE, text=True)
                 for rank, prefix in enumerate(prefixes)]
    said = [process.communicate(timeout=100)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * ranks, said
    found = [np.load(folder / f"job.{rank}.npz") for rank in range(ranks)]
    assert all((one["objectives"] == found[0]["objectives"]).all() for one in found)
    return (found[0]["objectives"], *(np.concatenate([one[side] for one in found]) for side in ("users", "items")))


def is_that_of_one(found, alone):
    assert np.allclose(found[0], alone[0], rtol=1e-6)
    assert np.allclose(found[1], alone[1], atol=1e-4) and np.allclose(found[2], alone[2], atol=1e-4)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_processes_of_one_machine(tmp_path, cells, alone, host):
    try:
        free = [_core.RankListener(host.strip("[]")) for _ in range(3)]
    except OSError as error:
        pytest.skip(str(error))
    ports = [listener.port for listener in free]
    del free
    is_that_of_one(train(tmp_path, cells, [f"{host}:{port}" for port in ports], ports, [[]] * 3), alone)


@pytest.fixture
def networks():
    """Two network namespaces with a cable between them."""
    ip = shutil.which("ip")
    names = [f"likewise-{os.getpid()}-{side}" for side in (0, 1)]
    if ip is None or os.geteuid() != 0:
        pytest.skip("network namespaces need the program ip, and root")

    def run(*words):
        return subprocess.run([ip, *words], capture_output=True, text=True, check=False)

    made = [name for name in names if run("netns", "add", name).returncode == 0]
    try:
        cable = f"lw{os.getpid() % 100000}"
        done = len(made) == 2 and run("link", "add", f"{cable}a", "netns", names[0], "type", "veth", "peer", "name",
                                      f"{cable}b", "netns", names[1])
        if not done or done.returncode != 0:
            pytest.skip("this system makes no network namespaces")
        for side, end in enumerate((f"{cable}a", f"{cable}b")):
            for words in (("addr", "add", f"10.77.0.{side + 1}/24", "dev", end),
                          ("addr", "add", f"fd77::{side + 1}/64", "dev", end, "nodad"),
                          ("link", "set", end, "up"), ("link", "set", "lo", "up")):
                run("-n", names[side], *words)
        yield [[ip, "netns", "exec", name] for name in names]
    finally:
        for name in made:
            run("netns", "del", name)


@pytest.mark.parametrize("hosts", [("10.77.0.1", "10.77.0.2"), ("[fd77::1]", "[fd77::2]")], ids=["IPv4", "IPv6"])
def test_processes_of_two_networks(tmp_path, cells, alone, networks, hosts):
    found = train(tmp_path, cells, [f"{host}:{PORT}" for host in hosts], [PORT] * 2, networks)
    is_that_of_one(found, alone)


def test_a_rank_goes_on_from_its_factors_and_their_changes():
    draw = np.random.default_rng(5)
    users, items = np.divmod(draw.choice(400 * 150, size=14_000, replace=False), 150)
    params = {"algorithm": "als", "feedback": "implicit", "factors": 130, "iterations": 7}  # too many to solve exactly

    def begun(*start):
        listener = _core.RankListener("127.0.0.1")
        rank = _core.make_rank(listener, 0, [f"127.0.0.1:{listener.port}"], "t", params, [0, 400], [0, 150])
        rank.add(users.astype(np.int32), items.astype(np.int32), np.ones(14_000, np.float32))
        rank.begin(*start)
        return rank

    whole = begun()
    for _ in range(5):
        whole.step()
    start = whole.factors("users"), whole.factors("items"), 5
    changes = whole.changes()
    assert [part.shape for part in changes] == [(400 * 130,), (150 * 130,), (2,)] and (changes[2] > 0).all()
    ends = [rank.step() for rank in (whole, begun(*start, changes), begun(*start))]
    assert ends[0] == ends[1] != ends[2] and np.isclose(ends[0], ends[2], rtol=1e-4)
    with pytest.raises(ValueError, match="there are 7 changes for 400 users of 130 factors"):
        begun(*start, (changes[0][:7].copy(), changes[1], changes[2]))


def test_what_a_rank_cannot_do_is_told():
    def made(**change):
        listener = _core.RankListener("127.0.0.1")
        return _core.make_rank(**{"listener": listener, "rank": 0, "addresses": [f"127.0.0.1:{listener.port}"],
                                  "token": "t", "params": PARAMS, "users": [0, 5], "items": [0, 4], **change})

    for change, message in (({"params": {"algorithm": "sgd", "feedback": "explicit"}}, "ranks train by als"),
                            ({"params": {"algorithm": "als", "feedback": "explicit"}}, "biases off"),
                            ({"repeated": "some"}, r"repeated must be one of sum\|mean\|max\|error, not \'some\'"), ({"patience": 0.0}, "patience"),
                            ({"users": [0, 5, 7]}, "the first users"), ({"token": ""}, "token"),
                            ({"addresses": ["127.0.0.1:1", "127.0.0.1:2"], "users": [0, 1, 5], "items": [0, 1, 4],
                              "connect_patience": 0.1}, "rank 1 of 2 did not connect")):
        with pytest.raises((ValueError, likewise.DeviceError), match=message):
            made(**change)
    member = made()
    with pytest.raises(ValueError, match="begins before it goes on"):
        member.step()
    member = made()
    with pytest.raises(ValueError, match="user 5, item 0"):
        member.add(np.array([5], np.int32), np.array([0], np.int32), np.array([1], np.float32))
    with pytest.raises(ValueError, match="rank 0 of 1: user 5"):
        member.begin()
