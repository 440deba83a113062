# SPDX-License-Identifier: Apache-2.0
"""Model.update: models that grow."""
import os
import signal
import threading
import time

import numpy as np
import pytest

import likewise

KINDS = {
    "als": likewise.Als(factors=6, iterations=3),
    "als-explicit": likewise.Als(feedback="explicit", factors=6, iterations=3),
    "sgd": likewise.Sgd(factors=6, iterations=4), "bpr": likewise.Bpr(factors=6, iterations=4),
    "item-knn": likewise.ItemKnn(), "user-knn": likewise.UserKnn(),
    "popular": likewise.Popular(), "bias": likewise.Bias(),
}


@pytest.fixture(scope="module")
def parts(triples):
    """The first 4,980 rows; the others, and two of a new user and a new item."""
    users, items, values = triples
    old = tuple(column[:4980] for column in triples)
    new = (np.append(users[4980:], [100_000, users[0]]), np.append(items[4980:], [items[0], 200_000]),
           np.append(values[4980:], [5.0, 1.0]).astype(np.float32))
    return likewise.Interactions(old), likewise.Interactions(new)


@pytest.mark.parametrize("kind", KINDS)
def test_it_gives_a_new_model_and_leaves_the_old(parts, kind):
    old, new = parts
    model = KINDS[kind].fit(old).model_
    before = model.to_bytes()
    grown = model.update(new)
    assert isinstance(grown, likewise.Model) and model.to_bytes() == before
    assert 100_000 in grown.users and 200_000 in grown.items and 100_000 not in model.users
    (update,) = grown.provenance["updates"]
    assert model.provenance["updates"] == []
    assert update["interactions"] == 22 and update["users"] == update["items"] == 1
    assert "by" not in update
    if kind in ("als", "als-explicit", "sgd", "bpr"):
        untouched = [user for user in np.asarray(model.users).tolist() if user not in new.users]
        assert len(untouched) > 200
        rows = [one.user_factors[one.users.find(untouched)] for one in (model, grown)]
        assert np.array_equal(*rows)
        more = model.update(new, iterations=7)
        assert more.provenance["updates"][0]["iterations"] == 7
        assert not np.array_equal(more.user_factors, grown.user_factors)
    again = grown.update(new)
    assert len(again.provenance["updates"]) == 2
    assert len(likewise.Model.from_bytes(again.to_bytes()).provenance["updates"]) == 2


def test_explicit_als_by_steps_of_sgd(parts):
    old, new = parts
    model = KINDS["als-explicit"].fit(old).model_
    slow, fast = (model.update(new, by="sgd", iterations=2, learning_rate=rate)
                  for rate in (0.01, 0.1))
    assert slow.algorithm == "als" and slow.provenance["updates"][0]["by"] == "sgd"
    assert not np.array_equal(slow.user_factors, fast.user_factors)
    assert not np.array_equal(slow.user_factors, model.update(new, by="als").user_factors)


def test_parts_of_a_split_are_taken(ratings):
    train, test = likewise.split(ratings, test=0.1)
    for kind in ("als", "item-knn"):
        grown = KINDS[kind].fit(train).model_.update(test)
        assert grown.provenance["updates"][0]["interactions"] == len(test)


def test_training_goes_on_from_it(parts, triples):
    old, new = parts
    grown = likewise.Als(factors=6, iterations=3).fit(old).model_.update(new)
    merged = likewise.Interactions(tuple(np.concatenate([a[:4980], b]) for a, b in zip(
        triples, (np.append(triples[0][4980:], [100_000, triples[0][0]]),
                  np.append(triples[1][4980:], [triples[1][0], 200_000]),
                  np.append(triples[2][4980:], [5.0, 1.0]).astype(np.float32)))))
    assert len(likewise.Als(factors=6, iterations=5).fit(merged, resume=grown).model_.iterations) == 5


def test_what_it_cannot_do(parts):
    old, new = parts
    als, stars, knn = (KINDS[kind].fit(old).model_ for kind in ("als", "als-explicit", "item-knn"))
    pairs = likewise.Interactions((np.array([1]), np.array([2])))
    with pytest.raises(TypeError, match="likewise.Interactions"):
        als.update([(1, 2)])
    with pytest.raises(ValueError, match="needs values"):
        stars.update(pairs)
    with pytest.raises(ValueError, match="explicit feedback"):
        als.update(new, by="sgd")
    with pytest.raises(ValueError, match="als or sgd"):
        als.update(new, by="lsq")
    with pytest.raises(ValueError, match="exact, without iterations"):
        knn.update(new, iterations=2)
    with pytest.raises(ValueError, match="learning_rate would do nothing"):
        als.update(new, learning_rate=0.1)
    for iterations in (0, 10_001):
        with pytest.raises(ValueError, match="1"):
            als.update(new, iterations=iterations)
    with pytest.raises(TypeError):
        als.update(new, iterations=1.5)
    # No step goes beyond its rating, however large the rate.
    assert np.isfinite(stars.update(new, by="sgd", learning_rate=1e9).item_factors).all()


def test_ctrl_c_ends_it_and_threads_go_on(parts):
    old, _ = parts
    model = likewise.Als(factors=64, iterations=1, threads=1).fit(old).model_
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.01)
    other = threading.Thread(target=tick)
    other.start()
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.update(old, iterations=10_000)
    finally:
        done.set()
        other.join()
    assert len(ticks) > 10


def test_whole_numbers_find_ids_that_became_text(parts):
    model = likewise.Als(factors=4, iterations=2).fit(parts[0]).model_
    user, item = int(np.asarray(model.users)[3]), int(np.asarray(model.items)[5])
    before = model.recommend(user, n=3)
    grown = model.update((["bob"], ["a film"]))
    assert model.predict([user], [item]) == grown.predict([user], [item])
    assert user in grown.users and np.int32(item) in grown.items and True not in grown.users
    assert before.ids.astype(str).tolist() == grown.recommend(user, n=3).ids.tolist()
    assert grown.users.find([user, "bob"]).tolist() == [model.users.find([user])[0], len(model.users)]
    with pytest.raises(KeyError, match="no user -7 in the model"):
        grown.recommend(-7)
    with pytest.raises(TypeError, match=r"are text \(str\), not 1.0 of type float"):
        grown.recommend(1.0)
