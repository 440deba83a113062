# SPDX-License-Identifier: Apache-2.0
"""What one rank makes of its rows and checkpoints, without Spark's JVM."""
import dataclasses
import json

import numpy as np
import pyarrow as pa
import pytest

from conftest import require_spark

require_spark()

import likewise
from likewise.spark import chunks, ranks
from likewise.spark.checkpoints import Checkpoints, forget, own_place
from likewise.spark.coded import CodedRatings

PARAMS = {"algorithm": "als", "feedback": "explicit", "biases": False, "factors": 3, "regularization": 0.1,
          "regularization_exponent": 1.0, "solver": "cholesky"}


@pytest.fixture
def plan(tmp_path):
    return ranks.Plan(
        params=PARAMS, schema={"user": "int", "item": "int", "v": "float"}, columns=("user", "item", "stars"), users=[], items=[],
        ranks=1, iterations=6, duplicates="mean", device="cpu", threads=1, cores=1, token="0", timeout=60.0,
        version=likewise.__version__, checkpoint=str(tmp_path), every=1)


def batch_of(seed=1, order=None):
    draw = np.random.default_rng(seed)
    users, items = (at.astype(np.int32) for at in np.divmod(np.arange(200), 10))
    order = np.arange(200) if order is None else order
    columns = users[order], items[order], draw.integers(1, 6, 200).astype(np.float32)[order]
    return pa.RecordBatch.from_arrays([chunks.column_of(column) for column in columns], names=["user", "item", "v"])


def trained(plan, batch):
    """The rank's report."""
    said = list(ranks.run_rank(plan, [batch.serialize().to_pybytes()]))
    return json.loads(said[-1][1:])


class Killed(BaseException):
    pass


@pytest.fixture
def killed(plan, monkeypatch):
    """A training that ended behind its checkpoint of iteration 4."""
    save = Checkpoints.save

    def save_and_die(self, iteration, *tables):
        save(self, iteration, *tables)
        if iteration == 4:
            raise Killed

    monkeypatch.setattr(Checkpoints, "save", save_and_die)
    with pytest.raises(Killed):
        trained(plan, batch_of())
    monkeypatch.undo()


def test_only_the_same_ratings_are_gone_on_with(plan, killed):
    alone = dataclasses.replace(plan, checkpoint="")
    other = trained(plan, batch_of(seed=2))
    assert other["resumed"] == 0 and other["objectives"] == trained(alone, batch_of(seed=2))["objectives"]
    again = trained(plan, batch_of(order=np.random.default_rng(0).permutation(200)))
    assert again["resumed"] == 4 and again["objectives"] == trained(alone, batch_of())["objectives"][4:]


@pytest.mark.parametrize("change", [{"iterations": 3}, {"params": {**PARAMS, "regularization": 0.2}},
                                    {"duplicates": "sum"}, {"place": 1}], ids=lambda change: next(iter(change)))
def test_only_the_same_training_is_gone_on_with(plan, killed, change):
    assert trained(dataclasses.replace(plan, **change), batch_of())["resumed"] == 0


def test_trainings_at_once_have_checkpoints_of_their_own(plan, killed, tmp_path):
    with own_place("job") as first, own_place("job") as second, own_place("another job") as other:
        assert (first, second, other) == (0, 1, 0)
    with own_place("job") as place:
        assert place == 0
    other = trained(dataclasses.replace(plan, place=1), batch_of())
    forget(str(tmp_path), other["checkpoints"])
    assert trained(plan, batch_of())["resumed"] == 4


def test_a_digest_is_of_the_rows_and_not_of_their_order():
    def digest(*batches):
        return CodedRatings(batches, ("user", "item", "stars")).digest()

    batch = batch_of()
    assert digest(batch) == digest(batch.slice(50), batch.slice(0, 50)) < 2**64
    assert len({digest(one) for one in (batch, batch_of(seed=2), batch.slice(1))} | {digest(batch, batch)}) == 4


@pytest.mark.parametrize(("value", "message"), [
    (3.0, "user 'b' has item 22 2 times: add them up, or take their mean or the largest"),
    (np.nan, "the value nan of user 'b', item 22 is no finite number: leave its row out"),
    (1e10, "the value 10000000000 of user 'b', item 22 is too large"),
    (None, "column 'stars' has 1 rows without a value (null)"),
])
def test_wrong_rows_are_told_by_their_ids(plan, value, message):
    columns = [pa.array(["b", "a", "b"]), pa.array([22, 377, 22], pa.int32()), pa.array([1, 2, value], pa.float32())]
    batch = pa.RecordBatch.from_arrays(columns, names=["user", "item", "v"])
    schema = {"user": "string", "item": "int", "v": "float"}
    found = trained(dataclasses.replace(plan, schema=schema, duplicates="error" if value == 3.0 else "max"), batch)
    assert found["error"] == "ValueError" and found["message"].startswith(message)
