# SPDX-License-Identifier: Apache-2.0
"""Data as people have it: what becomes a row with which weight, what is refused, and what the refusal says."""
import bz2
import csv
import json
import lzma
import tarfile

import pytest

EVENTS = "user,item,event,time\n1,a,view,100\n1,a,buy,200\n1,b,view,300\n2,a,cart,400\n2,b,view,500\n"
RATINGS = "user,item,rating,time\n1,a,5,300\n1,a,2,100\n1,b,3,200\n2,a,4,400\n2,a,1,400\n"


@pytest.fixture
def cells(program):
    """What a text becomes: {(user, item): value}."""
    def read(text, *options, name="data.csv"):
        path = program.folder / name
        path.write_text(text) if isinstance(text, str) else path.write_bytes(text)
        return of_files([name], *options)

    def of_files(names, *options):
        program("split", *names, "-o", "parts", "--test", "0.5", *options)
        found = {}
        for part in ("train", "test"):
            with open(program.folder / "parts" / f"{part}.csv", newline="") as file:
                found |= {(row["user"], row["item"]): float(row.get("value", 1)) for row in csv.DictReader(file)}
        return found
    read.of_files = of_files
    return read


@pytest.fixture
def refused(program):
    """The message with which every verb that reads rows refuses a text: one verdict."""
    def read(text, *options, name="data.csv"):
        path = program.folder / name
        path.write_text(text) if isinstance(text, str) else path.write_bytes(text)
        told = []
        for verb in (["info", name], ["train", name, "-o", "m"], ["split", name, "-o", "parts"]):
            for code in (1, 2):
                try:
                    told.append(program(*verb, *options, exit_code=code).stderr)
                except AssertionError:
                    continue
        assert len(told) == 3, "some verb takes it"
        messages = {[line for line in one.splitlines() if line.startswith("likewise: ")][-1] for one in told}
        assert len(messages) == 1, messages
        return messages.pop()
    return read


# Events and weights.

def test_words_are_numbers_where_they_are_explained(cells):
    weights = ["--values", "view=1,cart=3,buy=5"]
    assert cells(EVENTS, *weights, "--duplicates", "sum") == {
        ("1", "a"): 6, ("1", "b"): 1, ("2", "a"): 3, ("2", "b"): 1}
    assert cells(EVENTS, *weights)[("1", "a")] == 5  # the newest
    assert cells("user,item,feedback\n1,a,like\n1,b,dislike\n", "--values", "like=1,dislike=-1") == {
        ("1", "a"): 1, ("1", "b"): -1}
    assert cells("user,item,rating\n1,a,true\n1,b,False\n2,a,1\n") == {("1", "a"): 1, ("1", "b"): 0, ("2", "a"): 1}
    assert cells("1,a,view\n2,b,buy\n", "--values", "view=1,buy=2.5") == {("1", "a"): 1, ("2", "b"): 2.5}


def test_words_that_nobody_explained_are_listed(refused):
    for header in ("event", "action", "rating", "feedback", "behaviour", "Event Type"):
        told = refused(EVENTS.replace("event", header))
        assert "--values view=1,buy=2,cart=3" in told and "holds words, 'view', 'buy', 'cart'" in told
    assert "the value 'cart', column 3 (event), has no number in --values" in \
        refused(EVENTS, "--values", "view=1,buy=2")
    assert "--values yes=1,no=-1" in refused("user,item,rating\n1,a,yes\n2,b,no\n")
    assert "--values would do nothing" in refused("user,item\n1,a\n2,b\n", "--values", "view=1")


@pytest.mark.parametrize("given, told", [
    ("view", "'view' is not a word and its number"), ("view=x", "not a word and its number"),
    ("=1", "not a word and its number"), ("a=1,a=2", "'a' comes twice"), ("a=1e39", "must be a finite 32-bit number")])
def test_values_that_cannot_be(program, given, told):
    (program.folder / "data.csv").write_text(EVENTS)
    assert told in program("info", "data.csv", "--values", given, exit_code=2).stderr


@pytest.mark.parametrize("policy, value", [
    ("auto", 5), ("newest", 5), ("sum", 7), ("mean", 3.5), ("max", 5), ("first", 5), ("last", 2), ("count", 2)])
