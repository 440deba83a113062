# SPDX-License-Identifier: Apache-2.0
"""The public headers need nothing of the rest: no header of src/, no type that only src/ defines."""
import pathlib
import re

HEADERS = sorted((pathlib.Path(__file__).parents[2] / "include/likewise").glob("*.h"))
TYPE = r"(?:class|struct|enum class)\s+(\w+)"


def test_they_include_each_other_only():
    assert HEADERS
    for header in HEADERS:
        for name in re.findall(r'#include "([^"]+)"', header.read_text()):
            assert name.startswith("likewise/"), header.name


def test_what_they_declare_they_define():
    text = "\n".join(header.read_text() for header in HEADERS)
    defined = set(re.findall(rf"^\s*{TYPE}\b[^;({{]*\{{", text, re.MULTILINE))
    # At the beginning of a line: those inside a class are its own, and opaque.
    declared = set(re.findall(rf"^{TYPE};", text, re.MULTILINE))
    assert "Device" in defined
    assert declared <= defined
