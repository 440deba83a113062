# SPDX-License-Identifier: Apache-2.0
"""The path under which `implicit` 0.7 has the classes that train on the CPU."""
from typing import TYPE_CHECKING

from likewise.lazy import loader

if TYPE_CHECKING:
    from likewise.cpu import als, bpr, lmf, matrix_factorization_base, topk
else:
    __getattr__ = loader("likewise.cpu", ("als", "bpr", "lmf", "matrix_factorization_base", "topk"))
