# SPDX-License-Identifier: Apache-2.0
"""Lists that show what items are called."""
import csv
import io
import json
import shutil

import pytest

TITLES = 'id,title\n0,Zero\n1,"One, ""the"" first"\n2,Zwei \u00e4\n3,\n999,Nobody\n'
NAMES = {"0": "Zero", "1": 'One, "the" first', "2": "Zwei \u00e4"}


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def titles(program):
    (program.folder / "titles.csv").write_text(TITLES, encoding="utf-8")
    return "titles.csv"


@pytest.fixture
def titled(program, cinema, titles):
    program("train", cinema / "parts/train.csv", "-o", "titled", "--factors", 4, "--iterations", 2,
            "--titles", titles)
    return "titled"


def check(rows, item="item"):
    assert rows
    for row in rows:
        assert row["title"] == NAMES.get(row[item], row[item])


@pytest.mark.parametrize("who", [["--user", "5"], ["--all"], ["--likes", "1,2"],
                                 ["--new", "new.csv"], ["--users", "users.txt"]])
def test_recommendations_have_a_column(program, cinema, titles, who):
    shutil.copy(cinema / "parts/test.csv", program.folder / "new.csv")
    (program.folder / "users.txt").write_text("5\n6\n")
    model = cinema / "model.safetensors"
    for more in ([], ["--allow", "allow.txt"], ["--deny", "allow.txt"], ["--include-seen"]):
        (program.folder / "allow.txt").write_text("0\n1\n2\n3\n4\n")
        plain = rows_of(program("recommend", model, *who, "-n", 80, *more).stdout)
        shown = rows_of(program("recommend", model, *who, "-n", 80, *more, "--titles",
                                titles).stdout)
        check(shown)
        assert "title" not in plain[0]
        assert [{k: v for k, v in row.items() if k != "title"} for row in shown] == plain


def test_similar_items_have_a_column(program, cinema, titles):
    model = cinema / "model.safetensors"
    rows = rows_of(program("similar", model, "--all-items", "-n", 79, "--titles", titles).stdout)
    check(rows, "similar_item")
    assert {row["similar_item"] for row in rows} >= set(NAMES)
    check(rows_of(program("similar", model, "--item", 1, "--titles", titles).stdout),
          "similar_item")


def test_an_item_that_is_asked_for_by_its_title_is_named(program, cinema, titles, titled):
    for model, more in ((cinema / "model.safetensors", ["--titles", titles]), (titled, [])):
        stderr = program("similar", model, "--item", NAMES["1"], *more, exit_code=1).stderr
        assert stderr.rstrip().endswith("; that is the title of item '1': ask for 1")
    stderr = program("recommend", titled, "--likes", "1", "--likes", "Zwei \u00e4", exit_code=1).stderr
    assert "that is the title of item '2': ask for 2" in stderr
    assert "title" not in program("similar", titled, "--item", "Zwe", exit_code=1).stderr


def test_all_formats_have_the_field(program, cinema, titles):
    model = cinema / "model.safetensors"
    asked = ["recommend", model, "--all", "-n", 80, "--titles", titles, "--include-seen"]
    for name in ("out.csv", "out.tsv", "out.jsonl"):
        program(*asked, "-o", name)
    check(rows_of((program.folder / "out.csv").read_text(encoding="utf-8")))
    check(list(csv.DictReader((program.folder / "out.tsv").open(encoding="utf-8"), delimiter="\t")))
    lines = (program.folder / "out.jsonl").read_text(encoding="utf-8").splitlines()
    check([json.loads(line, parse_int=str) for line in lines])
    assert {"Zero", 'One, "the" first', "Zwei \u00e4"} <= {json.loads(l)["title"] for l in lines}


