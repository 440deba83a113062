# SPDX-License-Identifier: Apache-2.0
"""Training on a real GPU, from outside. Skipped where there is none."""
import json
import random
import signal
import subprocess
import time

import pytest


@pytest.fixture
def gpu(program):
    """The first GPU that can be used, e.g. cuda:0."""
    backends = json.loads(program("info", "--json").stdout)["backends"]
    gpus = [b for b in backends if b["name"].startswith("cuda")]
    for one in gpus:
        if one["available"]:
            return one["name"]
    pytest.skip("no GPU to test on: " + "; ".join(b["description"] for b in gpus))


@pytest.fixture
def several_gpus(program, gpu):
    """All GPUs that can be used, e.g. cuda:0,1; skips where there is one."""
    backends = json.loads(program("info", "--json").stdout)["backends"]
    names = [b["name"] for b in backends if b["name"].startswith("cuda:") and b["available"]]
    if len(names) == 1:
        pytest.skip("one GPU: there are no others to share a job with")
    return "cuda:" + ",".join(name.removeprefix("cuda:") for name in names)


def train(program, ratings, *options):
    return json.loads(program("train", ratings, "-o", "m", "--factors", 24, "--iterations", 6,
                              "--json", *options).stdout)


def factors_of(model):
    """The bytes of all tensors: no header, which holds times."""
    content = model.read_bytes()
    return content[8 + int.from_bytes(content[:8], "little"):]


@pytest.mark.parametrize("feedback", ["implicit", "explicit"])
def test_training_equals_the_processor(program, cinema, gpu, feedback):
    ratings = cinema / "parts/train.csv"
    options = "--feedback", feedback, "--validation", cinema / "parts/test.csv"
    on_gpu = train(program, ratings, *options, "--device", "cuda")
    assert gpu in on_gpu["device"]
    exact = train(program, ratings, *options, "--device", "cpu", "--solver", "cholesky")
    for one, other in zip(on_gpu["iterations"], exact["iterations"], strict=True):
        assert one["objective"] == pytest.approx(other["objective"], rel=1e-4)
        assert one["validation"] == pytest.approx(other["validation"], rel=1e-2)


def test_the_model_says_which_gpu_trained_it(program, cinema, gpu):
    stderr = program("train", cinema / "ratings.csv", "-o", "m", "--device", gpu).stderr
    assert stderr.splitlines()[0].startswith(f"device: {gpu} (")
    assert gpu in program("info", "m").stdout


def test_auto_takes_the_gpu_for_what_it_can_do(program, cinema, gpu):
    def device(*options):
        plan = program("train", cinema / "ratings.csv", "-o", "m", "--plan", "--threads", 1, *options).stdout
        return next(line for line in plan.splitlines() if line.startswith("device: "))

    many = "--iterations", 1_000_000
    assert device("--factors", 8, *many).startswith(f"device: {gpu} (")
    assert device("--factors", 8).startswith("device: cpu (")
    beyond = device("--factors", 2000, *many)
    assert beyond.startswith("device: cpu (") and f"; {gpu}: factors: " in beyond


def test_a_checkpoint_goes_on(program, cinema, gpu):
    ratings = cinema / "ratings.csv"
    whole = train(program, ratings, "--device", "cuda", "--checkpoint", "state",
                  "--checkpoint-every", 4)
    resumed = json.loads(program("train", ratings, "-o", "resumed", "--resume", "state",
                                 "--device", "cuda", "--json").stdout)
    assert len(resumed["iterations"]) == 6
    last = whole["iterations"][-1]["objective"]
    assert resumed["iterations"][-1]["objective"] == last


@pytest.mark.parametrize("algorithm", ["item-knn", "user-knn"])
def test_neighbours_equal_the_processors(program, cinema, gpu, algorithm):
    lists = []
    for device in gpu, "cpu":
        program("train", cinema / "ratings.csv", "-o", "m", "--algorithm", algorithm,
                "--feedback", "explicit", "--device", device)
        lists.append(program("recommend", "m", "--all", "-n", 10).stdout)
    assert lists[0].count("\n") > 10
    assert lists[0] == lists[1]


