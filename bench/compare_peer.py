# SPDX-License-Identifier: Apache-2.0
"""One job of a peer in a process of its own, for compare.py. Prints one JSON object."""
import json
import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
THREADS = int(os.environ.setdefault("OMP_NUM_THREADS", "2"))

import numpy as np
import scipy.sparse as sparse


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


def train_ials(source, factors, solver, epochs, weight, regularization):
    """irspack on the same cells as likes. Its epochs are timed one by one; the objective is ours."""
    from irspack.recommenders.ials import IALSTrainer, str_to_loss_type, str_to_solver_type

    likes = sparse.load_npz(source)
    likes.data[:] = 1
    trainer = IALSTrainer(
        likes, n_components=int(factors), alpha0=float(weight), reg=float(regularization), nu=1.0,
        init_std=0.1, solver_type=str_to_solver_type(solver), max_cg_steps=3,
        ialspp_subspace_dimension=64, loss_type=str_to_loss_type("IALSPP"), random_seed=1,
        n_threads=THREADS, prediction_time_max_cg_steps=5, prediction_time_ialspp_iteration=7)
    times = []
    for _ in range(int(epochs)):
        begin = time.perf_counter()
        trainer.run_epoch()
        times.append(time.perf_counter() - begin)
    objective = ials_objective(likes, trainer.core_trainer.user, trainer.core_trainer.item,
                               float(weight), float(regularization))
    return {"seconds": float(np.median(times)), "objective": objective}


def ials_objective(likes, users, items, weight, regularization):
    """sum over likes of (1 - x y)^2 + w0 sum over all cells of (x y)^2 + lambda_row |row|^2, nu 1."""
    users, items = users.astype(np.float64), items.astype(np.float64)
    total = weight * np.sum((users.T @ users) * (items.T @ items))
    for rows, counts, others in ((users, np.diff(likes.indptr), len(items)),
                                 (items, np.bincount(likes.indices, minlength=len(items)), len(users))):
        total += regularization * np.sum((counts + weight * others) * np.sum(rows * rows, axis=1))
    for begin in range(0, len(users), 1024):
        part = likes[begin:begin + 1024].tocoo()
        scores = (users[begin:begin + 1024] @ items.T)[part.row, part.col]
        total += np.sum((1 - scores) ** 2)
    return float(total)


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
    job = {"convert": convert, "train": train, "train_ials": train_ials, "recommend": recommend}[sys.argv[1]]
    print(json.dumps(job(*sys.argv[2:])))
