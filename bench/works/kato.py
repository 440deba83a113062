# SPDX-License-Identifier: Apache-2.0
"""K. Kato, 2009: docs/papers/kato-2009.md."""
from .lab import Item

NAME = "Kato 2009"
SQUARES = (10000, 20000, 40000)
ROWS = (10000, 20000, 40000, 80000)
COLUMNS = "32,64,128,256,512,1024"
LISTS = "1,10,100,1000,2048"


def decomposition(lab):
    training = f"sgd:factors={lab.usual(256, 16)}:order=alternating:biases=off:schedule=constant:iterations={lab.usual(20, 1)}"
    both = [f"cuda:{','.join(lab.gpus[:2])}"] if len(lab.gpus) > 1 else []
    for device in [*lab.devices(), *both]:
        for n in lab.usual(SQUARES, (400,)):
            lab.run("bench_epochs", device, f"uniform:{n}x0.01", "none", training)


def neighbours(lab, metric):
    rows, columns, k = lab.usual(ROWS, (500,)), lab.usual(256, 16), lab.usual(100, 10)
    for device in lab.devices():
        for n in rows:
            lab.run("bench_top_k", device, 0, n, columns, k, metric)
    lab.run("bench_ranks_gpu", lab.two_gpus(), *(f"lists:{n}:{columns}:{k}:{metric}" for n in rows))


def pipeline(lab):
    ratings, model, graph = (lab.file(name) for name in ("ratings.csv", "model.safetensors", "graph.csv"))
    lab.run("likewise", "generate", lab.shape("6040x3706x1m"), "-o", ratings, "--seed", 1, "--quiet")
    train = ("train", ratings, "-o", model, "--feedback", "explicit", "--factors", lab.usual(64, 8), "--iterations",
             lab.usual(10, 1), "--biases", "off", "--nonnegative", "on", "--quiet", "--algorithm")
    similar = ("similar", model, "-n", 20, "--metric", "hellinger", "-o", graph, "--quiet")
    for algorithm in (("sgd", "--order", "alternating"), ("als",)):
        lab.time({f"factors of 0 and more by {algorithm[0]}": (*train, *algorithm),
                  "nearest items": (*similar, "--all-items"), "nearest users": (*similar, "--all-users")})


def programs(lab):
    lab.need_data("ml-1m/ratings_notime.dat.gz")
    lab.command(lab.peer("cmfrec", "pyspark", "likewise"), "bench/compare_nonnegative.py", "--factors", lab.usual(32, 4), "--rounds",
                lab.usual(3, 1))


def gpu_rows(lab):
    lab.gpu()
    for factors in lab.usual((32, 64, 128), (8,)):
        lab.run("bench_epochs", "cuda", lab.shape("netflix", "explicit"), "none",
                f"als:factors={factors}:iterations={lab.usual(5, 1)}:biases=off:nonnegative=on")


def orders(lab):
    def trainings(factors, *names):
        return (f"sgd:factors={lab.usual(factors, 8)}:iterations={lab.usual(20, 1)}:order={order}" for order in names)

    split = ("alternating", "blocked", "racing")
    lab.run("bench_epochs", "cpu", lab.shape("69878x10677x10m", "explicit"), "rmse", *trainings(64, "serial", *split))
    lab.gpu()
    lab.run("bench_epochs", "cuda", lab.shape("netflix", "explicit"), "rmse", *trainings(128, *split))


def lists(lab, devices):
    for device in devices:
        rows = lab.usual({"cpu": 10000, "cuda": 80000}[device], 2500)
        lab.run("bench_top_k", device, 0, rows, lab.usual(COLUMNS, "8,16"), 100, "dot")
        lab.run("bench_top_k", device, 0, rows, lab.usual(256, 8), lab.usual(LISTS, "1,10"), "dot")


def blocks(lab):
    for device in lab.devices():
        for side in ("item", "user") if device == "cuda" else ("item",):  # users take a CPU a quarter of an hour
            lab.run("bench_blocks", device, lab.shape("69878x10677x10m", "implicit"), side, "cosine", 20, lab.usual("2,4,8", "2"))


def inverted(lab):
    lab.command(lab.peer("faiss", "numpy"), "bench/compare_inverted.py", lab.program("bench_top_k"), *lab.usual((), ("--small",)))


def parts(lab):
    lists(lab, lab.devices())
    lab.run("bench_select", "sort", lab.usual("10000,80000", "1000"), 100)
    lab.run("bench_select", "slices", lab.usual(4096, 64), lab.usual(1024, 64), lab.usual("32,64,128,256,512,1024", "16,64"))


# Five users, five items. Items 1 and 2 are alike by the ratings of four users, 4 and 5 by those of one.
TOY = "1 1 5,1 2 4,2 1 4,2 2 5,3 1 5,3 2 5,3 3 1,4 1 4,4 2 4,4 3 2,5 3 5,5 4 5,5 5 4"


def toy(lab):
    ratings, model = lab.file("toy.txt"), lab.file("toy.safetensors")
    ratings.write_text(TOY.replace(",", "\n") + "\n", encoding="ascii")
    for words in ((), ("--min-support", 2), ("--shrinkage", 2), ("--shrinkage", 10)):
        lab.run("likewise", "train", ratings, "-o", model, "--feedback", "explicit", "--algorithm", "item-knn", "--similarity",
                "cosine", *words, "--quiet")
        lab.run("likewise", "similar", model, "--all-items", "-n", 4, "--quiet")


ITEMS = [
    Item("Singular value decomposition", decomposition),
    Item("Nearest neighbours by the Euclidean distance", neighbours, ("euclidean",)),
    Item("Nearest neighbours by the Hellinger distance", neighbours, ("hellinger",)),
    Item("The whole pipeline", pipeline),
    Item("Nonnegative factors by other programs", programs),
    Item("Nonnegative factors on a GPU", gpu_rows),
    Item("Funk's order and the split by sides", orders),
    Item("Order and load of blocks", blocks),
    Item("Brute force and an inverted file", inverted),
    Item("Many columns, and partial sorting", parts),
    Item("The toy matrix", toy),
]
