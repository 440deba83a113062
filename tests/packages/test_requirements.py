# SPDX-License-Identifier: Apache-2.0
"""What is missing to build is told at once, in one line with a remedy."""
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def configure(folder, *options):
    return subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, "-DLIKEWISE_CUDA=OFF", *options],
                          capture_output=True, text=True, timeout=300)


def complaint(done):
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if "missing" in line]
    assert len(lines) == 1, done.stderr
    assert done.stderr.count("CMake Error") == 1
    return re.fullmatch(r" *likewise cannot be built, this is missing: (.*)\. To get it: (.*)\.", lines[0]).groups()


def without(package):
    return f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON"


def test_all_that_is_missing_is_told_at_once(tmp_path):
    missing, remedy = complaint(configure(tmp_path, without("TBB"), without("CLI11"), "-DGTEST_INCLUDE="))
    assert missing == "oneTBB, CLI11, GoogleTest (or -DLIKEWISE_BUILD_TESTS=OFF)"
    assert remedy == "on Debian and Ubuntu `apt-get install libtbb-dev libcli11-dev libgtest-dev` or `scripts/setup program`"


def test_a_compiler_is_one_of_the_requirements(tmp_path):
    missing, remedy = complaint(configure(tmp_path, "-DCMAKE_CXX_COMPILER=", without("fmt")))
    assert missing == "a C++20 compiler, fmt"
    assert "apt-get install g++ libfmt-dev" in remedy


def test_without_pkg_config_the_libraries_are_still_looked_for(tmp_path):
    missing, _ = complaint(configure(tmp_path, without("PkgConfig"), "-DHWY_HEADER="))
    assert missing == "pkg-config, Highway"


@pytest.fixture
def bare_python(tmp_path):
    """A Python without any packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True, timeout=100)
    return tmp_path / "bare/bin/python"


def test_nanobind_is_missing_where_the_python_package_was_asked_for(tmp_path, bare_python):
    missing, remedy = complaint(configure(
        tmp_path / "build", "-DLIKEWISE_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={bare_python}"))
    assert missing == f"nanobind for {bare_python}"
    assert remedy == "`pip install nanobind`"


def test_nothing_is_missing_where_the_python_package_is_welcome(tmp_path, bare_python):
    done = configure(
        tmp_path / "build", "-DLIKEWISE_BUILD_PYTHON=AUTO", f"-DPython_EXECUTABLE={bare_python}")
    assert done.returncode == 0, done.stderr
    assert "No Python package" in done.stdout
