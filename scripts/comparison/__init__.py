# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/compare-builds: which commands to run, what differs, and running them."""
