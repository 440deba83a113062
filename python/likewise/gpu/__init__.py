# SPDX-License-Identifier: Apache-2.0
"""Whether there is a GPU to train on."""
from typing import TYPE_CHECKING

from likewise import _core
from likewise.lazy import loader

#: Whether a CUDA device can be used here; `likewise.info()` says why not.
HAS_CUDA: bool = any(device["name"].startswith("cuda") and device["available"]
                      for device in _core.devices())

if TYPE_CHECKING:
    from likewise.gpu import als, bpr, matrix_factorization_base
else:
    __getattr__ = loader("likewise.gpu", ("als", "bpr", "matrix_factorization_base"))
