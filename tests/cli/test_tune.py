# SPDX-License-Identifier: Apache-2.0
"""`likewise tune` from outside: what it finds, keeps, shows and refuses, and that a search which was ended
goes on."""
import importlib.util
import json
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

from conftest import BINARY

ROOT = pathlib.Path(__file__).resolve().parents[2]

FEW = ["--budget", "8", "--algorithm", "als,item-knn"]


def search(program, cinema, *more, out="m", budget=FEW):
    return json.loads(program("tune", cinema / "parts/train.csv", "-o", out, *budget, "--json", *more).stdout)


def steady(told):
    """Without times."""
    return [{key: value for key, value in trial.items() if key not in ("seconds", "finished")}
            for trial in told["trials"]]


def test_the_winner_is_trained_on_everything_and_its_search_is_kept(program, cinema, tmp_path):
    told = search(program, cinema)
    assert len(told["trials"]) == 8 and told["metric"] == "ndcg@10" and told["higher_is_better"]
    finals = [trial["final_value"] for trial in told["trials"] if "final_value" in trial]
    assert told["final_parts"] == 3 and 6 <= len(finals) <= 8
    assert told["best"]["final_value"] == max(finals)
    assert told["baseline"]["algorithm"] == "popular"
    assert told["beats_baseline"] == (told["best"]["final_value"] > told["baseline"]["final_value"])
    assert told["left_out"] == told["notes"] == [] and told["users_not_ranked"] == 0
    assert ("nothing beats the baseline" in told["warning"]) != told["beats_baseline"]
    info = json.loads(program("info", "m", "--json").stdout)
    whole = json.loads(program("info", cinema / "parts/train.csv", "--json").stdout)
    assert info["interactions"] == whole["interactions"]
    kept = info["search"]
    assert kept["value"] == told["best"]["final_value"] and kept["trials"] == 8 and kept["budget"] == "8"
    assert kept["validation"] == "per-user 0.2, mean of 3 parts" and kept["seed"] == 42
    assert kept["baseline"] == "popular" and kept["baseline_value"] == told["baseline"]["final_value"]
    assert "search" in program("info", "m").stdout
    the_command_gives_the_same_model(program, told, tmp_path)


def the_command_gives_the_same_model(program, told, folder):
    words = told["command"].split()
    words[words.index("-o") + 1] = "again"
    program(*words[1:])
    for model in ("m", "again"):
        program("recommend", model, "--all", "-o", f"{model}.csv")
    assert (folder / "m.csv").read_bytes() == (folder / "again.csv").read_bytes()


@pytest.mark.parametrize("algorithm", ["als", "bpr", "ease", "item-knn", "spectral", "user-knn"])
@pytest.mark.parametrize("budget", [1, 12])
def test_the_command_of_every_algorithm_gives_the_same_model(program, cinema, tmp_path, algorithm, budget):
    """Of its defaults too, where a search has no time for more."""
    told = search(program, cinema, "--algorithm", algorithm, budget=["--budget", budget])
    the_command_gives_the_same_model(program, told, tmp_path)


def test_the_same_search_again_and_with_other_threads(program, cinema):
    first = search(program, cinema)
    assert steady(search(program, cinema, "--threads", 1)) == steady(first)
    assert steady(search(program, cinema, "--seed", 7)) != steady(first)


def test_a_validation_file_is_measured_and_then_trained_on(program, cinema):
    told = search(program, cinema, "--validation", cinema / "parts/test.csv")
    info = json.loads(program("info", "m", "--json").stdout)
    whole = json.loads(program("info", cinema / "ratings.csv", "--json").stdout)
    assert info["interactions"] == whole["interactions"] and info["search"]["validation"].startswith("test.csv; ")
    assert "have no history: not ranked" in info["search"]["validation"] and told["users_not_ranked"] > 0
    assert told["trained_on"] == ["train.csv", "test.csv"]
    shown = program("tune", cinema / "parts/train.csv", "-o", "m", *FEW, "--validation", cinema / "parts/test.csv",
                    "--resume").stdout
    assert "train.csv and test.csv together" in shown


