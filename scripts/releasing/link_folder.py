# SPDX-License-Identifier: Apache-2.0
"""Makes the folder that LIKEWISE_LINK_FOLDER names (cmake/link_folder.cmake): what wheels are linked with
instead of this machine's libraries, so that they run with glibc 2.28 and the libstdc++ of GCC 8.

  libc.so, libm.so, ...      stand-ins of glibc 2.28, and the start of programs as it was then, from zig
  libstdc++.so               a stand-in of GCC 8's, and an archive of what later versions have
  others/              what wheels take in; no program that runs here may find the rest beside it
    libtbb.so, libfmt.a, libhwy.a       built from Debian's sources, linked with the above
    libzstd.a, libxxhash.a, libutf8proc.a, libsqlite3.a     Debian's
    libopenblas.so.0         Debian's archive of OpenBLAS without threads, linked with the above
  terms/               of all of them
"""
from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import subprocess
import tempfile

from .old_libraries import make_old_library

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOTS = ROOT / "build/release-roots"
ARM64_ROOT = ROOT / "build/arm64-root"      # scripts/test-arm makes it
GLIBC = "2.28"
# The last versions that manylinux_2_28 has.
LIBSTDCXX = {"GLIBCXX": "3.4.24", "CXXABI": "1.3.11"}
ALONE = ["libopenblas-serial-dev", "libstdc++-12-pic", "libgfortran-12-dev"]
SOURCES = {"fmtlib": ["-DFMT_TEST=OFF", "-DFMT_DOC=OFF"],
           "highway": ["-DHWY_ENABLE_CONTRIB=OFF", "-DHWY_ENABLE_EXAMPLES=OFF", "-DBUILD_TESTING=OFF"],
           "onetbb": ["-DTBB_TEST=OFF", "-DTBB_STRICT=OFF", "-DTBBMALLOC_BUILD=OFF",
                      "-DTBB_ENABLE_IPO=OFF"]}
# Packages with the terms of all that wheels hold.
TERMS = ["libtbb-dev", "libfmt-dev", "libhwy-dev", "libzstd-dev", "libxxhash-dev", "libutf8proc-dev", "libsqlite3-dev",
         "libstdc++-12-dev"]
# What src/core/linalg/lapack.cpp asks for.
LAPACK = ["dsyevd_", "openblas_set_num_threads", "openblas_get_num_threads"]


@dataclasses.dataclass(frozen=True)
class Machine:
    """A kind of processor that wheels are made for."""

    name: str      # as in the tags of wheels
    debian: str    # as Debian calls it
    root: pathlib.Path      # where Debian's packages for it are
    options: tuple[str, ...] = ()      # CMake's

    @property
    def triple(self) -> str:
        return f"{self.name}-linux-gnu"

    @property
    def compiler(self) -> str:
        return f"{self.triple}-g++"

    @property
    def folder(self) -> pathlib.Path:
        return ROOTS / self.name / "link"

    @property
    def others(self) -> pathlib.Path:
        return self.folder / "others"

    @property
    def libraries(self) -> pathlib.Path:
        return self.root / "usr/lib" / self.triple


