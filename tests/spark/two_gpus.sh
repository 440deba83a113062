#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What Spark asks which GPUs a machine has: those that tests/spark/test_gpus.py plays.
echo '{"name": "gpu", "addresses": ["1", "4"]}'
