# SPDX-License-Identifier: Apache-2.0
"""Reads model files by docs/reference/model-format.md, without the program."""
from __future__ import annotations

import json
import struct

# What differs between two runs that did the same.
OF_THE_RUN = ("created", "checksum", "iterations", "updates")


class ModelFile:
    """Tensors as bytes, metadata as text."""

    def __init__(self, content: bytes) -> None:
        (length,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8:8 + length])
        self.metadata: dict[str, str] = header.pop("__metadata__")
        self.kinds = {name: (about["dtype"], tuple(about["shape"]))
                      for name, about in header.items()}
        self.tensors = {name: content[8 + length + about["data_offsets"][0]:
                                      8 + length + about["data_offsets"][1]]
                        for name, about in header.items()}

    def numbers(self, name: str) -> list[float]:
        letter = {"F32": "f", "I32": "i", "I64": "q", "F64": "d"}[self.kinds[name][0]]
        return [value for (value,) in struct.iter_unpack("<" + letter, self.tensors[name])]

    def ids(self, side: str) -> list[bytes]:
        """Of the "user" or the "item" side."""
        kind = self.metadata[f"{side}_ids"]
        if kind == "text":
            chars, ends = self.tensors[f"{side}_ids.chars"], self.numbers(f"{side}_ids.offsets")
            return [chars[int(a):int(b)] for a, b in zip(ends, ends[1:])]
        if kind == "range":
            rows = (len(self.numbers("history.offsets")) - 1 if side == "user"
                    else self.kinds["item_factors"][1][0])
            return [str(row).encode() for row in range(rows)]
        return [str(int(row)).encode() for row in self.numbers(f"{side}_ids")]

    def history(self) -> dict[tuple[bytes, bytes], float]:
        users, items = self.ids("user"), self.ids("item")
        ends = [int(end) for end in self.numbers("history.offsets")]
        columns, values = self.numbers("history.columns"), self.numbers("history.values")
        return {(users[u], items[int(columns[at])]): values[at]
                for u in range(len(users)) for at in range(ends[u], ends[u + 1])}

    def iterations(self) -> list[dict[str, float]]:
        """The course of training, without its times."""
        return [{key: value for key, value in one.items() if key != "seconds"}
                for one in json.loads(self.metadata["iterations"])]


def difference(left: bytes, right: bytes, but: tuple[str, ...] = ()) -> str:
    """The first tensor or piece of metadata in which two models differ, or ""; times and what is
    named in `but` apart."""
    a, b = ModelFile(left), ModelFile(right)
    for name in sorted(a.tensors.keys() | b.tensors.keys()):
        if a.tensors.get(name) != b.tensors.get(name) or a.kinds.get(name) != b.kinds.get(name):
            return f"tensor {name}"
    for name in sorted((a.metadata.keys() | b.metadata.keys()) - set(OF_THE_RUN) - set(but)):
        if a.metadata.get(name) != b.metadata.get(name):
            return f"metadata {name}: {a.metadata.get(name)} and {b.metadata.get(name)}"
    if "iterations" not in but and a.iterations() != b.iterations():
        return f"iterations: {a.metadata['iterations']} and {b.metadata['iterations']}"
    return ""
