# SPDX-License-Identifier: Apache-2.0
"""How long work is followed: a tqdm bar where one is asked for, remarks through `logging`."""
from __future__ import annotations

import logging
from typing import Any, Callable

logger = logging.getLogger("likewise")


class Progress:
    """Passed to the extension: called with (stage, done, total, unit)."""

    def __init__(self, bar: bool):
        self._wanted = bool(bar)
        if self._wanted:
            tqdm()  # before any work
        self._bar: Any = None
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int, unit: str) -> None:
        if not unit:
            logger.debug("%s", stage)
            return
        if not self._wanted:
            return
        if self._bar is None or stage != self._stage:
            self.close()
            self._stage = stage
            self._bar = tqdm()(total=total or None, desc=stage, unit=f" {unit}",
                               unit_scale=total > 10_000)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def tqdm() -> Callable[..., Any]:
    """tqdm's bar for where the program runs. ImportError that says how to get it."""
    try:
        from tqdm.auto import tqdm as bar
    except ImportError:
        raise ImportError("progress=True needs tqdm: pip install tqdm") from None
    return bar  # type: ignore[no-any-return]
