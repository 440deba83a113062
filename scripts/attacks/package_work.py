# SPDX-License-Identifier: Apache-2.0
"""Ends in a way, after a delay, beside daemon threads that work: python -m attacks.package_work END DELAY WORK..."""
from __future__ import annotations

import sys
import threading
import time
from typing import Any, Callable

import numpy as np

import likewise

end, delay, *names = sys.argv[1:]
draw = np.random.default_rng(1)
rows = (draw.integers(0, 9000, 200_000), draw.integers(0, 3000, 200_000), np.ones(200_000))
data = likewise.Interactions(rows)
data.save("data.csv")
model = likewise.Als(factors=32, iterations=1).fit(data).model_
model.save("model")


def slowly(*_: object) -> None:
    time.sleep(0.02)


def swallow() -> None:
    try:
        likewise.Als(iterations=10_000).fit(data)
    except Exception:
        pass


works: dict[str, Callable[[], Any]] = {
    "fit": lambda: likewise.Als(iterations=10_000).fit(data),
    "called back": lambda: likewise.Als(iterations=10_000).fit(data, callback=slowly),
    "swallowing": swallow,
    "tune": lambda: likewise.tune(data, budget=1000, callback=slowly),
    "recommend": lambda: model.recommend(n=50),
    "one": lambda: model.recommend(0),
    "evaluate": lambda: model.evaluate(data, seen=likewise.Interactions(([0], [0]))),
    "predict": lambda: model.predict(rows[0], rows[1]),
    "read": lambda: likewise.Interactions("data.csv"),
    "save": lambda: model.save("again"),
    "load": lambda: likewise.load_model("model"),
    "update": lambda: model.update(data),
}


def again_and_again(work: Callable[[], Any]) -> None:
    while True:
        work()


for name in names:
    threading.Thread(target=again_and_again, args=(works[name],), daemon=True).start()
time.sleep(float(delay))
if end == "exit":
    sys.exit(3)
if end == "raise":
    raise RuntimeError("the end")
