# SPDX-License-Identifier: Apache-2.0
"""One job of a peer in a process of its own, for compare_knn.py. Prints one JSON object."""
import gzip
import json
import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np

THREADS = 2


def convert(source, target):
    """Our CSV to a matrix of its values."""
    import scipy.sparse as sparse

    table = np.loadtxt(source, delimiter=",", skiprows=1, dtype=np.float32)
    matrix = sparse.csr_matrix(
        (table[:, 2], (table[:, 0].astype(np.int32), table[:, 1].astype(np.int32))))
    sparse.save_npz(target, matrix, compressed=False)
    return {}


def some(rows, sample):
    return np.linspace(0, rows - 1, int(sample)).astype(int)


def implicit(source, similarity, neighbours, sample):
    """The package counts an item among its own neighbours: compared is one fewer."""
    import scipy.sparse as sparse
    from implicit.nearest_neighbours import BM25Recommender, CosineRecommender

    matrix = sparse.load_npz(source)
    kind = {"cosine": CosineRecommender, "bm25": BM25Recommender}[similarity]
    model = kind(K=int(neighbours), num_threads=THREADS)
    begin = time.perf_counter()
    model.fit(matrix, show_progress=False)
    seconds = time.perf_counter() - begin
    model.save(source + ".model.npz")
    lists = {}
    for item in some(matrix.shape[1], sample):
        row = model.similarity[item]
        values = sorted(row.data[row.indices != item].tolist(), reverse=True)
        lists[int(item)] = values[:int(neighbours) - 1]
    return {"seconds": seconds, "lists": lists}


def read_ratings(path):
    """user, item, value of a MovieLens file or of our CSV."""
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    separator = "::" if ".dat" in path else ","
    with opened as lines:
        if separator == ",":
            lines.readline()
        for line in lines:
            user, item, value = line.split(separator)[:3]
            yield int(user), int(item), float(value), None


def surprise(source, side, neighbours, sample):
    from surprise import Dataset, KNNBasic, Reader

    trainset = Dataset(Reader(rating_scale=(1, 5))).construct_trainset(list(read_ratings(source)))
    options = {"name": "pearson", "user_based": side == "user"}
    begin = time.perf_counter()
    model = KNNBasic(k=int(neighbours), sim_options=options, verbose=False).fit(trainset)
    seconds = time.perf_counter() - begin
    outside = trainset.to_raw_uid if side == "user" else trainset.to_raw_iid
    lists = {}
    for row in some(model.n_x, sample):
        others = np.delete(model.sim[row], row)
        lists[outside(int(row))] = np.sort(others)[::-1][:int(neighbours)].tolist()
    return {"seconds": seconds, "lists": lists}


if __name__ == "__main__":
    job = {"convert": convert, "implicit": implicit, "surprise": surprise}[sys.argv[1]]
    print(json.dumps(job(*sys.argv[2:])))
