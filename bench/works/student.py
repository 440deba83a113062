# SPDX-License-Identifier: Apache-2.0
"""FooJiaYin, cuda-collaborative-filtering: docs/papers/student-report.md."""
from .lab import Item, knn_tables

NAME = "The student report"
# input/ratings_tiny.dat of the repository, without its first line, the numbers of users, items and ratings.
TINY = ("1 1 5,1 2 4,1 3 2,1 4 1,2 2 1,2 3 4,2 4 3,2 5 4,3 1 5,3 2 1,3 4 2,3 5 4,4 1 5,4 2 4,4 3 2,4 4 2,4 5 4,5 1 5,5 2 1,"
        "5 4 2,5 5 3").replace(",", "\n") + "\n"


def tiny(lab):
    ratings, model = lab.file("ratings_tiny.txt"), lab.file("tiny.safetensors")
    ratings.write_text(TINY, encoding="ascii")
    for side in ("item", "user"):
        lab.run("likewise", "train", ratings, "-o", model, "--feedback", "explicit", "--algorithm", f"{side}-knn",
                "--similarity", "adjusted-cosine", "--centring", side, "--prediction", "mean", "--predict-from", "all",
                "--quiet")
        lab.run("likewise", "predict", model, "--all-missing", "--quiet")


def appendix(lab, side):
    works = [f"{lab.usual('6040x3706x1000209', '300x200x4k')},{side},adjusted-cosine,{who}" for who in ("all", "rated")]
    for device in lab.devices():
        for table in lab.usual(("plain", "stages"), ("plain",)):
            knn_tables(lab, table, "--side", side, "--device", device)
        lab.run("bench_predictions", device, lab.usual(5, 1), *works)


def literal(lab):
    knn_tables(lab, "literal")


ITEMS = [
    Item("The tiny input", tiny),
    Item("Appendix: items", appendix, ("item",)),
    Item("Appendix: users", appendix, ("user",)),
    Item("The literal prediction", literal),
]
