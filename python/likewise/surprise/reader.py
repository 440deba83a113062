# SPDX-License-Identifier: Apache-2.0
"""How files of ratings are read."""
from __future__ import annotations

from typing import Any

from likewise.surprise.builtin_datasets import builtin

#: user, item, rating and time, ids as they are in the data
RawRating = tuple[Any, Any, float, Any]


class Reader:
    """How lines of a file are read.

    name          of a data set, "ml-100k", "ml-1m" or "jester": its form, all else is ignored
    line_format   names of the fields in their order: user, item, rating and maybe timestamp
    sep           what stands between them; None: blanks
    rating_scale  the lowest and the highest rating: estimates stay within it
    skip_lines    so many at the beginning are no ratings
    """

    def __init__(self, name: str | None = None, line_format: str = "user item rating", sep: str | None = None,
                 rating_scale: tuple[float, float] = (1, 5), skip_lines: int = 0):
        if name:
            known = {"line_format": "user item rating", "sep": None, "rating_scale": (1, 5), **builtin(name)[1]}
            line_format, sep, rating_scale, skip_lines = known["line_format"], known["sep"], known["rating_scale"], 0
        self.sep = sep
        self.skip_lines = skip_lines
        self.rating_scale = rating_scale
        fields = line_format.split()
        known_fields = ("user", "item", "rating", "timestamp")
        if not {*known_fields[:3]} <= {*fields} <= {*known_fields} or len(set(fields)) < len(fields):
            raise ValueError(f"line_format {line_format!r}: name user, item and rating, and maybe timestamp, each once")
        self.with_timestamp = "timestamp" in fields
        self.indexes = [fields.index(field) for field in known_fields if field in fields]

    def parse_line(self, line: str) -> RawRating:
        """(user, item, rating, time or None) of a line."""
        cells = line.split(self.sep)
        if len(cells) <= max(self.indexes):
            raise ValueError(f"the line {line.rstrip()!r} has {len(cells)} fields, line_format needs "
                             f"{max(self.indexes) + 1}: check line_format and sep")
        user, item, rating, *time = (cells[place].strip() for place in self.indexes)
        return user, item, float(rating), time[0] if time else None