def test_duplicates(cells, policy, value):
    found = cells(RATINGS, "--duplicates", policy)
    assert found[("1", "a")] == value
    of_equal_times = {"auto": 1, "newest": 1, "sum": 5, "mean": 2.5, "max": 4, "first": 4, "last": 1, "count": 2}
    assert found[("2", "a")] == of_equal_times[policy]


def test_duplicates_without_times(cells, refused):
    text = "user,item,rating\n1,a,5\n1,a,2\n1,b,3\n"
    assert cells(text)[("1", "a")] == 2
    assert "--duplicates newest needs times" in refused(text, "--duplicates", "newest")


def test_weights_halve_with_age(cells, refused):
    text = "user,item,plays,time\n1,a,8,2026-01-01\n1,b,8,2026-01-11\n2,a,8,2026-01-21\n2,a,4,2026-01-11\n"
    assert cells(text, "--half-life", "10d", "--duplicates", "sum") == {("1", "a"): 2, ("1", "b"): 4, ("2", "a"): 10}
    assert cells(text, "--half-life", "240h", "--now", "2026-01-31")[("1", "a")] == 1
    assert cells(text, "--half-life", "10d", "--duplicates", "count")[("2", "a")] == 1.5
    assert "after --now 2026-01-15" in refused(text, "--half-life", "1w", "--now", "2026-01-15")
    assert "--half-life needs times" in refused("1,a\n2,b\n", "--half-life", "1d")
    assert "--now would do nothing" in refused(text, "--now", "2026-01-31")


def test_events_fade_where_their_weights_are_read(program):
    (program.folder / "data.csv").write_text("user,item,event,time\n1,a,view,2026-01-01\n1,b,buy,2026-01-11\n2,a,buy,2026-01-21\n")
    how = ("data.csv", "-o", "m", "--values", "view=1,buy=3", "--duplicates", "sum", "--factors", "2")
    told = program("train", *how, "--half-life", "9d", exit_code=2).stderr
    assert "--half-life would do nothing here: als takes all values above 0 alike; als with --alpha, ease" in told
    program("train", *how, "--half-life", "9d", "--alpha", "1")
    assert "note: values differ, but als takes all values above 0 alike" in program("train", *how).stderr
    assert "note:" not in program("train", *how, "--alpha", "1").stderr


def test_ratings_do_not_fade(program):
    (program.folder / "data.csv").write_text(RATINGS)
    told = program("train", "data.csv", "-o", "m", "--feedback", "explicit", "--half-life", "9d", exit_code=2).stderr
    assert "an old rating is not a lower one" in told


def test_times_from_and_until(cells, refused, program):
    assert cells(RATINGS, "--since", "200", "--until", "400") == {("1", "a"): 5, ("1", "b"): 3}
    assert cells(RATINGS, "--until", "300") == {("1", "a"): 2, ("1", "b"): 3}  # as it was then
    facts = json.loads(program("info", "data.csv", "--since", "200", "--until", "400", "--json").stdout)
    assert (facts["users"], facts["items"]) == (1, 2)
    assert "no row lies from" in refused(RATINGS, "--since", "2026-01-01")
    assert "must lie before" in refused(RATINGS, "--since", "300", "--until", "200")
    for option in ("--since", "--until", "--now"):
        assert "is not a time such as" in program("info", "data.csv", option, "soon", exit_code=2).stderr
    for age in ("90", "d", "0d", "-1d", "1m", "1e3d"):
        assert "is not a time such as" in program("info", "data.csv", "--half-life", age, exit_code=2).stderr


