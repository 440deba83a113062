#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests a second, latencies, memory and time to start of `likewise serve`, and FastAPI with implicit beside it.

  bench/serve_load.py                         makes a model of the ML-20M shape, then prints all tables
  bench/serve_load.py MODEL                   of a model that is there
  bench/serve_load.py --parts rates crowd     these tables alone

Server and load generator (`bench_requests`, which the preset release builds) are on the same machine: the rates are
below what the server alone could do. `busy` is the part of a processor that the generator took. --pin names the
processors that all of them share, e.g. --pin 0,1. What has a target, of two processors and the ML-20M shape, shows it.

  speed   as many requests as are answered: known users, visitors with 20 likes, batches
  rates   latencies at fixed rates, each from the time at which its request was due
  crowd   latencies without and with 10,000 connections that are idle or send their header a byte a second
  memory  the most memory of the server so far, compared to its model file
  events  as many as are durable, singly and in batches
  start   from the start of the program until it is ready, on a model file of 1 GB, which takes minutes to make
  peer    FastAPI and implicit with the same factors, by uvicorn as it comes; needs `pip install fastapi
          'uvicorn[standard]' implicit`, else it is skipped. The lists of both are compared first. BLAS has one
          thread there, as implicit advises: requests are many

Ends with 1 where a request failed.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

from modelfile import ModelFile  # noqa: E402

PARTS = ("speed", "rates", "crowd", "memory", "events", "start", "peer")
# Confidences and an exact fold-in that implicit has, too.
LIKE_IMPLICIT = ["--factors", "64", "--alpha", "1", "--confidence", "given", "--regularization", "0.01"]
BIG = ("2400000x20000x8000000", ["--factors", "128", "--iterations", "1", "--solver", "cg"])
FEW = 500  # different requests of a kind
BATCH = 100
EVENTS = 1000  # of a batch


def get(port, target):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{target}") as answer:
        return json.load(answer)


def metric(port, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(name + " ")))


def post(port, target, body):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{target}", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


