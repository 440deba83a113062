# SPDX-License-Identifier: Apache-2.0
"""`implicit.ann.faiss`, of which nothing is here."""
from likewise.ann import __getattr__ as __getattr__