def test_split_at_a_time(program):
    (program.folder / "data.csv").write_text("".join(f"{u},{i},1,{100 * i + u}\n" for u in range(5) for i in range(9)))
    program("split", "data.csv", "-o", "parts", "--at", "500")
    times = {part: [int(row["time"]) for row in csv.DictReader(open(program.folder / "parts" / f"{part}.csv"))]
             for part in ("train", "test")}
    assert max(times["train"]) < 500 <= min(times["test"])
    assert len(times["train"]) == 25 and len(times["test"]) == 20
    program("split", "data.csv", "-o", "folds", "--rolling", "4", "--test", "0.4")
    newest = -1
    seen = 27
    for fold in range(1, 5):
        train, test = ([int(row["time"]) for row in csv.DictReader(open(program.folder / "folds" / f"fold-{fold}" / name))]
                       for name in ("train.csv", "test.csv"))
        assert newest <= max(train) < min(test) and len(train) == seen
        newest, seen = max(test), seen + len(test)
    assert seen == 45
    for wrong, told in ((["--at", "10000"], "no interaction lies at or after"), (["--at", "0"], "no interaction lies before"),
                        (["--rolling", "1"], "rolling must be in [2, 1000]"), (["--rolling", "40"], "different times"),
                        (["--at", "500", "--method", "random"], "--at would do nothing"),
                        (["--at", "500", "--test", "0.3"], "--test would do nothing")):
        assert told in program("split", "data.csv", "-o", "parts", *wrong, exit_code=2).stderr


# Nothing taken for something else.

@pytest.mark.parametrize("text, told", [
    ("1 10 5\t97\n1 20 3\t98\n2 10 4\t99\n", "every user holds another delimiter, as in '1 10 5'"),
    ("0\t2010-10-19T23:55:27Z\t30.23\t-97.79\t22847\n0\t2010-10-18T22:17:43Z\t30.26\t-97.76\t420315\n",
     "column 2 should hold items but holds times"),
    (",".join(["1"] * 100) + "\n" + ",".join(["2"] * 100) + "\n", "cannot tell which columns hold users and items"),
    ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "`git lfs pull`"),
    ("Access denied\n", "words between spaces"),
    ("<!DOCTYPE html>\n<html><body>Sign in</body></html>\n", "is HTML or XML"),
    ("<Error><Code>NoSuchKey</Code></Error>\n", "is HTML or XML"),
    ("q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n", "--columns 1,3,4"),
    ("q1 Q0 d1 1 9.5 run\nq1 Q0 d2 2 9.1 run\n", "--columns 1,3,5"),
    ("who,what\n1,2\n3,4\n", "cannot tell which columns hold users and items: the columns are who, what"),
    ("1,2268318,2520377,pv,1511544070\n1,2333346,2520771,buy,1511561733\n", "column 4 does not look like times ('pv')"),
    ("1 3:1 7:0.5\n-1 2:1\n", "is libsvm or libffm"), ("0 1:3:1 2:5:1\n1 1:4:1\n", "is libsvm or libffm"),
    ("1:\n30878,4,2005-12-26\n", "--format netflix"),
    ('[{"user": 1, "item": 2}]', "is a JSON array"), ('{\n "user": 1,\n "item": 2\n}\n', "go over several lines"),
])
def test_other_things_are_refused_by_name(refused, text, told):
    assert told in refused(text)


def test_the_remedies_work(cells):
    assert cells("q1 0 d1 1\nq1 0 d2 0\n", "--columns", "1,3,4") == {("q1", "d1"): 1, ("q1", "d2"): 0}
    assert cells("who,what\n1,2\n3,4\n", "--columns", "who,what") == {("1", "2"): 1, ("3", "4"): 1}
    assert len(cells("user 1,a 1 b\nuser 2,a 2 b\n")) == 2  # names with spaces
    assert cells("ann jam\nbob tea\n", "--delimiter", "space") == {("ann", "jam"): 1, ("bob", "tea"): 1}
    assert len(cells("1,22,25,pv,1511544070\n1,23,25,buy,1511561733\n", "--columns", "1,2,4,5", "--values",
                     "pv=1,buy=4")) == 2


def test_users_and_items_exchanged(program, cinema):
    rows = list(csv.DictReader(open(cinema / "ratings.csv")))[:400]
    for name, order in (("right.csv", ("user", "item")), ("wrong.csv", ("item", "user"))):
        with open(program.folder / name, "w") as file:
            file.write("user,item\n" + "".join(f"{'u' if order[0] == 'user' else 'i'}{row[order[0]]},"
                                                f"{'u' if order[1] == 'user' else 'i'}{row[order[1]]}\n" for row in rows))
    program("train", "right.csv", "-o", "m", "--algorithm", "popular")
    for verb in (["update", "m", "wrong.csv", "-o", "n"], ["evaluate", "m", "wrong.csv"]):
        assert "users and items are exchanged" in program(*verb, exit_code=1).stderr
    program("update", "m", "wrong.csv", "-o", "n", "--columns", "item,user")


