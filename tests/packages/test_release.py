# SPDX-License-Identifier: Apache-2.0
"""What scripts/release does, in small: stand-ins of older libraries, versions, the checklist, the plug-in's package.
Whole wheels are made and tried by scripts/release itself."""
import email
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("LIKEWISE_CLI", ROOT / "build/dev/bin/likewise")).absolute()
FAKE = BINARY.parents[1] / "tests/fake_plugin/liblikewise_cuda.so"
sys.path.insert(0, str(ROOT / "scripts"))

from releasing import checklist, old_libraries, version, wheel_file  # noqa: E402


def run(*words, **options):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300, check=True, **options).stdout


LISTED = """
     5: 0000000000001000     8 FUNC    GLOBAL DEFAULT   13 grow@@OURS_1.10
     6: 0000000000001010     8 FUNC    GLOBAL DEFAULT   13 grow@OURS_1.2
     7: 0000000000001020     8 FUNC    GLOBAL DEFAULT   13 grow@OURS_1.9
     8: 0000000000002000    24 OBJECT  WEAK   DEFAULT   20 table@@OURS_1.2
     9: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND other@OURS_1.2 (3)
    10: 0000000000001030     8 FUNC    GLOBAL DEFAULT   13 late@@OURS_1.10
    11: 0000000000001040     8 FUNC    GLOBAL DEFAULT   13 foreign@@THEIRS_1.0
"""


def test_a_stand_in_has_the_last_of_the_old_versions_of_each_name():
    found = {(symbol.name, symbol.version, symbol.size, symbol.weak)
             for symbol in old_libraries.symbols_of(LISTED, {"OURS": "1.9"})}
    assert found == {("grow", "OURS_1.9", 8, False), ("table", "OURS_1.2", 24, True)}


@pytest.fixture
def library(tmp_path):
    """A library with two functions, of which one is new."""
    (tmp_path / "ours.c").write_text("int old(void) { return 1; } int late(void) { return 2; }")
    (tmp_path / "ours.map").write_text("OURS_1.0 { global: old; local: *; }; OURS_1.1 { global: late; } OURS_1.0;")
    run("gcc", "-shared", "-fPIC", "ours.c", "-Wl,--version-script=ours.map", "-Wl,-soname,libours.so.1", "-o", "libours.so.1",
        cwd=tmp_path)
    return tmp_path / "libours.so.1"


