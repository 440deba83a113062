# SPDX-License-Identifier: Apache-2.0
"""What all experiments share: where the data are, the program, and its steps in a folder."""
import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("LIKEWISE_DATA", ROOT / "../shared/data")).resolve()
PROGRAM = pathlib.Path(os.environ.get("LIKEWISE_CLI", ROOT / "build/release/bin/likewise")).resolve()
SEED = 2026  # of all test parts

FILES = {
    "ml-100k": DATA / "ml-100k/u.data",
    "ml-1m": DATA / "ml-1m/ratings_notime.dat.gz",
    "ml-latest-small": DATA / "ml-latest-small/ratings.csv.gz",
    "goodbooks-10k": DATA / "goodbooks-10k/ratings.csv.gz",
}
FOLDS = [(DATA / f"ml-100k/u{n}.base.gz", DATA / f"ml-100k/u{n}.test.gz") for n in range(1, 6)]
LIKED_BOOKS = ["--min-value", "4", "--columns", "user_id,book_id,rating"]  # of goodbooks-10k
LAST = ["--method", "last"]


class Failed(Exception):
    pass


@dataclasses.dataclass
class Ran:
    told: dict  # the JSON that it printed
    seconds: float  # of all its threads
    memory: float  # MB at the peak


def parser(doc, prog):
    made = argparse.ArgumentParser(prog=prog, description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--threads", type=int, default=2, help="of each command [2]; results do not depend on it")
    return made


def require_data():
    if not PROGRAM.is_file():
        raise Failed(f"no program at {PROGRAM}: build the release preset or set LIKEWISE_CLI")
    if not (DATA / "ml-1m").is_dir():
        raise Failed(f"no data in {DATA}: set LIKEWISE_DATA")


class Study:
    """Commands in one folder, in which the model is called `model`."""

    def __init__(self, folder, threads):
        self.folder = pathlib.Path(folder)
        self.threads = threads

    def run(self, *words, until=None):
        """Ran; None where it did not end until this second of time.monotonic()."""
        command = [str(PROGRAM), *map(str, words), "--threads", str(self.threads), "--quiet"]
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=self.folder)
            timer = threading.Timer(max(0.01, until - time.monotonic()) if until else threading.TIMEOUT_MAX,
                                    process.kill)
            if until:
                timer.start()
            output = process.stdout.read()
            process.stdout.close()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            timer.cancel()
            if process.returncode < 0 and until and time.monotonic() >= until:
                return None
            errors.seek(0)
            if process.returncode != 0:
                raise Failed(f"{' '.join(command)}: {errors.read().strip()}")
        return Ran(json.loads(output) if output.startswith("{") else {},
                   usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)

    def split(self, source, name, how, reading=(), seed=SEED):
        """(train, test): files of a part of this name."""
        drawn_by = [] if "--method" in how else ["--seed", seed]  # the others draw nothing
        self.run("split", source, "-o", self.folder / name, *drawn_by, *how, *reading)
        return self.folder / name / "train.csv", self.folder / name / "test.csv"

    def earlier(self, source, name, how, counts, reading=()):
        """(train, test) for each count: of data cut by the last of each user, the part that is so many cuts back."""
        cuts = [self.split(source, f"{name}-0", how, reading)]
        for number in range(1, max(counts) + 1):
            cuts.append(self.split(cuts[-1][0], f"{name}-{number}", how))
        return [cuts[count] for count in counts]

    def train(self, train, line):
        return self.run("train", train, "-o", "model", "--json", *line)

    def evaluate(self, test, metric):
        """All that is told; of the metric as in "ndcg@10"."""
        return self.run("evaluate", "model", test, "--json", "--metrics", metric.split("@")[0]).told

    def value(self, test, metric):
        return self.evaluate(test, metric)[metric]


def table(heads, right):
    """The head of a table; columns of these numbers stand at the right."""
    print("| " + " | ".join(heads) + " |")
    print("|" + "|".join("---:" if number in right else "---" for number in range(len(heads))) + "|", flush=True)


def row(cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
