# SPDX-License-Identifier: Apache-2.0
"""Help, versions and wrong usage."""
import json
import os
import platform
import re
import shutil
import subprocess

import pytest

VERBS = ["demo", "generate", "split", "train", "evaluate", "cross-validate", "predict", "recommend", "similar",
         "compare", "serve", "mcp", "info", "completion"]


def test_general_help_lists_every_verb(program):
    for arguments in ([], ["--help"], ["-h"], ["help"]):
        text = program(*arguments).stdout
        for verb in VERBS:
            assert f"\n  {verb} " in text


def test_version(program):
    assert program("--version").stdout.startswith("likewise 0.")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself_with_an_example(program, verb):
    done = program(verb, "--help")
    usage, examples, options = re.split(r"\nExamples:|(?<=\n)(?:Arguments|One of these is needed|Options):", done.stdout)[:3]
    assert f"\nUsage: likewise {verb}" in usage and f"\n  likewise {verb}" in examples and "\n  " in options
    assert done.stdout.endswith("\n") and "\n\n\n" not in done.stdout and not done.stdout.endswith("\n\n")
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert done.stderr == ""
    assert program("help", verb).stdout == done.stdout


def test_training_help_shows_defaults(program):
    text = program("train", "--help").stdout
    for part in ("--factors N", "[implicit from the data, 64 to 512; 64 explicit", "--regularization-exponent X", "--cg-steps N", "[auto]"):
        assert part in text


def test_an_option_of_training_stands_under_its_algorithms(program):
    found = dict(re.findall(r"^(\w[^\n]*):\n((?:  [^\n]*\n)+)", program("train", "--help").stdout, re.M))
    assert len({heading.lower() for heading in found}) == len(found)
    for heading, option in (("Options", "--feedback"), ("For --algorithm als, sgd, bpr, spectral", "--factors"),
                            ("For --algorithm als", "--solver"), ("For --algorithm sgd", "--loss"),
                            ("For --algorithm item-knn, user-knn", "--similarity")):
        assert f"\n  {option} " in "\n" + found[heading], heading
    text = " ".join(found["Options"].split())
    assert "als: matrix factorisation; " in text and "sgd: ratings, by stochastic gradient descent; " in text


def test_a_mistyped_verb_gets_the_nearest(program):
    assert "did you mean train?" in program("trian", exit_code=2).stderr
    assert "did you mean" not in program("zzzzzzzz", exit_code=2).stderr


def test_a_mistyped_option_gets_the_nearest(program):
    stderr = program("train", "x", "-o", "y", "--factor", "3", exit_code=2).stderr
    assert "--factor'" in stderr and "did you mean --factors?" in stderr
    assert "likewise train --help" in stderr
    assert "did you mean -n?" in program("recommend", "m", "--n", "3", exit_code=2).stderr
    assert "did you mean" not in program("serve", "m", "--port", "1", exit_code=2).stderr


