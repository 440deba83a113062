# SPDX-License-Identifier: Apache-2.0
"""Files of other programs: a line of counts, adjacency; and predictions and splits row by row."""
import csv
import io
import json

import pytest


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def lists_of(folder, name="lists.txt"):
    """30 users with up to 11 of 17 items, and the same as a table."""
    lists = {user: [(user * 5 + place * 3) % 17 for place in range(user % 12)] for user in range(30)}
    (folder / name).write_text("".join(
        " ".join(map(str, [user, *items])) + "\n" for user, items in lists.items()))
    (folder / "table.csv").write_text("user,item\n" + "".join(
        f"{user},{item}\n" for user, items in lists.items() for item in items))
    return lists


def test_a_line_of_counts_is_passed_over(program, tmp_path):
    ratings = "".join(f"{i % 30} {i // 30} {i % 5 + 1}\n" for i in range(600))
    (tmp_path / "plain.txt").write_text(ratings)
    (tmp_path / "counted.txt").write_text("30 20 600\n" + ratings)
    (tmp_path / "wrong.txt").write_text("30 20 599\n" + ratings)
    plain, counted = (json.loads(program("info", name, "--json").stdout)
                      for name in ("plain.txt", "counted.txt"))
    assert "no header" in plain.pop("format")
    assert "line of counts" in counted.pop("format")
    assert plain == counted
    why = program("info", "wrong.txt", exit_code=1).stderr
    assert "wrong.txt:1: '30 20 599'" in why and "30 users, 20 items, 600 rows follow" in why
    assert json.loads(program("info", "wrong.txt", "--json", "--header", "yes", "--columns", "1,2,3").stdout)["rows"] == 600
    for name in ("plain.txt", "counted.txt"):
        program("train", name, "-o", name + ".model", "--algorithm", "bias")
        program("split", name, "-o", name + ".parts")
    assert ((tmp_path / "plain.txt.parts/train.csv").read_text() ==
            (tmp_path / "counted.txt.parts/train.csv").read_text())
    assert (program("predict", "plain.txt.model", "plain.txt").stdout ==
            program("predict", "counted.txt.model", "counted.txt").stdout)


def test_every_reader_of_interactions_takes_adjacency(program, tmp_path):
    lists = lists_of(tmp_path)
    pairs = sum(map(len, lists.values()))
    as_lists = ["--format", "adjacency"]
    facts = json.loads(program("info", "lists.txt", "--json", *as_lists).stdout)
    table = json.loads(program("info", "table.csv", "--json").stdout)
    assert facts.pop("format").startswith("adjacency") and table.pop("format")
    assert facts == table and facts["rows"] == pairs
    short = ["--factors", "3", "--iterations", "2"]
    program("train", "lists.txt", "-o", "m", *short, *as_lists)
    program("train", "table.csv", "-o", "t", *short)
    found = program("recommend", "m", "--all", "-n", "3").stdout
    assert found == program("recommend", "t", "--all", "-n", "3").stdout
    program("split", "lists.txt", "-o", "a", *as_lists, "--method", "per-user", "--rows", "1")
    program("split", "table.csv", "-o", "b", "--method", "per-user", "--rows", "1")
    assert (tmp_path / "a/test.csv").read_text() == (tmp_path / "b/test.csv").read_text()
    program("update", "m", "lists.txt", "-o", "m2", *as_lists)
    predicted = rows(program("predict", "m", "lists.txt", *as_lists).stdout)
    assert [(row["user"], row["item"]) for row in predicted] == [
        (str(user), str(item)) for user, items in lists.items() for item in items]
    # The test file and that of --train are read alike.
    (tmp_path / "one.txt").write_text("1 16\n2 16\n3 0 16\n")
    (tmp_path / "none.txt").write_text("1 0\n")
    told = json.loads(program("evaluate", "m", "one.txt", "--train", "none.txt", *as_lists,
                              "--json").stdout)
    assert told["users_evaluated"] == 3 and told["relevant_items"] == 4


@pytest.mark.parametrize("options, words, code", [
    (["--columns", "1,2"], ["columns"], 2), (["--header", "yes"], ["header"], 2),
    (["--duplicates", "error"], ["several rows"], 1)])
