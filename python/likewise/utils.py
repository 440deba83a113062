# SPDX-License-Identifier: Apache-2.0
"""Checks of matrices, ids and seeds, under the names that programs for `implicit` know."""
from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from likewise import _core
from likewise.arguments import whole
from likewise.ids import listed
from likewise.progress import bar_class
from likewise.sparse import checked

#: The score of a place of a list that holds no answer.
NO_SCORE = np.float32(np.finfo(np.float32).min)

Array = npt.NDArray[Any]


class ParameterWarning(Warning):
    """An argument works, but costs a conversion."""


def check_csr(user_items: Any) -> Any:
    """The matrix in CSR format, with a ParameterWarning where it has to be converted.

    TypeError for what is not a SciPy sparse matrix, ValueError for one that is broken or too large.
    """
    if not scipy.sparse.issparse(user_items):
        raise TypeError(f"a SciPy sparse matrix is needed, not {type(user_items).__name__}; make one with "
                        "scipy.sparse.csr_matrix")
    if checked(user_items).format == "csr":
        return user_items
    start = time.time()
    result = user_items.tocsr()
    warnings.warn(f"Method expects CSR input, and was passed {type(user_items).__name__} instead. "
                  f"Converting to CSR took {time.time() - start:.3g} seconds", ParameterWarning, stacklevel=3)
    return result


def check_random_state(random_state: Any) -> np.random.Generator:
    """A generator from a seed (int or None), itself, or a RandomState, which draws the seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise type(error)(f"random_state must be a whole number from 0, a Generator, a RandomState or None, not "
                          f"{random_state!r}") from error


def check_blas_config() -> None:
    """Does nothing: the solvers here call no threaded BLAS."""


def nonzeros(m: Any, row: int) -> Iterator[tuple[Any, Any]]:
    """The (column, value) pairs that are stored in a row of a CSR matrix."""
    entries = slice(m.indptr[row], m.indptr[row + 1])
    return zip(m.indices[entries], m.data[entries])


def augment_inner_product_matrix(factors: Array) -> tuple[Any, Array]:
    """The largest norm of a row, and the rows with one more column that gives all of them that norm.

    A search by angle in the result (rows, factors + 1) finds the largest inner products with a query that
    has 0 in the last column (Bachrach et al., Speeding up the Xbox recommender system, RecSys 2014).
    """
    norms = np.linalg.norm(factors, axis=1)
    largest = norms.max()
    extra = np.sqrt(np.maximum(largest**2 - norms**2, 0))
    return largest, np.append(factors, extra[:, None], axis=1)


def canonical(matrix: Any, dtype: Any = np.float32) -> Any:
    """A CSR matrix with values of a type, columns int32 and rising within rows, duplicates added up.

    Shares what it can with the argument, which stays as it is, and has been checked().
    """
    values = np.ascontiguousarray(matrix.data, dtype=dtype)
    result = scipy.sparse.csr_matrix((values, matrix.indices, matrix.indptr), shape=matrix.shape)
    if not result.has_canonical_format:
        result = result.copy()
        result.sum_duplicates()
    if result.indices.dtype != np.int32:
        result.indices = result.indices.astype(np.int32)
    return result


def row_of_entry(matrix: Any) -> Array:
    """The row of each entry of a CSR matrix, in their order."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def check_finite(matrix: Any, name: str) -> None:
    """ValueError that names the first value of a CSR matrix that 32 bits do not hold: NaN, infinite, or 0 there alone."""
    with np.errstate(over="ignore"):
        single = matrix.data.astype(np.float32, copy=False)
    wrong = np.flatnonzero(~np.isfinite(single) | ((single == 0) & (matrix.data != 0)))
    if wrong.size:
        at = wrong[0]
        raise ValueError(f"{name} holds {matrix.data[at]} in row {row_of_entry(matrix)[at]}, column "
                         f"{matrix.indices[at]}; values are finite 32-bit numbers")


def as_ids(ids: Any, rows: int | None, what: str) -> tuple[Array, bool]:
    """Ids as int32 (n,), and whether one was given and not a sequence.

    IndexError for ids that are no integers, or outside of 0 to rows - 1 (None: any that is not negative).
    """
    array = np.asarray(listed(ids) if hasattr(ids, "__len__") and not isinstance(ids, (str, bytes)) else ids)
    if array.ndim > 1:
        raise ValueError(f"{what} ids have the shape {array.shape}; one id or a sequence of ids is needed")
    if array.size == 0:
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise IndexError(f"{what} ids are integers, not {array.dtype}")
    last = np.iinfo(np.int32).max if rows is None else rows - 1
    wrong = (array < 0) | (array > last)
    if wrong.any():
        raise IndexError(f"{what} {array[wrong].flat[0]} is not in the model: its ids are 0 to {last}")
    return np.ascontiguousarray(array, dtype=np.int32).reshape(-1), array.ndim == 0


