# SPDX-License-Identifier: Apache-2.0
"""Options: odd numbers are refused, and an option that is accepted does something, alone and beside
any other."""
from __future__ import annotations

import itertools
import json
import random
from typing import Any

from .helptext import Option, options_of, verbs_of
from .lab import Attack, Case, Lab
from modelfile import ModelFile
from .option_values import (BASES, COARSE, ENDLESS, HARMLESS, IDLE_BESIDE, INPUTS, KNN, NEVER, NEVER_WHOLE, ODD,
                            VALUES)


def table(draw: random.Random, rows: int, first_user: int = 0) -> str:
    """Ratings of 30 users and 20 items: rare users and items, repeated rows, times."""
    text = "user,item,value,time\n"
    for _ in range(rows):
        user, item = int(30 * draw.random() ** 2), int(20 * draw.random() ** 1.5)
        text += f"{first_user + user},{item},{draw.randint(-1, 5)},{draw.randrange(50)}\n"
    return text


def make_inputs(lab: Lab) -> None:
    draw = random.Random(3)
    for name, rows, first_user in (("data", 260, 0), ("test", 60, 0), ("other", 90, 0),
                                   ("new", 30, 90)):
        (lab.folder / f"{name}.csv").write_text(table(draw, rows, first_user))
    with open(lab.folder / "test.csv", "a", encoding="utf-8") as test:
        test.write("95,3,4,9\n96,7,2,9\n")  # users of new.csv
    (lab.folder / "ids.txt").write_text("2\n3\n5\n7\n8\n11\n13\n16\n")
    (lab.folder / "items.csv").write_text(
        "item,kind,colour\n" + "".join(f"{i},{'ab'[i % 2]},{'rgb'[i % 3]}\n" for i in range(60)))
    (lab.folder / "people.csv").write_text(
        "user,kind,age\n" + "".join(f"{u},{'xy'[u % 2]},{u}\n" for u in range(60)))
    (lab.folder / "titles.csv").write_text(
        "id,note,title\n" + "".join(f"{i},Note {i},Title {i}\n" for i in range(18)))
    rating = ["--feedback", "explicit"]
    # The checkpoints are of trainings that are not over.
    short = ["--iterations", "6", "--checkpoint-every", "4", "--checkpoint"]
    for name, how in {"als": [], "explicit": rating,
                      "short-end": [*short, "short.model"],
                      "stars-end": [*short, "stars.model", *rating],
                      "item-knn": KNN, "knn5": KNN + rating,
                      "user-knn": ["--algorithm", "user-knn"],
                      "popular": ["--algorithm", "popular"],
                      "bias": ["--algorithm", "bias"], "sgd": ["--algorithm", "sgd"],
                      "bpr": ["--algorithm", "bpr"], "featured": ["--user-features", "people.csv"]}.items():
        lab.make("train", "data.csv", "-o", f"{name}.model", *how)
    validated = ["--validation", "test.csv", "--iterations", "5"]
    lab.make("train", "data.csv", "-o", "wide.model", *validated)
    told = lab.make("train", "data.csv", "-o", "run.model", "--factors", "2", "--json", *validated)
    (lab.folder / "run.json").write_bytes(told)


def given(verb: str, option: Option) -> list[str]:
    if not option.kind:
        return [option.flag]
    return [option.flag, VALUES.get(f"{verb} {option.flag}") or VALUES[option.flag]]


