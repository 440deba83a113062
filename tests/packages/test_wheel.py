# SPDX-License-Identifier: Apache-2.0
"""What the wheel holds, and that what it installed works: run by scripts/test in an environment whose
likewise is the wheel's. LIKEWISE_WHEEL names the wheel, LIKEWISE_BUILD the build folder it was made from."""
import email
import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

if "LIKEWISE_WHEEL" not in os.environ:
    pytest.skip("LIKEWISE_WHEEL names no wheel: scripts/test makes one", allow_module_level=True)

import likewise

WHEEL = pathlib.Path(os.environ["LIKEWISE_WHEEL"])
BUILD = pathlib.Path(os.environ["LIKEWISE_BUILD"])
PACKAGE = pathlib.Path(likewise.__file__).parent
COMMAND = pathlib.Path(sys.prefix) / "bin/likewise"
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("LIKEWISE", "PYTHON"))}
# What every Linux has: the C and C++ runtimes and zlib.
OF_THE_SYSTEM = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6", "libdl.so.2",
                 "librt.so.1", "libpthread.so.0", "libstdc++.so.6", "libgcc_s.so.1", "libz.so.1"}
OF_OTHERS = {"libtbb", "libfmt", "libhwy", "libxxhash", "libzstd", "libgfortran", "libquadmath",
             "libsqlite3", "libutf8proc"}
# In a wheel of scripts/release the others are inside the extension and the program.
OF_A_RELEASE = {"libtbb"}


def run(*words, **options):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, **{"env": ENVIRONMENT, **options})
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def names():
    return [name for name in zipfile.ZipFile(WHEEL).namelist() if not name.endswith("/")]


@pytest.fixture(scope="module")
def metadata():
    with zipfile.ZipFile(WHEEL) as wheel:
        return email.message_from_bytes(wheel.read(next(
            name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))))


def version():
    header = (pathlib.Path(__file__).resolve().parents[2] / "include/likewise/version.h").read_text()
    return re.search(r'kVersion = "(.*)"', header)[1]


def binaries():
    """All machine code that was installed."""
    files = [*PACKAGE.rglob("*"), *(PACKAGE.parent / "likewise.libs").iterdir()]
    return [file for file in files if file.is_file() and file.read_bytes()[:4] == b"\x7fELF"]


def test_the_tests_run_on_the_wheel():
    assert PACKAGE.is_relative_to(sys.prefix)
    with zipfile.ZipFile(WHEEL) as wheel:
        for file in PACKAGE.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                assert wheel.read(str(file.relative_to(PACKAGE.parent))) == file.read_bytes()


def test_the_wheel_says_what_it_is(metadata):
    assert (metadata["Name"], metadata["Version"]) == ("likewise", version())
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.10"
    needed = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert sorted(re.match(r"[a-z]+", line)[0] for line in needed) == ["numpy", "scipy"]


def test_all_parts_are_of_one_version():
    assert likewise.__version__ == importlib.metadata.version("likewise") == version()
    assert run(COMMAND, "--version").stdout.split() == ["likewise", version()]


def test_the_wheel_runs_on_linux_of_any_make():
    platforms = WHEEL.stem.split("-")[-1].split(".")
    assert all(re.match(r"manylinux_2_\d+_(x86_64|aarch64)$", platform) for platform in platforms)


def test_nothing_lies_where_it_does_not_belong(names):
    roots = {name.split("/")[0] for name in names}
    mark = f"likewise-{version()}"
    assert roots == {"likewise", "likewise.libs", f"{mark}.dist-info", f"{mark}.data"}
    assert [name for name in names if name.startswith(f"{mark}.data")] == [f"{mark}.data/scripts/likewise"]
    libraries = {re.split(r"[-.]", name.split("/")[1])[0] for name in names if name.startswith("likewise.libs/")}
    assert libraries in (OF_A_RELEASE, OF_OTHERS - ({"libquadmath"} - libraries))  # not on ARM
    others = {name for name in names if name.startswith("likewise/") and not name.endswith((".py", ".pyi", ".so"))}
    assert others == {"likewise/libopenblas.so.0", "likewise/likewise", "likewise/py.typed"}


