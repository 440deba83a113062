# SPDX-License-Identifier: Apache-2.0
"""Modules of a package that their first use loads."""
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