@pytest.mark.parametrize(
    "arguments, named",
    [
        (["train"], "RATINGS"),
        (["train", "x"], "--output"),
        (["train", "x", "-o", "y", "--feedback", "implict"], "did you mean implicit?"),
        (["train", "x", "-o", "y", "--algorithm", "magic"], "als|item-knn|user-knn|popular|bias"),
        (["train", "x", "-o", "y", "--factors", "many"], "--factors"),
        (["train", "x", "-o", "y", "--factors", "0"], "factors"),
        (["train", "x", "-o", "y", "--factors", "-3"], "--factors must be a whole number in [1, 4096], not '-3'"),
        (["train", "x", "-o", "y", "--neighbours", "007"], "--neighbours must be a whole number in [1, 100000], not '007'"),
        (["train", "x", "-o", "y", "--regularization", "inf"], "--regularization must be in [0, 1e15], not 'inf'"),
        (["train", "x", "-o", "y", "--device-memory", "2 cups"], "2GiB"),
        (["train", "x", "-o", "y", "--device-memory", "-1GiB"], "2GiB"),
        (["train", "x", "-o", "y", "--device-memory", "0"], "2GiB"),
        (["train", "x", "-o", "y", "--device", "cpu", "--device-memory", "2GiB"], "device cpu"),
        (["train", "x", "-o", "y", "--verbose", "--quiet"], "--quiet"),
        (["train", "x", "-o", "y", "--regularization", "-1"], "regularization"),
        (["train", "x", "-o", "y", "--regularization", "nan"], "regularization"),
        (["recommend", "m"], "--user"),
        (["recommend", "m", "--user", "1", "--all"], "--all"),
        (["recommend", "m", "--all", "-n", "0"], "-n"),
        (["similar", "m", "--item", "1", "--metric", "sine"], "cosine|dot|euclidean|hellinger"),
        (["similar", "m", "--all-items", "--all-users"], "only one of"),
        (["similar", "m"], "--all-users"),
        (["generate", "blob", "-o", "x.csv"], "blob"),
        (["split", "x", "-o", "d", "--method", "randm"], "did you mean random?"),
        (["info", "a", "b"], "'b'"),
        (["--quiet", "info"], "--quiet"),
        (["train", "--", "x"], "--output is required"),
        (["info", "x", "--json=5"], "--json is a flag and takes no value"),
        (["info", "x", "--since", "2020-01-01", "--since", "2021-01-01"], "--since is given 2 times: once is enough"),
        (["recommend", "m", "--all", "-n", "-1"], "'-1' is not a whole number from 1 to 1000000"),
        (["recommend", "m", "--all", "-n", "0"], "'0' is not a whole number from 1 to 1000000"),
        (["recommend", "m", "--all", "-n", "03"], "'03' is not a whole number from 1 to 1000000"),
        (["recommend", "m", "--all", "-n", "+3"], "'+3' is not a whole number from 1 to 1000000"),
        (["recommend", "m", "--all", "--threads", "+2"], "'+2' is not a whole number from 0 to 2147483647"),
        (["train", "x", "-o", "y", "--seed", "+2"], "likewise: --seed must be a natural number below 2^64, not '+2'"),
        (["split", "x", "-o", "d", "--test", "nan"], "--test: 'nan' is not a finite number\n"),
        (["split", "x", "-o", "d", "--test", "2"], "--test must be in (0, 1), not 2"),
        (["train", "x", "-o", "y", "--algorithm", "als", "--init-stddev", "-1"], "--init-stddev must be in"),
        (["train", "x", "-o", "y", "--algorithm", "bpr", "--feedback", "explicit"], "--feedback must be implicit with bpr"),
        (["train", "x", "-o", "y", "--algorithm", "item-knn", "--sum-scale", "offset"], "--sum-scale offset needs --sum-lists reverse"),
    ],
)
def test_wrong_usage_is_exit_2_and_names_what_is_wrong(program, arguments, named):
    assert named in program(*arguments, exit_code=2).stderr


@pytest.mark.parametrize("arguments", [
    ["train", "x", "-o", "y", "--columns", "user,,time"], ["train", "x", "-o", "y", "--columns", ",2"],
    ["train", "x", "-o", "y", "--titles", "t", "--titles-columns", "1,2,"], ["evaluate", "m", "x", "-k", "10,,20"],
    ["evaluate", "m", "x", "-k", "5", "--metrics", ","], ["tune", "x", "-o", "y", "--algorithm", "als,,bpr"],
    ["serve", "--models", "a=m,,b=n"], ["serve", "m", "--host", "a,,b"], ["autotune", "-o", "x", "--precision", "fp16,,fp32"]])
def test_no_entry_of_a_list_is_empty(program, arguments):
    told = program(*arguments, exit_code=2).stderr
    assert f"{arguments[-2]}: '{arguments[-1]}' has an empty entry" in told


def numbers_of(program, verb):
    """The options of a verb that take a number, and lists of numbers."""
    found = re.findall(r"^  (?:-\w,)?(--?[\w-]+) (N|X|SHARE|LIST)\b", program(verb, "--help").stdout, re.M)
    return [(name, kind) for name, kind in found
            if kind != "LIST" or name in ("-k", "--k")]


@pytest.mark.parametrize("verb", [*VERBS, "tune", "update", "autotune", "report"])
def test_numbers_that_do_not_fit_are_told_the_range(program, verb):
    needed = {"split": ["x", "-o", "d"], "train": ["x", "-o", "m"], "generate": ["9x9x9", "-o", "x.csv"],
              "tune": ["x", "-o", "m"], "update": ["m", "x", "-o", "n"], "recommend": ["m", "--all"],
              "similar": ["m", "--all-items"], "evaluate": ["m", "x"], "cross-validate": ["x"], "predict": ["m", "x"],
              "compare": ["x"], "report": ["m", "-o", "p"], "demo": ["-o", "d"]}.get(verb, [])
    for name, kind in numbers_of(program, verb):
        for value in ("1" + 25 * "0", "12x") if kind in ("N", "LIST") else ("1e400", "12x", "nan"):
            told = program(verb, *needed, name, value, exit_code=2).stderr
            assert name in told and value in told, told
            assert re.search(r"from \S+ to \S+|must be (?:a whole number )?in [\[(]|below 2\^64|or more, not '12x'|a finite number$", told, re.M), told
            assert "convert" not in told
    whole = {"split": ["--rows", "--folds", "--last"], "recommend": ["-n"], "evaluate": ["-k", "--negatives"],
             "cross-validate": ["-k", "--folds"],
             "train": ["--threads", "--checkpoint-every", "--factors"], "update": ["--iterations"]}
    for name in whole.get(verb, []):
        told = program(verb, *needed, name, "1000000000000", exit_code=2).stderr
        assert name.strip("-") in told and "1000000000000" in told, told
        assert re.search(r"from \d+ to \d+|in \[\d+, \d+\]", told), told


