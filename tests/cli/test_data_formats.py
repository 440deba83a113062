# SPDX-License-Identifier: Apache-2.0
"""The table of formats in docs/guide/your-data.md: each row has a small file here, which does what the table says."""
import bz2
import csv
import gzip
import io
import json
import lzma
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tarfile

import numpy
import pytest
from conftest import BINARY, ROOT

PAGE = ROOT / "docs/guide/your-data.md"
TABLE = PAGE.read_text().split("## Formats by name")[1].split("\n## ")[0]
ROWS = {cells[0].strip(): cells[2].strip().replace("\\|", "|") for cells in
        (re.split(r"(?<!\\)\|", line)[1:-1] for line in TABLE.splitlines() if line.startswith("| "))}
del ROWS["format"]

PLAIN = "1,10,5,978300760\n2,11,4,978300761\n"
RATINGS = {("1", "10"): 5, ("2", "11"): 4}
LIKES = {("1", "10"): 1, ("2", "11"): 1}
NAMED = "user,item,rating\n1,10,5\n2,11,4\n"


def parquet():
    """The rows as Parquet, where the program has its plug-in; else nothing."""
    if not (pathlib.Path(BINARY).absolute().parent / "liblikewise_arrow.so").exists():
        return None
    import pyarrow.parquet
    packed = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"user": [1, 2], "item": [10, 11], "rating": [5, 4]}), packed)
    return packed.getvalue()


