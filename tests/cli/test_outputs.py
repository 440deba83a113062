# SPDX-License-Identifier: Apache-2.0
"""Where outputs go: never over an input or each other, never half, and refused before the work."""
import csv
import io
import json
import os
import random
import resource
import stat
import subprocess
import tempfile
import threading
import time

import pytest

from conftest import BINARY

# What else a verb needs, the options of what it reads (positional ones in capitals) and writes.
TABLE = {
    "generate": (["30x20x200"], [], ["-o"]),
    "train": ([], ["RATINGS", "--validation", "--resume", "--item-features"], ["-o", "--checkpoint", "--report"]),
    "tune": ([], ["RATINGS", "--validation", "--titles", "--item-features"], ["-o", "--journal", "--report"]),
    "update": ([], ["MODEL", "NEW", "--titles", "--item-features"], ["-o"]),
    "evaluate": ([], ["MODEL", "TEST", "--train"], ["--per-user"]),
    "cross-validate": ([], ["RATINGS", "--item-features"], []),
    "predict": ([], ["MODEL", "PAIRS", "--new"], ["-o"]),
    "recommend": ([], ["MODEL", "--users", "--allow", "--deny"], ["-o"]),
    "recommend --new": ([], ["MODEL", "--new"], ["-o"]),
    "recommend --user-features": ([], ["MODEL", "--user-features"], ["-o"]),
    "similar": (["--all-items"], ["MODEL"], ["-o"]),
    "similar --new": ([], ["MODEL", "--new"], ["-o"]),
    "report": ([], ["MODEL", "--titles"], ["-o"]),
    "compare": ([], ["RUN"], ["-o"]),
    "info": ([], ["FILE"], ["--report"]),
    "serve": ([], ["MODEL", "--tokens", "--titles"], ["--access-log"]),
    "mcp": ([], ["MODEL", "--titles"], []),
    "autotune": ([], [], ["-o", "--plot"]),
}
# A model that is read whole may be replaced by what grows out of it.
GROWS = {("--resume", "-o"), ("--resume", "--checkpoint"), ("MODEL", "-o")}


def command(verb, names):
    """The verb with these {option: path}; other inputs that it needs do not exist."""
    fixed, reads, writes = TABLE[verb]
    words = [verb.split()[0], *fixed]
    for option in reads + writes:
        path = names.get(option)
        if path is None:
            needed = option.isupper() or option == "-o"
            if not needed and not verb.endswith(option):
                continue
            path = f"absent-{option.strip('-')}"
        words += [path] if option.isupper() else [option, path]
    return words + (["--users", "absent"] if verb == "recommend" and "--users" not in words else [])


def spellings(folder, name):
    """Ways to name the file `name` of `folder`."""
    (folder / "sub").mkdir(exist_ok=True)
    for link, to in (("soft", name), ("softer", "soft"), ("sublink", "sub")):
        if not (folder / link).is_symlink():
            (folder / link).symlink_to(to)
    yield f"./{name}"
    yield str(folder / name)
    yield f"sub/../{name}"
    yield f"sublink/../{name}"
    yield "softer"
    if (folder / name).exists():
        if not (folder / "hard").exists():
            os.link(folder / name, folder / "hard")
        yield "hard"


@pytest.mark.parametrize("verb", [verb for verb in TABLE if TABLE[verb][1]])
def test_no_output_is_an_input(program, tmp_path, verb):
    _, reads, writes = TABLE[verb]
    (tmp_path / "file").write_text("precious")
    for read in reads:
        for write in writes:
            if (read, write) in GROWS:
                continue
            for i, spelling in enumerate(spellings(tmp_path, "file")):
                names = dict(zip((read, write) if i % 2 else (write, read), (spelling, "file")))
                stderr = program(*command(verb, names), exit_code=2).stderr
                assert f"{read} (" in stderr and f"{write} (" in stderr and "same file" in stderr
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.parametrize(("verb", "read"), [(verb, read) for verb in TABLE for read in TABLE[verb][1]
                                            if read in ("RATINGS", "NEW", "FILE", "--validation")])
