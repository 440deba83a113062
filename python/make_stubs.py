# SPDX-License-Identifier: Apache-2.0
"""Writes likewise/estimators.pyi: the estimators with the parameters of their algorithms, for editors
and type checkers.

    python make_stubs.py FOLDER       the package's, with the extension _core in it
"""
import pathlib
import sys

CLASSES = {"Als": "als", "Auto": "auto", "ItemKnn": "item-knn", "UserKnn": "user-knn", "Popular": "popular",
           "Bias": "bias", "Sgd": "sgd", "Bpr": "bpr", "Ease": "ease", "Spectral": "spectral"}


def type_of(parameter):
    if parameter["kind"] == "choice":
        return "Literal[" + ", ".join(f'"{choice}"' for choice in parameter["choices"]) + "] | None"
    return parameter["kind"] + " | None"


def main(folder):
    sys.path.insert(0, folder)
    import _core

    lines = ["# Written by the build.", "from collections.abc import Sequence", "from typing import ClassVar, Literal", "",
             "from likewise.estimator import Estimator", ""]
    for name, algorithm in CLASSES.items():
        parameters = [(one["name"], type_of(one)) for one in _core.parameters(algorithm)]
        parameters += [("device", "str | Sequence[int]"), ("threads", "int")]
        lines += [f"class {name}(Estimator):", "    algorithm: ClassVar[str]"]
        # A number of rounds here; of the Model, whose answers an estimator has, what they did.
        lines += [f"    {field}: {kind}" + ("  # type: ignore[assignment]" if field == "iterations" else "")
                  for field, kind in parameters]
        lines += ["    def __init__(self, *,"]
        lines += [f"                 {field}: {kind} = ..." + (") -> None: ..." if last else ",")
                  for (field, kind), last in zip(parameters, [False] * (len(parameters) - 1) + [True])]
        lines.append("")
    (pathlib.Path(folder) / "estimators.pyi").write_text("\n".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
