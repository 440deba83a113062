# SPDX-License-Identifier: Apache-2.0
"""Parquet and Arrow files: as the CSV with the same columns, or refused with what to do."""
import csv
import datetime
import decimal
import json
import pathlib
import random
import subprocess

import pytest
from conftest import BINARY

pa = pytest.importorskip("pyarrow")
import pyarrow.feather  # noqa: E402
import pyarrow.parquet  # noqa: E402

PLUG_IN = pathlib.Path(BINARY).absolute().parent / "liblikewise_arrow.so"
if not PLUG_IN.exists():
    pytest.skip("the program has no Arrow plug-in", allow_module_level=True)

UTC = datetime.timezone.utc


def write_parquet(table, path):
    pa.parquet.write_table(table, path, row_group_size=50)


def write_feather(table, path):
    pa.feather.write_feather(table, path, chunksize=40)


def write_plain_feather(table, path):
    pa.feather.write_feather(table, path, compression="uncompressed")


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table, max_chunksize=30)


FORMS = {"parquet": write_parquet, "feather": write_feather, "stream": write_stream}


def rows(count=200):
    """Users, items, ratings and times; ids are numbers that text can be made of."""
    random.seed(5)
    return [(random.randrange(30), random.randrange(20) * 7, random.randrange(1, 11) / 2, 978300760 + 37 * i)
            for i in range(count)]


def table_of(some, user=pa.int64(), item=pa.int64(), **others):
    """A table of rows with ids of these types."""
    users, items, ratings, times = zip(*some)
    return pa.table({"userId": ids(users, user), "movieId": ids(items, item), "rating": pa.array(ratings),
                     "timestamp": pa.array(times)} | others)


def ids(numbers, kind):
    if pa.types.is_dictionary(kind):
        return ids(numbers, kind.value_type).dictionary_encode()
    return pa.array([n if pa.types.is_integer(kind) else f'the "{n}", ü' for n in numbers], kind)


def write_csv(table, path):
    """The same by Python's own writer."""
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(table.column_names)
        out.writerows(table.to_pylist() and [list(row.values()) for row in table.to_pylist()])


def parts(program, file, *options):
    """What `split` makes of a file: every user, item, value and time."""
    program("split", file, "-o", "parts", "--test", "0.2", *options)
    return [(program.folder / "parts" / name).read_bytes() for name in ("train.csv", "test.csv")]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("user, item", [
    (pa.int64(), pa.int32()), (pa.uint8(), pa.uint64()), (pa.string(), pa.large_string()),
    (pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int32(), pa.int64()))])
def test_ids_are_as_in_csv(program, form, user, item):
    table = table_of(rows(), user, item)
    FORMS[form](table, program.folder / "file")
    write_csv(table, program.folder / "file.csv")
    assert parts(program, "file") == parts(program, "file.csv")


def test_views_of_text_are_ids(program):
    table = table_of(rows()).cast(pa.schema([("userId", pa.string_view()), ("movieId", pa.int64()), ("rating", pa.float64()),
                                             ("timestamp", pa.int64())]))
    write_plain_feather(table, program.folder / "file")
    write_csv(table, program.folder / "file.csv")
    assert parts(program, "file") == parts(program, "file.csv")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [pa.float32(), pa.float16(), pa.int8(), pa.decimal128(9, 3), pa.decimal256(50, 2)])
def test_values_are_as_in_csv(program, form, kind):
    if form == "parquet" and kind == pa.decimal256(50, 2):
        kind = pa.decimal128(20, 2)
    values = [int(2 * row[2]) if pa.types.is_integer(kind) else row[2] for row in rows()]
    if pa.types.is_decimal(kind):
        values = [decimal.Decimal(str(value)) for value in values]
    table = table_of(rows()).set_column(2, "rating", pa.array(values, pa.float32()).cast(kind) if kind == pa.float16()
                                        else pa.array(values, kind))
    FORMS[form](table, program.folder / "file")
    write_csv(table, program.folder / "file.csv")
    assert parts(program, "file") == parts(program, "file.csv")


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.timestamp("ms", "Europe/Paris"), pa.timestamp("us"), pa.timestamp("ns"),
                                  pa.date32(), pa.date64()])
