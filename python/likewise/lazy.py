# SPDX-License-Identifier: Apache-2.0
"""Modules of a package that their first use loads, and those that are not there."""
from __future__ import annotations

import importlib
from collections.abc import Collection
from typing import Any, Callable


def loader(package: str, modules: Collection[str]) -> Callable[[str], Any]:
    """The __getattr__ of a package that loads these modules."""

    def load(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load


def absent(what: str, instead: str, names: Collection[str] = ()) -> Callable[[str], Any]:
    """The __getattr__ of a module without these names, or any: ImportError says what to use."""

    def refuse(name: str) -> Any:
        if (names and name not in names) or name.startswith("__"):
            raise AttributeError(f"module {what!r} has no attribute {name!r}")
        raise ImportError(f"{what}.{name} is not there: {instead}")

    return refuse
