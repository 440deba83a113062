# SPDX-License-Identifier: Apache-2.0
"""The path under which `implicit` 0.7 has the classes that train on the CPU."""
