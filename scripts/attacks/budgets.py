# SPDX-License-Identifier: Apache-2.0
"""Searches with a budget of time on data whose trainings and validations take long beside it: they end in
time, with a model or a sentence; signals end them at once."""
from __future__ import annotations

from .kills import CATCHABLE, signalled
from .lab import Attack, Case, Lab

SHAPES = ("8000x4000x160000", "3000x12000x60000", "15000x10000x1500000")
# Seconds over the budget: two, for reading, the training of the winner and writing, on a machine
# that does nothing else.
SLACK = 8.0


class Budgets(Attack):
    name = "budgets"

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        for number, shape in enumerate(SHAPES):
            lab.make("generate", shape, "-o", f"{number}.csv")
            lab.make("generate", f"{shape}:explicit", "-o", f"ratings{number}.csv")

    def attack(self, case: Case) -> None:
        feedback = case.random.choice(["implicit", "explicit"])
        prefix = "ratings" if feedback == "explicit" else ""
        name = f"{prefix}{case.random.randrange(len(SHAPES))}.csv"
        case.share(name)
        budget = case.random.choice([1, 2, 4])
        search = ["tune", name, "-o", "m", "--feedback", feedback, "--budget", f"{budget}s"]
        if case.random.random() < 0.5:
            search += ["--metric", "auc" if feedback == "implicit" else "ndcg@10"]
        if case.random.random() < 0.5:
            search += ["--algorithm", ",".join(case.random.sample(["user-knn", "item-knn", "als"], 2))]
        if case.random.random() < 0.3:
            ran = signalled(case, search, case.random.choice(CATCHABLE),
                            case.random.uniform(0.2, budget))
            return case.check_sound(ran)
        ran = case.run(*search, "--json")
        case.check(ran.seconds < budget + SLACK, "over the budget",
                   f"an end within {budget} s and {SLACK:g} more, not {ran.seconds:.1f} s")
        known = ran.code == 0 or "no algorithm has a value" in ran.message or "give more" in ran.message
        case.check(known, "failed otherwise", f"a model, or that nothing fits: {ran.message}")
