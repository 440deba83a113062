# SPDX-License-Identifier: Apache-2.0
"""Every algorithm with its defaults and in variants, on validation parts and on test parts: what rules are fitted to.

    scripts/experiment choices lists|ratings -o FILE [--workers 8] [--minutes 5] [--only TEXT] [--lines TEXT]

The sets are those of `families` and others with short histories over few items. The test part is a fifth of each
user's rows (ratings: a tenth of all). The validation part is cut from the rest in the same way. FILE gets a line of JSON for each
measurement: set, part, shape of the data, line, value. The variants are measured on the validation part alone. Commands
run side by side, as many as --workers, until --minutes are over; what FILE has already is not measured again. 
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import tempfile
import threading
import time

from .families import LISTS, RATINGS, Families, each, histories, likes, of_users
from .study import Failed, parser, require_data


def popular_items(rows, count):
    """Rows of the items with the most rows."""
    counts = collections.Counter(item for _, item, _ in rows)
    kept = {item for item, _ in counts.most_common(count)}
    return [one for one in rows if one[1] in kept]


# Short histories over few items.
SHORT = {
    "ml-1m, 30 films, 3 of each": ("ml-1m", lambda rows: each(popular_items(likes(rows), 30), 3)),
    "ml-1m, 30 films, parts of 4": ("ml-1m", lambda rows: histories(popular_items(likes(rows), 30), 4)),
    "ml-1m, 60 films, 4 of each": ("ml-1m", lambda rows: each(popular_items(likes(rows), 60), 4)),
    "ml-1m, 100 films, parts of 6": ("ml-1m", lambda rows: histories(popular_items(likes(rows), 100), 6)),
    "ml-1m, 200 films, 3 of each": ("ml-1m", lambda rows: each(popular_items(likes(rows), 200), 3)),
    "ml-1m, parts of 3 likes": ("ml-1m", lambda rows: histories(of_users(likes(rows), 3000), 3)),
    "goodbooks, 30 books, 3 of each": ("goodbooks-10k", lambda rows: each(popular_items(likes(rows), 30), 3)),
    "goodbooks, 60 books, 3 of each": ("goodbooks-10k", lambda rows: each(popular_items(likes(rows), 60), 3)),
    "goodbooks, 100 books, parts of 4": ("goodbooks-10k", lambda rows: histories(popular_items(likes(rows), 100), 4)),
    "goodbooks, 300 books, 3 of each": ("goodbooks-10k", lambda rows: each(popular_items(likes(rows), 300), 3)),
    "goodbooks, 1000 books, 4 of each": ("goodbooks-10k", lambda rows: each(popular_items(likes(rows), 1000), 4)),
    "goodbooks, 3000 books": ("goodbooks-10k", lambda rows: popular_items(likes(rows), 3000)),
    "goodbooks, likes, parts of 3": ("goodbooks-10k", lambda rows: histories(likes(rows), 3)),
    "ml-latest-small, 3 likes of each": ("ml-latest-small", lambda rows: each(likes(rows), 3)),
    "ml-latest-small, 10 likes of each": ("ml-latest-small", lambda rows: each(likes(rows), 10)),
    "ml-100k, 3 likes of each": ("ml-100k", lambda rows: each(likes(rows), 3)),
    "ml-100k, 6 likes of each": ("ml-100k", lambda rows: each(likes(rows), 6)),
}
SETS = {"lists": {**LISTS, **SHORT}, "ratings": RATINGS}


def als(factors, scale=1.0):
    return (f"als {factors}" + (f" x{scale:g}" if scale != 1 else ""), ["--algorithm", "als", "--factors", factors], scale)


RP3 = ["--algorithm", "item-knn", "--similarity", "rp3", "--neighbours", "300"]
EASE, SPECTRAL = ["--algorithm", "ease"], ["--algorithm", "spectral"]
EXPLICIT = ["--feedback", "explicit"]
# (name, options, a factor of the regularization that the data suggest)
LINES = {
    "lists": [("popular", ["--algorithm", "popular"], 1), *map(als, (64, 128, 256, 512)),
              ("item-knn", ["--algorithm", "item-knn"], 1), ("user-knn", ["--algorithm", "user-knn"], 1), ("rp3", RP3, 1),
              ("ease", EASE, 1), ("spectral", SPECTRAL, 1), ("spectral 512", [*SPECTRAL, "--factors", 512], 1),
              ("spectral 128", [*SPECTRAL, "--factors", 128], 1), ("als 1024", als(1024)[1], 1),
              ("spectral 64", [*SPECTRAL, "--factors", 64], 1), ("bpr", ["--algorithm", "bpr"], 1)],
    "ratings": [(name, [*EXPLICIT, "--algorithm", name], 1) for name in ("als", "item-knn", "user-knn", "bias", "sgd")],
}
VARIANTS = {
    "lists": [*(als(factors, scale) for scale in (0.7, 1.4, 0.5, 2) for factors in (512, 256, 64, 1024)),
              *((f"rp3 {beta}", [*RP3, "--item-exponent", beta], 1) for beta in (0.3, 0.6)),
              *((f"ease lambda {l} a {a}", [*EASE, "--regularization", l, "--item-exponent", a], 1)
                for l, a in ((1, .2), (10, .2), (30, .2), (3, 0), (3, .4), (10, 0), (10, .4))),
              *((f"spectral {f} b {b}", [*SPECTRAL, "--factors", f, "--item-exponent", b], 1)
                for f, b in ((256, .2), (256, .35), (64, .2), (64, .35), (32, .35), (1024, .5)))],
    "ratings": [(f"als {f} nu {nu} lambda {l}", [*EXPLICIT, "--algorithm", "als", "--factors", f, "--regularization-exponent", nu,
                                                  "--regularization", l], 1)
                for f in (64, 16, 128) for nu, lambdas in ((1, (.05, .07, .1, .15, .2, .3)), (.5, (.3, .6, 1, 1.5, 2.5)), (0, (1, 3, 5, 10)))
                for l in lambdas],
}
SECONDS = 240  # of one measurement, at most


def shape_of(train):
    """Counts that rules look at."""
    users, items = collections.Counter(), collections.Counter()
    with open(train) as file:
        next(file)
        for line in file:
            user, item = line.split(",")[:2]
            users[user] += 1
            items[item] += 1
    entries = sum(users.values())

    def even(counts):
        pairs = sum(count * (count - 1) for count in counts.values())
        return entries * (entries - 1) / pairs if pairs else float("inf")

    return {"entries": entries, "users": len(users), "items": len(items), "c_u": entries / len(users),
            "c_i": entries / len(items), "n_e": even(items), "n_u": even(users)}


class Measurement(Families):
    def parts(self, task, source, make):
        """(name, train, test): of the test part, and of the validation part within the rest."""
        how = ["--test", "0.1"] if task == "ratings" else ["--method", "per-user", "--test", "0.2"]
        train, test = self.cut_by(source, make, how)
        return [("validation", *self.split(train, "inner", how)), ("test", train, test)]

    def measured(self, task, train, test, line, scale, until):
        """What is told of one line."""
        line = list(line)
        if scale != 1:
            # What the data suggest is told by a model of no iterations.
            told = self.run("train", train, "-o", "model", "--json", *line, "--iterations", "0", until=until)
            line += ["--regularization", told.told["parameters"]["regularization"] * scale]
        more = ["--validation", test] if task == "ratings" and line[-1] != "bias" and "als" in line else []
        told = self.run("train", train, "-o", "model", "--json", *line, *more, until=until)
        if told is None:
            return None
        metrics = ["--metrics", "rmse"] if task == "ratings" else ["--metrics", "ndcg", "-k", "10,20"]
        values = self.run("evaluate", "model", test, "--json", *metrics, until=until)
        if values is None:
            return None
        result = {"values": {key: values.told[key] for key in ("ndcg@10", "ndcg@20", "rmse") if key in values.told},
                  "seconds": told.seconds, "lists_seconds": values.seconds, "memory": told.memory,
                  "algorithm": told.told["algorithm"], "parameters": told.told["parameters"]}
        if more:
            result["course"] = [one["validation"] for one in told.told["iterations"] if "validation" in one]
        return result


def measure(args):
    until = time.monotonic() + 60 * args.minutes
    sets = {name: made for name, made in SETS[args.task].items() if args.only in name}
    file = pathlib.Path(args.output)
    done = set()
    if file.exists():
        for text in file.read_text().splitlines():
            one = json.loads(text)
            done.add((one["set"], one["part"], one["line"]))
    lock = threading.Lock()
    base = pathlib.Path(tempfile.mkdtemp())

    def job(name, part, train, test, shape, line, options, scale):
        if time.monotonic() >= until:
            return
        with tempfile.TemporaryDirectory(dir=base) as folder:
            try:
                told = Measurement(folder, args.threads).measured(args.task, train, test, options, scale,
                                                                  min(until, time.monotonic() + SECONDS))
            except (Failed, TypeError, AttributeError) as error:
                told = {"failure": str(error)[-300:]}
        if told is None:
            told = {"failure": "time"}
        with lock, open(file, "a") as out:
            out.write(json.dumps({"set": name, "part": part, "line": line, **shape, **told}) + "\n")

    with concurrent.futures.ProcessPoolExecutor(args.workers) as cutters:
        cuts = list(cutters.map(cut_set, [(base, args.threads, args.task, number, name)
                                          for number, name in enumerate(sets)]))
    parts = [part for cut_parts in cuts for part in cut_parts]
    jobs = []
    for stage, lines in enumerate((LINES[args.task], VARIANTS[args.task])):
        for order, (line, options, scale) in enumerate(lines):
            for name, part, train, test, shape in parts:
                if args.lines not in line or (name, part, line) in done or (stage and part == "test"):
                    continue
                jobs.append((stage, order, -shape["entries"], name, part, train, test, shape, line, options, scale))
    jobs.sort(key=lambda one: one[:3])
    with concurrent.futures.ThreadPoolExecutor(args.workers) as workers:
        for one in jobs:
            workers.submit(job, *one[3:])
    shutil.rmtree(base)


def cut_set(what):
    base, threads, task, number, name = what
    source, make = SETS[task][name]
    folder = base / str(number)
    folder.mkdir()
    study = Measurement(folder, threads)
    return [(name, part, train, test, shape_of(train)) for part, train, test in study.parts(task, source, make)]


def main(words, prog):
    given = parser(__doc__, prog)
    given.add_argument("task", choices=["lists", "ratings"])
    given.add_argument("-o", "--output", required=True, help="lines of JSON")
    given.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="commands side by side")
    given.add_argument("--minutes", type=float, default=60, help="time for all [60]")
    given.add_argument("--only", default="", help="sets whose names have this in them")
    given.add_argument("--lines", default="", help="lines whose names have this in them")
    args = given.parse_args(words)
    require_data()
    measure(args)
    return 0
