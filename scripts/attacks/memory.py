# SPDX-License-Identifier: Apache-2.0
"""Too little memory: every verb ends within seconds, done or with one sentence."""
from __future__ import annotations

import gzip

from .lab import Attack, Case, Lab

COMMANDS = [
    ["generate", "3000x500x200000", "-o", "made.csv"],
    ["split", "data.csv", "-o", "parts"],
    ["split", "many.csv.gz", "-o", "parts"],
    ["train", "data.csv", "-o", "new.model", "--factors", "128", "--iterations", "3"],
    ["train", "data.csv", "-o", "new.model", "--device", "reference", "--factors", "8",
     "--iterations", "1"],
    ["train", "data.csv", "-o", "new.model", "--algorithm", "item-knn"],
    ["train", "data.csv", "-o", "new.model", "--algorithm", "user-knn", "--feedback", "explicit"],
    ["train", "data.csv", "-o", "new.model", "--algorithm", "popular", "--report", "page.html"],
    ["evaluate", "als.model", "test.csv"],
    ["predict", "als.model", "--all-missing", "-o", "all.csv.zst"],
    ["recommend", "als.model", "--all", "--explain", "-o", "lists.csv"],
    ["similar", "als.model", "--all-items"],
    ["similar", "als.model", "--all-users", "--metric", "euclidean"],
    ["demo", "-o", "cinema"], ["info"], ["info", "data.csv"], ["info", "als.model"],
    ["info", "many.csv.gz"], ["--version"], ["train", "--help"],
]
INPUTS = ("data.csv", "test.csv", "als.model", "many.csv.gz")
SECONDS = 30.0


class Memory(Attack):
    name = "memory"

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        lab.make("generate", "3000x500x100000", "-o", "data.csv")
        lab.make("generate", "3000x500x9000", "-o", "test.csv", "--seed", "5")
        lab.make("train", "data.csv", "-o", "als.model", "--factors", "32", "--iterations", "3")
        # Much larger than it looks, and full of repeated rows.
        rows = b"".join(b"%d,%d,1\n" % (row % 100, row // 100) for row in range(2000))
        with gzip.open(lab.folder / "many.csv.gz", "wb", 9) as file:
            for _ in range(2500):
                file.write(rows)

    def attack(self, case: Case) -> None:
        command = case.random.choice(COMMANDS)
        # The narrow places are near the bottom.
        megabytes = int(60 * (1000 / 60) ** (case.random.random() ** 1.5))
        case.share(*(name for name in INPUTS if name in command))
        threads = case.random.choice([[], ["--threads", "1"], ["--threads", "16"]])
        ran = case.run(*command, *(threads if command[0][0] != "-" else []), sound=False,
                       shell=f'ulimit -v {megabytes * 1024}; exec "$@"', seconds=SECONDS)
        if ran.code == 127 and b"shared librar" in ran.err:
            return  # the system could not even load the program
        case.check_sound(ran)
        if ran.code:
            words = ("memory", "thread", "cannot hold", "cannot allocate")
            case.check(any(word in ran.message for word in words), "another reason for the failure",
                       f"a message of memory, not: {ran.message}")
