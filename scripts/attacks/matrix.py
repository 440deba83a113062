# SPDX-License-Identifier: Apache-2.0
"""Texts of Matrix Market, and a second reader of them."""
from __future__ import annotations

import random
import re

from .literals import Refused, Unclear
from .reader import Options, Reading, merged

BANNERS = ["real general", "real general", "integer general", "pattern general", "real symmetric",
           "pattern symmetric", "REAL General", "complex general", "real skew-symmetric",
           "real", ""]
ENTRY_DAMAGE = ["0 1 1", "-1 1 1", "1 99 1", "1", "1 1 x", "01 1 1", "1.0 1 1", "1 1 1 1",
                "1 1 nan", "1 1 1e39", "% late", "99999999999999999999 1 1"]


def make_matrix(draw: random.Random) -> bytes:
    banner, size = draw.choice(BANNERS), draw.randint(1, 5)
    width = 2 if "pattern" in banner else 3
    entries = [" ".join([str(draw.randint(1, size)), str(draw.randint(1, size)),
                         draw.choice("12345")][:width]) for _ in range(draw.randint(1, 7))]
    count = len(entries) + draw.choice([0, 0, 0, 0, 0, 1, -1, 10**9])
    if draw.random() < 0.25:
        entries[draw.randrange(len(entries))] = draw.choice(ENTRY_DAMAGE)
    columns = draw.choice([size, size, size, size + 1, -1, 0, 2**31, 2**63])
    lines = [f"%%MatrixMarket matrix coordinate {banner}",
             *draw.choice([[], ["% note"], ["%", ""]]), f"{size} {columns} {count}", *entries]
    return (draw.choice(["\n", "\n", "\r\n"]).join(lines) + draw.choice(["\n", ""])).encode()


def read_matrix(text: bytes, options: Options) -> Reading:
    """The whole text, or Refused, or Unclear."""
    if options.columns:
        raise Refused("columns that the format has already")
    if options.delimiter or options.header != "auto":
        raise Unclear("options of text")
    lines = [line.removesuffix(b"\r").strip(b" \t") for line in text.split(b"\n")]
    words = lines[0].lower().split()
    if len(words) != 5 or words[1:3] != [b"matrix", b"coordinate"]:
        raise Refused("another banner")
    field, symmetry = words[3:]
    if field not in (b"real", b"integer", b"pattern") or symmetry not in (b"general", b"symmetric"):
        raise Refused("a matrix of another kind")
    body = [line for line in lines[1:] if line]
    while body and body[0].startswith(b"%"):
        body.pop(0)
    if not body or not re.fullmatch(rb"[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+", body[0]):
        raise Refused("no sizes")
    rows, columns, count = map(int, body[0].split())
    if max(rows, columns) >= 2**31 or count >= 2**31:
        raise Unclear("sizes that may be too large")
    if count != len(body) - 1:
        raise Refused("entries missing, or too many")
    if rows != columns and symmetry == b"symmetric":
        raise Unclear("a symmetric matrix that is not square")
    width, pairs = (2 if field == b"pattern" else 3), []
    for line in body[1:]:
        fields = line.split()
        if len(fields) > width:
            raise Unclear("more fields than an entry has")
        if len(fields) == width and not in_matrix(fields, rows, columns):
            fields = []  # a bad row
        pairs.append(fields)
        if symmetry == b"symmetric" and len(fields) == width and fields[0] != fields[1]:
            pairs.append([fields[1], fields[0], *fields[2:]])
    reading = merged(pairs, [0, 1, 2 if width == 3 else -1, -1], width, True, options)
    reading.rows = count
    return reading


def in_matrix(fields: list[bytes], rows: int, columns: int) -> bool:
    for text, most in zip(fields, (rows, columns)):
        if not re.fullmatch(rb"[1-9][0-9]*", text) or int(text) > most:
            return False
    return True
