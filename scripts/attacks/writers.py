# SPDX-License-Identifier: Apache-2.0
"""Programs that write the same files at the same time: updates of one model, trainings beside them,
searches on one journal, trainings on one checkpoint. Nothing that ended with 0 is lost, the others say
why in a sentence, and who was killed is in nobody's way."""
from __future__ import annotations

import json
import signal
import subprocess
import time

from .lab import Attack, Case, Lab, Ran
from modelfile import ModelFile

FACTORS = {"als": 8, "other": 5}  # of the model, and of one that takes its place
IN_HAND = "another program has it in hand"
MEANWHILE = "another program has written it meanwhile"
JOURNAL = "another search is writing this journal"


class Writers(Attack):
    name = "writers"

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        lab.make("generate", "1500x400x40000", "-o", "data.csv")
        lab.make("generate", "300x80x6000", "-o", "small.csv", "--seed", "5")
        lab.make("train", "data.csv", "-o", "als", "--factors", FACTORS["als"], "--iterations", 3)
        lab.make("train", "data.csv", "-o", "item-knn", "--algorithm", "item-knn")
        lab.make("train", "data.csv", "-o", "popular", "--algorithm", "popular")

    def attack(self, case: Case) -> None:
        kinds = [self.updates, self.updates, self.train_beside_update, self.searches, self.trainings]
        case.random.choice(kinds)(case)
        left = [path.name for path in case.folder.iterdir() if path.name.startswith(".")]
        case.check(self.killed or not left, "files left", f"no partial files, not {left}")

    killed = False

    def together(self, case: Case, commands: list[list[object]], within: float = 0.3,
                 kill: bool = False) -> list[Ran]:
        """Runs them side by side, begun at random moments; perhaps the first is killed."""
        self.killed = kill
        started = time.monotonic()
        running: list[subprocess.Popen[bytes]] = []
        for command in commands:
            running.append(case.start(tuple(command)))
            time.sleep(case.random.uniform(0, within))
        if kill:
            running[0].send_signal(signal.SIGKILL)
            case.record.append("# SIGKILL to the first")
        ended = [case.finish(process, started) for process in running]
        for place, ran in enumerate(ended):
            if not (kill and place == 0):
                case.check_sound(ran)
        return ended

    def updates(self, case: Case) -> None:
        kind = case.random.choice(["als", "item-knn", "popular"])
        case.write("m", (self.lab.folder / kind).read_bytes())
        users = [f"9000{n}" for n in range(case.random.choice([2, 3, 5]))]
        for user in users:
            case.write(f"{user}.csv", f"user,item,value\n{user},1,1\n{user},2,1\n")
        more = ["--iterations", case.random.choice([1, 20, 100])] if kind == "als" else []
        kill = case.random.random() < 0.3
        ended = self.together(case, [["update", "m", f"{user}.csv", "-o", "m", *more]
                                     for user in users], kill=kill)
        for ran in ended[kill:]:
            case.check(ran.code == 0, "an update did not wait", f"exit 0, not: {ran.message}")
        known = {user.decode() for user in ModelFile(case.read("m")).ids("user")}
        for user, ran in zip(users, ended):
            case.check(ran.code != 0 or user in known, "a lost update",
                       f"user {user}, whose update ended with 0, in the model")

    def train_beside_update(self, case: Case) -> None:
        case.share("data.csv", "small.csv")
        case.write("m", (self.lab.folder / "als").read_bytes())
        update = ["update", "m", "small.csv", "-o", "m", "--iterations",
                  case.random.choice([5, 50, 200])]
        train = ["train", "data.csv", "-o", "m", "--factors", FACTORS["other"], "--iterations",
                 case.random.choice([1, 5, 20])]
        commands = [update, train]
        case.random.shuffle(commands)
        ended = dict(zip([command[0] for command in commands], self.together(case, commands)))
        case.check(ended["train"].code == 0, "a training failed", ended["train"].message)
        told = ended["update"]
        case.check(told.code == 0 or MEANWHILE in told.message, "an update failed otherwise",
                   f"exit 0, or the reason; not {told.message}")
        model = ModelFile(case.read("m"))
        case.check(model.kinds["user_factors"][1][1] == FACTORS["other"], "a lost training",
                   "the model that was trained, perhaps updated; not the other one, updated")

    def searches(self, case: Case) -> None:
        case.share("small.csv")
        search = ["tune", "small.csv", "-o", "m", "--budget", case.random.choice([8, 16]),
                  "--algorithm", "als,item-knn"]
        if case.random.random() < 0.5:
            first = case.start(tuple(search))
            time.sleep(case.random.uniform(0.05, 0.6))
            first.send_signal(signal.SIGKILL)
            first.communicate()
        resume = ["--resume"] if (case.folder / "m.journal").exists() else []
        ended = self.together(case, [[*search, *resume]] * 2, kill=case.random.random() < 0.2)
        for ran in ended[self.killed:]:
            refusals = (JOURNAL, "not over; resume it")
            case.check(ran.code == 0 or any(text in ran.message for text in refusals),
                       "a search failed otherwise", f"exit 0, or the reason; not {ran.message}")
        if not self.killed:
            case.check(any(ran.code == 0 for ran in ended), "no search went on", "one exit 0")
        case.done(*search, "--resume")  # who was killed is in nobody's way
        noted = [json.loads(line) for line in case.read("m.journal").splitlines()[1:]]
        trained = [json.dumps([one["part"], one["algorithm"], one["parameters"]])
                   for one in noted if "end" not in one]
        case.check(len(set(trained)) == len(trained), "trained twice",
                   f"{len(trained)} trainings of one journal, each once: {len(set(trained))}")

    def trainings(self, case: Case) -> None:
        case.share("data.csv")
        train = ["train", "data.csv", "--factors", "8", "--iterations", "30", "--checkpoint", "state"]
        if case.random.random() < 0.5:
            case.done(*train[:-4], "--iterations", "3", "--checkpoint", "state", "-o", "begun")
        resume = ["--resume", "state"] if (case.folder / "state").exists() else []
        ended = self.together(case, [[*train, *resume, "-o", name] for name in ("a", "b")],
                              kill=case.random.random() < 0.3)
        for ran in ended[self.killed:]:
            case.check(ran.code == 0 or IN_HAND in ran.message or MEANWHILE in ran.message,
                       "a training failed otherwise", f"exit 0, or the reason; not {ran.message}")
        if not self.killed:
            case.check(any(ran.code == 0 for ran in ended), "no training went on", "one exit 0")
        if (case.folder / "state").exists():
            case.done(*train, "--resume", "state", "-o", "c")