@pytest.mark.parametrize("how", [["--validation-method", "random", "--validation-share", "0.3"],
                                 ["--validation-method", "last"], ["--validation-method", "time"],
                                 ["--metric", "recall@5"], ["--validation-share", "0.3"]])
def test_what_is_measured_on_matters(program, tmp_path, how):
    draw = random.Random(2)
    rows = {(draw.randrange(80), draw.randrange(30)): draw.randrange(1000) for _ in range(900)}
    (tmp_path / "timed.csv").write_text("user,item,value,time\n" + "".join(
        f"{user},{item},1,{time}\n" for (user, item), time in rows.items()))
    told = [json.loads(program("tune", "timed.csv", "-o", "m", *FEW, "--json", *more).stdout)
            for more in (how, [])]
    assert steady(told[0]) != steady(told[1])


def test_ratings(program, cinema):
    told = search(program, cinema, "--feedback", "explicit", "--report", "page.html", budget=["--budget", "9"])
    assert told["metric"] == "rmse" and not told["higher_is_better"]
    assert {trial["algorithm"] for trial in told["trials"]} == {"als", "sgd", "item-knn", "user-knn"}
    assert told["best"]["value"] == min(trial["value"] for trial in told["trials"])
    assert told["baseline"]["algorithm"] == "bias"


def test_the_page_and_the_table(program, cinema, tmp_path):
    done = program("tune", cinema / "parts/train.csv", "-o", "m", "--budget", "20", "--algorithm", "als,user-knn",
                   "--report", "page.html")
    assert "popular" in done.stdout and "baseline" in done.stdout and "likewise train" in done.stdout
    assert "best of 20 trials: ndcg@10 0." in done.stderr and " (mean of " in done.stderr and "model: m" in done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "ndcg@10 of the best, mean of " in page and "ndcg@10 of the baseline, popular, mean of " in page
    for part in ("All trials", "The best again", "Found when", "Importance", "Trials of als",
                 "Trials of user-knn", "likewise train", "neighbours", "unobserved_weight"):
        assert part in page, part
    assert "http" not in page.replace("http-equiv", "")


def test_the_random_search_of_the_benchmark_has_the_same_ranges(program, cinema):
    sys.path.insert(0, str(ROOT / "scripts"))
    bench = importlib.import_module("experiments.searches")
    told = search(program, cinema, budget=["--budget", "120"])
    suited = told["trials"][0]["parameters"]
    drawn = {}  # of each algorithm and option: all values
    draw = random.Random(4)
    for _ in range(4000):
        options = bench.drawn(draw, suited)
        for option, value in zip(options[2::2], options[3::2]):
            drawn.setdefault((options[1], option[2:].replace("-", "_")), set()).add(value)
    tuned = {}
    for trial in told["trials"]:
        if trial["origin"] == "quasi-random":
            for name, value in trial["parameters"].items():
                tuned.setdefault((trial["algorithm"], name), set()).add(value)
    for algorithm in ("als", "bpr"):
        longest = dict(zip(*[iter(bench.longest(algorithm))] * 2))
        assert max(tuned.pop((algorithm, "iterations"))) <= int(longest["--iterations"])
    del drawn["als", "regularization_exponent"]  # not searched
    assert set(tuned) == set(drawn)
    for parameter, values in tuned.items():
        if isinstance(next(iter(values)), str):
            assert values <= drawn[parameter], parameter
        else:
            of_bench = sorted(float(value) for value in drawn[parameter])
            assert of_bench[0] * 0.95 <= min(values) and max(values) <= of_bench[-1] * 1.05, parameter


