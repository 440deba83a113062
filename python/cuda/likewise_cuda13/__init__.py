# SPDX-License-Identifier: Apache-2.0
"""Holds the CUDA plug-in, which likewise finds in this folder. There is nothing to import."""