def test_no_output_is_read_with_a_folder(program, tmp_path, verb, read):
    rows = tmp_path / "folder" / "rows.csv"
    rows.parent.mkdir()
    rows.write_text("precious")
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "away").symlink_to("folder/new")
    for write in TABLE[verb][2]:
        for path in ("folder/rows.csv", "link/new", "folder/sub/../new", "away", "folder/below/new"):
            stderr = program(*command(verb, {read: "folder", write: path}), exit_code=2).stderr
            assert f"{read} (folder) is a folder whose files are read, and {write} ({path}) would be one" in stderr
    assert rows.read_text() == "precious"


def test_what_a_folder_leaves_out_may_be_written_there(program, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "rows.csv").write_text("1,2,3\n1,3,4\n2,2,5\n")
    for path in ("folder/_new", "folder/.new", "folders"):
        program("info", "folder", "--report", path)
        assert (tmp_path / path).exists()


def test_no_part_of_a_split_is_read_with_its_folder(program, tmp_path):
    (tmp_path / "train.csv").write_text("1,2,3\n1,3,4\n2,2,5\n")
    for output in (".", "parts"):
        assert "would be one of them" in program("split", ".", "-o", output, exit_code=2).stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["train.csv"]
    program("train", ".", "-o", "../model.safetensors", "--algorithm", "popular")
    told = program("evaluate", "../model.safetensors", ".", exit_code=1).stderr
    assert "nothing to rank" in told  # and not that standard output is in the folder


@pytest.mark.parametrize("verb", [verb for verb in TABLE if len(TABLE[verb][2]) > 1])
def test_no_output_is_another_output(program, tmp_path, verb):
    writes = TABLE[verb][2]
    for first in writes:
        for second in writes[writes.index(first) + 1:]:
            for spelling in spellings(tmp_path, "new"):
                stderr = program(*command(verb, {first: "new", second: spelling}), exit_code=2).stderr
                assert f"{first} (new) and {second} (" in stderr
    assert not (tmp_path / "new").exists()


def test_descriptors_and_redirections_are_seen_through(program, tmp_path):
    (tmp_path / "pairs.csv").write_text("user,item\n1,2\n")
    with open(tmp_path / "pairs.csv", "ab") as held, open(tmp_path / "pairs.csv", "rb") as given:
        for reads, writes in (("pairs.csv", f"/dev/fd/{held.fileno()}"), ("pairs.csv", "-"),
                              ("pairs.csv", f"/proc/self/fd/{held.fileno()}"), ("-", "pairs.csv"),
                              ("/dev/stdin", "pairs.csv"), ("pairs.csv", "/dev/stdout")):
            done = subprocess.run([BINARY, "predict", "absent", reads, "-o", writes], cwd=tmp_path,
                                  stdin=given, stdout=held, stderr=subprocess.PIPE, text=True,
                                  pass_fds=[held.fileno()], timeout=60)
            assert done.returncode == 2 and "PAIRS" in done.stderr and "-o" in done.stderr
    assert (tmp_path / "pairs.csv").read_text() == "user,item\n1,2\n"


# Options that name tables; pages, models and plots may have any name.
TABLES = [("generate", "-o"), ("evaluate", "--per-user"), ("predict", "-o"), ("recommend", "-o"),
          ("similar", "-o"), ("autotune", "-o")]


