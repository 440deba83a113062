# SPDX-License-Identifier: Apache-2.0
"""help() says something of every public name."""
import functools
import importlib
import inspect

import pytest

MODULES = ["likewise", *(f"likewise.{name}" for name in (
    "als bpr nearest_neighbours recommender_base evaluation utils metrics cpu.als gpu.als surprise surprise.accuracy surprise.dump "
    "surprise.model_selection surprise.similarities surprise.prediction_algorithms.knns surprise.utils").split())]


def undocumented(module):
    """Public functions and classes of a module, and what these have of ours, without a docstring."""
    for name, one in vars(importlib.import_module(module)).items():
        if name.startswith("_") or not callable(one) or not str(getattr(one, "__module__", "")).startswith("likewise"):
            continue
        if not inspect.getdoc(one):
            yield f"{module}.{name}"
        for part in dir(one) if inspect.isclass(one) else ():
            found = inspect.getattr_static(one, part, None)
            ours = callable(getattr(one, part, None)) or isinstance(found, (property, functools.cached_property))
            if not part.startswith("_") and ours and not inspect.getdoc(getattr(one, part, None) if callable(found) else found):
                yield f"{module}.{name}.{part}"


@pytest.mark.parametrize("module", MODULES)
def test_public_names_have_docstrings(module):
    assert not [*undocumented(module)]
