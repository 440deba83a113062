# SPDX-License-Identifier: Apache-2.0
"""Machines without a GPU, a driver or the CUDA plug-in: a clear word, and the processor works.

A fake plug-in (tests/backends/fakes/plugin.cpp) stands for the real one, and a fake driver for
NVIDIA's, so that no GPU is needed.
"""
import json
import os
import pathlib

import pytest
from conftest import BINARY

BUILD = pathlib.Path(BINARY).resolve().parents[1]
FAKE_PLUGIN = {"LIKEWISE_PLUGIN_PATH": str(BUILD / "tests/fake_plugin")}


def cuda_lines(program, env):
    backends = json.loads(program("info", "--json", env=env).stdout)["backends"]
    for backend in backends:
        text = program("info", env=env).stdout
        assert f"{'yes' if backend['available'] else 'no '} {backend['name']} " in text
        assert backend["description"] in text
    by_name = {b.pop("name"): b for b in backends}
    assert by_name.pop("cpu")["available"] and by_name.pop("reference")["available"]
    return by_name


def refusal(program, ratings, device, env, exit_code=1):
    return program("train", ratings, "-o", "m", "--device", device, env=env,
                   exit_code=exit_code).stderr


def trains(program, ratings, device, env):
    stderr = program("train", ratings, "-o", "m", "--factors", 4, "--iterations", 1,
                     "--device", device, env=env).stderr
    return next(line for line in stderr.splitlines() if line.startswith("device: "))


def chosen(program, ratings, env, *options, iterations=1_000_000):
    """The device of a plan by `auto`: of so many iterations that a GPU pays."""
    plan = program("train", ratings, "-o", "m", "--plan", "--iterations", iterations, "--threads", 1, *options,
                   env=env).stdout
    return next(line for line in plan.splitlines() if line.startswith("device: "))


def falls_back(program, ratings, env):
    line = chosen(program, ratings, env)
    return line.startswith("device: cpu (") and line.endswith(
        "); no GPU can be used, `likewise info` says why")


def test_without_the_plugin(program, cinema, tmp_path):
    env = {"LIKEWISE_PLUGIN_PATH": str(tmp_path)}
    lines = cuda_lines(program, env)
    assert list(lines) == ["cuda"] and not lines["cuda"]["available"]
    reason = lines["cuda"]["description"]
    assert "liblikewise_cuda.so" in reason and str(tmp_path) in reason and "toolkit" in reason
    ratings = cinema / "ratings.csv"
    for device in ("cuda", "cuda:0"):
        assert reason in refusal(program, ratings, device, env)
    assert falls_back(program, ratings, env)


@pytest.mark.parametrize("content", [b"", b"text\n" * 1000])
def test_a_broken_plugin(program, cinema, tmp_path, content):
    (tmp_path / "liblikewise_cuda.so").write_bytes(content)
    env = {"LIKEWISE_PLUGIN_PATH": str(tmp_path)}
    assert "cannot be loaded" in cuda_lines(program, env)["cuda"]["description"]
    assert "cannot be loaded" in refusal(program, cinema / "ratings.csv", "cuda", env)
    assert falls_back(program, cinema / "ratings.csv", env)


@pytest.mark.parametrize("part", ["interface", "version", "compiler"])
def test_a_plugin_of_another_build(program, cinema, part):
    env = {**FAKE_PLUGIN, "FAKE_PLUGIN": part}
    assert f"its {part} is" in cuda_lines(program, env)["cuda"]["description"]
    assert f"its {part} is" in refusal(program, cinema / "ratings.csv", "cuda", env)
    assert falls_back(program, cinema / "ratings.csv", env)


def test_every_gpu_has_a_line(program):
    lines = cuda_lines(program, FAKE_PLUGIN)
    assert {name: line["available"] for name, line in lines.items()} == {
        "cuda:0": False, "cuda:1": True, "cuda:2": False}
    assert "too old" in lines["cuda:0"]["description"]


def test_training_says_which_gpu_it_takes(program, cinema):
    ratings = cinema / "ratings.csv"
    expected = "device: cuda:1 (Fine GPU, compute capability 9.0, 140 GiB)"
    assert trains(program, ratings, "cuda", FAKE_PLUGIN) == expected
    assert json.loads(program("info", "m", "--json").stdout)["device"] in expected
    assert chosen(program, ratings, FAKE_PLUGIN) == expected