def test_what_is_linked_with_a_stand_in_asks_for_no_more(library, tmp_path):
    (tmp_path / "old").mkdir()
    old_libraries.make_old_library(library, {"OURS": "1.0"}, tmp_path / "old/libours.so", "gcc")
    (tmp_path / "program.c").write_text("int old(void); int main(void) { return old() - 1; }")
    run("gcc", "program.c", "-Lold", "-lours", "-o", "program", cwd=tmp_path)
    assert "OURS_1.0" in run("readelf", "-V", tmp_path / "program")
    run(tmp_path / "program", env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    (tmp_path / "program.c").write_text("int late(void); int main(void) { return late() - 2; }")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        run("gcc", "program.c", "-Lold", "-lours", "-o", "program", cwd=tmp_path)
    assert "undefined reference to `late'" in refused.value.stderr


def test_versions_that_an_older_system_lacks_are_found():
    assert wheel_file.needs_new("Name: GLIBC_2.28 \n Name: GLIBCXX_3.4.24 \n Name: GLIBC_2.2.5") == []
    assert wheel_file.needs_new("Name: GLIBC_2.29 \n Name: GLIBCXX_3.4.9") == ["GLIBC_2.29"]
    assert wheel_file.needs_new("Name: CXXABI_1.3.13 ") == ["CXXABI_1.3.13"]


CHANGES = "# Changes\n\n## 0.2.0, 1 May 2027\n"


@pytest.mark.parametrize("tags, header, changes, dirty, said", [
    (["v0.2.0"], "0.2.0", CHANGES, "", ""),
    (["nice", "v0.2.0"], "0.2.0", CHANGES, "", ""),
    ([], "0.2.0", CHANGES, "", "HEAD needs one tag like v0.2.0 (it has none)"),
    (["v0.2.0", "v0.2.1"], "0.2.0", CHANGES, "", "HEAD needs one tag"),
    (["v0.2.1"], "0.2.0", CHANGES, "", "the tag says 0.2.1, include/likewise/version.h 0.2.0"),
    (["v0.2.0"], "0.2.0", "## 0.2.0, not released yet", "", "CHANGELOG.md has no heading"),
    (["v0.2.0"], "0.2.0", CHANGES, " M README.md", "changes that are not committed"),
])
def test_the_version_is_that_of_the_tag(tags, header, changes, dirty, said):
    told = version.problem(tags, header, changes, dirty)
    assert told.startswith(said) if said.startswith("HEAD") or said.startswith("the tag") else said in told
    assert bool(told) == bool(said)


def fails():
    raise checklist.Failed("it is broken")


def lacks():
    raise checklist.NotRun("there is no GPU")


def test_the_checklist_says_what_was_not_run(capsys):
    made = checklist.Checklist("likewise 0.2.0")
    made.section("Wheels")
    made.check("tags", lambda: "as they should be")
    made.check("a GPU", lacks)
    assert made.failures == 0 and "Every check that was run passed." in made.text()
    made.check("contents", fails)
    assert made.failures == 1 and "1 checks FAILED." in made.text()
    for line in ("* [x] tags: as they should be", "* [ ] a GPU: **not run**, there is no GPU",
                 "* [ ] contents: **FAILED**, it is broken"):
        assert line in made.text() and line in capsys.readouterr().out + made.text()


def test_a_release_without_a_tag_is_refused():
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no repository")
    if version.why_not(ROOT) == "":
        pytest.skip("HEAD is a release")
    done = subprocess.run([ROOT / "scripts/release"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 1 and done.stderr.startswith("release: ")


def test_pip_keeps_the_plug_in_and_likewise_together():
    """By the metadata of the package, without building it."""
    told = run(sys.executable, "-c", "from scikit_build_core.build import prepare_metadata_for_build_wheel as prepare\n"
               "import sys; print(prepare(sys.argv[1]))", ROOT / "build", cwd=ROOT / "python/cuda")
    folder = ROOT / "build" / told.splitlines()[-1]
    metadata = email.message_from_bytes((folder / "METADATA").read_bytes())
    shutil.rmtree(folder)
    ours = version.of_header(ROOT)
    assert (metadata["Name"], metadata["Version"]) == ("likewise-cuda13", ours)
    assert metadata.get_all("Requires-Dist") == [f"likewise=={ours}"]
    header = (ROOT / "src/core/system/own_folder.h").read_text()
    assert re.search(r'kCudaPackage = "(.*)"', header)[1] == "likewise_cuda13"
    assert (ROOT / "python/cuda/likewise_cuda13/__init__.py").exists()


@pytest.fixture
def site(tmp_path):
    """Two packages as pip installs them: the program, and a plug-in that is a fake."""
    if not FAKE.exists():
        pytest.skip(f"there is no {FAKE}: build unit_tests")
    for package, file in (("likewise", BINARY), ("likewise_cuda13", FAKE)):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        shutil.copy(file, tmp_path / package)
    return tmp_path


def cuda(site, **variables):
    env = {name: value for name, value in os.environ.items() if name != "LIKEWISE_PLUGIN_PATH"}
    return next(line for line in run(site / "likewise/likewise", "info", env={**env, **variables}).splitlines() if " cuda" in line)


def test_the_plug_in_is_found_in_the_package_beside(site):
    assert "cuda:0 " in cuda(site)


def test_a_plug_in_of_another_version_is_refused_with_what_to_install(site):
    told = cuda(site, FAKE_PLUGIN="version")
    assert "is of another build: its version is" in told
    assert f"`pip install likewise-cuda13=={version.of_header(ROOT)}`" in told


def test_without_the_package_it_is_named(site):
    shutil.rmtree(site / "likewise_cuda13")
    told = cuda(site)
    assert f"`pip install likewise-cuda13=={version.of_header(ROOT)}`" in told and str(site / "likewise_cuda13") in told


def test_outside_of_a_package_nothing_is_said_of_pip(site):
    (site / "likewise/__init__.py").unlink()
    told = cuda(site)
    assert "pip" not in told and "there is no CUDA plug-in" in told and "lib/likewise" in told


def test_pip_does_not_build_the_plug_in_unasked(tmp_path):
    """As pip configures it."""
    options = ["-G", "Ninja", "-S", ROOT, "-DSKBUILD=2", "-DSKBUILD_PROJECT_NAME=likewise", "-DLIKEWISE_BUILD_TESTS=OFF"]
    told = run("cmake", *options, "-B", tmp_path / "default")
    assert "No CUDA plug-in: pip builds it on request" in told and "pip install ./python/cuda" in told
    assert "minutes" in told
    done = subprocess.run(["cmake", *map(str, options), "-B", tmp_path / "asked", "-DLIKEWISE_CUDA=ON"], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode != 0 and "pip install ./python/cuda" in " ".join(done.stderr.split())
