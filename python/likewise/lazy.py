# SPDX-License-Identifier: Apache-2.0
"""Modules of a package that their first use loads, and those that are not there."""
from __future__ import annotations

import difflib
import importlib
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Callable


def loader(package: str, modules: Collection[str], names: Collection[str] = (),
           elsewhere: Mapping[str, str] = MappingProxyType({})) -> Callable[[str], Any]:
    """The __getattr__ of a package that loads these modules. Of another name AttributeError says what stands
    `elsewhere` for it, or which of the package's `names`, or else modules, are like it."""

    def load(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name in elsewhere:
            hint = f": that is {elsewhere[name]} here"
        else:
            hint = "" if name.startswith("_") else _like(package, name, names) or _like(package, name, modules)
        raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")

    return load


def _like(package: str, name: str, names: Collection[str]) -> str:
    by_lower = {one.lower(): one for one in names}
    close = difflib.get_close_matches(name.lower(), by_lower, n=2)
    return f"; did you mean {' or '.join(f'{package}.{by_lower[one]}' for one in close)}?" if close else ""


def absent(what: str, instead: str, names: Collection[str] = ()) -> Callable[[str], Any]:
    """The __getattr__ of a module without these names, or any: ImportError says what to use."""

    def refuse(name: str) -> Any:
        if (names and name not in names) or name.startswith("__"):
            raise AttributeError(f"module {what!r} has no attribute {name!r}")
        raise ImportError(f"{what}.{name} is not there: {instead}")

    return refuse
