# SPDX-License-Identifier: Apache-2.0
"""M. Gates et al., 2015: docs/papers/gates-2015.md."""
from .lab import DATA, SMALL, Item, cores

NAME = "Gates et al. 2015, HPC-ALS"
SHAPES = ("eachmovie", "msd", "netflix", "yahoo-song")
WIDTHS = (8, 16, 32, 48, 64, 80, 100)


def data(lab):
    for name in lab.usual(SHAPES, SHAPES[:1]):
        lab.run("bench_generate", lab.shape(name))


def pattern(lab):
    ratings = lab.file("eachmovie.csv")
    lab.run("likewise", "generate", lab.shape("eachmovie"), "-o", ratings, "--seed", 1, "--quiet")
    lab.run("likewise", "info", ratings, "--report", lab.picture("eachmovie.html"), "--quiet")
    lab.need_data("ml-100k/u.data")
    lab.run("likewise", "info", DATA / "ml-100k/u.data", "--report", lab.picture("ml-100k.html"), "--quiet")


def tuning(lab):
    lab.gpu()
    widths = lab.usual(range(8, 101, 4), (8, 12))
    lab.run("bench_als_gpu", "speed", "cuda", lab.shape("netflix", "implicit"), ",".join(map(str, widths)), 7, head="speed")
    lab.run("likewise", "autotune", "--shape", lab.shape("netflix"), "--factors", lab.usual("16:112:16", "16"),
            "--plot", lab.picture("figure-13.svg"), "--quiet")
    lab.run("bench_als_gpu", "halves", "cuda", lab.shape("netflix", "implicit"), lab.usual("16,32,48,64,80,96,112,128", "16"),
            head="halves")


def scaling(lab):
    shape = lab.shape("netflix", "implicit")
    for count in (1, 2, 4, 8, 16):
        if lab.listed or count <= cores():
            lab.command("taskset", "-c", f"0-{count - 1}", lab.program("bench_epochs"), "cpu", shape, "none",
                        f"als:factors=64:iterations={lab.usual(4, 1)}")
    # What cores gain that share nothing but the machine: a quarter of the users for each.
    quarter = lab.usual("120047x17770x24768028", SMALL)
    for count in (1, 4, 16):
        if lab.listed or count <= cores():
            lab.on_cores(count, lab.program("bench_epochs"), "cpu", f"{quarter}:implicit", "none",
                         f"als:factors=64:iterations={lab.usual(6, 1)}")


def against_factors(lab):
    shapes = [lab.shape(name, "implicit") for name in lab.usual(("eachmovie", "netflix", "msd"), ("netflix",))]
    widths = lab.usual(WIDTHS, WIDTHS[:2])
    for shape in shapes:
        lab.run("bench_epochs", "cpu", shape, "none", *(f"als:factors={f}:iterations={lab.usual(5, 1)}" for f in widths))
    lab.gpu()
    for shape in shapes:
        lab.run("bench_als_gpu", "speed", "cuda", shape, ",".join(map(str, widths)), 7, head="speed")


def libraries(lab, packages, *words):
    lab.large()
    lab.command(lab.peer(*packages), "bench/compare.py", lab.program("likewise"), "--work", lab.file("peers"), "--rounds", 3, *words)


def spark(lab):
    lab.large()
    lab.command(lab.peer("pyspark", "pyarrow", "likewise"), "bench/compare_spark.py", "--rounds", 4, "--mllib-iterations", "1,1,4",
                "--memory", "6g")


def peers(lab):
    implicit = ("--exact", "off", "--peers", "implicit")
    lab.attempt(libraries, ("implicit", "irspack"), "--factors", 64)
    lab.attempt(libraries, ("implicit", "irspack"), "--factors", 128, "--irspack", "CG", "IALSPP")  # exact: a quarter of an hour
    if lab.listed or cores() >= 16:
        lab.attempt(libraries, ("implicit",), "--threads", 16, "--shape", "netflix", "--factors", 128, *implicit)
    lab.attempt(spark)
    lab.gpu()
    libraries(lab, ("implicit", "rmm"), "--device", "cuda", *implicit)


def products(lab):
    lab.run("bench_select", "updates", lab.usual("64,128", "8"), lab.usual(1024, 32), lab.usual("1,4,16,64,256", "1,16"))
    lab.large()
    lab.run("bench_als", 20000)


ITEMS = [
    Item("Table I and figure 12: data sets and their histograms", data),
    Item("Figure 11: the pattern of sparsity", pattern),
    Item("Figure 13: time against the number of factors, tuned", tuning),
    Item("Figures 14 and 15: scaling with cores", scaling),
    Item("Figure 16: CPU and GPU against the number of factors", against_factors),
    Item("Figure 17: other programs", peers),
    Item("Rank-1 updates and blocked products", products),
]