def test_no_gpu_is_started_for_what_is_done_before(program, cinema):
    ratings = cinema / "ratings.csv"
    line = trains(program, ratings, "auto", FAKE_PLUGIN)
    assert line.startswith("device: cpu (") and line.endswith("; done before a GPU would have started")
    assert "cpu" in json.loads(program("info", "m", "--json").stdout)["device"]
    # A limit of a GPU's memory asks for one, and so does a parameter that the processor does not have.
    for options in (("--device-memory", "1GB"), ("--precision", "tf32")):
        assert chosen(program, ratings, FAKE_PLUGIN, *options, iterations=1).startswith("device: cuda:1 ")
    folds = program("cross-validate", ratings, "--folds", 2, "--factors", 4, env=FAKE_PLUGIN).stderr
    assert "; done before a GPU would have started\n" in folds


def test_what_the_gpu_cannot_do_goes_to_the_processor(program, cinema):
    env = {**FAKE_PLUGIN, "FAKE_PLUGIN": "refusal"}
    ratings = cinema / "ratings.csv"
    line = chosen(program, ratings, env)
    assert line.startswith("device: cpu (") and line.endswith("; cuda:1: factors: not in this test")
    assert "factors: not in this test" in refusal(program, ratings, "cuda", env, exit_code=2)


def test_only_training_takes_a_gpu_unasked(program, cinema):
    ratings = cinema / "ratings.csv"
    assert chosen(program, ratings, FAKE_PLUGIN).startswith("device: cuda:1 ")
    trains(program, ratings, "cuda", FAKE_PLUGIN)
    stderr = program("recommend", "m", "--user", 1, env=FAKE_PLUGIN).stderr
    assert stderr.startswith("device: cpu (")


def test_what_a_device_by_name_lacks_is_an_error(program, cinema):
    ratings = cinema / "ratings.csv"
    program("train", ratings, "-o", "als", "--factors", 4)
    program("train", ratings, "-o", "stars", "--factors", 4, "--feedback", "explicit")
    program("train", ratings, "-o", "knn", "--algorithm", "item-knn")
    lacks = "device cuda:1 cannot do the job top-k: "

    def on_gpu(*command):
        return program(*command, "--device", "cuda", env=FAKE_PLUGIN, exit_code=1).stderr

    parts = cinema / "parts"
    validated = ("train", parts / "train.csv", "-o", "m", "--factors", 4,
                 "--validation", parts / "test.csv")
    for command in [("recommend", "als", "--user", 1), ("similar", "als", "--all-items"),
                    ("evaluate", "als", ratings), ("predict", "als", ratings, "--new", ratings),
                    validated, ("train", ratings, "-o", "m", "--report", "r.html"), ("demo",)]:
        message = on_gpu(*command)
        assert message.startswith("likewise: " + lacks) and message.count("\n") == 1, command
    # What needs no lists from factors is done.
    for command in [("recommend", "knn", "--user", 1), ("predict", "als", ratings),
                    ("evaluate", "stars", ratings, "--metrics", "rmse"),
                    (*validated, "--feedback", "explicit", "--validation-metric", "rmse")]:
        program(*command, "--device", "cuda", env=FAKE_PLUGIN)


@pytest.mark.parametrize("algorithm", ["als", "item-knn", "user-knn"])
def test_predictions_on_a_gpu_say_what_they_take_of_it(program, cinema, tmp_path, algorithm):
    ratings = cinema / "ratings.csv"
    program("train", ratings, "-o", "m", "--algorithm", algorithm, "--feedback", "explicit")
    for command in [("predict", "m", ratings, "-o"), ("predict", "m", "--all-missing", "-o")]:
        asked = program(*command, "gpu.csv", "--device", "cuda", env=FAKE_PLUGIN).stderr
        assert "\nmemory of cuda:1: 3 MiB for predictions\n" in asked
        assert "memory of" not in program(*command, "cpu.csv").stderr
        assert (tmp_path / "gpu.csv").read_bytes() == (tmp_path / "cpu.csv").read_bytes()
    rated = program("evaluate", "m", ratings, "--device", "cuda", env=FAKE_PLUGIN)
    assert "memory of cuda:1: 3 MiB for predictions" in rated.stderr
    assert rated.stdout.split(" rated in")[0] == (
        program("evaluate", "m", ratings).stdout.split(" rated in")[0])


