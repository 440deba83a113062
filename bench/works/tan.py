# SPDX-License-Identifier: Apache-2.0
"""W. Tan et al., 2018, and X. Xie et al., 2017: docs/papers/tan-2018.md."""
import shlex

from .lab import SMALL, Item

NAME = "Tan et al. 2018, cuMF_ALS, and GPU-SGD"


def data(lab):
    for name in lab.usual(("netflix", "yahoo"), ("netflix",)):
        lab.run("bench_generate", lab.shape(name))
    lab.memory(64)
    lab.run("bench_generate", lab.shape("hugewiki"))


def machines(lab):
    lab.say()
    for line in lab.machine():
        lab.say(line)


def half_step(lab):
    shape = lab.shape("netflix", "explicit")
    factors = lab.usual(100, 8)
    lab.run("bench_epochs", "cpu", shape, "none",
            *(f"als:factors={factors}:solver={solver}:iterations={lab.usual(3, 1)}" for solver in ("cholesky", "cg", "auto")))
    lab.gpu()
    lab.run("bench_als_gpu", "parts", "cuda", shape, factors, head="parts")
    lab.run("bench_als_gpu", "accuracy", "cuda", shape, factors, head="accuracy")
    lab.run("bench_als_gpu", "stages", "cuda", shape, factors, 10, head="stages")


def rates(lab):
    lab.gpu()
    lab.run("bench_als_gpu", "speed", "cuda", lab.shape("netflix", "explicit"), lab.usual(100, 8), 7, head="speed")
    lab.command(lab.peer("torch"), "bench/ceilings.py", *lab.usual((), ("--small",)))


def profiled(lab, name, training):
    words = (lab.program("bench_epochs"), "cuda", lab.shape("netflix", name.split()[0]), "none", training)
    return f"{name}={shlex.join(map(str, words))}"


def roofline(lab):
    lab.gpu()
    lab.tool("ncu")
    half = f"als:factors={lab.usual(100, 8)}:iterations=2"
    steps = f"sgd:factors={lab.usual(128, 8)}:iterations=2:order"
    lab.command(lab.peer("torch"), "bench/roofline.py", "--ceilings", "--plot", lab.picture("roofline.svg"),
                profiled(lab, "explicit ALS", half), profiled(lab, "implicit ALS", half),
                profiled(lab, "explicit SGD alternating", f"{steps}=alternating"),
                profiled(lab, "explicit SGD racing", f"{steps}=racing"))


def als(lab, iterations):
    return f"factors={lab.usual(64, 8)}:regularization=0.07:iterations={lab.usual(iterations, 1)}"


def sgd(lab, order):
    return f"sgd:factors={lab.usual(64, 8)}:iterations={lab.usual(15, 1)}:order={order}"


def curves(lab):
    trainings = [f"als:{als(lab, 8)}", *(sgd(lab, order) for order in ("alternating", "racing", "blocked")),
                 f"hybrid:{als(lab, 4)}"]
    for name in lab.usual(("netflix", "yahoo"), ("netflix",)):
        for device in lab.devices():
            with lab.curves():
                lab.run("bench_epochs", device, lab.shape(name, "explicit"), "rmse", *trainings)
    lab.attempt(libmf)
    lab.large()
    lab.gpu()
    lab.memory(180)
    with lab.curves():
        lab.run("bench_epochs", one_and_together(lab), "hugewiki:explicit", "rmse", f"als:{als(lab, 6)}", sgd(lab, "alternating"),
                f"hybrid:{als(lab, 4)}")


def one_and_together(lab):
    return "+".join(["cuda", *(f"cuda:{gpus}" for gpus in lab.together())])


def libmf(lab):
    lab.large()
    python = lab.peer("libmf", "likewise")
    lab.command(python, "bench/compare_sgd.py", "--learning-rate", 0.05)
    lab.memory(20)
    with lab.curves():
        lab.command(python, "bench/compare_sgd.py", "--shape", "netflix:explicit", "--factors", 64, "--curve",
                    "1,2,3,4,5,6,7,8,10,12,15")


def several_gpus(lab):
    both = lab.two_gpus()
    for gpus in lab.together():
        lab.run("bench_als_gpu", "ranks", gpus, lab.shape("netflix", "explicit"), lab.usual("64,100", "8"), head="ranks")
        lab.run("bench_als_gpu", "ranks", gpus, lab.shape("netflix", "implicit"), lab.usual("128", "8"), head="ranks")
        lab.run("bench_ranks_gpu", gpus, f"sgd:{lab.shape('netflix')}:alternating:{lab.usual(128, 16)}")
    for name in lab.usual(("netflix", "yahoo"), ("netflix",)):
        with lab.curves():
            lab.run("bench_epochs", f"cuda:{both}", lab.shape(name, "explicit"), "rmse", f"als:{als(lab, 8)}",
                    sgd(lab, "alternating"))


def choice(lab):
    lab.run("bench_choice", "6040x3706x1000209", "ml-20m", "netflix", "hugewiki")
    lab.gpu()
    for shape in lab.usual(("943x1682x100k", "6040x3706x1000209", "69878x10677x10m", "ml-20m"), (SMALL,)):
        file = lab.file("interactions.csv")
        lab.command(lab.program("likewise"), "generate", shape, "-o", file, "--seed", 1, "--quiet", needed=True)
        lab.time({f"{shape}, {device}": ("train", file, "-o", lab.file("model.safetensors"), "--factors", 64, "--quiet",
                                         "--device", device) for device in ("cpu", "cuda")})


def large(lab):
    lab.gpu()
    lab.memory(lab.usual(120, 1))
    lab.run("bench_als_gpu", "stages", f"cuda@40+cuda@20+{one_and_together(lab)}", lab.shape("hugewiki", "explicit"),
            lab.usual(100, 8), lab.usual(10, 2), head="stages")


def implicit(lab):
    shape = lab.shape("netflix", "implicit")
    lab.run("bench_epochs", "cpu", shape, "none", f"als:factors={lab.usual(100, 8)}:iterations={lab.usual(5, 1)}")
    lab.gpu()
    lab.run("bench_als_gpu", "speed", "cuda", shape, lab.usual(100, 8), 7, head="speed")


ITEMS = [
    Item("Table II: data sets", data),
    Item("Table III: machines", machines),
    Item("Figures 3, 4 and 5: a half-step and its solver", half_step),
    Item("Figure 7: operations and bytes a second", rates),
    Item("The roofline", roofline),
    Item("Table IV, figures 6 and 8: RMSE against seconds", curves),
    Item("Several GPUs", several_gpus),
    Item("The choice by data and hardware", choice),
    Item("Hugewiki, and data larger than the GPU's memory", large),
    Item("Implicit feedback", implicit),
    Item("CCD++, NOMAD and BIDMach", None, reason="other programs, left behind; the page says why"),
]
