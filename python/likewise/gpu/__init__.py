# SPDX-License-Identifier: Apache-2.0
"""Whether there is a GPU to train on."""
from likewise import _core

#: Whether a CUDA device can be used here; `likewise.info()` says why not.
HAS_CUDA: bool = any(device["name"].startswith("cuda") and device["available"]
                      for device in _core.devices())