def test_a_gpu_that_cannot_predict_says_so(program, cinema):
    env = {**FAKE_PLUGIN, "FAKE_PLUGIN": "no predictions"}
    ratings = cinema / "ratings.csv"
    program("train", ratings, "-o", "als", "--feedback", "explicit", "--factors", 4)
    program("train", ratings, "-o", "knn", "--algorithm", "item-knn")
    program("train", ratings, "-o", "bias", "--algorithm", "bias")
    parts = cinema / "parts"
    for command in [("predict", "als", ratings), ("predict", "als", "--all-missing"),
                    ("evaluate", "als", ratings),
                    ("train", parts / "train.csv", "-o", "m", "--feedback", "explicit",
                     "--validation", parts / "test.csv")]:
        message = program(*command, "--device", "cuda", env=env, exit_code=1).stderr
        assert "likewise: device cuda:1 cannot do the job predictions: " in message, command
    # What adds up biases or kept lists needs no job.
    for model in ("knn", "bias"):
        program("predict", model, ratings, "--device", "cuda", env=env)


def test_auto_says_what_the_processor_does_beside_a_gpu(program, cinema):
    line = chosen(program, cinema / "parts/train.csv", FAKE_PLUGIN, "--validation", cinema / "parts/test.csv")
    assert line.startswith("device: cuda:1 (") and "; top-k on cpu: " in line


def test_info_says_what_a_device_lacks(program):
    lines = cuda_lines(program, FAKE_PLUGIN)
    assert lines["cuda:1"]["jobs"] == ["als", "neighbours", "predictions"]
    assert list(lines["cuda:1"]["lacks"]) == ["top-k", "sgd", "bpr", "ease", "spectral"]
    assert "no top-k" in program("info", env=FAKE_PLUGIN).stdout


def test_no_gpu_that_can_be_used(program, cinema):
    env = {**FAKE_PLUGIN, "FAKE_PLUGIN": "none usable"}
    lines = cuda_lines(program, env)
    assert not any(line["available"] for line in lines.values())
    assert "Old GPU" in refusal(program, cinema / "ratings.csv", "cuda", env)
    assert falls_back(program, cinema / "ratings.csv", env)


def test_gpus_that_cannot_be_used(program, cinema):
    ratings = cinema / "ratings.csv"
    assert "too old" in refusal(program, ratings, "cuda:0", FAKE_PLUGIN)
    assert "3 GPUs" in refusal(program, ratings, "cuda:7", FAKE_PLUGIN)
    assert "cuda:0: Old GPU" in refusal(program, ratings, "cuda:0,1", FAKE_PLUGIN)
    assert "no GPU 9: this machine has 3 GPUs" in refusal(program, ratings, "cuda:1,9", FAKE_PLUGIN)
    assert "GPU 1 is named twice" in refusal(program, ratings, "cuda:1,1", FAKE_PLUGIN, exit_code=2)
    assert "cuda:N,M" in refusal(program, ratings, "cuda:", FAKE_PLUGIN, exit_code=2)
    assert "named as cuda:0,1" in refusal(program, ratings, "cpu,cuda:1", FAKE_PLUGIN, exit_code=2)
    assert "cuda:N" in refusal(program, ratings, "cuda-1", FAKE_PLUGIN, exit_code=2)


SEVERAL = {**FAKE_PLUGIN, "FAKE_PLUGIN": "several"}


def used(path):
    lines = sorted(set(path.read_text().splitlines()))
    path.unlink()
    return lines


