# SPDX-License-Identifier: Apache-2.0
"""Numbers that are none, too large or all alike: a finite answer, or an error that says why."""
import gzip
import json
import math
import re

import numpy as np
import pytest
import xxhash
from safetensors.numpy import load_file

NEIGHBOURS = ("item-knn", "user-knn")
PREDICTIONS = ("mean", "centred", "z-score", "baseline")


def options_of(program, verb, types):
    """The options of a verb that take a number of these types."""
    text = program(verb, "--help").stdout
    pattern = rf"^\s+(?:-\w, )?(--?[\w-]+) (?:{'|'.join(types)})(?: |$)"
    return sorted(set(re.findall(pattern, text, re.MULTILINE)))


def started(verb):
    return {"train": ["train", "r.csv", "-o", "m"], "split": ["split", "r.csv", "-o", "parts"],
            "generate": ["generate", "10x10x20", "-o", "g.csv"], "evaluate": ["evaluate", "m", "r.csv"],
            "recommend": ["recommend", "m", "--all"], "similar": ["similar", "m", "--all-items"],
            "predict": ["predict", "m", "r.csv"], "demo": ["demo", "-o", "d"]}[verb]


@pytest.mark.parametrize("verb", ["train", "split", "generate", "evaluate", "recommend", "similar", "demo"])
def test_whole_numbers_do_not_wrap_around(program, verb):
    found = options_of(program, verb, ["N"]) + (["-k"] if verb == "evaluate" else [])
    assert found
    for option in found:
        for text in ("-1", "18446744073709551616", "010", "nan"):
            stderr = program(*started(verb), f"{option}={text}" if option.startswith("--")
                             else f"{option}{text}", exit_code=2).stderr
            assert option in stderr and text in stderr


@pytest.mark.parametrize("verb", ["train", "split", "evaluate"])
def test_real_numbers_are_finite(program, verb):
    found = options_of(program, verb, ["X", "SHARE"])
    assert found
    for option in found:
        for text in ("nan", "-inf", "1e999", "0x1p3"):
            stderr = program(*started(verb), f"{option}={text}", exit_code=2).stderr
            assert option in stderr and text in stderr


def test_the_largest_seed_is_one(program, tmp_path):
    program("generate", "10x10x40", "-o", "g.csv", "--seed", 2**64 - 1)
    program("generate", "10x10x40", "-o", "h.csv", "--seed", 0)
    assert (tmp_path / "g.csv").read_text() != (tmp_path / "h.csv").read_text()


def numbers_in(text, columns):
    """The numbers of these columns of CSV rows; every cell must hold one."""
    header, *rows = text.splitlines()
    places = [header.split(",").index(column) for column in columns]
    numbers = [float(row.split(",")[place]) for row in rows for place in places]
    assert numbers and all(map(math.isfinite, numbers))
    return numbers


def write_ratings(path, values):
    rng = np.random.default_rng(5)
    rows = [f"u{u},i{i},{values(u, i)}" for u in range(12) for i in range(9) if rng.random() < 0.6]
    path.write_text("user,item,rating\n" + "\n".join(rows) + "\n")


@pytest.mark.parametrize("algorithm", NEIGHBOURS)
@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_constant_ratings_have_predictions(program, tmp_path, algorithm, prediction):
    """All ratings alike, and rows that are alike within others that are not."""
    for name, values in (("all", lambda u, i: 0.1), ("users", lambda u, i: 1 + u % 3),
                         ("items", lambda u, i: 1 + i % 3)):
        write_ratings(tmp_path / f"{name}.csv", values)
        program("train", f"{name}.csv", "-o", "m", "--algorithm", algorithm, "--feedback", "explicit",
                "--prediction", prediction, "--similarity", "cosine")
        numbers_in(program("predict", "m", f"{name}.csv").stdout, ["prediction"])
        numbers_in(program("predict", "m", "--all-missing").stdout, ["prediction"])
        numbers_in(program("recommend", "m", "--all").stdout, ["score"])
        found = json.loads(program("evaluate", "m", f"{name}.csv", "--json").stdout)
        assert math.isfinite(found["rmse"]) and math.isfinite(found["mae"])
        if name == "all":
            # All that is known is 0.1, up to the rounding of a float32.
            assert found["rmse"] < 1e-7