@pytest.mark.parametrize("verb, option", TABLES)
def test_a_table_of_an_unknown_format_is_refused_before_any_work(program, tmp_path, verb, option):
    last = ".mtx" if verb == "generate" else ".jsonl, .ndjson"
    for name in ("out.parquet", "x.json", "x.xlsx", "out.CSV", "lists.csv.bz2", "x.txt", "x.json.gz"):
        told = program(*command(verb, {option: name}), exit_code=2).stderr
        assert f"{name}: '." in told and f"end the name in .csv, .tsv, {last}" in told, told
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("end", [".csv", ".tsv", ".jsonl", ".csv.gz"])
def test_ids_with_line_breaks_come_back_or_are_refused(program, tmp_path, end):
    (tmp_path / "data.csv").write_text('user,item,value\n"two\nlines",1,4\nb,"x\r\ny",3\n"q""\n,",1,2\n',
                                       newline="")
    program("train", "data.csv", "-o", "m", "--algorithm", "popular")
    program("recommend", "m", "--all", "--include-seen", "-o", f"lists{end}", exit_code=int(end == ".tsv"))
    if end == ".tsv":
        told = program("predict", "m", "data.csv", "-o", "p.tsv", exit_code=1).stderr
        assert "line break" in told and "write .csv" in told
        assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "m"]
    else:
        program("train", f"lists{end}", "-o", "n", "--algorithm", "popular", "--columns", "user,item,score")
        facts = [json.loads(program("info", name, "--json").stdout) for name in ("m", "n")]
        assert facts[0]["users"] == facts[1]["users"] == 3 and facts[0]["items"] == facts[1]["items"] == 2
        lists = program("recommend", "n", "--user", "two\nlines", "--include-seen").stdout
        assert lists.count('"two\nlines"') == 2 and '"x\r\ny"' in lists.replace("\n", "\r\n").replace("\r\r", "\r")
    if end == ".jsonl":
        lines = [json.loads(line) for line in (tmp_path / "lists.jsonl").read_text().splitlines()]
        assert {line["user"] for line in lines} == {"two\nlines", "b", 'q"\n,'}


def test_standard_streams_are_used_once(program):
    assert "standard input" in program("train", "-", "--validation", "-", "-o", "m", exit_code=2).stderr
    assert "--json" in program("train", "x", "-o", "-", "--json", exit_code=2).stderr
    assert "--per-user" in program("evaluate", "m", "x", "--per-user", "-", exit_code=2).stderr


def test_appending_by_a_descriptor_keeps_what_was_there(cinema, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("before\n")
    with open(log, "ab") as appended:
        subprocess.run([BINARY, "recommend", cinema / "model.safetensors", "--user", "1", "-n", "1",
                        "-o", "/dev/stdout"], stdout=appended, check=True, timeout=60)
    assert log.read_text().startswith("before\nuser,item,rank,score\n1,")


@pytest.mark.parametrize("option", ["-o", "--journal", "--report"])
@pytest.mark.parametrize("stream", ["closed", "pipe", "file", "null"])
def test_a_search_leaves_the_name_of_a_stream_alone(cinema, tmp_path, option, stream):
    # As /dev/stdout is, but none of the system's is at stake.
    (tmp_path / "out").symlink_to("/proc/self/fd/1")
    (tmp_path / "log").write_text("before\n")
    words = ["tune", cinema / "parts/train.csv", "--budget", "6", option, "out"]
    words += [] if option == "-o" else ["-o", "m"]
    with open(tmp_path / "log", "ab") as log:
        where = {"closed": subprocess.DEVNULL, "pipe": subprocess.PIPE, "file": log,
                 "null": subprocess.DEVNULL}[stream]
        done = subprocess.Popen([BINARY, *words], cwd=tmp_path, stdout=where, stderr=subprocess.PIPE, text=True,
                                preexec_fn=(lambda: os.close(1)) if stream == "closed" else None)
        out, err = done.communicate(timeout=60)
    assert os.readlink(tmp_path / "out") == "/proc/self/fd/1"
    assert not out and (tmp_path / "log").read_text() == "before\n"
    assert set(os.listdir(tmp_path)) <= {"out", "log", "m", "m.journal"}
    if stream == "null" and option == "--report":
        assert done.returncode == 0, err  # it goes where the result goes: nowhere
    else:
        assert done.returncode != 0 and not (tmp_path / "m").exists()
    if stream == "null" and option == "-o":
        assert "name one by --journal" in err
    if stream == "null" and option == "--journal":
        assert "plain file that grows" in err


def test_a_search_writes_into_pipes(program, cinema, tmp_path):
    tune = ["tune", cinema / "parts/train.csv", "--budget", 6]
    os.mkfifo(tmp_path / "pipe")
    for option in ("-o", "--report"):
        told = []
        reader = threading.Thread(target=lambda: told.append((tmp_path / "pipe").read_bytes()), daemon=True)
        reader.start()
        program(*tune, option, "pipe", *([] if option == "-o" else ["-o", "m"]), "--journal", f"journal{option}")
        reader.join(60)
        assert told[0].startswith(b"<!doctype html>") if option == "--report" else told[0][8:9] == b"{"
    assert "plain file that grows" in program(*tune, "-o", "m2", "--journal", "pipe", exit_code=2).stderr
    assert "name one by --journal" in program(*tune, "-o", "pipe", exit_code=2).stderr
    for device in ("/dev/null", "/dev/full"):
        assert "plain file that grows" in program(*tune, "-o", "m2", "--journal", device, exit_code=2).stderr
        assert "name one by --journal" in program(*tune, "-o", device, exit_code=2).stderr
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode) and not (tmp_path / "m2").exists()


