# SPDX-License-Identifier: Apache-2.0
"""Stands in for a library as an older system has it: a shared library with the same names and
versions, up to a newest one, and nothing in it. What is linked with it asks the older system for no more."""
from __future__ import annotations

import dataclasses
import pathlib
import re
import subprocess

SYMBOL = re.compile(r"\s*\d+: [0-9a-f]+\s+(?P<size>0x[0-9a-f]+|\d+)\s+(?P<kind>\w+)\s+(?P<binding>\w+)\s+DEFAULT"
                    r"(?:\s+\[[^]]*\])?\s+(?P<section>\w+)\s+(?P<name>[^@\s]+)@{1,2}(?P<version>\S+)")
KINDS = {"FUNC": "@function", "OBJECT": "@object", "TLS": "@tls_object", "IFUNC": "@function"}
SECTIONS = {"@function": ".text", "@object": ".data", "@tls_object": '.section .tdata,"awT",%progbits'}


@dataclasses.dataclass(frozen=True)
class Symbol:
    name: str
    version: str
    kind: str
    size: int
    weak: bool


def number(version: str) -> tuple[str, tuple[int, ...]]:
    """("GLIBCXX", (3, 4, 24)) of "GLIBCXX_3.4.24"."""
    family, _, numbers = version.rpartition("_")
    return family, tuple(map(int, re.findall(r"\d+", numbers)))


def is_old(version: str, newest: dict[str, str]) -> bool:
    """Whether a version is one of those up to `newest`, which names the last of each family."""
    family, numbers = number(version)
    return family in newest and numbers <= number(f"_{newest[family]}")[1]


def symbols_of(listed: str, newest: dict[str, str]) -> list[Symbol]:
    """Of what `readelf --dyn-syms` lists: each name with its last version among the old ones."""
    found: dict[str, Symbol] = {}
    for line in listed.splitlines():
        match = SYMBOL.match(line)
        if match is None or match["section"] in ("UND", "ABS") or match["kind"] not in KINDS:
            continue
        symbol = Symbol(match["name"], match["version"], KINDS[match["kind"]], int(match["size"], 0),
                        match["binding"] == "WEAK")
        before = found.get(symbol.name)
        if is_old(symbol.version, newest) and (
                before is None or number(before.version)[1] < number(symbol.version)[1]):
            found[symbol.name] = symbol
    return list(found.values())


def assembly(symbols: list[Symbol]) -> str:
    """Each at an address of its own, with its size: an executable copies data by them."""
    lines = []
    for index, symbol in enumerate(symbols):
        own = f"likewise_{index}"
        lines += [SECTIONS[symbol.kind], ".balign 32", f".{'weak' if symbol.weak else 'globl'} {own}",
                  f".type {own}, {symbol.kind}", f".size {own}, {symbol.size}",
                  f".symver {own}, {symbol.name}@@{symbol.version}, remove", f"{own}:",
                  f".zero {max(symbol.size, 1) if symbol.kind != '@function' else 4}"]
    return "\n".join([*lines, '.section .note.GNU-stack,"",%progbits', ""])


def version_script(symbols: list[Symbol]) -> str:
    return "".join(f"{version} {{ }};\n" for version in sorted({symbol.version for symbol in symbols}))


def make_old_library(real: pathlib.Path, newest: dict[str, str], made: pathlib.Path, compiler: str) -> None:
    """Makes the stand-in `made` of the library `real`."""
    listed = subprocess.run(["readelf", "--dyn-syms", "-W", real], check=True, capture_output=True, text=True).stdout
    symbols = symbols_of(listed, newest)
    if not symbols:
        raise SystemExit(f"release: {real} has no symbol of {newest}")
    source, script = made.with_suffix(".s"), made.with_suffix(".map")
    source.write_text(assembly(symbols))
    script.write_text(version_script(symbols))
    subprocess.run([compiler, "-shared", "-nostdlib", f"-Wl,--version-script={script}", f"-Wl,-soname,{real.name}",
                    source, "-o", made], check=True)
    source.unlink()
    script.unlink()
