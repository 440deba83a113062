# SPDX-License-Identifier: Apache-2.0
"""`implicit.cpu.als`, where programs find the class that has load()."""
from likewise.als import AlternatingLeastSquares, calculate_loss

__all__ = ["AlternatingLeastSquares", "calculate_loss"]
