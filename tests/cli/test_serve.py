# SPDX-License-Identifier: Apache-2.0
"""`likewise serve` over real sockets: limits, slow clients, swaps of the model, ends."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

JSON = {"Content-Type": "application/json"}
TOKEN = "a-token-for-reading"
HEAD = b"POST /v1/recommend HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


class Server:
    def __init__(self, program, model, *options, listen="127.0.0.1:0", **how):
        self.process = program.start("serve", model, "--listen", listen, "--threads", 2, *options,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                     text=True, **how)
        self.lines = []
        self.said = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()
        self.port = int(re.search(r":(\d+)$", self.wait_for("serves .* at http://"))[1])

    def _listen(self):
        for line in self.process.stderr:
            with self.said:
                self.lines.append(line.rstrip())
                self.said.notify_all()

    def wait_for(self, pattern):
        """The first line that the program says like that."""
        found = []

        def said():
            found[:] = [line for line in self.lines if re.search(pattern, line)]
            return found
        with self.said:
            assert self.said.wait_for(said, timeout=30), f"{pattern} was not said: {self.lines}"
        return found[0]

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask(self, method, target, body=None, headers=(), connection=None):
        """(status, JSON or text, headers)"""
        with contextlib.closing(connection or self.connect()) if connection is None else contextlib.nullcontext(
                connection) as door:
            door.request(method, target, None if body is None else json.dumps(body),
                         {**(JSON if body is not None else {}), **dict(headers)})
            answer = door.getresponse()
            text = answer.read().decode()
            return answer.status, json.loads(text) if "json" in answer.headers["Content-Type"] else text, answer.headers

    def get(self, target, **how):
        return self.ask("GET", target, **how)

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def metric(self, name):
        text = self.get("/metrics")[1]
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)[1])

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(30)


@pytest.fixture
def serve(program, cinema):
    started = []

    def start(*options, model=None, **how):
        started.append(Server(program, model or cinema / "model.safetensors", *options, **how))
        return started[-1]
    yield start
    for server in started:
        if server.process.poll() is None:
            assert server.end() == 0


def everything(stream):
    """All bytes until the other side ends."""
    parts = []
    while part := stream.recv(65536):
        parts.append(part)
    return b"".join(parts)


def statuses(text):
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d+) ", text)]


def test_answers_as_recommend_does(serve, program, cinema):
    server = serve()
    shown = program("recommend", cinema / "model.safetensors", "--user", 5, "--user", 9, "-n", 4).stdout
    expected = [line.split(",")[:2] for line in shown.splitlines()[1:]]
    status, body, headers = server.get("/v1/recommend?user=5&user=9&n=4")
    assert status == 200
    assert [[one["user"], item["item"]] for one in body["lists"] for item in one["items"]] == expected
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert server.ask("POST", "/v1/recommend", {"users": [5, 9], "n": 4})[1] == body
    similar = server.get("/v1/similar?item=7&n=3")[1]["lists"][0]
    assert len(similar["items"]) == 3
    assert server.get("/readyz")[0] == 200


@pytest.fixture
def two_models(program, cinema, tmp_path):
    """A folder with a model by als, a, and one by item-knn, b."""
    shutil.copy(cinema / "model.safetensors", tmp_path / "a.safetensors")
    program("train", cinema / "parts/train.csv", "-o", tmp_path / "b.safetensors", "--algorithm", "item-knn")
    return tmp_path


def test_two_models_share_the_users(program, two_models, cinema):
    server = Server(program, f"--models=now={two_models / 'a.safetensors'},next={two_models / 'b.safetensors'}",
                    "--split", "75,25", "--watch", 0.1)
    assert re.search(r"serves now \(\S+a.safetensors, 75 % of the users\), next \(\S+, 25 % of the users\) at",
                     server.wait_for("serves"))
    users = [str(user) for user in range(1, 101)]
    shown = {name: program("recommend", two_models / f"{file}.safetensors", *[part for user in users for part in ("--user", user)],
                           "-n", 3).stdout.splitlines()[1:] for name, file in (("now", "a"), ("next", "b"))}
    lists = server.ask("POST", "/v1/recommend", {"users": users, "n": 3})[1]["lists"]
    assert [one["user"] for one in lists] == users
    served = [one["served_by"] for one in lists]
    assert 10 <= served.count("next") <= 40 and set(served) == {"now", "next"}
    for at, one in enumerate(lists):
        expected = [line.split(",")[1] for line in shown[one["served_by"]][3 * at:3 * at + 3]]
        assert [item["item"] for item in one["items"]] == expected
    followed = {"now": 0, "next": 0}
    for one in lists[:20]:
        assert server.ask("POST", "/v1/events", {"user": one["user"], "item": one["items"][0]["item"]})[0] == 202
        followed[one["served_by"]] += 1
    for name, count in followed.items():
        assert server.metric(f'likewise_followed_items_total{{model="{name}"}}') == count
        assert server.metric(f'likewise_offered_items_total{{model="{name}"}}') == 3 * served.count(name)
    # One is swapped, and one refused, without the other.
    before = server.get("/v1/model?served_by=next")[1]["model"]
    shutil.copy(two_models / "b.safetensors", two_models / "good")
    shutil.copy(two_models / "a.safetensors", two_models / "other")
    (two_models / "bad").write_bytes(b"no model")
    os.replace(two_models / "bad", two_models / "a.safetensors")
    server.wait_for("the new model is refused")
    assert server.metric('likewise_model_refused{model="now"}') == 1
    os.replace(two_models / "other", two_models / "b.safetensors")
    server.wait_for("serves the model")
    described = server.get("/v1/model")[1]["models"]
    assert described[1]["model"] != before and described[1]["algorithm"] == described[0]["algorithm"]
    assert server.metric('likewise_model_refused{model="next"}') == 0
    # Whom which model answers is as before.
    assert [one["served_by"] for one in server.ask("POST", "/v1/recommend", {"users": users})[1]["lists"]] == served
    assert server.end() == 0


@pytest.mark.parametrize(("options", "message"), [
    (["{}", "--models", "a={}"], "only one of MODEL, --models is possible"),
    ([], "one of MODEL, --models is needed"),
    (["--models", "{}"], "give each as NAME=FILE"),
    (["--models", "a=,b={}"], "give each as NAME=FILE"),
    (["--models", "a={},a={}.2"], "two models are called 'a'"),
    (["--models", "a={},b={}"], "the file is named twice"),
    (["--models", "a/b={},b={}.2"], "'a/b' is no name of a model"),
    (["--models", "a={},b={}.2", "--split", "1"], "1 share for 2 models"),
    (["--models", "a={},b={}.2", "--split", "0,0"], "somebody has to answer"),
    (["--models", "a={},b={}.2", "--split", "half,half"], "half"),
    (["{}", "--split", "1"], "--split would do nothing here: it needs --models"),
])
def test_what_is_no_choice_of_models_is_refused(program, cinema, options, message):
    model = str(cinema / "model.safetensors")
    refused = program("serve", *[option.format(*[model] * 4) for option in options], exit_code=2)
    assert message in refused.stderr


def test_every_status_that_a_request_may_have(serve):
    server = serve("--max-body", 2048)
    assert server.get("/v1/recommend?user=nobody")[0] == 404
    assert server.get("/v1/recommend?user=5&x=1")[1]["error"]["message"] == "there is no parameter 'x' here"
    assert server.get("/v1/predict")[0] == 405
    assert server.get("/v1/model", headers={"Host": "evil.example"})[0] == 403
    assert server.ask("POST", "/v1/recommend", {"likes": list(range(2000))})[0] == 413
    assert server.get("/v1/items?query=" + "a" * 9000)[0] == 414
    assert server.get("/v1/model", headers={"X-Long": "a" * 20_000})[0] == 431
    with server.raw() as stream:
        stream.sendall(b"POST /v1/recommend HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
        stream.shutdown(socket.SHUT_WR)
        assert statuses(everything(stream)) == [415]
    whole = b"GET http://localhost:%d/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" % server.port
    with server.raw() as stream:
        stream.sendall(whole + whole.replace(b"Host: localhost\r\n", b""))
        assert statuses(everything(stream)) == [200, 400]


def test_requests_in_a_row_on_one_connection(serve):
    server = serve()
    with contextlib.closing(server.connect()) as door:
        for _ in range(3):
            assert server.ask("POST", "/v1/recommend", {"users": [5]}, connection=door)[0] == 200
        assert server.metric("likewise_connections") == 2
    one = b"GET /v1/recommend?user=5&n=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with server.raw() as stream:
        stream.sendall(one * 20 + b"HEAD /v1/model HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        text = everything(stream)
    assert statuses(text) == [200] * 21
    assert text.endswith(b"\r\n\r\n"), "HEAD has no body"


def test_bytes_one_by_one(serve):
    server = serve()
    body = b'{"users": [5], "n": 2}'
    request = (b"POST /v1/recommend HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               b"Expect: 100-continue\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body))
    with server.raw() as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(request)):
            stream.send(request[at:at + 1])
        assert stream.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        for at in range(len(body)):
            stream.send(body[at:at + 1])
        assert statuses(everything(stream)) == [200]


def test_slow_clients_are_let_go_and_hold_nobody_up(serve):
    server = serve("--header-time", 0.4, "--body-time", 0.4, "--idle-time", 0.4)
    head = b"POST /v1/recommend HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with server.raw() as idle, server.raw() as slow_head, server.raw() as slow_body:
        slow_head.sendall(head)
        slow_body.sendall(head + b"Content-Length: 100\r\n\r\n{")
        assert server.get("/v1/recommend?user=5")[0] == 200
        assert everything(idle) == b""
        assert statuses(everything(slow_head)) == [408]
        assert statuses(everything(slow_body)) == [408]


def test_what_came_too_late_is_not_done(serve, tmp_path):
    server = serve("--body-time", 0.3, "--events", tmp_path / "events")
    with server.raw() as late:
        late.sendall(b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Content-Length: 27\r\n\r\n")
        assert b" 408 " in late.recv(65536)
        late.sendall(b'{"user": "late", "item": 7}')
        assert everything(late) == b""
        while server.metric("likewise_connections") > 1:  # it is open until the server has let go of it
            time.sleep(0.02)
    assert server.get("/v1/users/late")[0] == 404


def test_tokens(serve, tmp_path):
    (tmp_path / "tokens").write_text(f"read {TOKEN}\n")
    server = serve("--tokens", "tokens")
    assert server.get("/healthz")[0] == 200
    assert server.get("/v1/model")[0] == 401
    assert server.get("/v1/model", headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200
    (tmp_path / "tokens").write_text("read another-token-for-reading\n")
    server.process.send_signal(signal.SIGHUP)
    server.wait_for("serves the model")
    assert server.get("/v1/model", headers={"Authorization": f"Bearer {TOKEN}"})[0] == 401


def test_other_machines_need_tokens_or_a_word(serve, program, cinema):
    model = cinema / "model.safetensors"
    for address in ("0.0.0.0:0", "[::]:0"):
        stderr = program("serve", model, "--listen", address, exit_code=2).stderr
        assert "--tokens FILE" in stderr and "--allow-anonymous" in stderr
    assert "no address" in program("serve", model, "--listen", "8080", exit_code=2).stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        stderr = program("serve", model, "--listen", f"127.0.0.1:{taken.getsockname()[1]}", exit_code=1).stderr
        assert "in use" in stderr
    open_to_all = serve("--allow-anonymous")
    assert open_to_all.get("/v1/model")[0] == 200


def test_names_of_the_server(serve, program, cinema):
    server = serve("--host", "Films.Example")
    assert server.get("/healthz", headers={"Host": "films.EXAMPLE.:80"})[0] == 200
    assert server.get("/healthz", headers={"Host": "films"})[0] == 403
    model = cinema / "model.safetensors"
    for name in ("films.example:443", "https://films.example", "*", ""):
        assert "is no name of a host" in program("serve", model, "--host", name, exit_code=2).stderr
    for door in (["--allow-anonymous"], ["--tokens", "tokens"]):
        stderr = program("serve", model, "--listen", "0.0.0.0:0", *door, "--host", "films", exit_code=2).stderr
        assert "--host would do nothing here: it needs a --listen on loopback" in stderr


def test_rate_of_a_client(serve):
    server = serve("--rate", 3)
    found = [server.get("/v1/model") for _ in range(6)]
    assert [status for status, _, _ in found][:3] == [200] * 3
    assert found[5][0] == 429 and found[5][2]["Retry-After"] == "1"
    for path in ("/healthz", "/readyz", "/metrics"):
        assert {server.get(path)[0] for _ in range(6)} == {200}


def test_a_proxy_that_is_trusted_says_who_asks(serve, program, cinema, tmp_path):
    def asks(server, who):
        return server.get("/v1/model", headers={"X-Forwarded-For": who})[0]
    log = tmp_path / "log"
    server = serve("--rate", 0.01, "--trust-proxy", "127.0.0.0/8,::1", "--access-log", log, "--log-personal")
    assert [asks(server, f"192.0.2.{end}") for end in (1, 2, 1)] == [200, 200, 429]
    # What somebody sends before the proxy adds to it is not believed.
    assert asks(server, "198.51.100.9, 192.0.2.1") == 429
    assert server.end() == 0
    assert [json.loads(line)["client"] for line in log.read_text().splitlines()] == [
        "192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.1"]
    plain = serve("--rate", 0.01)
    assert [asks(plain, f"192.0.2.{end}") for end in (1, 2)] == [200, 429]
    refused = program("serve", cinema / "model.safetensors", "--trust-proxy", "10.0.0.0/40", exit_code=2)
    assert "--trust-proxy: '10.0.0.0/40' is no network" in refused.stderr


def test_of_both_kinds_of_addresses_each_is_a_client(serve, tmp_path):
    try:
        socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True).close()
    except (OSError, ValueError):
        pytest.skip("no IPv6 here")
    log = tmp_path / "log"
    server = serve("--rate", 0.01, "--allow-anonymous", "--access-log", log, "--log-personal", listen="[::]:0")
    for address, status in (("127.0.0.1", 200), ("127.0.0.2", 200), ("127.0.0.1", 429)):
        door = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30, source_address=(address, 0))
        assert server.get("/v1/model", connection=door)[0] == status
        door.close()
    assert server.end() == 0
    assert [json.loads(line)["client"] for line in log.read_text().splitlines()] == ["127.0.0.1", "127.0.0.2", "127.0.0.1"]


def test_strangers_are_refused_before_their_bodies(serve, tmp_path):
    (tmp_path / "tokens").write_text(f"read {TOKEN}\n")
    log = tmp_path / "log"
    server = serve("--tokens", "tokens", "--access-log", log)
    with contextlib.ExitStack() as open_streams:
        for body in (b"Transfer-Encoding: chunked\r\n\r\n", b"Content-Length: 1000000\r\n\r\n",
                     b"Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n"):
            stream = open_streams.enter_context(server.raw())
            stream.sendall(HEAD + body)
            assert statuses(everything(stream)) == [401]
        # Who may ask and sends something else, or to where no body goes.
        door = b"Authorization: Bearer " + TOKEN.encode() + b"\r\nContent-Length: 1000000\r\n\r\n"
        for request, status in ((HEAD.replace(b"application/json", b"text/plain") + door, 415),
                                (HEAD.replace(b"/v1/recommend", b"/v1/events") + door, 403),
                                (HEAD.replace(b"/v1/recommend", b"/nowhere") + door, 404),
                                (HEAD.replace(b"POST /v1/recommend", b"GET /v1/items") + door + b"x", 400),
                                (HEAD.replace(b"localhost", b"evil.example") + door, 403)):
            stream = open_streams.enter_context(server.raw())
            stream.sendall(request)
            assert statuses(everything(stream)) == [status]
    assert server.end() == 0
    assert [json.loads(line)["operation"] for line in log.read_text().splitlines()] == [
        "recommend", "recommend", "recommend", "recommend", "events", "none", "items", "none"]


def bytes_unread(server):
    """On the way to the server, or waiting there for it to read them."""
    count = 0
    with open("/proc/net/tcp") as table:
        for line in list(table)[1:]:
            here, there, _, queues = line.split()[1:5]
            sent, received = queues.split(":")
            port = f":{server.port:04X}"
            count += int(sent, 16) * there.endswith(port) + int(received, 16) * here.endswith(port)
    return count


def test_bodies_hold_what_has_come_of_them(serve):
    server = serve()
    large = {"users": [5], "deny": ["i" * 1000] * 900}
    with contextlib.ExitStack() as open_streams:
        for begin in (b"Transfer-Encoding: chunked\r\n\r\n100\r\nabc", b"Content-Length: 1000000\r\n\r\nabc"):
            for _ in range(70):
                open_streams.enter_context(server.raw()).sendall(HEAD + begin)
        assert server.ask("POST", "/v1/recommend", {**large, "unknown": "leave_out"})[0] == 200
        # Once the server has read 64 MiB there is no room for more: not for the last of these either.
        megabytes = [open_streams.enter_context(server.raw()) for _ in range(68)]
        for stream in megabytes:
            stream.sendall(HEAD + b"Content-Length: 1000001\r\n\r\n" + b" " * 1_000_000)
        refused, _, _ = select.select(megabytes, [], [], 30)
        assert len(refused) == 1 and statuses(everything(refused[0])) == [503]
        while bytes_unread(server) > 0:
            time.sleep(0.02)
        assert server.ask("POST", "/v1/recommend", large)[0] == 503
        assert server.get("/v1/recommend?user=5")[0] == 200
    while server.metric("likewise_connections") > 1:
        time.sleep(0.02)
    assert server.ask("POST", "/v1/recommend", {**large, "unknown": "leave_out"})[0] == 200


def memory_of(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) * 1024


def test_answers_that_nobody_takes_have_a_limit(serve, program, tmp_path):
    """Each of them is 8 MB: beyond 64 MiB there are refusals, and no more memory."""
    (tmp_path / "rows.csv").write_text("".join(f"{u},{i}{'x' * 900}\n" for u in range(100) for i in range(u % 3, 100, 3)))
    program("train", "rows.csv", "-o", "long", "--algorithm", "popular")
    server = serve(model="long")
    body = json.dumps({"users": list(range(100)), "n": 100, "include_seen": True}).encode()
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    before = memory_of(server)
    with contextlib.ExitStack() as open_streams:
        streams = []
        for _ in range(30):
            stream = open_streams.enter_context(socket.socket())
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stream.connect(("127.0.0.1", server.port))
            stream.sendall(request)
            streams.append(stream)
        done = 'likewise_requests_total{operation="recommend",status="%s"}'
        text = ""
        while sum(float(count) for count in re.findall(r'operation="recommend",status="\d+"} (\d+)', text)) < 30:
            text = server.get("/metrics")[1]
            time.sleep(0.05)
        assert 0 < server.metric(done % 200) <= 9
        assert server.metric(done % 503) == 30 - server.metric(done % 200)
        assert memory_of(server) - before < 200_000_000
        assert server.get("/v1/recommend?user=5&n=10")[0] == 200
    while server.metric("likewise_connections") > 1:
        time.sleep(0.02)
    assert memory_of(server) - before < 50_000_000, "it is given back"
    assert len(server.ask("POST", "/v1/recommend", json.loads(body))[1]["lists"]) == 100


def test_more_connections_than_there_may_be(serve):
    server = serve("--max-connections", 3)
    with contextlib.ExitStack() as open_streams:
        idle = [open_streams.enter_context(server.raw()) for _ in range(3)]
        assert server.get("/v1/model")[0] == 200
        assert everything(idle[0]) == b"", "the longest idle made room"
        busy = [open_streams.enter_context(server.raw()) for _ in range(3)]
        for stream in busy:
            stream.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            assert b"100 Continue" in stream.recv(100)
        status, body, _ = server.get("/v1/model")
        assert status == 503 and "connections" in body["error"]["message"]


def test_fewer_descriptors_than_clients(serve):
    server = serve(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (150, 150)))
    with contextlib.ExitStack() as open_streams:
        for _ in range(300):
            open_streams.enter_context(server.raw())
        assert server.get("/v1/recommend?user=5")[0] == 200
    assert server.get("/v1/recommend?user=5")[0] == 200


def test_a_thousand_idle_connections_hold_nobody_up(serve):
    server = serve()
    with contextlib.ExitStack() as open_streams:
        for _ in range(1000):
            open_streams.enter_context(server.raw())
        for user in range(1, 20):
            assert server.get(f"/v1/recommend?user={user}")[0] in (200, 404)
        assert server.metric("likewise_connections") >= 1000


def test_model_is_swapped_without_a_failed_request(serve, program, cinema, tmp_path):
    shutil.copy(cinema / "model.safetensors", tmp_path / "served")
    server = serve("--watch", 0.05, model="served")
    first = server.get("/v1/model")[1]["model"]
    ended = threading.Event()

    def ask_on():
        seen = []
        with contextlib.closing(server.connect()) as door:
            while not ended.is_set():
                status, body, _ = server.get("/v1/recommend?user=5&n=3", connection=door)
                seen.append((status, body.get("model")))
        return seen
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(ask_on) for _ in range(3)]
        for swap in range(6):
            source = "explicit.safetensors" if swap % 2 == 0 else "model.safetensors"
            shutil.copy(cinema / source, tmp_path / "next")
            os.replace(tmp_path / "next", tmp_path / "served")
            while server.metric("likewise_models_loaded_total") < swap + 2:
                time.sleep(0.02)
        ended.set()
        seen = [one for found in asking for one in found.result()]
    assert {status for status, _ in seen} == {200}
    assert len({model for _, model in seen}) == 2
    assert server.get("/v1/model")[1]["model"] == first


def test_what_is_no_model_gets_no_store_of_events(program):
    (program.folder / "ratings.csv").write_text("user,item\n1,2\n")
    told = program("serve", "ratings.csv", exit_code=1).stderr
    assert "ratings.csv: cannot load the model: it is text, not a model" in told
    assert [path.name for path in program.folder.iterdir()] == ["ratings.csv"]


def test_ids_that_json_cannot_hold_are_refused(program):
    (program.folder / "latin.csv").write_bytes("user,item\nnäme,1\nnäme,2\nb,1\n".encode("latin-1"))
    program("train", "latin.csv", "-o", "m", "--algorithm", "popular")
    told = program("serve", "m", "--listen", "127.0.0.1:0", "--events", "off", exit_code=1).stderr
    assert r"m: the id of user 'n\xe4me' is not UTF-8" in told


def test_a_broken_model_is_refused(serve, cinema, tmp_path):
    whole = (cinema / "model.safetensors").read_bytes()
    (tmp_path / "served").write_bytes(whole)
    server = serve("--watch", 0.05, model="served")
    first = server.get("/v1/model")[1]["model"]
    (tmp_path / "next").write_bytes(whole[:-1] + b"x")
    os.replace(tmp_path / "next", tmp_path / "served")
    server.wait_for("the new model is refused, the one before stays: .*checksum")
    assert server.metric("likewise_model_refused") == 1
    assert server.get("/v1/model")[1]["model"] == first
    time.sleep(0.3)
    assert server.metric("likewise_models_refused_total") == 1, "it is not tried again and again"
    server.process.send_signal(signal.SIGHUP)
    while server.metric("likewise_models_refused_total") < 2:
        time.sleep(0.02)
    shutil.copy(cinema / "explicit.safetensors", tmp_path / "next")
    os.replace(tmp_path / "next", tmp_path / "served")
    server.wait_for("serves the model")
    assert server.metric("likewise_model_refused") == 0
    assert server.get("/v1/model")[1]["model"] != first


def test_a_model_that_is_back_in_its_place_is_not_refused(serve, cinema, tmp_path):
    shutil.copy(cinema / "model.safetensors", tmp_path / "served")
    server = serve("--watch", 0.05, model="served")
    os.rename(tmp_path / "served", tmp_path / "good")
    (tmp_path / "served").write_bytes(b"no model")
    server.wait_for("the new model is refused")
    assert server.metric("likewise_model_refused") == 1
    os.replace(tmp_path / "good", tmp_path / "served")
    server.wait_for("the refused model is gone")
    assert server.metric("likewise_model_refused") == 0
    assert server.metric("likewise_models_loaded_total") == 1


def test_a_model_that_was_away_when_it_was_asked_for(serve, cinema, tmp_path):
    shutil.copy(cinema / "model.safetensors", tmp_path / "served")
    server = serve("--watch", 0.05, model="served")
    os.rename(tmp_path / "served", tmp_path / "away")
    server.process.send_signal(signal.SIGHUP)
    server.wait_for("the new model is refused")
    assert server.metric("likewise_model_refused") == 1
    os.rename(tmp_path / "away", tmp_path / "served")
    server.wait_for("the refused model is gone")
    assert server.metric("likewise_model_refused") == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_once_requests_are_answered(serve, number):
    server = serve()
    with server.raw() as idle, server.raw() as begun:
        begun.sendall(b"POST /v1/recommend HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                      b"Content-Length: 14\r\n\r\n")
        assert server.get("/v1/model")[0] == 200  # the server has seen both
        server.process.send_signal(number)
        assert everything(idle) == b""
        begun.sendall(b'{"users": [5]}')
        text = everything(begun)
        assert statuses(text) == [200] and b"Connection: close" in text
    assert server.process.wait(30) == 0
    with pytest.raises(OSError):
        server.raw()


def test_drains_before_it_ends(serve):
    server = serve("--drain-time", 0.5)
    with contextlib.closing(server.connect()) as kept:
        assert server.get("/readyz", connection=kept)[0] == 200
        server.process.send_signal(signal.SIGTERM)
        while server.get("/readyz")[0] == 200:
            time.sleep(0.01)
        assert server.get("/readyz", connection=kept)[0] == 503
        status, _, headers = server.get("/v1/recommend?user=5")
        assert status == 200 and headers["Connection"] == "close"
        assert server.process.wait(30) == 0


def test_does_not_wait_for_ever_to_end(serve):
    server = serve("--shutdown-time", 0.2)
    with server.raw() as begun:
        begun.sendall(b"GET /v1/model HTTP/1.1\r\n")
        assert server.get("/v1/model")[0] == 200
        assert server.end() == 0


def test_log_has_no_ids_unless_asked(serve, tmp_path):
    for personal in (False, True):
        path = tmp_path / f"log-{personal}"
        server = serve("--access-log", path, *(["--log-personal"] if personal else []))
        server.get("/v1/recommend?user=5")
        server.get("/v1/recommend?user=nobody")
        assert server.end() == 0
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [(line["operation"], line["status"]) for line in lines] == [("recommend", 200), ("recommend", 404)]
        assert ("nobody" in path.read_text()) is personal
        assert ("127.0.0.1" in path.read_text()) is personal


def test_lines_that_a_log_does_not_take_are_counted(serve):
    server = serve("--access-log", "/dev/full")
    for user in range(40):
        server.get(f"/v1/recommend?user={user}")
    while server.metric("likewise_log_lines_dropped_total") < 40:
        time.sleep(0.05)


def test_the_log_is_no_file_of_events(program, cinema, tmp_path):
    shutil.copy(cinema / "model.safetensors", tmp_path / "m")
    for options in (["--access-log", "m.events"], ["--access-log", "e", "--events", "./e"], ["--events", "m"]):
        told = program("serve", "m", "--listen", "127.0.0.1:0", *options, exit_code=2).stderr
        assert "are the same file" in told
    assert not (tmp_path / "m.events").exists() and not (tmp_path / "e").exists()


def test_concurrent_clients_get_their_own_answers(serve):
    server = serve()
    alone = {user: server.get(f"/v1/recommend?user={user}")[1] for user in range(1, 41)}

    def ask(user):
        with contextlib.closing(server.connect()) as door:
            return all(server.get(f"/v1/recommend?user={user}", connection=door)[1] == alone[user] for _ in range(10))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, alone))


def fits(schema, value):
    """Whether a value is as a schema says, in the part of JSON Schema that the document uses."""
    if "anyOf" in schema:
        return any(fits(one, value) for one in schema["anyOf"])
    types = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}
    wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, types[one]) for one in wanted):
        return False
    if isinstance(value, list):
        return all(fits(schema["items"], one) for one in value)
    if isinstance(value, dict) and "properties" in schema:
        return value.keys() <= schema["properties"].keys() and set(schema["required"]) <= value.keys() and all(
            fits(schema["properties"][name], one) for name, one in value.items())
    return True


def test_the_document_says_what_is_answered(serve, tmp_path):
    server = serve("--events", tmp_path / "events")
    document = server.get("/openapi.json")[1]
    asked = [("get", "/v1/recommend", "?user=5", None), ("post", "/v1/recommend", "", {"likes": [3], "reasons": 2}),
             ("get", "/v1/similar", "?item=5", None), ("post", "/v1/similar", "", {"users": [5]}),
             ("post", "/v1/predict", "", {"pairs": [[5, 7]]}), ("get", "/v1/explain", "?user=5&item=7", None),
             ("get", "/v1/items", "?query=1", None), ("post", "/v1/items", "", {"items": [7, 8]}),
             ("get", "/v1/model", "", None), ("get", "/healthz", "", None),
             ("get", "/readyz", "", None), ("get", "/metrics", "", None), ("get", "/openapi.json", "", None),
             ("post", "/v1/explain", "", {"likes": [3], "item": 7}),
             ("post", "/v1/events", "", {"user": 5, "item": 7, "value": 2}), ("get", "/v1/users/{user}", "", None),
             ("delete", "/v1/users/{user}", "", None)]
    assert {(method, path) for method, path, _, _ in asked} >= {
        (method, path) for path, methods in document["paths"].items() for method in methods} - {
        ("post", "/v1/explain")}
    for method, path, query, body in asked:
        status, found, headers = server.ask(method.upper(), path.replace("{user}", "5") + query, body)
        answers = document["paths"][path][method]["responses"]
        content = answers[str(status)]["content"]
        assert list(content) == [headers["Content-Type"]]
        assert fits(content[headers["Content-Type"]]["schema"], found), (path, found)
    fault = document["components"]["schemas"]["fault"]
    assert fits(fault, server.get("/v1/recommend")[1])