def test_times_of_any_unit(program, kind):
    moments = [datetime.datetime(1960, 1, 1, tzinfo=UTC) + datetime.timedelta(days=97 * i, seconds=3 * i, milliseconds=5)
               for i in range(200)]
    days = pa.types.is_date(kind)
    whole = [moment.replace(microsecond=0) if kind == pa.timestamp("s") else moment for moment in moments]
    given = [moment.date() for moment in moments] if days else whole
    table = table_of(rows()).set_column(3, "timestamp", pa.array(given, kind if days else pa.timestamp("ms", "UTC")).cast(kind))
    write_parquet(table, program.folder / "file")
    text = [str(one) if days else one.isoformat(timespec="milliseconds").replace("+00:00", "Z") for one in given]
    if kind == pa.timestamp("s"):
        text = [one.replace(".000", "") for one in text]
    write_csv(table.set_column(3, "timestamp", pa.array(text)), program.folder / "file.csv")
    assert parts(program, "file") == parts(program, "file.csv")


def test_models_are_those_of_csv(program):
    table = table_of(rows(), pa.string())
    write_parquet(table, program.folder / "ratings.parquet")
    write_csv(table, program.folder / "ratings.csv")
    options = ["--factors", 4, "--iterations", 3, "--device", "cpu"]
    tensors = []
    for name in ("ratings.csv", "ratings.parquet"):
        told = program("train", name, "-o", "model", *options).stderr
        assert name in told and "30 users, 20 items" in told
        content = (program.folder / "model").read_bytes()
        tensors.append(content[8 + int.from_bytes(content[:8], "little"):])
    assert tensors[0] == tensors[1]


def test_all_verbs_read_them(program):
    write_parquet(table_of(rows()), program.folder / "all.parquet")
    write_parquet(table_of(rows()[150:]), program.folder / "some.parquet")
    pair = pa.table({"user": [1, 2], "item": [7, 14]})
    write_parquet(pair, program.folder / "pairs.parquet")
    told = json.loads(program("info", "all.parquet", "--json").stdout)
    assert told["format"] == "Parquet, header userId,movieId,rating,timestamp" and told["rows"] == 200
    program("train", "all.parquet", "-o", "model", "--algorithm", "bias")
    program("update", "model", "some.parquet", "-o", "model")
    program("evaluate", "model", "some.parquet", "--metrics", "rmse")
    program("cross-validate", "all.parquet", "--folds", 2, "--algorithm", "popular")
    program("tune", "all.parquet", "-o", "best", "--algorithm", "user-knn", "--budget", 1, "-q")
    assert len(program("predict", "model", "pairs.parquet").stdout.splitlines()) == 3


def test_folders_and_several_files(program):
    folder = program.folder / "parts.parquet"
    folder.mkdir()
    write_parquet(table_of(rows()[:90]), folder / "part-0.parquet")
    write_parquet(table_of(rows()[90:]), folder / "part-1.parquet")
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.parquet.crc").write_bytes(b"x")
    write_csv(table_of(rows()), program.folder / "all.csv")
    whole = parts(program, "all.csv")
    assert parts(program, "parts.parquet") == whole
    write_csv(table_of(rows()[90:]), program.folder / "rest.csv")
    assert parts(program, "rest.csv") != whole
    program("train", folder / "part-0.parquet", "rest.csv", "-o", "model", "--algorithm", "popular")
    assert json.loads(program("info", "model", "--json").stdout)["users"] == 30
    pa.parquet.write_table(pa.table({"user": [1], "item": [2]}), folder / "part-2.parquet")
    told = program("info", "parts.parquet", exit_code=1).stderr
    assert "part-2.parquet" in told and "need the same columns" in told


def test_columns_are_chosen_as_in_csv(program):
    table = pa.table({"who": [1, 2], "what": ["a", "b"], "how": [3.5, 4.5]})
    write_parquet(table, program.folder / "file")
    assert "cannot tell which columns" in program("info", "file", exit_code=2).stderr
    told = json.loads(program("info", "file", "--columns", "who,what,how", "--json").stdout)
    assert told["values"] == {"min": 3.5, "max": 4.5}
    assert json.loads(program("info", "file", "--columns", "1,2", "--json").stdout)["values"] == {"min": 1, "max": 1}
    assert "which" in program("info", "file", "--columns", "who,which", exit_code=2).stderr
    write_parquet(pa.table({"user": [1, 2], "item": [1, 2], "n": [3, 4]}), program.folder / "file")
    assert "cannot tell whether column 3 (n) holds the values" in program("info", "file", exit_code=2).stderr


