# SPDX-License-Identifier: Apache-2.0
"""`likewise update`: models that grow by what is new."""
import json
import os
import random
import signal
import subprocess
import time

import numpy as np
import pytest
from safetensors.numpy import load_file

from conftest import BINARY

SMALL = ["--factors", 4, "--iterations", 3]
KINDS = {
    "als": SMALL,
    "als-explicit": ["--feedback", "explicit", *SMALL],
    "sgd": ["--algorithm", "sgd", *SMALL],
    "bpr": ["--algorithm", "bpr", *SMALL],
    "item-knn": ["--algorithm", "item-knn"],
    "user-knn": ["--algorithm", "user-knn", "--feedback", "explicit"],
    "popular": ["--algorithm", "popular"],
    "bias": ["--algorithm", "bias"],
}
EXACT = ["item-knn", "user-knn", "popular", "bias"]
NEW = [("u1", "i2", 5), ("u1", "i99", 3), ("somebody", "i2", 1), ("somebody", "i99", 4)]


@pytest.fixture
def ratings(tmp_path):
    draw = random.Random(3)
    rows = sorted({(f"u{draw.randrange(40)}", f"i{draw.randrange(30)}"): draw.randrange(1, 6)
                   for _ in range(500)}.items())
    rows = [(*pair, value) for pair, value in rows if pair != ("u1", "i2")]
    write(tmp_path / "old.csv", rows)
    write(tmp_path / "new.csv", NEW)
    write(tmp_path / "both.csv", rows + NEW)
    return rows


def write(path, rows):
    path.write_text("user,item,value\n" + "".join(f"{u},{i},{v}\n" for u, i, v in rows))


def rows_by_id(path, side):
    """The numbers of each row that the model learned of a side."""
    model = load_file(path)
    chars, at = model[f"{side}_ids.chars"].tobytes(), model[f"{side}_ids.offsets"]
    ids = [chars[a:b].decode() for a, b in zip(at, at[1:])]
    learned = [model[f"{side}_{what}"] for what in ("factors", "bias", "squares")
               if f"{side}_{what}" in model]
    return {name: b"".join(part[row].tobytes() for part in learned)
            for row, name in enumerate(ids)}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in EXACT])
def test_what_is_not_touched_stays_to_the_bit(program, tmp_path, ratings, kind):
    program("train", "old.csv", "-o", "m", *KINDS[kind])
    ways = [[]] + ([["--by", "sgd"]] if kind == "als-explicit" else [])
    for way in ways:
        done = program("update", "m", "new.csv", "-o", "n", *way)
        assert "new: 1 user, 1 item" in done.stderr and "refined: 2 users of" in done.stderr
        for side, touched in (("user", {"u1", "somebody"}), ("item", {"i2", "i99"})):
            old, new = rows_by_id(tmp_path / "m", side), rows_by_id(tmp_path / "n", side)
            assert new.keys() == old.keys() | touched
            assert {name for name in old if new[name] != old[name]} == touched & old.keys()
        assert program("recommend", "n", "--user", "somebody", "-n", 3).stdout.count("\n") == 4
        assert "i99" not in program("recommend", "n", "--user", "u1", "-n", 30).stdout


@pytest.mark.parametrize("kind", EXACT)
def test_what_is_exact_is_as_trained_on_all(program, tmp_path, ratings, kind):
    program("train", "old.csv", "-o", "m", *KINDS[kind])
    program("update", "m", "new.csv", "-o", "n")
    program("train", "both.csv", "-o", "anew", *KINDS[kind])
    grown, anew = load_file(tmp_path / "n"), load_file(tmp_path / "anew")
    assert grown.keys() == anew.keys()
    assert all(np.array_equal(grown[name], anew[name]) for name in anew)