def test_a_search_that_finds_nothing_better_says_so(program, tmp_path):
    draw = random.Random(1)
    rows = "".join(f"{user},{item},1\n" for user in range(60) for item in range(40)
                   if draw.random() < 0.9 * 0.93 ** item)  # popularity is all that there is
    (tmp_path / "flat.csv").write_text("user,item,value\n" + rows)
    done = program("tune", "flat.csv", "-o", "m", "--budget", "1", "--algorithm", "user-knn", "-q")
    assert "warning: nothing beats the baseline" in done.stderr and "popular" in done.stderr
    assert done.stderr.count("\n") == 1  # said even when quiet


@pytest.fixture
def coming(tmp_path):
    """Users come one after the other: of the last ones the older part knows nothing."""
    draw = random.Random(3)
    rows = {(draw.randrange(80), draw.randrange(30)): draw.randrange(100) for _ in range(1500)}
    path = tmp_path / "coming.csv"
    path.write_text("user,item,value,time\n" + "".join(
        f"{user},{item},1,{10 * user + time}\n" for (user, item), time in rows.items()))
    return path


def test_users_without_a_history_do_not_decide_and_are_counted_everywhere(program, coming, tmp_path):
    words = ["tune", coming, "-o", "m", "--budget", 4, "--algorithm", "item-knn", "--validation-method", "time",
             "--report", "page.html"]
    told = json.loads(program(*words, "--json").stdout)
    assert told["users_not_ranked"] > 5
    assert told["measured_users"] == told["validation_users"] - told["users_not_ranked"]
    line = f"{told['users_not_ranked']} of {told['validation_users']} users have no history: not ranked"
    assert line in (tmp_path / "page.html").read_text() and line in program("info", "m").stdout
    assert line in program(*words).stdout


def test_the_command_keeps_titles_and_files_that_look_like_options(program, cinema, tmp_path):
    (tmp_path / "-dash.csv").write_bytes((cinema / "parts/train.csv").read_bytes())
    (tmp_path / "-called.csv").write_text("name,id\nA film,1\n")
    told = json.loads(program("tune", "./-dash.csv", "-o", "./-m", *FEW, "--json", "--titles", "./-called.csv",
                              "--titles-columns", "id,name").stdout)
    words = told["command"].split()
    assert words[2] == "./-dash.csv" and words[words.index("-o") + 1] == "./-m"
    assert words[words.index("--titles"):][:4] == ["--titles", "./-called.csv", "--titles-columns", "id,name"]
    program(*words[1:], "-q")
    words = program("tune", "-o", "m", *FEW, "--", "-dash.csv").stdout.splitlines()[-1].split()
    assert words[:3] == ["likewise", "train", "./-dash.csv"]


def test_json_and_page_say_what_was_not_searched(program, cinema, tmp_path):
    (tmp_path / "genres.csv").write_text("item,genre\n" + "".join(f"{item},g{item % 3}\n" for item in range(1, 30)))
    told = search(program, cinema, "--item-features", "genres.csv", "--report", "page.html", budget=["--budget", "3"])
    assert told["left_out"] == ["item-knn, user-knn, ease: without factors, which features are about"]
    page = (tmp_path / "page.html").read_text()
    assert "Not searched" in page and told["left_out"][0] in page


def test_interrupted_it_says_the_command_for_everything(program, cinema, tmp_path):
    words = ["tune", cinema / "parts/train.csv", "-o", "m", "--budget", "1h", "--algorithm", "als"]
    process = program.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "m.journal"
    deadline = time.monotonic() + 30
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 2):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    told = process.communicate()[1]
    assert "the best of " in told and "likewise train" in told
    weight = float(told.partition("--unobserved-weight ")[2].split()[0])
    part = {float(trial["unobserved_weight"]) for trial in (
        json.loads(line).get("parameters", {}) for line in journal.read_text().splitlines()[1:]) if "unobserved_weight" in trial}
    assert weight not in part