def test_the_plug_in_is_a_package_of_its_own(names):
    """scripts/test installs it where it was built."""
    assert not any("cuda" in name for name in names if name.endswith(".so"))
    built = (BUILD / "bin/liblikewise_cuda.so").exists()
    assert (PACKAGE.parent / "likewise_cuda13/liblikewise_cuda.so").exists() == built
    told = run(COMMAND, "info").stdout
    assert ("there is no CUDA plug-in" in told) == (not built)
    assert ("`pip install likewise-cuda13" in told) == (not built)
    assert "of another build" not in told and "cannot be loaded" not in told


def test_the_types_are_there(names):
    assert {"likewise/py.typed", "likewise/_core.pyi"} <= set(names)


def test_the_terms_of_all_libraries_are_there(names):
    folder = f"likewise-{version()}.dist-info/licenses/"
    terms = {name.removeprefix(folder) for name in names if name.startswith(folder)}
    assert "LICENSE" in terms
    for library in ("libtbb", "libfmt", "libhwy", "libxxhash", "libzstd", "libopenblas", "libgfortran"):
        assert any(name.startswith(library) for name in terms), f"{library}: {sorted(terms)}"


def test_machine_code_needs_only_the_system_and_the_wheel():
    ours = {file.name for file in binaries()}
    for file in binaries():
        told = run("readelf", "-d", file).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", told))
        assert needed <= OF_THE_SYSTEM | ours, file.name
        folders = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", told)
        if needed & ours:
            expected = "$ORIGIN" if file.parent.name == "likewise.libs" else "$ORIGIN/../likewise.libs"
            assert folders == [expected], file.name
        # Nothing of this machine's folders.
        assert all(part.startswith("$ORIGIN") for text in folders for part in text.split(":"))


def test_the_extension_shows_nothing_but_its_entry():
    extension = next(PACKAGE.glob("_core.*.so"))
    shown = run("nm", "-D", "--defined-only", "--format=posix", extension).stdout.splitlines()
    # A small letter: no other library can take it.
    assert [line.split()[0] for line in shown if line.split()[1].isupper()] == ["PyInit__core"]


def test_the_command_is_the_program_and_starts_without_numpy(tmp_path):
    told = run(sys.executable, "-X", "importtime", COMMAND, "generate", "20x10x50", "-o", "made.csv", cwd=tmp_path)
    assert (tmp_path / "made.csv").read_text().startswith("user,item,value")
    assert "numpy" not in told.stderr and "importlib" in told.stderr
    assert run(sys.executable, "-m", "likewise", "--version").stdout.split() == ["likewise", version()]


def test_the_command_ends_as_the_program_ends(tmp_path):
    done = subprocess.run([COMMAND, "train"], capture_output=True, text=True, env=ENVIRONMENT, timeout=100)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("likewise: ")


EXPLICIT = ["--feedback", "explicit", "--factors", 300, "--iterations", 2, "--solver", "cholesky", "-q"]


def test_the_program_takes_lapack_from_the_wheel(tmp_path):
    run(COMMAND, "generate", "400x350x20k:explicit", "-o", "ratings.csv", cwd=tmp_path)
    told = run(COMMAND, "train", "ratings.csv", "-o", "model.safetensors", *EXPLICIT, cwd=tmp_path,
               env={**ENVIRONMENT, "LD_DEBUG": "files"})
    loaded = set(re.findall(r"calling init: (\S*libopenblas\S*)", told.stderr))
    assert loaded == {str(PACKAGE / "libopenblas.so.0")}


BESIDE_NUMPY = """
import sys
import numpy as np
import likewise

def loaded():
    return {line.split()[-1] for line in open("/proc/self/maps") if "openblas" in line}

table = np.random.default_rng(1).normal(size=(400, 400))
product, values, before = table @ table, np.linalg.eigvalsh(table @ table.T), loaded()
likewise.Als(feedback="explicit", factors=300, iterations=2, solver="cholesky").fit(likewise.Interactions(sys.argv[1]))
np.testing.assert_array_equal(table @ table, product)
np.testing.assert_array_equal(np.linalg.eigvalsh(table @ table.T), values)
print(*(loaded() - before), sep="\\n")
"""


def test_the_extension_takes_lapack_from_the_wheel_beside_that_of_numpy(tmp_path):
    run(COMMAND, "generate", "400x350x20k:explicit", "-o", "ratings.csv", cwd=tmp_path)
    done = run(sys.executable, "-c", BESIDE_NUMPY, "ratings.csv", cwd=tmp_path)
    assert done.stdout.split() == [str(PACKAGE / "libopenblas.so.0")]
