#!python
# SPDX-License-Identifier: Apache-2.0
"""`likewise` on the path: runs the program that lies in the package, without importing the package."""
import importlib.util
import os
import sys

spec = importlib.util.find_spec("likewise")
if spec is None:
    sys.exit("likewise: the Python package likewise is not installed for " + sys.executable)
program = os.path.join(spec.submodule_search_locations[0], "likewise")
os.execv(program, ["likewise", *sys.argv[1:]])
