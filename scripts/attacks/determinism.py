# SPDX-License-Identifier: Apache-2.0
"""The same bytes for any number of threads."""
from __future__ import annotations

from .lab import Attack, Case
from modelfile import difference
from .numbers import PREDICTIONS, SIMILARITIES

THREADS = (1, 2, 5)


class Determinism(Attack):
    name = "determinism"

    def attack(self, case: Case) -> None:
        draw = case.random
        users, items = draw.choice([1, 7, 300, 2000]), draw.choice([3, 40, 700])
        rows = max(2, int(users * items * draw.choice([0.02, 0.2, 0.6])))
        shape = f"{users}x{items}x{min(rows, 40000)}:{draw.choice(['explicit', 'implicit'])}"
        self.compare(case, ["generate", shape, "-o", "FILE"], "")
        case.done("generate", shape, "-o", "data.csv")
        self.compare(case, ["split", "data.csv", "-o", "FILE-parts", "--seed", draw.randrange(100)],
                     "-parts/train.csv", "-parts/test.csv")
        how = some_method(case)
        if not self.compare(case, ["train", "data.csv", "-o", "FILE", *how], ""):
            return
        case.done("generate", f"{users + 3}x{items + 2}x{max(2, rows // 9)}", "-o", "new.csv",
                  "--seed", 7)
        short = ["--factors", 7, "--iterations", 3]
        how = draw.choice([how, ["--algorithm", "sgd", *short], ["--algorithm", "bpr", *short]])
        if case.run("train", "data.csv", "-o", "old.model", *how).code == 0:
            by_sgd = ["--by", "sgd"] if "--solver" in how and "explicit" in how else []
            self.compare(case, ["update", "old.model", "new.csv", "-o", "FILE", *by_sgd], "")
        for asked in (["recommend", "FILE-1", "--all", "--explain"],
                      ["predict", "FILE-1", "data.csv"], ["predict", "FILE-1", "--all-missing"],
                      ["similar", "FILE-1", "--all-items"],
                      ["similar", "FILE-1", "--all-users", "--metric", "euclidean"]):
            if case.random.random() < 0.5:
                self.compare(case, asked)

    def compare(self, case: Case, command: list[object], *outputs: str) -> bool:
        """Whether it works; a failure if anything differs between numbers of threads."""
        found = []
        for threads in THREADS:
            words = [str(word).replace("FILE-1", "\0").replace("FILE", f"FILE-{threads}")
                     .replace("\0", "FILE-1") for word in command]
            ran = case.run(*words, "--threads", threads)
            files = [case.read(f"FILE-{threads}{end}") if ran.code == 0 else b"" for end in outputs]
            found.append((ran.code, ran.out, ran.message.replace(f"FILE-{threads}", "FILE"), files))
        told = f"the same of `{' '.join(map(str, command))}` with 1 thread and"
        for threads, other in zip(THREADS[1:], found[1:]):
            case.check(other[:3] == found[0][:3], f"{command[0]}: another end or output",
                       f"{told} {threads}: {found[0][0]} {found[0][2]}, {other[0]} {other[2]}")
            for left, right in zip(found[0][3], other[3]):
                same = left == right or (command[0] in ("train", "update")
                                         and not difference(left, right, ("device",)))
                case.check(same, f"{command[0]}: another file", f"{told} {threads}")
        return found[0][0] == 0


def some_method(case: Case) -> list[object]:
    draw = case.random
    how: list[object] = draw.choice([[], ["--feedback", "explicit"]])
    if draw.random() < 0.5:
        return [*how, "--factors", draw.choice([1, 7, 16, 33, 64]), "--iterations", 3, "--solver",
                draw.choice(["auto", "cg", "cholesky"])]
    how = [*how, "--algorithm", draw.choice(["item-knn", "user-knn"]), "--similarity",
           draw.choice(SIMILARITIES), "--neighbours", draw.choice([1, 5, 40])]
    return [*how, "--prediction", draw.choice(PREDICTIONS)] if draw.random() < 0.3 else how
