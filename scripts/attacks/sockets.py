# SPDX-License-Identifier: Apache-2.0
"""Strangers at the ports where ranks meet: silent, slow, half-open, loud, too many. Ranks that have
the job's token meet all the same, with few descriptors, and train what they train undisturbed."""
from __future__ import annotations

import pathlib
import random
import resource
import socket
import struct
import subprocess
import sys
import threading
import time

from .lab import Attack, Case, Failure, Lab

# A rank: says its port, hears the addresses of all, meets them and trains; says the objective.
RANK = """
import resource, sys
rank, ranks, files = map(int, sys.argv[1:])
import numpy as np
from likewise import _core
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
listener = _core.RankListener("127.0.0.1")
print(listener.port, flush=True)
addresses = sys.stdin.readline().split()
users, items = 24, 10
member = _core.make_rank(listener, rank, addresses, "the token of this job",
    {"algorithm": "als", "feedback": "implicit", "factors": 3},
    [users * r // ranks for r in range(ranks + 1)], [items * r // ranks for r in range(ranks + 1)],
    patience=20.0, connect_patience=20.0, threads=1)
cells = np.arange(rank, users * items, 7 * ranks, dtype=np.int32)
member.add(cells // items, cells % items, np.ones(len(cells), np.float32))
member.begin()
print(repr([member.step() for _ in range(2)]), flush=True)
member.end()
"""
MAGIC = b"LIKERANK"
SECONDS = 40.0


class Strangers:
    """Connections to some ports, made in turn until there are `count`, and kept."""

    def __init__(self, draw: random.Random, ports: list[int], count: int) -> None:
        self.random = draw
        self.ports = ports
        self.left = count
        self.open: list[socket.socket] = []
        self.ended = threading.Event()

    def connect(self, many: int) -> None:
        for _ in range(min(many, self.left)):
            self.left -= 1
            try:
                one = socket.create_connection(("127.0.0.1", self.random.choice(self.ports)), 5.0)
                self.behave(one)
            except OSError:
                pass  # refused, reset or timed out: also an end for a stranger

    def behave(self, one: socket.socket) -> None:
        kind = self.random.choice(["silent", "silent", "slow", "half", "loud", "liar", "reset", "gone"])
        one.settimeout(5.0)
        if kind in ("slow", "liar"):
            one.sendall(MAGIC[:self.random.randrange(1, 9)])
        if kind == "liar":  # as long as a greeting, with another token
            one.sendall(self.random.randbytes(200))
        if kind == "loud":
            one.sendall(self.random.randbytes(self.random.choice([1, 100, 5000])))
        if kind == "half":
            one.shutdown(socket.SHUT_WR)
        if kind == "reset":
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if kind in ("reset", "gone"):
            one.close()
        else:
            self.open.append(one)

    def go_on(self) -> None:
        """More of them while the ranks meet."""
        while self.left > 0 and not self.ended.wait(0.002):
            self.connect(5)

    def close(self) -> None:
        self.ended.set()
        for one in self.open:
            one.close()


class Sockets(Attack):
    name = "sockets"

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.package = pathlib.Path(lab.program).parents[1] / "python"
        if not (self.package / "likewise").is_dir():
            print(f"  {self.name}: no Python package at {self.package}: build likewise_python")
            self.cases = 0
        self.undisturbed: dict[int, str] = {}
        few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most if 0 <= most < 8192 else max(few, 8192), most))

    def attack(self, case: Case) -> None:
        draw = case.random
        ranks = draw.choice([2, 2, 3])
        if ranks not in self.undisturbed:
            self.undisturbed[ranks] = self.objectives(case, ranks, 1024, 0, 0)
        files = draw.choice([40, 64, 128, 256])
        before, during = draw.choice([(0, 300), (50, 0), (300, 0), (300, 300), (1100, 200)])
        case.record.append(f"{ranks} ranks of {files} descriptors, {before} strangers before they meet, "
                           f"{during} meanwhile")
        told = self.objectives(case, ranks, files, before, during)
        case.check(told == self.undisturbed[ranks], "another training",
                   f"the objectives {self.undisturbed[ranks]}, not {told}")

    def objectives(self, case: Case, ranks: int, files: int, before: int, during: int) -> str:
        """What all ranks say of their training."""
        environment = {**self.lab.environment(), "PYTHONPATH": str(self.package)}
        processes = [subprocess.Popen([sys.executable, "-c", RANK, str(rank), str(ranks), str(files)],
                                      env=environment, cwd=case.folder, text=True, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                     for rank in range(ranks)]
        strangers = None
        try:
            ports = [int(process.stdout.readline() or 0) for process in processes if process.stdout]
            strangers = Strangers(case.random, ports, before)
            strangers.connect(before)
            strangers.left = during
            threading.Thread(target=strangers.go_on, daemon=True).start()
            deadline = time.monotonic() + SECONDS
            addresses = " ".join(f"127.0.0.1:{port}" for port in ports) + "\n"
            for process in processes:
                if process.stdin:
                    process.stdin.write(addresses)
                    process.stdin.flush()
            said = []
            for rank, process in enumerate(processes):
                try:
                    out, err = process.communicate(timeout=max(1.0, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    raise Failure("hang", f"an end of rank {rank} within {SECONDS:g} s") from None
                case.check(process.returncode == 0, "a rank did not meet the others",
                           f"rank {rank} to train, not to end with {process.returncode}: {err[-400:]}")
                said.append(out)
            case.check(len(set(said)) == 1, "ranks of different trainings", f"one text, not {said}")
            return said[0]
        finally:
            if strangers:
                strangers.close()
            for process in processes:
                process.kill()
                process.communicate()