ALGORITHMS = ([("als", "implicit", ["--factors", 3, "--alpha", 1]), ("als", "explicit", ["--factors", 3])]
              + [(algorithm, "explicit", ["--prediction", prediction]) for algorithm in NEIGHBOURS
                 for prediction in PREDICTIONS]
              + [(algorithm, "implicit", ["--similarity", similarity]) for algorithm in NEIGHBOURS
                 for similarity in ("cosine", "bm25", "tfidf", "pearson", "msd")])


@pytest.mark.parametrize("algorithm, feedback, more", ALGORITHMS)
@pytest.mark.parametrize("size", [1e8, 1e14, 3e38])
def test_huge_values_give_numbers_or_an_error_that_names_them(program, tmp_path, algorithm, feedback,
                                                              more, size):
    write_ratings(tmp_path / "r.csv", lambda u, i: size * (1 + (u + i) % 3) / 3)
    training = program.start("train", "r.csv", "-o", "m", "--algorithm", algorithm, "--feedback",
                             feedback, *map(str, more), stderr=-1, text=True)
    stderr = training.communicate(timeout=60)[1]
    if training.returncode != 0:
        # Whatever size is refused, the message says that it is the value's.
        assert size > 1e8
        assert "too large" in stderr and "e+" in stderr and "regularization" not in stderr
        assert not (tmp_path / "m").exists()
        return
    assert size < 1e38
    numbers_in(program("recommend", "m", "--all").stdout, ["score"])
    numbers_in(program("predict", "m", "r.csv").stdout, ["prediction"])
    if feedback == "explicit":
        assert math.isfinite(json.loads(program("evaluate", "m", "r.csv", "--json").stdout)["rmse"])


def refused(program, *arguments, stdin=None):
    """What an error says behind the name of the program."""
    return program(*arguments, exit_code=1, stdin=stdin).stderr.splitlines()[-1].removeprefix("likewise: ")


RATED = "user,item,rating\n\nann,tea,4\nben,tea,2\nann,rum,{ann}\ncat,milk,3\nben,milk,{ben}\n"
LARGE = [(how, "the value 1e+20 of user 'ann', item 'rum' is too large") for how in (
    ["--feedback", "explicit", "--factors", 2], ["--algorithm", "sgd"], ["--algorithm", "bias"],
    ["--algorithm", "user-knn"], ["--algorithm", "item-knn", "--feedback", "explicit"],
    ["--factors", 2, "--alpha", 40])]


@pytest.mark.parametrize("how, why", LARGE)
def test_values_are_named_by_ids_and_line(program, tmp_path, how, why):
    """However the file is packed and cut; users and items of the data are in the order of their ids."""
    text = RATED.format(ann="1e20", ben="1")
    forms = {"r.csv": text, "r.tsv": text.replace(",", "\t"), "r.csv.gz": gzip.compress(text.encode()),
             "bad.csv": text.replace("\n\n", "\nbad\n")}
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        skip = ["--on-bad-row", "skip"] if name == "bad.csv" else []
        assert refused(program, "train", name, "-o", "m", *how, *skip).startswith(f"{name}:5: {why}")
    # What came through a pipe cannot be read again.
    assert refused(program, "train", "-", "-o", "m", *how, stdin=text).startswith(why)
    # An update has other rows, and the lines of the new file.
    (tmp_path / "good.csv").write_text(RATED.format(ann=1, ben=3))
    program("train", "good.csv", "-o", "m", *how)
    (tmp_path / "new.csv").write_text("user,item,rating\naaron,tea,2\nann,gin,1\nann,rum,1e20\n")
    assert refused(program, "update", "m", "new.csv", "-o", "n", "--duplicates", "last").startswith(
        f"new.csv:4: {why}")


def test_matrix_market_adjacency_and_counts_have_lines_too(program, tmp_path):
    (tmp_path / "m.mtx").write_text("%%MatrixMarket matrix coordinate real symmetric\n% about\n"
                                    "3 3 3\n2 1 4\n3 1 1e20\n3 3 2\n")
    assert refused(program, "train", "m.mtx", "-o", "m", "--feedback", "explicit").startswith(
        "m.mtx:5: the value 1e+20 of user '1', item '3' is too large")
    for first, line in (("5 5 1e20", 1), ("5 5 3", 2)):
        (tmp_path / "r.txt").write_text(f"{first}\n6 5 1e20\n5 6 2\n")
        assert refused(program, "train", "r.txt", "-o", "m", "--feedback", "explicit", "--header",
                       "no").startswith(f"r.txt:{line}: the value 1e+20 of user '{4 + line}', item '5'")