MACHINES = {
    "x86_64": Machine("x86_64", "amd64", pathlib.Path("/")),
    "aarch64": Machine("aarch64", "arm64", ARM64_ROOT, (f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/arm64.cmake",)),
}


def run(*words: str | pathlib.Path, **options: object) -> str:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          **{"env": {**os.environ, "LIKEWISE_ARM64_ROOT": str(ARM64_ROOT)}, **options})
    if done.returncode != 0:
        raise SystemExit(f"release: failed: {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def link_options(machine: Machine) -> list[str]:
    """As in cmake/link_folder.cmake."""
    return [f"-B{machine.folder}/", f"-L{machine.folder}", "-Wl,--allow-shlib-undefined",
            "-Wl,--exclude-libs,libstdc++_pic.a:libc_nonshared.a:liblikewise_older.a"]


def take_glibc(machine: Machine, zig: pathlib.Path) -> None:
    """What zig links a program with that is to run with the old glibc."""
    with tempfile.TemporaryDirectory() as place:
        (pathlib.Path(place) / "empty.c").write_text("int main(void) { return 0; }\n")
        cache = {"ZIG_GLOBAL_CACHE_DIR": f"{place}/cache", "ZIG_LOCAL_CACHE_DIR": f"{place}/cache", "PATH": "/usr/bin:/bin",
                 "HOME": place}
        for position in (["-fno-PIE", "-no-pie"], ["-fPIE", "-pie"]):
            run(zig, "cc", "-target", f"{machine.triple}.{GLIBC}", *position, "empty.c", "-o", "empty", cwd=place, env=cache)
        for file in pathlib.Path(place, "cache").rglob("*"):
            if file.name in ("crt1.o", "Scrt1.o", "libc_nonshared.a") or ".so." in file.name:
                shutil.copy(file, machine.folder / file.name)
    for name in ("libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1"):
        (machine.folder / name.rpartition(".")[0]).symlink_to(name)
    older = machine.folder / "older.o"
    run(machine.compiler.replace("g++", "gcc"), "-O2", "-Wall", "-fPIC", "-fvisibility=hidden", "-c",
        ROOT / "scripts/releasing/older.c", "-o", older)
    run("ar", "rcs", machine.folder / "liblikewise_older.a", older)
    found = [machine.folder / name for name in ("libc.so.6", "libc_nonshared.a", "liblikewise_older.a")]
    late = [machine.folder / name for name in ("libpthread.so.0", "libdl.so.2", "librt.so.1", "libld.so.2")]
    script(machine, "libc.so", [*found, "AS_NEEDED", "(", *late, ")"])


def script(machine: Machine, name: str, words: list[str | pathlib.Path]) -> None:
    (machine.folder / name).write_text(f"GROUP ( {' '.join(map(str, words))} )\n")


def take_libstdcxx(machine: Machine, debian: pathlib.Path) -> None:
    real = machine.libraries / "libstdc++.so.6"
    made = machine.folder / real.name
    make_old_library(real, LIBSTDCXX, made, machine.compiler)
    archive = machine.folder / "libstdc++_pic.a"
    shutil.copy(debian / f"usr/lib/gcc/{machine.triple}/12" / archive.name, archive)
    script(machine, "libstdc++.so", [made, archive])


def build(machine: Machine, source: pathlib.Path, options: list[str]) -> pathlib.Path:
    """The build folder of a library of others."""
    folder = ROOTS / machine.name / source.name
    linked = " ".join(link_options(machine))
    run("cmake", "-G", "Ninja", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_POSITION_INDEPENDENT_CODE=ON", f"-DBUILD_SHARED_LIBS={'ON' if source.name == 'onetbb' else 'OFF'}",
        f"-DCMAKE_SHARED_LINKER_FLAGS={linked}", f"-DCMAKE_EXE_LINKER_FLAGS={linked}", *machine.options, *options)
    run("cmake", "--build", folder)
    return folder


def take_libraries(machine: Machine) -> None:
    for name in ("zstd", "xxhash", "utf8proc", "sqlite3"):
        shutil.copy(machine.libraries / f"lib{name}.a", machine.others)
    for name, options in SOURCES.items():
        built = build(machine, ROOTS / "sources" / name, options)
        for file in built.rglob("lib*"):
            if file.name in ("libfmt.a", "libhwy.a") or file.name.startswith("libtbb.so"):
                shutil.copy(file, machine.others, follow_symlinks=False)


def link_openblas(machine: Machine, debian: pathlib.Path) -> None:
    """OpenBLAS as one library that shows what is asked for, with the runtime of Fortran inside."""
    shown = machine.folder / "openblas.map"
    shown.write_text(f"{{ global: {' '.join(name + ';' for name in LAPACK)} local: *; }};\n")
    fortran = debian / f"usr/lib/gcc/{machine.triple}/12/libgfortran.a"
    quad = [] if machine.name == "aarch64" else ["-l:libquadmath.a"]
    archive = debian / f"usr/lib/{machine.triple}/openblas-serial/libopenblas.a"
    run(machine.compiler, "-shared", "-s", *link_options(machine), f"-Wl,--version-script={shown}", "-Wl,--gc-sections",
        "-Wl,-soname,libopenblas.so.0", *(f"-Wl,-u,{name}" for name in LAPACK), archive, fortran, *quad, "-lm",
        "-o", machine.others / "libopenblas.so.0")


def take_terms(machine: Machine, debian: pathlib.Path) -> None:
    terms = machine.folder / "terms"
    terms.mkdir()
    for package in TERMS:
        shutil.copy(machine.root / "usr/share/doc" / package / "copyright", terms / f"{package}.txt")
    shutil.copy(terms / "libstdc++-12-dev.txt", terms / "libgfortran-12-dev.txt")  # GCC's
    shutil.copy(debian / "usr/share/doc/libopenblas-serial-dev/copyright", terms / "libopenblas.txt")


def make_link_folder(machine: Machine, zig: pathlib.Path) -> None:
    if (machine.folder / "made").exists():
        return
    debian = ROOTS / machine.name / "debian"
    if machine.root == ARM64_ROOT:
        run(ROOT / "scripts/test-arm", "--root")
    run(ROOT / "scripts/debian-root", "--sources", "amd64", ROOTS / "sources", *SOURCES)
    run(ROOT / "scripts/debian-root", "--alone", machine.debian, debian, *ALONE)
    shutil.rmtree(machine.folder, ignore_errors=True)
    machine.others.mkdir(parents=True)
    take_glibc(machine, zig)
    take_libstdcxx(machine, debian)
    take_libraries(machine)
    link_openblas(machine, debian)
    take_terms(machine, debian)
    (machine.folder / "made").touch()
