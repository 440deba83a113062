# SPDX-License-Identifier: Apache-2.0
"""The tests that `implicit` comes with pass when its name is replaced by likewise."""
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import pytest

from conftest import ROOT, needed

#: What is not there, and says what to use in its place.
ABSENT = ("lmf_test.py", "approximate_als_test.py")


def test_the_suite_of_implicit_passes(tmp_path):
    needed("implicit")
    sources = sorted((ROOT / ".venv-friends/sources").glob("implicit-*.tar.gz"))
    if not sources:
        pytest.skip("no sources of implicit: scripts/setup friends downloads them")
    with tarfile.open(sources[-1]) as archive:
        for member in archive.getmembers():
            name = pathlib.PurePath(member.name)
            if name.parent.name == "tests" and name.name.endswith("_test.py") and name.name not in ABSENT:
                text = archive.extractfile(member).read().decode()
                (tmp_path / name.name).write_text(re.sub(r"\bimplicit\b", "likewise", text))
    done = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", *sorted(tmp_path.glob("*.py"))],
                          cwd=tmp_path, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTEST_ADDOPTS": ""})
    passed = re.search(r"(\d+) passed", done.stdout)
    assert done.returncode == 0 and passed and int(passed[1]) >= 130, done.stdout[-3000:]
