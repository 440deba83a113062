# SPDX-License-Identifier: Apache-2.0
"""What bash, zsh and fish offer after a tab, asked of the shells themselves."""
import os
import re
import shutil
import subprocess

import pytest

BASH = r"""
source "$0"; cd "$1"; line=$2
_given() { COMP_LINE=$line COMP_POINT=${#line}; COMP_WORDS=($line)
  [[ $line != *' ' ]] || COMP_WORDS+=(''); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _likewise likewise; }
_given
[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))  # -o default, which the shell does
printf '%s\n' "${COMPREPLY[@]}"
"""

# A shell in a pseudo terminal, in which a tab is pressed; `compadd`, by which all completions go, tells what matches.
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "source ${(q)1}"
zpty -r -m shell seen $'*<ready>*' || exit 1
zpty -w -n shell "$2"$'\t'
zpty -r -m shell seen $'*<end>*' || exit 1
print -r -- "$seen"
zpty -d shell
"""
ZSH_SETUP = r"""
PROMPT= RPROMPT=
setopt extended_glob
autoload -U compinit
compinit -u -d $HOME/dump
source {script}
cd {folder}
bindkey '^I' complete-word
compadd() {{
  local one; local -a found
  for one in "$@"; do
    [[ $one != (-|--) ]] || break
    [[ $one != -[a-zA-Z]#[OAD] ]] || {{ builtin compadd "$@"; return }}
  done
  builtin compadd -O found "$@"
  print -rl -- "" "="${{^found}}
  builtin compadd "$@"
}}
all_told() {{ print -r -- "<end>" }}
comppostfuncs=(all_told)
print -r -- "<rea""dy>"
"""


def needed(shell):
    return shutil.which(shell) or pytest.skip(f"no {shell}: scripts/setup installs it")


def lines(command, folder):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=folder,
                          env={**os.environ, "HOME": str(folder), "TERM": "dumb"})
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.replace("\r", "").splitlines()


def by_bash(script, folder, line):
    return lines([needed("bash"), "--norc", "-c", BASH, script, folder, line], folder)


def by_zsh(script, folder, line):
    setup = script.with_name("setup.zsh")
    setup.write_text(ZSH_SETUP.format(script=script, folder=folder))
    told = lines([needed("zsh"), "-f", "-c", ZSH, "zsh", setup, line], folder.parent.parent)  # all share what compinit found
    return [word[1:] for word in told if word.startswith("=")]


def by_fish(script, folder, line):
    asked = f"source {script}; cd {folder}; complete -C \"$line\""
    return [word.split("\t")[0] for word in lines([needed("fish"), "--no-config", "-c", f"set line '{line}'; {asked}"], folder)]


@pytest.fixture(params=["bash", "zsh", "fish"])
def offers(request, program, tmp_path):
    """`offers(line)`: the words that a shell offers at the end of the line, in a folder with `ratings.csv`."""
    needed(request.param)
    script = tmp_path / "likewise.completion"
    script.write_text(program("completion", request.param).stdout)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "ratings.csv").write_text("")
    ask = {"bash": by_bash, "zsh": by_zsh, "fish": by_fish}[request.param]
    return lambda line: {word.strip() for word in ask(script, folder, line)} - {""}


def test_verbs(offers):
    assert offers("likewise tr") == {"train"}
    assert {"train", "tune", "recommend", "completion"} <= offers("likewise ")


def test_options(offers, program):
    given = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", program("similar", "--help").stdout, re.M)) - {"--help"}
    assert given <= offers("likewise similar --")
    assert offers("likewise train ratings.csv --regularization-c") == {"--regularization-count"}


@pytest.mark.parametrize("line, words", [
    ("train ratings.csv --algorithm ", {"als", "item-knn", "user-knn", "popular", "bias", "sgd", "bpr", "ease", "spectral", "auto"}),
    ("train ratings.csv --algorithm b", {"bias", "bpr"}), ("train --feedback ", {"implicit", "explicit"}),
    ("train --similarity pearson", {"pearson", "pearson-full", "pearson-baseline"}),
    ("train --validation-metric nd", {"ndcg"}), ("tune --metric ndcg", {"ndcg"}), ("tune --algorithm al", {"all", "als"}),
    ("evaluate m t --metrics hit", {"hit_rate"}), ("similar m --metric ", {"cosine", "dot", "euclidean", "hellinger"}),
    ("tune --algorithm als,b", {"als,bpr"}), ("tune --algorithm als,bpr,s", {"als,bpr,sgd", "als,bpr,spectral"}),
    ("evaluate m t --metrics ndcg,m", {"ndcg,map", "ndcg,mrr", "ndcg,mae"}), ("evaluate m t --metrics map,ma", {"map,mae"}),
    ("recommend m --device c", {"cpu", "cuda"}), ("completion z", {"zsh"}),
])
def test_values(offers, line, words):
    # zsh keeps what stands before the last comma, and offers what may follow.
    assert {word.rpartition(",")[2] for word in offers(f"likewise {line}")} == {word.rpartition(",")[2] for word in words}


@pytest.mark.parametrize("line", ["train rat", "train --validation rat", "tune --journal rat", "evaluate m rat",
                                  "tune --item-features rat", "cross-validate --user-features rat",
                                  "recommend m --user-features rat"])
def test_files(offers, line):
    assert offers(f"likewise {line}") == {"ratings.csv"}


def test_a_value_that_nobody_knows_is_not_made_up(offers):
    assert not {"TIME", "N"} & offers("likewise tune --budget ")