def test_a_value_of_0_is_no_like(program):
    rows = [(u, i, (u + i) % 3) for u in range(12) for i in range(12) if (u * i) % 2 == 0]
    text = "user,item,value\n" + "".join(f"{u},{i},{v}\n" for u, i, v in rows)
    (program.folder / "data.csv").write_text(text)
    zeros = sum(v == 0 for _, _, v in rows)
    assert f"note: {zeros} of {len(rows)} values are 0, which is no like" in \
        program("train", "data.csv", "-o", "m").stderr
    (program.folder / "zeros.csv").write_text("user,item,value\n1,2,0\n2,3,0\n")
    assert "all 2 values are 0, which is no like" in program("train", "zeros.csv", "-o", "m", exit_code=1).stderr
    program("train", "zeros.csv", "-o", "m", "--feedback", "explicit", "--algorithm", "bias")
    (program.folder / "other.csv").write_text("user,item,value\n1,2,0\n1,4,1\n2,3,0\n")
    (program.folder / "likes.csv").write_text("user,item\n1,7\n2,7\n5,4\n5,3\n5,2\n")
    program("train", "likes.csv", "-o", "p", "--algorithm", "popular")
    told = json.loads(program("evaluate", "p", "other.csv", "--json").stdout)
    assert (told["users_evaluated"], told["relevant_items"]) == (1, 1)


def test_ratings_that_are_all_alike_have_a_note(program):
    (program.folder / "data.csv").write_text("".join(f"{u},{i},4\n" for u in range(5) for i in range(5)))
    told = program("train", "data.csv", "-o", "m", "--feedback", "explicit", "--algorithm", "bias").stderr
    assert "note: all ratings are 4" in told
    assert "note:" not in program("train", "data.csv", "-o", "m", "--algorithm", "popular").stderr


def test_factors_of_which_next_to_nothing_is_left_have_a_note(program):
    (program.folder / "data.csv").write_text("".join(f"{u},{i}\n" for u in range(9) for i in range(9) if (u * i) % 3))
    train = ("train", "data.csv", "-o", "m", "--factors", 2, "--regularization")
    assert "note:" not in program(*train, 0.01).stderr
    assert "with less than --regularization 1e+06, or with more iterations" in program(*train, 1e6).stderr


def test_skipping_is_advice_only_where_it_would_help(program):
    (program.folder / "bad.csv").write_text("user,item,rating\n" + "1,2,?\n" * 5)
    assert "--on-bad-row" not in program("info", "bad.csv", exit_code=1).stderr
    (program.folder / "some.csv").write_text("user,item,rating\n1,2,3\n1,3,?\n")
    assert "skip bad rows with --on-bad-row skip" in program("info", "some.csv", exit_code=1).stderr
    assert "--on-bad-row" not in program("train", "some.csv", "-o", "m", "--on-bad-row", "skip", "--algorithm",
                                         "popular").stderr
    assert "--on-bad-row" not in program("info", "bad.csv", "--on-bad-row", "skip", exit_code=1).stderr


# Files.

def test_json_lines(cells, program):
    lines = [{"userId": "ann", "movieId": 7, "rating": 4.5, "title": 'The "Best", of\nall', "tags": ["x", {"user": 9}]},
             {"movieId": 12345678901234567890123, "userId": "bob", "rating": 3, "more": None},
             {"userId": "ünï, c", "movieId": 7, "rating": 1}]
    text = "\n".join(map(json.dumps, lines)) + "\n"
    assert cells(text) == {("ann", "7"): 4.5, ("bob", "12345678901234567890123"): 3, ("ünï, c", "7"): 1}
    nested = '{"user": {"id": 1}, "item": "a", "event": "view"}\n{"user": {"id": 2}, "item": "b", "event": "buy"}\n'
    assert cells(nested, "--columns", "user.id,item,event", "--values", "view=1,buy=2") == {("1", "a"): 1, ("2", "b"): 2}
    assert "JSON lines" in json.loads(program("info", "data.csv", "--json", "--columns", "user.id,item", ).stdout)["format"]


