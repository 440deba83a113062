# SPDX-License-Identifier: Apache-2.0
"""Algorithms of Surprise, trained and asked by likewise."""
from likewise.surprise.prediction_algorithms.algo_base import AlgoBase
from likewise.surprise.prediction_algorithms.baseline_only import BaselineOnly
from likewise.surprise.prediction_algorithms.co_clustering import CoClustering
from likewise.surprise.prediction_algorithms.knns import KNNBaseline, KNNBasic, KNNWithMeans, KNNWithZScore
from likewise.surprise.prediction_algorithms.matrix_factorization import NMF, SVD, SVDpp
from likewise.surprise.prediction_algorithms.predictions import Prediction, PredictionImpossible
from likewise.surprise.prediction_algorithms.random_pred import NormalPredictor
from likewise.surprise.prediction_algorithms.slope_one import SlopeOne

__all__ = [
    "AlgoBase", "BaselineOnly", "CoClustering", "KNNBaseline", "KNNBasic", "KNNWithMeans", "KNNWithZScore", "NMF",
    "NormalPredictor", "Prediction", "PredictionImpossible", "SVD", "SVDpp", "SlopeOne",
]
