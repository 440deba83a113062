# SPDX-License-Identifier: Apache-2.0
"""What this installation can do."""
from __future__ import annotations

from typing import Any

from likewise import _core


class Information(dict[str, Any]):
    """`info()` as a dict; printed as lines for people."""

    def __repr__(self) -> str:
        lines = [f"likewise {self['version']}, {self['instruction_set']} kernels, "
                 f"{self['threads']} threads"]
        for device in self["devices"]:
            state = "" if device["available"] else "not available: "
            lines.append(f"{device['name']}: {state}{device['description']}")
            if device.get("peers"):
                lines.append(f"  reaches directly: {', '.join(device['peers'])}")
            lines += [f"  cannot do {job}: {why}" for job, (able, why) in device["jobs"].items()
                      if not able]
        return "\n".join(lines)


def info() -> Information:
    """Version, processor and devices: what each can do, or why it cannot be used."""
    return Information(version=_core.__version__, instruction_set=_core.instruction_set(),
                       threads=_core.thread_count(), devices=_core.devices())
