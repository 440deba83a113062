# SPDX-License-Identifier: Apache-2.0
"""Of co-clustering nothing is here."""
from likewise.surprise.prediction_algorithms.absent import Absent


class CoClustering(Absent):
    """Not there: means of clusters of users and of items."""

    instead = "BaselineOnly predicts by means, KNNBaseline by what is similar"
