# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of one rank: its factors and their last changes, in files of a folder that all machines see."""
from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.fs as pafs

Table = npt.NDArray[np.float32]
Changes = tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16], Table]
KINDS = [("float32", 2), ("float32", 2), ("uint16", 1), ("uint16", 1), ("float32", 1)]


def open_folder(path: str) -> tuple[Any, str]:
    """(file system, path in it) of a URI ("hdfs://...", "s3://...", "file:///...") or of a local path."""
    if re.match(r"^[A-Za-z][A-Za-z0-9+.-]*:", path):
        system, inside = pafs.FileSystem.from_uri(path)
        return system, inside
    return pafs.LocalFileSystem(), path


def require_folder(path: str) -> None:
    """Makes the folder of checkpoints. ValueError where the driver cannot."""
    try:
        system, folder = open_folder(path)
        system.create_dir(folder, recursive=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"checkpointPath: {path!r} is no folder that can be made ({error}): take one that all machines "
                         "see") from error


def forget(path: str, key: str) -> None:
    """Deletes the checkpoints of a training that is over."""
    system, folder = open_folder(path)
    folder = f"{folder.rstrip('/')}/{key}"
    if system.get_file_info(folder).type == pafs.FileType.Directory:
        system.delete_dir(folder)


_taken: set[tuple[str, int]] = set()
_taking = threading.Lock()


@contextlib.contextmanager
def own_place(job: str) -> Iterator[int]:
    """The first number that no other training of this job has in this process, until it is over."""
    with _taking:
        place = 0
        while (job, place) in _taken:
            place += 1
        _taken.add((job, place))
    try:
        yield place
    finally:
        with _taking:
            _taken.remove((job, place))


class Checkpoints:
    """Written beside and renamed, so that a file that is there is whole. The two newest are kept: ranks are never
    farther apart than one."""

    def __init__(self, path: str, key: str, rank: int, ranks: int):
        self._system, folder = open_folder(path)
        self._folder = f"{folder.rstrip('/')}/{key}"
        self._part = f"rank-{rank:05d}-of-{ranks:05d}"

    def iterations(self) -> list[int]:
        """Of which iterations this rank's factors are there."""
        name = re.compile(rf"iteration-(\d+)\.{self._part}\.arrow")
        selector = pafs.FileSelector(self._folder, allow_not_found=True)
        found = (name.fullmatch(info.base_name) for info in self._system.get_file_info(selector))
        return sorted(int(match[1]) for match in found if match)

    def save(self, iteration: int, users: Table, items: Table, changes: Changes) -> None:
        self._system.create_dir(self._folder, recursive=True)
        path = self._path(iteration)
        with self._system.open_output_stream(path + ".tmp") as stream:
            for table in (users, items, *changes):
                tensor = pa.Tensor.from_numpy(np.ascontiguousarray(table))
                pa.ipc.write_tensor(tensor, stream)
        self._system.move(path + ".tmp", path)
        for old in self.iterations()[:-2]:
            self._system.delete_file(self._path(old))

    def load(self, iteration: int) -> tuple[Table, Table, Changes]:
        """OSError or ValueError naming a file that is none."""
        path = self._path(iteration)
        with self._system.open_input_file(path) as file:
            try:
                tables = [np.array(pa.ipc.read_tensor(file).to_numpy()) for _ in KINDS]
            except pa.ArrowInvalid as error:
                raise ValueError(f"{path} is no checkpoint ({error}): delete it") from error
        if [(table.dtype.name, table.ndim) for table in tables] != KINDS:
            raise ValueError(f"{path} is no checkpoint of factors: delete it")
        users, items, *changes = tables
        return users, items, (changes[0], changes[1], changes[2])

    def _path(self, iteration: int) -> str:
        return f"{self._folder}/iteration-{iteration:06d}.{self._part}.arrow"
