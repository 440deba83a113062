#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests a second and latencies of `likewise serve`, measured by wrk on the same machine.

  bench/serve_load.py MODEL [--program build/release/bin/likewise] [--seconds 10] [--connections 32] [--idle 0]

Starts a server of its own and ends it. Each row of the table is one kind of work: known users, visitors with 20
likes, batches of 100 users, no work at all. wrk (Debian: wrk) takes its share of the processors, so the rates are
below what the server alone could do. With --idle so many connections stay open without a word meanwhile.
"""
import argparse
import contextlib
import json
import pathlib
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.request

KINDS = {
    "known users": (1, 'wrk.format("GET", "/v1/recommend?n=10&user=" .. users[math.random(#users)])'),
    "visitors, 20 likes": (1, 'post(\'{"likes":[\' .. some(items, 20) .. "]}")'),
    "batches of 100": (100, 'post(\'{"users":[\' .. some(users, 100) .. "]}")'),
    "no work": (1, 'wrk.format("GET", "/healthz")'),
}
SCRIPT = """
local users, items = {USERS}, {ITEMS}
math.randomseed(1)
function post(body)
  return wrk.format("POST", "/v1/recommend", {["Content-Type"] = "application/json"}, body)
end
-- Different ones: a list that has an item twice is the same item once.
function some(ids, count)
  local first, step, chosen = math.random(#ids), math.floor(#ids / count), {}
  for i = 1, count do chosen[i] = '"' .. ids[(first + i * step) % #ids + 1] .. '"' end
  return table.concat(chosen, ",")
end
request = function() return WORK end
"""


def lua(ids):
    return "{" + ",".join(json.dumps(one) for one in ids) + "}"


def ids_of(port, model, program):
    """Up to 5,000 users who have lists, and as many items."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/items?n=1000") as answer:
        items = [one["item"] for one in json.load(answer)["items"]]
    rows = subprocess.run([program, "recommend", model, "--all", "-n", "1", "--quiet"], capture_output=True, text=True,
                          check=True).stdout.splitlines()[1:]
    users = [row.split(",")[0] for row in rows]
    return users[::max(1, len(users) // 5000)], items


def measure(port, script, options):
    done = subprocess.run(["wrk", "-t1", f"-c{options.connections}", f"-d{options.seconds}s", "--latency", "-s", script,
                           f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True).stdout
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", done)
    return (float(re.search(r"Requests/sec:\s+([\d.]+)", done)[1]), re.search(r"\n +50% +(\S+)", done)[1],
            re.search(r"\n +99% +(\S+)", done)[1], int(failed[1]) if failed else 0)


def memory_of(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) // 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--program", default="build/release/bin/likewise")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--idle", type=int, default=0)
    options = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("serve_load: there is no wrk; on Debian: apt-get install wrk")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = subprocess.Popen([options.program, "serve", options.model, "--listen", "127.0.0.1:0"],
                              stderr=subprocess.PIPE, text=True)
    try:
        port = next(int(found[1]) for line in server.stderr if (found := re.search(r"at http://.*:(\d+)$", line.rstrip())))
        users, items = ids_of(port, options.model, options.program)
        with contextlib.ExitStack() as idle, tempfile.TemporaryDirectory() as folder:
            for _ in range(options.idle):
                idle.enter_context(socket.create_connection(("127.0.0.1", port)))
            print(f"{'work':20} {'requests/s':>11} {'lists/s':>9} {'p50':>9} {'p99':>9} {'failed':>7} {'MB':>6}")
            for name, (lists, work) in KINDS.items():
                script = pathlib.Path(folder) / "work.lua"
                script.write_text(SCRIPT.replace("{USERS}", lua(users)).replace("{ITEMS}", lua(items)).replace("WORK", work))
                rate, middle, slow, failed = measure(port, script, options)
                print(f"{name:20} {rate:11,.0f} {rate * lists:9,.0f} {middle:>9} {slow:>9} {failed:7} {memory_of(server):6}")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
