# SPDX-License-Identifier: Apache-2.0
"""Z. Wang et al., 2014: docs/papers/wang-2014.md."""
from .lab import Item, cores, knn_tables

NAME = "Wang et al. 2014, CUDA Pearson"
SIZES = (400, 800, 1600, 3200)
OTHER = 4800


def steps(lab):
    for device in lab.devices():
        knn_tables(lab, "kept", "--device", device)


def dense(lab, side):
    knn_tables(lab, "dense", "--side", side)
    lab.gpu()
    shapes = [f"{OTHER}x{size}" if side == "user" else f"{size}x{OTHER}" for size in lab.usual(SIZES, (40,))]
    lab.run("bench_knn_gpu", "cuda", 7, *(f"full:{shape},user,pearson-full,40" for shape in shapes))


def movielens(lab):
    shape = lab.shape("69878x10677x10m", "explicit")
    for similarity in ("pearson-full", "pearson"):
        lab.run("bench_knn", shape, "user", similarity, 40, cores(), lab.usual(3, 1))
    lab.gpu()
    lab.run("bench_knn_gpu", "cuda", 7, f"{shape},user,pearson,40")
    lab.run("bench_knn_gpu", "cuda", 1, f"{shape},user,pearson-full,40")


def online(lab):
    lab.large()
    load = (lab.python(), "bench/serve_load.py", "--program", lab.program("likewise"), "--parts", "speed", "--folder",
            lab.file("served"))
    lab.command(*load)
    ratings, model = lab.file("ratings.csv"), lab.file("users.safetensors")
    lab.run("likewise", "generate", "69878x10677x10m:explicit", "-o", ratings, "--seed", 1, "--quiet")
    lab.run("likewise", "train", ratings, "-o", model, "--feedback", "explicit", "--algorithm", "user-knn", "--similarity",
            "pearson-full", "--prediction", "centred", "--predict-from", "kept", "--neighbours", 40, "--quiet")
    lab.command(*load, model)


ITEMS = [
    Item("Table 1: the cost of each step", steps),
    Item("Table 2: 4,800 users", dense, ("user",)),
    Item("Table 3: 4,800 items", dense, ("item",)),
    Item("MovieLens 10M's users", movielens),
    Item("A model offline, answers online", online),
    Item("Slope One and MapReduce", None, reason="other methods, left behind; the page says why"),
]
