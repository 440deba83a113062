# SPDX-License-Identifier: Apache-2.0
"""`likewise serve` and events: kills, a full disk, a database that goes away, updates of the model. LIKEWISE_KILLS says how
often it is killed, and how often the database."""
import concurrent.futures
import contextlib
import http.client
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time

import pytest

from conftest import BINARY

from test_serve import Server, serve  # noqa: F401 (a fixture)

KILLS = int(os.environ.get("LIKEWISE_KILLS", "5"))


@pytest.fixture
def model(cinema, tmp_path):
    """A copy of the model, with a place for events beside it."""
    return shutil.copy(cinema / "model.safetensors", tmp_path / "model.safetensors")


def event(user, item, **more):
    return {"user": user, "item": item, **more}


def wait_until(holds, seconds=30):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def send_until_killed(server, name, acknowledged):
    """Events one by one on one connection, until the server is gone."""
    connection = server.connect()
    try:
        for number in range(10**9):
            key = f"{name}-{number}"
            status, body, _ = server.ask("POST", "/v1/events", event(name, key, key=key), connection=connection)
            assert (status, body) == (202, {"accepted": 1, "repeated": 0})
            acknowledged.append(key)
    except (OSError, http.client.HTTPException):
        return


class Postgres:
    """A database server of its own, on a socket in a folder."""

    def __init__(self, folder):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not found:
            pytest.skip("no PostgreSQL: scripts/setup installs it")
        self.programs, self.folder = found[-1].parent, folder
        folder.mkdir()
        self.prefix = []
        if os.geteuid() == 0:
            self.prefix = ["runuser", "-u", "postgres", "--"]
            shutil.chown(folder, "postgres")
        self.run("initdb", "-D", folder / "data", "-A", "trust", "-U", "likewise", "--no-sync", "--no-locale", "-E", "UTF8")
        self.start()
        self.databases = 0

    def run(self, name, *arguments):
        return subprocess.run([*self.prefix, self.programs / name, *arguments], cwd="/", check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=60).stdout

    def start(self):
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=20 -c shared_buffers=16MB"
        self.run("pg_ctl", "-D", self.folder / "data", "-l", self.folder / "log", "-w", "-o", options, "start")

    def stop(self):
        self.run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")

    def fresh_database(self):
        """The URL of one without tables."""
        self.databases += 1
        self.run("createdb", "-h", self.folder, "-U", "likewise", f"likes{self.databases}")
        return f"postgresql:///likes{self.databases}?host={self.folder}&user=likewise"

    def ask(self, sql):
        """Lines of the answer of the newest database."""
        return self.run("psql", "-h", self.folder, "-U", "likewise", "-At", "-c", sql, f"likes{self.databases}").splitlines()

    def keys(self):
        return self.ask("SELECT key FROM likewise_events")


@pytest.fixture(scope="module")
def postgres():
    # A path that is short enough for a socket, and that another user may enter.
    with tempfile.TemporaryDirectory(prefix="likewise-") as folder:
        os.chmod(folder, 0o711)
        server = Postgres(pathlib.Path(folder) / "db")
        yield server
        server.stop()


def sqlite_keys(path):
    with contextlib.closing(sqlite3.connect(path)) as store:
        return [key for key, in store.execute("SELECT key FROM events")]


@pytest.mark.parametrize("where", ["sqlite", "postgresql"])
def test_kills_lose_no_acknowledged_event(program, model, where, request):
    acknowledged = []
    draw = random.Random(1)
    database = request.getfixturevalue("postgres") if where == "postgresql" else None
    options = ["--events", database.fresh_database()] if database else []
    for kill in range(KILLS):
        server = Server(program, model, *options)
        with concurrent.futures.ThreadPoolExecutor(4) as senders:
            before = len(acknowledged)
            for sender in range(4):
                senders.submit(send_until_killed, server, f"{kill}-{sender}", acknowledged)
            wait_until(lambda: len(acknowledged) > before)
            time.sleep(draw.random() * 0.1)
            server.end(signal.SIGKILL)
        stored = database.keys() if database else sqlite_keys(f"{model}.events")
        assert len(stored) == len(set(stored))
        assert set(acknowledged) <= set(stored)
    assert len(acknowledged) > KILLS


class Senders:
    """Clients that send events until they are told to stop, whatever is answered."""

    def __init__(self, server):
        self.server = server
        self.acknowledged = [[] for _ in range(4)]
        self.refused = []  # statuses
        self.ended = threading.Event()
        self.pool = concurrent.futures.ThreadPoolExecutor(4)
        self.sending = [self.pool.submit(self.send, sender) for sender in range(4)]

    def send(self, sender):
        with contextlib.closing(self.server.connect()) as connection:
            for number in range(10**9):
                if self.ended.is_set():
                    return
                key = f"{sender}-{number}"
                status, body, _ = self.server.ask("POST", "/v1/events", event(f"sender {sender}", key, key=key),
                                                  connection=connection)
                if status == 202:
                    assert body == {"accepted": 1, "repeated": 0}
                    self.acknowledged[sender].append(key)
                else:
                    self.refused.append(status)
                    time.sleep(0.01)

    def count(self):
        return sum(map(len, self.acknowledged))

    def end(self):
        """All keys that were acknowledged."""
        self.ended.set()
        for one in self.sending:
            one.result()
        return {key for keys in self.acknowledged for key in keys}


