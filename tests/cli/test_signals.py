# SPDX-License-Identifier: Apache-2.0
"""Signals at any moment of every verb: an answer within a second, one line that names the signal, exit
code 1 and no half-written files."""
import fcntl
import os
import random
import resource
import signal
import subprocess
import time

import pytest

from conftest import Program

STOPPING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU]
# A second is promised; the rest is for a machine that has other things to do.
SOON = 2.0

ENDLESS = ["train", "@large.csv", "-o", "m", "--iterations", 1_000_000]
# Runs that work, or wait, longer than any test does. @ stands for the folder of the fixture; nobody
# reads what goes to standard output, and nobody writes into the pipe "silent".
BUSY = {
    "train": ENDLESS,
    "train with checkpoints": [*ENDLESS, "--checkpoint", "state", "--report", "r.html"],
    "train by validation": [*ENDLESS, "--validation", "@parts/test.csv"],
    "tune": ["tune", "@large.csv", "-o", "m", "--budget", "1h"],
    "cross-validate": ["cross-validate", "@large.csv", "--folds", 1000],
    "train on the reference": [*ENDLESS, "--device", "reference", "--factors", 200, "--threads", 1],
    "explain": ["recommend", "@wide.safetensors", "--all", "-n", 1000, "--explain", "-o", "lists.csv"],
    "explain to somebody new": ["recommend", "@wide.safetensors", "--new", "@large.csv", "-n", 1000,
                                "--explain", "-o", "lists.csv.gz"],
    "generate": ["generate", "20kx5kx10m", "-o", "big.csv.gz"],
    "recommend": ["recommend", "@near.safetensors", "--all", "-n", 1000, "--include-seen"],
    "similar": ["similar", "@wide.safetensors", "--all-items", "-n", 1000],
    "predict": ["predict", "@wide.safetensors", "--all-missing"],
    "read by train": ["train", "silent", "-o", "m"],
    "read by split": ["split", "silent", "-o", "parts"],
    "read by evaluate": ["evaluate", "@wide.safetensors", "silent", "--per-user", "each.csv"],
    "read by predict": ["predict", "@wide.safetensors", "silent", "-o", "lists.csv"],
    "read by compare": ["compare", "silent", "-o", "page.html"],
    "read by recommend": ["recommend", "@wide.safetensors", "--users", "silent", "-o", "lists.csv"],
}
# Runs that end by themselves.
SHORT = {
    "train": ["train", "@large.csv", "-o", "m", "--iterations", 3, "--factors", 16, "--checkpoint", "state",
              "--report", "r.html"],
    "generate": ["generate", "2kx1kx100k", "-o", "made.csv.zst"],
    "split": ["split", "@large.csv", "-o", "parts"],
    "recommend": ["recommend", "@wide.safetensors", "--all", "-o", "lists.csv.gz"],
}


@pytest.fixture(scope="module")
def theatre(cinema):
    """Beside the cinema's files: what keeps a verb busy."""
    run = Program(cinema)
    run("generate", "400x1500x120000", "-o", "large.csv", "--seed", 5)
    run("train", "large.csv", "-o", "wide.safetensors", "--factors", 128, "--iterations", 1)
    run("train", "large.csv", "-o", "near.safetensors", "--algorithm", "item-knn", "--neighbours", 10)
    return cinema


def words(verb, folder):
    return [str(word).replace("@", f"{folder}/") for word in verb]


def partial_files(folder):
    return [path for path in folder.rglob("*") if "partial" in path.name]


