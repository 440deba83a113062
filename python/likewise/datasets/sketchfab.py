# SPDX-License-Identifier: Apache-2.0
"""`implicit.datasets.sketchfab`, of which nothing is here."""
from likewise.datasets import __getattr__ as __getattr__
