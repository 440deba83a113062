# SPDX-License-Identifier: Apache-2.0
"""Where two files of the same command differ, apart from what belongs to the run and not to its
result."""
from __future__ import annotations

import csv
import io
import itertools
import json
import pathlib
import struct
from typing import Any

from modelfile import ModelFile

OF_THE_RUN = {"checksum", "created", "device", "elapsed", "likewise_version", "seconds", "source"}
LETTERS = {"F32": "f", "I32": "i", "I64": "q", "U8": "B"}


class Difference(Exception):
    """Where two files differ."""


def compare(before: pathlib.Path, after: pathlib.Path) -> list[str]:
    """Raises Difference; returns what only one of them tells (a parameter, a metric)."""
    left, right = before.read_bytes(), after.read_bytes()
    if left == right:
        return []
    notes: list[str] = []
    if before.suffix == ".safetensors":
        compare_models(ModelFile(left), ModelFile(right), notes)
    elif before.suffix == ".json":
        compare_values("", json.loads(left), json.loads(right), notes)
    else:
        left, right = common_columns(left, right, notes)
        if left != right:
            compare_lines(left, right)
    return notes


def common_columns(left: bytes, right: bytes, notes: list[str]) -> tuple[bytes, bytes]:
    """CSV without the columns that only one of them has; other text as it is."""
    headers = [text.split(b"\n", 1)[0].decode("utf-8", "backslashreplace").split(",")
               for text in (left, right)]
    alone = set(headers[0]) ^ set(headers[1])
    if not alone or not set(headers[0]) & set(headers[1]):
        return left, right
    notes.extend(f"column {name} only {'before' if name in headers[0] else 'after'}"
                 for name in sorted(alone))
    return without_columns(left, alone), without_columns(right, alone)


def without_columns(text: bytes, names: set[str]) -> bytes:
    rows = list(csv.reader(io.StringIO(text.decode("utf-8", "surrogateescape"), newline="")))
    kept = [at for at, name in enumerate(rows[0]) if name not in names]
    lines = ("\t".join(row[at] for at in kept if at < len(row)) for row in rows)
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def compare_lines(left: bytes, right: bytes) -> None:
    pairs = list(itertools.zip_longest(left.split(b"\n"), right.split(b"\n")))
    differing = [number for number, (a, b) in enumerate(pairs, 1) if a != b]
    a, b = (shown(line) for line in pairs[differing[0] - 1])
    raise Difference(f"line {differing[0]}: {a} became {b}; "
                     f"{len(differing):,} of {len(pairs):,} lines differ")


def shown(line: bytes | None) -> str:
    return "nothing" if line is None else repr(line[:100].decode("utf-8", "backslashreplace"))


def compare_models(left: ModelFile, right: ModelFile, notes: list[str]) -> None:
    for name in sorted(left.tensors.keys() | right.tensors.keys()):
        if name.startswith("_pad."):  # of the length of the header
            continue
        if name not in left.tensors or name not in right.tensors:
            notes.append(f"{name} only {'before' if name in left.tensors else 'after'}")
            continue
        kinds = left.kinds[name], right.kinds[name]
        if kinds[0] != kinds[1]:
            raise Difference(f"tensor {name}: {kinds[0]} became {kinds[1]}")
        compare_tensors(f"tensor {name}", *kinds[0], left.tensors[name], right.tensors[name])
    compare_values("metadata", metadata(left), metadata(right), notes)


def compare_tensors(name: str, kind: str, shape: tuple[int, ...], left: bytes,
                    right: bytes) -> None:
    if left == right:
        return
    pairs = list(zip(struct.iter_unpack("<" + LETTERS[kind], left),
                     struct.iter_unpack("<" + LETTERS[kind], right)))
    differing = [at for at, (a, b) in enumerate(pairs)
                 if struct.pack("<" + LETTERS[kind], *a) != struct.pack("<" + LETTERS[kind], *b)]
    (a,), (b,) = pairs[differing[0]]
    place = divmod(differing[0], shape[1]) if len(shape) == 2 else differing[0]
    most = max(abs(x - y) for (x,), (y,) in (pairs[at] for at in differing))
    raise Difference(f"{name} at {place}: {a!r} became {b!r}; {len(differing):,} of "
                     f"{len(pairs):,} numbers differ, by at most {most:.3g}")


def metadata(model: ModelFile) -> dict[str, Any]:
    structured = ("parameters", "iterations", "updates")
    return {key: json.loads(value) if key in structured else value
            for key, value in model.metadata.items()}


def compare_values(name: str, left: Any, right: Any, notes: list[str]) -> None:
    """Values of JSON; what only one object has is a note."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted((left.keys() | right.keys()) - OF_THE_RUN):
            path = f"{name} {key}".lstrip()
            if key not in left or key not in right:
                notes.append(f"{path} only {'before' if key in left else 'after'}")
            else:
                compare_values(path, left[key], right[key], notes)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for at, (a, b) in enumerate(zip(left, right)):
            compare_values(f"{name} {at}", a, b, notes)
    elif repr(left) != repr(right):
        raise Difference(f"{name}: {left!r} became {right!r}")
