# SPDX-License-Identifier: Apache-2.0
"""`implicit.cpu.bpr`, where programs find the class that has load()."""
from likewise.bpr import BayesianPersonalizedRanking

__all__ = ["BayesianPersonalizedRanking"]
