# SPDX-License-Identifier: Apache-2.0
"""`likewise autotune` from outside, on the fake plug-in (tests/backends/fakes/plugin.cpp): its GPU
is as fast as the tuning says, so there is a winner to be found.
"""
import csv
import json
import os
import pathlib
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import BINARY

BUILD = pathlib.Path(BINARY).resolve().parents[1]
BEST = "short rows to 128 (one warp to 48), pieces of 1024"
ESTIMATED = "(estimated from the GPU's numbers)"
SHAPE = "--shape", "60x40x600"


@pytest.fixture
def env(tmp_path):
    return {"LIKEWISE_PLUGIN_PATH": str(BUILD / "tests/fake_plugin"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"), "FAKE_PLUGIN_LOG": str(tmp_path / "log")}


def kept(env):
    return pathlib.Path(env["XDG_CACHE_HOME"]) / "likewise/als-Fine-GPU-9.0.json"


def used(program, cinema, env, *options):
    """What a training says about its tuning, and what the plug-in was given."""
    if "--precision" not in options:
        options += "--precision", "fp16"
    if "--solver" not in options:
        options += "--solver", "cg"  # auto solves so little data exactly
    log = pathlib.Path(env["FAKE_PLUGIN_LOG"])
    log.unlink(missing_ok=True)
    stderr = program("train", cinema / "ratings.csv", "-o", "m", "--device", "cuda",
                     "--iterations", 1, "--verbose", *options, env=env).stderr
    told, = (line for line in stderr.splitlines() if line.startswith("tuning: "))
    given = set(log.read_text().splitlines())
    assert len(given) == 1 and given.pop() in told
    return told


def test_finds_keeps_and_uses_the_best(program, cinema, env):
    assert used(program, cinema, env, "--factors", 20).endswith(ESTIMATED)
    done = program("autotune", "--factors", "8,20", *SHAPE, env=env)
    rows = done.stdout.splitlines()
    assert len(rows) == 3
    assert "32 columns, " + BEST in rows[1] and "48 columns, " + BEST in rows[2]
    assert str(kept(env)) in done.stderr
    for factors in (20, 25, 32):  # kernels come in steps of 16
        assert used(program, cinema, env, "--factors", factors) == (
            f"tuning: 48 columns, {BEST} (measured here, {kept(env)})")
    for options in (["--factors", 33], ["--factors", 20, "--feedback", "explicit"],
                    ["--factors", 20, "--solver", "cholesky"],
                    ["--factors", 20, "--precision", "auto"]):  # so few are stored in fp32
        assert used(program, cinema, env, *options).endswith(ESTIMATED)
    info = program("info", env=env).stdout
    assert "2 measured here on " in info and str(kept(env)) in info


def test_later_winners_join_earlier_ones(program, env):
    for factors in ("8", "24", "30"):
        program("autotune", "--factors", factors, *SHAPE, env=env)
    found = json.loads(kept(env).read_text())
    assert sorted(one["width"] for one in found["tunings"]) == [8, 30]
    assert os.listdir(kept(env).parent) == [kept(env).name]


def test_table_plot_and_ranges(program, env, tmp_path):
    program("autotune", "--factors", "8:24:16", "--precision", "fp16,fp32", "--feedback",
            "implicit,explicit", *SHAPE, "-o", "all.csv", "--plot", "all.svg", env=env)
    with open(tmp_path / "all.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    works = {}
    for row in rows:
        works.setdefault((row["feedback"], row["precision"], row["factors"]), []).append(row)
    assert set(works) == {(feedback, precision, factors) for feedback in ("implicit", "explicit")
                          for precision in ("fp16", "fp32") for factors in ("8", "24")}
    for times in works.values():
        assert [row["is"] for row in times if row["is"]] == ["built in", "best"]
        best = min(times, key=lambda row: float(row["seconds"]))
        assert best["is"] == "best" and best["piece"] == "1024" and best["one_warp"] == "48"
        f = int(best["factors"])
        operations = 2 * 600 * f * f + (60 + 40) * f**3 / 3
        assert float(best["gflops"]) == pytest.approx(operations / float(best["seconds"]) / 1e9)
        assert all(float(row["least"]) <= float(row["seconds"]) <= float(row["most"])
                   for row in times)
    picture = ElementTree.parse(tmp_path / "all.svg").getroot()
    svg = "{http://www.w3.org/2000/svg}"
    assert len(picture.findall(f".//{svg}g/{svg}svg")) == 8  # time and rate of four kinds
    dots = len(picture.findall(f".//{svg}circle"))
    assert dots == 2 * (len(rows) + 2 * len(works))
    texts = " ".join(text.text or "" for text in picture.iter(f"{svg}text"))
    assert "Fine GPU" in texts and "precision fp32" in texts
    labels = [chart.get("aria-label") for chart in picture.iter(f"{svg}svg")]
    assert labels.count("Gflop/s by factors") == labels.count("ms an iteration by factors") == 4


def test_files_that_do_not_hold_are_named_and_ignored(program, cinema, env):
    program("autotune", "--factors", "20", *SHAPE, env=env)
    good = json.loads(kept(env).read_text())
    one = good["tunings"][0]
    broken = [
        b"", b"{", b"[]", b"null", b"\xff\xfe", b"{" * 100_000, b" " * 2_000_000,
        *(json.dumps({**good, name: value}).encode() for name, value in [
            ("format", 1), ("gpu", "Other GPU"), ("compute_capability", "8.0"),
            ("driver", 12000), ("likewise", "0.0.9"), ("plugin", 1), ("tunings", {}),
            ("tunings", [7]), ("measured", None)]),
        *(json.dumps({**good, "tunings": [{**one, name: value}]}).encode() for name, value in [
            ("columns", -16), ("columns", 47), ("columns", 1e300), ("columns", "48"),
            ("piece", 0), ("piece", 2**63), ("piece", 1000), ("short_rows", 1.5),
            ("one_warp", None), ("wide", 2**40), ("wide", True), ("held_rows", -1), ("held_rows", "64"),
            ("width", 0), ("seconds", -1), ("seconds", "fast"), ("precision", "fp8"), ("feedback", 1),
            ("solver", "lu")]),
        *(json.dumps({key: value for key, value in good.items() if key != name}).encode()
          for name in good),
        *(json.dumps({**good, "tunings": [{key: value for key, value in one.items()
                                           if key != name}]}).encode() for name in one),
    ]
    for content in broken:
        kept(env).write_bytes(content)
        shown = program("info", env=env).stdout
        assert str(kept(env)) in shown and "ignored" in shown, content[:200]
    stderr = program("train", cinema / "ratings.csv", "-o", "m", "--device", "cuda",
                     "--factors", 20, "--iterations", 1, env=env).stderr
    warning, = (line for line in stderr.splitlines() if "ignored" in line)
    assert str(kept(env)) in warning and "likewise autotune" in warning
    assert used(program, cinema, env, "--factors", 20).endswith(ESTIMATED)
    program("autotune", "--factors", "20", *SHAPE, env=env)
    assert "measured here" in used(program, cinema, env, "--factors", 20)


def test_a_cache_that_cannot_be_written(program, env, tmp_path):
    (tmp_path / "cache").write_text("a file, not a folder")
    stderr = program("autotune", "--factors", "8", *SHAPE, env=env, exit_code=1).stderr
    assert str(tmp_path / "cache") in stderr and "XDG_CACHE_HOME" in stderr


def test_home_is_the_usual_place(program, env, tmp_path):
    home = {**env, "XDG_CACHE_HOME": "relative/paths/do/not/count", "HOME": str(tmp_path)}
    program("autotune", "--factors", "8", *SHAPE, env=home)
    assert (tmp_path / ".cache/likewise/als-Fine-GPU-9.0.json").exists()
    nowhere = {**env, "XDG_CACHE_HOME": "", "HOME": ""}
    assert "HOME" in program("autotune", "--factors", "8", *SHAPE, env=nowhere,
                             exit_code=1).stderr


def test_without_a_gpu(program, env):
    for fault, words in [("no GPU", "no GPU in this test"), ("none usable", "Old GPU")]:
        stderr = program("autotune", env={**env, "FAKE_PLUGIN": fault}, exit_code=1).stderr
        assert words in stderr
    stderr = program("autotune", env={**env, "LIKEWISE_PLUGIN_PATH": "nowhere"}, exit_code=1).stderr
    assert "CUDA toolkit" in stderr
    for device in ("cpu", "auto", "reference"):
        stderr = program("autotune", "--device", device, env=env, exit_code=2).stderr
        assert "only GPUs are tuned" in stderr


@pytest.mark.parametrize("options", [
    ["--factors", ""], ["--factors", "0"], ["--factors", "8,"], ["--factors", "8:16"],
    ["--factors", "16:8:8"], ["--factors", "8:16:0"], ["--factors", "8;16"],
    ["--factors", "99999999999"], ["--precision", "fp8"], ["--feedback", "both"],
    ["--shape", "large"], ["--solver", "cg"],
])
def test_wrong_options(program, env, options):
    stderr = program("autotune", *options, env=env, exit_code=2).stderr
    assert options[0] in stderr or options[1] in stderr


def test_an_interrupt_keeps_nothing(program, env):
    process = program.start("autotune", "--factors", "8:256:8", *SHAPE,
                            env={**os.environ, **env}, stderr=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    log = pathlib.Path(env["FAKE_PLUGIN_LOG"])
    deadline = time.monotonic() + 60
    while not log.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1 and stdout == "" and "interrupted" in stderr
    assert not kept(env).exists()
