# SPDX-License-Identifier: Apache-2.0
"""`implicit.ann.nmslib`, of which nothing is here."""
from likewise.ann import __getattr__ as __getattr__
