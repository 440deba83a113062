# SPDX-License-Identifier: Apache-2.0
"""`implicit.lmf`, of which nothing is here."""
from likewise.lazy import absent

__getattr__ = absent("likewise.lmf",
                     "likewise.bpr.BayesianPersonalizedRanking and likewise.als rank likes, too")