@pytest.mark.parametrize("kind", KINDS)
def test_it_says_what_it_did_and_keeps_that(program, tmp_path, ratings, kind):
    program("train", "old.csv", "-o", "m", *KINDS[kind])
    trained = json.loads(program("info", "m", "--json").stdout)
    assert "updates" not in trained
    done = program("update", "m", "new.csv", "-o", "m", "--json")
    told = json.loads(done.stdout)
    assert told["algorithm"] == kind.removesuffix("-explicit") and told["model"] == "m"
    assert told["new"] == {"users": 1, "items": 1, "interactions": 4, "repeated": 0}
    assert told["interactions"] == len(ratings) + 4
    assert set(told["seconds"]) == {"load", "read", "update", "save"}
    again = program("update", "m", "new.csv", "-o", "m", "--json")
    assert json.loads(again.stdout)["new"] == {"users": 0, "items": 0, "interactions": 4,
                                               "repeated": 4}
    assert "4 pairs that the model has already: the value of the new rows counts" in again.stderr
    now = json.loads(program("info", "m", "--json").stdout)
    assert now["updates"]["count"] == 2 and now["updates"]["interactions"] == 8
    assert now["updates"]["source"] == "new.csv" and now["source"] == "old.csv"
    assert now["created"] == trained["created"]
    assert now.get("iterations") == trained.get("iterations")
    assert "updates" in program("info", "m").stdout


def test_training_goes_on_from_an_updated_model(program, ratings):
    for kind in ("als", "als-explicit", "sgd", "bpr"):
        program("train", "old.csv", "-o", "m", *KINDS[kind])
        program("update", "m", "new.csv", "-o", "m")
        program("train", "both.csv", "-o", "on", "--resume", "m", "--iterations", 5)
        told = json.loads(program("info", "on", "--json").stdout)
        assert told["iterations"] == 5 and "updates" not in told
        assert "knows" in program("train", "old.csv", "-o", "on", "--resume", "m", "--iterations",
                                  5, exit_code=2).stderr


@pytest.mark.parametrize("kind", ["als", "als-explicit", "sgd", "bpr", "item-knn"])
def test_threads_and_streams_do_not_matter(program, tmp_path, ratings, kind):
    program("train", "old.csv", "-o", "m", *KINDS[kind])
    for threads in (1, 2, 7):
        program("update", "m", "-", "-o", f"n{threads}", "--threads", threads,
                stdin=(tmp_path / "new.csv").read_text())
    models = [load_file(tmp_path / f"n{threads}") for threads in (1, 2, 7)]
    for other in models[1:]:
        assert all(np.array_equal(models[0][name], other[name]) for name in models[0])


def test_what_cannot_be_done_says_so(program, tmp_path, ratings):
    program("train", "old.csv", "-o", "m", *KINDS["als"])
    program("train", "old.csv", "-o", "stars", *KINDS["als-explicit"])
    (tmp_path / "none.csv").write_text("user,item,value\n")
    (tmp_path / "pairs.csv").write_text("user,item\nu1,i2\n")
    (tmp_path / "bad.csv").write_text("user,item,value\nu1,i2,?\n")
    for words, code, part in (
            (["m", "none.csv"], 1, "no "), (["stars", "pairs.csv"], 2, "--columns"),
            (["m", "bad.csv"], 1, "bad.csv:2"), (["absent", "new.csv"], 1, "absent"),
            (["new.csv", "new.csv"], 1, "new.csv"), (["m", "absent.csv"], 1, "absent.csv"),
            (["m", "new.csv", "--by", "sgd"], 2, "explicit feedback"),
            (["m", "new.csv", "--by", "lsq"], 2, "als|sgd"),
            (["m", "new.csv", "--iterations", 0], 2, "[1, 10000]"),
            (["m", "new.csv", "--iterations", 10001], 2, "[1, 10000]"),
            (["stars", "new.csv", "--by", "sgd", "--learning-rate", 0], 2, "--learning-rate must be in"),
            (["m", "old.csv", "--duplicates", "error"], 1, "have a value already")):
        stderr = program("update", *words, "-o", "n", exit_code=code).stderr
        assert part in stderr and stderr.count("\n") <= 6, (words, stderr)
        assert not (tmp_path / "n").exists()
    assert "NEW" in program("update", "m", "-o", "n", exit_code=2).stderr
    assert "--add-to" in program("train", "new.csv", "-o", "n", "--add-to", "m", exit_code=2).stderr


