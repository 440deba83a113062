# SPDX-License-Identifier: Apache-2.0
"""Recommendations from who liked what."""
from likewise._core import __version__

__all__ = ["__version__"]