# A file, and what comes out of it; of what is refused words of the refusal; of several files a dict.
FORMATS = {
    "CSV with known names": ("userId,movieId,rating,timestamp\n" + PLAIN, RATINGS),
    "CSV with other names": ("who,what,how much\n1,10,5\n2,11,4\n", RATINGS),
    "CSV without a header": (PLAIN, RATINGS),
    "CSV in another order": ("10,1,5\n11,2,4\n", RATINGS),
    "CSV of more than six columns without a header": ("1,10,a,b,c,d,5\n2,11,a,b,c,d,4\n", RATINGS),
    "CSV with comment lines": ("# made in May\n" + NAMED, RATINGS),
    "CSV of Excel": ("sep=;\n" + NAMED.replace(",", ";"), RATINGS),
    "CSV with decimal commas": ("1;10;4,5\n2;11;4\n", {("1", "10"): 4.5, ("2", "11"): 4}),
    "CSV with escaped quotes of MySQL or Spark": ('user,item,rating\n1,"a \\"b\\" c",5\n', "quotes inside quotes"),
    "TSV": (PLAIN.replace(",", "\t"), RATINGS),
    "bars, semicolons": (PLAIN.replace(",", "|"), RATINGS),
    "another delimiter": ("1^10^5\n2^11^4\n", RATINGS),
    "MovieLens 100K": (PLAIN.replace(",", "\t"), RATINGS),
    "MovieLens 1M, 10M": (PLAIN.replace(",", "::"), RATINGS),
    "MovieLens 20M and later, small": ("userId,movieId,rating,timestamp\n" + PLAIN, RATINGS),
    "Book-Crossing": ('"User-ID";"ISBN";"Book-Rating"\n"1";"10";"5"\n"2";"11";"4"\n', RATINGS),
    "Goodbooks": ("user_id,book_id,rating\n1,10,5\n2,11,4\n", RATINGS),
    "Last.fm 360K": ("1\t10\tA Band\t5\n2\t11\tThe Other\t4\n", RATINGS),
    "Amazon reviews, CSV": ("AKM,0132793040,5.0,1365811200\nA2C,0321732944,4.0,1341100800\n",
                            {("AKM", "0132793040"): 5, ("A2C", "0321732944"): 4}),
    "Amazon reviews, JSON lines": ('{"reviewerID": "A1", "asin": "B2", "helpful": [0, 1], "reviewText": "Good, \\"it\\" is",'
                                   ' "overall": 5.0, "summary": "5", "unixReviewTime": 1365811200}\n'
                                   '{"reviewerID": "A2", "asin": "B3", "helpful": [1, 1], "reviewText": "", "overall": 4.0,'
                                   ' "summary": "x", "unixReviewTime": 1341100800}\n', {("A1", "B2"): 5, ("A2", "B3"): 4}),
    "Yelp reviews, JSON lines": ('{"review_id":"r","user_id":"a","business_id":"b","stars":4.0,"useful":0,"funny":0,"cool":0,'
                                 '"text":"Fine","date":"2018-07-07 22:09:11"}\n'
                                 '{"user_id":"c","business_id":"d","stars":3,"date":"2018-07-08 22:09:11"}\n', {("a", "b"): 4, ("c", "d"): 3}),
    "JSON lines with objects inside": ('{"user": {"id": 1}, "item": 10}\n{"user": {"id": 2}, "item": 11}\n', LIKES),
    "JSON arrays": ('[{"user": 1, "item": 10}]\n', "jq -c '.[]' FILE"),
    "JSON over several lines": ('{\n "user": 1,\n "item": 10\n}\n', "jq -c . FILE"),
    "events by words": ("user,item,event\n1,10,view\n1,10,cart\n2,11,view\n", {("1", "10"): 4, ("2", "11"): 1}),
    "likes and dislikes": ("user,item,feedback\n1,10,like\n2,11,dislike\n", {("1", "10"): 1, ("2", "11"): -1}),
    "true and false": ("user,item,liked\n1,10,true\n2,11,false\n", {("1", "10"): 1, ("2", "11"): 0}),
    "RetailRocket": ("timestamp,visitorid,event,itemid,transactionid\n1433221332117,1,view,10,\n1433221332118,1,addtocart,10,\n"
                     "1433221332119,2,transaction,11,7\n", {("1", "10"): 4, ("2", "11"): 5}),
    "Taobao UserBehavior": ("1,10,2520377,pv,1511544070\n1,10,2520377,buy,1511544071\n2,11,2520771,fav,1511561733\n",
                            {("1", "10"): 6, ("2", "11"): 2}),
    "Gowalla, Brightkite": ("1\t2010-10-19T23:55:27Z\t30.2\t-97.7\t10\n2\t2010-10-18T22:17:43Z\t30.3\t-97.6\t11\n", LIKES),
    "times of another form": ("user,item,rating,date\n1,10,5,12/31/2025\n2,11,4,01/02/2026\n", RATINGS),
    "Netflix Prize": ("10:\n1,5,2005-12-26\n11:\n2,4,2004-05-03\n", RATINGS),
    "KDD Cup 2011 (Yahoo! Music)": ("1|1\n10\t5\t5811\t07:28:00\n2|1\n11\t4\t5811\t07:29:00\n", RATINGS),
    "lists of LightGCN, NGCF": ("1 10\n2 11\n", LIKES),
    "LIBMF, MyMediaLite": ("2 2 4\n1 10 1\n1 11 2\n2 11 2\n2 10 1\n",
                           {("1", "10"): 1, ("1", "11"): 2, ("2", "11"): 2, ("2", "10"): 1}),
    "RecBole": ("user_id:token\titem_id:token\trating:float\n1\t10\t5\n2\t11\t4\n", RATINGS),
    "SNAP, KONECT": ("# FromNodeId ToNodeId\n1\t10\n2\t11\n", LIKES),
    "Matrix Market": ("%%MatrixMarket matrix coordinate real general\n2 11 2\n1 10 5\n2 11 4\n", RATINGS),
    "TREC judgements (qrels)": ("q1 0 d1 1\nq2 0 d2 2\n", {("q1", "d1"): 1, ("q2", "d2"): 2}),
    "TREC runs": ("q1 Q0 d1 1 9.5 run\nq2 Q0 d2 1 9.25 run\n", {("q1", "d1"): 9.5, ("q2", "d2"): 9.25}),
    "several files": ({"day-1.csv": "user,item,rating\n1,10,5\n", "day-2.csv": "user,item,rating\n2,11,4\n"}, RATINGS),
    "folders of Spark": ({"ratings/part-00000.csv": NAMED, "ratings/_SUCCESS": "", "ratings/.part-00000.csv.crc": "x"}, RATINGS),
    "gzip, zstd": (gzip.compress(NAMED.encode()), RATINGS),
    "bzip2, xz, lz4": (bz2.compress(NAMED.encode()), RATINGS),
    "zip, tar, 7z": (b"PK\x03\x04" + NAMED.encode(), "unzip"),
    "Parquet, Arrow (Feather, streams)": (parquet(), RATINGS),
    "ORC, Avro, Excel, HDF5, NumPy, pickles, SQLite": (b"ORC" + NAMED.encode(), "write it as CSV"),
    "libsvm, libffm": ("1 3:1 7:0.5\n-1 2:1\n", "a row is a number and its features"),
}


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def trained(folder, command):
    """What a model of a command of the table learned from."""
    path = os.path.dirname(os.path.abspath(BINARY)) + os.pathsep + os.environ["PATH"]
    done = subprocess.run(["bash", "-c", command + " --algorithm popular"], cwd=folder, env={**os.environ, "PATH": path},
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told = subprocess.run([BINARY, "info", "model.safetensors", "--json"], cwd=folder, capture_output=True, text=True)
    return json.loads(told.stdout)


def test_escaped_quotes_of_a_first_line(program):
    (program.folder / "rows.csv").write_text('1,"a \\"b\\" c",5\n2,c,4\n')
    stderr = program("info", "rows.csv", exit_code=1).stderr
    assert 'the first line has a broken quoted field: quotes inside quotes are written \\"' in stderr


def test_every_row_of_the_table_has_a_file():
    assert list(ROWS) == list(FORMATS) and len(ROWS) >= 40


@pytest.mark.parametrize("name", ROWS)
def test_what_the_table_says(program, name):
    content, wanted = FORMATS[name]
    if content is None:
        pytest.skip("the program has no plug-in for it")
    todo = ROWS[name]
    files = content if isinstance(content, dict) else {"FILE": content}
    for file, text in files.items():
        write(program.folder / file, text)
    spans = re.findall(r"`([^`]+)`", todo)
    if isinstance(wanted, str):
        assert "refused" in todo or "refuses" in todo
        for verb in (["info", "FILE"], ["train", "FILE", "-o", "m"]):
            codes = [code for code in (1, 2) if wanted in told(program, verb, code)]
            assert codes, f"no refusal with {wanted!r}"
    elif spans and ("likewise train" in spans[0]):
        if not shutil.which(spans[0].split()[0]) and not spans[0].startswith("likewise"):
            pytest.skip(f"no {spans[0].split()[0]}")
        facts = trained(program.folder, spans[0])
        assert (facts["users"], facts["items"], facts["interactions"]) == (2, 2, 2)
    else:
        assert todo.startswith("nothing") or spans[0].startswith("--")
        options = [] if todo.startswith("nothing") else shlex.split(spans[0])
        assert cells(program, options) == wanted


def told(program, verb, code):
    try:
        return program(*verb, exit_code=code).stderr
    except AssertionError:
        return ""


def cells(program, options):
    """{(user, item): value} of FILE."""
    program("split", "FILE", "-o", "parts", "--test", "0.5", *options)
    found = {}
    for part in ("train", "test"):
        with open(program.folder / "parts" / f"{part}.csv", newline="") as file:
            found |= {(row["user"], row["item"]): float(row.get("value", 1)) for row in csv.DictReader(file)}
    return found


def npz():
    packed = io.BytesIO()
    numpy.savez(packed, indices=numpy.arange(3), data=numpy.arange(3))
    return packed.getvalue()


@pytest.mark.parametrize("pack, words", [
    (bz2.compress, "bunzip2"), (lzma.compress, "unxz"), (lambda text: b"\x04\x22\x4d\x18" + text, "lz4"),
    (lambda text: b"7z\xbc\xaf" + text, "7z x"), (lambda text: b"Obj\x01" + text, "Avro"),
    (lambda text: b"\xd0\xcf\x11\xe0" + text, "Excel"), (lambda text: b"\x89HDF" + text, "HDF5"),
    (lambda text: b"\x93NUMPY" + text, "NumPy"), (lambda text: npz(), "a NumPy file: export it"), (lambda text: b"\x80\x04\x95" + text, "pickle"),
    (lambda text: b"SQLite format 3\0" + text, "sqlite3"), (lambda text: b"PARE" + text, "encrypted"),
    (lambda text: b"FEA1" + text, "Feather of version 1")])
def test_the_others_of_a_row_that_are_refused(program, pack, words):
    write(program.folder / "FILE", pack(NAMED.encode()))
    assert words in program("train", "FILE", "-o", "m", exit_code=1).stderr


def test_tar_is_refused(program):
    write(program.folder / "inside", NAMED)
    with tarfile.open(program.folder / "FILE", "w") as archive:
        archive.add(program.folder / "inside", "inside")
    assert "tar xf" in program("train", "FILE", "-o", "m", exit_code=1).stderr


def test_libffm_is_refused(program):
    write(program.folder / "FILE", "1 1:3:1 2:5:1\n0 1:4:1\n")
    assert "is libsvm or libffm" in program("train", "FILE", "-o", "m", exit_code=1).stderr
