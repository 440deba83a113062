# SPDX-License-Identifier: Apache-2.0
"""The names of Surprise 1.1 over the engine of likewise: programs run after a change of their imports.

    from likewise.surprise import Dataset, KNNBasic, Reader, accuracy
    from likewise.surprise.model_selection import cross_validate
    cross_validate(KNNBasic(), Dataset.load_from_file("u.data", Reader(line_format="user item rating timestamp")))

Predictions of the neighbourhood classes and of BaselineOnly are Surprise's; SVD is the same model, trained in another
order. from-surprise.md says what differs.
"""
from likewise.surprise import accuracy, dump, model_selection, prediction_algorithms
from likewise.surprise.builtin_datasets import get_dataset_dir
from likewise.surprise.dataset import Dataset
from likewise.surprise.prediction_algorithms import (
    NMF, SVD, AlgoBase, BaselineOnly, CoClustering, KNNBaseline, KNNBasic, KNNWithMeans, KNNWithZScore, NormalPredictor,
    Prediction, PredictionImpossible, SlopeOne, SVDpp)
from likewise.surprise.reader import Reader
from likewise.surprise.trainset import Trainset

__all__ = [
    "AlgoBase", "BaselineOnly", "CoClustering", "Dataset", "KNNBaseline", "KNNBasic", "KNNWithMeans", "KNNWithZScore", "NMF",
    "NormalPredictor", "Prediction", "PredictionImpossible", "Reader", "SVD", "SVDpp", "SlopeOne", "Trainset", "accuracy",
    "dump", "get_dataset_dir", "model_selection", "prediction_algorithms",
]