@pytest.mark.parametrize("device", ["cuda:1,3", "cuda:all"])
def test_several_gpus_share_lists_neighbours_and_predictions(program, cinema, tmp_path, device):
    """Every verb that takes --device, with the answers of the processor."""
    env = {**SEVERAL, "FAKE_PLUGIN_USED": str(tmp_path / "used")}
    gpus = ["1", "3"] if device == "cuda:1,3" else ["1", "3", "4", "5"]
    ratings, test = cinema / "parts/train.csv", cinema / "parts/test.csv"
    program("train", ratings, "-o", "als", "--feedback", "explicit", "--factors", 4)
    program("train", ratings, "-o", "knn", "--algorithm", "item-knn")
    for job, command in [("top-k", ("recommend", "als", "--all")),
                         ("top-k", ("similar", "als", "--all-items")),
                         ("top-k", ("similar", "als", "--all-users", "--metric", "euclidean")),
                         ("predictions", ("predict", "als", ratings)),
                         ("predictions", ("predict", "als", "--all-missing")),
                         ("neighbours", ("recommend", "knn", "--all")),
                         ("top-k", ("evaluate", "als", test, "--metrics", "ndcg,recall", "--json")),
                         ("predictions", ("evaluate", "als", test, "--metrics", "rmse", "--json"))]:
        if job == "neighbours" and device == "cuda:all":
            stderr = program(*command, "--device", device, env=env, exit_code=1).stderr
            assert "it takes GPUs of one kind, and cuda:1 is Fine GPU" in stderr and "cuda:5 Other GPU" in stderr
            continue
        there = program(*command, "--device", device, env=env)
        here = program(*command, "--device", "cpu", env=env)
        if "--json" in command:
            there, here = ({k: v for k, v in json.loads(run.stdout).items() if "@" in k or k == "rmse"}
                           for run in (there, here))
            assert there and there == here, command
        else:
            assert there.stdout == here.stdout and there.stdout.count("\n") > 2, command
            assert there.stderr.startswith(f"device: cuda:{','.join(gpus)} ({len(gpus)} GPUs")
        if job != "neighbours":  # which this one adds up from the kept lists
            assert used(tmp_path / "used") == [f"{job} {gpu}" for gpu in gpus], command


def test_several_gpus_train_together(program, cinema, tmp_path):
    env = {**SEVERAL, "FAKE_PLUGIN_USED": str(tmp_path / "used")}
    ratings = cinema / "ratings.csv"
    line = trains(program, ratings, "cuda:3,1", env)
    assert line == "device: cuda:3,1 (2 GPUs, each Fine GPU, compute capability 9.0, 140 GiB)"
    assert used(tmp_path / "used") == ["als 3,1"]
    assert json.loads(program("info", "m", "--json").stdout)["device"].startswith("cuda:3,1")
    for algorithm in "item-knn", "user-knn":
        program("train", ratings, "-o", "gpus", "--algorithm", algorithm, "--device", "cuda:1,3", env=env)
        program("train", ratings, "-o", "cpu", "--algorithm", algorithm, "--device", "cpu")
        assert used(tmp_path / "used") == ["neighbours 1", "neighbours 3"]
        lists = [program("recommend", model, "--all").stdout for model in ("gpus", "cpu")]
        assert lists[0] == lists[1]
    program("train", ratings, "-o", "gpus", "--algorithm", "sgd", "--iterations", 2, "--device", "cuda:1,3", env=env)
    assert used(tmp_path / "used") == ["sgd 1,3"]
    said = program("train", "none.csv", "-o", "m", "--algorithm", "bpr", "--device", "cuda:1,3", env=env,
                   exit_code=1).stderr
    assert "device cuda:1,3 cannot do the job bpr: it runs on one GPU" in said
    assert "several do als, sgd, neighbours, top-k and predictions together" in said


@pytest.mark.parametrize("algorithm, lost", [("als", 5), ("sgd", 3)])
def test_a_gpu_that_is_lost_leaves_the_checkpoint(program, cinema, tmp_path, algorithm, lost):
    """In the third iteration: an iteration of ALS has two half-steps."""
    train = ("train", cinema / "ratings.csv", "--algorithm", algorithm, "--feedback", "explicit", "--factors", 4,
             "--iterations", 4)
    said = program(*train, "-o", "m", "--checkpoint", "state", "--device", "cuda:1,3",
                   env={**SEVERAL, "FAKE_PLUGIN_LOST": str(lost)}, exit_code=1).stderr
    assert said.count("likewise: cuda:3: the GPU fell off the bus\n") == 1
    assert not (tmp_path / "m").exists()
    program(*train, "-o", "resumed", "--resume", "state", "--device", "cpu")
    program(*train, "-o", "whole", "--device", "cpu")
    lists = [program("predict", model, cinema / "ratings.csv").stdout for model in ("resumed", "whole")]
    assert lists[0] == lists[1]


