# SPDX-License-Identifier: Apache-2.0
"""Texts of interactions that are no plain table: how to make them, and what they mean."""
from __future__ import annotations

import json
import random
import re
from typing import Any

from . import reader
from .literals import Refused, Unclear

NAMES = [["user", "item", "rating", "time"], ["userId", "movieId", "stars", "timestamp"], ["uid", "iid", "score", "date"]]
IDS = ["1", "7", "10", "ann", "b,c", 'say "x"', "\u00e9", "a b", "007"]
TIMES = ["978300760", "2001-02-03", "2001-02-03T04:05:06Z", "978300760123"]
NUMBERS = ["1", "2", "3", "4.5", "0", "-1", "1e2"]
WORDS = (("view", 1), ("cart", 3), ("buy", 5.5))


def make(draw: random.Random) -> tuple[bytes, reader.Options]:
    options = reader.Options(duplicates=draw.choice(["auto", "auto", "sum", "first", "max", "newest"]),
                             skip_bad=draw.random() < 0.4, min_value=draw.choice([None, None, None, 2.0]))
    kind = draw.choice([json_lines, json_lines, netflix, kdd, features, judgements, commas, words, comments])
    text = kind(draw, options)
    return (damaged(text, draw) if draw.random() < 0.2 else text), options


def damaged(text: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(text))
    return draw.choice([text[:at], text[:at] + b"\0" + text[at:], text.replace(b"\n", b"\r\n"),
                        text[:at] + bytes([draw.randrange(1, 256)]) + text[at + 1:], text.replace(b"\n", b"\n\n", 1)])


def rows_of(draw: random.Random, ids: list[str]) -> list[tuple[str, str, str, str]]:
    ids = draw.sample(ids, 3)
    return [(draw.choice(ids), draw.choice(ids), draw.choice(NUMBERS), draw.choice(TIMES))
            for _ in range(draw.choice([2, 3, 5, 9, 14]))]


def json_lines(draw: random.Random, options: reader.Options) -> bytes:
    names, width = draw.choice(NAMES), draw.choice([2, 3, 4])
    lines = []
    for row in rows_of(draw, IDS):
        cells: list[Any] = [json.loads(cell) if re.fullmatch(r"0|[1-9][0-9]*", cell) and draw.random() < 0.5 else cell
                            for cell in row[:2]]
        cells += [json.loads(row[2]) if draw.random() < 0.7 else row[2], row[3]]
        entries: list[tuple[str, Any]] = list(zip(names[:width], cells))
        entries += draw.sample([("tags", ["x", {"user": 9}]), ("note", 'a "b",\nc'), ("more", None)], draw.randint(0, 2))
        draw.shuffle(entries)
        if draw.random() < 0.05:
            del entries[0]
        line = json.dumps(dict(entries), ensure_ascii=draw.random() < 0.5)
        lines.append(line if draw.random() < 0.97 else draw.choice([line[:-2] + "}", "{}", "[1]", "7", "{\"a\" 1}"]))
    return ("\n".join(lines) + "\n").encode()


def netflix(draw: random.Random, options: reader.Options) -> bytes:
    options.format = draw.choice(["netflix", "netflix", "netflix", "auto"])
    lines, item = [], ""
    for user, other, value, _ in rows_of(draw, ["1", "7", "10", "33", "5"]):
        if not item or draw.random() < 0.4:
            item = other
            lines.append(f"{item}:")
        lines.append(f"{user},{value},2001-02-0{draw.randint(1, 9)}")
    if draw.random() < 0.2:
        lines.insert(draw.randrange(len(lines)), draw.choice(["x", "5,x,2001-02-03", "5,,2001-02-03"]))
    return ("\n".join(lines) + "\n").encode()


def kdd(draw: random.Random, options: reader.Options) -> bytes:
    options.format = draw.choice(["kdd-cup", "kdd-cup", "kdd-cup", "auto"])
    lines, user, timed = [], "", draw.random() < 0.7
    for one, item, value, _ in rows_of(draw, ["1", "7", "10", "33", "5"]):
        if not user or draw.random() < 0.4:
            user = one
            lines.append(f"{user}|{draw.randint(1, 9)}")
        clock = f"\t{draw.randint(0, 6000)}\t{draw.randint(0, 23):02}:{draw.randint(0, 59):02}:00" if timed else ""
        lines.append(f"{item}\t{value}{clock}")
    if draw.random() < 0.2:
        lines.insert(draw.randrange(len(lines)), draw.choice(["x", "5\tx\t7\t01:02:03", "5\t3\t7\t24:00:00", "5\t3\t7"]))
    return ("\n".join(lines) + "\n").encode()


def features(draw: random.Random, options: reader.Options) -> bytes:
    """libsvm or libffm."""
    field = draw.choice(["", "0:"])
    return "".join(f"{draw.choice([0, 1, -1])} " + " ".join(f"{field}{draw.randint(1, 99)}:{draw.choice([1, 0.5])}"
                                                            for _ in range(draw.randint(1, 4))) + "\n"
                   for _ in range(draw.randint(1, 9))).encode()


def judgements(draw: random.Random, options: reader.Options) -> bytes:
    options.columns = draw.choice([(), (), ("1", "3", "4")])
    return "".join(f"q{draw.randint(1, 4)} 0 d{number} {draw.randint(0, 2)}\n" for number in range(draw.randint(2, 9))).encode()


def commas(draw: random.Random, options: reader.Options) -> bytes:
    options.decimal = draw.choice([",", ",", "."])
    cells = ["1,5", "2", "3,25", "0,5", "1.5" if draw.random() < 0.2 else "4"]
    head = draw.choice(["", "user;item;rating\n", "sep=;\nuser;item;rating\n"])
    return (head + "".join(f"{user};{item};{draw.choice(cells)}\n"
                           for user, item, *_ in rows_of(draw, ["1", "7", "10", "33"]))).encode()