def in_rows(matrix: Any) -> Any:
    """The same, where a row of a csr_array, such as user_items[0], is a matrix of one row."""
    one = scipy.sparse.issparse(matrix) and matrix.ndim == 1
    return matrix.reshape(1, -1).tocsr() if one else matrix


def threads_of(num_threads: Any) -> int:
    """How many threads, 0 for all cores."""
    count = whole(num_threads, "num_threads")
    if not 0 <= count <= 4096:
        raise ValueError(f"num_threads must be 0 (all cores) to 4096, not {count}")
    return count


def as_rows(matrix: Any, count: int, name: str, cols: int, dtype: Any = np.float32) -> Any:
    """A CSR matrix of one row per id, as canonical() makes it.

    ValueError where it is no CSR matrix or has another number of rows, IndexError where it has entries
    beyond `cols` columns. Fewer columns are as good as empty ones.
    """
    matrix = in_rows(matrix)
    if not scipy.sparse.issparse(matrix) or matrix.format != "csr" or matrix.ndim != 2:
        raise ValueError(f"{name} needs to be a CSR sparse matrix, not {type(matrix).__name__}; "
                         "scipy.sparse.csr_matrix makes one")
    if checked(matrix).shape[0] != count:
        raise ValueError(f"{name} must contain 1 row for every id: its shape is {matrix.shape}, and there "
                         f"are {count} ids. Select the rows with {name}[ids]; transpose it first where it "
                         "has them as columns")
    if matrix.shape[1] > cols and matrix.nnz and matrix.indices.max() >= cols:
        raise IndexError(f"{name} has an entry in column {matrix.indices.max()}; the model was fit with "
                         f"{cols} columns. Its shape is {matrix.shape}: is it transposed?")
    return canonical(matrix, dtype)


def as_count(number: Any, rows: int, name: str = "N") -> int:
    """How wide lists of N are: the rows that there are bound it. ValueError where N is below 1 or above 2^31 - 1."""
    count = whole(number, name)
    if not 1 <= count <= np.iinfo(np.int32).max:
        raise ValueError(f"{name} must be 1 to {np.iinfo(np.int32).max}, not {count}")
    return min(count, rows)


def optional_ids(ids: Any, rows: int, what: str) -> Array | None:
    """Ids to rank alone or to leave out, each once and rising; None where none are given."""
    return None if ids is None else np.unique(as_ids(ids, rows, what)[0])


def file_of(fileobj_or_path: Any) -> Any:
    """The same, or the checked name of a file, which ends in .npz."""
    if hasattr(fileobj_or_path, "read") or hasattr(fileobj_or_path, "write"):
        return fileobj_or_path
    name = _core.checked_path(fileobj_or_path)
    return name if name.endswith(".npz") else f"{name}.npz"


def fill(ids: Array, pool: Array) -> None:
    """Puts ids of the pool that a list lacks into its places that hold -1, as far as they go.

    ids (lists, places) of the pool, or -1, which is last in its list; pool rises.
    """
    short = np.flatnonzero(ids[:, -1:] < 0)
    for chunk in np.array_split(short, 1 + short.size * pool.size // 10_000_000):
        lists = ids[chunk]
        left = np.ones((len(chunk), pool.size), dtype=bool)
        row, place = np.nonzero(lists >= 0)
        left[row, np.searchsorted(pool, lists[row, place])] = False
        rest = np.append(pool[np.argsort(~left, axis=1, kind="stable")],
                         np.full(lists.shape, -1, dtype=np.int32), axis=1)
        rest[np.arange(rest.shape[1]) >= left.sum(axis=1)[:, None]] = -1
        row, place = np.nonzero(lists < 0)
        lists[row, place] = rest[row, place - (lists >= 0).sum(axis=1)[row]]
        ids[chunk] = lists


class NoBar:
    """In place of a progress bar."""

    def update(self, n: int = 1) -> None:
        """Does nothing."""

    def set_postfix(self, values: dict[str, Any]) -> None:
        """Does nothing."""

    def __enter__(self) -> NoBar:
        return self

    def __exit__(self, *_: object) -> None: ...


def progress_bar(total: int, shown: bool) -> Any:
    """A bar; none where it is not wanted."""
    return bar_class()(total=total) if shown else NoBar()
