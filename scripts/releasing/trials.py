# SPDX-License-Identifier: Apache-2.0
"""Wheels are installed and used: by Pythons of this machine, by those of another one under emulation, on an older
system's libraries, with the plug-in and with that of another version."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import zipfile

from .checklist import Failed, NotRun
from .link_folder import ROOT, ROOTS

TRIAL = ROOT / "scripts/releasing/trial.py"
TRIALS = ROOT / "build/release-trials"
# What emulated Pythons need, by the version that a suite of Debian has.
SUITES = {"3.11": "bookworm", "3.13": "trixie"}


def ask(*words: str | pathlib.Path, **options: object) -> str:
    """What a program says on both streams; Failed where it ends with an error."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LIKEWISE", "PYTHON"))}
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, **{"env": environment, "cwd": TRIALS, **options})
    if done.returncode != 0:
        raise Failed(f"`{' '.join(map(str, words))}` said\n{done.stdout}")
    return done.stdout


def environment_of(python: pathlib.Path, wheels: list[pathlib.Path], name: str) -> pathlib.Path:
    """A new environment that holds nothing but wheels and what they need."""
    folder = TRIALS / name
    shutil.rmtree(folder, ignore_errors=True)
    TRIALS.mkdir(parents=True, exist_ok=True)
    ask(python, "-m", "venv", folder)
    ask(folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *wheels)
    return folder


def ratings(name: str, *program: str | pathlib.Path) -> pathlib.Path:
    """A file of generated ratings."""
    file = TRIALS / f"{name}.csv"
    file.unlink(missing_ok=True)
    ask(*program, "generate", "300x200x5k:explicit", "-o", file)
    return file


def try_package(python: pathlib.Path, wheel: pathlib.Path, name: str) -> str:
    folder = environment_of(python, [wheel], name)
    return ask(folder / "bin/python", TRIAL, ratings(name, folder / "bin/likewise")).strip()


def try_emulated(wheel: pathlib.Path, version: str) -> str:
    """Under qemu, with the Python of a suite of Debian."""
    if shutil.which("qemu-aarch64") is None:
        raise NotRun("there is no qemu-aarch64: scripts/setup release")
    if version not in SUITES:
        raise NotRun(f"no suite of Debian has Python {version} for 64-bit ARM")
    root, site = ROOTS / f"aarch64/python{version}", TRIALS / f"aarch64-{version}"
    ask(ROOT / "scripts/debian-root", "arm64", root, f"python{version}", "zlib1g", "libstdc++6",
        env={**os.environ, "SUITE": SUITES[version]}, cwd=ROOT)
    shutil.rmtree(site, ignore_errors=True)
    ask(ROOT / ".venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--target", site,
        "--platform", "manylinux_2_28_aarch64", "--platform", "manylinux2014_aarch64", "--platform", "manylinux_2_27_aarch64",
        "--python-version", version, "--only-binary", ":all:", wheel, cwd=ROOT)
    emulator = ["qemu-aarch64", "-L", root, "-E", f"PYTHONPATH={site}", "-E", f"PYTHONHOME={root}/usr"]
    file = ratings(site.name, *emulator, site / "likewise/likewise")
    told = ask(*emulator, root / f"usr/bin/python{version}", "-B", TRIAL, file)
    return f"{told.strip()}, emulated"


def try_old_system(wheel: pathlib.Path, patchelf: pathlib.Path) -> str:
    """The program of the wheel with the C and C++ libraries of Debian 11."""
    root, place = ROOTS / "x86_64/debian11", TRIALS / "debian11"
    try:
        ask(ROOT / "scripts/debian-root", "amd64", root, "libc6", "libstdc++6", "zlib1g",
            env={**os.environ, "SUITE": "bullseye"}, cwd=ROOT)
    except Failed as reason:
        raise NotRun(f"Debian 11 cannot be had: {reason}") from None
    shutil.rmtree(place, ignore_errors=True)
    with zipfile.ZipFile(wheel) as held:
        held.extractall(place)
    program = place / "likewise/likewise"
    program.chmod(0o755)
    folders = [root / "lib/x86_64-linux-gnu", root / "usr/lib/x86_64-linux-gnu"]
    ask(patchelf, "--force-rpath", "--set-rpath", ":".join(["$ORIGIN/../likewise.libs", *map(str, folders)]),
        "--set-interpreter", folders[0] / "ld-2.31.so", program)
    ask(program, "generate", "300x200x5k:explicit", "-o", "ratings.csv", cwd=place)
    ask(program, "train", "ratings.csv", "-o", "model", "--feedback", "explicit", "--solver", "cholesky", "--factors", "16",
        "--iterations", "2", "-q", cwd=place)
    told = ask(program, "recommend", "model", "--user", "1", "-n", "3", cwd=place)
    if len(re.findall(r"^1,", told, re.MULTILINE)) != 3:
        raise Failed(f"three items were expected: {told}")
    return "one training and one list with glibc 2.31 and GCC 10's libstdc++"


def try_plug_in(python: pathlib.Path, wheel: pathlib.Path, plug_in: pathlib.Path) -> str:
    folder = environment_of(python, [wheel, plug_in], "cuda")
    told = line_of_cuda(folder)
    if "there is no CUDA plug-in" in told or "another build" in told or "cannot be loaded" in told:
        raise Failed(told)
    return f"it is found and loaded; likewise info says: {told}"


def line_of_cuda(folder: pathlib.Path) -> str:
    lines = [line.strip() for line in ask(folder / "bin/likewise", "info").splitlines()]
    return next(line for line in lines if re.match(r"(yes|no) +cuda", line))


def try_other_version(version: str) -> str:
    """The plug-in that try_plug_in() installed, which now says that it is of another version."""
    folder = TRIALS / "cuda"
    plug_in = next(folder.glob("lib/python*/site-packages/likewise_cuda13/liblikewise_cuda.so"))
    other = re.sub(r"\d", "9", version)
    plug_in.write_bytes(plug_in.read_bytes().replace(version.encode() + b"\0", other.encode() + b"\0"))
    told = line_of_cuda(folder)
    for words in ("is of another build", other, f"pip install likewise-cuda13=={version}"):
        if words not in told:
            raise Failed(f"likewise info says: {told}")
    return f"refused: {told}"


def try_gpu(python: pathlib.Path, wheel: pathlib.Path, plug_in: pathlib.Path) -> str:
    if shutil.which("nvidia-smi") is None:
        raise NotRun("this machine has no GPU")
    folder = environment_of(python, [wheel, plug_in], "gpu")
    return ask(folder / "bin/python", TRIAL, ratings("gpu", folder / "bin/likewise"), "cuda").strip()
