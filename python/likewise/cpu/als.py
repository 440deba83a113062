# SPDX-License-Identifier: Apache-2.0
"""`implicit.cpu.als`, where programs find the class that has load()."""
from likewise.als import AlternatingLeastSquares

__all__ = ["AlternatingLeastSquares"]
