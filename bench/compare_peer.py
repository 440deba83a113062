# SPDX-License-Identifier: Apache-2.0
"""One job of the peer in a process of its own, for compare.py. Prints one JSON object."""
import json
import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np
import scipy.sparse as sparse

THREADS = 2


def convert(source, target):
    """Our CSV to a matrix of confidences 1 + r."""
    with open(source) as lines:
        lines.readline()
        table = np.fromstring(lines.read().replace("\n", ","), sep=",", dtype=np.float64)
    table = table.reshape(-1, 3)
    matrix = sparse.csr_matrix(
        (1 + table[:, 2].astype(np.float32), (table[:, 0].astype(np.int32), table[:, 1].astype(np.int32))))
    sparse.save_npz(target, matrix, compressed=False)
    return {}


def train(source, factors, device, solver, iterations):
    common = {"factors": int(factors), "regularization": 0.01, "alpha": 1.0,
              "iterations": int(iterations), "random_state": 1}
    times = []
    if device == "cuda":
        from implicit.gpu.als import AlternatingLeastSquares

        model = AlternatingLeastSquares(**common)
    else:
        from implicit.cpu.als import AlternatingLeastSquares

        model = AlternatingLeastSquares(use_cg=solver == "cg", num_threads=THREADS, **common)
    model.fit(sparse.load_npz(source), show_progress=False,
              callback=lambda iteration, elapsed, loss: times.append(elapsed))
    where = "the GPU" if device == "cuda" else f"the CPU, {THREADS} threads"
    return {"seconds": float(np.median(times)), "device": where}


def recommend(source, factors):
    from implicit.cpu.als import AlternatingLeastSquares

    matrix = sparse.load_npz(source)
    model = AlternatingLeastSquares(factors=int(factors), regularization=0.01, alpha=1.0, iterations=3,
                                    num_threads=THREADS, random_state=1)
    model.fit(matrix, show_progress=False)
    begin = time.perf_counter()
    model.recommend(np.arange(matrix.shape[0]), matrix, N=10, filter_already_liked_items=True)
    return {"seconds": time.perf_counter() - begin}


if __name__ == "__main__":
    job = {"convert": convert, "train": train, "recommend": recommend}[sys.argv[1]]
    print(json.dumps(job(*sys.argv[2:])))
