# SPDX-License-Identifier: Apache-2.0
"""item-knn and user-knn from outside: every verb with them, and what they refuse."""
import csv
import io
import json

import pytest


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("algorithm", ["item-knn", "user-knn"])
def test_every_verb_knows_neighbours(program, cinema, algorithm):
    train = cinema / "parts/train.csv"
    program("train", train, "-o", "m", "--algorithm", algorithm, "--neighbours", 7, "--report",
            "r.html")
    info = json.loads(program("info", "m", "--json").stdout)
    assert info["algorithm"] == algorithm and info["neighbours"] == 7
    assert info["similarity"] == "tfidf" and info["prediction"] == "sum"
    lists = rows(program("recommend", "m", "--user", "1", "-n", 4).stdout)
    scores = [float(r["score"]) for r in lists]
    assert len(scores) == 4 and scores == sorted(scores, reverse=True) and scores[0] > 0
    side = "item" if algorithm == "item-knn" else "user"
    near = rows(program("similar", "m", f"--{side}", "3", "-n", 50).stdout)
    assert len(near) == 7 and all(r[f"similar_{side}"] != "3" for r in near)
    other = "user" if side == "item" else "item"
    assert f"similar {other}s" in program("similar", "m", f"--{other}", "3", exit_code=2).stderr
    found = json.loads(program("evaluate", "m", cinema / "parts/test.csv", "--json").stdout)
    program("train", train, "-o", "popular", "--algorithm", "popular")
    least = json.loads(program("evaluate", "popular", cinema / "parts/test.csv", "--json").stdout)
    assert found["ndcg@10"] > least["ndcg@10"] / 2
    liked = rows(program("recommend", "m", "--likes", "3,4", "-n", 2).stdout)
    assert len(liked) == 2 and {r["item"] for r in liked}.isdisjoint({"3", "4"})


def test_dot_is_the_product_of_the_values(program, tmp_path):
    (tmp_path / "w.csv").write_text("user,item,weight\na,x,5\na,y,3\na,w,1\nb,x,4\nb,z,2\nb,w,1\n"
                                    "c,x,1\nc,y,1\nc,z,5\n")
    program("train", "w.csv", "-o", "m", "--algorithm", "user-knn", "--similarity", "dot")
    assert json.loads(program("info", "m", "--json").stdout)["similarity"] == "dot"
    near = rows(program("similar", "m", "--user", "a", "-n", 5).stdout)
    assert [(r["similar_user"], float(r["score"])) for r in near] == [("b", 21), ("c", 8)]


@pytest.mark.parametrize("algorithm", ["item-knn", "user-knn"])
def test_ratings_beat_the_mean(program, cinema, algorithm):
    program("train", cinema / "parts/train.csv", "-o", "m", "--algorithm", algorithm, "--feedback",
            "explicit")
    found = json.loads(program("evaluate", "m", cinema / "parts/test.csv", "--json").stdout)
    ratings = [float(r["value"]) for r in rows((cinema / "parts/test.csv").read_text())]
    mean = sum(ratings) / len(ratings)
    spread = (sum((r - mean) ** 2 for r in ratings) / len(ratings)) ** 0.5
    assert found["rmse"] < spread
    again = program("predict", "m", cinema / "parts/test.csv", "--device", "reference").stdout
    assert again == program("predict", "m", cinema / "parts/test.csv").stdout


def test_every_missing_cell_is_predicted(program, cinema):
    for algorithm in ("item-knn", "user-knn"):
        program("train", cinema / "parts/train.csv", "-o", "m", "--algorithm", algorithm,
                "--feedback", "explicit")
        done = program("predict", "m", "--all-missing", "-o", "all.csv")
        for part in ("load ", "magnitudes ", "similarities ", "predict ", "write ", "memory: "):
            assert part in done.stderr
        text = (program.folder / "all.csv").read_text()
        cells = {(r["user"], r["item"]): r["prediction"] for r in rows(text)}
        info = json.loads(program("info", "m", "--json").stdout)
        assert len(cells) == info["users"] * info["items"] - info["interactions"]
        some = rows(program("predict", "m", cinema / "parts/test.csv").stdout)
        known = [r for r in some if (r["user"], r["item"]) in cells]
        assert len(known) > 1000
        assert all(cells[r["user"], r["item"]] == r["prediction"] for r in known)
    assert "--all-missing" in program("predict", "m", exit_code=2).stderr


def test_added_interactions_are_as_good_as_trained(program, cinema):
    train, test = cinema / "parts/train.csv", cinema / "parts/test.csv"
    options = ("--algorithm", "item-knn", "--similarity", "jaccard")
    few = test.read_text().splitlines(keepends=True)
    (program.folder / "few.csv").write_text("".join(few[:4]))
    (program.folder / "both.csv").write_text(train.read_text() + "".join(few[1:4]))
    program("train", train, "-o", "old", *options)
    done = program("update", "old", "few.csv", "-o", "grown")
    assert "refined: 0 users of" in done.stderr
    program("train", "both.csv", "-o", "anew", *options)
    for question in (("similar", "--all-items"), ("recommend", "--all")):
        answers = [program(question[0], m, question[1]).stdout for m in ("grown", "anew")]
        assert answers[0] == answers[1]


