# SPDX-License-Identifier: Apache-2.0
"""`implicit.ann`, of which nothing is here."""
from likewise.lazy import absent

__getattr__ = absent("likewise.ann",
                     "the models of likewise search exactly, and quickly; an index of another library takes model.item_factors")
