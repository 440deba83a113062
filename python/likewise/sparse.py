# SPDX-License-Identifier: Apache-2.0
"""SciPy's matrices, checked before SciPy's own code walks through their arrays, which it trusts."""
from __future__ import annotations

from typing import Any

import numpy as np

_MOST = np.iinfo(np.int32).max


def is_sparse(data: Any) -> bool:
    return type(data).__module__.startswith("scipy.sparse") and hasattr(data, "tocsr")


def by_rows(matrix: Any) -> Any:
    """The matrix, which is checked, in CSR format. Entries that stand twice stay two: SciPy would sum those of COO
    and BSR, in the matrix's own type."""
    if matrix.format not in ("coo", "bsr"):
        return matrix.tocsr()
    import scipy.sparse
    entries = checked(matrix.tocoo())
    # A column for each entry, so that none meets another: SciPy orders them by rows in linear time.
    each = scipy.sparse.csc_matrix((entries.data, entries.row, np.arange(entries.nnz + 1)), shape=(matrix.shape[0], entries.nnz))
    ordered = each.tocsr()
    return scipy.sparse.csr_matrix((ordered.data, entries.col[ordered.indices], ordered.indptr), shape=matrix.shape)


def checked(matrix: Any) -> Any:
    """The matrix itself. ValueError for arrays that do not belong together, for indices outside of the
    shape, and for more rows or columns than the engine counts."""
    if len(matrix.shape) != 2:
        raise ValueError(f"a matrix of users x items is needed, not of shape {matrix.shape}")
    if max(matrix.shape) > _MOST:
        raise ValueError(f"a matrix of {matrix.shape}: at most {_MOST} rows and columns")
    rows, cols = matrix.shape
    if matrix.format in ("csr", "csc"):
        lines, across, (length, width) = (("row", "column", (rows, cols)) if matrix.format == "csr" else
                                          ("column", "row", (cols, rows)))
        _check_compressed(matrix, length, lines)
        _check_range(matrix.indices[:matrix.indptr[-1]], width, across, matrix, lines)
    elif matrix.format == "coo":
        _check_range(matrix.row, rows, "row")
        _check_range(matrix.col, cols, "column")
    return matrix


def _check_compressed(matrix: Any, length: int, lines: str) -> None:
    offsets, stored = matrix.indptr, min(len(matrix.indices), len(matrix.data))
    if len(offsets) != length + 1 or offsets[0] != 0:
        raise ValueError(f"the matrix is broken: indptr has {len(offsets)} numbers from {offsets[:1]}; "
                         f"{length + 1} numbers from 0 are needed")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if falls.size or offsets[-1] > stored:
        line = int(falls[0]) if falls.size else int(np.argmax(offsets[1:] > stored))
        raise ValueError(f"the matrix is broken: by indptr {lines} {line} is from entry {offsets[line]} "
                         f"to {offsets[line + 1]}, of {stored} that there are")


def _check_range(indices: Any, size: int, what: str, matrix: Any = None, lines: str = "") -> None:
    if not len(indices) or (indices.min() >= 0 and indices.max() < size):
        return
    at = int(np.argmax((indices < 0) | (indices >= size)))
    where = f"entry {at}"
    if matrix is not None:
        where = f"{lines} {int(np.searchsorted(matrix.indptr, at, side='right')) - 1}"
    raise ValueError(f"the matrix is broken: {where} has {what} {indices[at]}, outside of [0, {size})")