def test_info_describes_the_machine(program):
    facts = json.loads(program("info", "--json", "--threads", 1).stdout)
    assert facts["threads"] == 1
    names = [b["name"] for b in facts["backends"]]
    assert names[:2] == ["cpu", "reference"] and names[2].startswith("cuda")
    assert facts["version"] in program("--version").stdout


def test_instruction_set_can_be_pinned(program):
    facts = json.loads(program("info", "--json", env={"LIKEWISE_ISA": "scalar"}).stdout)
    assert facts["instruction_set"] in ("SCALAR", "SSE2", "NEON")
    flags = open("/proc/cpuinfo").read() if os.path.exists("/proc/cpuinfo") else ""
    if " avx2 " in flags:
        facts = json.loads(program("info", "--json", env={"LIKEWISE_ISA": "avx2"}).stdout)
        assert facts["instruction_set"] == "AVX2"
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"} <= set(flags.split()):
        facts = json.loads(program("info", "--json", env={"LIKEWISE_ISA": ""}).stdout)
        assert facts["instruction_set"] == "AVX-512"


def test_an_impossible_instruction_set_is_refused(program):
    impossible = "neon" if "x86" in platform.machine() else "avx2"
    assert impossible in program("info", exit_code=1, env={"LIKEWISE_ISA": impossible}).stderr
    assert "mmx" in program("info", exit_code=2, env={"LIKEWISE_ISA": "mmx"}).stderr


def test_training_tells_what_it_takes_of_the_memory_when_asked(program, cinema):
    plain = program("train", cinema / "ratings.csv", "-o", "m", "--iterations", 1,
                    "--device", "cpu").stderr
    verbose = program("train", cinema / "ratings.csv", "-o", "m", "--iterations", 1,
                      "--device", "cpu", "--verbose").stderr
    assert "memory of cpu" not in plain
    lines = verbose.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("memory of cpu: "))
    names = [line.split("  ")[1] for line in lines[at + 1:at + 7]]
    assert names[0] == "interactions by item" and names[-2:] == ["total", "available"]
    assert all(line.split()[-1] in ("KiB", "MiB", "GiB") for line in lines[at + 1:at + 7])


def completed(script, *words):
    """What bash offers for the last of these words."""
    asked = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _likewise; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", asked, script, *words], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_verbs_options_and_choices(program, tmp_path):
    script = tmp_path / "likewise.bash"
    script.write_text(program("completion", "bash").stdout)
    told = program("--help").stdout.split("Verbs:\n")[1].split("\n\n")[0]
    verbs = [line.split()[0] for line in told.splitlines()]
    assert completed(script, "likewise", "")[:len(verbs)] == verbs
    assert completed(script, "likewise", "re") == ["recommend", "report"]
    assert completed(script, "likewise", "help", "tr") == ["train"]
    assert completed(script, "likewise", "train", "x.csv", "--feedback", "") == ["implicit", "explicit"]
    assert completed(script, "likewise", "completion", "z") == ["zsh"]
    assert completed(script, "likewise", "train", "-o", "") == []  # files, by bash itself
    for verb in verbs:
        listed = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", program(verb, "--help").stdout, re.M)) - {"--help"}
        assert listed <= set(completed(script, "likewise", verb, "-")), verb


def test_the_other_shells_get_the_same_words(program):
    zsh, fish = (program("completion", shell).stdout for shell in ("zsh", "fish"))
    assert zsh.startswith("#compdef likewise\n") and "'*--feedback[" in zsh and ":value:(implicit explicit)'" in zsh
    assert "GPU'\\''s" not in zsh and "machine'\\''s GPU" in zsh
    assert "-n '__fish_seen_subcommand_from train' -l feedback -r -f -a 'implicit explicit'" in fish
    assert "-a 'bash zsh fish'" in fish and "machine\\'s GPU" in fish
    for text, shell in ((zsh, "zsh"), (fish, "fish")):
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=text, text=True, check=True)
    assert "'tcsh' is not one of bash|zsh|fish" in program("completion", "tcsh", exit_code=2).stderr
