# SPDX-License-Identifier: Apache-2.0
"""Ratings that are nearly all alike, models of them, and what updates make of those: predictions stay
near the values that there are, whatever the steps are relative to."""
from __future__ import annotations

import csv
import io
import random
import struct

from .lab import Attack, Case

BASES = [3.0, 5.0, 0.1, 1000.0, -2.0, 1e-5, 1e6]
SMALLEST = ["1e-40", "1e-45", "3e-39"]


class Alike(Attack):
    name = "alike"

    def attack(self, case: Case) -> None:
        draw = case.random
        if draw.random() < 0.1:
            old = [draw.choice(SMALLEST)]
        else:
            base = draw.choice(BASES)
            old = [repr(base)] * 8 + draw.choice([[], [neighbour(base, draw.randint(1, 4))],
                                                  [repr(base * (1 + 10.0 ** -draw.randint(3, 7)))]])
        new = [*old[:1], *draw.choice([[], [old[0]], [repr(float(old[0]) * 1.0003)],
                                       [repr(float(old[0]) * (2 if abs(float(old[0])) < 10 else 1.001))]])]
        users, items = draw.randint(2, 60), draw.randint(2, 20)
        write(case, "old.csv", draw, range(users), range(items), old)
        fresh = range(users - 1, users + draw.randint(1, 3))
        write(case, "new.csv", draw, fresh, range(items), new)
        how = method(draw)
        ran = case.run("train", "old.csv", "-o", "m", *how)
        if ran.code and max(map(float, old)) - min(map(float, old)) < 1e-7:
            return case.check("multiply all by the same number" in ran.message, "refused",
                              f"an error that says what to do, not: {ran.message}")
        case.check(ran.code == 0, "refused", f"exit 0, not: {ran.message}")
        stay_near(case, "m", "old.csv", old, how)
        by = [["--by", "sgd"]] if how[1] == "als" else []
        more = [*draw.choice([[], *by])]
        ran = case.run("update", "m", "new.csv", "-o", "n", *more)
        if ran.code and max(map(float, old + new)) - min(map(float, old + new)) < 1e-6:
            return case.check("multiply all by the same number" in ran.message, "an update is refused",
                              f"an error that says what to do, not: {ran.message}")
        if ran.code and many_spreads_away(float(old[0]), float(new[-1])):
            return case.check("diverged" in ran.message, "an update is refused",
                              f"an error that says what diverged, not: {ran.message}")
        case.check(ran.code == 0, "an update is refused", f"exit 0, not: {ran.message}")
        return stay_near(case, "n", "new.csv", old + new, [*how, *more])


def many_spreads_away(old: float, new: float) -> bool:
    """Values that are alike count as spread by their size, by 1 at most."""
    return abs(new - old) > min(0.5 * abs(old), 100)


def neighbour(value: float, steps: int) -> str:
    """So many float32 further from 0."""
    bits = struct.unpack("<i", struct.pack("<f", value))[0] + steps
    return repr(struct.unpack("<f", struct.pack("<i", bits))[0])


def write(case: Case, name: str, draw: random.Random, users: range, items: range,
          values: list[str]) -> None:
    rows = [f"{u},{i},{draw.choice(values)}" for u in users for i in items if draw.random() < 0.6]
    case.write(name, "user,item,value\n" + "\n".join(rows or [f"{users[0]},0,{values[0]}"]) + "\n")


def method(draw: random.Random) -> list[str]:
    kind = draw.choice(["als", "als", "sgd", "sgd", "sgd", "bias", "item-knn", "user-knn"])
    how = ["--algorithm", kind, "--feedback", "explicit"]
    if kind == "als":
        how += draw.choice([[], ["--biases", "on"], ["--regularization-exponent", "0"]])
    if kind == "sgd":
        how += ["--schedule", draw.choice(["adaptive", "constant", "inverse", "bold"])]
        how += ["--order", draw.choice(["blocked", "alternating", "racing", "serial"])]
    if kind in ("als", "sgd"):
        how += ["--factors", draw.choice(["1", "4", "16"]), "--iterations", draw.choice(["2", "15"])]
    if kind in ("item-knn", "user-knn"):
        how += ["--similarity", draw.choice(["pearson", "pearson-full", "pearson-baseline", "cosine",
                                             "adjusted-cosine", "msd"])]
        how += ["--prediction", draw.choice(["mean", "centred", "z-score", "baseline"])]
    return how + draw.choice([[], ["--device", "reference"]])


def stay_near(case: Case, model: str, pairs: str, values: list[str], how: list[str]) -> None:
    """Between 0 and the values, and no farther beyond them than they are apart, or than float32 and
    a regularization leave."""
    low, high = (end(*map(float, values), 0.0) for end in (min, max))
    slack = (high - low) + 1e-7  # the first factors have no smaller scale
    for asked in ([pairs], ["--all-missing"]):
        ran = case.done("predict", model, *asked)
        for row in csv.DictReader(io.StringIO(ran.out.decode())):
            found = float(row["prediction"])
            case.check(low - slack <= found <= high + slack, "far from all values",
                       f"a prediction from {low:g} to {high:g}, not {found:g}: {' '.join(how)}")
