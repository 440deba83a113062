# SPDX-License-Identifier: Apache-2.0
"""`likewise compare`: trainings side by side, from what they printed and from model files."""
import gzip
import html.parser
import json
import re
import subprocess

import pytest

from conftest import BINARY, Program


@pytest.fixture(scope="module")
def runs(cinema, tmp_path_factory):
    """few.json, many.json and few.safetensors by ndcg@10, stars.json by rmse."""
    folder = tmp_path_factory.mktemp("runs")
    run = Program(folder)
    for name, options in {"few": ["--factors", 4], "many": ["--factors", 32, "--regularization", 0.1],
                          "stars": ["--feedback", "explicit", "--factors", 4]}.items():
        done = run("train", cinema / "parts/train.csv", "-o", f"{name}.safetensors", "--iterations", 6,
                   "--device", "cpu", "--validation", cinema / "parts/test.csv", "--json", *options)
        (folder / f"{name}.json").write_text(done.stdout)
    return folder


def course(path):
    return json.loads(path.read_text())["iterations"]


def best_of(path):
    return max(it["validation"] for it in course(path))


def test_the_table_as_text_and_as_json(program, runs):
    few, many = runs / "few.json", runs / "many.json"
    low, high = sorted((best_of(few), best_of(many)))
    assert low < high, "the case needs a run that never reaches the other's best"
    target = (low + high) / 2
    facts = json.loads(program("compare", few, f"wide={many}", "--json", "--target",
                               f"ndcg@10={target!r}").stdout)
    assert (facts["metric"], facts["higher_is_better"], facts["target"]) == ("ndcg@10", True, target)
    assert [run["run"] for run in facts["runs"]] == ["few", "wide"]
    for run, path in zip(facts["runs"], (few, many)):
        told = json.loads(path.read_text())
        values = [it["validation"] for it in told["iterations"]]
        assert run["best"] == max(values) and run["best_iteration"] == 1 + values.index(max(values))
        assert run["seconds"] == told["iterations"][-1]["elapsed"] and run["iterations"] == 6
        assert (run["device"], run["algorithm"], run["feedback"]) == (told["device"], "als", "implicit")
        first = next((it for it in told["iterations"] if it["validation"] >= target), None)
        if first:
            assert run["target_iteration"] == first["iteration"]
            assert run["target_elapsed"] == first["elapsed"] and "target_missed" not in run
        else:
            assert run["target_iteration"] is None and run["target_elapsed"] is None
            assert run["target_missed"] == "not reached in 6 iterations"
    assert sum(run["target_iteration"] is None for run in facts["runs"]) == 1
    text = program("compare", few, f"wide={many}", "--target", f"ndcg@10={target!r}").stdout
    lines = text.splitlines()
    assert len(lines) == 3 and lines[1].startswith("few ") and lines[2].startswith("wide ")
    assert "best ndcg@10" in lines[0] and f"seconds to ndcg@10={target!r}" in lines[0]
    assert text.count("- (not reached in 6 iterations)") == 1 and "als, implicit" in lines[1]
    assert "seconds to" not in program("compare", few).stdout


def test_a_model_file_says_what_its_training_printed(program, runs):
    of = {name: json.loads(program("compare", f"x={runs / name}", "--json").stdout)["runs"]
          for name in ("few.json", "few.safetensors")}
    for told in of.values():
        del told[0]["file"]
    assert of["few.json"] == of["few.safetensors"]


def test_errors_are_better_when_lower(program, runs):
    values = [it["validation"] for it in course(runs / "stars.json")]
    facts = json.loads(program("compare", runs / "stars.json", "--json", "--target",
                               f"rmse={values[1]!r}").stdout)
    assert facts["higher_is_better"] is False and facts["runs"][0]["best"] == min(values)
    first = next(i for i, value in enumerate(values, 1) if value <= values[1])
    assert facts["runs"][0]["target_iteration"] == first


