# SPDX-License-Identifier: Apache-2.0
"""Training on a real GPU from Python, and factors that come from one. Skipped where there is none."""
import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import likewise
from likewise import als as implicit_als
from likewise import bpr as implicit_bpr
from likewise.gpu import HAS_CUDA

pytestmark = pytest.mark.skipif(not HAS_CUDA, reason="no GPU to test on")

ESTIMATORS = (likewise.Als(factors=24, iterations=6, solver="cholesky"),
              likewise.Als(feedback="explicit", factors=24, iterations=6),
              likewise.Sgd(factors=24, iterations=6, order="alternating", precision="fp32"),
              likewise.ItemKnn(neighbours=20), likewise.UserKnn(neighbours=20))


@pytest.fixture(scope="module")
def matrix(triples):
    users, items, values = triples
    return sp.csr_matrix((values, (np.unique(users, return_inverse=True)[1],
                                   np.unique(items, return_inverse=True)[1])))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_training_equals_the_processor(estimator, ratings):
    trained = {device: estimator.set_params(device=device).fit(ratings).model_
               for device in ("cpu", "cuda")}
    assert "cuda:" in trained["cuda"].provenance["device"]
    pairs = np.asarray(ratings.users)[:50], np.asarray(ratings.items)[:50]
    scores = {device: model.predict(*pairs) for device, model in trained.items()}
    assert scores["cuda"] == pytest.approx(scores["cpu"], abs=2e-3)
    for one, other in zip(trained["cuda"].iterations, trained["cpu"].iterations, strict=True):
        assert one["objective"] == pytest.approx(other["objective"], rel=1e-4)


@pytest.mark.parametrize("use_cg", [False, True])
def test_names_of_implicit(matrix, use_cg):
    given = dict(factors=16, iterations=8, random_state=3, use_cg=use_cg, calculate_training_loss=True)
    losses = {True: [], False: []}
    models = {}
    for gpu, seen in losses.items():
        models[gpu] = implicit_als.AlternatingLeastSquares(use_gpu=gpu, **given)
        models[gpu].fit(matrix, show_progress=False, callback=lambda i, s, loss, seen=seen: seen.append(loss))
    assert losses[True] == pytest.approx(losses[False], rel=1e-3)
    ids = {gpu: model.recommend(np.arange(matrix.shape[0]), matrix, N=5)[0] for gpu, model in models.items()}
    assert np.mean(ids[True] == ids[False]) > 0.95
    there = models[False].to_gpu()
    there.fit(matrix, show_progress=False)
    assert there.use_gpu and there.to_cpu().use_gpu is False


def test_bpr_of_implicit_races_on_the_gpu(matrix):
    right = {}
    for gpu in (True, False):
        model = implicit_bpr.BayesianPersonalizedRanking(factors=16, iterations=30, learning_rate=0.05,
                                                         random_state=3, use_gpu=gpu)
        seen = []
        model.fit(matrix, show_progress=False, callback=lambda i, s, correct, skipped: seen.append(
            correct / (matrix.nnz - skipped)))
        right[gpu] = seen[-1]
    assert right[False] > 0.7
    assert right[True] == pytest.approx(right[False], abs=0.02)
    assert implicit_bpr.BayesianPersonalizedRanking()._on_gpu()


def test_interruption_ends_training_on_the_gpu():
    draw = np.random.default_rng(1)
    data = likewise.Interactions(sp.random(200_000, 20_000, density=1e-3, format="csr",
                                           dtype=np.float32, random_state=draw))
    als = likewise.Als(factors=256, iterations=100_000, device="cuda")
    pressed = []

    def press(iteration, *_):
        if iteration == 2 and not pressed:
            pressed.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        als.fit(data, callback=press)
    assert als.model_.stop_reason == "stopped" and np.isfinite(als.model_.user_factors).all()


def test_two_trainings_at_a_time(ratings):
    expected = likewise.Als(factors=16, iterations=4, device="cuda").fit(ratings).model_.user_factors
    found = [None] * 4

    def train(at):
        found[at] = likewise.Als(factors=16, iterations=4, device="cuda").fit(ratings).model_.user_factors

    threads = [threading.Thread(target=train, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(one, expected) for one in found)


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_factors_come_from_the_gpu(ratings, library):
    pytest.importorskip(library)
    trained = likewise.Als(factors=6, iterations=3, device="cuda").fit(ratings).model_
    tables = trained.user_factors, trained.item_factors
    if library == "torch":
        import torch
        tensors = [torch.tensor(np.array(table), device="cuda") for table in tables]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch has no read-only tensors
            assert np.array_equal(torch.tensor(trained.user_factors).numpy(), tables[0])
    else:
        import cupy
        tensors = [cupy.asarray(table) for table in tables]
    built = likewise.Model.from_factors(ratings, *tensors)
    assert np.array_equal(built.user_factors, tables[0])
    assert np.array_equal(built.item_factors, tables[1])
    like_implicit = implicit_als.AlternatingLeastSquares(factors=6)
    like_implicit.item_factors = tensors[1].T.contiguous().T if library == "torch" else tensors[1]
    assert np.array_equal(like_implicit.item_factors, tables[1])


def test_a_forked_process_is_told_so(ratings):
    """A GPU cannot be used on both sides of a fork: an error, and no hang."""
    likewise.Als(factors=8, iterations=1, device="cuda").fit(ratings)
    child = os.fork()
    if child == 0:
        try:
            likewise.Als(factors=8, iterations=1, device="cuda").fit(ratings)
            os._exit(1)
        except (likewise.DeviceError, RuntimeError) as error:
            os._exit(0 if "fork" in str(error) else 2)
        except BaseException:
            os._exit(3)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")
