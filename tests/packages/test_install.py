# SPDX-License-Identifier: Apache-2.0
"""What is installed can be used: by a project of its own, and from a Debian package. The build
folder is that of the program under test."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("LIKEWISE_CLI", ROOT / "build/dev/bin/likewise")).absolute()
BUILD = BINARY.parents[1]
CACHE = BUILD / "CMakeCache.txt"


def run(*words, **options):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, **options)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def cached(name):
    """A value of the build folder's CMake cache."""
    lines = CACHE.read_text().splitlines()
    return next(line.split("=", 1)[1] for line in lines if line.startswith(f"{name}:"))


@pytest.fixture(scope="module", autouse=True)
def a_build_folder():
    if not CACHE.exists():
        pytest.skip(f"{BINARY} does not lie in a build folder of CMake")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", BUILD, "--prefix", folder / "first")
    # A package can be moved: nothing in it knows where it was installed.
    (folder / "first").rename(folder / "prefix")
    return folder / "prefix"


def version():
    return run(BINARY, "--version").split()[-1]


def test_the_program_runs_where_it_was_installed(installed, tmp_path):
    program = installed / "bin/likewise"
    run(program, "demo", "-o", "cinema", "--quiet", cwd=tmp_path)
    assert (tmp_path / "cinema/model.safetensors").exists()


def test_the_program_looks_for_the_plug_in_where_it_is_installed(installed):
    plug_in = installed / "lib/likewise/liblikewise_cuda.so"
    if plug_in.exists():
        told = run(installed / "bin/likewise", "info")
        assert "there is no CUDA plug-in" not in told and "of another build" not in told
        return
    plug_in.parent.mkdir(parents=True, exist_ok=True)  # the Arrow plug-in may lie there
    plug_in.write_text("this is none")
    try:
        assert f"the CUDA plug-in {plug_in} cannot be loaded" in run(installed / "bin/likewise", "info")
    finally:
        plug_in.unlink()


def test_the_manual_page_names_every_verb_and_variable(installed):
    page = (installed / "share/man/man1/likewise.1").read_text()
    told = run(installed / "bin/likewise", "--help").split("Verbs:\n")[1].split("\n\n")[0]
    verbs = [line.split()[0] for line in told.splitlines()]
    assert len(verbs) > 5
    assert [verb for verb in verbs if f"\n.B {verb}\n" not in page] == []
    for variable in ("LIKEWISE_ISA", "LIKEWISE_PLUGIN_PATH", "NO_COLOR"):
        assert f"\n.B {variable}\n" in page


def configure_example(installed, build, wanted=None, more=""):
    source = build / "source"
    shutil.copytree(ROOT / "examples/films", source)
    listed = source / "CMakeLists.txt"
    text = listed.read_text() + more
    listed.write_text(text.replace("find_package(likewise 0.1", wanted) if wanted else text)
    return subprocess.run(
        ["cmake", "-S", source, "-B", build / "build", "-G", "Ninja",
         f"-DCMAKE_PREFIX_PATH={installed}", f"-DCMAKE_CXX_COMPILER={cached('CMAKE_CXX_COMPILER')}"],
        capture_output=True, text=True, timeout=300)


def test_a_project_of_its_own_finds_and_uses_the_library(installed, tmp_path):
    done = configure_example(installed, tmp_path, more='message("plug-ins in ${likewise_PLUGIN_FOLDER}")\n')
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"plug-ins in {installed}/lib/likewise\n" in done.stderr
    run("cmake", "--build", tmp_path / "build")
    run(BINARY, "generate", "60x30x600", "-o", tmp_path / "plays.csv")
    lists = run(tmp_path / "build/films", tmp_path / "plays.csv", 7)
    asked = ["--factors", 32, "--device", "auto", "-q"]
    run(BINARY, "train", "plays.csv", "-o", "model", *asked, cwd=tmp_path)
    expected = run(BINARY, "recommend", "model", "--user", 7, "-n", 5, cwd=tmp_path)
    items = [line.split(",")[1] for line in expected.splitlines()[1:]]
    assert [line.split()[0] for line in lists.splitlines()] == items


@pytest.mark.parametrize("wanted", ["0.0", "0.99", "1.0"])
def test_another_version_is_not_taken(installed, tmp_path, wanted):
    done = configure_example(installed, tmp_path, f"find_package(likewise {wanted}")
    assert done.returncode != 0
    assert f"version: {version()}" in done.stderr


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    for tool in ("dpkg-deb", "dpkg-shlibdeps"):
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool}: Debian packages are made on Debian and Ubuntu")
    folder = tmp_path_factory.mktemp("packages")
    run("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", folder, cwd=BUILD)
    found = {path.name.split("_")[0]: path for path in folder.glob("*.deb")}
    assert {"likewise", "liblikewise-dev"} <= found.keys()
    return found


def field(package, name):
    return run("dpkg-deb", "-f", package, name).strip()


def test_the_package_of_the_program_runs_from_where_it_is_unpacked(packages, tmp_path):
    run("dpkg-deb", "-x", packages["likewise"], tmp_path)
    assert version() in run(tmp_path / "usr/bin/likewise", "--version")
    run(tmp_path / "usr/bin/likewise", "demo", "-o", tmp_path / "cinema", "--quiet")
    assert (tmp_path / "usr/share/man/man1/likewise.1").exists()
    for shell, place in (("bash", "bash-completion/completions/likewise"), ("zsh", "zsh/vendor-completions/_likewise"),
                         ("fish", "fish/vendor_completions.d/likewise.fish")):
        assert (tmp_path / "usr/share" / place).read_text() == run(tmp_path / "usr/bin/likewise", "completion", shell)
    assert not (tmp_path / "usr/include").exists()


def test_packages_need_what_they_use(packages):
    needed = field(packages["likewise"], "Depends")
    for library in ("libc6 (>= ", "libtbb12", "libfmt", "libhwy", "zlib1g", "libopenblas0"):
        assert library in needed
    assert "-dev" not in needed
    needed = field(packages["liblikewise-dev"], "Depends").split(", ")
    assert {"libtbb-dev", "libfmt-dev", "libhwy-dev", "libzstd-dev", "libxxhash-dev",
            "zlib1g-dev", "libopenblas0"} <= set(needed)
    if "likewise-cuda" in packages:
        assert f"likewise (= {version()})" in field(packages["likewise-cuda"], "Depends")


def test_packages_say_what_they_are_and_under_which_terms(packages, tmp_path):
    for name, path in packages.items():
        assert field(path, "Version") == version()
        first, more = field(path, "Description").split("\n", 1)
        assert first == "Recommendations from who liked what" and first not in more
        folder = tmp_path / name
        run("dpkg-deb", "-x", path, folder)
        assert "Apache-2.0" in (folder / "usr/share/doc" / name / "copyright").read_text()


def test_the_package_for_projects_is_found(packages, tmp_path):
    run("dpkg-deb", "-x", packages["liblikewise-dev"], tmp_path / "root")
    done = configure_example(tmp_path / "root/usr", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
