# SPDX-License-Identifier: Apache-2.0
"""`index_vectors()`: vectors of a model for an index of another library, faiss, hnswlib or usearch, which then finds
what the model would answer."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from likewise.arguments import by_name

if TYPE_CHECKING:
    from likewise.model import Model

#: (rows, dimensions), and one number for each row
Table = npt.NDArray[np.float32]


@dataclasses.dataclass(frozen=True)
class IndexVectors:
    """What an index holds, and what it is asked with.

    vectors   float32, (rows, dimensions): what the index holds; row r is ids[r]
    queries   float32, (queries, dimensions): row q asks for query_ids[q]
    """

    vectors: Table
    ids: npt.NDArray[Any]
    queries: Table
    query_ids: npt.NDArray[Any]
    metric: str
    space: str
    _shift: npt.NDArray[np.float64]  # of each query; a score is shift + scale * what the index measured
    _scale: float

    def scores(self, measured: Any, queries: Any = None) -> Table:
        """The model's scores (distances, where metric is "euclidean") of what the index measured.

        measured   (queries, k): inner products in the space "ip", squared distances in "l2", as faiss gives
                   both. hnswlib and usearch give 1 - product for "ip": pass 1 - theirs
        queries    the rows of `queries` that were asked; without: all of them
        """
        shift = self._shift if queries is None else self._shift[queries]
        found = shift.reshape(-1, 1) + self._scale * np.asarray(measured, dtype=np.float64)
        return np.sqrt(found.clip(0)).astype(np.float32) if self.metric == "euclidean" else found.astype(np.float32)


@by_name
def index_vectors(model: Model, metric: Literal["recommend", "dot", "cosine", "euclidean"] = "recommend",
                  space: Literal["ip", "l2"] = "ip", *, side: Literal["items", "users"] = "items") -> IndexVectors:
    """Vectors of a model with factors whose nearest neighbours in an index are the model's answers, in the same order.

    metric   "recommend": users ask for items, by what recommend() ranks; biases are in it. "dot", "cosine" or
             "euclidean": items ask for items (or users for users), as similar_items() with this metric does
    space    what the index compares by: "ip", the largest inner product, or "l2", the smallest squared distance.
             Both are exact, whatever the metric: graphs (HNSW) find more in "l2"
    side     of similar rows: "items" or "users"

    ValueError for a model without factors. Lists of the index hold what the user has seen, and the row itself.
    """
    if metric not in ("recommend", "dot", "cosine", "euclidean"):
        raise ValueError(f"metric must be \"recommend\", \"dot\", \"cosine\" or \"euclidean\", not {metric!r}")
    if space not in ("ip", "l2"):
        raise ValueError(f"space must be \"ip\" or \"l2\", not {space!r}")
    if side not in ("items", "users") or (metric == "recommend" and side == "users"):
        raise ValueError("side must be \"items\" or \"users\"; recommend is of items" if side in ("items", "users") else
                         f"side must be \"items\" or \"users\", not {side!r}")
    known, factors = (model.items, model.item_factors) if side == "items" else (model.users, model.user_factors)
    vectors = factors.astype(np.float64)
    if metric == "recommend":
        users = model.user_factors.astype(np.float64)
        shift = np.full(len(users), float(model.global_mean))
        if model.user_bias is not None:
            shift += model.user_bias
        if model.item_bias is not None:  # x . y + b = (x, 1) . (y, b)
            vectors, users = np.column_stack([vectors, model.item_bias]), np.column_stack([users, np.ones(len(users))])
        return _placed(vectors, known, users, model.users, metric, space, shift)
    if metric == "cosine":
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    return _placed(vectors, known, vectors, known, metric, space, np.zeros(len(vectors)))


def _placed(vectors: npt.NDArray[np.float64], known: Any, queries: npt.NDArray[np.float64], asking: Any, metric: str,
            space: str, shift: npt.NDArray[np.float64]) -> IndexVectors:
    """Vectors whose products, or whose distances where metric is "euclidean", are to be found in a space.

    By |x - y|^2 = |x|^2 - 2 x . y + |y|^2: a coordinate more makes all vectors of one length, so that the largest
    product is the smallest distance (Bachrach et al. 2014); or it carries |y|^2, so that the smallest distance is the
    largest product.
    """
    lengths, asked = (vectors**2).sum(axis=1), (queries**2).sum(axis=1)
    scale = 1.0
    if metric == "euclidean" and space == "ip":
        vectors = np.column_stack([vectors, -lengths / 2])
        queries = np.column_stack([queries, np.ones(len(queries))])
        shift, scale = asked, -2.0
    elif metric != "euclidean" and space == "l2":
        longest = float(lengths.max(initial=0))
        vectors = np.column_stack([vectors, np.sqrt((longest - lengths).clip(0))])
        queries = np.column_stack([queries, np.zeros(len(queries))])
        shift, scale = shift + (asked + longest) / 2, -0.5
    return IndexVectors(np.ascontiguousarray(vectors, dtype=np.float32), np.asarray(known),
                        np.ascontiguousarray(queries, dtype=np.float32), np.asarray(asking), metric, space, shift, scale)