REFUSED = {
    "--algorithm magic": "no algorithm 'magic'",
    "--algorithm popular": "nothing to search",
    "--algorithm all,als": "stands alone",
    "--algorithm sgd": "sgd learns from explicit feedback only",
    "--algorithm bpr --feedback explicit": "bpr learns from implicit feedback only",
    "--algorithm als,als": "named twice",
    "--metric magic": "unknown metric",
    "--metric rmse": "needs feedback explicit",
    "--metric popularity": "does not say how good lists are",
    "--budget 0": "nothing can be searched",
    "--budget 0m": "nothing can be searched",
    "--budget 3": "less than one for each of 6 algorithms",
    "--budget 5x": "no such unit",
    "--budget soon": "no number",
    "--validation-share 1": "the validation part: --validation-share must be in",
    "--validation-share nan": "'nan' is not a finite number",
    "--validation absent --validation-share 0.1": "--validation-share would do nothing",
    "--validation absent --validation-method last": "--validation-method would do nothing",
    "--validation-method last --validation-share 0.1": "--validation-share would do nothing",
    "--titles-columns 1,2": "--titles-columns",
    "--journal j.gz": "plain file",
    "--journal -": "--journal and the result on standard output are the same file",
    "--device magic": "magic",
}


@pytest.mark.parametrize("options", REFUSED)
def test_wrong_options_are_refused_before_anything_is_read(program, options):
    stderr = program("tune", "absent.csv", "-o", "m", *options.split(), exit_code=2).stderr
    assert REFUSED[options] in stderr and "absent.csv" not in stderr


def test_resuming_needs_a_journal_of_the_same_search(program, cinema, tmp_path):
    stderr = program("tune", "absent.csv", "-o", "m", "--resume", exit_code=1).stderr
    assert "m.journal" in stderr and "no journal to resume" in stderr
    search(program, cinema)
    stderr = program("tune", cinema / "parts/train.csv", "-o", "m", *FEW, "--seed", 1, "--resume", exit_code=2).stderr
    assert "seed is 42, not 1" in stderr
    stderr = program("tune", cinema / "parts/test.csv", "-o", "m", *FEW, "--resume", exit_code=2).stderr
    assert "training_part" in stderr
    (tmp_path / "m.journal").write_text("mine\n")
    stderr = program("tune", "absent.csv", "-o", "m", exit_code=2).stderr
    assert "no journal of a search" in stderr and (tmp_path / "m.journal").read_text() == "mine\n"


def test_one_search_at_a_time_writes_a_journal(program, cinema, tmp_path):
    words = ["tune", cinema / "parts/train.csv", "-o", "m"]
    first = program.start(*words, "--budget", "1h", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    journal = tmp_path / "m.journal"
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 3):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    stderr = program(*words, "--budget", "1h", "--resume", exit_code=1).stderr
    assert "m.journal: another search is writing this journal; wait until it is over" in stderr
    first.kill()
    first.communicate()
    program(*words, "--budget", "1s", "--resume")


def test_what_refuses_the_data_is_told_and_the_search_goes_on(program, tmp_path):
    draw = random.Random(3)
    rows = {(draw.randrange(60), draw.randrange(30)): draw.randrange(1, 6) for _ in range(900)}
    (tmp_path / "large.csv").write_text("user,item,value\n" + "".join(
        f"{user},{item},{stars * 1e9:.0f}\n" for (user, item), stars in rows.items()))
    words = ["tune", "large.csv", "-o", "m", "--feedback", "explicit", "--budget", "6"]
    told = json.loads(program(*words, "--json", "--report", "page.html").stdout)
    assert told["best"]["algorithm"] in ("item-knn", "user-knn")
    without = {trial["algorithm"]: trial["failure"] for trial in told["trials"] if trial["value"] is None}
    assert set(without) == {"als", "sgd"}
    assert all("is too large: ratings are at most 1e+09" in why for why in without.values())
    page = (tmp_path / "page.html").read_text()
    assert "Without a value" in page and "sgd: large.csv:" in page
    assert steady(json.loads(program(*words, "--json", "--resume").stdout)) == steady(told)
    stdout = program(*words).stdout
    assert "Without a value:\n  sgd: large.csv:" in stdout
    words += ["--algorithm", "als,sgd"]
    for _ in range(2):  # what it leaves is in nobody's way
        stderr = program(*words, exit_code=1).stderr
        assert "no algorithm has a value: sgd: large.csv:" in stderr and "; als: large.csv:" in stderr
    assert json.loads(program("train", "large.csv", "-o", "n", "--feedback", "explicit", "--algorithm", "auto",
                              "--json").stdout)["algorithm"] == "bias"