def test_a_checkpoint_is_not_updated(program, tmp_path, ratings):
    program("train", "old.csv", "-o", "m", *KINDS["als"], "--checkpoint", "state")
    assert "checkpoint" in program("update", "state", "new.csv", "-o", "n", exit_code=2).stderr
    assert not (tmp_path / "n").exists()


def test_an_interrupt_leaves_no_file(program, tmp_path):
    program("generate", "3000x2000x120k", "-o", "big.csv")
    program("train", "big.csv", "-o", "m", "--factors", 32, "--iterations", 1)
    before = set(os.listdir(tmp_path))
    update = subprocess.Popen([BINARY, "update", "m", "big.csv", "-o", "n", "--iterations", "10000"],
                              cwd=tmp_path, stderr=subprocess.PIPE)
    time.sleep(1.5)
    update.send_signal(signal.SIGINT)
    _, stderr = update.communicate(timeout=20)
    assert update.returncode == 1 and b"interrupted" in stderr
    assert set(os.listdir(tmp_path)) == before


def test_quiet_and_verbose(program, ratings):
    program("train", "old.csv", "-o", "m", *KINDS["als"])
    assert program("update", "m", "new.csv", "-o", "n", "--quiet").stderr == ""
    assert "memory" in program("update", "m", "new.csv", "-o", "n", "--verbose").stderr


def test_steps_of_sgd_bring_explicit_als_nearer(program, tmp_path):
    """New users and items with ratings of a taste that the model has learned of others."""
    program("generate", "600x200x24k:explicit", "-o", "all.csv", "--seed", 4)
    header, *rows = (tmp_path / "all.csv").read_text().splitlines(keepends=True)
    random.Random(5).shuffle(rows)
    at = [int(len(rows) * share) for share in (0.7, 0.85)]
    for name, part in (("old", rows[:at[0]]), ("new", rows[at[0]:at[1]]), ("test", rows[at[1]:])):
        (tmp_path / f"{name}.csv").write_text(header + "".join(part))
    program("train", "old.csv", "-o", "m", "--feedback", "explicit", "--factors", 8)
    program("update", "m", "new.csv", "-o", "n", "--by", "sgd")
    program("update", "m", "new.csv", "-o", "solved")
    before, after, solved = (
        json.loads(program("evaluate", model, "test.csv", "--json").stdout)["rmse"]
        for model in ("m", "n", "solved"))
    assert after < before and solved < before


def predictions(program, model, pairs):
    lines = program("predict", model, pairs).stdout.splitlines()[1:]
    return [float(line.split(",")[2]) for line in lines]


def test_steps_go_no_further_than_the_rating(program, tmp_path):
    """Factors that are large for the spread of the ratings: one step would take a prediction far beyond."""
    write(tmp_path / "old.csv", [(u, i, 5) for u in range(300) for i in range(20)])
    write(tmp_path / "new.csv", [(999, 3, 5)])
    program("train", "old.csv", "-o", "m", "--feedback", "explicit", "--factors", 8, "--iterations", 5,
            "--biases", "off", "--regularization", 10, "--regularization-exponent", 0)
    for rate in (0.05, 3):
        program("update", "m", "new.csv", "-o", "n", "--by", "sgd", "--learning-rate", rate)
        assert -0.1 < predictions(program, "n", "new.csv")[0] < 5.1