def test_autotune_keeps_what_trainings_then_use(program, cinema, gpu, tmp_path):
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    done = program("autotune", "--device", gpu, "--factors", "24,100", "--feedback",
                   "implicit,explicit", "--shape", "3000x1000x200k", "-o", "all.csv",
                   "--plot", "all.svg", env=env)
    assert len(done.stdout.splitlines()) == 5
    assert "measured here" in program("info", env=env).stdout
    ratings = cinema / "ratings.csv"
    for feedback in ("implicit", "explicit"):
        options = ("train", ratings, "--factors", 24, "--iterations", 4,
                   "--feedback", feedback)
        exact = json.loads(program(*options, "-o", "cpu", "--device", "cpu", "--solver",
                                   "cholesky", "--json").stdout)
        # Few ratings: `auto` would solve them exactly, which was not measured.
        on_gpu = (*options, "--device", gpu, "--precision", "fp16", "--solver", "cg",
                   "--cg-steps", 100, "--json")
        first = program(*on_gpu, "-o", "a", "--verbose", env=env)
        again = program(*on_gpu, "-o", "b", "--checkpoint", "state", "--checkpoint-every", 3,
                        env=env)
        program(*options[:2], "--resume", "state", "--iterations", 4, "-o", "c", "--device", gpu,
                env=env)
        assert "measured here" in first.stderr
        one, same = json.loads(first.stdout), json.loads(again.stdout)
        assert [i["objective"] for i in one["iterations"]] == [
            i["objective"] for i in same["iterations"]]
        for mine, other in zip(one["iterations"], exact["iterations"], strict=True):
            assert mine["objective"] == pytest.approx(other["objective"], rel=1e-4)
        for model in ("b", "c"):
            assert factors_of(tmp_path / model) == factors_of(tmp_path / "a")


@pytest.mark.parametrize("feedback", ["implicit", "explicit"])
def test_less_memory_streams_and_gives_the_same_model(program, gpu, feedback):
    program("generate", "20kx300x400k", "-o", "r.csv")
    options = "--feedback", feedback, "--device", gpu
    whole = train(program, "r.csv", *options)
    done = program("train", "r.csv", "-o", "m", "--factors", 24, "--iterations", 6, "--json",
                   *options, "--verbose", "--device-memory", "6MB")
    assert "streamed from the machine's memory" in done.stderr
    streamed = json.loads(done.stdout)
    for one, other in zip(streamed["iterations"], whole["iterations"], strict=True):
        assert one["objective"] == other["objective"]
    refused = program("train", "r.csv", "-o", "m", *options, "--device-memory", "1MB", exit_code=1)
    assert "total" in refused.stderr and "976.6 KiB" in refused.stderr


def test_the_plan_is_told(program, cinema, gpu):
    stderr = program("train", cinema / "ratings.csv", "-o", "m", "--device", gpu, "--verbose",
                     "--iterations", 1).stderr
    assert f"memory of {gpu}: everything on the GPU" in stderr
    for part in ("interactions", "factors", "fixed side, stored", "total", "available"):
        assert f"  {part}" in stderr


def test_an_interrupt_ends_a_training_on_a_gpu(program, cinema, gpu, tmp_path):
    process = program.start("train", cinema / "ratings.csv", "-o", "m", "--iterations", 1_000_000,
                            "--device", gpu, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                            text=True)
    for line in process.stderr:
        if line.startswith("iteration"):
            break
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    stderr = process.stderr.read()
    assert process.wait(timeout=60) == 1
    assert time.monotonic() - begin < 3
    assert "interrupted" in stderr
    assert list(tmp_path.iterdir()) == []


def test_verbose_says_how_neighbours_are_found(program, cinema, gpu):
    arguments = ("train", cinema / "ratings.csv", "-o", "m", "--algorithm", "item-knn",
                 "--device", gpu)
    assert "common entries" in program(*arguments, "--verbose").stderr
    assert "common entries" not in program(*arguments).stderr


@pytest.fixture
def liked(program, cinema, gpu, tmp_path):
    """A model with factors; denied.txt names some of its items."""
    ratings = (cinema / "parts/train.csv").read_text().splitlines()[1:200]
    items = sorted({line.split(",")[1] for line in ratings})
    (tmp_path / "denied.txt").write_text("\n".join(items[:10]) + "\n")
    program("train", cinema / "parts/train.csv", "-o", "liked", "--factors", 24, "--device", "cpu")
    return "liked"


@pytest.mark.parametrize("command", [
    ("recommend", "--all", "-n", 10),
    ("recommend", "--all", "-n", 7, "--include-seen"),
    ("recommend", "--all", "-n", 5000),
    ("recommend", "--all", "-n", 5, "--deny", "denied.txt"),
    ("similar", "--all-items", "-n", 12),
    ("similar", "--all-items", "-n", 12, "--metric", "euclidean"),
    ("similar", "--all-users", "-n", 3, "--metric", "dot"),
])
def test_lists_equal_the_processors(program, liked, gpu, command):
    verb, *options = command
    lists = [program(verb, liked, *options, "--device", device).stdout for device in (gpu, "cpu")]
    assert lists[0].count("\n") > 1
    assert lists[0] == lists[1]


@pytest.mark.parametrize("algorithm, default", [("als", ("factors", 512)), ("item-knn", ("similarity", "bm25"))])
def test_lists_by_defaults_of_many_items_equal_the_processors(program, gpu, tmp_path, algorithm, default):
    """Where most of thousands of items are equally popular."""
    draw = random.Random(1)
    rows = {(draw.randrange(3000), draw.randrange(4000)) for _ in range(60_000)}
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in sorted(rows)))
    program("train", ratings, "-o", "m", "--algorithm", algorithm, "--device", gpu)
    assert json.loads(program("info", "m", "--json").stdout)[default[0]] == default[1]
    commands = [("recommend", "--all", "-n", 10)]
    if algorithm == "item-knn":
        program("train", ratings, "-o", "of-cpu", "--algorithm", algorithm, "--device", "cpu")
        assert factors_of(tmp_path / "m") == factors_of(tmp_path / "of-cpu")
    else:
        commands += [("similar", "--all-items", "-n", 10), ("similar", "--all-users", "-n", 10, "--metric", "dot")]
    for verb, *options in commands:
        lists = [program(verb, "m", *options, "--device", device).stdout for device in (gpu, "cpu")]
        assert lists[0].count("\n") > 10_000
        assert lists[0] == lists[1]