class Page(html.parser.HTMLParser):
    """Every tag of the page is closed, and no address is in it."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        assert not {"src", "href"} & {name for name, _ in attributes}
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def lines_of(page):
    """The polylines of each chart by its label."""
    charts = re.findall(r"<svg[^>]*aria-label='([^']*)'>(.*?)</svg>", page, re.S)
    return [(label, re.findall(r"polyline class='l ([^']+)' points='([^']*)'", body))
            for label, body in charts]


def test_the_page_has_all_runs_in_each_chart(program, runs, tmp_path):
    done = program("compare", runs / "few.json", f"wide={runs / 'many.json'}", "-o", "page.html")
    assert "page: page.html" in done.stderr
    page = (tmp_path / "page.html").read_text()
    assert Page(page).tags.count("svg") == 4
    charts = lines_of(page)
    assert [label for label, _ in charts] == [
        "validation by iteration", "validation by seconds of training",
        "objective by iteration", "objective by seconds of training"]
    for _, lines in charts:
        assert [colour for colour, _ in lines] == ["s1", "s2"]
        assert all(len(points.split()) == 6 for _, points in lines)
    assert "wide" in page and "als, implicit" in page and "likewise" in page


def test_objectives_are_compared_where_they_are_the_same(program, runs, tmp_path):
    """Another algorithm or feedback has another objective; colours stay those of the runs."""
    text = json.loads((runs / "few.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps({**text, "algorithm": "other"}))
    program("compare", "other.json", runs / "few.json", "-o", "page.html")
    assert "objective" not in [label.split()[0] for label, _ in lines_of((tmp_path / "page.html").read_text())]
    program("compare", "other.json", runs / "few.json", runs / "many.json", "-o", "page.html")
    charts = lines_of((tmp_path / "page.html").read_text())
    assert [[colour for colour, _ in lines] for _, lines in charts] == [
        ["s1", "s2", "s3"]] * 2 + [["s2", "s3"]] * 2


def test_many_runs_have_lines_of_their_own(program, runs, tmp_path):
    names = [f"run number {i} with a long name <{i}>={runs / 'few.json'}" for i in range(16)]
    program("compare", *names, "-o", "page.html")
    page = (tmp_path / "page.html").read_text()
    Page(page)
    classes = [colour for colour, _ in lines_of(page)[0][1]]
    assert len(set(classes)) == 16 and classes[8] == "s1 dashed"
    assert "<15>" not in page and "&lt;15&gt;" in page
    stderr = program("compare", *names, f"one={runs / 'few.json'}", exit_code=2).stderr
    assert "17 runs" in stderr and "16" in stderr


def test_other_data_are_told(program, runs, tmp_path):
    text = json.loads((runs / "few.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps({**text, "items": 7}))
    done = program("compare", runs / "few.json", "other.json", "-o", "page.html", "--quiet")
    assert "not trained on the same data: few has" in done.stderr and "7 items" in done.stderr
    assert "not trained on the same data" in (tmp_path / "page.html").read_text()
    assert program("compare", runs / "few.json", runs / "many.json", "-q").stderr == ""


def test_runs_come_compressed_and_from_a_pipe(program, runs, tmp_path):
    text = (runs / "few.json").read_text()
    with gzip.open(tmp_path / "few.json.gz", "wt") as packed:
        packed.write(text)
    whole = json.loads(program("compare", runs / "few.json", "--json").stdout)["runs"][0]
    for run, stdin in (("few.json.gz", None), ("-", text), ("piped=-", "\n\n" + text)):
        found = json.loads(program("compare", run, "--json", stdin=stdin).stdout)["runs"][0]
        assert {**found, "run": 0, "file": 0} == {**whole, "run": 0, "file": 0}


@pytest.mark.parametrize("arguments, named", [
    ([], ["RUN"]),
    (["few.json", "stars.json"], ["few.json is validated by ndcg@10", "stars.json by rmse"]),
    (["few.json", "--target", "rmse=1"], ["rmse", "few.json", "ndcg@10"]),
    (["few.json", "few.safetensors"], ["two runs are called 'few'", "NAME=FILE"]),
    (["a=few.json", "a=many.json"], ["two runs are called 'a'", "few.json", "many.json"]),
    (["=few.json"], ["NAME=FILE"]), (["a="], ["NAME=FILE"]), ([""], ["NAME=FILE"]),
    (["few.json", "--target", "ndcg@10=2"], ["from 0 to 1"]),
    (["few.json", "-o", "few.json"], ["RUN (", "-o (", "same file"]),
    (["a=few.json", "-o", "few.json"], ["RUN (", "-o (", "same file"]),
    (["few.json", "-o", "-"], ["-o", "standard output"]),
    (["-", "x=-"], ["standard input"]),
])
def test_wrong_usage(runs, arguments, named):
    stderr = Program(runs)("compare", *arguments, exit_code=2).stderr
    assert all(word in stderr for word in named), stderr


def changed(text, *path, to="delete"):
    told = json.loads(text)
    at = told
    for step in path[:-1]:
        at = at[step]
    if to == "delete":
        del at[path[-1]]
    else:
        at[path[-1]] = to
    return json.dumps(told)


def test_what_is_missing_or_no_number_is_named(program, runs, tmp_path):
    text = (runs / "few.json").read_text()
    top = ("algorithm", "feedback", "device", "users", "items", "interactions", "iterations",
           "validation_metric")
    cases = [(changed(text, name), [f"{name} is missing"]) for name in top]
    cases += [(changed(text, "iterations", 2, name), [f"iterations[2].{name} is missing"])
              for name in ("iteration", "objective", "seconds", "validation")]
    for value in (None, "1", [], {}, True):
        for name in ("objective", "seconds", "validation"):
            cases.append((changed(text, "iterations", 2, name, to=value), [f"iterations[2].{name} is not"]))
        cases.append((changed(text, "iterations", 2, "iteration", to=value), ["iterations[2].iteration is not"]))
        cases.append((changed(text, "iterations", 2, to=value), ["iterations[2]"]))
        words = ("algorithm", "feedback", "device") if value == "1" else ()
        cases += [(changed(text, name, to=value), [name]) for name in top if name not in words]
    cases += [
        (changed(text, "iterations", 2, "seconds", to=-1), ["iterations[2].seconds"]),
        (changed(text, "iterations", 2, "iteration", to=7), ["iterations[2].iteration is 7, not 3"]),
        (changed(text, "iterations", 0), ["iterations[0].iteration is 2, not 1"]),
        (changed(text, "iterations", 2, "iteration", to=2**70), ["iterations[2].iteration"]),
        (changed(text, "users", to=-1), ["users"]), (changed(text, "users", to=1.5), ["users"]),
        (changed(text, "iterations", to=[]), ["iterations is empty", "als"]),
        (changed(text, "validation_metric", to="gini"), ["validation_metric", "gini"]),
        (changed(text, "iterations", 2, "seconds", to=float("nan")), ["not valid JSON"]),
        (changed(text, "iterations", 2, "seconds", to=12345.5).replace("12345.5", "1e999"), ["out of range"]),
        (json.dumps({**json.loads(text), "iterations": [
            {**it, "seconds": 1.7e308} for it in json.loads(text)["iterations"]]}), ["seconds add up"]),
    ]
    for content, named in cases:
        (tmp_path / "run.json").write_text(content)
        stderr = program("compare", runs / "many.json", "run.json", "-o", "page.html", exit_code=1).stderr
        assert "run.json: " in stderr and all(word in stderr for word in named), (stderr, named)
        assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("content", [
    b"", b"\n \n", b"{", b"{}", b"{}{}", b"[]", b"[{}]", b"null", b"1", b'"x"', b"user,item\n1,2\n",
    b'{"ndcg@10": 0.3}', b'{"a": ' + b"[" * 200_000, b'{"a": "\xff"}', b"\0" * 100, b"\x1f\x8b\x08\0",
    b'{"algorithm": "als", "feedback": "implicit"', b"\x10\0\0\0\0\0\0\0{" + b" " * 15])
def test_foreign_files_are_one_sentence(program, tmp_path, content):
    (tmp_path / "run").write_bytes(content)
    stderr = program("compare", "run", exit_code=1).stderr
    assert "run: " in stderr and len(stderr) < 400


def test_files_that_are_not_there_and_runs_without_a_course(program, cinema):
    assert "none.json" in program("compare", "none.json", exit_code=1).stderr
    stderr = program("compare", cinema / "model.safetensors", exit_code=1).stderr
    assert "validation_metric is missing" in stderr and "--validation" in stderr
    done = program("train", cinema / "parts/train.csv", "-o", "knn", "--algorithm", "item-knn", "--json")
    (program.folder / "knn.json").write_text(done.stdout)
    for run in ("knn", "knn.json"):
        assert "item-knn has no course" in program("compare", run, exit_code=1).stderr


def test_numbers_at_the_edges_make_a_page(program, runs, tmp_path):
    told = json.loads((runs / "few.json").read_text())
    for objectives in ((1.7e308, -1.7e308), (5e-324, 0.0), (1e300, -1e300), (0.0, 0.0)):
        for i, it in enumerate(told["iterations"]):
            it["objective"], it["seconds"] = objectives[i % 2], 0.0
        for name in ("a", "b"):
            (tmp_path / f"{name}.json").write_text(json.dumps(told))
        program("compare", "a.json", "b.json", "-o", "page.html")
        page = (tmp_path / "page.html").read_text()
        Page(page)
        assert not re.search(r"='-?(nan|inf)|[ ,'](nan|inf)[ ,']", page)


def test_a_full_disk_is_an_error(runs):
    with open("/dev/full", "w") as full:
        done = subprocess.run([BINARY, "compare", runs / "few.json"], stdout=full, text=True,
                              stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1 and "No space left" in done.stderr
