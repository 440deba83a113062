# SPDX-License-Identifier: Apache-2.0
"""`implicit.ann.annoy`, of which nothing is here."""
from likewise.ann import __getattr__ as __getattr__
