# SPDX-License-Identifier: Apache-2.0
"""`implicit.approximate_als`, of which nothing is here."""
from likewise.lazy import absent

__getattr__ = absent("likewise.approximate_als",
                     "likewise.als.AlternatingLeastSquares searches exactly, and quickly")
