# SPDX-License-Identifier: Apache-2.0
"""Energy of a training beside its time, which none of the works tells: docs/papers/README.md."""
from .lab import Item

NAME = "In none of the works"


def trainings(lab, device):
    """Of some seconds each."""
    often = lab.usual({"cpu": (5, 5), "cuda": (200, 300)}[device], (1, 1))
    return (f"als:factors={lab.usual(64, 8)}:iterations={often[0]}",
            f"sgd:factors={lab.usual(64, 8)}:order=alternating:iterations={often[1]}")


def energy(lab):
    for device in lab.devices():
        rounds = lab.usual(3, 1)
        lab.run("bench_energy", device, lab.shape("netflix", "explicit"), rounds, *trainings(lab, device))
        lab.run("bench_energy", device, lab.shape("69878x10677x10m", "implicit"), rounds, "ease")
    lab.gpu()


ITEMS = [Item("Energy of a training", energy)]
