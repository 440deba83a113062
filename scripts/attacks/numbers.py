# SPDX-License-Identifier: Apache-2.0
"""Values at the edges of float32: every number that is printed is one, or the run says why not. And
what --solver auto promises against the exact solver."""
from __future__ import annotations

import csv
import io
import json
import math
import random
from typing import Any

from .lab import Attack, Case, Ran

VALUES = ["0", "1", "3", "3", "5", "-1", "1e-30", "-1e-30", "1e-45", "1e30", "-1e30", "3.4e38",
          "-3.4e38", "1e19", "0.5", "16777217"]
SIMILARITIES = ["cosine", "adjusted-cosine", "pearson", "pearson-full", "pearson-baseline", "msd",
                "jaccard", "tfidf", "bm25", "log-likelihood", "conditional", "dot", "rp3"]
PREDICTIONS = ["mean", "centred", "z-score", "baseline", "sum"]
# By how much more of the objective than the exact solver's `auto` may leave, after the same
# iterations.
AUTO_LEAVES = 2e-3


class Numbers(Attack):
    name = "numbers"
    share = 1.5

    def attack(self, case: Case) -> None:
        if case.number % 3 == 2:
            return auto_keeps_the_objective(case)
        draw = case.random
        pool = draw.choice([VALUES, VALUES[:5], [draw.choice(VALUES)], draw.sample(VALUES, 3)])
        case.write("data.csv", matrix(draw, pool))
        case.write("test.csv", matrix(draw, pool))
        how = method(draw)
        if case.run("train", "data.csv", "-o", "m", *how).code:
            return None
        finite_facts(case, case.run("info", "m", "--json"), how)
        finite_facts(case, case.run("evaluate", "m", "test.csv", "--json"), how)
        for asked in (["predict", "m", "test.csv"], ["predict", "m", "--all-missing"],
                      ["recommend", "m", "--all", "--include-seen"],
                      ["recommend", "m", "--all", "--explain"], ["similar", "m", "--all-items"],
                      ["recommend", "m", "--new", "test.csv"],
                      ["evaluate", "m", "test.csv", "--per-user", "each.csv"]):
            ran = case.run(*asked)
            if ran.code == 0 and asked[0] == "evaluate":
                finite_rows(case, case.read("each.csv"), "per-user", how)
            elif ran.code == 0:
                finite_rows(case, ran.out, " ".join(asked[0:1] + asked[-1:]), how)
        return None


def matrix(draw: random.Random, pool: list[str]) -> str:
    users, items = draw.randint(1, 12), draw.randint(1, 9)
    density = draw.choice([0.3, 0.7, 1.0])
    rows = [f"{u},i{i},{draw.choice(pool)}" for u in range(users) for i in range(items)
            if draw.random() < density]
    return "user,item,value\n" + "\n".join(rows or ["1,i1,1"]) + "\n"


def method(draw: random.Random) -> list[str]:
    """An algorithm with options that fit it."""
    explicit = draw.random() < 0.5
    how = ["--feedback", "explicit"] if explicit else []
    kind = draw.choice(["als", "als", "item-knn", "user-knn", "item-knn", "user-knn", "popular",
                        *(["bias"] if explicit else [])])
    if kind == "als":
        how += ["--factors", draw.choice(["1", "3", "8"]), "--iterations", draw.choice(["1", "5"])]
        how += ["--regularization", draw.choice(["0", "1e-9", "0.1", "1e9"])]
        how += [] if explicit else ["--alpha", draw.choice(["1e-9", "1", "1e9"])]
        how += ["--solver", draw.choice(["auto", "cholesky", "cg"])]
        return how
    how += ["--algorithm", kind]
    if kind == "popular":
        return how
    if kind == "bias":
        return how + draw.choice([[], ["--clip", "off"], ["--baseline-method", "sgd"],
                                  ["--baseline", "user-mean"], ["--baseline", "item-mean"]])
    similarity = draw.choice(SIMILARITIES)
    how += ["--similarity", similarity]
    how += ["--prediction", draw.choice(PREDICTIONS[:4])] if explicit else []
    if explicit and draw.random() < 0.5:
        how += ["--predict-from", draw.choice(["kept", "all"])]
    if explicit and draw.random() < 0.3:
        how += ["--clip", "off"]
    if draw.random() < 0.3:
        how += ["--amplification", draw.choice(["0.5", "3", "40"])]
    signed = similarity not in ("msd", "jaccard", "conditional", "rp3")
    return how + (["--negative", "keep"] if explicit and signed and draw.random() < 0.5 else [])


