# SPDX-License-Identifier: Apache-2.0
"""Damaged model files are refused with one sentence; forged ones, whose checksum is right, are
refused or give numbers."""
from __future__ import annotations

import json
import random
import re
import struct

import xxhash

from .lab import Attack, Case, Lab
from .numbers import finite_facts, finite_rows

KINDS = {
    "als.model": [], "explicit.model": ["--feedback", "explicit"],
    "knn.model": ["--algorithm", "item-knn"], "popular.model": ["--algorithm", "popular"],
    "sgd.model": ["--algorithm", "sgd"], "bpr.model": ["--algorithm", "bpr"],
    "user.model": ["--algorithm", "user-knn", "--feedback", "explicit"],
    "bias.model": ["--algorithm", "bias"], "ease.model": ["--algorithm", "ease"],
    "local.model": ["--algorithm", "ease", "--form", "local", "--candidates", "5"],
    "spectral.model": ["--algorithm", "spectral", "--factors", "3"],
}
ASK = [["info", "m", "--json"], ["recommend", "m", "--all"], ["predict", "m", "data.csv"],
       ["evaluate", "m", "test.csv"], ["similar", "m", "--all-items"],
       ["similar", "m", "--all-users", "--metric", "euclidean"],
       ["train", "data.csv", "-o", "n", "--resume", "m"],
       ["update", "m", "data.csv", "-o", "n"]]
EXTREMES = {"F32": [3.4e38, -3.4e38, float("nan"), float("inf"), 1e-45, -0.0, 1e20],
            "I32": [-1, 0, 2**31 - 1, -2**31, 1], "I64": [-1, 0, 2**63 - 1, -2**63, 1, 2**32]}
FORMATS = {"F32": "<f", "I32": "<i", "I64": "<q"}
WORDS = [b"\0" * 8, b"\xff" * 8, struct.pack("<q", -1), struct.pack("<q", 2**62),
         struct.pack("<f", float("nan")), struct.pack("<f", float("inf")), b"{}", b'"', b"-1",
         struct.pack("<i", 2**31 - 1), b"1e999"]


class Models(Attack):
    name = "models"

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        lab.make("generate", "40x20x300", "-o", "data.csv")
        lab.make("generate", "40x20x100", "-o", "test.csv", "--seed", "5")
        names = [*KINDS.items(), ("text.model", ["--titles", "titles.csv"])]
        (lab.folder / "titles.csv").write_text("".join(f"{i},Title {i}\n" for i in range(15)))
        text = (lab.folder / "data.csv").read_text().replace("\n", "\nu", 300)
        (lab.folder / "names.csv").write_text(text)
        for name, how in names:
            source = "names.csv" if name == "text.model" else "data.csv"
            if not how or how[0] != "--algorithm":
                how = [*how, "--factors", "3", "--iterations", "2"]
            lab.make("train", source, "-o", name, *how)

    def attack(self, case: Case) -> None:
        name = case.random.choice([*KINDS, "text.model"])
        whole = (self.lab.folder / name).read_bytes()
        case.share("data.csv", "test.csv")
        asked = case.random.choice(ASK)
        if case.number % 2:
            return forged(case, whole, asked)
        content = damaged(whole, case.random)
        if content == whole:
            return None
        case.write("m", content)
        ran = case.run(*asked)
        case.check(ran.code != 0, "a damaged model is taken", f"exit 1: {name} was changed")
        case.check(not (case.folder / "n").exists(), "a result of a damaged model", "no file n")
        return None


def forged(case: Case, content: bytes, asked: list[str]) -> None:
    """Nothing crashes over it, and what it leads to is made of numbers."""
    (length,) = struct.unpack_from("<Q", content)
    if case.random.random() < 0.3:
        content = other_header(content, length, case.random)
    else:
        for _ in range(case.random.choice([1, 1, 5])):
            content = other_number(content, length, case.random)
    case.write("m", with_checksum(content))
    finite_facts(case, case.run("info", "m", "--json"), ["a forged model"])
    ran = case.run(*asked)
    if ran.code == 0 and asked[0] in ("predict", "recommend", "similar"):
        finite_rows(case, ran.out, asked[0], ["a forged model"])
    elif ran.code == 0 and asked[0] in ("train", "update"):
        case.done("info", "n")


