# SPDX-License-Identifier: Apache-2.0
"""`implicit.cpu.lmf`, of which nothing is here."""
from likewise.lmf import __getattr__ as __getattr__