def test_auto_says_where_it_would_take_several_gpus(program):
    program("generate", "8000x12000x90000", "-o", "many.csv")  # so many items that a GPU pays

    def said(plugin):
        return program("train", "many.csv", "-o", "m", "--algorithm", "item-knn", "--verbose", "--threads", 1,
                       env={**FAKE_PLUGIN, "FAKE_PLUGIN": plugin}).stderr

    quick = said("several")
    assert "; neighbours on cuda:1,3,4: shared out where one GPU would take more than 0.9 s\n" in quick
    assert "neighbours on 1 of 3 devices" in quick
    assert "neighbours on 3 of 3 devices: that is expected to be faster" in said("several slow")


def test_one_gpu_is_tuned_at_a_time(program):
    said = program("autotune", "--device", "cuda:1,3", env=SEVERAL, exit_code=2).stderr
    assert "one GPU is tuned at a time" in said


def test_info_says_which_gpus_reach_each_other(program):
    lines = cuda_lines(program, SEVERAL)
    assert {name: line.get("peers") for name, line in lines.items()} == {
        "cuda:0": None, "cuda:1": ["cuda:3"], "cuda:2": None, "cuda:3": ["cuda:1", "cuda:4"],
        "cuda:4": None, "cuda:5": None}
    assert "reaches directly  cuda:1, cuda:4" in program("info", env=SEVERAL).stdout


def test_confidences_below_one_are_refused_by_name_on_a_gpu(program, tmp_path):
    (tmp_path / "w.csv").write_text("user,item,weight\na,x,2\na,y,0.25\nb,x,1\n")
    command = ("train", "w.csv", "-o", "m", "--confidence", "given", "--factors", 2)
    why = program(*command, "--device", "cuda", env=FAKE_PLUGIN, exit_code=1).stderr
    assert "w.csv:3: the value 0.25 of user 'a', item 'y' has confidence 0.25" in why
    assert "train on the cpu, or with alpha 4 or more" in why
    for device in ("auto", "cpu"):
        program(*command, "--device", device, env=FAKE_PLUGIN)
    program(*command, "--alpha", 4, env=FAKE_PLUGIN)


def test_an_error_from_the_plugin_is_one_line(program, cinema):
    env = {**FAKE_PLUGIN, "FAKE_PLUGIN": "training"}
    assert refusal(program, cinema / "ratings.csv", "cuda", env).endswith(
        "likewise: a pivot fell over\n")


def fake_driver(version, status):
    """The real plug-in over a driver that supports this CUDA version and starts with this status."""
    if not (BUILD / "bin/liblikewise_cuda.so").exists():
        pytest.skip("built without CUDA")
    folders = [str(BUILD / "tests/fake_driver"), os.environ.get("LD_LIBRARY_PATH")]
    return {
        "LD_LIBRARY_PATH": ":".join(filter(None, folders)),
        "LIKEWISE_PLUGIN_PATH": str(BUILD / "bin"),
        "FAKE_DRIVER_VERSION": str(version),
        "FAKE_DRIVER_STATUS": str(status),
    }


@pytest.mark.parametrize(
    "version, status, words",
    [
        (0, 0, "no NVIDIA driver is loaded"),
        (11040, 0, "it supports CUDA 11.4, this build needs CUDA "),
        (99000, 100, "no GPU"),
        (99000, 34, "stub"),
        (99000, 802, "nvidia-fabricmanager"),
        (99000, 803, "restart the machine"),
        (99000, 999, "nvidia-modprobe"),
        (99000, 3, "cudaErrorInitializationError"),
    ],
)
def test_what_the_driver_answers_is_explained(program, cinema, version, status, words):
    env = fake_driver(version, status)
    lines = cuda_lines(program, env)
    assert list(lines) == ["cuda"] and not lines["cuda"]["available"]
    assert words in lines["cuda"]["description"]
    ratings = cinema / "ratings.csv"
    assert words in refusal(program, ratings, "cuda", env)
    assert falls_back(program, ratings, env)


def test_hidden_gpus_are_named(program):
    env = {**fake_driver(99000, 100), "CUDA_VISIBLE_DEVICES": "-1"}
    assert 'CUDA_VISIBLE_DEVICES="-1"' in cuda_lines(program, env)["cuda"]["description"]
