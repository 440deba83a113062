# SPDX-License-Identifier: Apache-2.0
"""`Lists`: the answers to a batch of queries, as arrays or as a frame of any kind."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from likewise.arguments import by_names, shown
from likewise.frames import Framed
from likewise.ids import IdArray, Ids, IndexArray, spelled

if TYPE_CHECKING:
    import pandas


@by_names
class Lists(Framed):
    """The best answers to each of some queries, best first.

    counts    int32, (queries,): how many answers each query has, k at most
    indices   int32, (queries, k): indices of the answers, -1 beyond counts
    scores    float32, (queries, k); what is beyond counts means nothing
    unknown   how many ids were skipped that the model does not know; lists of some queries keep it

    lists[0] is the answers to the first query, lists[:10] lists of the first ten, lists.of("ann")
    the answers to the query "ann". `==` compares queries, answers and scores.
    """

    def __init__(self, query_name: str, queries: IdArray, answer_name: str, ids: Ids | KeptIds,
                 found: tuple[IndexArray, npt.NDArray[np.float32], npt.NDArray[np.int32]],
                 titles: Any = None, unknown: int = 0):
        self.query_name = query_name
        self.answer_name = answer_name
        self.queries = queries
        self.indices, self.scores, self.counts = found
        self._ids = ids
        self._titles = titles
        self.unknown = unknown

    def __len__(self) -> int:
        return len(self.counts)

    def __eq__(self, other: object) -> bool:
        """Whether they are the same answers, with the same scores, to the same queries."""
        if not isinstance(other, Lists):
            return NotImplemented
        names = (self.query_name, self.answer_name) == (other.query_name, other.answer_name)
        return names and all(np.array_equal(one, two) for one, two in zip(self._content(), other._content()))

    __hash__ = None  # type: ignore[assignment]

    def _content(self) -> tuple[npt.NDArray[Any], ...]:
        kept = np.arange(self.indices.shape[1]) < self.counts[:, None]
        return self.queries, self.counts, self._ids.take(self.indices[kept]), self.scores[kept]

    def __iter__(self) -> Iterator[list[tuple[Any, float]]]:
        """The answers to each query."""
        return (self[query] for query in range(len(self)))

    @overload
    def __getitem__(self, query: int) -> list[tuple[Any, float]]: ...
    @overload
    def __getitem__(self, query: slice | npt.NDArray[Any] | list[int]) -> Lists: ...

    def __getitem__(self, query: Any) -> list[tuple[Any, float]] | Lists:
        """The answers to one query, by its place: (id, score) pairs; Lists for a slice or an array of places."""
        if isinstance(query, (slice, list, np.ndarray)):
            return self._part(query)
        if isinstance(query, str):
            raise TypeError(f"{query!r}: lists are taken by their place, lists[0], or by who asked, lists.of(id); "
                            "to_pandas() and columns() have columns")
        count = self.counts[query]
        ids = self._ids.take(self.indices[query, :count])
        return list(zip(ids.tolist(), self.scores[query, :count].tolist()))

    def of(self, query: Any) -> list[tuple[Any, float]]:
        """The answers to the query of this id: (id, score) pairs. KeyError where it was not asked about."""
        places = np.flatnonzero(np.asarray(self.queries == spelled(query, self.queries.dtype == object)))
        if not places.size:
            raise KeyError(f"{shown(query)} is none of these {len(self)} {self.query_name}s")
        return self[int(places[0])]

    @property
    def ids(self) -> IdArray:
        """(queries, k): ids of the answers; None beyond counts, or -1 where ids are integers."""
        known = self.indices >= 0
        result = self._ids.take(np.where(known, self.indices, 0)) if len(self._ids) else \
            np.zeros(self.indices.shape, dtype=np.int64)
        if not known.all():
            nothing: Any = None if result.dtype == object else -1
            result[~known] = nothing
        return result

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """One row per answer: query, answer, rank from 1, score, and title where there are any."""
        kept = np.arange(self.indices.shape[1]) < self.counts[:, None]
        indices = self.indices[kept]
        result: dict[str, npt.NDArray[Any]] = {
            self.query_name: np.repeat(self.queries, self.counts),
            self.answer_name: self._ids.take(indices),
            "rank": np.nonzero(kept)[1].astype(np.int32) + 1,
            "score": self.scores[kept],
        }
        if self._titles is not None:
            result["title"] = np.array(self._titles(indices), dtype=object)
        return result

    def to_run(self) -> dict[str, dict[str, float]]:
        """{query: {answer: score}}, ids as text: what ranx and ir_measures measure. Of distances, whose smallest
        are the best, the negative."""
        ids, scores = self.ids, self.scores * (-1 if self._ascending() else 1)
        return {str(query): {str(one): float(score) for one, score in zip(ids[row, :count], scores[row, :count])}
                for row, (query, count) in enumerate(zip(self.queries.tolist(), self.counts.tolist()))}

    def _ascending(self) -> bool:
        """Whether the first answers have the smallest scores."""
        return any(count > 1 and row[0] < row[count - 1] for row, count in zip(self.scores, self.counts.tolist()))

    def __getstate__(self) -> dict[str, Any]:
        """Ids and titles of the answers alone go along, not the whole model's."""
        used = np.unique(self.indices[self.indices >= 0])
        titles = None if self._titles is None else KeptTitles(used, self._titles(used))
        return self.__dict__ | {"_ids": KeptIds(used, self._ids.take(used)), "_titles": titles}

    def __repr__(self) -> str:
        shown = []
        for q in range(min(len(self), 5)):
            answers = ", ".join(f"{one} {score:.4g}" for one, score in self[q][:5])
            more = ", ..." if self.counts[q] > 5 else ""
            shown.append(f"  {self.queries[q]}: {answers}{more}")
        if len(self) > 5:
            shown.append("  ...")
        head = f"<{len(self):,} lists of {self.indices.shape[1]} {self.answer_name}s at most>"
        return "\n".join([head, *shown])

    def _repr_html_(self) -> str:
        return self[:5].to_pandas()._repr_html_()  # type: ignore[no-any-return]

    def _part(self, some: Any) -> Lists:
        return Lists(self.query_name, self.queries[some], self.answer_name, self._ids,
                     (self.indices[some], self.scores[some], self.counts[some]), self._titles, self.unknown)


class KeptIds:
    """The ids of some indices."""

    def __init__(self, indices: IndexArray, ids: IdArray):
        self._indices = indices
        self._kept = ids

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, indices: IndexArray) -> IdArray:
        if len(self) == 0:
            return np.zeros(indices.shape, dtype=self._kept.dtype)
        places = np.searchsorted(self._indices, indices).clip(0, len(self) - 1)
        ids: IdArray = self._kept[places]
        return ids


class KeptTitles:
    def __init__(self, indices: IndexArray, titles: list[str]):
        self._ids = KeptIds(indices, np.array(titles, dtype=object))

    def __call__(self, indices: IndexArray) -> list[str]:
        return self._ids.take(indices).tolist()  # type: ignore[no-any-return]
