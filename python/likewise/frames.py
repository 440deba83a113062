# SPDX-License-Identifier: Apache-2.0
"""What has columns, as a frame of any kind."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy.typing as npt

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Frame = TypeVar("Frame")


class Framed:
    """columns() as frames. Whatever takes the Arrow C stream interface takes it as it is."""

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns by name."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """columns() as a frame of pandas."""
        import pandas
        return self._framed(pandas.DataFrame)

    def to_polars(self) -> polars.DataFrame:
        """columns() as a frame of polars."""
        import polars
        return self._framed(polars.DataFrame)

    def to_arrow(self) -> pyarrow.Table:
        """columns() as a table of Arrow."""
        import pyarrow
        return self._framed(pyarrow.table)

    def _framed(self, frame: Callable[[dict[str, npt.NDArray[Any]]], Frame]) -> Frame:
        try:
            return frame(self.columns())
        except UnicodeEncodeError as error:
            raise ValueError(f"{error.object!r} is not UTF-8, as the text of frames is: convert the data to UTF-8 "
                             "before they are read; columns() holds such ids as they are") from None

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)
