# SPDX-License-Identifier: Apache-2.0
"""What has columns, as a frame of any kind."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Framed:
    """columns() as frames. Whatever takes the Arrow C stream interface takes it as it is."""

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        import pandas
        return pandas.DataFrame(self.columns())

    def to_polars(self) -> polars.DataFrame:
        import polars
        return polars.DataFrame(self.columns())

    def to_arrow(self) -> pyarrow.Table:
        import pyarrow
        return pyarrow.table(self.columns())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)
