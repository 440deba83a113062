# SPDX-License-Identifier: Apache-2.0
"""What is not there."""
from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from likewise.surprise.prediction_algorithms.algo_base import AlgoBase


class Absent(AlgoBase):
    instead: ClassVar[str]

    def __init__(self, *args: Any, **kwargs: Any):
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise NotImplementedError(f"likewise.surprise has no {type(self).__name__}: {self.instead}")
