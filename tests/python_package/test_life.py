# SPDX-License-Identifier: Apache-2.0
"""Beside the rest of a program: Ctrl-C, threads, forks, other libraries' threads."""
import concurrent.futures
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import likewise
from likewise import Als, Interactions


def python(text, **environment):
    """What another interpreter prints; it is given a minute, so that waiting for ever fails."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True,
                          timeout=60, env={**os.environ, **environment}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


MODEL = """
    import os, sys
    import numpy as np
    import likewise
    draw = np.random.default_rng(1)
    rows = (draw.integers(0, 3000, 60_000), draw.integers(0, 800, 60_000))
    data = likewise.Interactions(rows, duplicates="sum")
    model = likewise.Als(factors=16, iterations=3).fit(data).model_
    expected = model.recommend(n=5).indices
"""


@pytest.fixture
def many():
    draw = np.random.default_rng(1)
    return Interactions((draw.integers(0, 20_000, 600_000), draw.integers(0, 5000, 600_000)))


def test_an_interrupt_ends_training_and_keeps_the_model(many):
    estimator = Als(factors=64, iterations=100_000)
    done = []

    def interrupt(iteration, *_):
        done.append(iteration)
        if iteration == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        estimator.fit(many, callback=interrupt)
    model = estimator.model_
    assert model.stop_reason == "stopped" and 2 <= len(model.iterations) < 100
    assert len(model.recommend(model.users.take(np.arange(2, dtype=np.int32)), n=3)) == 2


def test_an_interrupt_ends_long_answers(many):
    model = Als(factors=128, iterations=1).fit(many).model_
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        for _ in range(1000):
            model.similar_users(n=100)
    timer.cancel()


def test_other_threads_run_while_training(many):
    ticks = []

    def tick():
        while not over:
            ticks.append(time.monotonic())
            time.sleep(0.001)

    over = False
    beside = threading.Thread(target=tick)
    beside.start()
    Als(factors=64, iterations=3).fit(many)
    over = True
    beside.join()
    assert len(ticks) > 20


def test_many_threads_ask_one_model(model):
    expected = model.recommend(n=5)

    def ask(start):
        users = model.users.take(np.arange(start, start + 20, dtype=np.int32))
        return np.array_equal(model.recommend(users, n=5).indices, expected.indices[start:start + 20])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, [start for start in range(0, 280, 7)] * 5))


def test_several_trainings_at_a_time(ratings):
    expected = Als(factors=8, iterations=3).fit(ratings).model_.user_factors
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        trained = [pool.submit(lambda: Als(factors=8, iterations=3, threads=2).fit(ratings).model_)
                   for _ in range(8)]
        assert all(np.array_equal(one.result().user_factors, expected) for one in trained)


def test_threads_do_not_change_the_answer(ratings):
    models = [Als(factors=8, iterations=3, threads=threads).fit(ratings).model_ for threads in (1, 2, 5)]
    assert all(np.array_equal(model.user_factors, models[0].user_factors) for model in models)


def test_forked_children_answer_and_train():
    told = python(MODEL + """
    for child in range(3):
        pid = os.fork()
        if pid == 0:
            same = np.array_equal(model.recommend(n=5).indices, expected)
            again = likewise.Als(factors=16, iterations=3).fit(data).model_
            same = same and np.array_equal(again.recommend(n=5).indices, expected)
            os._exit(0 if same else 3)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    print(np.array_equal(model.recommend(n=5).indices, expected))
    """)
    assert told.split() == ["0", "0", "0", "True"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_process_pools(method, tmp_path):
    (tmp_path / "job.py").write_text("def job(model):\n    return model.recommend(n=5).indices\n")
    told = python(f"""
    import multiprocessing, sys
    sys.path.insert(0, {str(tmp_path)!r})
    from job import job
    if __name__ == "__main__":
    """ + textwrap.indent(textwrap.dedent(MODEL), " " * 8) + f"""
        with multiprocessing.get_context("{method}").Pool(2) as pool:
            print(all(np.array_equal(one, expected) for one in pool.map(job, [model] * 4)))
    """)
    assert told.split() == ["True"]


def test_joblib_sends_models():
    pytest.importorskip("joblib")
    told = python(MODEL + """
    import joblib
    for backend in ("loky", "threading"):
        found = joblib.Parallel(2, backend=backend)(
            joblib.delayed(model.recommend)(n=5) for _ in range(4))
        print(all(np.array_equal(one.indices, expected) for one in found))
    """)
    assert told.split() == ["True", "True"]


@pytest.mark.parametrize("first", ["likewise", "other"])
def test_beside_products_of_numpy(first):
    """NumPy has a BLAS with threads of its own, and likewise loads another for eigenvectors."""
    told = python(("import numpy; (numpy.ones((900, 900)) @ numpy.ones((900, 900))).sum()\n"
                   if first == "other" else "") + textwrap.dedent(MODEL) + textwrap.dedent("""
    wide = likewise.Als(factors=300, iterations=1, feedback="explicit").fit(data.__class__(
        (rows[0], rows[1], np.ones(60_000)))).model_
    product = np.ones((900, 900)) @ np.ones((900, 900))
    print(np.isfinite(wide.user_factors).all(), product[0, 0], np.linalg.eigvalsh(product)[-1].round())
    """))
    assert told.split() == ["True", "900.0", "810000.0"]


def test_an_exception_of_progress_comes_out(ratings, monkeypatch):
    from likewise import progress

    def broken(self, *_):
        raise ZeroDivisionError("of the bar")

    monkeypatch.setattr(progress.Progress, "__call__", broken)
    with pytest.raises(ZeroDivisionError, match="of the bar"):
        Als(factors=8, iterations=50).fit(ratings)


def test_a_bar_follows(ratings, capsys):
    pytest.importorskip("tqdm")
    Als(factors=8, iterations=5).fit(ratings, progress=True)
    assert "5/5" in capsys.readouterr().err


def test_a_closed_interpreter_is_left_in_peace():
    assert python(MODEL + """
    import atexit
    atexit.register(lambda: print(model.recommend([0], n=1).counts[0]))
    """).strip() == "1"