def test_a_journal_by_a_link_is_the_file_that_it_leads_to(program, cinema, tmp_path):
    (tmp_path / "notes").symlink_to("kept")
    program("tune", cinema / "parts/train.csv", "-o", "m", "--budget", 6, "--journal", "notes")
    assert os.readlink(tmp_path / "notes") == "kept" and (tmp_path / "kept").read_text().startswith("{")


def test_split_does_not_write_over_what_it_reads(program, cinema, tmp_path):
    program("split", cinema / "ratings.csv", "-o", "parts")
    program("split", cinema / "ratings.csv", "-o", "folds", "--method", "kfold", "--folds", 3)
    before = snapshot(tmp_path)
    (tmp_path / "link").symlink_to("parts/test.csv")
    for ratings, folder in (("parts/train.csv", "parts"), ("link", "./parts/"), ("train.csv", ".")):
        inside = tmp_path / "parts" if folder == "." else tmp_path
        done = subprocess.run([BINARY, "split", ratings, "-o", folder], cwd=inside, text=True,
                              capture_output=True, timeout=60)
        assert done.returncode == 2 and "RATINGS (" in done.stderr and "-o (" in done.stderr
    program("split", "folds/fold-2/train.csv", "-o", "folds", "--method", "kfold", "--folds", 3,
            exit_code=2)
    (tmp_path / "link").unlink()
    assert snapshot(tmp_path) == before


def test_a_model_may_take_the_place_of_the_one_it_grew_from(program, cinema, tmp_path):
    data = cinema / "parts/train.csv"
    train = ("train", data, "--factors", 2, "--device", "cpu")
    program(*train, "-o", "m", "--checkpoint", "state", "--iterations", 2)
    program(*train, "-o", "m", "--resume", "state", "--checkpoint", "state", "--iterations", 3)
    program(*train, "-o", "m", "--resume", "m", "--iterations", 4)
    assert '"iterations": 4' in program("info", "m", "--json").stdout
    program("train", data, "-o", "knn", "--algorithm", "item-knn")
    (tmp_path / "more.csv").write_text("user,item\nsomebody,new\n")
    program("update", "knn", "more.csv", "-o", "knn")
    program("similar", "knn", "--item", "new")


def bad_places(folder):
    (folder / "folder").mkdir(exist_ok=True)
    (folder / "plain").write_text("")
    for link, to in (("loop", "loop"), ("loop-2", "loop"), ("astray", "none/file")):
        (folder / link).symlink_to(to)
    return {"folder": "folder", "folder/": "folder", "new/": "name a file", "none/new": "No such file",
            "plain/new": "Not a directory", "plain/": "Not a directory", "loop": "circle", "loop-2": "circle",
            "loop/new": "circle", "astray": "link", "n" * 300: "too long", "n" * 300 + "/new": "too long",
            "p/" * 3000: "too long", ".": "folder", "..": "folder", "/proc/none": "", "/dev/fd/999": "",
            "": "empty"}


