# SPDX-License-Identifier: Apache-2.0
"""What notebooks show."""
from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def table(title: str, rows: Mapping[str, str], *, folded: bool = False) -> str:
    """A title and rows of a name and a value; folded, they are shown by a click."""
    lines = "".join(f"<tr><th style=\"text-align: left\">{html.escape(name)}</th>"
                    f"<td style=\"text-align: right\">{html.escape(value)}</td></tr>" for name, value in rows.items())
    head = html.escape(title)
    if folded:
        return f"<details><summary>{head}</summary><table>{lines}</table></details>"
    return f"<p><b>{head}</b></p><table>{lines}</table>"


def cell_text(cell: Any) -> str:
    """A cell of a column; times to the second where they have no fraction."""
    if not isinstance(cell, np.datetime64) or cell != cell.astype("datetime64[s]"):
        return str(cell)
    return str(cell.astype("datetime64[s]"))


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows below the names of their columns."""
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line(heads, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"
