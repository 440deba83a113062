# SPDX-License-Identifier: Apache-2.0
"""What an item of bench/papers asks for and runs."""
import contextlib
import dataclasses
import importlib.util
import os
import pathlib
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("LIKEWISE_DATA", ROOT / "../shared/data"))
SMALL = "1500x300x20k"
GIB = 1 << 30
NOT_YET = "there is no program for it yet"


class LeftOut(Exception):
    """Why an item, or the rest of one, is not made here."""


@dataclasses.dataclass
class Item:
    """One heading of a page: what makes it, or why nothing does."""
    title: str
    make: Callable | None
    words: tuple = ()
    reason: str = NOT_YET


class Lab:
    """A trial (`small`) or all of it, on this machine; or only its commands, as for two GPUs and all packages (`listed`)."""

    def __init__(self, built, folder, asked):
        self.small, self.listed, self.peers, self.only_gpu = asked.small, asked.list, asked.peers, asked.gpu
        self.folder, self.bin, self.failed = pathlib.Path(folder), built / "bin", False
        self.pictures = asked.output and asked.output.absolute()
        self.page, self.shown_commands = None, 0
        # Tunings of this machine's user are neither used nor changed.
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder)}
        if (built / "lib").is_dir():
            before = os.environ.get("LD_LIBRARY_PATH")
            self.environment["LD_LIBRARY_PATH"] = str(built / "lib") + (f":{before}" if before else "")
        self.gpus = ["0", "1"] if self.listed else self.find_gpus()

    def find_gpus(self):
        told = subprocess.run([self.bin / "likewise", "info"], capture_output=True, text=True, env=self.environment,
                              check=False).stdout
        return re.findall(r"^ *yes +cuda:(\d+) ", told, re.MULTILINE)

    @contextlib.contextmanager
    def results(self, work):
        """Meanwhile all that is said goes to the work's file, too."""
        if not self.pictures:
            yield
            return
        self.pictures.mkdir(parents=True, exist_ok=True)
        with (self.pictures / f"{work}.md").open("w", encoding="utf-8") as self.page:
            yield
        self.page = None

    # What an item may ask for.

    def usual(self, value, small):
        return small if self.small else value

    def shape(self, name, feedback=""):
        return self.usual(name, SMALL) + (f":{feedback}" if feedback else "")

    def devices(self):
        return ([] if self.only_gpu else ["cpu"]) + (["cuda"] if self.gpus else [])

    def gpu(self):
        if not self.gpus:
            raise LeftOut("no GPU")

    def two_gpus(self):
        """"0,1\""""
        if len(self.gpus) < 2:
            raise LeftOut(f"{'one GPU' if self.gpus else 'no GPU'}, and two are compared")
        return ",".join(self.gpus[:2])

    def together(self):
        """Two GPUs, and four, as far as there are so many: "0,1"."""
        return [",".join(self.gpus[:count]) for count in (2, 4) if count <= len(self.gpus)]

    def large(self):
        if self.small:
            raise LeftOut("no part of a trial, as it cannot be made small")

    def memory(self, gib):
        if not self.listed and memory_of_machine() < gib:
            raise LeftOut(f"{memory_of_machine():.1f} GiB of memory, and it takes {gib}")

    def tool(self, name):
        if not self.listed and not shutil.which(name):
            raise LeftOut(f"no {name}")

    def peer(self, *packages):
        """A Python that has them."""
        if self.listed:
            return "PYTHON"
        missing = [name for name in packages if not self.peers or not has_package(self.peers, name)]
        if missing:
            raise LeftOut(f"no Python with {', '.join(missing)} (--peers)")
        return self.peers

    def python(self):
        """That of scripts/setup, or this one where it has NumPy."""
        own = ROOT / ".venv/bin/python"
        if not self.listed and not own.exists() and importlib.util.find_spec("numpy") is None:
            raise LeftOut("no NumPy: run scripts/setup")
        return own if self.listed or own.exists() else sys.executable

    def need_data(self, name):
        if not self.listed and not (DATA / name).exists():
            raise LeftOut(f"no {name} (LIKEWISE_DATA)")

    def program(self, name):
        return self.bin / name

    def file(self, name):
        return self.folder / name

    def picture(self, name):
        """Where it is kept with --output."""
        return (self.pictures or self.folder) / name

    # What it does.

    def say(self, text=""):
        print(text, flush=True)
        if self.page:
            print(text, file=self.page, flush=True)

    @contextlib.contextmanager
    def curves(self):
        """With --output bench_epochs writes every iteration to curves.csv, which scripts/plot-time draws."""
        if self.pictures:
            self.environment["BENCH_CURVES"] = str(self.picture("curves.csv"))
        yield
        self.environment.pop("BENCH_CURVES", None)

    def attempt(self, work, *words):
        """Goes on where only this piece cannot be made: whether all of it was."""
        try:
            work(self, *words)
        except LeftOut as reason:
            self.say(f"\nLeft out: {reason}.")
            return False
        return True

    def run(self, name, *words, head=None):
        """One of our programs; with `head` this word alone prints the head of its table."""
        program = self.program(name)
        self.command(program, *words, before=[program, head] if head else None)

    def command(self, *words, before=None, needed=False):
        """Shows it, and what it prints. `needed`: with --gpu too, whatever it uses."""
        words = [str(word) for word in words]
        if self.only_gpu and not needed and not uses_gpu(words):
            return
        self.shown_commands += 1
        self.say(f"\n    {self.shown(words)}")
        if self.listed:
            return
        failed, self.failed = self.failed, False
        output = ((self.output(before) if before else "") + self.output(words)).strip("\n")
        if output or not self.failed:
            self.say("\n" + (output if "|---" in output else f"```\n{output}\n```" if output else "It is done."))
        self.failed = self.failed or failed

    def on_cores(self, count, *words):
        """A copy of the command on each of so many cores, all at once: a row of each."""
        words = [str(word) for word in words]
        if self.only_gpu:
            return
        self.shown_commands += 1
        self.say(f"\n    for core in $(seq 0 {count - 1}); do taskset -c $core {self.shown(words)} & done; wait")
        if self.listed:
            return
        copies = [subprocess.Popen(["taskset", "-c", str(core), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   env=self.environment, cwd=ROOT) for core in range(count)]
        tables = [copy.communicate()[0].strip().splitlines() for copy in copies]
        if any(copy.returncode != 0 for copy in copies):
            self.failed = True
            self.say("\nFailed on some cores.")
            return
        self.say("\n" + "\n".join(tables[0][:2] + [table[-1] for table in tables]))

    def time(self, commands):
        """Wall seconds of whole commands of the program, in turn, {name: words}."""
        commands = {name: [str(word) for word in (self.program("likewise"), *words)] for name, words in commands.items()}
        if self.only_gpu and not any(uses_gpu(words) for words in commands.values()):
            return
        self.shown_commands += 1
        for words in commands.values():
            self.say(f"\n    {self.shown(words)}")
        if self.listed:
            return
        seconds = {name: [] for name in commands}
        for _ in range(self.usual(3, 1)):
            for name, words in commands.items():
                begin = time.perf_counter()
                self.output(words)
                seconds[name].append(time.perf_counter() - begin)
        self.say("\n| command | s |\n|---|---:|")
        for name, some in seconds.items():
            self.say(f"| {name} | {statistics.median(some):.2f} ({min(some):.2f} - {max(some):.2f}) |")

    def shown(self, words):
        python = {str(self.peers): "PYTHON", sys.executable: "python3"}
        return shlex.join(python.get(word, word) for word in words).replace(f"{self.pictures or self.folder}/", "").replace(f"{self.folder}/", "").replace(
            f"{DATA}/", "$LIKEWISE_DATA/").replace(f"{ROOT}/", "")

    def output(self, words):
        """Standard output; what it says besides, and the time of the whole, go to standard error."""
        begin = time.perf_counter()
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment, cwd=ROOT, check=False)
        print(f"papers: {time.perf_counter() - begin:.1f} s: {shlex.join(map(str, words))}\n{done.stderr}", end="", file=sys.stderr)
        if done.returncode != 0:
            self.failed = True
            self.say(f"\nFailed with {done.returncode}: {(done.stderr.strip().splitlines() or ['it said nothing'])[-1]}")
        return done.stdout

    def machine(self):
        """Lines of Markdown: what the figures are of."""
        processor = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(errors="replace"), re.MULTILINE)
        yield (f"* {cores()} cores of {processor[1] if processor else platform.machine()}, "
               f"{memory_of_machine():.0f} GiB of memory")
        if not self.gpus or not shutil.which("nvidia-smi"):
            yield "* no GPU"
            return
        told = self.output(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"])
        yield from (f"* {line}" for line in told.splitlines())


def uses_gpu(words):
    return words[0].endswith("_gpu") or any(re.match(r"cuda\b|(.*/)?(ceilings|roofline)\.py$|autotune$", word) for word in words)


def cores():
    return len(os.sched_getaffinity(0))


def memory_of_machine():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB


def has_package(python, name):
    return subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


def knn_tables(lab, table, *words):
    """bench/knn_tables.py, which wants real data."""
    lab.need_data("ml-100k/u.data")
    lab.command(lab.python(), "bench/knn_tables.py", lab.program("likewise"), table, *words, "--rounds", lab.usual(3, 1),
                "--work", lab.file("tables"), *(["--small"] if lab.small else []))