@pytest.mark.parametrize("verb", TABLE)
def test_an_impossible_output_is_one_sentence_before_anything_is_read(program, tmp_path, verb):
    places = bad_places(tmp_path)
    before = snapshot(tmp_path)
    for option in TABLE[verb][2]:
        for place, reason in places.items():
            done = subprocess.run([BINARY, *command(verb, {option: place})], cwd=tmp_path, text=True,
                                  capture_output=True, timeout=60)
            said = done.stderr.splitlines()
            assert done.returncode in (1, 2) and done.stdout == ""
            assert said[0].startswith("likewise: ") and len(said) == 1 + (place == ""), done.stderr
            assert reason in said[0] and place in said[0]
            assert "unexpected" not in said[0] and "filesystem" not in said[0]
            assert "absent" not in said[0], "the inputs that are not there came first"
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("verb", ["split", "demo"])
def test_an_impossible_folder_is_one_sentence_before_anything_is_read(program, tmp_path, verb):
    places = bad_places(tmp_path)
    for name in ("folder", "folder/", "new/", "none/new", ".", ".."):
        del places[name]  # good for a folder
    places.update({"plain": "is a file", "astray": "link to nothing"})
    before = snapshot(tmp_path)
    for place, reason in places.items():
        ratings = ["absent"] if verb == "split" else []
        done = subprocess.run([BINARY, verb, *ratings, "-o", place], cwd=tmp_path, text=True,
                              capture_output=True, timeout=60)
        said = done.stderr.splitlines()
        assert done.returncode in (1, 2) and done.stdout == "" and reason in said[0]
        assert "unexpected" not in said[0] and "absent" not in said[0]
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("option", ["-o", "--checkpoint"])
@pytest.mark.parametrize("name", ["m.gz", "m.safetensors.zst"])
def test_a_name_that_no_model_can_have_is_refused_before_training(program, option, name):
    stderr = program(*command("train", {option: name}), exit_code=2).stderr
    assert name in stderr and "leave out" in stderr and "absent" not in stderr


def test_dev_null_takes_everything_from_everybody(cinema):
    """Also from users who may not make files in /dev."""
    plain_user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    run = {"cwd": "/", "capture_output": True, "text": True, "timeout": 60, **plain_user}
    try:
        subprocess.run([BINARY, "--version"], check=True, **run)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no other user may run the program here")
    with tempfile.NamedTemporaryFile() as ratings:  # in a folder that others may enter
        ratings.write((cinema / "parts/train.csv").read_bytes())
        ratings.flush()
        os.chmod(ratings.name, 0o644)
        for verb in (["train", ratings.name, "-o", "/dev/null", "--iterations", "1", "--factors", "2",
                      "--report", "/dev/null", "--checkpoint", "/dev/null"],
                     ["generate", "20x20x100", "-o", "/dev/null"]):
            done = subprocess.run([BINARY, *verb], **run)
            assert done.returncode == 0, done.stderr


def snapshot(folder):
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None
            for p in folder.rglob("*")}


@pytest.fixture(scope="module")
def splits(cinema, tmp_path_factory):
    """What split writes for some seeds: {train.csv: (seed, test.csv)}."""
    folder = tmp_path_factory.mktemp("splits")
    for seed in range(4):
        subprocess.run([BINARY, "split", cinema / "ratings.csv", "-o", folder / str(seed), "-q",
                        "--seed", str(seed)], check=True, timeout=60)
    return {(folder / str(s) / "train.csv").read_bytes(): (s, (folder / str(s) / "test.csv").read_bytes())
            for s in range(4)}


def seed_of(folder, splits):
    """Which split's files these are; None where the first is missing. Never parts of two."""
    if not (folder / "train.csv").exists():
        return None
    seed, test = splits[(folder / "train.csv").read_bytes()]
    assert (folder / "test.csv").read_bytes() == test
    return seed


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))


def test_a_full_disk_leaves_the_old_split_and_its_neighbours(program, cinema, tmp_path, splits):
    program("split", cinema / "ratings.csv", "-o", "parts", "--seed", 0)
    (tmp_path / "parts/notes.txt").write_text("mine")
    before = snapshot(tmp_path)
    assert max(map(len, splits)) > 30_000 > max(len(test) for _, test in splits.values())
    failed = program.start("split", cinema / "ratings.csv", "-o", "parts", "--seed", "1",
                           preexec_fn=small_files, stderr=subprocess.DEVNULL)
    assert failed.wait(timeout=60) != 0
    assert seed_of(tmp_path / "parts", splits) == 0
    program("split", cinema / "ratings.csv", "-o", "parts", "--seed", 0)
    assert snapshot(tmp_path) == before, "nothing of the failed one is left after the next one"


