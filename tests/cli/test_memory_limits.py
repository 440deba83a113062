# SPDX-License-Identifier: Apache-2.0
"""Whatever the limit of memory: a run ends soon, done or with one sentence."""
import resource
import subprocess

import pytest

MIB = 1 << 20


def limited(program, arguments, limit):
    done = program.start(*arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    try:
        _, stderr = done.communicate(timeout=15)
    except subprocess.TimeoutExpired:
        done.kill()
        done.communicate()
        pytest.fail(f"{limit // MIB} MiB: no end")
    return done.returncode, stderr


@pytest.mark.parametrize("verb", ["info", "train", "recommend"])
def test_a_limit_of_memory_is_done_or_an_error(program, cinema, tmp_path, verb):
    arguments = {
        "info": ["info"],
        "train": ["train", cinema / "ratings.csv", "-o", "m", "--factors", 8, "--iterations", 2,
                  "--threads", 16],
        "recommend": ["recommend", cinema / "model.safetensors", "--user", 1, "--explain", "--threads", 16],
    }[verb]
    met = set()
    for limit in [*range(10, 40, 3), *range(40, 420, 20)]:
        for file in tmp_path.iterdir():
            file.unlink()
        if limited(program, ["--version"], limit * MIB)[0] != 0:
            continue  # the system cannot even load the program
        code, stderr = limited(program, arguments, limit * MIB)
        met.add(code)
        assert code in (0, 1), f"{limit} MiB: {code} {stderr}"
        if code == 0:
            continue
        assert list(tmp_path.iterdir()) == []
        assert sum(line.startswith("likewise: ") for line in stderr.splitlines()) == 1, f"{limit} MiB: {stderr}"
        assert "unexpected" not in stderr, f"{limit} MiB: {stderr}"
    assert 0 in met


def test_no_threads_beside_the_programs_own(program, cinema):
    """LAPACK's would take memory for each core, and wait for it."""
    process = program.start("train", cinema / "ratings.csv", "-o", "m", "--iterations", 1_000_000, "--threads", 1,
                            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        for line in process.stderr:
            if line.startswith("iteration"):
                break
        with open(f"/proc/{process.pid}/status") as status:
            assert "Threads:\t1\n" in status.readlines()
    finally:
        process.kill()
        process.wait()
