# SPDX-License-Identifier: Apache-2.0
"""Classes of attacks on the program, one module each. `scripts/attack` runs them."""
from .alike import Alike
from .budgets import Budgets
from .determinism import Determinism
from .disk import Disk
from .identity import Identity
from .ids import Ids
from .kills import Kills
from .memory import Memory
from .models import Models
from .noise import Noise
from .numbers import Numbers
from .options import Options
from .package import PythonExits, PythonTypes
from .predictions import Predictions
from .requests import Requests
from .sockets import Sockets
from .streams import Streams
from .texts import Texts
from .writers import Writers

CLASSES = {attack.name: attack for attack in (
    Texts, Ids, Options, Kills, Disk, Streams, Memory, Identity, Models, Numbers, Noise, Alike, Predictions,
    Determinism, Sockets, Requests, Writers, Budgets, PythonTypes, PythonExits)}