def test_splits_at_once_do_not_mix(program, cinema, tmp_path, splits):
    for attempt in range(12):
        folder = tmp_path / ("parts" if attempt % 2 else f"parts-{attempt}")
        running = [program.start("split", cinema / "ratings.csv", "-o", folder, "-q", "--seed", str(seed))
                   for seed in (0, 1, 2)]
        # Who finds the folder locked for long is told so.
        assert sorted(r.wait(timeout=60) for r in running)[0] == 0
        assert seed_of(folder, splits) in (0, 1, 2)
        assert sorted(os.listdir(folder)) == ["test.csv", "train.csv"], "what else one left"


def test_a_killed_split_leaves_no_mixture(program, cinema, tmp_path, splits):
    chance = random.Random(1)
    for attempt in range(16):
        folder = tmp_path / ("parts" if attempt % 2 else f"parts-{attempt}")
        process = program.start("split", cinema / "ratings.csv", "-o", folder, "-q", "--seed",
                                str(attempt % 4))
        time.sleep(chance.uniform(0.0, 0.06))
        process.kill()
        process.wait()
        seed_of(folder, splits)
        assert folder.name == "parts" or not folder.exists() or seed_of(folder, splits) is not None
    for name in ("parts", "fresh"):
        program("split", cinema / "ratings.csv", "-o", name, "--seed", 0)
    left = [p.name for p in tmp_path.rglob(".*")]
    assert left == [], "the next split clears what the killed ones left"


def test_folds_of_an_earlier_split_are_not_left_beside_new_ones(program, cinema, tmp_path):
    split = ("split", cinema / "ratings.csv", "-o", "folds", "--method", "kfold", "--folds")
    program(*split, 4)
    before = snapshot(tmp_path)
    stderr = program(*split, 3, exit_code=1).stderr
    assert "folds/fold-4" in stderr and "remove it" in stderr
    assert snapshot(tmp_path) == before
    program(*split, 4, "--seed", 7)
    assert len(snapshot(tmp_path)) == len(before) and snapshot(tmp_path) != before


@pytest.mark.parametrize("verb", ["generate", "train", "recommend"])
def test_what_a_killed_run_left_is_cleared_by_the_next_in_that_folder(program, cinema, tmp_path, verb):
    """A partial file is hidden, and locked as long as its process lives."""
    abandoned = tmp_path / ".lists.csv.likewise-partial-99-0"
    abandoned.write_text("half a")
    (tmp_path / ".lists.csv.partial").write_text("somebody's own")
    words = {"generate": ["generate", "20x20x100", "-o", "x.csv"],
             "train": ["train", cinema / "parts/train.csv", "-o", "m", "--iterations", 1],
             "recommend": ["recommend", cinema / "model.safetensors", "--user", 1, "-o", "r.csv"]}
    program(*words[verb])
    assert not abandoned.exists() and (tmp_path / ".lists.csv.partial").exists()


def test_rows_are_json_lines_on_standard_output(program, cinema):
    model, pairs = cinema / "model.safetensors", cinema / "parts/test.csv"
    for verb in (["recommend", model, "--user", 1, "--user", 2], ["similar", model, "--item", 3], ["predict", model, pairs]):
        lines = [json.loads(line) for line in program(*verb, "--json", "-q").stdout.splitlines()]
        rows = list(csv.DictReader(io.StringIO(program(*verb, "-q").stdout)))
        assert [{name: str(value) for name, value in line.items()} for line in lines] == rows
        assert isinstance(lines[0].get("score", lines[0].get("prediction")), float)
        stderr = program(*verb, "--json", "-o", "rows.csv", exit_code=2).stderr
        assert "--json prints to standard output" in stderr and "-o FILE.jsonl" in stderr
