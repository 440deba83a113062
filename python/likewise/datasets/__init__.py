# SPDX-License-Identifier: Apache-2.0
"""`implicit.datasets`, of which nothing is here."""
from likewise.lazy import absent

__getattr__ = absent("likewise.datasets",
                     "likewise downloads no data; likewise.Interactions(FILE) reads the files of MovieLens and others as they come, and scipy.sparse.csr_matrix(its to_csr()) is the matrix of users and items")
