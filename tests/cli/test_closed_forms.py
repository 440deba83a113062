# SPDX-License-Identifier: Apache-2.0
"""rp3, ease and spectral from outside: equal to NumPy in double precision, and every verb with them."""
import csv
import io
import json
import re

import numpy as np
import pytest

EASE = ["--algorithm", "ease"]
SPECTRAL = ["--algorithm", "spectral"]


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def awkward():
    """Matrices by name: users x items. Ids are row and column numbers, so empty ones are not there."""
    random = np.random.default_rng(7)
    made = (random.random((60, 25)) < 0.15) * random.integers(1, 6, (60, 25)).astype(float)
    twins = made.copy()
    twins[:, 1] = twins[:, 0]
    dislikes = made * random.choice([1.0, 1.0, -1.0], made.shape)
    wide = (random.random((9, 70)) < 0.2).astype(float)
    one_user = np.ones((1, 5))
    crowded = (random.random((80, 12)) < 0.6).astype(float)  # all items have somebody in common
    return {"random": made, "crowded": crowded, "equal columns": twins, "dislikes": dislikes, "wide": wide, "one user": one_user,
            "one item": np.array([[1.0], [2.0]]), "one entry": np.array([[3.0]]),
            "nobody in common": np.eye(6)}


def write(path, x):
    lines = [f"{u},{i},{x[u, i]:g}" for u, i in zip(*np.nonzero(x))]
    path.write_text("user,item,value\n" + "".join(line + "\n" for line in lines))
    users, items = np.flatnonzero(x.any(axis=1)), np.flatnonzero(x.any(axis=0))
    return users, items, x[np.ix_(users, items)]


def scores(program, model, users, items):
    """All scores as they are listed, users x items. A list whose scores would all be 0 is empty."""
    told = rows(program("recommend", model, "--all", "-n", len(items), "--include-seen").stdout)
    found = np.full((len(users), len(items)), np.nan)
    for row in told:
        found[np.searchsorted(users, int(row["user"])), np.searchsorted(items, int(row["item"]))] = float(row["score"])
    found[np.isnan(found).all(axis=1)] = 0
    assert not np.isnan(found).any()
    listed = np.searchsorted(users, sorted({int(row["user"]) for row in told}))
    assert (np.abs(found[listed]).max(axis=1) > 0).all()
    return found


def close(found, expected, tolerance):
    assert found.shape == expected.shape
    assert np.abs(found - expected).max(initial=0) <= tolerance * max(1, np.abs(expected).max(initial=0))


def counts_of(x):
    return np.count_nonzero(x, axis=1).astype(float), np.count_nonzero(x, axis=0).astype(float)


def ease(x, b, a, regularization, p):
    """B of math.md, "Weights by ridge regression", as it stands there."""
    of_users, of_items = counts_of(x)
    g = x.T @ np.diag(of_users ** -b) @ x
    if a is not None:
        g = np.diag(of_items ** (a - 1)) @ g @ np.diag(of_items ** -a)
    inverse = np.linalg.inv(g + np.diag(regularization + p / (1 - p) * np.diag(g)))
    weights = np.eye(len(g)) - inverse / np.diag(inverse)[None, :]
    np.fill_diagonal(weights, 0)
    return weights


def spectral(x, factors, b, h):
    of_users, of_items = counts_of(x)
    _, s, v = np.linalg.svd(of_users[:, None] ** -0.5 * x * of_items[None, :] ** -0.5, full_matrices=False)
    kept = np.flatnonzero(s > 2e-3 * s[0])[:factors]
    s, v = s[kept], v[kept].T
    return (x * of_items ** -b) @ v * s ** h @ (v.T * of_items ** b)


@pytest.mark.parametrize("name", awkward())
@pytest.mark.parametrize("alpha, beta", [(1.0, 0.5), (0.6, 0.0), (0.0, 1.3)])
def test_rp3_is_the_walk(program, tmp_path, name, alpha, beta):
    users, items, x = write(tmp_path / "data.csv", awkward()[name])
    program("train", "data.csv", "-o", "m", "--algorithm", "item-knn", "--similarity", "rp3", "--neighbours", 100,
            "--user-exponent", alpha, "--item-exponent", beta, "--sum-scale", "none")
    has = (x != 0).astype(float)
    of_users, of_items = counts_of(x)
    walks = np.diag(of_items ** -alpha) @ has.T @ np.diag(of_users ** -alpha) @ has @ np.diag(of_items ** -beta)
    np.fill_diagonal(walks, 0)
    close(scores(program, "m", users, items), x @ walks, 1e-5)


