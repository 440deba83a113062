# SPDX-License-Identifier: Apache-2.0
"""`implicit.cpu.topk`, of which nothing is here."""
from likewise.lazy import absent

__getattr__ = absent("likewise.cpu.topk", "recommend() and similar_items() of the models search; likewise.Model.from_factors() takes factors from elsewhere")
