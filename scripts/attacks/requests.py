# SPDX-License-Identifier: Apache-2.0
"""Requests to `likewise serve`: made of its own OpenAPI document, and the same bytes cut, flipped, glued, swollen and
sent in pieces. Whatever comes, a status of the document is the answer, the server lives, and nothing piles up."""
from __future__ import annotations

import json
import pathlib
import random
import re
import socket
import subprocess
import time
import urllib.request

from .lab import Attack, Case, Failure, Lab
from .request_texts import WORDS, Document, spoilt, whole

PER_CASE = 1000  # requests
SETTLED = 3  # cases, before memory and descriptors are compared
GROWTH = 64  # MB that the server may hold more than then: buffers, and events that the model has not learned
SECONDS = 20.0
NEVER = {500, 507}  # in the document, and nobody's fault but the server's
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


class Served:
    """A server of a small model with titles and events."""

    def __init__(self, lab: Lab) -> None:
        lab.make("generate", "60x40x900", "-o", "data.csv")
        titles = [f"{item},Title \u00e9 {item} of the {WORDS[item % 3]}\n" for item in range(40)]
        (lab.folder / "titles.csv").write_text("item,title\n" + "".join(titles))
        lab.make("train", "data.csv", "-o", "model", "--factors", "8", "--titles", "titles.csv")
        self.log = lab.folder / "served.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [lab.program, "serve", "model", "--listen", "127.0.0.1:0", "--threads", "2"], cwd=lab.folder,
                env=lab.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        self.port = self.wait_for_port()
        self.document = Document(json.loads(self.get("/openapi.json")))

    def wait_for_port(self) -> int:
        end = time.monotonic() + SECONDS
        while not (found := re.search(r"at http://\S+:(\d+)\n", self.log.read_text())):
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"the server does not start: {self.log.read_text()}")
            time.sleep(0.02)
        return int(found[1])

    def get(self, target: str) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{target}", timeout=SECONDS) as answer:
            return bytes(answer.read())

    def exchange(self, pieces: list[bytes]) -> bytes:
        """All that is answered until the server ends the connection, whose end of ours comes first."""
        parts = []
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                for piece in pieces:
                    stream.sendall(piece)
                stream.shutdown(socket.SHUT_WR)
            except ConnectionError:
                pass  # refused before all was sent
            try:
                while part := stream.recv(1 << 16):
                    parts.append(part)
            except ConnectionError:
                pass
        return b"".join(parts)

    def memory(self) -> int:
        """MB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) // 1024 if found else 0

    def descriptors(self) -> int:
        return len(list(pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def end(self) -> int:
        self.process.terminate()
        try:
            return self.process.wait(SECONDS)
        finally:
            self.process.kill()


def pieces_of(draw: random.Random, text: bytes) -> list[bytes]:
    """The same bytes, as they may come."""
    if draw.random() < 0.7:
        return [text]
    if draw.random() < 0.3:
        text, rest = text[:200], text[200:]
        return [text[at:at + 1] for at in range(len(text))] + [rest]
    cuts = sorted(draw.randrange(len(text) + 1) for _ in range(draw.choice([1, 2, 5])))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)])]


class Requests(Attack):
    name = "requests"

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.served = Served(lab)
        self.done = 0
        self.settled: tuple[int, int] | None = None

    def end(self) -> None:
        self.served.end()

    def attack(self, case: Case) -> None:
        sent = 0
        while sent < PER_CASE:
            # Several in a row, on one connection.
            texts = [self.text(case.random) for _ in range(case.random.choice([1, 1, 1, 3, 8]))]
            sent += len(texts)
            self.send(case, texts)
        self.done += 1
        self.check_lives(case)

    def text(self, draw: random.Random) -> tuple[bytes, set[int]]:
        """Bytes, and the statuses that they may have."""
        method, target, body, statuses = self.served.document.request(draw)
        text = whole(method, target, body)
        if draw.random() < 0.3:
            return text, statuses
        for _ in range(draw.choice([1, 1, 2, 3])):
            text = spoilt(draw, text) or b"\r\n"
        return text, self.served.document.statuses

    def send(self, case: Case, texts: list[tuple[bytes, set[int]]]) -> None:
        sent = b"".join(text for text, _ in texts)
        try:
            answer = self.served.exchange(pieces_of(case.random, sent))
        except TimeoutError:
            case.write("sent", sent)
            raise Failure("no end", f"an answer within {SECONDS:g} s to the bytes in `sent`") from None
        except ConnectionError:
            answer = b""  # check_lives() says more
        found = [int(one) for one in STATUS.findall(answer) if one != b"100"]
        allowed = set.union(*(statuses for _, statuses in texts)) - NEVER
        if not set(found) <= allowed or self.served.process.poll() is not None:
            case.write("sent", sent)
            case.write("answered", answer)
            self.check_lives(case)
            raise Failure(f"status {sorted(set(found) - allowed)}", f"a status of {sorted(allowed)}, not {found}, for `sent`")

    def check_lives(self, case: Case) -> None:
        said = self.served.log.read_text(errors="replace")
        code = self.served.process.poll()
        if code is not None:
            self.served = Served(self.lab)
            self.settled = None
            raise Failure(f"ended with {code}", f"a server that lives: {said[-2000:]}")
        case.check(b"ok" in self.served.get("/healthz"), "not healthy", "an answer of /healthz")
        memory, files = self.memory_at_rest()
        if self.settled is None and self.done >= SETTLED:
            self.settled = (memory, files)
        if self.settled is None:
            return
        case.check(memory <= self.settled[0] + GROWTH, "memory grows",
                   f"at most {GROWTH} MB above {self.settled[0]} MB, not {memory} MB after {self.done} cases")
        case.check(files <= self.settled[1] + 8, "descriptors grow", f"about {self.settled[1]} of them, not {files}")

    def memory_at_rest(self) -> tuple[int, int]:
        """Once connections that ended are gone."""
        end = time.monotonic() + 5
        while b"likewise_connections 1\n" not in self.served.get("/metrics") and time.monotonic() < end:
            time.sleep(0.05)
        return self.served.memory(), self.served.descriptors()