@pytest.mark.parametrize("name", awkward())
@pytest.mark.parametrize("options, system", [
    ([], (0.5, 0.2, 3.0, 0.0)),
    (["--user-exponent", 0, "--scale-items", "off", "--regularization", 20], (0, None, 20, 0)),
    (["--user-exponent", 1, "--item-exponent", 0.7, "--regularization", 0.3, "--dropout", 0.4], (1, 0.7, 0.3, 0.4)),
])
def test_ease_is_the_formula(program, tmp_path, name, options, system):
    users, items, x = write(tmp_path / "data.csv", awkward()[name])
    program("train", "data.csv", "-o", "m", *EASE, "--form", "dense", *options)
    expected = x @ ease(x, *system)
    close(scores(program, "m", users, items), expected, 1e-4)
    # With all others as candidates local is the same.
    program("train", "data.csv", "-o", "local", *EASE, "--form", "local", "--candidates", 100, *options)
    if name == "crowded":  # in the others some items have nobody in common
        close(scores(program, "local", users, items), expected, 1e-4)


@pytest.mark.parametrize("name", awkward())
@pytest.mark.parametrize("options, system", [
    ([], (256, 0.5, 1.0)),
    (["--item-exponent", 0.2, "--spectrum-exponent", 0], (256, 0.2, 0.0)),
    (["--item-exponent", 1, "--spectrum-exponent", 2.5], (256, 1.0, 2.5)),
])
def test_spectral_is_the_formula(program, tmp_path, name, options, system):
    users, items, x = write(tmp_path / "data.csv", awkward()[name])
    program("train", "data.csv", "-o", "m", *SPECTRAL, *options)
    # Singular vectors are found to about 1e-3 where their values are small.
    close(scores(program, "m", users, items), spectral(x, *system), 2e-3)
    # Somebody who has what a user has, but was not trained, has that user's scores.
    liked = np.flatnonzero(x[0])
    (tmp_path / "new.csv").write_text("user,item,value\n" + "".join(f"77777,{items[i]},{x[0, i]:g}\n" for i in liked))
    told = rows(program("recommend", "m", "--new", "new.csv", "-n", len(items), "--include-seen").stdout)
    for row in told:
        expected = spectral(x, *system)[0, np.searchsorted(items, int(row["item"]))]
        assert abs(float(row["score"]) - expected) <= 2e-3 * max(1, np.abs(spectral(x, *system)).max())


def test_few_spectral_factors_are_the_largest(program, cinema, tmp_path):
    program("train", cinema / "parts/train.csv", "-o", "m", *SPECTRAL, "--factors", 5)
    data = rows((cinema / "parts/train.csv").read_text())
    users = np.unique([int(row["user"]) for row in data])
    items = np.unique([int(row["item"]) for row in data])
    x = np.zeros((len(users), len(items)))
    for row in data:
        x[np.searchsorted(users, int(row["user"])), np.searchsorted(items, int(row["item"]))] = float(row["value"])
    close(scores(program, "m", users, items), spectral(x, 5, 0.5, 1.0), 2e-2)
    program("train", cinema / "parts/train.csv", "-o", "again", *SPECTRAL, "--factors", 5, "--threads", 1)
    assert program("recommend", "m", "--all").stdout == program("recommend", "again", "--all").stdout


@pytest.mark.parametrize("options", [
    ["--algorithm", "item-knn", "--similarity", "rp3"], [*EASE, "--form", "dense"],
    [*EASE, "--form", "local", "--candidates", 20], [*SPECTRAL, "--factors", 16]])
