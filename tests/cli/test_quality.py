# SPDX-License-Identifier: Apache-2.0
"""Does it learn? Bounds on real data, a little above what docs/experiments/quality.md says."""
import json


def measure(program, model, test):
    return json.loads(program("evaluate", model, test, "--json").stdout)


def test_ratings_of_ml_100k(program, real_data):
    base, test = (real_data / f"ml-100k/u1.{part}.gz" for part in ("base", "test"))
    program("train", base, "-o", "tuned", "--feedback", "explicit", "--factors", 128,
            "--regularization-exponent", 0.5, "--regularization", 1, "--iterations", 4)
    facts = measure(program, "tuned", test)
    assert facts["rmse"] < 0.923
    assert facts["pairs_evaluated"] == 20000 and facts["unknown_items"] == 32
    program("train", base, "-o", "plain", "--feedback", "explicit")
    assert measure(program, "plain", test)["rmse"] < 0.935


def test_ranking_of_ml_1m_beats_popularity_by_far(program, real_data):
    program("split", real_data / "ml-1m/ratings_notime.dat.gz", "-o", "parts", "--seed", 2026)
    program("train", "parts/train.csv", "-o", "popular", "--algorithm", "popular")
    program("train", "parts/train.csv", "-o", "als", "--factors", 64, "--unobserved-weight", 0.1,
            "--regularization-exponent", 1, "--regularization", 0.01, "--iterations", 9)
    popular, als = (measure(program, m, "parts/test.csv")["ndcg@10"] for m in ("popular", "als"))
    assert 0.19 < popular < 0.22
    assert als > 1.9 * popular


def test_neighbours_in_goodbooks_are_the_series(program, real_data):
    program("train", real_data / "goodbooks-10k/ratings.csv.gz", "-o", "books", "--min-value", 4,
            "--columns", "user_id,book_id,rating", "--factors", 128, "--unobserved-weight", 0.01,
            "--regularization-exponent", 1, "--regularization", 0.01, "--iterations", 3)
    rows = program("similar", "books", "--item", 18, "-n", 5).stdout.splitlines()[1:]
    # The third Harry Potter; the others from the second on.
    assert {row.split(",")[1] for row in rows} <= {"21", "23", "24", "25", "27"}


def test_splits_by_time_of_half_stars(program, real_data, tmp_path):
    ratings = real_data / "ml-latest-small/ratings.csv.gz"
    for method, rows in (("last", 671), ("time", 20001)):
        program("split", ratings, "-o", method, "--method", method)
        train, test = (
            [line.split(",") for line in (tmp_path / method / name).read_text().splitlines()[1:]]
            for name in ("train.csv", "test.csv")
        )
        assert len(test) == rows and len(train) + len(test) == 100004
        newest = {}
        for user, _, _, time in train:
            key = user if method == "last" else "all"
            newest[key] = max(newest.get(key, 0), int(time))
        for user, _, _, time in test:
            assert int(time) >= newest[user if method == "last" else "all"]
    program("train", "time/train.csv", "-o", "m", "--feedback", "explicit")
    facts = measure(program, "m", "time/test.csv")
    assert facts["pairs_evaluated"] == 20001 and facts["unknown_users"] == 16547
    assert facts["rmse"] < 1.03