def test_data_with_one_item_or_without_values_is_searched_or_refused_in_one_sentence(program, tmp_path):
    (tmp_path / "one.csv").write_text("user,item,value\n" + "".join(f"{user},1,{user % 5}\n" for user in range(50)))
    (tmp_path / "zeros.csv").write_text("user,item,value\n" + "".join(
        f"{user},{(user * 7 + n) % 20},0\n" for user in range(50) for n in range(6)))
    stderr = program("tune", "one.csv", "-o", "m", "--budget", "6", exit_code=2).stderr
    assert ("the validation part: --validation-share 0.2: no user has enough interactions for one in the test part, "
            "which would be empty; --validation-method random draws") in stderr
    for data, cut in (("one.csv", ["--validation-method", "random"]), ("zeros.csv", [])):
        for feedback in ("implicit", "explicit"):
            words = ["tune", data, "-o", "m", "--feedback", feedback, "--budget", "6", *cut]
            done = subprocess.run([BINARY, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert done.returncode in (0, 1), done.stderr
            again = subprocess.run([BINARY, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert again.returncode == done.returncode, again.stderr  # the journal is in nobody's way


def test_no_users_to_validate_on(program, cinema, tmp_path):
    (tmp_path / "strangers.csv").write_text("user,item,value\nnobody,nothing,1\n")
    stderr = program("tune", cinema / "parts/train.csv", "-o", "m", *FEW, "--validation", "strangers.csv",
                     exit_code=1).stderr
    assert "nothing to rank: no user has a relevant test item. Of 1 test rows, 1 have a user or item" in stderr
    assert not (tmp_path / "m").exists()


def test_killed_at_random_moments_it_ends_with_the_same_winner(program, cinema, tmp_path):
    moments = random.Random(5)
    whole = search(program, cinema, out="whole", budget=["--budget", "14"])
    for attempt in range(3):
        name = f"m{attempt}"
        words = ["tune", str(cinema / "parts/train.csv"), "-o", name, "--budget", "14", "--json"]
        for _ in range(40):
            going_on = ["--resume"] if (tmp_path / f"{name}.journal").exists() else []
            process = program.start(*words, *going_on, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            try:
                told, _ = process.communicate(timeout=moments.uniform(0.02, 0.6))
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        else:
            told = program(*words, "--resume").stdout
        assert steady(json.loads(told)) == steady(whole)
        assert (tmp_path / name).exists()


def test_ctrl_c_says_the_best_so_far_and_how_to_go_on(program, cinema, tmp_path):
    words = ["tune", str(cinema / "parts/train.csv"), "-o", "m", "--budget", "1h"]
    process = program.start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    journal = tmp_path / "m.journal"
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 5):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 1 and out == ""
    last = err.splitlines()[-1]
    assert "interrupted before a model was written" in last and "--resume" in last and "(SIGINT)" in last
    assert "ndcg@10" in last and "likewise train" in last and not (tmp_path / "m").exists()
    stderr = program(*words, exit_code=2).stderr
    assert "not over; resume it" in stderr
    program(*words[:-1], "3s", "--resume")
    assert (tmp_path / "m").exists()