def test_json_lines_with_odd_values(refused, cells):
    rest = '{"user": "b", "item": "y", "rating": 2}\n'
    deep = '{"user": 1, "item": 2, "rating": 3, "more": ' + '{"user": ' * 30_000 + "7" + "}" * 30_000 + "}\n"
    assert cells(deep + rest) == {("1", "2"): 3, ("b", "y"): 2}
    assert cells(deep.replace('{"user": ', '[').replace("}" * 30_000, "]" * 30_000).replace("[1,", '{"user": 1,', 1) + rest) == {
        ("1", "2"): 3, ("b", "y"): 2}
    zero = '{"user": "a\\u0000b", "item": 2, "rating": 3}\n'
    assert "data.csv:2: " in refused(rest + zero) and "has a zero byte in an id" in refused(rest + zero)
    more = rest.replace('"b"', '"c"')
    assert cells(rest + zero + more, "--on-bad-row", "skip") == {("b", "y"): 2, ("c", "y"): 2}
    assert cells("\ufeff" + rest + rest.replace('"b"', '"c"')) == {("b", "y"): 2, ("c", "y"): 2}
    assert len(cells(rest + '{"user": "ab", "item": 2, "rating": 3, "note": "a\\u0000b"}\n')) == 2  # nobody's id
    assert "is not an object of JSON" in refused(rest + '{"user": "\\ud800", "item": 2, "rating": 1}\n')
    for twice in ('"user": 2', '"user": null', '"item": 2'):
        assert f"has the key '{twice[1:5]}' twice" in refused(rest + '{"user": 1, "item": 2, "rating": 1, ' + twice + "}\n")


def test_json_lines_that_are_none(refused, cells):
    bad = '{"user": 1, "item": 2, "rating": 3}\n{"user": 1, "item":\n{"user": 2, "item": 2, "rating": 4}\n'
    assert "data.csv:2: '{\"user\": 1, \"item\":' is not an object of JSON" in refused(bad)
    assert cells(bad, "--on-bad-row", "skip") == {("1", "2"): 3, ("2", "2"): 4}
    assert "data.csv:2: the value" in refused('{"user": 1, "item": 2, "rating": 3}\n{"user": 1, "item": 2, "rating": "x"}\n')
    assert "--delimiter would do nothing" in refused('{"user": 1, "item": 2}\n', "--delimiter", ",")
    assert "holds words" in refused('{"user": 1, "item": 2, "event": "view"}\n')
    for broken in ('{"user": "a\tb", "item": 7}', '{"user": 1, "item": "\\ud800"}', '{"item": 007}', b'{"user": "\xe9", "item": 7}'):
        text = b"# made by us\n\n" + (broken.encode() if isinstance(broken, str) else broken)
        told = refused(text)
        assert "data.csv:3: '{" in told and "is not an object of JSON; correct the row, or skip" in told
    for comma in (bad.replace("}", "},"), '{"user": 1, "item": 2},'):
        assert "is JSON, but a comma follows each object: delete it, as `sed 's/,$//' FILE`" in refused(comma)
    assert "its objects go over several lines" in refused('{"user": 1,\n"item": 2}\n')


def test_comments_above_json_lines(cells, refused):
    text = '# made by us\n%% of events\n{"user": "# 1", "item": 2, "rating": 3}\n{"user": "b", "item": 2, "rating": 4}\n'
    assert cells(text) == {("# 1", "2"): 3, ("b", "2"): 4}
    assert "data.csv:5: '# more' is not an object of JSON" in refused(text + "# more\n")
    assert "is a JSON array" in refused('# made by us\n[{"user": 1, "item": 2}]\n')