@pytest.mark.parametrize("schedule", ["adaptive", "constant", "inverse", "bold"])
@pytest.mark.parametrize("order", ["blocked", "alternating", "racing", "serial"])
def test_steps_are_relative_to_the_spread_that_training_had(program, tmp_path, schedule, order):
    """Nearly equal ratings in all: those of training were not, or were equal to the last."""
    write(tmp_path / "old.csv", [(u, i, 3) for u in range(8) for i in range(8)])
    write(tmp_path / "new.csv", [(0, 0, 3.001), (9, 1, 3)])
    write(tmp_path / "far.csv", [(0, 1, 5), (9, 1, 1)])
    program("train", "old.csv", "-o", "m", "--algorithm", "sgd", "--schedule", schedule, "--order", order)
    program("update", "m", "new.csv", "-o", "n")
    assert predictions(program, "n", "new.csv") == pytest.approx([3, 3], abs=0.1)
    program("update", "n", "far.csv", "-o", "o")
    assert predictions(program, "o", "new.csv") == pytest.approx([3, 3], abs=2)
    assert [header_of(tmp_path / model).get("trained_spread") for model in "mno"] == [None, "1", "1"]


def header_of(path):
    content = path.read_bytes()
    return json.loads(content[8:8 + int.from_bytes(content[:8], "little")])["__metadata__"]


def test_two_updates_of_a_model_come_one_after_the_other(program, tmp_path):
    program("generate", "400x200x8000", "-o", "old.csv")
    program("train", "old.csv", "-o", "m", *SMALL)
    names = [f"new{n}" for n in range(4)]
    for name in names:
        write(tmp_path / f"{name}.csv", [(name, 1, 1), (name, 2, 1)])
    # With a round of ALS that takes so long that they meet.
    updates = [program.start("update", "m", f"{name}.csv", "-o", "m", "--iterations", 300,
                             stderr=subprocess.PIPE, text=True) for name in names]
    told = [update.communicate(timeout=90)[1] for update in updates]
    assert [update.returncode for update in updates] == [0] * 4, told
    assert any("another program has it in hand; waiting for its end" in text for text in told)
    for name in names:
        assert program("recommend", "m", "--user", name, "-n", 1).stdout.count("\n") == 2
    assert {name for name in os.listdir(tmp_path) if name.startswith(".")} == set()


def begun(program, *words):
    """An update that has its model in hand and has read what is new."""
    update = program.start("update", *words, stderr=subprocess.PIPE, text=True)
    while not (line := update.stderr.readline()).startswith("old.csv"):
        assert line
    return update


def test_an_update_does_not_write_over_a_model_that_came_meanwhile(program, tmp_path):
    program("generate", "2000x1000x40000", "-o", "old.csv")
    program("train", "old.csv", "-o", "m", *SMALL)
    program("train", "old.csv", "-o", "other", "--algorithm", "popular")
    update = begun(program, "m", "old.csv", "-o", "m", "--iterations", 10000)
    waiting = program.start("update", "m", "old.csv", "-o", "m", stderr=subprocess.PIPE, text=True)
    assert "another program has it in hand" in waiting.stderr.readline()
    waiting.send_signal(signal.SIGINT)
    assert "interrupted" in waiting.communicate(timeout=20)[1] and waiting.returncode == 1
    update.kill()  # its lock goes with it
    update.communicate()
    update = begun(program, "m", "old.csv", "-o", "m", "--iterations", 200)
    os.replace(tmp_path / "other", tmp_path / "m")
    came = (tmp_path / "m").read_bytes()
    _, stderr = update.communicate(timeout=90)
    assert update.returncode == 1
    assert "m: another program has written it meanwhile: nothing was written over that" in stderr
    assert (tmp_path / "m").read_bytes() == came


def test_one_training_at_a_time_writes_a_checkpoint(program, tmp_path):
    program("generate", "300x80x6000", "-o", "old.csv")
    words = ["train", "old.csv", "--factors", 4, "--checkpoint", "state"]
    training = program.start(*words, "-o", "m", "--iterations", 999999, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (tmp_path / "state").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for resume in ([], ["--resume", "state"]):
        stderr = program(*words, *resume, "-o", "n", "--iterations", 1000000, exit_code=1).stderr
        assert "state: another program has it in hand" in stderr
    training.kill()
    training.communicate()
    assert not (tmp_path / "n").exists()
    program(*words, "--resume", "state", "-o", "state-of-it", "--iterations", 1000000, "--tolerance", 0.1)