class Options(Attack):
    name = "options"
    share = 2.0

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        make_inputs(lab)
        self.seen: dict[tuple[str, ...], Any] = {}
        order = random.Random(lab.seed)
        options = {verb: [option for option in options_of(lab, verb) if f"{verb} {option.flag}" not in ENDLESS]
                   for verb in verbs_of(lab) if verb not in ENDLESS}
        numbers = [(verb, option, odd) for verb in options for option in options[verb]
                   if option.kind in ("N", "X", "SHARE") for odd in ODD]
        alone = [(verb, base, [option]) for verb in options for base in BASES[verb]
                 for option in options[verb]]
        pairs = [(verb, order.choice(BASES[verb]), list(pair)) for verb in options
                 for pair in itertools.combinations(options[verb], 2)]
        for work in (numbers, alone, pairs):
            order.shuffle(work)
        # Some of each from the first second on.
        self.work = [part for parts in itertools.zip_longest(numbers, alone, pairs)
                     for part in parts if part]
        self.cases = len(self.work)

    def attack(self, case: Case) -> None:
        verb, second, third = self.work[case.number]
        if isinstance(second, Option):
            odd_number(case, verb, second, third)
        else:
            self.together(case, verb, second, third)

    def together(self, case: Case, verb: str, base: list[str], options: list[Option]) -> None:
        named = {word.split("=")[0].replace("-o", "--output") for word in base}
        if "stars.model" in base:
            named.add("--feedback")  # it has no other
        options = [option for option in options if option.flag not in named]
        if any(option.flag == "--on-bad-row" for option in options):
            return  # a header that is read as a row is a bad one
        both = self.results(case, verb, base, options)
        if both["code"] != 0:
            return
        for option in options:
            if option.flag in HARMLESS or f"{verb} {option.flag}" in HARMLESS:
                continue
            rest = [other for other in options if other != option]
            beside = {*base, *(other.flag for other in rest)}
            if COARSE in beside or any((option.flag, flag) in IDLE_BESIDE for flag in beside):
                continue
            if "--resume" in base and any(other.flag == "--tolerance" for other in rest):
                continue  # what is resumed is over
            without = self.results(case, verb, base, rest)
            others = " ".join(word for other in rest for word in given(verb, other))
            case.check(both != without, f"{verb} {option.flag} does nothing",
                       f"`{verb} {' '.join(base)} {others}` to change with "
                       f"`{' '.join(given(verb, option))}`, or to refuse it")

    def results(self, case: Case, verb: str, base: list[str], options: list[Option]) -> Any:
        """What a command leaves, without what differs from run to run."""
        arguments = [verb, *base, *(word for option in options for word in given(verb, option))]
        if tuple(arguments) not in self.seen:
            case.share(*(name for name in INPUTS if name in " ".join([*arguments, "data.csv"])))
            before = set(case.folder.rglob("*"))
            ran = case.run(*arguments)
            left = {"code": ran.code, "out": steady(ran.out)}
            for path in sorted(set(case.folder.rglob("*")) - before):
                if path.is_file():
                    name = str(path.relative_to(case.folder))
                    left[name] = content_of(path.read_bytes(), path.suffix)
            if "model" in left:
                case.share("test.csv")
                for asked in (["predict", "model", "test.csv"], ["recommend", "model", "--all"],
                              ["evaluate", "model", "test.csv", "--json"]):
                    ran = case.run(*asked)
                    left[asked[0]] = (ran.code, steady(ran.out))
            self.seen[tuple(arguments)] = left
            for path in set(case.folder.rglob("*")) - before:
                if path.is_file():
                    path.unlink()
        return self.seen[tuple(arguments)]


def steady(out: bytes) -> Any:
    """Without times: numbers stay, seconds go."""
    try:
        told = json.loads(out)
    except ValueError:
        return out
    if isinstance(told, dict):
        for trial in [*told.get("trials", []), told.get("baseline"), told.get("best")]:
            if isinstance(trial, dict):  # of a search
                trial.pop("seconds", None)
                trial.pop("finished", None)
        for fold in told.get("folds", []):
            fold.pop("seconds", None)
        for name in ("seconds", "created"):
            told.pop(name, None)
        iterations = told.get("iterations")
        for timed in [*(iterations if isinstance(iterations, list) else []), told.get("target")]:
            if isinstance(timed, dict):
                timed.pop("seconds", None)
                timed.pop("elapsed", None)
    return told


def content_of(content: bytes, suffix: str) -> Any:
    if suffix == ".journal" or content.startswith(b'{"likewise_search"'):
        return "a journal"  # which tells times
    if suffix in (".html", ".svg"):
        return "a page"  # which tells times
    if content[8:9] == b"{":
        model = ModelFile(content)
        return (model.tensors, model.iterations(), model.metadata.get("validation"))
    return content


def odd_number(case: Case, verb: str, option: Option, odd: str) -> None:
    base = BASES[verb][0]
    case.share(*(name for name in INPUTS if name in " ".join(base)))
    ran = case.run(verb, *base, f"{option.flag}={odd}" if option.flag[1] == "-" else
                   option.flag + odd)
    never = NEVER_WHOLE if option.kind == "N" else NEVER
    if odd in never:
        case.check(ran.code == 2, f"{verb} {option.flag} takes an odd number",
                   f"exit 2, not {ran.code}, for {option.flag} '{odd}'")
