# SPDX-License-Identifier: Apache-2.0
"""What people write today: a model of implicit in a process of FastAPI, for bench/serve_load.py.

SERVE_PEER_MODEL names a model file by `likewise train`; its factors and its history become a model of implicit.
"""
import json
import os
import pathlib
import sys

import fastapi
import numpy as np
import scipy.sparse
from implicit.cpu.als import AlternatingLeastSquares
from pydantic import BaseModel

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))

from modelfile import ModelFile  # noqa: E402

FILE = ModelFile(pathlib.Path(os.environ["SERVE_PEER_MODEL"]).read_bytes())


def table(name, kind=np.float32):
    """A tensor as an array of its shape."""
    return np.frombuffer(FILE.tensors[name], kind).reshape(FILE.kinds[name][1])


USERS = [one.decode() for one in FILE.ids("user")]
ITEMS = [one.decode() for one in FILE.ids("item")]
USER_ROWS = {name: row for row, name in enumerate(USERS)}
ITEM_ROWS = {name: row for row, name in enumerate(ITEMS)}
HISTORY = scipy.sparse.csr_matrix((table("history.values"), table("history.columns", np.int32),
                                   table("history.offsets", np.int64)), shape=(len(USERS), len(ITEMS)))
MODEL = AlternatingLeastSquares(factors=table("item_factors").shape[1], 
                                regularization=json.loads(FILE.metadata["parameters"])["regularization"], alpha=1.0)
MODEL.user_factors = table("user_factors").copy()
MODEL.item_factors = table("item_factors").copy()
app = fastapi.FastAPI()


class Question(BaseModel):
    users: list[str] | None = None
    likes: list[str] | None = None
    n: int = 10


def lists(names, items, scores):
    return {"lists": [{"user": name, "items": [{"item": ITEMS[item], "score": float(score)} for item, score in zip(*row)]}
                      for name, row in zip(names, zip(items, scores))]}


def known(users, n):
    rows = np.array([USER_ROWS[user] for user in users])
    return lists(users, *MODEL.recommend(rows, HISTORY[rows], N=n))


def visitor(likes, n):
    columns = sorted(ITEM_ROWS[item] for item in likes)
    row = scipy.sparse.csr_matrix((np.ones(len(columns), np.float32), (np.zeros(len(columns), int), columns)),
                                  shape=(1, len(ITEMS)))
    items, scores = MODEL.recommend(0, row, N=n, recalculate_user=True)
    return lists(["visitor"], [items], [scores])


@app.get("/healthz")
def health():
    return {"status": "ok"}


@app.get("/v1/recommend")
def recommend_one(user: str, n: int = 10):
    return known([user], n)


@app.post("/v1/recommend")
def recommend(question: Question):
    return known(question.users, question.n) if question.users else visitor(question.likes, question.n)
