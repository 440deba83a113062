# SPDX-License-Identifier: Apache-2.0
"""Random calls with random arguments, right and wrong: each returns or raises what it may, and the
process lives. LIKEWISE_FUZZ_CALLS says how many (100,000 take some minutes)."""
import os
import warnings

import numpy as np
import pytest

import likewise
from likewise import Als, Bias, Interactions, ItemKnn, Popular, UserKnn, _core

CALLS = int(os.environ.get("LIKEWISE_FUZZ_CALLS", "4000"))
#: What a wrong call may raise.
REFUSALS = (ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError, OSError,
            AttributeError, likewise.NumericalError, likewise.DeviceError)


class Arguments:
    """Draws values of all kinds, mostly near what is right."""

    def __init__(self, seed):
        self.draw = np.random.default_rng(seed)

    def one_of(self, *choices):
        return choices[self.draw.integers(len(choices))]

    def number(self):
        return self.one_of(0, 1, -1, 2, 3, 7, 100, 2**31 - 1, 2**31, 2**63, -2**63, 0.5, float("nan"),
                           float("inf"), 1e300, "1", None, True, np.int64(3), np.float32(2), b"x", [], "")

    def size(self):
        return int(self.one_of(0, 1, 2, 3, 17, 64))

    def array(self, length=None):
        length = self.size() if length is None else length
        dtype = self.one_of(np.int64, np.int32, np.int8, np.uint64, np.float32, np.float64, bool, object,
                            "U3", "M8[s]", np.complex64)
        values = self.draw.integers(-2, 40, length)
        if dtype is object:
            array = np.array([self.one_of(int(v), str(v), None, "é" * 3) for v in values], dtype=object)
        elif dtype == "M8[s]":
            array = values.astype("M8[s]")
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array = values.astype(dtype)
        shape = self.draw.integers(12)
        if shape == 0 and length % 2 == 0:
            return array.reshape(2, -1)
        if shape == 1:
            return np.repeat(array, 2)[::2]  # with gaps
        if shape == 2:
            return array.tolist()
        if shape == 3 and array.dtype.kind in "iuf":
            return array.astype(array.dtype.newbyteorder())
        return array

    def ids(self):
        return self.one_of(None, self.array(), self.number(), [1, 2, 3], np.arange(5), np.array([5, 7]), "a")

    def csr(self, rows=4, cols=9):
        """Sparse arrays, right three times of four."""
        counts = self.draw.integers(0, 4, rows)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(self.one_of(np.int32, np.int64))
        indices = np.concatenate([np.sort(self.draw.choice(cols, c, replace=False)) for c in counts]
                                 + [np.empty(0)]).astype(np.int32)
        values = self.draw.normal(size=len(indices)).astype(np.float32)
        broken = self.draw.integers(16)
        if broken == 0:
            indptr[self.draw.integers(len(indptr))] = self.one_of(-1, 99, 2**30)
        elif broken == 1 and len(indices):
            indices[self.draw.integers(len(indices))] = self.one_of(-1, cols, 2**31 - 1, -2**31)
        elif broken == 2 and len(values):
            values[0] = self.one_of(np.nan, np.inf, 1e38)
        elif broken == 3:
            values = values[:-1]
        return indptr, indices, values


