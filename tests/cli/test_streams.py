# SPDX-License-Identifier: Apache-2.0
"""Standard streams that are closed or full: messages are dropped and the work goes on, results that
cannot be written are an error, and no message ever ends up in somebody's file."""
import os
import subprocess

import pytest

# Every verb that ends by itself; OUT stands for the file it writes.
VERBS = {
    "generate": ["generate", "20x10x100", "-o", "OUT.csv"],
    "split": ["split", "ratings.csv", "-o", "."],
    "train": ["train", "ratings.csv", "-o", "OUT", "--factors", 4, "--iterations", 2],
    "train by neighbours": ["train", "ratings.csv", "-o", "OUT", "--algorithm", "item-knn"],
    "evaluate": ["evaluate", "model.safetensors", "parts/test.csv", "--per-user", "OUT.csv"],
    "predict": ["predict", "model.safetensors", "parts/test.csv", "-o", "OUT.csv"],
    "recommend": ["recommend", "model.safetensors", "--all", "-o", "OUT.csv"],
    "similar": ["similar", "model.safetensors", "--all-items", "-o", "OUT.csv"],
    "info": ["info", "model.safetensors"],
    "demo": ["demo", "-o", "demo"],
}
RESULTS = {
    "evaluate": ["evaluate", "model.safetensors", "parts/test.csv"],
    "predict": ["predict", "model.safetensors", "parts/test.csv"],
    "recommend": ["recommend", "model.safetensors", "--all"],
    "similar": ["similar", "model.safetensors", "--all-items"],
    "info": ["info", "model.safetensors"],
    "machine": ["info"],
    "help": ["train", "--help"],
    "version": ["--version"],
}


def words(verb, cinema):
    names = ("ratings.csv", "model.safetensors", "parts/test.csv")
    return [cinema / word if word in names else word for word in verb]


def pipe_without_reader():
    read, write = os.pipe()
    os.close(read)
    return os.fdopen(write, "wb")


def close(*streams):
    """Closes them in the child. Without pass_fds Python would keep its own numbers out of the way."""
    def run():
        for stream in streams:
            os.close(stream)
    return run


def files(folder):
    """What a verb made, without the times that models carry."""
    return {path.relative_to(folder): path.read_bytes() if path.suffix == ".csv" else b""
            for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("verb", VERBS)
def test_messages_that_cannot_be_written_are_dropped(program, cinema, tmp_path, verb):
    arguments = words(VERBS[verb], cinema)
    expected = program(*arguments)
    made = files(tmp_path)
    streams = {"full": open("/dev/full", "wb"), "closed pipe": pipe_without_reader(), "closed": None}
    for name, stream in streams.items():
        options = {"stderr": stream} if stream else {"preexec_fn": close(2)}
        done = program.start(*arguments, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, **options)
        out, _ = done.communicate(timeout=60)
        assert done.returncode == 0, name
        assert files(tmp_path) == made, name
        if verb == "info":
            assert out.decode() == expected.stdout, name


def test_errors_that_cannot_be_written_keep_their_exit_code(program, tmp_path):
    for options in ({"stderr": open("/dev/full", "wb")}, {"stderr": pipe_without_reader()},
                    {"preexec_fn": close(2)}, {"preexec_fn": close(0, 1, 2)}):
        assert program.start("info", "none", **options).wait(timeout=60) == 1
        assert program.start("train", "--oops", **options).wait(timeout=60) == 2


@pytest.mark.parametrize("verb", RESULTS)
def test_results_that_cannot_be_written_are_an_error(program, cinema, verb):
    for options in ({"stdout": open("/dev/full", "wb")}, {"preexec_fn": close(1)},
                    {"preexec_fn": close(0, 1)}):
        done = program.start(*words(RESULTS[verb], cinema), stderr=subprocess.PIPE, text=True, **options)
        _, stderr = done.communicate(timeout=60)
        assert done.returncode == 1
        assert "likewise: standard output: cannot write" in stderr.splitlines()[-1]


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
def test_messages_never_get_into_a_file(program, cinema, tmp_path, closed):
    """A file opened while a stream is closed would get its number."""
    ratings, model = cinema / "ratings.csv", cinema / "model.safetensors"
    program("recommend", model, "--all", "-o", "expected.csv")
    for arguments in (["recommend", model, "--all", "-o", "lists.csv"],
                      ["train", ratings, "-o", "m", "--factors", 4, "--iterations", 3]):
        assert program.start(*arguments, preexec_fn=close(*closed)).wait(timeout=60) == 0
    assert (tmp_path / "lists.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()
    program("info", "m")  # its checksum holds


def test_closed_input_is_an_error(program, cinema):
    done = program.start("train", "-", "-o", "m", preexec_fn=close(0), stderr=subprocess.PIPE, text=True)
    _, stderr = done.communicate(timeout=60)
    assert done.returncode == 1 and "stdin" in stderr


@pytest.mark.parametrize("stream", [1, 2])
def test_a_closed_stream_is_not_written_by_its_name(program, cinema, tmp_path, stream):
    # As /dev/stdout and /dev/stderr are, but none of the system's is at stake.
    (tmp_path / "stream.csv").symlink_to(f"/proc/self/fd/{stream}")
    done = program.start("recommend", cinema / "model.safetensors", "--all", "-o", "stream.csv",
                         preexec_fn=close(stream), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done.communicate(timeout=60)
    assert done.returncode == 1
    assert (tmp_path / "stream.csv").is_symlink()