def words(draw: random.Random, options: reader.Options) -> bytes:
    options.values = draw.choice([WORDS, WORDS, WORDS[:2], ()])
    head = draw.choice(["", "user,item,rating\n", "user,item,event\n", "user_id,item_id,action\n"])
    cells = ["view", "cart", "buy"] if draw.random() < 0.8 else ["true", "False"]
    return (head + "".join(f"{user},{item},{draw.choice(cells)}\n"
                           for user, item, *_ in rows_of(draw, ["1", "7", "10", "33"]))).encode()


def comments(draw: random.Random, options: reader.Options) -> bytes:
    before = draw.sample(["# made in May", "#", "## a, b", "% bip weighted", "%% 3", "#no comment"], draw.randint(1, 3))
    head = draw.choice([[], ["user item value"]])
    rows = [" ".join(row[:3]) for row in rows_of(draw, ["1", "7", "10", "33"])]
    return ("\n".join([*before, *head, *rows]) + "\n").encode()


def is_other(content: bytes, options: reader.Options) -> bool:
    """Whether a text is JSON lines or blocks, and read() is for it."""
    return options.format != "auto" or content.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").startswith(b"{") or \
        re.match(rb"[0-9]+:\r?\n|[0-9]+\|[0-9]+\r?\n", content) is not None


def read(content: bytes, options: reader.Options) -> reader.Reading:
    if b"\0" in content:
        raise Refused("no text")
    if content.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) or (b"\r" in content and b"\n" not in content):
        raise Unclear("how it begins or ends lines")
    lines = [line.removesuffix(b"\r") for line in content.split(b"\n")]
    lines = [line for line in lines if line.strip(reader.BLANKS)]
    if not lines:
        raise Refused("only blank lines")
    if options.format == "auto" and not lines[0].startswith(b"{"):
        if lines[0].endswith(b":") or (len(lines) > 1 and b"\t" in lines[1]):
            raise Refused("blocks that nobody named")
        raise Unclear("a number and a bar")
    return read_json(lines, options) if options.format == "auto" else read_blocks(lines, options)


def read_json(lines: list[bytes], options: reader.Options) -> reader.Reading:
    if not lines[0].endswith(b"}"):
        raise Refused("an object over several lines")
    objects = [object_of(line) for line in lines]
    names: list[str] = []
    for one in objects:
        names += [name for name in one or {} if name not in names]
    if any(one is None for one in objects) and not all(known_name(name) for name in names):
        raise Unclear("keys of broken lines are seen, too")
    rows = [[b""] * len(names) if one is None else [one.get(name, b"") for name in names] for one in objects]
    if any(one is None for one in objects) and not options.skip_bad:
        raise Refused("a line that is no object")
    if len(names) < 2:
        raise Refused("objects without a user and an item")
    body = [row for row, one in zip(rows, objects) if one is not None]
    heads = [name.encode() for name in names]
    return reader.merged(rows, reader.chosen(heads, body, len(names), options), len(names), True, options)


def known_name(name: str) -> bool:
    return reader.role_of(name.encode()) is not None or name in ("tags", "note", "more")


def object_of(line: bytes) -> dict[str, bytes] | None:
    """The cells of an object; None where the line is none."""
    try:
        found = json.loads(line, parse_float=lambda text: _Written(text))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    if len(line.split(b'":')) - 1 < len(found):
        raise Unclear("keys that are written in another way")
    return {name: cell_of(value) for name, value in found.items()}


class _Written(str):
    """A number as it is written."""


def cell_of(value: Any) -> bytes:
    if isinstance(value, dict):
        raise Unclear("objects within")
    if value is None or isinstance(value, list):
        return b""
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return str(value).encode("utf-8", "surrogatepass")


def read_blocks(lines: list[bytes], options: reader.Options) -> reader.Reading:
    is_start = re.compile(rb"(.*):" if options.format == "netflix" else rb"([0-9]+)\|[0-9]+")
    rows: list[list[bytes]] = []
    block = b""
    for line in lines:
        start = is_start.fullmatch(line)
        if start:
            block = start[1]
            continue
        row = row_of_block(block, line, options) if block else None
        if row is None and not options.skip_bad:
            raise Refused("neither a block nor a row")
        rows.append([b""] * 3 if row is None else row)
    if not rows:
        raise Refused("no rows")
    widths = {len(row) for row in rows if row[0]}
    if len(widths) > 1 or any(b'"' in cell for row in rows for cell in row):
        raise Unclear("rows of different widths, or quotes")
    if not widths:
        raise Refused("nothing but bad rows")
    width = widths.pop()
    rows = [row if row[0] else [b""] * width for row in rows]
    return reader.merged(rows, [c if c < width else -1 for c in range(4)], width, False, options)


def row_of_block(block: bytes, line: bytes, options: reader.Options) -> list[bytes] | None:
    if options.format == "netflix":
        user, comma, rest = line.partition(b",")
        if not comma:
            return None
        return [cell.strip(reader.BLANKS) for cell in [user, block, *rest.split(b",")]]
    match = re.fullmatch(rb"([^\t]*)\t([^\t]*)(?:\t(0|[1-9][0-9]*)\t([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]))?", line)
    if not match or int(match[3] or 0) > 2_000_000:
        return None
    if not match[3]:
        return [block, match[1], match[2]]
    seconds = ((int(match[3]) * 24 + int(match[4])) * 60 + int(match[5])) * 60 + int(match[6])
    return [block, match[1], match[2], str(seconds).encode()]
