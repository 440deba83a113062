# SPDX-License-Identifier: Apache-2.0
"""What is read is what the file says, what is written reads back the same, and nothing is made up."""
import csv
import gzip
import json
import os
import random
import re
import resource
import subprocess
import threading

import pytest

from conftest import BINARY

PIECES = [" ", "\t", '"', '""', ",", ";", "|", "::", "#", "%", "'", "\r", "\\", "+", "-", "0", "007",
          "1e5", ".", "nan", "user", "item", "a", "b", "é", "\x01", "\x7f", "日本", "rating"]


def awkward_ids(chance, count):
    """Ids that some reader might take for something else; none is empty."""
    ids = {" ann", "ann ", "ann", " ", "\t", '"', "007", "+7", "7"}
    while len(ids) < count:
        ids.add("".join(chance.choice(PIECES) for _ in range(chance.randint(1, 5))))
    return sorted(ids)


def quoted(field):
    return '"' + field.replace('"', '""') + '"'


def write_rows(path, rows, header="user,item,value,time"):
    """Every text field in quotes: what likewise has to write is its own affair."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(header + "\n")
        for user, item, *rest in rows:
            file.write(",".join([quoted(user), quoted(item), *map(str, rest)]) + "\n")


def read_rows(path, delimiter=","):
    with open(path, encoding="utf-8", newline="") as file:
        # The csv module ends lines at a bare \r, too, unless it stands in quotes.
        return list(csv.reader(file, delimiter=delimiter))


@pytest.fixture(scope="module")
def awkward(tmp_path_factory):
    """A folder with ratings.csv of awkward ids, its rows, and a model of it."""
    folder = tmp_path_factory.mktemp("awkward")
    chance = random.Random(4)
    users, items = awkward_ids(chance, 40), awkward_ids(chance, 30)
    rows = [(user, item, chance.randint(1, 5), f"{chance.randint(1, 2**31)}.{chance.randint(1, 9)}")
            for user in users for item in chance.sample(items, 6)]
    write_rows(folder / "ratings.csv", rows)
    subprocess.run([BINARY, "train", "ratings.csv", "-o", "m.safetensors", "--factors", "4",
                    "--iterations", "2", "-q"], cwd=folder, check=True)
    return folder, rows


def test_parts_of_a_split_are_the_rows_that_were_read(awkward, program):
    folder, rows = awkward
    for method in ("random", "last", "time"):
        program("split", folder / "ratings.csv", "-o", method, "--method", method)
        parts = [read_rows(program.folder / method / name) for name in ("train.csv", "test.csv")]
        assert parts[0][0] == parts[1][0] == ["user", "item", "value", "time"]
        got = sorted(tuple(row) for part in parts for row in part[1:])
        assert got == sorted((u, i, str(v), t) for u, i, v, t in rows)
        # And read again by the program itself.
        again = method + "-again"
        program("split", f"{method}/train.csv", "-o", again, "--method", "random")
        back = [row for name in ("train.csv", "test.csv")
                for row in read_rows(program.folder / again / name)[1:]]
        assert sorted(back) == sorted(parts[0][1:])


@pytest.mark.parametrize("name", ["lists.csv", "lists.tsv", "lists.jsonl"])
def test_lists_hold_the_ids_that_were_read(awkward, program, name):
    folder, rows = awkward
    program("recommend", folder / "m.safetensors", "--all", "-n", 3, "-o", name)
    users, items = ({row[side] for row in rows} for side in (0, 1))
    if name.endswith("jsonl"):
        with open(program.folder / name, encoding="utf-8") as file:
            got = [json.loads(line) for line in file]
        got = [(row["user"], row["item"]) for row in got]
    else:
        table = read_rows(program.folder / name, "\t" if name.endswith("tsv") else ",")
        got = [(row[0], row[1]) for row in table[1:]]
        counts = json.loads(program("info", name, "--json").stdout)
        assert (counts["users"], counts["interactions"]) == (len(users), len(got))
    assert {user for user, _ in got} == users
    assert {item for _, item in got} <= items


def test_lists_of_ids_are_taken_letter_by_letter(awkward, program):
    folder, rows = awkward
    users = sorted({row[0] for row in rows} - {u for u, *_ in rows if u.endswith("\r")})
    (program.folder / "users.txt").write_bytes("\n".join(users).encode())
    program("recommend", folder / "m.safetensors", "--users", "users.txt", "-n", 1, "-o", "a.csv")
    assert [row[0] for row in read_rows(program.folder / "a.csv")[1:]] == users
    items = sorted({row[1] for row in rows} - {i for _, i, *_ in rows if i.endswith("\r")})[:12]
    (program.folder / "items.txt").write_bytes("\r\n".join(items).encode())
    run = program("recommend", folder / "m.safetensors", "--all", "--include-seen", "-n", 50,
                  "--allow", "items.txt", "-o", "b.csv")
    assert "not in the model" not in run.stderr
    assert {row[1] for row in read_rows(program.folder / "b.csv")[1:]} == set(items)
    program("recommend", folder / "m.safetensors", "--all", "--include-seen", "-n", 50,
            "--deny", "items.txt", "-o", "c.csv")
    assert not {row[1] for row in read_rows(program.folder / "c.csv")[1:]} & set(items)


def test_ids_of_options_are_taken_letter_by_letter(awkward, program):
    folder, rows = awkward
    for user in sorted({row[0] for row in rows}):
        program("recommend", folder / "m.safetensors", f"--user={user}", "-n", 1, "-o", "a.csv")
        assert read_rows(program.folder / "a.csv")[1][0] == user
    for item in sorted({row[1] for row in rows}):
        program("similar", folder / "m.safetensors", f"--item={item}", "-n", 1, "-o", "a.csv")
        assert read_rows(program.folder / "a.csv")[1][0] == item


def test_an_id_that_json_cannot_hold_is_an_error(program):
    (program.folder / "r.csv").write_bytes(b"user,item\nCaf\xe9,a\nCaf\xe8,b\nx,a\nx,b\nx,c\n")
    program("train", "r.csv", "-o", "m.safetensors", "--algorithm", "popular")
    done = program("recommend", "m.safetensors", "--all", "-o", "a.jsonl", exit_code=1)
    assert "'Caf\\xe8' is not UTF-8" in done.stderr
    assert not (program.folder / "a.jsonl").exists()
    program("recommend", "m.safetensors", "--all", "-o", "a.csv")
    assert b"Caf\xe8,a" in (program.folder / "a.csv").read_bytes()


PAIRS = "1,2\n1,3\n2,2\n2,4\n3,3\n"
UNNAMED = "user_id,item_id,my_rating\n1,2,5\n1,3,4\n2,2,3\n2,4,1\n3,3,2\n"
RATED = UNNAMED.replace("my_rating", "rating")


@pytest.mark.parametrize("algorithm", ["als", "item-knn", "user-knn", "popular", "bias"])
@pytest.mark.parametrize("text, columns", [(PAIRS, "2 columns"), (UNNAMED, "user_id, item_id, my_rating")])
def test_explicit_feedback_needs_values(program, algorithm, text, columns):
    (program.folder / "r.csv").write_text(text)
    (program.folder / "good.csv").write_text(RATED)
    train = ["--feedback", "explicit", "--algorithm", algorithm, "-o", "m.safetensors"]
    done = program("train", "r.csv", *train, exit_code=2)
    assert columns in done.stderr and "--columns" in done.stderr
    program("train", "good.csv", *train, *(["--factors", 2] if algorithm == "als" else []))
    assert columns in program("recommend", "m.safetensors", "--new", "r.csv", exit_code=2).stderr
    if algorithm != "popular":  # which predicts no ratings
        done = program("evaluate", "m.safetensors", "r.csv", "--metrics", "rmse", exit_code=2)
        assert columns in done.stderr and "--columns" in done.stderr
        program("predict", "m.safetensors", "r.csv")  # only the pairs matter
    if algorithm == "als":
        done = program("train", "good.csv", *train, "--validation", "r.csv", exit_code=2)
        assert columns in done.stderr
    done = program("update", "m.safetensors", "r.csv", "-o", "n.safetensors", exit_code=2)
    assert columns in done.stderr


def test_an_unnamed_column_of_numbers_is_not_dropped(program):
    (program.folder / "r.csv").write_text(UNNAMED)
    for verb in (["info"], ["split", "-o", "p"], ["train", "-o", "m.safetensors"]):
        done = program(verb[0], "r.csv", *verb[1:], exit_code=2)
        remedy = re.search(r"choose it with --columns (\S+), or say with --columns (\S+) ", done.stderr)
        assert remedy.groups() == ("user_id,item_id,my_rating", "user_id,item_id")
    values = json.loads(program("info", "r.csv", "--json", "--columns", remedy[1]).stdout)["values"]
    assert values == {"min": 1.0, "max": 5.0}


def test_counts_before_the_ratings(program):
    rows = "".join(f"{i % 43 + 1} {i // 43 % 12 + 1} {i % 5 + 1}\n" for i in range(500))
    (program.folder / "r.csv").write_text("43 12 500\n" + rows)
    done = program("train", "r.csv", "-o", "m.safetensors", "--feedback", "explicit")
    assert "43 users, 12 items, 500 interactions (separated by spaces, line of counts)" in done.stderr
    (program.folder / "r.csv").write_text("43 12 480\n" + rows)
    done = program("train", "r.csv", "-o", "m.safetensors", "--feedback", "explicit", exit_code=1)
    assert "r.csv:1: '43 12 480' looks like counts of users, items and rows" in done.stderr
    (program.folder / "r.csv").write_text(rows)
    program("info", "r.csv")


def test_info_of_a_pipe_is_that_of_the_file(program):
    for rows in (1, 3, 2000, 60000):
        text = "".join(f"{i % 77},{i // 77},{i % 5}\n" for i in range(rows)).encode()
        for name, content in (("r.csv", text), ("r.csv.gz", gzip.compress(text, 1))):
            (program.folder / name).write_bytes(content)
            expected = program("info", name, "--json").stdout
            assert json.loads(expected)["rows"] == rows
            for path in ("-", "/dev/stdin"):
                with subprocess.Popen([BINARY, "info", path, "--json"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE) as process:
                    assert process.communicate(content)[0].decode() == expected
            fifo = program.folder / "fifo"
            os.mkfifo(fifo)
            writer = threading.Thread(target=fifo.write_bytes, args=(content,))
            writer.start()
            assert program("info", "fifo", "--json").stdout == expected
            writer.join()
            fifo.unlink()


def test_a_model_through_a_pipe_is_named_as_such(cinema, program):
    with open(cinema / "model.safetensors", "rb") as file:
        done = subprocess.run(["sh", "-c", f"cat | {BINARY} info -"], stdin=file,
                              capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "standard input: is a safetensors file" in done.stderr


@pytest.mark.parametrize("older, newer", [
    ("978300760.25", "978300760.5"), ("978300760123", "978300760124"),
    ("978300760123456", "978300760123457"), ("978300760123456788", "978300760123456789"),
    ("2001-02-03T04:05:06.1Z", "2001-02-03T04:05:06.2Z")])
def test_the_newest_row_is_the_newest(program, older, newer):
    (program.folder / "r.csv").write_text(
        f"user,item,value,time\n1,5,1,{older}\n1,3,2,{newer}\n1,9,3,{older}\n")
    program("split", "r.csv", "-o", "p", "--method", "last")
    assert (program.folder / "p/test.csv").read_text() == f"user,item,value,time\n1,3,2,{newer}\n"
    train = (program.folder / "p/train.csv").read_text()
    assert train == f"user,item,value,time\n1,5,1,{older}\n1,9,3,{older}\n"


def test_messages_hold_no_control_characters(cinema, program):
    evil = "\x1b]0;owned\x07\x1b[31m\x9b5m"
    model = cinema / "model.safetensors"
    (program.folder / f"{evil}.csv").write_text(f"user,item,rating{evil}\n1,2,x\n")
    (program.folder / "header.csv").write_text(f"user,item,rating,{evil}\n1,2,3,4\n2,3,4,5\n")
    (program.folder / "id.csv").write_text(f"user,item,rating\n{evil},{evil},3\n{evil},{evil},4\n")
    (program.folder / "ids.txt").write_text(evil + "\n")
    (program.folder / "row.csv").write_text(f"user,item,rating\n1,2,3\n1,2,{evil}\n")
    commands = [
        ["info", f"{evil}.csv"], ["info", evil], [evil], ["info", f"--{evil}"], ["info", "header.csv"],
        ["split", "header.csv", "-o", evil], ["train", "header.csv", "-o", f"{evil}.safetensors"],
        ["train", "id.csv", "-o", "id.safetensors", "--algorithm", "popular"],
        ["train", "id.csv", "-o", "n", "--duplicates", "error"], ["info", "id.csv", evil],
        ["info", "row.csv"], ["info", "row.csv", "--on-bad-row", "skip"],
        ["info", "row.csv", "--columns", f"a,{evil}"], ["info", "row.csv", "--delimiter", evil],
        ["split", "row.csv", "-o", "p", "--on-bad-row", "skip"], ["split", "row.csv", "--method", evil],
        ["recommend", model, "--user", evil], ["recommend", model, "--users", "ids.txt"],
        ["recommend", model, "--likes", evil], ["recommend", model, "--user", "1", "--deny", evil],
        ["recommend", evil, "--all"], ["similar", model, "--item", evil],
        ["evaluate", model, "header.csv", "--metrics", evil], ["train", "id.csv", "--device", evil],
        ["train", "header.csv", "-o", "m.safetensors", "--validation-metric", evil],
        ["train", "header.csv", "-o", "m.safetensors", "--factors", evil], ["generate", evil],
        ["autotune", "--factors", evil],
    ]
    for command in commands:
        done = subprocess.run([BINARY, *map(str, command)], cwd=program.folder, capture_output=True,
                              check=False)
        shown = done.stderr + (done.stdout if command[0] == "info" else b"")
        hidden = [c for c in shown.decode("utf-8") if c != "\n" and (c < " " or "\x7f" <= c < "\xa0")]
        assert not hidden, (command, shown)


def test_a_file_that_does_not_fit_is_refused_with_the_figures(program):
    rows = "".join(f"{i % 1000},{i // 1000 % 100},1\n" for i in range(100_000)).encode()
    with gzip.open(program.folder / "r.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(60):
            file.write(rows)

    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (megabytes << 20, megabytes << 20))

    planned = False
    for megabytes in (250, 175, 100):  # 70 for the rows, once as they come and once in order
        done = subprocess.run([BINARY, "info", "r.csv.gz", "--threads", "1"], cwd=program.folder,
                              env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, preexec_fn=limit,
                              capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            assert done.returncode == 1 and done.stderr.startswith("likewise: r.csv.gz: "), done.stderr
            assert " are available" in done.stderr
            planned |= "rows so far" in done.stderr
    assert planned
