# SPDX-License-Identifier: Apache-2.0
"""Tables of numbers from NumPy and whatever speaks DLPack: PyTorch, CuPy, JAX."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

#: Devices of DLPack whose memory the processor reads: the CPU's own, and what CUDA pinned.
_READABLE = (1, 3)


class _OnCpu:
    """A tensor of another device, which its library copies into the machine's memory."""

    def __init__(self, tensor: Any):
        self._tensor = tensor

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **wanted: Any) -> Any:
        return self._tensor.__dlpack__(**{**wanted, "stream": None, "dl_device": (1, 0), "copy": True})


def table_of(table: Any, what: str, dtype: Any) -> npt.NDArray[Any]:
    """A copy as an array (rows, columns) in the machine's memory.

    ValueError for other shapes, and where the library of a tensor on another device cannot copy it.
    """
    if hasattr(table, "__dlpack__") and not isinstance(table, np.ndarray):
        tensor = table if table.__dlpack_device__()[0] in _READABLE else _OnCpu(table)
        try:
            table = np.from_dlpack(tensor)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise ValueError(f"{what}: a tensor of {type(table).__module__.partition('.')[0]} cannot be "
                             f"read ({error}); give a NumPy array of its values") from error
    if isinstance(table, np.ma.MaskedArray) and np.ma.getmaskarray(table).any():
        raise ValueError(f"{what} have masked numbers: fill them first")
    try:
        plain = np.asarray(table)
        others = plain.dtype.kind in "cMmSU" or (
            plain.dtype.kind == "O" and any(isinstance(one, (str, bytes, complex)) for one in plain.flat))
        if others:
            raise TypeError
        array = np.array(plain, dtype=dtype, order="C")
    except (TypeError, ValueError):
        of = f"of {table.dtype}" if isinstance(table, np.ndarray) else f"of type {type(table).__name__}"
        raise TypeError(f"{what} must be a table of numbers, not {of}") from None
    if array.ndim != 2:
        raise ValueError(f"{what} have the shape {array.shape}; (rows, factors) is needed")
    return array