def test_explanations_name_titles(program, cinema, titles):
    model = cinema / "model.safetensors"
    asked = ["recommend", model, "--likes", "1,2", "-n", 20, "--explain"]
    plain = rows_of(program(*asked).stdout)
    shown = rows_of(program(*asked, "--titles", titles).stdout)
    assert list(shown[0]) == ["user", "item", "rank", "score", "title", "because"]
    assert any("Zwei \u00e4 (" in row["because"] for row in shown)
    for row, with_titles in zip(plain, shown):
        parts = [part.rsplit(" ", 1) for part in row["because"].split("; ") if part]
        assert with_titles["because"] == "; ".join(f"{NAMES[i]} {share}" for i, share in parts)


def test_what_was_met_is_said_once(program, cinema, titles):
    stderr = program("recommend", cinema / "model.safetensors", "--user", 5, "--titles",
                     titles).stderr
    assert "titles.csv: 3 titles (csv, header id,title; 1 of other items left out)" in stderr
    assert stderr.count("without a title: the id is shown") == 1
    assert "77 items of the model without a title" in stderr
    assert program("recommend", cinema / "model.safetensors", "--user", 5, "--titles", titles,
                   "--quiet").stderr == ""


def test_latin1_is_read_and_said(program, cinema):
    (program.folder / "movies.dat").write_bytes("0::Les Mis\u00e9rables\n1::B\n".encode("latin-1"))
    done = program("similar", cinema / "model.safetensors", "--all-items", "-n", 79, "--titles",
                   "movies.dat")
    assert "line 1 is not UTF-8: all are read as Latin-1" in done.stderr
    assert "Les Mis\u00e9rables" in done.stdout


def test_a_model_keeps_them(program, cinema, titled):
    check(rows_of(program("recommend", titled, "--all", "-n", 80).stdout))
    check(rows_of(program("similar", titled, "--all-items", "-n", 79).stdout), "similar_item")
    assert "title" not in program("similar", titled, "--user", 5).stdout
    assert json.loads(program("info", titled, "--json").stdout)["titles"] == 3
    assert json.loads(program("info", cinema / "model.safetensors", "--json").stdout)["titles"] == 0
    (program.folder / "others.csv").write_text("0,Null\n")
    shown = rows_of(program("similar", titled, "--all-items", "-n", 79, "--titles",
                            "others.csv").stdout)
    assert {row["title"] for row in shown if row["similar_item"] == "0"} == {"Null"}
    assert {row["title"] for row in shown if row["similar_item"] == "1"} == {"1"}


def test_training_on_keeps_them(program, cinema, titled, titles):
    train = cinema / "parts/train.csv"
    program("train", train, "-o", "longer", "--resume", titled, "--iterations", 3)
    assert json.loads(program("info", "longer", "--json").stdout)["titles"] == 3
    (program.folder / "others.csv").write_text("0,Null\n")
    program("train", train, "-o", "longer", "--resume", titled, "--iterations", 3, "--titles",
            "others.csv")
    assert json.loads(program("info", "longer", "--json").stdout)["titles"] == 1


def test_adding_interactions_keeps_them(program, cinema, titles):
    program("train", cinema / "parts/train.csv", "-o", "knn", "--algorithm", "item-knn", "--titles",
            titles)
    (program.folder / "more.csv").write_text("user,item,value\n5,-7,1\n5,1,2\n6,1000,1\n")
    program("update", "knn", "more.csv", "-o", "grown")
    rows = rows_of(program("recommend", "grown", "--all", "-n", 90, "--include-seen").stdout)
    check(rows)
    assert {"0", "1", "2"} <= {row["item"] for row in rows}
    program("update", "knn", "more.csv", "-o", "grown", "--titles", titles)
    assert json.loads(program("info", "grown", "--json").stdout)["titles"] == 3


def test_the_report_shows_them(program, cinema, titles):
    program("train", cinema / "parts/train.csv", "-o", "m", "--factors", 4, "--iterations", 2,
            "--titles", titles, "--report", "with.html")
    program("train", cinema / "parts/train.csv", "-o", "m", "--factors", 4, "--iterations", 2,
            "--report", "without.html")
    shown = (program.folder / "with.html").read_text(encoding="utf-8")
    assert any(title in shown for title in ("Zero", "One, &quot;the&quot; first", "Zwei \u00e4"))
    assert "Zero" not in (program.folder / "without.html").read_text(encoding="utf-8")


