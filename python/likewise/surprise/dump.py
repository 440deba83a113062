# SPDX-License-Identifier: Apache-2.0
"""Predictions and an algorithm in a file of pickle."""
from __future__ import annotations

import pickle
from typing import Any


def dump(file_name: Any, predictions: Any = None, algo: Any = None, verbose: int = 0) -> None:
    """Writes predictions and an algorithm, or one of them."""
    with open(file_name, "wb") as file:
        pickle.dump({"predictions": predictions, "algo": algo}, file, protocol=pickle.HIGHEST_PROTOCOL)
    if verbose:
        print("The dump has been saved as file", file_name)


def load(file_name: Any) -> tuple[Any, Any]:
    """(predictions, algo). As all of pickle, only of files that you trust."""
    with open(file_name, "rb") as file:
        kept = pickle.load(file)
    return kept["predictions"], kept["algo"]
