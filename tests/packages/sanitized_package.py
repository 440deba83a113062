# SPDX-License-Identifier: Apache-2.0
"""Runs before the tests of the Python package under the address and undefined-behaviour sanitizers:
they see nothing unless the extension was compiled with them and their runtime is there."""
import ctypes
import os
import pathlib
import subprocess
import sys

import likewise._core

EXTENSION = pathlib.Path(likewise._core.__file__)


def test_the_extension_is_that_of_the_build_folder():
    assert EXTENSION.parent == pathlib.Path(os.environ["PYTHONPATH"]) / "likewise"


def test_the_extension_was_compiled_with_both_sanitizers():
    code = EXTENSION.read_bytes()
    assert b"__asan_report_load8" in code
    assert b"__ubsan_handle_type_mismatch" in code


def test_the_runtime_is_loaded_and_ends_the_process_at_a_fault():
    assert ctypes.CDLL(None).__asan_init
    fault = "import ctypes, likewise; libc = ctypes.CDLL(None); libc.malloc.restype = ctypes.c_void_p; " \
            "room = libc.malloc(8); libc.memset(ctypes.c_void_p(room), 0, 9)"
    done = subprocess.run([sys.executable, "-c", fault], capture_output=True, text=True, timeout=100)
    assert done.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr
