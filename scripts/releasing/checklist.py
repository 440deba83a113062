# SPDX-License-Identifier: Apache-2.0
"""What was checked, with its result."""
from __future__ import annotations

import collections.abc
import dataclasses


class Failed(Exception):
    """A check that did not hold; its text says how."""


class NotRun(Exception):
    """A check that this machine cannot make; its text says why."""


@dataclasses.dataclass
class Checklist:
    title: str
    lines: list[str] = dataclasses.field(default_factory=list)
    failures: int = 0

    def section(self, name: str) -> None:
        self.lines += ["", f"## {name}", ""]
        print(f"== {name}", flush=True)

    def check(self, what: str, made: collections.abc.Callable[[], str | None]) -> None:
        """Makes a check, which returns what it found, or raises Failed or NotRun."""
        try:
            found = made()
            line = f"* [x] {what}" + (f": {found}" if found else "")
        except NotRun as reason:
            line = f"* [ ] {what}: **not run**, {reason}"
        except Failed as reason:
            self.failures += 1
            line = f"* [ ] {what}: **FAILED**, {reason}"
        self.lines.append(line)
        print(line, flush=True)

    def text(self) -> str:
        end = "Every check that was run passed." if self.failures == 0 else f"{self.failures} checks FAILED."
        return "\n".join([f"# {self.title}", "", end, *self.lines, ""])
