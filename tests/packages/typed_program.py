# SPDX-License-Identifier: Apache-2.0
"""A program of a user who has all types checked: see test_types.py. Each line with reveal_type is
compared with what stands behind it."""
import sys

import numpy as np

import likewise
from likewise.surprise import Dataset, KNNBasic, Reader
from likewise.surprise.model_selection import cross_validate

data = likewise.Interactions(sys.argv[1])
train, test = likewise.split(data, "last")
estimator = likewise.Als(factors=8, iterations=2)
estimator.fit(train)
model = estimator.model_
lists = model.recommend(n=3)
reveal_type(data.shape)  # tuple[int, int]
reveal_type(model)  # likewise.model.Model
reveal_type(lists)  # likewise.answers.Lists
reveal_type(model.user_factors.dtype)  # numpy.dtype[numpy.floating[numpy._typing._nbit_base._32Bit]]
reveal_type(likewise.__version__)  # str
share: float = model.evaluate(test)["ndcg@10"]
scores = model.predict(["ann", "bob"], ["m1", "m2"])
print(np.round(scores, 3), share, len(lists))
ratings = Dataset.load_from_df(train.to_pandas()[["user", "item", "value"]], Reader(rating_scale=(1, 5)))
trainset = ratings.build_full_trainset()
knn = KNNBasic(verbose=False).fit(trainset)
reveal_type(ratings)  # likewise.surprise.dataset.DatasetAutoFolds
reveal_type(knn)  # likewise.surprise.prediction_algorithms.knns.KNNBasic
estimate: float = knn.predict("ann", "m1").est
print(trainset.n_ratings, estimate, cross_validate(KNNBasic(verbose=False), ratings, cv=2)["test_rmse"].shape)
