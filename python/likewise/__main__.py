# SPDX-License-Identifier: Apache-2.0
"""`python -m likewise`: the command-line program."""
import os
import sys

os.execv(os.path.join(os.path.dirname(__file__), "likewise"), ["likewise", *sys.argv[1:]])
