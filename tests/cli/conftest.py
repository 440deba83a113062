# SPDX-License-Identifier: Apache-2.0
"""Runs the built program. LIKEWISE_CLI names it; build/dev/bin/likewise is the default."""
import os
import pathlib
import signal
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("LIKEWISE_CLI", str(ROOT / "build/dev/bin/likewise"))

# What a job in the background of a shell ignores, the program would ignore as well.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


class Program:
    """`program("train", ..., exit_code=0)` runs a verb and checks how it ended."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, *arguments, exit_code=0, env=None, stdin=None):
        done = subprocess.run(
            [BINARY, *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, **(env or {})},
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=100,
        )
        assert done.returncode == exit_code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        if exit_code == 0:
            return done
        assert done.stdout == "", "errors do not belong on standard output"
        assert sum(line.startswith("likewise: ") for line in done.stderr.splitlines()) == 1
        assert "terminate" not in done.stderr
        return done

    def start(self, *arguments, **options):
        return subprocess.Popen([BINARY, *map(str, arguments)], cwd=self.folder, **options)


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path)


@pytest.fixture(scope="session")
def cinema(tmp_path_factory):
    """A folder with ratings.csv, parts/ and model.safetensors, made once."""
    folder = tmp_path_factory.mktemp("cinema")
    run = Program(folder)
    run("generate", "300x80x6000", "-o", "ratings.csv", "--seed", 3)
    run("split", "ratings.csv", "-o", "parts")
    run("train", "parts/train.csv", "-o", "model.safetensors", "--factors", 8, "--iterations", 4)
    run("train", "parts/train.csv", "-o", "explicit.safetensors", "--feedback", "explicit",
        "--factors", 8, "--iterations", 4)
    return folder


@pytest.fixture(scope="session")
def real_data():
    folder = pathlib.Path(os.environ.get("LIKEWISE_DATA", ROOT / "../shared/data"))
    if not folder.exists():
        pytest.skip("no data: set LIKEWISE_DATA to a folder with MovieLens")
    return folder