def test_rows_without_a_solution_are_named(program, tmp_path):
    """One rating, and more factors than it can tell apart, without regularization."""
    (tmp_path / "r.csv").write_text(RATED.format(ann="1", ben="5"))
    how = ["--feedback", "explicit", "--factors", 3, "--regularization", 0, "--solver", "cholesky",
           "--biases", "off"]
    for device in ("cpu", "reference"):
        why = refused(program, "train", "r.csv", "-o", "m", *how, "--device", device)
        assert re.match(r"ALS: the system of user '(ann|ben|cat)' \(\d interactions\) is not positive", why), why


def test_similarities_that_are_too_large_name_both(program, tmp_path):
    (tmp_path / "r.csv").write_text(RATED.format(ann="1e14", ben="1e14"))
    why = refused(program, "train", "r.csv", "-o", "m", "--algorithm", "item-knn", "--similarity", "dot",
                  "--amplification", 9)
    assert re.match(r"the similarity of item '\w+' and item '\w+' is not a finite number", why), why


@pytest.mark.parametrize("size", [-3.4e38, 3.4e38, 1e20])
@pytest.mark.parametrize("table", ["item_factors", "user_factors", "item_bias", "user_bias"])
def test_a_model_of_huge_numbers_is_refused(program, cinema, tmp_path, table, size):
    """The file is whole; what is in it cannot be computed with."""
    model = bytearray((cinema / "explicit.safetensors").read_bytes())
    length = int.from_bytes(model[:8], "little")
    header = json.loads(model[8:8 + length])
    begin = 8 + length + header[table]["data_offsets"][0]
    model[begin:begin + 4] = np.float32(size).tobytes()
    (tmp_path / "m").write_bytes(with_checksum(bytes(model)))
    for verb in (["recommend", "m", "--all"], ["predict", "m", "--all-missing"],
                 ["similar", "m", "--all-items", "--metric", "dot"],
                 ["evaluate", "m", cinema / "parts/test.csv"]):
        stderr = program(*verb, exit_code=1).stderr
        assert table in stderr and "row 0 (id" in stderr and "e+" in stderr


def with_checksum(model):
    """docs/reference/model-format.md"""
    stated = re.search(rb'"checksum":\s*"([0-9a-f]{32})"', model).group(1)
    blank = model.replace(stated, b"0" * 32, 1)
    return model.replace(stated, xxhash.xxh3_128_hexdigest(blank).encode(), 1)


def test_diverging_baselines_name_the_remedy(program, tmp_path):
    write_ratings(tmp_path / "r.csv", lambda u, i: 1 + (u * i) % 5)
    stderr = program("train", "r.csv", "-o", "m", "--algorithm", "item-knn", "--feedback", "explicit",
                     "--baseline-method", "sgd", "--baseline-learning-rate", 3, exit_code=1).stderr
    assert "diverge" in stderr and "smaller --baseline-learning-rate or --baseline-regularization, or --baseline-method als" in stderr


def test_an_amplification_beyond_numbers_is_named(program, tmp_path):
    write_ratings(tmp_path / "r.csv", lambda u, i: 1 + (u * i) % 5)
    stderr = program("train", "r.csv", "-o", "m", "--algorithm", "item-knn", "--similarity",
                     "log-likelihood", "--amplification", 1e6, exit_code=1).stderr
    assert "not a finite number" in stderr and "amplification" in stderr


@pytest.mark.parametrize("algorithm", NEIGHBOURS)
def test_independent_rows_are_no_neighbours_by_likelihood(program, tmp_path, algorithm):
    """Two halves, crossed: what one has says nothing about the other."""
    for n in (6, 10, 14, 22, 30, 42):
        rows = [f"{c},{name},1" for c in range(2 * n) for name, has in
                (("a", c % 2), ("b", c < n)) if has] + [f"{c},all,1" for c in range(2 * n)]
        if algorithm == "user-knn":
            rows = [",".join((row.split(",")[1], row.split(",")[0], "1")) for row in rows]
        (tmp_path / "r.csv").write_text("user,item,value\n" + "\n".join(rows) + "\n")
        program("train", "r.csv", "-o", "m", "--algorithm", algorithm, "--similarity",
                "log-likelihood", "--negative", "keep")
        similarities = load_file(tmp_path / "m")["neighbours.similarities"]
        # "all" is with everybody, which is no evidence either.
        assert np.all((similarities == 0) | (np.abs(similarities) > 1e-6))


