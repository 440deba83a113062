# SPDX-License-Identifier: Apache-2.0
"""Classes of attacks on the program, one module each. `scripts/attack` runs them."""
from .kills import Kills
from .options import Options
from .texts import Texts

CLASSES = {attack.name: attack for attack in (Texts, Options, Kills)}
