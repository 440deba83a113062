# SPDX-License-Identifier: Apache-2.0
"""How long work is followed: a bar where one is asked for, remarks through `logging`; and when it is called off."""
from __future__ import annotations

import functools
import html
import importlib.util
import logging
import sys
import time
from concurrent.futures import CancelledError
from typing import Any, Callable

logger = logging.getLogger("likewise")


class Progress:
    """Passed to the extension: called with (stage, done, total, unit). Its `poll`, where there is one, is called many times
    a second; what it raises ends the work."""

    def __init__(self, bar: bool):
        self._wanted = bool(bar)
        self.poll = _awaited()
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
            self._bar = bar_class()(total=total or None, desc=stage, unit=f" {unit}",
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


def is_watched() -> bool:
    """Whether somebody may look at a bar while the work goes on."""
    return _in_notebook() or sys.stderr.isatty()


def bar_class() -> Callable[..., Any]:
    """tqdm's bar for where the program runs; without tqdm one of our own, as in a notebook without the widgets that tqdm
    draws with."""
    if _in_notebook() and importlib.util.find_spec("ipywidgets") is None:
        return Bar
    try:
        from tqdm.auto import tqdm as bar
    except ImportError:
        return Bar
    return bar  # type: ignore[no-any-return]


class Bar:
    """What is used of tqdm's: in a notebook a bar that is drawn anew, on a terminal a line, nothing elsewhere."""

    #: Seconds between two drawings.
    EVERY = 0.2

    def __init__(self, total: int | None = None, desc: str = "", unit: str = "", **_: Any):
        self.n = 0
        self.total = total
        self._title, self._unit, self._more = desc, unit, ""
        self._began = time.monotonic()
        self._drawn = 0.0
        self._shown = _notebook_display()
        self._draw()

    def update(self, n: int = 1) -> None:
        self.n += n
        if time.monotonic() - self._drawn > self.EVERY:
            self._draw()

    def set_postfix(self, values: dict[str, Any]) -> None:
        self._more = ", ".join(f"{name}={value:.4g}" for name, value in values.items())

    def close(self) -> None:
        self._draw()
        if self._shown is None and sys.stderr.isatty():
            sys.stderr.write("\n")

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def text(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        parts = [f"{self._title}: {self.n:,}{of}{self._unit}".lstrip(": "), f"{time.monotonic() - self._began:.0f} s", self._more]
        return ", ".join(part for part in parts if part)

    def _repr_html_(self) -> str:
        share = "" if self.total is None else f" max=\"{self.total}\" value=\"{self.n}\""
        return f"<progress{share}></progress> {html.escape(self.text())}"

    def __repr__(self) -> str:
        return self.text()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        if self._shown is not None:
            self._shown.update(self)
        elif sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{self.text()}")
            sys.stderr.flush()


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython  # type: ignore[import-not-found,import-untyped,unused-ignore]
    return hasattr(get_ipython(), "kernel")


def _notebook_display() -> Any:
    """A place in the output of the notebook's cell; None where there is no notebook."""
    if not _in_notebook():
        return None
    from IPython.display import display  # type: ignore[import-not-found,import-untyped,unused-ignore]
    return display("", display_id=True)  # type: ignore[no-untyped-call,unused-ignore]


def _awaited() -> Callable[[], None] | None:
    """What raises CancelledError once nobody waits for this thread's work any more: of asyncio.to_thread() and
    run_in_executor(), whose future was cancelled. None in other threads.

    asyncio tells a thread nothing, so its future is looked up on the stack of the pool's thread, and the one that is
    awaited among the callbacks of that. Where another version of Python has neither, work goes on to its end.
    """
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        item: Any = frame.f_locals.get("self") if frame.f_code.co_name == "run" else None
        if type(item).__module__ == "concurrent.futures.thread" and hasattr(item, "future"):
            return functools.partial(_poll, item.future)
    return None


def _poll(future: Any) -> None:
    """asyncio adds its callback when the thread may be at work already."""
    for callback in list(getattr(future, "_done_callbacks", ())):
        for cell in getattr(callback, "__closure__", None) or ():
            awaited = cell.cell_contents
            if awaited is not future and hasattr(awaited, "get_loop") and hasattr(awaited, "cancelled") and awaited.cancelled():
                raise CancelledError("nobody waits for this any more: its future was cancelled")
