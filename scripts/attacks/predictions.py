# SPDX-License-Identifier: Apache-2.0
"""Predicted ratings: the same digits however they are asked for, on the scale of what was trained on,
and compared with ratings only. And errors about values, which name ids and the line of the file."""
from __future__ import annotations

import csv
import gzip
import io
import math
import random
import re

from .lab import Attack, Case

SCALES = [["1", "2", "3", "4", "5"], ["0.5", "3.5", "4"], ["-10", "0", "7.25"], ["3"], ["1", "100"],
          ["0.1", "0.2", "0.3"]]
RATING = {"als": ["--feedback", "explicit"], "sgd": ["--algorithm", "sgd"], "bias": ["--algorithm", "bias"],
          "item-knn": ["--algorithm", "item-knn", "--feedback", "explicit"],
          "user-knn": ["--algorithm", "user-knn", "--feedback", "explicit"]}
RANKING = [["--factors", "2"], ["--algorithm", "bpr", "--factors", "2"], ["--algorithm", "item-knn"],
           ["--algorithm", "user-knn"], ["--algorithm", "popular"],
           ["--algorithm", "popular", "--feedback", "explicit"],
           ["--algorithm", "item-knn", "--feedback", "explicit", "--prediction", "sum", "--similarity", "cosine"]]


class Predictions(Attack):
    name = "predictions"

    def attack(self, case: Case) -> None:
        (same_digits_on_the_scale, errors_name_ids_and_lines, only_ratings_have_errors)[case.number % 3](case)


def table(draw: random.Random, values: list[str], users: int = 12, items: int = 9) -> list[list[str]]:
    chosen = [[f"u{u}", f"i{i}", draw.choice(values)] for u in range(users) for i in range(items)
              if draw.random() < 0.5]
    return chosen or [["u1", "i1", values[0]]]


def written(rows: list[list[str]]) -> str:
    return "user,item,rating\n" + "".join(",".join(row) + "\n" for row in rows)


def trained(case: Case) -> tuple[str, list[str]]:
    draw = case.random
    algorithm = draw.choice(list(RATING))
    how = list(RATING[algorithm])
    if algorithm in ("als", "sgd"):
        how += ["--factors", draw.choice(["1", "7", "16", "33"]), "--iterations", draw.choice(["1", "9"]),
                "--regularization", draw.choice(["1e-3", "0.1", "1"]), "--biases", draw.choice(["on", "off"])]
    elif draw.random() < 0.3:
        how += ["--clip", "off"]
    return algorithm, how


def told(out: bytes, column: str) -> dict[tuple[str, str], str]:
    return {(row["user"], row["item"]): row[column] for row in csv.DictReader(io.StringIO(out.decode()))}


def same_digits_on_the_scale(case: Case) -> None:
    draw = case.random
    algorithm, how = trained(case)
    rows = table(draw, draw.choice(SCALES))
    case.write("r.csv", written(rows))
    if case.run("train", "r.csv", "-o", "m", *how).code:
        return  # data that the algorithm refuses
    if draw.random() < 0.3:
        more = table(draw, draw.choice(SCALES), users=3)
        case.write("more.csv", written(more))
        if case.run("update", "m", "more.csv", "-o", "m", "--duplicates", "max").code:
            return
        both: dict[tuple[str, str], float] = {}
        for user, item, value in [*rows, *more]:
            both[user, item] = max(float(value), both.get((user, item), -math.inf))
        values = list(both.values())
    else:
        values = [float(value) for _, _, value in rows]
    free = told(case.done("predict", "m", "--all-missing", "--clip", "off").out, "prediction")
    kept = told(case.done("predict", "m", "--all-missing", "--clip", "on").out, "prediction")
    case.write("pairs.csv", "user,item\n" + "".join(f"{user},{item}\n" for user, item in free))
    for clip, wanted in (("off", free), ("on", kept)):
        for device in ("cpu", "reference"):
            for asked in (["--all-missing"], ["pairs.csv"]):
                if asked == ["pairs.csv"] and not free:
                    continue
                found = told(case.done("predict", "m", *asked, "--clip", clip, "--device", device).out,
                             "prediction")
                case.check(found == wanted, f"{algorithm}: other digits by {asked[0]} on {device}",
                           f"the digits of --all-missing on the cpu from {asked[0]} on {device}")
    if algorithm in ("als", "sgd"):
        lists = told(case.done("recommend", "m", "--all", "-n", "99").out, "score")
        case.check(lists == free, f"{algorithm}: other digits in lists", "lists with the digits of predict")
    low, high = min(values), max(values)
    for pair, rating in kept.items():
        wanted_rating = min(max(float(free[pair]), low), high)
        case.check(math.isclose(float(rating), wanted_rating, rel_tol=1e-6, abs_tol=1e-7),
                   f"{algorithm}: off the scale",
                   f"{wanted_rating} of {pair} on the scale from {low} to {high}, not {rating}")


def errors_name_ids_and_lines(case: Case) -> None:
    """One value is too large for every method; it is found by its ids and its line."""
    draw = case.random
    rows = table(draw, ["1", "2", "5"])
    at = draw.randrange(len(rows))
    rows[at][2] = draw.choice(["1e20", "-3e30", "1e35"])
    user, item, _ = rows[at]
    delimiter = draw.choice([",", "\t", ";", "::"])
    lines = [] if delimiter == "::" else [delimiter.join(["user", "item", "rating"])]
    line = 0
    for place, row in enumerate(rows):
        lines += [""] * (draw.randrange(3) if draw.random() < 0.2 else 0)
        lines.append(delimiter.join(row))
        line = len(lines) if place == at else line
    text = draw.choice(["\n", "\r\n"]).join(lines) + "\n"
    name = draw.choice(["r.txt", "r.txt.gz"])
    case.write(name, gzip.compress(text.encode()) if name.endswith(".gz") else text)
    algorithm, how = trained(case)
    if draw.random() < 0.5:
        case.write("good.csv", written(table(draw, ["1", "2", "5"])))
        if case.run("train", "good.csv", "-o", "m", *how).code:
            return
        ran = case.run("update", "m", name, "-o", "n", "--duplicates", "last")
    else:
        ran = case.run("train", name, "-o", "m", *how)
    wanted = f"likewise: {name}:{line}: the value "
    case.check(ran.code == 1 and ran.message.startswith(wanted)
               and f"of user '{user}', item '{item}' is too large" in ran.message,
               f"{algorithm}: the value is not named",
               f"'{wanted}... of user '{user}', item '{item}' is too large', not '{ran.message}'")
    case.check(not re.search(r"\brow \d", ran.message), "an internal row", f"ids in '{ran.message}'")


def only_ratings_have_errors(case: Case) -> None:
    draw = case.random
    case.write("r.csv", written(table(draw, ["1", "2", "5"])))
    how = draw.choice(RANKING)
    metric = draw.choice(["rmse", "mae"])
    if draw.random() < 0.5:
        ran = case.run("train", "r.csv", "-o", "m", *how, "--validation", "r.csv", "--validation-metric", metric)
    else:
        case.done("train", "r.csv", "-o", "m", *how)
        ran = case.run("evaluate", "m", "r.csv", "--metrics", draw.choice([metric, f"ndcg,{metric}"]))
    case.check(ran.code == 2 and "compares predicted ratings" in ran.message and "ndcg" in ran.message,
               "an error of scores that are no ratings",
               f"a refusal that names the metrics that fit, of `{' '.join(how)}`, not {ran.message or ran.out!r}")
