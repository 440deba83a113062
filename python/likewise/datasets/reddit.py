# SPDX-License-Identifier: Apache-2.0
"""`implicit.datasets.reddit`, of which nothing is here."""
from likewise.datasets import __getattr__ as __getattr__