def test_several_files_and_folders(cells, program, refused):
    folder = program.folder / "part"
    folder.mkdir()
    (folder / "part-0.csv").write_text("user,item,rating\n1,a,1\n2,b,2\n")
    (folder / "part-1.csv").write_text("user,item,rating\n1,a,3\n3,c,4\n")
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-0.csv.crc").write_bytes(b"\0\1")
    (folder / "part-2.csv").write_text("")
    all_rows = {("1", "a"): 3, ("2", "b"): 2, ("3", "c"): 4}
    assert cells.of_files(["part"]) == all_rows
    assert cells.of_files(["part/part-0.csv", "part/part-1.csv"]) == all_rows
    assert "2 files" in program("train", "part", "-o", "m", "--algorithm", "popular").stderr
    (program.folder / "other.csv").write_text("item,user,rating\na,1,3\n")
    told = program("train", "part/part-0.csv", "other.csv", "-o", "m", exit_code=1).stderr
    assert "files that are read together need the same columns" in told
    (folder / "part-1.csv").write_text("user,item,rating\n1,a,x\n3,c,4\n")
    assert "part-1.csv:2: the value 'x'" in program("info", "part", exit_code=1).stderr
    (folder / "day=1").mkdir()
    assert "holds the folder 'day=1'" in program("info", "part", exit_code=1).stderr


@pytest.mark.parametrize("pack, command", [(bz2.compress, "bunzip2 -k"), (lzma.compress, "unxz -k"),
                                           (lambda text: b"\x04\x22\x4d\x18" + text, "lz4 -d"),
                                           (lambda text: b"PK\x03\x04" + text, "unzip")])
def test_other_packing_is_refused_with_its_command(refused, pack, command):
    assert command in refused(pack(RATINGS.encode()))


def test_tar_is_refused_by_name(refused, program):
    (program.folder / "inside.csv").write_text(RATINGS)
    for mode in ("w", "w:gz"):
        with tarfile.open(program.folder / "data.tar", mode) as archive:
            archive.add(program.folder / "inside.csv", "inside.csv")
        assert "is a tar archive: unpack it with `tar xf FILE`" in refused((program.folder / "data.tar").read_bytes())


def test_lines_before_the_rows(cells, refused):
    rows = {("1", "2"): 3, ("2", "3"): 4}
    for before in ("# made by us\n#\n", "% bip weighted\n%% 2 2 2\n", "\ufeff# a, b\n"):
        assert cells(before + "1 2 3\n2 3 4\n") == rows
    assert cells("# films\nuser,item,rating\n1,2,3\n2,3,4\n") == rows
    assert cells("sep=;\nuser;item;rating\n1;2;3\n2;3;4\n") == rows
    assert cells('"sep=|"\n1|2|3\n2|3|4\n') == rows
    assert "data.csv:4: the value 'x'" in refused("# films\nuser,item,rating\n1,2,3\n2,3,x\n")


def test_decimal_commas(cells, refused):
    text = "user;item;rating\n1;2;3,5\n2;3;4\n"
    assert cells(text, "--decimal", ",") == {("1", "2"): 3.5, ("2", "3"): 4}
    assert "with a decimal comma read it with --decimal ," in refused(text)
    assert "with a decimal comma" in refused("user;item;rating\n1;2;3.5\n2;3;4\n", "--decimal", ",")
    assert "what --decimal , has in numbers" in refused(text, "--decimal", ",", "--delimiter", ",")
    assert "--decimal would do nothing: no column of values is read" in refused("user;item\n1;2\n", "--decimal", ",")
    assert "--time-format would do nothing" in refused("user,item,rating\n1,2,3\n", "--time-format", "%Y")


@pytest.mark.parametrize("name, text, options", [
    ("Matrix Market", "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 3\n2 2 4\n", []),
    ("lists of items", "1 2 3\n2 3\n", ["--format", "adjacency"])])
def test_what_has_no_columns_is_not_told_to_name_one(program, refused, name, text, options):
    for needing, value in (("--since", "2020-01-01"), ("--until", "2020-01-01"), ("--duplicates", "newest")):
        told = refused(text, *options, needing, value)
        assert f"{needing}" in told and f"needs times, and {name}" in told and told.endswith("none")
    told = program("train", "data.csv", "-o", "m", *options, "--half-life", "90d", exit_code=2).stderr
    assert f"--half-life needs times, and {name}" in told
    if name == "Matrix Market":
        for idle, value in (("--header", "yes"), ("--header", "no"), ("--delimiter", "tab"), ("--decimal", ",")):
            assert f"{idle} would do nothing: the file is Matrix Market" in refused(text, idle, value)


