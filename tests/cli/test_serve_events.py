# SPDX-License-Identifier: Apache-2.0
"""`likewise serve` and events: kills, a full disk, updates of the model. LIKEWISE_KILLS says how often it is killed."""
import concurrent.futures
import http.client
import os
import random
import resource
import shutil
import signal
import sqlite3
import time

import pytest

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


def test_kills_lose_no_acknowledged_event(program, model):
    acknowledged = []
    draw = random.Random(1)
    for kill in range(KILLS):
        server = Server(program, model)
        with concurrent.futures.ThreadPoolExecutor(4) as senders:
            before = len(acknowledged)
            for sender in range(4):
                senders.submit(send_until_killed, server, f"{kill}-{sender}", acknowledged)
            wait_until(lambda: len(acknowledged) > before)
            time.sleep(draw.random() * 0.1)
            server.end(signal.SIGKILL)
        stored = [key for key, in sqlite3.connect(f"{model}.events").execute("SELECT key FROM events")]
        assert len(stored) == len(set(stored))
        assert set(acknowledged) <= set(stored)
    assert len(acknowledged) > KILLS


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
    assert (status, body["error"]["kind"]) == (507, "storage_full")
    assert server.get("/v1/recommend?user=5")[0] == 200
    assert server.metric("likewise_event_store_up") == 0
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert server.ask("POST", "/v1/events", event(1, "room again"))[0] == 202
    assert server.metric("likewise_event_store_up") == 1


@pytest.mark.parametrize("options, reason", [
    (["--events", "mysql://there"], "postgresql://"),
    (["--events", "off", "--update-every", "1m"], "--update-every"),
    (["--compact"], "--update-every"),
    (["--update-every", "10"], "needs a time"),
])
def test_options_that_cannot_be(program, model, options, reason):
    assert reason in program("serve", model, *options, exit_code=2).stderr