def test_every_verb_knows_them(program, cinema, tmp_path, options):
    train, test = cinema / "parts/train.csv", cinema / "parts/test.csv"
    program("train", train, "-o", "m", *options, "--report", "r.html")
    info = json.loads(program("info", "m", "--json").stdout)
    assert info["algorithm"] == options[1]
    lists = rows(program("recommend", "m", "--user", 1, "-n", 4, "--explain").stdout)
    assert len(lists) == 4 and all(float(row["score"]) > 0 and "(" in row["because"] for row in lists)
    near = rows(program("similar", "m", "--item", 3, "-n", 6).stdout)
    assert len(near) == 6 and all(row["similar_item"] != "3" for row in near)
    if options[1] != "spectral":
        assert "--metric" in program("similar", "m", "--item", 3, "--metric", "dot", exit_code=2).stderr
    found = json.loads(program("evaluate", "m", test, "--train", train, "--json").stdout)
    program("train", train, "-o", "popular", "--algorithm", "popular")
    least = json.loads(program("evaluate", "popular", test, "--train", train, "--json").stdout)
    assert found["ndcg@10"] > 0.9 * least["ndcg@10"]  # the cinema is made of little more than popularity
    assert "predict" in program("evaluate", "m", test, "--metrics", "rmse", exit_code=2).stderr
    pairs = program("predict", "m", test).stdout
    assert len(rows(pairs)) == len(rows(test.read_text()))
    liked = rows(program("recommend", "m", "--likes", "3,4", "-n", 2).stdout)
    assert len(liked) == 2 and {row["item"] for row in liked}.isdisjoint({"3", "4"})
    some = rows(program("recommend", "m", "--user", 1, "-n", 40, "--allow", write_ids(tmp_path, [5, 6, 7])).stdout)
    assert {row["item"] for row in some} <= {"5", "6", "7"}
    by_reference = program("train", train, "-o", "slow", *options, "--device", "reference").stderr
    assert "reference" in by_reference
    validated = program("train", train, "-o", "v", *options, "--validation", test)
    assert "ndcg@10" in validated.stderr


def write_ids(folder, ids):
    (folder / "ids.txt").write_text("".join(f"{one}\n" for one in ids))
    return folder / "ids.txt"


@pytest.mark.parametrize("options", [
    ["--algorithm", "item-knn", "--similarity", "rp3"], [*EASE, "--form", "dense"],
    [*EASE, "--form", "local", "--candidates", 20], [*SPECTRAL, "--factors", 16]])
def test_an_update_gives_the_model_of_all(program, cinema, tmp_path, options):
    lines = (cinema / "parts/train.csv").read_text().splitlines(keepends=True)
    (tmp_path / "old.csv").write_text("".join(lines[:3000]))
    (tmp_path / "new.csv").write_text("".join(lines[:1] + lines[3000:]))
    program("train", "old.csv", "-o", "old", *options)
    program("update", "old", "new.csv", "-o", "m")
    program("train", cinema / "parts/train.csv", "-o", "all", *options)
    for model in ("m", "all"):
        program("recommend", model, "--all", "-n", 80, "-o", f"{model}.csv")
    ours, theirs = ({(row["user"], row["item"]): float(row["score"]) for row in rows((tmp_path / name).read_text())}
                    for name in ("m.csv", "all.csv"))
    assert ours.keys() == theirs.keys()
    assert max(abs(ours[one] - theirs[one]) for one in ours) < 1e-3 * max(map(abs, theirs.values()))


@pytest.mark.parametrize("options", [[*EASE, "--form", "dense"], [*EASE, "--form", "local"], SPECTRAL])
def test_reasons_are_parts_of_the_score(program, cinema, options):
    program("train", cinema / "parts/train.csv", "-o", "m", *options)
    for row in rows(program("recommend", "m", "--likes", "3", "-n", 5, "--explain").stdout):
        parts = re.findall(r"(\d+) \(([-+.e0-9]+)\)", row["because"])
        assert {item for item, _ in parts} == {"3"}
        assert abs(sum(float(share) for _, share in parts) - float(row["score"])) < 0.02 * abs(float(row["score"]))


def test_systems_that_are_singular_end_in_a_sentence(program, tmp_path):
    write(tmp_path / "data.csv", np.array([[1.0, 1, 1], [0, 1, 1], [1, 0, 0]]))
    for form in ("dense", "local"):
        said = program("train", "data.csv", "-o", "m", *EASE, "--form", form, "--regularization", 1e-9, exit_code=1).stderr
        assert "use a larger regularization" in said and "1e-09" in said


def test_dense_weights_that_cannot_fit_are_refused_with_the_figures(program, tmp_path):
    (tmp_path / "data.csv").write_text("user,item\n" + "".join(f"1,{item}\n" for item in range(400_000)))
    said = program("train", "data.csv", "-o", "m", *EASE, "--form", "dense", exit_code=1).stderr
    assert "400000 items" in said and "GiB" in said
    told = json.loads(program("train", "data.csv", "-o", "m", *EASE, "--plan", "--json").stdout)
    assert "local" in json.dumps(told)


@pytest.mark.parametrize("algorithm", ["ease", "spectral"])
def test_ratings_are_refused(program, cinema, algorithm):
    said = program("train", cinema / "ratings.csv", "-o", "m", "--algorithm", algorithm, "--feedback", "explicit",
                   exit_code=2).stderr
    assert f"implicit with {algorithm}" in said
