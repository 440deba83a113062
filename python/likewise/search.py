# SPDX-License-Identifier: Apache-2.0
"""`likewise.tuning` by its earlier name."""
from likewise.tuning import Search, tune

__all__ = ["Search", "tune"]