def test_the_demo_has_them(program):
    program("demo", "-o", "d")
    rows = rows_of(program("similar", "d/model.safetensors", "--all-items", "-n", 1).stdout)
    assert all(row["title"].startswith(row["similar_item"] + " (") for row in rows)


@pytest.mark.parametrize("content, why", [
    ("id,title\n1,A\n1,B\n", "titles.csv:3: item '1' has a title already, on line 2"),
    ("id,title\nx,A\n", "none of the 1 ids, such as 'x', is that of an item"),
    ("id,title\n1,A,B\n", "titles.csv:2: '1,A,B' has 3 columns"),
    ("id,title\n1,\"A\n", "titles.csv:2: a quoted field begins here and does not end"),
    ("", "titles.csv: is empty"),
])
def test_broken_files_are_errors(program, cinema, content, why):
    (program.folder / "titles.csv").write_text(content)
    model = cinema / "model.safetensors"
    for asked in (["recommend", model, "--user", 5], ["similar", model, "--item", 1],
                  ["train", cinema / "parts/train.csv", "-o", "m"]):
        assert why in program(*asked, "--titles", "titles.csv", exit_code=1).stderr
    assert not (program.folder / "m").exists()


def test_columns_can_be_chosen(program, cinema):
    (program.folder / "t.csv").write_text("nr,short,long\n1,A,The A\n2,B,The B\n")
    model = cinema / "model.safetensors"
    asked = ["similar", model, "--all-items", "-n", 79, "--titles", "t.csv"]
    assert "--titles-columns" in program(*asked, exit_code=2).stderr
    for columns in ("nr,long", "1,3"):
        rows = rows_of(program(*asked, "--titles-columns", columns).stdout)
        assert {row["title"] for row in rows if row["similar_item"] == "2"} == {"The B"}
    for columns in ("nr,absent", "1,9", "1", "1,2,3", "2,2"):
        program(*asked, "--titles-columns", columns, exit_code=2)


def test_paths_are_checked(program, cinema, titles):
    model = cinema / "model.safetensors"
    for asked in (["recommend", model, "--all"], ["similar", model, "--all-items"],
                  ["train", cinema / "parts/train.csv"]):
        stderr = program(*asked, "--titles", titles, "-o", titles, exit_code=2).stderr
        assert "--titles" in stderr and "-o" in stderr
    assert (program.folder / titles).read_text(encoding="utf-8") == TITLES
    program("recommend", model, "--user", 5, "--titles", "absent.csv", exit_code=1)
    shown = program("recommend", model, "--likes", "1", "--titles", "-", stdin=TITLES).stdout
    check(rows_of(shown))


@pytest.mark.parametrize("ratings, titles, item, title", [
    ("goodbooks-10k/ratings.csv.gz", "goodbooks-10k/books.csv.gz", "2",
     "Harry Potter and the Sorcerer's Stone (Harry Potter, #1)"),
    ("ml-1m/ratings_notime.dat.gz", "ml-1m/movies.dat.gz", "73", "Mis\u00e9rables, Les (1995)"),
    ("ml-100k/u.data", "ml-100k/u.item", "543", "Mis\u00e9rables, Les (1995)"),
    ("ml-latest-small/ratings.csv.gz", "ml-latest-small/movies.csv.gz", "11",
     "American President, The (1995)"),
])
def test_public_data_as_they_come(program, real_data, ratings, titles, item, title):
    program("train", real_data / ratings, "-o", "m", "--algorithm", "popular", "--titles",
            real_data / titles)
    rows = rows_of(program("recommend", "m", "--user", 314, "--include-seen", "-n", 10000).stdout)
    assert [row["title"] for row in rows if row["item"] == item] == [title]
