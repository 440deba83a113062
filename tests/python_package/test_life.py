# SPDX-License-Identifier: Apache-2.0
"""Beside the rest of a program: Ctrl-C, threads, forks, other libraries' threads."""
import asyncio
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
import types

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


@pytest.fixture
def without_tqdm(monkeypatch):
    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, None)


def test_a_terminal_has_a_bar_without_tqdm(ratings, capsys, monkeypatch, without_tqdm):
    Als(factors=8, iterations=5).fit(ratings, progress=True)
    assert capsys.readouterr().err == ""  # a file would be full of it
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    Als(factors=8, iterations=5).fit(ratings, progress=True)
    assert "train: 5 of 5 iterations, 0 s\n" in capsys.readouterr().err


def test_a_search_has_a_bar_where_somebody_looks(ratings, capsys, monkeypatch, without_tqdm):
    likewise.tune(ratings, algorithms="item-knn", budget=2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    likewise.tune(ratings, algorithms="item-knn", budget=2, progress=False)
    assert capsys.readouterr().err == ""
    likewise.tune(ratings, algorithms="item-knn", budget=2)
    assert "2 of 2 trials" in capsys.readouterr().err


def test_a_notebook_has_a_bar_without_tqdm(ratings, monkeypatch, without_tqdm):
    drawn = []
    place = types.SimpleNamespace(update=lambda bar: drawn.append(bar._repr_html_()))
    shell = types.ModuleType("IPython")
    shell.get_ipython = lambda: types.SimpleNamespace(kernel=None)
    shell.display = types.ModuleType("IPython.display")
    shell.display.display = lambda *_, display_id: place
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", shell.display)
    Als(factors=8, iterations=5).fit(ratings, progress=True)
    assert drawn[-1] == "<progress max=\"5\" value=\"5\"></progress> train: 5 of 5 iterations, 0 s"


@pytest.mark.parametrize("start", ["to_thread", "run_in_executor"])
def test_a_training_that_nobody_awaits_any_more_is_stopped(ratings, start):
    als = Als(factors=64, iterations=3_000)
    ended = threading.Event()
    told = []

    def fit():
        try:
            als.fit(ratings)
        except BaseException as error:
            told.append(error)
        finally:
            ended.set()

    async def main():
        work = asyncio.to_thread(fit) if start == "to_thread" else asyncio.get_running_loop().run_in_executor(None, fit)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(work, 0.3)
        return await asyncio.to_thread(ended.wait, 20)

    assert asyncio.run(main()) and "its future was cancelled" in str(told[0])
    assert als.model_.stop_reason == "stopped" and len(als.model_.iterations) > 0


def test_work_that_is_awaited_goes_on(ratings):
    async def main():
        return await asyncio.to_thread(Als(factors=4, iterations=3).fit, ratings)

    assert len(asyncio.run(main()).model_.iterations) == 3


def test_a_closed_interpreter_is_left_in_peace():
    assert python(MODEL + """
    import atexit
    atexit.register(lambda: print(model.recommend([0], n=1).counts[0]))
    """).strip() == "1"


#: What daemon threads do, in a loop, while the interpreter ends.
WORK = """
    import threading, time
    draw = np.random.default_rng(1)
    many = likewise.Interactions((draw.integers(0, 20_000, 600_000), draw.integers(0, 5000, 600_000),
                                  np.ones(600_000), draw.integers(0, 10**9, 600_000)))
    many.save(folder + "/many.csv")
    model = likewise.Als(factors=64, iterations=1).fit(many).model_
    model.save(folder + "/model")
    def slowly(*_):
        time.sleep(0.02)
    works = {
        "fit": lambda: likewise.Als(factors=64, iterations=10_000).fit(many),
        "fit, called back": lambda: likewise.Als(factors=64, iterations=10_000).fit(many, callback=slowly),
        "fit, swallowing": lambda: swallow(likewise.Als(factors=64, iterations=10_000).fit, many),
        "knn": lambda: likewise.ItemKnn(neighbours=400).fit(many),
        "tune": lambda: likewise.tune(many, budget=1000, callback=slowly),
        "recommend": lambda: model.recommend(n=50),
        "recommend one": lambda: model.recommend(0),
        "similar": lambda: model.similar_users(n=50),
        "evaluate": lambda: model.evaluate(many, seen=likewise.Interactions(([0], [0]))),
        "predict": lambda: model.predict(np.zeros(10**6, int), np.zeros(10**6, int)),
        "fold_in": lambda: model.fold_in([[1, 2, 3]] * 5000),
        "read": lambda: likewise.Interactions(folder + "/many.csv"),
        "split": lambda: likewise.split(many, "last"),
        "update": lambda: model.update(many),
        "save": lambda: model.save(folder + "/again"),
        "load": lambda: likewise.load_model(folder + "/model"),
        "compatible": lambda: likewise.als.AlternatingLeastSquares(factors=64).fit(many.to_csr(), show_progress=False),
    }
    def swallow(call, *given):
        try:
            call(*given)
        except Exception:
            pass
    def again_and_again(work):
        while True:
            work()
    for name in names or works:
        threading.Thread(target=again_and_again, args=(works[name],), daemon=True).start()
"""


def at_exit(text, folder, names=(), code=0):
    """How long an interpreter takes to end beside daemon threads, which print nothing."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(MODEL) + f"folder, names = {str(folder)!r}, {names!r}\n"
                           + textwrap.dedent(WORK) + textwrap.dedent(text)], capture_output=True, text=True,
                          timeout=120, check=False)
    assert (done.returncode, done.stderr) == (code, ""), done
    return done.stdout


def test_an_interpreter_ends_beside_work_of_daemon_threads(tmp_path):
    at_exit("time.sleep(1)", tmp_path)


@pytest.mark.parametrize("name", ["fit", "recommend", "tune"])
def test_an_interpreter_ends_beside_one_daemon_thread(tmp_path, name):
    at_exit("time.sleep(0.3); sys.exit(3)", tmp_path, (name,), code=3)


def test_an_interpreter_ends_before_a_callback_that_does_not():
    """After a few seconds; what else is to be done at exit is done, by this package too."""
    told = python(MODEL + """
    import atexit, threading, time
    def last():
        print(model.recommend([0], n=1).counts[0], time.monotonic() - start < 20)
    atexit.register(last)
    waiting = threading.Event()
    def stuck(*_):
        waiting.set()
        time.sleep(1000)
    threading.Thread(target=likewise.Als(iterations=100).fit, args=(data,), kwargs={"callback": stuck},
                     daemon=True).start()
    waiting.wait()
    start = time.monotonic()
    """)
    assert told.split() == ["1", "True"]


def test_a_lock_that_a_daemon_thread_holds_is_released_at_the_end():
    assert python("""
    import atexit, threading
    lock, inside = threading.Lock(), threading.Event()
    atexit.register(lambda: print(lock.acquire(timeout=20)))  # called after what the package registers
    """ + textwrap.dedent(MODEL).replace("\n", "\n    ") + """
    def work():
        with lock:
            likewise.Als(factors=64, iterations=100_000).fit(data, callback=lambda *_: inside.set())
    threading.Thread(target=work, daemon=True).start()
    inside.wait()
    """).strip() == "True"


def test_a_fork_ends_beside_work_of_its_parent():
    start = time.monotonic()
    assert python(MODEL + """
    import threading
    inside = threading.Event()
    threading.Thread(target=likewise.Als(factors=64, iterations=100_000).fit, args=(data,),
                     kwargs={"callback": lambda *_: inside.set()}, daemon=True).start()
    inside.wait()
    pid = os.fork()
    if pid == 0:
        sys.exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """).split() == ["5"]
    assert time.monotonic() - start < 30


def test_the_gil_is_given_up_in_one_place():
    sources = pathlib.Path(__file__).parents[2].glob("python/src/*.cpp")
    found = {source.name for source in sources
             for word in ("gil_scoped", "PyEval_SaveThread", "PyGILState", "Py_BEGIN_ALLOW_THREADS")
             if word in source.read_text()}
    assert found == {"gil.cpp"}
