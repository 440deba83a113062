# SPDX-License-Identifier: Apache-2.0
"""What a training will do, decided before it does it."""
from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """All that is decided of a training. `str(plan)` is for people; plans can be compared."""

    algorithm: str
    algorithm_reason: str  #: where the data chose the algorithm
    device: str
    device_reason: str  #: why "auto" took it, where that is not plain
    parameters: dict[str, Any]  #: all of them; None for those without an effect
    origins: dict[str, str]  #: "chosen", "from the data" or "from the model resumed"; the others are defaults
    validation_metric: str  #: empty: nothing is validated
    tuning: str  #: of a GPU, and where it is from
    memory: dict[str, int]  #: bytes of the device, by part
    notes: list[str]  #: sentences on what is odd about the values: zeros, dislikes, sizes that nothing looks at, ratings that are all alike
    text: str = dataclasses.field(repr=False, compare=False)  #: for people, with the memory that is free just now

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        import html
        return f"<pre>{html.escape(self.text)}</pre>"