def test_what_adjacency_cannot_have(program, tmp_path, options, words, code):
    (tmp_path / "lists.txt").write_text("1 2 3 2\n")
    why = program("info", "lists.txt", "--format", "adjacency", *options, exit_code=code).stderr
    assert all(word in why for word in words)
    assert "auto|adjacency" in program("info", "lists.txt", "--format", "lists", exit_code=2).stderr
    assert "values are needed" in program("train", "lists.txt", "-o", "m", "--format", "adjacency",
                                          "--algorithm", "bias", exit_code=2).stderr


def test_predictions_come_in_the_order_of_the_pairs(program, tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating\n" + "".join(
        f"u{u},i{i},{(u * i) % 5 + 1}\n" for u in range(20) for i in range(15) if (u + i) % 3))
    (tmp_path / "new.csv").write_text("user,item,rating\nzoe,i1,5\nyan,i2,1\n")
    wanted = [("u7", "i3"), ("zoe", "i4"), ("u2", "i14"), ("u7", "i3"), ("who", "i1"), ("yan", "what"),
              ("u0", "i0"), ("zoe", "i4"), ("zoe", "i2"), ("u2", "what"), ("yan", "i4")] * 3
    (tmp_path / "pairs.csv").write_text("".join(f"{u},{i}\n" for u, i in wanted))
    for algorithm in ("als", "bias", "user-knn"):
        program("train", "r.csv", "-o", "m", "--algorithm", algorithm, "--feedback", "explicit")
        for new in ([], ["--new", "new.csv"]):
            done = program("predict", "m", "pairs.csv", *new)
            found = rows(done.stdout)
            assert [(row["user"], row["item"]) for row in found] == wanted
            one_by_one = {}
            for user, item in set(wanted):
                (tmp_path / "one.csv").write_text(f"{user},{item}\n")
                [row] = rows(program("predict", "m", "one.csv", *new).stdout)
                one_by_one[user, item] = row["prediction"]
            assert [row["prediction"] for row in found] == [one_by_one[pair] for pair in wanted]
            unknown = {("who", "i1"), ("yan", "what"), ("u2", "what")}
            unknown |= set() if new else {pair for pair in wanted if pair[0] in ("zoe", "yan")}
            count = sum(pair in unknown for pair in wanted)
            assert f"{count} rows with a user or item that is not in the model" in done.stderr


def test_predictions_of_many_pairs(program, tmp_path):
    """More than are predicted at a time."""
    program("generate", "300x200x6000", "-o", "r.csv")
    program("train", "r.csv", "-o", "m", "--factors", "2", "--iterations", "1")
    users, items = sorted({row["user"] for row in rows((tmp_path / "r.csv").read_text())}), range(200)
    wanted = [(users[(k * 7919) % len(users)], str((k * 104729) % 200)) for k in range(140_000)]
    (tmp_path / "pairs.csv").write_text("".join(f"{u},{i}\n" for u, i in wanted))
    found = rows(program("predict", "m", "pairs.csv").stdout)
    assert [(row["user"], row["item"]) for row in found] == wanted
    values = {}
    for row in found:
        assert values.setdefault((row["user"], row["item"]), row["prediction"]) == row["prediction"]


@pytest.mark.parametrize("how, held_out", [
    (["--test", "0.25"], lambda n: max(0, min(int(n * 0.25 + 0.5), n - 1))),
    (["--rows", "2"], lambda n: 2 if n > 2 else 0)])
def test_random_rows_of_each_user(program, tmp_path, how, held_out):
    lists = lists_of(tmp_path)
    split = ["split", "table.csv", "--method", "per-user", *how]
    program(*split, "-o", "parts")
    test = rows((tmp_path / "parts/test.csv").read_text())
    train = rows((tmp_path / "parts/train.csv").read_text())
    assert len(test) + len(train) == sum(map(len, lists.values()))
    for user, items in lists.items():
        own = {row["item"] for row in test if row["user"] == str(user)}
        assert len(own) == held_out(len(items)) and own <= set(map(str, items))
    program(*split, "-o", "same")
    program(*split, "-o", "other", "--seed", "7")
    assert (tmp_path / "same/test.csv").read_text() == (tmp_path / "parts/test.csv").read_text()
    assert (tmp_path / "other/test.csv").read_text() != (tmp_path / "parts/test.csv").read_text()
