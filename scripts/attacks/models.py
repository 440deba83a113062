# SPDX-License-Identifier: Apache-2.0
"""Damaged model files: refused with one sentence, never taken."""
from __future__ import annotations

import json
import random
import struct

from .lab import Attack, Case, Lab

KINDS = {
    "als.model": [], "explicit.model": ["--feedback", "explicit"],
    "knn.model": ["--algorithm", "item-knn"], "popular.model": ["--algorithm", "popular"],
    "user.model": ["--algorithm", "user-knn", "--feedback", "explicit"],
}
ASK = [["info", "m", "--json"], ["recommend", "m", "--all"], ["predict", "m", "data.csv"],
       ["evaluate", "m", "test.csv"], ["similar", "m", "--all-items"],
       ["train", "data.csv", "-o", "n", "--resume", "m"],
       ["train", "data.csv", "-o", "n", "--add-to", "m"]]
WORDS = [b"\0" * 8, b"\xff" * 8, struct.pack("<q", -1), struct.pack("<q", 2**62),
         struct.pack("<f", float("nan")), struct.pack("<f", float("inf")), b"{}", b'"', b"-1",
         struct.pack("<i", 2**31 - 1), b"1e999"]


class Models(Attack):
    name = "models"

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        lab.make("generate", "40x20x300", "-o", "data.csv")
        lab.make("generate", "40x20x100", "-o", "test.csv", "--seed", "5")
        names = [*KINDS.items(), ("text.model", [])]
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
        content = damaged(whole, case.random)
        if content == whole:
            return
        case.write("m", content)
        case.share("data.csv", "test.csv")
        ran = case.run(*case.random.choice(ASK))
        case.check(ran.code != 0, "a damaged model is taken", f"exit 1: {name} was changed")
        case.check(not (case.folder / "n").exists(), "a result of a damaged model", "no file n")


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
