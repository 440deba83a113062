# SPDX-License-Identifier: Apache-2.0
"""Files of Parquet and Arrow, which pyarrow reads."""
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

#: How they begin. The last is a stream of Arrow.
_KINDS = {b"PAR1": "Parquet", b"ARRO": "Arrow", b"\xff\xff\xff\xff": "an Arrow stream"}


def columnar_files(paths: Sequence[Any]) -> list[str]:
    """The files that paths are or that the folders hold, where the first is one of these; else nothing."""
    files = (file for path in paths for file in _files_of(os.fsdecode(path)))
    first = next(files, None)
    return [] if first is None or _kind_of(first) is None else [first, *files]


class ColumnarRows:
    """The rows of all files, one after the other, as a table of pyarrow, without what pandas keeps of the index of a
    frame unless it is among the columns `named`."""

    def __init__(self, files: list[str], named: Sequence[Any]):
        _need_pyarrow(files[0])
        import pyarrow
        tables = [_without_index(_table(file), named) for file in files]
        self.table = pyarrow.concat_tables(_alike(tables, files))
        self._files = files
        self._rows = [len(table) for table in tables]

    def by_file(self, error: ValueError) -> ValueError:
        """The error of these rows by a file and its row, from 1, where it says at which of all rows it is."""
        found = _PLACE.search(str(error))
        if found is None:
            return error
        place = int(found[1] or found[2])
        for file, rows in zip(self._files, self._rows):
            if place < rows:
                return ValueError(f"{str(error)[:found.start()]}{file}: row {place + 1}{str(error)[found.end():]}")
            place -= rows
        return error


def _alike(tables: list[Any], files: list[str]) -> list[Any]:
    """The tables with columns of one type each: of numbers and of text a wide one where they have several."""
    if all(table.schema.equals(tables[0].schema) for table in tables):
        return tables
    for file, table in zip(files, tables):
        kinds = [[(field.name, _kind_of_type(field.type)) for field in one.schema] for one in (tables[0], table)]
        if kinds[0] != kinds[1]:
            raise ValueError(f"{files[0]} has the columns {_told(tables[0])}, but {file} has {_told(table)}: files that "
                             "are read together need the same columns")
    import pyarrow
    wanted = pyarrow.schema([(name, _widest([table.schema.types[place] for table in tables]))
                             for place, name in enumerate(tables[0].column_names)])
    return [_cast(table, wanted, file) for file, table in zip(files, tables)]


def _cast(table: Any, wanted: Any, file: str) -> Any:
    import pyarrow
    try:
        return table.cast(wanted)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{file}: its numbers do not fit the columns of the other files: {error}") from error


def _kind_of_type(one: Any) -> Any:
    """What CSV would make of a column of this type."""
    from pyarrow import types
    if types.is_dictionary(one):
        one = one.value_type
    if types.is_integer(one):
        return "whole numbers"
    if types.is_floating(one):
        return "numbers"
    return "text" if types.is_string(one) or types.is_large_string(one) else one


def _widest(found: list[Any]) -> Any:
    """The type that holds what these do, which are of one kind."""
    import pyarrow
    wide = {"whole numbers": pyarrow.int64(), "numbers": pyarrow.float64(), "text": pyarrow.large_string()}
    kind = _kind_of_type(found[0])
    return found[0] if all(one.equals(found[0]) for one in found) else wide.get(kind, kind)


#: How the extension and Interactions say at which of the rows in memory something is.
_PLACE = re.compile(r"interactions in memory: position (\d+)|^row (\d+)")


def _without_index(table: Any, named: Sequence[Any]) -> Any:
    return table.drop_columns([name for name in table.column_names
                               if re.fullmatch(r"__index_level_\d+__", name) and name not in named])


def _need_pyarrow(file: str) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{file} is {_kind_of(file)}, which pyarrow reads: pip install pyarrow") from error


def _table(file: str) -> Any:
    import pyarrow.feather
    import pyarrow.parquet
    kind = _kind_of(file)
    if kind is None:
        raise ValueError(f"{file} is neither Parquet nor Arrow, as the first file is: read them one by one")
    try:
        if kind == "Parquet":
            return pyarrow.parquet.read_table(file, partitioning=None)
        if kind == "Arrow":
            return pyarrow.feather.read_table(file)
        with pyarrow.ipc.open_stream(file) as stream:
            return stream.read_all()
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) is not None:
            raise
        raise ValueError(f"{file}: pyarrow cannot read it, it is damaged or of a new kind: {error}") from error


def _told(table: Any) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in table.schema)


def _kind_of(file: str) -> str | None:
    if not os.path.isfile(file):
        return None
    with open(file, "rb") as opened:
        return _KINDS.get(opened.read(4))


def _files_of(path: str) -> Iterable[str]:
    """A file, or those of a folder in the order of their names, without what Spark writes beside them."""
    if not os.path.isdir(path):
        return [path]
    names = sorted(name for name in os.listdir(path) if not name.startswith(("_", ".")))
    files = [os.path.join(path, name) for name in names]
    return [file for file in files if os.path.isdir(file) or os.path.getsize(file)]