def test_past_items_speak_for_answers_of_item_knn(program, cinema):
    train = cinema / "parts/train.csv"
    mine = {r["item"] for r in rows(train.read_text()) if r["user"] == "5"}
    for prediction in ("mean", "centred", "z-score", "baseline"):
        program("train", train, "-o", "m", "--feedback", "explicit", "--algorithm", "item-knn",
                "--prediction", prediction)
        answers = rows(program("recommend", "m", "--user", 5, "--explain").stdout)
        reasons = [part.split(" (")[0] for r in answers for part in r["because"].split("; ")]
        assert len(reasons) >= len(answers) and set(reasons) <= mine
    program("train", train, "-o", "u", "--feedback", "explicit", "--algorithm", "user-knn")
    assert "similar users" in program("recommend", "u", "--user", 5, "--explain", exit_code=2).stderr


def test_new_users_are_those_they_copy(program, cinema):
    train = cinema / "parts/train.csv"
    mine = [r for r in rows(train.read_text()) if r["user"] == "5"]
    copied = "".join(f"new,{r['item']},{r['value']}\n" for r in mine)
    (program.folder / "new.csv").write_text("user,item,value\n" + copied + "new,nowhere,3\n")
    for options in (("--feedback", "explicit", "--prediction", "centred"), ()):
        program("train", train, "-o", "m", "--algorithm", "item-knn", *options)
        done = program("recommend", "m", "--new", "new.csv")
        assert "1 interaction with items that the model does not know" in done.stderr
        known = rows(program("recommend", "m", "--user", "5").stdout)
        assert [r["item"] for r in rows(done.stdout)] == [r["item"] for r in known]
        assert rows(done.stdout)[0]["user"] == "new"
        pairs = "".join(f"{user},{r['item']}\n" for r in known for user in ("5", "new", "6"))
        (program.folder / "pairs.csv").write_text("user,item\n" + pairs + "new,nowhere\n")
        done = program("predict", "m", "pairs.csv", "--new", "new.csv")
        assert "1 row with a user or item that is not in the model" in done.stderr
        predicted = {user: {} for user in ("5", "new", "6")}
        for r in rows(done.stdout):
            predicted[r["user"]][r["item"]] = float(r["prediction"])
        del predicted["new"]["nowhere"]
        assert len(predicted["5"]) == len(known) and predicted["6"] != predicted["5"]
        for item, value in predicted["5"].items():
            assert abs(predicted["new"][item] - value) < 1e-5 * max(1, abs(value))
    assert "PAIRS" in program("predict", "m", "--all-missing", "--new", "new.csv", exit_code=2).stderr
    program("train", train, "-o", "u", "--algorithm", "user-knn")
    near = rows(program("similar", "u", "--new", "new.csv", "-n", 3).stdout)
    assert near[0]["similar_user"] == "5" and abs(float(near[0]["score"]) - 1) < 1e-6
    assert "user" in program("similar", "m", "--new", "new.csv", exit_code=2).stderr


@pytest.mark.parametrize("header", ["user,item", "user,item,value"])
@pytest.mark.parametrize("policy", ["auto", "sum", "last", "max"])
def test_adding_is_training_on_both_files(program, tmp_path, header, policy):
    values = header.endswith("value")
    first = [(u, i, (u * i) % 5 + 1) for u in range(12) for i in range(9) if (u + i) % 3]
    later = [(u, i, (u + i) % 4 + 1) for u in range(3, 15) for i in range(2, 11) if (u * i) % 4]

    def write(name, rows):
        lines = [",".join(map(str, row if values else row[:2])) for row in rows]
        (tmp_path / name).write_text("\n".join([header, *lines]) + "\n")

    write("first.csv", first)
    write("later.csv", later)
    write("both.csv", first + later)
    how = ["--duplicates", policy]
    program("train", "first.csv", "-o", "first", "--algorithm", "item-knn", *how)
    grown = program("update", "first", "later.csv", "-o", "grown", *how)
    program("train", "both.csv", "-o", "anew", "--algorithm", "item-knn", *how)
    assert "pairs that the model has already" in grown.stderr
    for question in (["recommend", "--all"], ["similar", "--all-items"]):
        lists = [program(question[0], model, *question[1:]).stdout for model in ("grown", "anew")]
        assert lists[0] == lists[1]
    # "error" is for pairs in both files too, and leaves nothing.
    stderr = program("update", "first", "later.csv", "-o", "none", "--duplicates", "error",
                     exit_code=1).stderr
    assert "have a value already" in stderr and not (tmp_path / "none").exists()


def test_options_that_would_do_nothing_are_refused(program, cinema):
    train = cinema / "parts/train.csv"
    for options, part in (
        (("--similarity", "msd"), "item-knn or user-knn"),
        (("--algorithm", "item-knn", "--factors", 8), "--algorithm als"),
        (("--algorithm", "user-knn", "--validation", train, "--patience", 2), "--algorithm als"),
        (("--algorithm", "user-knn", "--checkpoint", "state"), "--algorithm als"),
        (("--algorithm", "item-knn", "--neighbours", 0), "neighbours must be in [1, 100000]"),
        (("--algorithm", "item-knn", "--prediction", "baseline"), "feedback explicit"),
        (("--algorithm", "item-knn", "--similarity", "cosin"), "did you mean cosine"),
    ):
        assert part in program("train", train, "-o", "m", *options, exit_code=2).stderr


def test_verbose_says_how_neighbours_are_found(program):
    for shape, strategy in (("60x50x3000:explicit", "GEMM"), ("2kx2kx9k", "common entries")):
        program("generate", shape, "-o", "r.csv")
        arguments = ("train", "r.csv", "-o", "m", "--algorithm", "user-knn")
        told = program(*arguments, "--verbose").stderr
        assert f"by GEMM; taken: {strategy}" in told
        assert "by GEMM" not in program(*arguments).stderr
