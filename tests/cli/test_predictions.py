# SPDX-License-Identifier: Apache-2.0
"""Predicted ratings: the same digits however they are asked for, and on the scale of the ratings."""
import csv
import io
import json
import math
import random

import pytest

FACTORS = {"als": ["--feedback", "explicit", "--factors", 7, "--regularization", 0.01],
           "sgd": ["--algorithm", "sgd", "--factors", 7, "--regularization", 0.1]}
ALL = {**FACTORS, "bias": ["--algorithm", "bias", "--baseline-user-regularization", 0,
                           "--baseline-item-regularization", 0],
       "user-knn": ["--algorithm", "user-knn", "--feedback", "explicit"],
       "item-knn": ["--algorithm", "item-knn", "--feedback", "explicit"]}


def told(text):
    """{(user, item): digits}"""
    return {(row["user"], row["item"]): row.get("prediction") or row["score"]
            for row in csv.DictReader(io.StringIO(text))}


def write(path, seed, low, high, users=range(60)):
    """Hard users and good items, and the others: a sum of both is beyond the scale."""
    draw = random.Random(seed)

    def rating(user, item):
        taste = (1 if user % 2 else -1) + (1 if item % 2 else -1) + draw.uniform(-0.5, 0.5)
        return min(max(round(((low + high) + 0.7 * taste * (high - low)) / 2), low), high)

    path.write_text("user,item,rating\n" + "".join(
        f"u{u},i{i},{rating(u, i)}\n" for u in users for i in draw.sample(range(40), 9)))


@pytest.fixture
def ratings(tmp_path):
    write(tmp_path / "r.csv", 1, 1, 5)
    return "r.csv"


@pytest.mark.parametrize("algorithm", FACTORS)
def test_all_questions_have_the_same_digits_on_all_devices(program, ratings, algorithm, tmp_path):
    program("train", ratings, "-o", "m", *FACTORS[algorithm])
    missing = program("predict", "m", "--all-missing", "--clip", "off", "--device", "reference").stdout
    assert missing.count("\n") == 1 + 60 * 40 - 540
    (tmp_path / "pairs.csv").write_text(missing)
    for device in ("cpu", "reference"):
        for question in (["pairs.csv"], ["--all-missing"]):
            assert program("predict", "m", *question, "--clip", "off", "--device", device).stdout == missing
        lists = program("recommend", "m", "--all", "-n", 40, "--device", device).stdout
        assert told(lists) == told(missing)


@pytest.mark.parametrize("algorithm", ALL)
def test_ratings_stay_on_their_scale(program, ratings, algorithm, tmp_path):
    program("train", ratings, "-o", "m", *ALL[algorithm])
    write(tmp_path / "t.csv", 2, 1, 5)
    free = told(program("predict", "m", "--all-missing", "--clip", "off").stdout)
    kept = told(program("predict", "m", "--all-missing").stdout)
    assert min(map(float, free.values())) < 1 or max(map(float, free.values())) > 5
    for pair, rating in kept.items():
        assert rating == (free[pair] if 1 <= float(free[pair]) <= 5 else "1" if float(free[pair]) < 1 else "5")
    # A new user is predicted in the same way, and evaluate sees what predict says.
    (tmp_path / "new.csv").write_text("user,item,rating\nzoe,i1,5\nzoe,i2,5\nzoe,i3,5\nzoe,i4,5\n")
    (tmp_path / "pairs.csv").write_text("user,item\n" + "".join(f"zoe,i{i}\n" for i in range(40)))
    new = told(program("predict", "m", "pairs.csv", "--new", "new.csv").stdout)
    assert all(1 <= float(rating) <= 5 for rating in new.values())
    true = list(csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text())))
    errors = {}
    for clip in ("on", "off"):
        predicted = told(program("predict", "m", "t.csv", "--clip", clip).stdout)
        errors[clip] = math.sqrt(sum((float(predicted[row["user"], row["item"]]) - float(row["rating"])) ** 2
                                     for row in true) / len(true))
        said = json.loads(program("evaluate", "m", "t.csv", "--clip", clip, "--json").stdout)
        assert said["rmse"] == pytest.approx(errors[clip], rel=1e-6)
    assert errors["on"] < errors["off"]
    # The order of lists is that of scores before they are clipped.
    if algorithm in FACTORS:
        lists = csv.DictReader(io.StringIO(program("recommend", "m", "--user", "u1", "-n", 40).stdout))
        scores = [row["score"] for row in lists]
        assert scores == [free["u1", row] for row in sorted(
            (item for user, item in free if user == "u1"), key=lambda i: (-float(free["u1", i]), i))]


@pytest.mark.parametrize("algorithm", ["als", "sgd", "bias"])
def test_an_update_moves_the_scale(program, ratings, algorithm, tmp_path):
    program("train", ratings, "-o", "m", *ALL[algorithm])
    write(tmp_path / "more.csv", 3, 8, 10, users=range(100, 120))
    program("update", "m", "more.csv", "-o", "n")
    after = [float(rating) for rating in told(program("predict", "n", "--all-missing").stdout).values()]
    assert 5 < max(after) <= 10 and min(after) >= 1


def test_clip_is_for_ratings(program, ratings, tmp_path):
    program("train", ratings, "-o", "counts", "--factors", 2)
    program("train", ratings, "-o", "stars", *ALL["als"])
    for question in (["predict", "counts", ratings], ["evaluate", "counts", ratings],
                     ["predict", "counts", "--all-missing"],
                     ["evaluate", "stars", ratings, "--metrics", "ndcg"]):
        for clip in ("on", "off"):
            assert "--clip would do nothing here" in program(*question, "--clip", clip, exit_code=2).stderr
    assert "on|off" in program("predict", "stars", ratings, "--clip", "yes", exit_code=2).stderr
    # What bias and neighbours were trained with is what they do unless told otherwise.
    for algorithm in ("bias", "user-knn"):
        program("train", ratings, "-o", "free", *ALL[algorithm], "--clip", "off")
        program("train", ratings, "-o", "kept", *ALL[algorithm])
        asked = {(model, clip): program("predict", model, "--all-missing", *clip).stdout
                 for model in ("free", "kept") for clip in ((), ("--clip", "on"), ("--clip", "off"))}
        assert asked["free", ()] == asked["free", ("--clip", "off")] == asked["kept", ("--clip", "off")]
        assert asked["kept", ()] == asked["kept", ("--clip", "on")] == asked["free", ("--clip", "on")]
        assert asked["free", ()] != asked["kept", ()]


def test_errors_of_ratings_are_of_models_that_predict_them(program, ratings):
    for how in (["--factors", 2], ["--algorithm", "bpr", "--factors", 2], ["--algorithm", "item-knn"],
                ["--algorithm", "user-knn", "--feedback", "explicit", "--prediction", "sum", "--similarity",
                 "cosine"], ["--algorithm", "popular", "--feedback", "explicit"]):
        program("train", ratings, "-o", "m", *how)
        for metric in ("rmse", "mae", "ndcg,rmse"):
            why = program("evaluate", "m", ratings, "--metrics", metric, exit_code=2).stderr
            assert "compares predicted ratings" in why and "take a metric that ranks (precision, recall" in why
