# SPDX-License-Identifier: Apache-2.0
"""Standard streams that are full, closed or broken: messages are dropped and the work goes on;
results that cannot be written are an error."""
from __future__ import annotations

from .lab import RUN, Attack, Case, Lab
from .kills import same

# Verbs, and what they write: a file, or "" for standard output.
COMMANDS: list[tuple[list[str], str]] = [
    (["generate", "60x30x900", "-o", "made.csv"], "made.csv"),
    (["split", "data.csv", "-o", "parts"], "parts/train.csv"),
    (["train", "data.csv", "-o", "new.model", "--factors", "8"], "new.model"),
    (["train", "data.csv", "-o", "new.model", "--factors", "8", "--verbose"], "new.model"),
    (["train", "data.csv", "-o", "new.model", "--algorithm", "item-knn"], "new.model"),
    (["train", "data.csv", "-o", "new.model", "--algorithm", "popular"], "new.model"),
    (["evaluate", "als.model", "test.csv", "--json"], ""),
    (["evaluate", "als.model", "test.csv", "--per-user", "each.csv"], "each.csv"),
    (["predict", "als.model", "data.csv"], ""),
    (["predict", "als.model", "--all-missing", "-o", "all.csv"], "all.csv"),
    (["recommend", "als.model", "--all", "--explain"], ""),
    (["recommend", "als.model", "--all", "-o", "lists.csv.gz"], "lists.csv.gz"),
    (["similar", "als.model", "--all-items"], ""),
    (["similar", "als.model", "--all-users", "--metric", "euclidean"], ""),
    (["similar", "als.model", "--all-items", "-o", "alike.csv"], "alike.csv"),
    (["info"], ""), (["info", "data.csv"], ""), (["info", "als.model", "--json"], ""),
    (["demo", "-o", "cinema"], "cinema/model.safetensors"),
    (["train", "--help"], ""), (["--version"], ""), (["--help"], ""),
]
QUIET_ENDS = (0, 1, -13)  # of a reader who has gone
ERROR_STREAMS = ["", "2>/dev/full", "2>&-", "2>broken"]
OUTPUT_STREAMS = ["", ">/dev/full", ">&-", ">broken"]
INPUT_STREAMS = ["", "<&-", "</dev/null"]


class Streams(Attack):
    name = "streams"

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        lab.make("generate", "60x30x900", "-o", "data.csv")
        lab.make("generate", "60x30x300", "-o", "test.csv", "--seed", "5")
        lab.make("train", "data.csv", "-o", "als.model", "--factors", "8")

    def attack(self, case: Case) -> None:
        command, file = case.random.choice(COMMANDS)
        err, out, source = (case.random.choice(kinds) for kinds in
                            (ERROR_STREAMS, OUTPUT_STREAMS, INPUT_STREAMS))
        case.share("data.csv", "test.csv", "als.model")
        usual = case.done(*command)
        wanted = case.read(file) if file else usual.out
        ran = case.run(*command, shell=redirected(source, out, err), sound=False)
        code = ran.code if ran.code < 128 else 128 - ran.code
        told = f"{' '.join(command)} {source} {out} {err}"
        prints = not file or command[0] in ("evaluate", "demo")
        if out == ">broken" and prints:
            return case.check(code in QUIET_ENDS, f"a reader gone: exit {code}",
                              f"a quiet end, not {code}: {told}")
        if out and prints:
            return case.check(code == 1, f"unwritable results: exit {code}",
                              f"exit 1, not {code}: {told}")
        case.check(code == 0, f"unwritable messages: exit {code}", f"exit 0, not {code}: {told}")
        if file:
            case.check(same(file, case.read(file), wanted), "messages in a result",
                       f"{file} as without {told}")
        elif err == "2>broken":
            case.check(len(case.read("told.txt")) == len(wanted) or command[0] == "evaluate",
                       "another result", f"the same result as without {told}")
        return None


def redirected(source: str, out: str, err: str) -> str:
    """A line of shell; a broken stream is a pipe whose reader has gone."""
    if "broken" not in out + err:
        return f"exec {RUN} {source} {out} {err}"
    to_pipe = "2>&1" if err == "2>broken" else err
    rest = {">broken": "", "": ">told.txt" if err == "2>broken" else ""}.get(out, out)
    return f"{{ {RUN} {source} {to_pipe} {rest}; echo $? >code; }} | :; exit $(cat code)"
