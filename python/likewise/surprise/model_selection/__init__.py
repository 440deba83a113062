# SPDX-License-Identifier: Apache-2.0
"""Splits, cross-validation and search of Surprise. A random_state gives Surprise's folds."""
from likewise.surprise.model_selection.search import GridSearchCV, RandomizedSearchCV
from likewise.surprise.model_selection.split import (KFold, LeaveOneOut, PredefinedKFold, RepeatedKFold, ShuffleSplit,
                                                     train_test_split)
from likewise.surprise.model_selection.validation import cross_validate

__all__ = ["GridSearchCV", "KFold", "LeaveOneOut", "PredefinedKFold", "RandomizedSearchCV", "RepeatedKFold", "ShuffleSplit",
           "cross_validate", "train_test_split"]
