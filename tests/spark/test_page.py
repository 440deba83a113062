# SPDX-License-Identifier: Apache-2.0
"""The program of docs/guide/from-spark.md, as a process of its own."""
import os
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from conftest import PACKAGES, QUICK_START, ROOT, require_spark

require_spark()


def test_the_program_of_the_page_runs(tmp_path, cells):
    users, items, ratings = cells
    pq.write_table(pa.table({"user": users, "item": [f"song {one}" for one in items], "plays": ratings.astype(np.int32)}),
                   tmp_path / "plays.parquet")
    text = (ROOT / "docs/guide/from-spark.md").read_text(encoding="utf-8")
    program, = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
                   "PYTHONPATH": os.pathsep.join(filter(None, [PACKAGES, os.environ.get("PYTHONPATH", "")])),
                   "PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false "
                                          "--conf spark.sql.shuffle.partitions=2 --conf spark.sql.codegen.wholeStage=false "
                                          f"--driver-java-options '{QUICK_START}' pyspark-shell"}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          timeout=170, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"objective \d", done.stdout), done.stdout
    lists = pq.read_table(tmp_path / "lists.parquet").to_pydict()
    seen = {(int(user), f"song {item}") for user, item in zip(users, items)}
    pairs = list(zip(lists["user"], lists["item"]))
    assert len(pairs) == 10 * len(set(users.tolist())) and not seen.intersection(pairs)
    assert pq.read_table(tmp_path / "similar.parquet").num_rows == len(set(items.tolist()))
