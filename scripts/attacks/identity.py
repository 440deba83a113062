# SPDX-License-Identifier: Apache-2.0
"""Outputs that are inputs, by any name: refused before anything is read, the input untouched."""
from __future__ import annotations

import os

from .lab import Attack, Case, Lab

# Commands with places for files: those in capitals are inputs, {o} and {p} outputs.
COMMANDS = [
    ["train", "DATA", "-o", "{o}"],
    ["train", "DATA", "-o", "m", "--checkpoint", "{o}"],
    ["train", "DATA", "-o", "m", "--report", "{o}"],
    ["train", "DATA", "-o", "{o}", "--validation", "TEST", "--checkpoint", "c"],
    ["train", "DATA", "-o", "m", "--validation", "TEST", "--checkpoint", "{o}"],
    ["train", "DATA", "-o", "m", "--validation", "TEST", "--report", "{o}"],
    ["train", "DATA", "-o", "m", "--resume", "MODEL", "--report", "{o}"],
    ["train", "DATA", "-o", "{o}", "--algorithm", "item-knn", "--report", "{p}"],
    ["train", "DATA", "-o", "{o}", "--checkpoint", "{p}"],
    ["train", "DATA", "-o", "m", "--checkpoint", "{o}", "--report", "{p}"],
    ["evaluate", "MODEL", "TEST", "--per-user", "{o}"],
    ["evaluate", "MODEL", "TEST", "--train", "DATA", "--per-user", "{o}"],
    ["predict", "MODEL", "TEST", "-o", "{o}"],
    ["predict", "MODEL", "TEST", "--new", "NEW", "-o", "{o}"],
    ["predict", "MODEL", "--all-missing", "-o", "{o}"],
    ["recommend", "MODEL", "--all", "-o", "{o}"],
    ["recommend", "MODEL", "--users", "IDS", "-o", "{o}"],
    ["recommend", "MODEL", "--all", "--allow", "IDS", "-o", "{o}"],
    ["recommend", "MODEL", "--all", "--deny", "IDS", "-o", "{o}"],
    ["recommend", "MODEL", "--new", "NEW", "-o", "{o}"],
    ["recommend", "MODEL", "--all", "--titles", "TITLES", "-o", "{o}"],
    ["similar", "MODEL", "--all-items", "-o", "{o}"],
    ["similar", "MODEL", "--all-items", "--titles", "TITLES", "-o", "{o}"],
    ["similar", "KNN", "--new", "NEW", "-o", "{o}"],
    ["report", "MODEL", "--titles", "TITLES", "-o", "{o}"],
    ["split", "TRAIN", "-o", "{folder}"],
    ["split", "TRAIN", "-o", "{folder}", "--method", "kfold"],
]
FILES = {"DATA": "data.csv", "TEST": "test.csv", "NEW": "new.csv", "IDS": "ids.txt",
         "TITLES": "titles.csv", "MODEL": "als.model", "KNN": "knn.model",
         "TRAIN": "parts/train.csv"}
LINKS = ["symlink", "hard link", "link to a link"]  # to what has to be there
WAYS = ["same", "./", "folder/..", "absolute", "linked folder", "/proc/self/cwd", "double slash",
        *LINKS]


class Identity(Attack):
    name = "identity"

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        lab.make("generate", "60x30x900", "-o", "data.csv")
        lab.make("generate", "60x30x300", "-o", "test.csv", "--seed", "5")
        lab.make("generate", "60x30x200", "-o", "new.csv", "--seed", "6")
        (lab.folder / "ids.txt").write_text("3\n5\n")
        (lab.folder / "titles.csv").write_text("3,Three\n5,Five\n")
        lab.make("split", "data.csv", "-o", "parts")
        lab.make("train", "data.csv", "-o", "als.model", "--factors", "4", "--iterations", "2")
        lab.make("train", "data.csv", "-o", "knn.model", "--algorithm", "user-knn")

    def attack(self, case: Case) -> None:
        command, way = case.random.choice(COMMANDS), case.random.choice(WAYS)
        case.share(*FILES.values(), "parts/test.csv")
        (case.folder / "folder").mkdir()
        victim = self.victim(case, command)
        if victim == "both.out" and way in LINKS:
            case.write(victim, "old")
        places = {"{o}": named(case, victim, way), "{p}": "other.out", "{folder}": "parts"}
        if victim == "both.out":
            places["{p}"] = victim
        elif "{p}" in command and case.random.random() < 0.5:
            places["{o}"], places["{p}"] = places["{p}"], places["{o}"]
        if "TRAIN" in command:
            places["TRAIN"] = places["{o}"]
        arguments = [places.get(word, FILES.get(word, word)) for word in command]
        before = {path: path.read_bytes() for path in case.folder.rglob("*") if path.is_file()}
        ran = case.run(*arguments)
        for path, content in before.items():
            same = path.exists() and path.read_bytes() == content
            told = f"{path.name} as it was after `{' '.join(arguments)}` ({way})"
            case.check(same, f"{command[0]} changes a file", told)
        case.check(ran.code in (1, 2), f"{command[0]} takes one file twice",
                   f"a refusal of `{' '.join(arguments)}` ({way}), not exit 0")
        for words in ("iteration", "interactions ("):
            case.check(words not in ran.err.decode(), f"{command[0]} refuses late",
                       f"a refusal before anything is read: {ran.err.decode()}")


    def victim(self, case: Case, command: list[str]) -> str:
        """The file that gets two roles: an input, or the second of two outputs."""
        if "kfold" in command:
            case.write("parts/fold-2/test.csv", case.read("parts/train.csv"))
            return "parts/fold-2/test.csv"
        if "{p}" in command and case.random.random() < 0.5:
            return "both.out"
        return case.random.choice([FILES[word] for word in command if word in FILES])


def named(case: Case, path: str, way: str) -> str:
    """Another name of the file."""
    there = case.folder / path
    if way == "./":
        return f"./{path}"
    if way == "folder/..":
        return f"folder/../{path}"
    if way == "absolute":
        return str(there)
    if way == "/proc/self/cwd":
        return f"/proc/self/cwd/{path}"
    if way == "double slash":
        return path.replace("/", "//") if "/" in path else f".//{path}"
    name = f"link-{len(list(case.folder.iterdir()))}"
    if way == "hard link" and there.is_file():
        os.link(there, case.folder / name)
        return name
    if way == "symlink":
        (case.folder / name).symlink_to(path)
        return name
    if way == "link to a link":
        (case.folder / name).symlink_to(there)
        (case.folder / "folder" / name).symlink_to(f"../{name}")
        return f"folder/{name}"
    if way == "linked folder":
        (case.folder / name).symlink_to(case.folder)
        return f"{name}/{path}"
    return path