class Server:
    """A process that answers at `port`."""

    def __init__(self, process, port):
        self.process = process
        self.port = port

    def memory(self, what="VmHWM"):
        """MB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{what}:\s+(\d+)", status)[1]) / 1024


@contextlib.contextmanager
def ended(process):
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def likewise_serves(options, model, events="off", *more):
    command = [options.program, "serve", model, "--listen", "127.0.0.1:0", "--events", events, *more]
    with ended(subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, text=True)) as process:
        said = []
        for line in process.stderr:
            said.append(line)
            if found := re.search(r"at http://.*:(\d+)$", line.rstrip()):
                yield Server(process, int(found[1]))
                return
        sys.exit(f"serve_load: the server does not start: {''.join(said)}")


class Requests:
    """Whole requests of each kind, as files for the generator."""

    def __init__(self, folder, users, items):
        self.folder = pathlib.Path(folder)
        self.draw = random.Random(1)
        self.users = users
        self.items = items

    def some(self, ids, count):
        return self.draw.sample(ids, min(count, len(ids)))

    def write(self, name, texts):
        with open(self.folder / name, "wb") as file:
            for text in texts:
                file.write(b"%d\n%b" % (len(text), text))
        return self.folder / name

    def gets(self, name, targets):
        return self.write(name, [f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for target in targets])

    def posts(self, name, target, bodies):
        texts = [json.dumps(body).encode() for body in bodies]
        return self.write(name, [f"POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                 f"Content-Length: {len(text)}\r\n\r\n".encode() + text for text in texts])

    def known(self):
        return self.gets("known", [f"/v1/recommend?n=10&user={user}" for user in self.some(self.users, 10 * FEW)])

    def visitors(self):
        return self.posts("visitors", "/v1/recommend",
                          [{"likes": self.some(self.items, 20), "n": 10} for _ in range(FEW)])

    def batches(self):
        return self.posts("batches", "/v1/recommend",
                          [{"users": self.some(self.users, BATCH), "n": 10} for _ in range(FEW)])

    def event(self):
        return {"user": self.draw.choice(self.users), "item": self.draw.choice(self.items), "value": 1}

    def single_events(self):
        return self.posts("events", "/v1/events", [self.event() for _ in range(10 * FEW)])

    def event_batches(self):
        return self.posts("event-batches", "/v1/events",
                          [{"events": [self.event() for _ in range(EVENTS)]} for _ in range(20)])

    def nothing(self):
        return self.gets("nothing", ["/healthz"])


def requests_for(model, folder):
    """Of the users who have a history, and of all items."""
    file = ModelFile(model.read_bytes())
    offsets = file.numbers("history.offsets")
    users = [one.decode() for one, begin, end in zip(file.ids("user"), offsets, offsets[1:]) if begin < end]
    return Requests(folder, users, [one.decode() for one in file.ids("item")])


class Bench:
    def __init__(self, options):
        self.options = options
        self.failed = 0

    def load(self, port, file, rate=0, connections=None):
        """How the generator was answered, after a second that does not count."""
        command = [self.options.load, port, file, connections or self.options.connections]
        subprocess.run([*map(str, command), "1", str(rate)], check=True, capture_output=True)
        done = subprocess.run([*map(str, command), str(self.options.seconds), str(rate)], check=True,
                              stdout=subprocess.PIPE, text=True)
        told = json.loads(done.stdout)
        told["failed"] = told["broken"] + sum(count for status, count in told["statuses"].items() if status[0] != "2")
        self.failed += told["failed"]
        return told

    def speed(self, server, requests):
        self.as_fast_as_it_goes("lists", server, (
            ("known users", requests.known(), 1, 15_000, None),
            ("visitors, 20 likes", requests.visitors(), 1, 4_000, None),
            (f"batches of {BATCH} users", requests.batches(), BATCH, 60_000, None),
            ("no work", requests.nothing(), 1, 0, None)))

    def events(self, model, folder, requests):
        with likewise_serves(self.options, model, folder / "load.events") as server:
            self.as_fast_as_it_goes("events", server, (
                ("events", requests.single_events(), 1, 3_000, 256),
                (f"batches of {EVENTS} events", requests.event_batches(), EVENTS, 100_000, None)))

    def as_fast_as_it_goes(self, what, server, rows):
        print(f"\n{'as fast as it goes':24} {'requests/s':>11} {f'{what}/s':>10} {'at least':>9} {'p50 ms':>8} {'p99 ms':>8} "
              f"{'failed':>7} {'busy':>5}")
        for name, file, many, target, connections in rows:
            told = self.load(server.port, file, connections=connections)
            print(f"{name:24} {told['rate']:11,.0f} {told['rate'] * many:10,.0f} "
                  f"{f'{target:,}' if target else '':>9} {told['p50']:8.2f} {told['p99']:8.2f} {told['failed']:7} "
                  f"{told['busy']:5.2f}", flush=True)

    def rates(self, server, requests):
        print(f"\n{'at fixed rates':24} {'due/s':>7} {'answers/s':>10} {'p50 ms':>8} {'p99 ms':>8} {'at most':>8} "
              f"{'p99.9 ms':>9} {'failed':>7} {'overdue':>8}")
        for name, file, rate, target in (("known users", requests.known(), 5_000, 2.0),
                                         ("visitors, 20 likes", requests.visitors(), 1_000, 5.0),
                                         ("no work", requests.nothing(), 5_000, 0)):
            told = self.load(server.port, file, rate)
            print(f"{name:24} {rate:7,} {told['rate']:10,.0f} {told['p50']:8.2f} {told['p99']:8.2f} "
                  f"{target or '':>8} {told['p999']:9.2f} {told['failed']:7} {told['overdue']:8}", flush=True)

    def crowd(self, server, requests):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if self.options.crowd + 200 > most:
            sys.exit(f"serve_load: {self.options.crowd:,} connections need a hard limit of descriptors (ulimit -Hn) "
                     f"above {most:,}")
        half = self.options.crowd // 2
        print(f"\n{f'{self.options.rate:,} known users a second':44} {'p50 ms':>8} {'p99 ms':>8} {'times':>6} "
              f"{'failed':>7} {'server MB':>10}")
        alone = None
        for name, idle, slow in (("alone", 0, 0), (f"{2 * half:,} idle connections", 2 * half, 0),
                                 (f"{2 * half:,} that send a byte a second", 0, 2 * half),
                                 (f"{half:,} idle, {half:,} that send a byte a second", half, half),
                                 ("alone again", 0, 0)):
            with self.held(server.port, idle, slow):
                told = self.load(server.port, requests.known(), self.options.rate)
                alone = alone or told["p99"]
                print(f"{name:44} {told['p50']:8.2f} {told['p99']:8.2f} {told['p99'] / alone:6.2f} {told['failed']:7} "
                      f"{server.memory('VmRSS'):10,.0f}", flush=True)
        closed, refused = (metric(server.port, f"likewise_connections_{what}_total") for what in ("evicted", "refused"))
        print(f"connections closed to make room: {closed:,.0f}; refused with 503, as none was idle: {refused:,.0f}")

    @contextlib.contextmanager
    def held(self, port, idle, slow):
        command = [self.options.load, port, "hold", idle, slow]
        with ended(subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True)) as process:
            if process.stdout.readline() != "held\n":
                sys.exit("serve_load: not all connections could be made")
            yield

    def memory(self, server, model):
        most, size = server.memory(), model.stat().st_size / 2**20
        print(f"\nmemory: at most {most:,.0f} MB with a model file of {size:,.0f} MB: {most - size:+,.0f} MB "
              "(at most 200)")

    def start(self, folder):
        model = make_model(self.options, folder, "big.safetensors", *BIG)
        subprocess.run(["sync"], check=True)
        size = model.stat().st_size
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            with likewise_serves(self.options, model) as server:
                get(server.port, "/readyz")
                times.append(time.perf_counter() - begin)
        print(f"\nstart on a model file of {size / 1e9:.2f} GB that is in the cache: "
              f"{statistics.median(times):.2f} s until ready ({min(times):.2f} - {max(times):.2f}; at most 0.5)")

    def peer(self, server, model, requests):
        if why := no_peer(self.options):
            print(f"\nFastAPI and implicit: skipped, {why}")
            return
        files = {"known users": requests.known(), "visitors, 20 likes": requests.visitors(),
                 f"batches of {BATCH} users": requests.batches()}
        print(f"\n{'the same model':24} {'server':32} {'requests/s':>11} {'p50 ms':>8} {'p99 ms':>8} {'failed':>7}")
        alone = {}
        for workers in (0, 1, len(os.sched_getaffinity(0))):
            with peer_serves(self.options, model, workers) if workers else contextlib.nullcontext(server) as asked:
                if workers == 1:
                    compare_lists(server.port, asked.port, requests)
                for name, file in files.items():
                    told = self.load(asked.port, file)
                    by = f"FastAPI, {workers} worker{'s' if workers > 1 else ''}" if workers else "likewise serve"
                    first = alone.setdefault(name, told)
                    times = (f" 1/{first['rate'] / told['rate']:.0f} of the rate, {told['p99'] / first['p99']:.0f} "
                             "times the p99" if workers and told["answers"] else "")
                    print(f"{name:24} {by:32} {told['rate']:11,.0f} {told['p50']:8.2f} {told['p99']:8.2f} "
                          f"{told['failed']:7}{times}", flush=True)


def no_peer(options):
    """Why the other server cannot run; empty where it can."""
    tried = subprocess.run([options.peer_python, "-c", "import fastapi, uvicorn, implicit"], capture_output=True, text=True)
    return tried.stderr.strip().splitlines()[-1] if tried.returncode else ""


@contextlib.contextmanager
def peer_serves(options, model, workers):
    """uvicorn as it comes, with so many processes."""
    import socket
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    command = [options.peer_python, "-m", "uvicorn", "serve_peer:app", "--port", str(port), "--log-level", "warning",
               "--no-access-log", *(["--workers", str(workers)] if workers > 1 else [])]
    environment = {**os.environ, "SERVE_PEER_MODEL": str(model), "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with ended(subprocess.Popen(command, cwd=ROOT / "bench", env=environment)) as process:
        for _ in range(1200):
            with contextlib.suppress(OSError):
                get(port, "/healthz")
                yield Server(process, port)
                return
            time.sleep(0.1)
        sys.exit("serve_load: FastAPI does not start")


def compare_lists(ours, theirs, requests):
    """Prints how much of their lists is the same: equal scores may change places."""
    for name, bodies in (("known users", [{"users": [user], "n": 10} for user in requests.some(requests.users, 200)]),
                         ("visitors", [{"likes": requests.some(requests.items, 20), "n": 10} for _ in range(200)])):
        shared, apart = 0, 0.0
        for body in bodies:
            one, other = ({item["item"]: item["score"] for item in post(port, "/v1/recommend", body)["lists"][0]["items"]}
                          for port in (ours, theirs))
            shared += len(one.keys() & other.keys()) / max(1, len(one))
            apart = max([apart, *(abs(one[item] - other[item]) for item in one.keys() & other.keys())])
        print(f"lists of {len(bodies)} {name}: {shared / len(bodies):.2%} of the items are the same, scores differ by "
              f"{apart:.1e} at most")


def make_model(options, folder, name, shape, training):
    """A model of synthetic data, made once in a folder that stays."""
    path = pathlib.Path(folder) / name
    if not path.exists():
        print(f"making {path}", file=sys.stderr)
        data = pathlib.Path(folder) / f"{name}.csv"
        subprocess.run([options.program, "generate", shape, "-o", data, "--seed", "1", "-q"], check=True)
        subprocess.run([options.program, "train", data, "-o", path, "--device", "cpu", "-q", *training], check=True)
        data.unlink()
    return path


def options_of(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=pathlib.Path, help="[one of --shape, made in --folder]")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/likewise")
    parser.add_argument("--load", type=pathlib.Path, help="[bench_requests beside the program]")
    parser.add_argument("--shape", default="ml-20m", help="of the model, as `likewise generate` has it [ml-20m]")
    parser.add_argument("--folder", type=pathlib.Path, help="where models are made and stay [one of its own, deleted]")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seconds", type=int, default=10, help="of each row [10]")
    parser.add_argument("--connections", type=int, default=32, help="of the generator; 256 where events come singly [32]")
    parser.add_argument("--crowd", type=int, default=10_000, help="connections of part crowd [10000]")
    parser.add_argument("--rate", type=int, default=2_000, help="requests a second of part crowd [2000]")
    parser.add_argument("--pin", help="processors for all of it, e.g. 0,1 [all]")
    parser.add_argument("--peer-python", default=sys.executable, help="a Python with FastAPI and implicit [this one]")
    options = parser.parse_args(argv)
    options.program = options.program.resolve()
    options.load = options.load or options.program.with_name("bench_requests")
    for needed in (options.program, options.load, *([options.model] if options.model else [])):
        if not needed.exists():
            parser.error(f"there is no {needed}")
    return options


def main():
    options = options_of(sys.argv[1:])
    if options.pin:
        os.sched_setaffinity(0, {int(one) for one in options.pin.split(",")})
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        model = options.model or make_model(options, folder, f"{options.shape}.safetensors", options.shape,
                                            ["--iterations", "5", *LIKE_IMPLICIT])
        requests = requests_for(model, temporary)
        bench = Bench(options)
        processors = sorted(os.sched_getaffinity(0))
        print(f"{model.name}, {model.stat().st_size / 2**20:,.0f} MB; {options.connections} connections, "
              f"{options.seconds} s a row, server and generator on processors {processors}", flush=True)
        with likewise_serves(options, model) as server:
            for part in options.parts:
                if part in ("speed", "rates", "crowd"):
                    getattr(bench, part)(server, requests)
            if "memory" in options.parts:
                bench.memory(server, model)
        if "events" in options.parts:
            bench.events(model, pathlib.Path(temporary), requests)
        if "start" in options.parts:
            bench.start(folder)
        if "peer" in options.parts:
            with likewise_serves(options, model) as server:
                bench.peer(server, model, requests)
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
