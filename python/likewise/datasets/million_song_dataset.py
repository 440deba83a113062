# SPDX-License-Identifier: Apache-2.0
"""`implicit.datasets.million_song_dataset`, of which nothing is here."""
from likewise.datasets import __getattr__ as __getattr__