def test_words_are_values(program):
    words = pa.array(["view", "buy", "view"]).dictionary_encode()
    write_parquet(pa.table({"user": [1, 1, 2], "item": [1, 2, 2], "event": words}), program.folder / "file")
    assert "--values" in program("info", "file", exit_code=2).stderr
    told = json.loads(program("info", "file", "--values", "view=1,buy=5", "--json").stdout)
    assert told["values"] == {"min": 1, "max": 5}
    write_parquet(pa.table({"user": [1, 1], "item": [1, 2], "liked": [True, False]}), program.folder / "file")
    told = json.loads(program("info", "file", "--columns", "user,item,liked", "--json").stdout)
    assert told["values"] == {"min": 0, "max": 1}


def test_columns_beside_these_do_not_matter(program):
    some = rows(6)
    odd = {"tags": [["a"], []] * 3, "blob": [b"\0\xff"] * 6, "review": ["x\0y", "z" * 9000] * 3, "struct": [{"item": 1}] * 6,
           "long": [datetime.timedelta(1)] * 6, "__index_level_0__": [5, 4, 3, 2, 1, 0], "# name": ["1"] * 6}
    table = pa.table({"blob first": odd["blob"]} | {name: table_of(some)[name] for name in table_of(some).column_names} | odd)
    for form in FORMS:
        FORMS[form](table, program.folder / "file")
        write_csv(table_of(some), program.folder / "file.csv")
        assert parts(program, "file") == parts(program, "file.csv")


@pytest.mark.parametrize("column, words", [
    (pa.array([1.0, 2.0]), "ids are whole numbers or text, not double"),
    (pa.array([True, False]), "not bool"), (pa.array([b"1", b"2"]), "not binary"), (pa.array([[1], [2]]), "not list"),
    (pa.array([datetime.date(2020, 1, 1)] * 2), "not date32"), (pa.array([decimal.Decimal("1.5")] * 2), "not decimal128")])
def test_what_is_no_id_is_refused(program, column, words):
    write_parquet(pa.table({"user": column, "item": [1, 2]}), program.folder / "file")
    told = program("train", "file", "-o", "m", exit_code=2).stderr
    assert words in told and "column 1 (user)" in told


def test_what_is_no_value_is_refused(program):
    write_parquet(pa.table({"user": [1, 2], "item": [1, 2], "rating": [[1.0], [2.0]]}), program.folder / "file")
    assert "column 3 (rating) holds neither numbers nor text but list" in program("info", "file", exit_code=2).stderr
    write_parquet(pa.table({"user": [[1], [2]], "item": [[1], [2]]}), program.folder / "file")
    assert "has no column of numbers or text" in program("info", "file", exit_code=2).stderr


@pytest.mark.parametrize("form", FORMS)
def test_missing_cells_are_bad_rows(program, form):
    table = pa.table({"user": [1, None, 3, 4, 5], "item": ["a\nb", "c", None, "d", ""], "rating": [1.0, 2.0, 3.0, None, float("nan")],
                      "time": [1, 2, 3, 4, 5]})
    FORMS[form](table, program.folder / "file")
    told = program("train", "file", "-o", "m", exit_code=1).stderr
    assert "file: row 2: the user id, column 1 (user), is empty" in told and "--on-bad-row skip" in told
    told = json.loads(program("info", "file", "--on-bad-row", "skip", "--json").stdout)
    assert (told["rows"], told["bad_rows"], told["interactions"]) == (5, 4, 1)
    FORMS[form](table.slice(4), program.folder / "file")
    assert "all 1 rows are bad" in program("info", "file", "--on-bad-row", "skip", exit_code=1).stderr
    FORMS[form](table.slice(0, 0), program.folder / "file")
    assert "file: holds no rows" in program("info", "file", exit_code=1).stderr


def test_times_beyond_the_years_of_text(program):
    write_parquet(pa.table({"user": [1, 2], "item": [1, 2], "time": pa.array([0, 1 << 50], pa.timestamp("s"))}), program.folder / "file")
    assert "file: row 2: the time '1125899906842624" in program("info", "file", exit_code=1).stderr


def test_zero_bytes_in_ids(program):
    write_parquet(pa.table({"user": ["a", "b\0c"], "item": [1, 2]}), program.folder / "file")
    assert "file: row 2: 'b\\x00c' has a zero byte" in program("info", "file", exit_code=1).stderr
    assert json.loads(program("info", "file", "--on-bad-row", "skip", "--json").stdout)["bad_rows"] == 1


