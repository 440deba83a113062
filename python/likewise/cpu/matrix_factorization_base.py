# SPDX-License-Identifier: Apache-2.0
"""`implicit.cpu.matrix_factorization_base`, for programs that ask what a model is."""
from likewise.factor_recommender import FactorRecommender as MatrixFactorizationBase

__all__ = ["MatrixFactorizationBase"]