def test_matrices_with_and_without_values_are_told_apart(program):
    for name, field, row in (("m.mtx", "integer", "1 1 3"), ("p.mtx", "pattern", "1 1")):
        (program.folder / name).write_text(f"%%MatrixMarket matrix coordinate {field} general\n1 1 1\n{row}\n")
    told = program("train", "m.mtx", "p.mtx", "-o", "m", exit_code=1).stderr
    assert "m.mtx has the columns row, column, value, but p.mtx has the columns row, column: files" in told


def test_escaped_quotes_are_explained(refused):
    assert 'quotes inside quotes are written \\"' in refused('user,item,rating\n1,"a \\"b\\" c",3\n2,d,4\n')


def test_times_of_any_form(program, refused):
    (program.folder / "data.csv").write_text("user,item,rating,date\n1,2,3,12/31/2025\n1,3,4,01/02/2026\n")
    program("split", "data.csv", "-o", "parts", "--at", "2026-01-01", "--time-format", "%m/%d/%Y")
    assert "1,3,4,2026-01-02" in (program.folder / "parts/test.csv").read_text()
    text = (program.folder / "data.csv").read_text()
    assert "say how it is written, as --time-format %m/%d/%Y" in refused(text)
    assert "is not as --time-format %d.%m.%Y says" in refused(text, "--time-format", "%d.%m.%Y")
    assert "'02/30/2026'" in refused("user,item,rating,date\n1,2,3,02/30/2026\n", "--time-format", "%m/%d/%Y")


def test_offsets_of_times_count(program, refused):
    (program.folder / "data.csv").write_text(
        "user,item,rating,time\n1,2,3,2020-01-01 10:00:00 +0200\n1,3,3,2020-01-01 09:00:00 +0000\n")
    given = ("--method", "last", "--time-format", "%Y-%m-%d %H:%M:%S %z")
    program("split", "data.csv", "-o", "parts", *given)
    assert (program.folder / "parts/test.csv").read_text().splitlines()[1:] == ["1,3,3,2020-01-01T09:00:00Z"]
    assert "1,2,3,2020-01-01T08:00:00Z" in (program.folder / "parts/train.csv").read_text()


def test_seconds_are_those_since_1970_in_any_zone(program):
    (program.folder / "data.csv").write_text("user,item,rating,time\n1,2,3,1577836800\n1,3,3,1577836801\n")
    for zone in ("UTC", "America/New_York"):
        program("split", "data.csv", "-o", "parts", "--at", "2020-01-01T00:00:01Z", "--time-format", "%s", env={"TZ": zone})
        assert "1,3,3,2020-01-01T00:00:01Z" in (program.folder / "parts/test.csv").read_text()


@pytest.mark.parametrize(("time_format", "why"), [
    ("%Y-%m-%d %Z", "has names of zones (%Z)"), ("%G-W%V-%u", "counts years by weeks"), ("%H:%M", "has no year"),
    ("%d.%m.", "has no year"), ("%%Y", "has no year"), ("text", "has no year"), ("%", "has no year")])
def test_formats_that_give_no_moment_are_refused(refused, time_format, why):
    assert f"--time-format {time_format} {why}" in refused("user,item,rating,time\n1,2,3,x\n", "--time-format", time_format)


@pytest.mark.parametrize(("cell", "time_format", "written"), [
    ("20200131", "%Y%m%d", "2020-01-31"), ("1998", "%Y", "1998-01-01"), ("202001312359", "%Y%m%d%H%M", "2020-01-31T23:59:00Z"),
    ("20200131235958", "%Y%m%d%H%M%S", "2020-01-31T23:59:58Z")])
def test_dates_without_separators_are_no_seconds(program, refused, cell, time_format, written):
    text = f"user,item,rating,date\n1,2,3,{cell}\n1,3,3,{cell}\n"
    assert f"--time-format {time_format}, or with --time-format %s" in refused(text)
    program("split", "data.csv", "-o", "parts", "--method", "last", "--time-format", time_format)
    assert written in (program.folder / "parts/test.csv").read_text()
    if len(cell) < 14:  # the year 642,000
        program("info", "data.csv", "--time-format", "%s")
    (program.folder / "data.csv").write_text(text.replace(f"3,3,{cell}", "3,3,30"))  # not all are dates
    program("info", "data.csv")