def test_the_database_goes_away_and_comes_back(serve, model, postgres):  # noqa: F811
    server = serve("--events", postgres.fresh_database(), model=model)
    senders = Senders(server)
    for _ in range(max(1, KILLS // 5)):
        before = senders.count()
        wait_until(lambda: senders.count() > before + 20)
        postgres.stop()
        refused = len(senders.refused)
        wait_until(lambda: len(senders.refused) > refused + 4)
        assert server.metric("likewise_event_store_up") == 0
        assert server.get("/v1/recommend?user=5")[0] == 200
        postgres.start()
        before = senders.count()
        wait_until(lambda: senders.count() > before + 20)
        wait_until(lambda: server.metric("likewise_event_store_up") == 1)
    acknowledged = senders.end()
    assert set(senders.refused) == {503}
    stored = postgres.keys()
    assert len(stored) == len(set(stored))
    assert acknowledged <= set(stored)


def test_what_the_database_does_not_commit_is_not_acknowledged(serve, model, postgres):  # noqa: F811
    server = serve("--events", postgres.fresh_database(), model=model)
    assert server.ask("POST", "/v1/events", event("a", "b", key="before"))[0] == 202
    # It gives the rows of an insertion, and refuses the end of the transaction.
    postgres.ask("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$; "
                 "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON likewise_events DEFERRABLE INITIALLY DEFERRED "
                 "FOR EACH ROW EXECUTE FUNCTION refuse()")
    assert server.ask("POST", "/v1/events", event("a", "b", key="refused"))[0] == 503
    assert server.metric("likewise_event_store_up") == 0
    postgres.ask("DROP TRIGGER late ON likewise_events")
    wait_until(lambda: server.ask("POST", "/v1/events", event("a", "b", key="after"))[0] == 202)
    assert postgres.keys() == ["before", "after"]


class OnSmallDisk:
    """Starts the program with a file system of its own at a folder, of so many bytes."""

    def __init__(self, folder, size):
        self.cwd = folder
        self.folder = folder / "small"
        self.folder.mkdir()
        self.mount = f'mount -t tmpfs -o size={size} none "$1" && shift && exec "$@"'

    def start(self, *arguments, **options):
        return subprocess.Popen(["unshare", "-m", "sh", "-c", self.mount, "sh", self.folder, BINARY, *map(str, arguments)],
                                cwd=self.cwd, **options)


def can_mount():
    return shutil.which("unshare") is not None and subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=64k", "none", "/tmp"], capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="this user may not mount")
def test_a_file_system_without_room_refuses_events_alone(model, tmp_path):
    disk = OnSmallDisk(tmp_path, 1_000_000)
    server = Server(disk, model, "--events", disk.folder / "events")
    ballast = pathlib.Path(f"/proc/{server.process.pid}/root{disk.folder}/ballast")
    ballast.write_bytes(bytes(500_000))
    senders = Senders(server)
    wait_until(lambda: len(senders.refused) > 8)
    assert server.get("/v1/recommend?user=5")[0] == 200
    assert server.metric("likewise_event_store_up") == 0
    before = senders.count()
    ballast.unlink()
    wait_until(lambda: senders.count() > before + 20)
    acknowledged = senders.end()
    assert set(senders.refused) == {507}
    stored = [one["key"] for sender in range(4) for one in server.get(f"/v1/users/sender%20{sender}")[1]["events"]]
    assert len(stored) == len(set(stored))
    assert acknowledged <= set(stored)
    assert server.end() == 0


def test_an_event_counts_at_once_and_after_an_update(serve, program, model):  # noqa: F811
    server = serve("--update-every", "1s", "--watch", 0.2, model=model)
    first = server.get("/v1/recommend?user=5&n=1")[1]
    item = first["lists"][0]["items"][0]["item"]
    known = server.get("/v1/model")[1]
    assert server.ask("POST", "/v1/events", {"events": [event(5, item), event("new", item), event("new", "fresh")]})[
        0] == 202
    assert server.get("/v1/recommend?user=5&n=1")[1]["lists"][0]["items"][0]["item"] != item
    assert server.get("/v1/recommend?user=new")[0] == 200
    server.wait_for("the model has learned 3 events: 1 user and 1 item are new")
    wait_until(lambda: server.get("/v1/model")[1]["model"] != first["model"])
    now = server.get("/v1/model")[1]
    assert (now["users"], now["items"]) == (known["users"] + 1, known["items"] + 1)
    assert server.get("/v1/recommend?user=5&n=1")[1]["lists"][0]["items"][0]["item"] != item
    assert server.metric("likewise_updates_total") == 1
    assert server.metric("likewise_events_stored_total") == 3
    assert server.metric("likewise_followed_items_total") == 1
    assert server.end() == 0
    again = serve("--update-every", "1s", model=model)
    time.sleep(2)
    assert again.metric("likewise_updates_total") == 0  # all is learned


def test_an_update_names_who_is_left_out(program, serve, model):  # noqa: F811
    (program.folder / "rows.csv").write_text("".join(f"{u},{i}\n" for u in range(20) for i in range(u % 3, 9, 1 + u % 2)))
    program("train", "rows.csv", "-o", "ease", "--algorithm", "ease", "--form", "dense", "--regularization", 3)
    server = serve("--update-every", "1s", model="ease")
    assert server.ask("POST", "/v1/events", {"events": [event("mallory", 1, value=1e6), event("mallory", 2, value=1e6),
                                                        event("ann", 3)]})[0] == 202
    server.wait_for("the model goes on without 2 events of user 'mallory', which it cannot learn: the weights of")
    server.wait_for("the model has learned 1 event: 1 user and 0 items are new")
    wait_until(lambda: server.metric("likewise_update_events_set_aside_total") == 2)
    assert server.metric("likewise_update_failed") == 0


def test_a_failed_update_leaves_the_model(serve, model, tmp_path):  # noqa: F811
    server = serve("--update-every", "1s", "--watch", 0, model=model)
    os.rename(model, tmp_path / "away")
    assert server.ask("POST", "/v1/events", event(5, 7))[0] == 202
    server.wait_for("the model was not updated, the one before stays")
    wait_until(lambda: server.metric("likewise_update_failed") == 1)
    assert server.get("/v1/recommend?user=5")[0] == 200


def test_a_user_is_told_and_erased(serve, model):  # noqa: F811
    server = serve(model=model)
    assert server.ask("POST", "/v1/events", event(5, 7, value=2, time=1_700_000_000))[0] == 202
    told = server.get("/v1/users/5")[1]
    assert told["events"] == [{"item": "7", "value": 2, "time": 1_700_000_000}]
    assert told["history"]
    assert server.ask("DELETE", "/v1/users/5")[:2] == (200, {"erased": 1})
    assert server.get("/v1/users/5")[0] == server.get("/v1/recommend?user=5")[0] == 404


def test_a_full_disk_refuses_events_alone(serve, model):  # noqa: F811
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    server = serve(model=model, preexec_fn=small_files)
    for number in range(1000):
        status, body, _ = server.ask("POST", "/v1/events", {"events": [event(1, f"{number}-{i}") for i in range(50)]})
        if status != 202:
            break
    assert body["error"] == {"kind": "storage_full", "message": "events cannot be stored, there is no room"}
    assert status == 507
    assert server.get("/v1/recommend?user=5")[0] == 200
    time.sleep(1.2)  # two looks for the events of other servers, which work
    assert server.metric("likewise_event_store_up") == server.metric("likewise_event_store_writable") == 0
    assert server.metric("likewise_event_store_readable") == 1
    assert any(f"events are refused: {model}.events: events cannot be stored, there is no room" in line
               for line in server.lines)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert server.ask("POST", "/v1/events", event(1, "room again"))[0] == 202
    assert server.metric("likewise_event_store_up") == 1


def test_a_store_that_was_removed_takes_no_events(serve, model):  # noqa: F811
    server = serve(model=model)
    assert server.ask("POST", "/v1/events", event(5, 7))[0] == 202
    for path in pathlib.Path(model).parent.glob("model.safetensors.events*"):
        path.unlink()
    status, body, _ = server.ask("POST", "/v1/events", event(5, 8))
    assert (status, body["error"]["kind"]) == (503, "unavailable")
    assert server.metric("likewise_event_store_up") == 0
    assert server.get("/v1/recommend?user=5")[0] == 200
    time.sleep(1.2)  # two looks for the events of other servers
    assert server.ask("POST", "/v1/events", event(5, 9))[0] == 503
    assert server.metric("likewise_event_store_up") == 0
    assert "moved" not in body["error"]["message"]  # nor where the file is
    said = [line for line in server.lines if "moved, removed or replaced" in line]
    assert sorted(re.split("answers do|events are", line)[1].split(":")[0] for line in said) == [
        " refused", " without new events"]
    assert all(f"{model}.events: " in line and "start the server again" in line for line in said)


@pytest.mark.parametrize("options, reason", [
    (["--events", "mysql://there"], "postgresql://"),
    (["--events", "off", "--update-every", "1m"], "--update-every"),
    (["--compact"], "--update-every"),
    (["--update-every", "10"], "needs a time"),
])
def test_options_that_cannot_be(program, model, options, reason):
    assert reason in program("serve", model, *options, exit_code=2).stderr