def expect_end(process, which, folder, may_be_done=False):
    """`which` was sent just now."""
    try:
        code = process.wait(timeout=SOON)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail(f"no answer to {which.name} within {SOON} s: {process.args}")
    stderr = process.stderr.read()
    assert partial_files(folder) == []
    if code == -which and stderr == "":
        return  # the program had not begun
    if code == 0 and may_be_done:
        return
    assert code == 1, stderr
    last = stderr.splitlines()[-1]
    assert last.startswith("likewise: interrupted") and last.endswith(f"({which.name})"), stderr
    assert stderr.count("likewise: ") == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_every_verb_answers_a_signal(theatre, tmp_path, seed):
    moments = random.Random(seed)
    running = []
    try:
        for name, verb in BUSY.items():
            folder = tmp_path / name
            folder.mkdir()
            os.mkfifo(folder / "silent")
            # With a writer that is there and silent, reading waits; without one, opening does.
            writer = open(folder / "silent", "r+b", buffering=0) if moments.random() < 0.5 else None
            process = Program(folder).start(*words(verb, theatre), stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, text=True)
            running.append((process, moments.choice(STOPPING), folder, writer))
        moments.shuffle(running)
        for process, which, _, _ in running:
            time.sleep(moments.uniform(0, 0.1))
            process.send_signal(which)
        for process, which, folder, _ in running:
            expect_end(process, which, folder)
    finally:
        for process, *_ in running:
            process.kill()


@pytest.mark.parametrize("verb", SHORT)
def test_at_any_moment(program, theatre, tmp_path, verb):
    moments = random.Random(verb)
    arguments = words(SHORT[verb], theatre)
    start = time.monotonic()
    program(*arguments)
    whole = time.monotonic() - start
    for _ in range(6):
        which = moments.choice(STOPPING)
        process = program.start(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(moments.uniform(0, whole))
        process.send_signal(which)
        expect_end(process, which, tmp_path, may_be_done=True)


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once(program, tmp_path, which):
    os.mkfifo(tmp_path / "silent")
    process = program.start("split", "silent", "-o", "parts", stderr=subprocess.PIPE, text=True)
    wait_for_handler(process)
    process.send_signal(which)
    time.sleep(0.05)
    start = time.monotonic()
    process.send_signal(which)
    expect_end(process, which, tmp_path)
    assert time.monotonic() - start < 0.4  # sooner than the first one has its answer


def wait_for_handler(process, which=signal.SIGTERM):
    """Until it is caught."""
    for _ in range(400):
        with open(f"/proc/{process.pid}/status") as status:
            caught = next(int(line.split()[1], 16) for line in status if line.startswith("SigCgt"))
        if caught & (1 << (which - 1)):
            return
        time.sleep(0.01)
    pytest.fail(f"no handler of {which.name}")


def test_messages_that_nobody_reads_do_not_hold_up_the_end(program, theatre, tmp_path):
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    os.write(write, b"x" * 4096)  # full
    process = program.start(*words(ENDLESS, theatre), stdout=subprocess.DEVNULL, stderr=write)
    wait_for_handler(process)
    time.sleep(0.1)
    process.terminate()
    try:
        assert process.wait(timeout=SOON) == 1
    finally:
        process.kill()
        os.close(write)
        os.close(read)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_the_parent_ignores_stays_ignored(program, theatre, tmp_path, which):
    """As under nohup, or behind `&` in a script."""
    process = program.start(*words(ENDLESS, theatre), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            preexec_fn=lambda: signal.signal(which, signal.SIG_IGN))
    wait_for_handler(process, signal.SIGXCPU)
    process.send_signal(which)
    time.sleep(0.8)
    assert process.poll() is None
    process.send_signal(signal.SIGXCPU)
    expect_end(process, signal.SIGXCPU, tmp_path)


@pytest.mark.parametrize("verb", SHORT)
def test_a_limit_of_file_size_is_an_error(program, theatre, tmp_path, verb):
    """SIGXFSZ, as of `ulimit -f`."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
    process = program.start(*words(SHORT[verb], theatre), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            preexec_fn=limit)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert stderr.splitlines()[-1].endswith("cannot write: File too large")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_model_cut_short_while_it_is_in_use_is_an_error(program, theatre, tmp_path):
    model = tmp_path / "m.safetensors"
    for _ in range(10):  # many threads find it at once, and one of them must be heard
        model.write_bytes((theatre / "wide.safetensors").read_bytes())
        # The first rows fill the pipe; the ids of the others are still in the file.
        process = program.start("predict", model.name, "--all-missing", "--threads", 16, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        assert process.stdout.readline().startswith("user,item")
        os.truncate(model, 8192)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 1
        assert stderr.splitlines()[-1].startswith("likewise: m.safetensors: ") and "cut short" in stderr
        assert stderr.count("likewise: ") == 1