def test_a_later_bad_row_is_numbered(program):
    some = rows(70_000)
    bad = [row if i != 68_000 else (None, *row[1:]) for i, row in enumerate(some)]
    table = table_of(some).set_column(0, "userId", pa.array([row[0] for row in bad]))
    write_parquet(table, program.folder / "file")
    assert "file: row 68001: the user id" in program("info", "file", exit_code=1).stderr


@pytest.mark.parametrize("options", [["--delimiter", ";"], ["--header", "no"], ["--decimal", ","], ["--format", "adjacency"]])
def test_options_of_text_are_refused(program, options):
    write_parquet(table_of(rows()), program.folder / "file")
    told = program("info", "file", *options, exit_code=2).stderr
    assert f"{options[0]} would do nothing" in told and "a Parquet file" in told


def test_pipes_and_other_uses_are_refused(program):
    write_parquet(table_of(rows()), program.folder / "file")
    with open(program.folder / "file", "rb") as file:
        done = subprocess.run([BINARY, "info", "-"], input=file.read(), capture_output=True, cwd=program.folder)
    assert done.returncode == 1 and b"name the file" in done.stderr
    assert "only interactions are read" in program("train", "file", "-o", "m", "--titles", "file", exit_code=1).stderr


def test_without_the_plug_in_there_is_a_remedy(program):
    for form, what in (("parquet", "a Parquet file"), ("feather", "an Arrow file"), ("stream", "a stream of Arrow")):
        FORMS[form](table_of(rows()), program.folder / "file")
        told = program("train", "file", "-o", "m", exit_code=1, env={"LIKEWISE_PLUGIN_PATH": str(program.folder)}).stderr
        assert f"file: is {what}" in told and str(program.folder) in told
        assert "pip install pyarrow" in told and 'likewise.Interactions("FILE")' in told


def test_a_plug_in_of_another_kind_is_refused(program):
    write_parquet(table_of(rows()), program.folder / "file")
    (program.folder / PLUG_IN.name).write_bytes(PLUG_IN.read_bytes()[:5000])
    told = program("train", "file", "-o", "m", exit_code=1, env={"LIKEWISE_PLUGIN_PATH": str(program.folder)}).stderr
    assert "the Arrow plug-in" in told and "cannot be loaded" in told


WRITERS = FORMS | {"plain feather": write_plain_feather}


@pytest.mark.parametrize("form", WRITERS)
def test_damaged_files_end_in_a_sentence(program, form):
    """Cut at many lengths, bytes flipped at many places: rows, or an error that names the file."""
    random.seed(form)
    table = table_of(rows(120), pa.dictionary(pa.int32(), pa.string()), pa.string())
    WRITERS[form](table, program.folder / "whole")
    whole = (program.folder / "whole").read_bytes()
    damaged = [whole[:len(whole) * part // 12] for part in (1, 3, 5, 7, 9, 11)] + [whole[:-1]]
    for _ in range(30):
        content = bytearray(whole)
        for _ in range(random.choice([1, 1, 4])):
            # Half of the places are in the last part, where both keep what the file is about.
            first = random.choice([8, max(8, len(content) - 1500)])
            content[random.randrange(first, len(content))] ^= random.randrange(1, 256)
        damaged.append(bytes(content))
    refused = 0
    for content in damaged:
        (program.folder / "damaged").write_bytes(content)
        done = subprocess.run([BINARY, "info", "damaged"], cwd=program.folder, capture_output=True, timeout=60)
        assert done.returncode in (0, 1, 2), (done.returncode, done.stderr)
        assert done.returncode == 0 or b"damaged: " in done.stderr, done.stderr
        refused += done.returncode != 0
    assert refused > 7


def test_another_number_of_rows_than_declared(program):
    pa.parquet.write_table(table_of(rows()), program.folder / "file")
    whole = (program.folder / "file").read_bytes()
    declared = b"\x16\x90\x03\x19"  # the third field of the footer, 200, before its list of row groups
    assert whole.count(declared) == 1
    (program.folder / "file").write_bytes(whole.replace(declared, b"\x16\x92\x03\x19"))
    assert "declares 201 rows but holds 200" in program("info", "file", exit_code=1).stderr


@pytest.mark.parametrize("magic", [b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff"])
def test_what_only_begins_like_one(program, magic):
    for rest in (b"", b"user,item\n1,2\n", b"\0" * 100, magic):
        (program.folder / "file").write_bytes(magic + rest)
        told = program("train", "file", "-o", "m", exit_code=1).stderr
        assert "file: Arrow cannot read it" in told or "holds no rows" in told
