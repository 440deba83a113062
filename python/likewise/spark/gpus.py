# SPDX-License-Identifier: Apache-2.0
"""The GPU of a rank: the one that Spark assigned to its task; where Spark manages none, the one numbered by the
rank's place among those of its host."""
from __future__ import annotations

import os
from typing import Any

#: As Spark names the resource.
RESOURCE = "gpu"


def number_of(assigned: list[str] | None, hosts: list[str], rank: int) -> int:
    """The number of the rank's GPU on its host. ValueError where Spark's assignment does not name one.

    assigned    addresses of the task's GPUs, as Spark has them; None: it manages none
    hosts       of all ranks
    """
    if assigned is None:
        return hosts[:rank].count(hosts[rank])
    if len(assigned) != 1:
        raise ValueError(f"Spark assigned {len(assigned)} GPUs to its task ({', '.join(assigned) or 'none'}), and a rank "
                         "trains on one: set spark.task.resource.gpu.amount=1")
    if not assigned[0].isdecimal():
        raise ValueError(f"Spark calls its GPU {assigned[0]!r}, and a number is needed: let the discovery script of "
                         "spark.executor.resource.gpu.discoveryScript name GPUs by their index")
    return int(assigned[0])


def assigned_to(context: Any) -> list[str] | None:
    """Addresses of the task's GPUs; None where Spark manages none."""
    found = context.resources().get(RESOURCE) if context is not None else None
    return None if found is None else [str(address) for address in found.addresses]


def open_gpu(assigned: list[str] | None, hosts: list[str], rank: int) -> Any:
    """The device. ValueError or likewise.DeviceError saying why there is none."""
    from likewise import _core

    if assigned is not None:
        # Discovery scripts count as nvidia-smi does.
        os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    return _core.Device(f"cuda:{number_of(assigned, hosts, rank)}")