def calls(a, models, datas):
    """One random call."""
    model, data = a.one_of(*models), a.one_of(*datas)
    core, search = model._core, a.one_of("cosine", "dot", "euclid")

    def recommender():
        return _core.Recommender(core, device="cpu", threads=a.one_of(0, 1, 3))

    histories = [a.one_of([5, 7], {5: 1.0}, a.ids(), {}) for _ in range(a.size() % 4)]
    yield lambda: model.recommend(a.ids(), a.number(), items=a.ids(), exclude=a.ids())
    yield lambda: model.recommend(a.ids(), 3).to_pandas()
    yield lambda: model.recommend_new(histories, 3, include_seen=a.one_of(True, False))
    yield lambda: model.similar_items(a.ids(), a.number(), metric=search)
    yield lambda: model.similar_users(a.ids(), 4)
    yield lambda: model.predict(a.ids(), a.ids())
    yield lambda: model.predict_new(histories, a.ids())
    yield lambda: model.fold_in(histories)
    yield lambda: model.explain(a.one_of(10, [5, 7], a.number()), a.one_of(5, 7, a.number()))
    yield lambda: model.evaluate(data, k=a.number(), metrics=a.one_of((), ["auc"], ["x"], ["rmse"]))
    yield lambda: model.set_titles({5: "five", a.number(): "x\ny"} if a.draw.integers(2) else {})
    yield lambda: Interactions(tuple(a.array(9) for _ in range(a.draw.integers(1, 6))))
    yield lambda: Interactions({"user": a.array(8), "item": a.array(8), "value": a.array(8)},
                               min_user_count=a.one_of(0, 2, a.number()), duplicates=a.one_of("sum", "max", "error"))
    yield lambda: likewise.split(data, a.one_of("random", "last", "kfold", "time", "x"), test=a.number(), seed=3)
    yield lambda: _core.Interactions.from_csr(*a.csr(), a.one_of(9, 0, -1, 2**31 - 1), {"duplicates": "sum"})
    yield lambda: recommender().recommend_new(a.csr(cols=120), 3)
    yield lambda: recommender().fold_in(a.one_of("users", "items", "x"), a.csr(cols=a.one_of(9, 300)))
    yield lambda: recommender().recommend(np.arange(4, dtype=np.int32), 3, seen=a.csr(cols=a.one_of(9, 130))[:2])
    yield lambda: _core.train_factors(*a.csr(), a.one_of(9, 0, 3), {"algorithm": "als", "factors": 3,
                                                                   "iterations": a.one_of(1, 0, 2)}, device="cpu")
    yield lambda: _core.train_neighbours(*a.csr(), 9, {"algorithm": "item-knn", "neighbours": a.one_of(1, 3, a.number())},
                                         device="cpu")
    yield lambda: _core.FactorSearch(a.draw.normal(size=(a.size(), a.size())).astype(np.float32), metric=search,
                                     device="cpu").top_k(a.draw.normal(size=(2, a.size())).astype(np.float32), 3)
    yield lambda: a.one_of(Als, Bias, ItemKnn, UserKnn, Popular)(
        feedback=a.one_of("implicit", "explicit", a.number()), device="cpu").set_params(
            threads=a.one_of(0, 2, a.number())).fit(data)
    yield lambda: Als(factors=a.one_of(3, a.number()), iterations=2, regularization=a.one_of(0.1, a.number()),
                      device="cpu").fit(data)
    yield lambda: likewise.Model.from_bytes(damaged(a, model))


def damaged(a, model):
    data = bytearray(model.to_bytes())
    for _ in range(a.draw.integers(0, 3)):
        data[a.draw.integers(len(data))] = a.draw.integers(256)
    return bytes(data[:a.draw.integers(len(data))] if a.draw.integers(4) == 0 else data)


@pytest.mark.parametrize("part", range(4))
def test_random_calls_return_or_refuse(ratings, part):
    models = [Als(factors=5, iterations=2).fit(ratings).model_,
              Als(factors=5, iterations=2, feedback="explicit").fit(ratings).model_,
              ItemKnn(neighbours=4).fit(ratings).model_, Popular().fit(ratings).model_,
              UserKnn(neighbours=4, feedback="explicit").fit(ratings).model_, Bias().fit(ratings).model_]
    small = Interactions((["a", "b", "b"], ["x", "y", "x"], [1.0, 2.0, -3.0]))
    outcomes = {"returned": 0, "refused": 0}
    for call in range(CALLS // 4):
        a = Arguments(part * 10**9 + call)
        options = list(calls(a, models, [ratings, small]))
        chosen = options[a.draw.integers(len(options))]
        try:
            chosen()
            outcomes["returned"] += 1
        except REFUSALS as error:
            assert str(error), f"call {call} of part {part}: {type(error).__name__} without a word"
            outcomes["refused"] += 1
    # Neither all right nor all wrong.
    assert min(outcomes.values()) > CALLS // 4 // 10, outcomes