@pytest.mark.parametrize("form", [("--form", "dense"), ("--form", "local", "--candidates", 30)])
def test_lists_by_ease_equal_the_processors(program, cinema, liked, gpu, form):
    program("train", cinema / "parts/train.csv", "-o", "ease", "--algorithm", "ease", *form, "--device", gpu)
    for options in (("-n", 10), ("-n", 7, "--include-seen"), ("-n", 5000), ("-n", 5, "--deny", "denied.txt")):
        lists = [program("recommend", "ease", "--all", *options, "--device", device).stdout
                 for device in (gpu, "cpu")]
        assert lists[0].count("\n") > 10
        assert lists[0] == lists[1]


@pytest.mark.parametrize("command", [
    ("recommend", "liked", "--all", "-n", 10),
    ("recommend", "liked", "--all", "-n", 5, "--deny", "denied.txt"),
    ("similar", "liked", "--all-items", "-n", 12, "--metric", "euclidean"),
    ("predict", "liked", "--all-missing"),
    ("recommend", "item-knn", "--all"),
    ("predict", "user-knn", "--all-missing"),
])
def test_several_gpus_answer_as_one(program, cinema, liked, gpu, several_gpus, command):
    verb, model, *options = command
    answers = []
    for device in gpu, several_gpus:
        if model != "liked":
            feedback = "explicit" if verb == "predict" else "implicit"
            program("train", cinema / "parts/train.csv", "-o", model, "--algorithm", model,
                    "--feedback", feedback, "--device", device)
        done = program(verb, model, *options, "--device", device)
        assert done.stderr.startswith(f"device: {device} (")
        answers.append(done.stdout)
    assert answers[0].count("\n") > 1
    assert answers[0] == answers[1]


def test_an_evaluation_equals_the_processors(program, cinema, liked, gpu):
    tables = [json.loads(program("evaluate", liked, cinema / "parts/test.csv", "--json",
                                 "--device", device).stdout) for device in (gpu, "cpu")]
    for table in tables:
        del table["seconds"]
    assert tables[0] == tables[1]


def test_a_training_that_is_validated_by_lists_needs_no_other_device(program, cinema, gpu):
    done = program("train", cinema / "parts/train.csv", "-o", "m", "--iterations", 2,
                   "--validation", cinema / "parts/test.csv", "--validation-metric", "ndcg@10",
                   "--device", gpu)
    assert done.stderr.splitlines()[0].startswith(f"device: {gpu} (")
    assert "cpu" not in done.stderr.splitlines()[0]


@pytest.mark.parametrize("options", [
    ("--algorithm", "als"), ("--algorithm", "sgd"),
    *(("--algorithm", side, "--predict-from", rows) for side in ("item-knn", "user-knn")
      for rows in ("rated", "kept", "all"))], ids=lambda o: "-".join(o[1::2]))
def test_predictions_are_those_of_the_processor(program, tmp_path, gpu, options):
    program("generate", "900x1700x60k", "-o", "r.csv")
    program("split", "r.csv", "-o", "parts", "--test", 0.1)
    program("train", "parts/train.csv", "-o", "m", "--feedback", "explicit", *options, "--device", "cpu")
    on_gpu = ("--device", gpu)
    for command in [("predict", "m", "parts/test.csv", "-o"), ("predict", "m", "--all-missing", "-o")]:
        assert f"memory of {gpu}: " in program(*command, "gpu.csv", *on_gpu).stderr
        program(*command, "cpu.csv")
        assert (tmp_path / "gpu.csv").read_bytes() == (tmp_path / "cpu.csv").read_bytes()
    measured = [json.loads(program("evaluate", "m", "parts/test.csv", "--json", *device).stdout)
                for device in (on_gpu, ())]
    for key in ("rmse", "mae", "pairs_evaluated"):
        assert measured[0][key] == measured[1][key]


def test_an_interrupt_ends_predictions_on_a_gpu(program, tmp_path, gpu):
    program("generate", "6040x3706x1000209", "-o", "r.csv.zst")
    program("train", "r.csv.zst", "-o", "m", "--algorithm", "item-knn", "--feedback", "explicit",
            "--device", gpu)
    process = program.start("predict", "m", "--all-missing", "-o", "all.csv", "--device", gpu,
                            stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline().startswith("device: ")
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    assert "interrupted" in process.stderr.read()
    assert process.wait(timeout=60) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "r.csv.zst"]