def finite_facts(case: Case, ran: Ran, how: list[str]) -> None:
    """Every number of an object is finite; none is missing."""
    if ran.code:
        return
    for name, value in walk(json.loads(ran.out)):
        wild = value is None or (isinstance(value, float) and not math.isfinite(value))
        case.check(not wild, f"{name} is no number",
                   f"a finite {name} of `{' '.join(how)}`, not {value}")


def walk(value: Any, name: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, part in value.items() for leaf in walk(part, key)]
    if isinstance(value, list):
        return [leaf for part in value for leaf in walk(part, name)]
    return [(name, value)]


def finite_rows(case: Case, content: bytes, what: str, how: list[str]) -> None:
    for row in csv.DictReader(io.StringIO(content.decode())):
        for name, text in row.items():
            if name in ("because", "user", "item", "similar_item", "similar_user", "title"):
                words = [part.rpartition("(")[2].rstrip(")") for part in text.split("; ")] \
                    if name == "because" and text else []
            else:
                words = [text]
            for word in words:
                case.check(is_finite(word), f"{what}: no number", f"a finite {name} in {row} of "
                           f"`{' '.join(how)}`")


def is_finite(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def auto_keeps_the_objective(case: Case) -> None:
    draw = case.random
    explicit = draw.random() < 0.4
    if draw.random() < 0.4:  # long rows and short ones
        shape = draw.choice(["2000x300x40000", "300x3000x30000", "900x80x30000", "4000x90x9000"])
        case.done("generate", shape + (":explicit" if explicit else ""), "-o", "data.csv")
    else:
        users, items = draw.choice([5, 20, 60, 300]), draw.choice([5, 20, 60])
        density = draw.choice([0.05, 0.3, 1.0])
        rows = [f"{u},{i},{draw.choice('12345')}" for u in range(users) for i in range(items)
                if draw.random() < density] or ["1,1,1"]
        case.write("data.csv", "user,item,value\n" + "\n".join(rows) + "\n")
    how = ["--factors", draw.choice([1, 5, 16, 64]), "--iterations", draw.choice([1, 3, 15]),
           "--regularization", draw.choice([1e-4, 1e-3, 0.01, 0.1, 1, 10]),
           "--regularization-exponent", draw.choice([0, 0.5, 1])]
    if explicit:
        how += ["--feedback", "explicit", "--biases", draw.choice(["on", "off"])]
    elif draw.random() < 0.3:
        how += ["--unobserved-weight", draw.choice([0.01, 0.3, 1])]
    else:
        how += ["--alpha", draw.choice([0.1, 1, 7, 40, 1000])]
        if draw.random() < 0.5:
            how += ["--confidence", "log", "--epsilon", draw.choice([0.1, 0.3, 1])]
    objectives = []
    for solver in ("auto", "cholesky"):
        ran = case.run("train", "data.csv", "-o", solver, "--solver", solver, "--json", *how)
        if ran.code:
            return
        objectives.append(ran.json["iterations"][-1]["objective"])
    auto, exact = objectives
    case.check(auto <= exact + AUTO_LEAVES * abs(exact) + 1e-9, "auto is worse than it promises",
               f"an objective of {exact} and {AUTO_LEAVES:g} of that at most, not {auto} "
               f"({auto - exact:.2e} more): {' '.join(map(str, how))}")
