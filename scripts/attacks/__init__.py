# SPDX-License-Identifier: Apache-2.0
"""Classes of attacks on the program, one module each. `scripts/attack` runs them."""
from .determinism import Determinism
from .disk import Disk
from .identity import Identity
from .ids import Ids
from .kills import Kills
from .memory import Memory
from .models import Models
from .numbers import Numbers
from .options import Options
from .package import PythonExits, PythonTypes
from .streams import Streams
from .texts import Texts

CLASSES = {attack.name: attack for attack in (
    Texts, Ids, Options, Kills, Disk, Streams, Memory, Identity, Models, Numbers, Determinism, PythonTypes,
    PythonExits)}