def with_checksum(content: bytes) -> bytes:
    stated = re.search(rb'"checksum":\s*"([0-9a-f]{32})"', content)
    if not stated:
        return content
    zeros = content[:stated.start(1)] + b"0" * 32 + content[stated.end(1):]
    digits = xxhash.xxh3_128_hexdigest(zeros).encode()
    return content[:stated.start(1)] + digits + content[stated.end(1):]


def damaged(whole: bytes, draw: random.Random) -> bytes:
    """Cut, grown, flipped, overwritten, two places exchanged, or another header."""
    kind = draw.choice(["cut", "grown", "bit", "bits", "word", "word in header", "exchange",
                        "header"])
    (length,) = struct.unpack_from("<Q", whole)
    end = 8 + length if draw.random() < 0.4 else len(whole)
    at = draw.randrange(end)
    if kind == "cut":
        return whole[:at]
    if kind == "grown":
        return whole + bytes(draw.randrange(1, 70))
    if kind in ("bit", "bits"):
        content = bytearray(whole)
        for _ in range(1 if kind == "bit" else draw.randrange(2, 40)):
            content[draw.randrange(end)] ^= 1 << draw.randrange(8)
        return bytes(content)
    if kind.startswith("word"):
        at = draw.randrange(8 + length) if kind == "word in header" else at
        word = draw.choice(WORDS)
        return whole[:at] + word + whole[at + len(word):]
    if kind == "exchange":
        size = draw.randrange(1, 65)
        a, b = sorted(draw.sample(range(len(whole) - size), 2))
        if a + size > b:
            return whole[:at]
        first, last = whole[a:a + size], whole[b:b + size]
        return whole[:a] + last + whole[a + size:b] + first + whole[b + size:]
    return other_header(whole, length, draw)


def other_number(whole: bytes, length: int, draw: random.Random) -> bytes:
    """One number of a tensor, or all of them, become an extreme of their kind."""
    header = json.loads(whole[8:8 + length])
    kinds = draw.choice([("F32",), ("F32", "I32", "I64")])
    name = draw.choice([name for name, about in header.items() if about.get("dtype") in kinds
                        and about["data_offsets"][0] < about["data_offsets"][1]])
    kind = header[name]["dtype"]
    number = struct.pack(FORMATS[kind], draw.choice(EXTREMES[kind]))
    begin, end = (8 + length + at for at in header[name]["data_offsets"])
    if draw.random() < 0.3:
        return whole[:begin] + number * ((end - begin) // len(number)) + whole[end:]
    at = begin + len(number) * draw.randrange((end - begin) // len(number))
    return whole[:at] + number + whole[at + len(number):]


def other_header(whole: bytes, length: int, draw: random.Random) -> bytes:
    """A header that is right as JSON, with one entry changed and its length told."""
    header = json.loads(whole[8:8 + length])
    metadata = header["__metadata__"]
    name = draw.choice(sorted(metadata))
    tensor = draw.choice(sorted(header.keys() - {"__metadata__"}))
    kind = draw.choice(["no metadata", "other metadata", "no tensor", "shape", "offsets", "dtype"])
    if kind == "no metadata":
        del metadata[name]
    elif kind == "other metadata":
        metadata[name] = draw.choice(["", "0", "-1", "nan", "[]", "{}", "9" * 30,
                                      metadata[name] + " "])
    elif kind == "no tensor":
        del header[tensor]
    elif kind == "shape":
        sizes = [draw.choice([0, 1, 2**31, 2**63, -1]) for _ in range(2)]
        header[tensor]["shape"] = sizes[:draw.choice([1, 2])]
    elif kind == "offsets":
        header[tensor]["data_offsets"][draw.randrange(2)] += draw.choice([-64, -1, 1, 64, 2**62])
    else:
        header[tensor]["dtype"] = draw.choice(["F64", "I32", "U8", "BOOL", "F8"])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 64)
    return struct.pack("<Q", len(text)) + text + whole[8 + length:]
