# SPDX-License-Identifier: Apache-2.0
"""The library, the command line and Python train the same models of the same requests, byte by byte."""
import os
import pathlib
import subprocess
import sys

import pytest

import likewise

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from comparison import contents  # noqa: E402

ESTIMATORS = {"als": likewise.Als, "item-knn": likewise.ItemKnn, "user-knn": likewise.UserKnn, "sgd": likewise.Sgd,
              "bpr": likewise.Bpr, "bias": likewise.Bias, "popular": likewise.Popular, "auto": likewise.Auto}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("doors")
    for words in (["generate", "300x80x6000:explicit", "-o", "ratings.csv", "--seed", "3"],
                  ["split", "ratings.csv", "-o", "."]):
        subprocess.run([os.environ["LIKEWISE_CLI"], *words], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("algorithm, params, validates", [
    ("als", {}, False), ("als", {}, True), ("als", {"factors": 8, "alpha": 3.0}, False),
    ("als", {"feedback": "explicit", "biases": False, "seed": 9}, True), ("auto", {}, True),
    ("auto", {"feedback": "explicit"}, True), ("item-knn", {}, False), ("user-knn", {"neighbours": 7}, True),
    ("item-knn", {"feedback": "explicit", "keep_negative": True}, False), ("sgd", {"factors": 4}, True),
    ("bpr", {"factors": 4, "iterations": 3}, False), ("bias", {}, True), ("popular", {}, True)])
def test_three_doors_make_one_model(folder, algorithm, params, validates):
    def text(value):
        return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else str(value)

    options = {"keep_negative": "negative"}
    kept = {True: "keep", False: "drop"}
    words = [(name, kept[value] if name == "keep_negative" else text(value)) for name, value in params.items()]
    flags = [word for name, value in words for word in ("--" + options.get(name, name).replace("_", "-"), value)]
    program = [os.environ["LIKEWISE_CLI"], "train", "train.csv", "-o", "cli.safetensors", "--algorithm", algorithm,
               *flags, *(["--validation", "test.csv"] if validates else [])]
    door = [pathlib.Path(os.environ["LIKEWISE_BUILD"]) / "bin/library_door", "train.csv", "library.safetensors",
            algorithm, *(f"{name}={value}" for name, value in words), *(["validation=test.csv"] if validates else [])]
    for command in (program, door):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    data = likewise.Interactions(str(folder / "train.csv"))
    estimator = ESTIMATORS[algorithm](**params)
    estimator.fit(data, validation=likewise.Interactions(str(folder / "test.csv")) if validates else None)
    estimator.save(str(folder / "python.safetensors"))
    for other in ("library", "python"):
        assert contents.compare(folder / "cli.safetensors", folder / f"{other}.safetensors") == []


def test_a_plan_says_what_fit_does(folder):
    data = likewise.Interactions(str(folder / "train.csv"))
    estimator = likewise.Als(factors=8)
    plan = estimator.plan(data, validates=True)
    assert plan.parameters == estimator.fit(data).model_.params | {"algorithm": "als"}
    assert plan.origins == {"factors": "chosen", "regularization": "from the data",
                            "regularization_exponent": "from the data", "unobserved_weight": "from the data"}
    assert plan.validation_metric == "ndcg@10" and sum(plan.memory.values()) > 0
    assert plan == likewise.Als(factors=8).plan(data, validates=True) != likewise.Als(factors=9).plan(data)
    assert "  factors 8 (chosen)" in str(plan) and "iterations 15 (default)" in plan._repr_html_()
    assert likewise.Auto().plan(data).algorithm_reason.startswith("popularity as of")


@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
def test_a_visitor_is_answered_alike(folder, feedback):
    """Who is only known to like something likes it with the highest rating: a 1 would say the opposite."""
    model = likewise.Als(factors=8, feedback=feedback).fit(likewise.Interactions(str(folder / "train.csv"))).model_
    likes = [int(item) for item in model.items.take([3, 5, 8])]
    model.save(folder / "visited.safetensors")
    done = subprocess.run([os.environ["LIKEWISE_CLI"], "recommend", "visited.safetensors", "-q", "-n", "4", "--likes",
                           ",".join(map(str, likes))], cwd=folder, capture_output=True, text=True, check=True)
    rows = [line.split(",") for line in done.stdout.splitlines()[1:]]
    assert [(int(row[1]), float(row[3])) for row in rows] == [
        (item, pytest.approx(score, rel=1e-6)) for item, score in model.recommend_new([likes], n=4)[0]]