def test_the_advice_is_regularization_only_where_that_helps(program, tmp_path):
    write_ratings(tmp_path / "r.csv", lambda u, i: 1 + (u * i) % 5)
    for option, value in (("--alpha", 1e308), ("--regularization", 1e308), ("--init-stddev", 1e30),
                          ("--epsilon", 1e-300), ("--unobserved-weight", 1e300)):
        stderr = program("train", "r.csv", "-o", "m", option, value, exit_code=2).stderr
        assert option in stderr and "larger" not in stderr


@pytest.mark.parametrize("values", [["3"] * 20 + ["3.0000002"], ["1e-40"], ["1e-45", "3e-45"],
                                    ["1234.567", "1234.5671"]])
@pytest.mark.parametrize("algorithm", ["als", "sgd", "bias", "item-knn", "user-knn"])
def test_values_that_differ_by_rounding_are_equal(program, tmp_path, algorithm, values):
    write_ratings(tmp_path / "r.csv", lambda u, i: values[(u * 9 + i) % len(values)])
    (tmp_path / "new.csv").write_text(f"user,item,rating\nu0,i0,{values[0]}\nu99,i3,{values[0]}\n")
    program("train", "r.csv", "-o", "m", "--algorithm", algorithm, "--feedback", "explicit")
    program("update", "m", "new.csv", "-o", "n", *(["--by", "sgd"] if algorithm == "als" else []))
    size = max(map(float, values))
    for model in "mn":
        found = numbers_in(program("predict", model, "r.csv").stdout, ["prediction"])
        assert found == pytest.approx([size] * len(found), rel=0.2, abs=1e-9)


def test_ratings_too_close_for_steps_are_named(program, tmp_path):
    write_ratings(tmp_path / "r.csv", lambda u, i: f"{1 + (u * i) % 5}e-20")
    stderr = program("train", "r.csv", "-o", "m", "--algorithm", "sgd", exit_code=1).stderr
    assert "differ by 1" in stderr and "e-20" in stderr and "multiply all by the same number" in stderr


@pytest.mark.parametrize("more", [
    ["--algorithm", "sgd", "--learning-rate", 1, "--schedule", schedule, "--order", order]
    for schedule in ("constant", "inverse", "bold", "adaptive") for order in ("blocked", "alternating")
] + [["--algorithm", "bpr", "--learning-rate", 100], ["--algorithm", "bpr", "--regularization", 41]])
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_divergence_is_noticed_early(program, tmp_path, more, device):
    """Long before numbers are infinite: no epoch ends far above what knowing nothing comes to."""
    write_ratings(tmp_path / "r.csv", lambda u, i: 1 + (u * i) % 5)
    training = program.start("train", "r.csv", "-o", "m", "--json", "--device", device, "--feedback",
                             "explicit" if "sgd" in more else "implicit", *map(str, more),
                             stdout=-1, stderr=-1, text=True)
    out, stderr = training.communicate(timeout=60)
    if training.returncode == 0:
        ratings = len((tmp_path / "r.csv").read_text().splitlines()) - 1
        for epoch in json.loads(out)["iterations"]:
            assert epoch["objective"] < 10 * 2 * ratings
        return
    found = re.search(r"epoch (\d+) diverged with learning rate (\S+): its objective is (\S+), and", stderr)
    assert found and float(found.group(3)) < 1e30 and "a smaller --learning-rate or --init-stddev, or another --regularization" in stderr


@pytest.mark.parametrize("more, told", [
    (["--init-stddev", 1000], "its objective is nan, and that of"), (["--regularization", 4e9], "or with parameters nearer to their defaults")])
def test_parameters_beyond_all_numbers_are_named(program, tmp_path, more, told):
    write_ratings(tmp_path / "r.csv", lambda u, i: 1 + (u * i) % 5)
    assert told in program("train", "r.csv", "-o", "m", "--algorithm", "sgd", "--feedback", "explicit", *more, exit_code=1).stderr


def test_rounding_makes_no_neighbour(program, tmp_path):
    """Users 0 and 1 say nothing about each other, exactly."""
    rows = "0,0,4 0,1,5 0,2,5 0,3,3 1,0,4 1,1,5 1,2,3 1,3,4 1,4,3".split()
    (tmp_path / "r.csv").write_text("user,item,value\n" + "\n".join(rows) + "\n")
    (tmp_path / "p.csv").write_text("user,item\n0,4\n")
    for similarity in ("pearson-full", "adjusted-cosine"):
        program("train", "r.csv", "-o", "m", "--algorithm", "user-knn", "--feedback", "explicit",
                "--similarity", similarity, "--prediction", "centred")
        assert numbers_in(program("predict", "m", "p.csv").stdout, ["prediction"]) == [4.25]
