# SPDX-License-Identifier: Apache-2.0
"""`train --algorithm auto`: what it chooses, where it says why, and which options go with it."""
import json
import random

import pytest


def write(path, rows):
    path.write_text("user,item,value\n" + "".join(f"{user},{item},{1 + (user + item) % 5}\n" for user, item in rows))


def evenly(users, items, each):
    """Every item as popular as the others."""
    draw = random.Random(3)
    return [(user, item) for user in range(users) for item in draw.sample(range(items), each)]


def tasteful(users, items, each, groups):
    """Every item as popular as the others, and every user with items of its group alone."""
    draw = random.Random(3)
    return [(user, item) for user in range(users) for item in draw.sample(range(user % groups, items, groups), each)]


def train(program, data, *options):
    done = program("train", data, "-o", "m", "--algorithm", "auto", "--json", *options)
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("rows, options, algorithm, reason", [
    (tasteful(200, 50, 20, 2), [], "als", "(at most 1800); a user has 20 interactions"),
    (tasteful(2000, 1900, 6, 100), [], "item-knn", "a user has 6 interactions, an item 6.32"),
    (evenly(200, 50, 40), ["--feedback", "explicit"], "item-knn", "(at least 36): sgd would suit, but on a hidden fifth"),
    (evenly(200, 50, 20), ["--feedback", "explicit"], "item-knn", "(less than 36): als would suit, but on a hidden fifth"),
])
def test_it_chooses_by_the_data_and_says_why(program, tmp_path, rows, options, algorithm, reason):
    write(tmp_path / "data.csv", rows)
    told, said = train(program, "data.csv", *options)
    assert told["algorithm"] == algorithm and reason in told["choice"]
    line = next(line for line in said.splitlines() if line.startswith("algorithm: "))
    assert line == f"algorithm: {algorithm}; {told['choice']}"
    info = json.loads(program("info", "m", "--json").stdout)
    assert info["algorithm"] == algorithm and info["choice"] == told["choice"]
    # It is the training that names the algorithm.
    named = json.loads(program("train", "data.csv", "-o", "named", "--algorithm", algorithm, "--json",
                               *options).stdout)
    assert named["parameters"] == told["parameters"] and "choice" not in named
    assert "choice" not in json.loads(program("info", "named", "--json").stdout)


def test_what_goes_with_it(program, cinema, tmp_path):
    told, _ = train(program, cinema / "parts/train.csv", "--validation", cinema / "parts/test.csv",
                    "--validation-metric", "recall@5", "--report", "page.html", "--threads", 1, "--device", "cpu")
    assert told["algorithm"] == "spectral" and told["validation_metric"] == "recall@5"
    assert told["validation"] > 0
    assert told["choice"] in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("options, why", [
    ("--factors 8", "--factors is for --algorithm als or sgd or bpr or spectral: beside --algorithm auto"),
    ("--similarity bm25", "only --feedback can be given"),
    ("--feedback explicit --seed 3", "name the algorithm, or leave --seed out"),
    ("--validation absent2.csv --target ndcg@10=0.3", "auto may choose one that does not"),
    ("--checkpoint state", "auto may choose one that does not"),
    ("--device magic", "magic"),
    ("--validation absent2.csv --patience 3", "--patience is for"),
])
def test_wrong_options_are_refused_before_anything_is_read(program, options, why):
    stderr = program("train", "absent.csv", "-o", "m", "--algorithm", "auto", *options.split(), exit_code=2).stderr
    assert why in stderr and "absent" not in stderr


def test_a_model_to_resume_has_its_algorithm(program, cinema):
    stderr = program("train", cinema / "ratings.csv", "-o", "m", "--algorithm", "auto", "--resume",
                     cinema / "model.safetensors", exit_code=2).stderr
    assert "the model to resume is of als; leave the option out" in stderr


def test_a_resumed_training_keeps_the_reason_of_the_choice(program, tmp_path):
    write(tmp_path / "data.csv", evenly(500, 4000, 80))  # too many for a measurement
    told, _ = train(program, "data.csv")
    assert told["algorithm"] == "als" and "(more than 1800); a user has 80 interactions, at least 75" in told["choice"]
    program("train", "data.csv", "-o", "m2", "--resume", "m", "--iterations", 16)
    over = program("train", "data.csv", "-o", "m3", "--resume", "m2", "--regularization", 5, exit_code=2).stderr
    assert "--regularization 5 would do nothing: the training that is resumed is over, after 16 iterations" in over
    assert json.loads(program("info", "m2", "--json").stdout)["choice"] == told["choice"]


@pytest.mark.parametrize("data, columns, algorithm", [
    ("ml-100k/u.data", "1,2", "als"), ("ml-1m/ratings_notime.dat.gz", "1,2", "als"),
    ("ml-latest-small/ratings.csv.gz", "userId,movieId", "als"),
    ("goodbooks-10k/ratings.csv.gz", "user_id,book_id", "item-knn")])
def test_real_data(program, real_data, data, columns, algorithm):
    assert train(program, real_data / data, "--columns", columns)[0]["algorithm"] == algorithm


def test_it_is_not_below_popularity_where_that_can_be_measured(program, tmp_path):
    """Likes at random, of items that are not equally popular: nothing but popularity can be learned."""
    draw = random.Random(5)
    items = [item for item in range(400) for _ in range(1 + 4000 // (item + 10))]
    rows = sorted({(user, item) for user in range(800) for item in draw.choices(items, k=12)})
    write(tmp_path / "data.csv", rows)
    told, said = train(program, "data.csv")
    assert told["algorithm"] == "popular"
    assert "would suit, but on a hidden fifth of interactions its ndcg@10 is" in told["choice"]
    assert "that of popular 0." in said