def test_netflix_blocks(cells, program, refused):
    text = "7:\n30878,4,2005-12-26\n5,3,2004-05-03\n12:\n5,1,2005-01-02\n"
    assert cells(text, "--format", "netflix") == {("30878", "7"): 4, ("5", "7"): 3, ("5", "12"): 1}
    facts = json.loads(program("info", "data.csv", "--format", "netflix", "--json").stdout)
    assert facts["times"] is True and facts["format"].startswith("netflix")
    assert "data.csv:3: the value 'x'" in refused(text.replace("5,3,", "5,x,"), "--format", "netflix")
    assert "neither 'ITEM:' nor user,rating,date" in refused("5,3,2004-05-03\n", "--format", "netflix")
    assert cells(text.replace("5,3,", "x;3,"), "--format", "netflix", "--on-bad-row", "skip") == {
        ("30878", "7"): 4, ("5", "12"): 1}
    assert cells(text.replace("7:", '"a,3":'), "--format", "netflix")[("5", '"a,3"')] == 3  # no column of its own
    for idle, value in (("--columns", "1,2"), ("--delimiter", ","), ("--header", "no"), ("--decimal", ","), ("--time-format", "%Y")):
        assert f"{idle} would do nothing: the file is read by --format netflix" in refused(text, "--format", "netflix", idle, value)


def test_blocks_of_the_kdd_cup(cells, program, refused):
    text = "7|2\n10\t90\t5811\t07:28:00\n11\t0\t5811\t23:59:59\n9|1\n10\t50\t5812\t00:00:00\n"
    rows = {("7", "10"): 90, ("7", "11"): 0, ("9", "10"): 50}
    for given in (text, "\ufeff" + text, text.replace("\n", "\r\n"), text.replace("\n", "\n\n")):
        assert cells(given, "--format", "kdd-cup") == rows
    assert cells("7|2\n10\t90\n11\t0\n9|1\n10\t50\n", "--format", "kdd-cup") == rows
    program("split", "data.csv", "-o", "parts", "--format", "kdd-cup")
    (program.folder / "data.csv").write_text(text)
    program("split", "data.csv", "-o", "late", "--format", "kdd-cup", "--rolling", "2", "--test", "0.67")
    times = [int(row["time"]) for fold in (1, 2) for row in csv.DictReader(open(program.folder / f"late/fold-{fold}/test.csv"))]
    assert times == [5811 * 86400 + 86399, 5812 * 86400]
    assert "--format kdd-cup" in refused(text)
    for line in ("10\t5\t5811\t24:00:00", "10\t5\t5811\t7:28:00", "10\t5\tx\t07:28:00", "10\t5\t1", "10"):
        bad = text.replace("10\t50\t5812\t00:00:00", line)
        assert "data.csv:5: " in refused(bad, "--format", "kdd-cup")
        assert cells(bad, "--format", "kdd-cup", "--on-bad-row", "skip") == {("7", "10"): 90, ("7", "11"): 0}
    assert "data.csv:5: the value 'x'" in refused(text.replace("\t50\t", "\tx\t"), "--format", "kdd-cup")
    assert "neither 'USER|COUNT'" in refused("10\t90\n", "--format", "kdd-cup")


@pytest.mark.parametrize(("counts", "line", "told"), [
    ((3, 1), 1, "the block of '7' declares 3 rows but has 2"), ((1, 1), 1, "the block of '7' declares 1 rows but has 2"),
    ((2, 99999999999999999999), 4, "the block of '9' declares 9223372036854775807 rows but has 1")])
def test_blocks_of_the_kdd_cup_are_whole(refused, counts, line, told):
    text = "7|{}\n10\t90\n11\t0\n9|{}\n10\t50\n".format(*counts)
    for more in ((), ("--on-bad-row", "skip")):
        assert f"data.csv:{line}: {told}" in refused(text, "--format", "kdd-cup", *more)
