# SPDX-License-Identifier: Apache-2.0
"""Similarities that are 0 in exact arithmetic, and those that are not: fractions against the program's
neighbours. Values are as they are written, which float32 need not hold exactly."""
from __future__ import annotations

import csv
import io
import math
import random
from collections.abc import Callable
from fractions import Fraction

from .lab import Attack, Case

Ratings = dict[tuple[int, int], Fraction]  # by row and column

# Similarities above this are well above the rounding of the values drawn here.
CLEAR = 1e-2
TOLERANCE = 1e-3
# What values differ from their mean by, of their size, where only digits that were not written are
# missing: thirds of seven digits. It may count or not; all else here is hundreds of times that.
ROUNDING = Fraction(1, 10**6)


class Noise(Attack):
    name = "noise"

    def attack(self, case: Case) -> None:
        draw = case.random
        of_users = draw.random() < 0.5
        similarity, exact = draw.choice(list(SIMILARITIES.items()))
        ratings = matrix(draw, dislikes=similarity == "cosine")
        case.write("data.csv", "user,item,value\n" + "".join(
            f"{row},{column},{written(value)}\n" if of_users else f"{column},{row},{written(value)}\n"
            for (row, column), value in ratings.items()))
        name, *more = similarity.split()
        if name == "adjusted-cosine":  # whose mean is taken off: the rows', or the columns'
            own, other = ("user", "item") if of_users else ("item", "user")
            more = ["--centring", own if more == ["own"] else other]
        side = "user" if of_users else "item"
        how = ["--algorithm", f"{side}-knn", "--feedback", "explicit", "--similarity", name, *more,
               "--negative", "keep", "--neighbours", "100"]
        case.done("train", "data.csv", "-o", "m", *how, *draw.choice([[], ["--device", "reference"]]))
        ran = case.done("similar", "m", f"--all-{side}s", "-n", "100")
        found = {(int(row[side]), int(row[f"similar_{side}"])): float(row["score"])
                 for row in csv.DictReader(io.StringIO(ran.out.decode()))}
        rows = sorted({row for row, _ in ratings})
        for x in rows:
            for y in rows:
                if x != y:
                    check(case, (x, y), exact(ratings, x, y), found.get((x, y), 0.0), how)


def check(case: Case, pair: tuple[int, int], exact: tuple[Fraction, Fraction] | None, found: float,
          how: list[str]) -> None:
    if exact is None:
        return
    product, squares = exact
    told = f"rows {pair} of `{' '.join(how)}`"
    if product == 0:
        case.check(found == 0, "a neighbour by rounding", f"no similarity of {told}, not {found}")
        return
    similarity = float(product) / math.sqrt(float(squares))
    if abs(similarity) > CLEAR:
        case.check(abs(found - similarity) < TOLERANCE, "another similarity",
                   f"a similarity of {similarity:.6g} of {told}, not {found}")


def matrix(draw: random.Random, dislikes: bool) -> Ratings:
    """Few values, far from 0 or not, so that many similarities cancel; some rows are constant."""
    unit = draw.choice([Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(1, 3), Fraction(7, 1000)])
    base = 0 if dislikes else draw.choice([0, 0, 10, 100])
    pool = [-2, -1, 1, 2] if dislikes else [base + step for step in range(1, 2 + draw.randint(1, 4))]
    density = draw.choice([0.5, 0.8, 1.0])
    ratings: Ratings = {}
    columns = draw.randint(2, 7)
    for row in range(draw.randint(2, 12)):
        constant = draw.choice(pool) if draw.random() < 0.15 else None
        for column in range(columns):
            if draw.random() < density:
                value = draw.choice(pool) if constant is None else constant
                ratings[row, column] = Fraction(written(value * unit))
    return ratings or {(0, 0): unit}


def written(value: Fraction) -> str:
    return f"{float(value):.7g}"


def mean_of(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def row_of(ratings: Ratings, row: int) -> dict[int, Fraction]:
    return {column: value for (r, column), value in ratings.items() if r == row}


# The product of two rows, and that of their squared lengths; nothing where rounding decides.
Exact = Callable[[Ratings, int, int], "tuple[Fraction, Fraction] | None"]


def whole_rows(weight: Callable[[Ratings, int, int], Fraction | None]) -> Exact:
    """A cosine of whole rows."""
    def exact(ratings: Ratings, x: int, y: int) -> tuple[Fraction, Fraction] | None:
        weights = [{column: weight(ratings, row, column) for column in row_of(ratings, row)} for row in (x, y)]
        a, b = ({column: w for column, w in one.items() if w is not None} for one in weights)
        if [len(a), len(b)] != [len(one) for one in weights]:
            return None
        product = sum((a[c] * b[c] for c in a.keys() & b.keys()), Fraction(0))
        lengths = [sum((w * w for w in weights.values()), Fraction(0)) for weights in (a, b)]
        return product, lengths[0] * lengths[1]
    return exact


def apart(value: Fraction, mean: Fraction) -> Fraction | None:
    """Nothing where it may be rounding."""
    return value - mean if value == mean or abs(value - mean) > ROUNDING * abs(mean) else None


def about_row(ratings: Ratings, row: int, column: int) -> Fraction | None:
    return apart(ratings[row, column], mean_of(list(row_of(ratings, row).values())))


def about_column(ratings: Ratings, row: int, column: int) -> Fraction | None:
    return apart(ratings[row, column], mean_of([v for (_, c), v in ratings.items() if c == column]))


def of_common(centred: bool) -> Exact:
    """A cosine or a correlation of the common entries."""
    def exact(ratings: Ratings, x: int, y: int) -> tuple[Fraction, Fraction] | None:
        a, b = row_of(ratings, x), row_of(ratings, y)
        common = sorted(a.keys() & b.keys())
        if not common:
            return Fraction(0), Fraction(1)
        of_x, of_y = ([apart(row[c], mean_of([row[k] for k in common]) if centred else Fraction(0))
                       for c in common]
                      for row in (a, b))
        if None in of_x or None in of_y:
            return None
        product = sum((p * q for p, q in zip(of_x, of_y)), Fraction(0))
        squares = [sum((w * w for w in weights), Fraction(0)) for weights in (of_x, of_y)]
        return product, squares[0] * squares[1]
    return exact


SIMILARITIES: dict[str, Exact] = {
    "pearson-full": whole_rows(about_row),
    "adjusted-cosine own": whole_rows(about_row),
    "adjusted-cosine other": whole_rows(about_column),
    "pearson": of_common(centred=True),
    "cosine": of_common(centred=False),
}
