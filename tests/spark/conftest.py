# SPDX-License-Identifier: Apache-2.0
"""One Spark session for each file of tests."""
import os
import pathlib
import shutil
import sys

import numpy as np
import pytest

import likewise

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
PACKAGES = str(pathlib.Path(likewise.__file__).parents[1])


def require_spark():
    """Skips a file of tests where PySpark or Java is missing."""
    pytest.importorskip("pyspark", reason="no PySpark: scripts/setup spark installs it")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java: scripts/setup spark installs it", allow_module_level=True)


def open_session(master, **settings):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [PACKAGES, os.environ.get("PYTHONPATH", "")]))
    builder = SparkSession.builder.master(master).appName("likewise tests")
    for name, value in {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.memory": "2g",
                        "spark.default.parallelism": "2", "spark.driver.host": "127.0.0.1",
                        # The plans of Spark's own ALS are deep. Data this small are over before code that is compiled for
                        # them is worth its time.
                        "spark.driver.extraJavaOptions": f"-Xss16m {QUICK_START}",
                        "spark.executor.extraJavaOptions": QUICK_START, "spark.sql.codegen.wholeStage": "false",
                        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"], **settings}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


@pytest.fixture(scope="module")
def spark(request):
    session = open_session(getattr(request.module, "MASTER", "local[2]"), **getattr(request.module, "SETTINGS", {}))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def cells():
    """Users, items and ratings 1..5: 3,000 rows, no pair twice; ids with gaps."""
    draw = np.random.default_rng(7)
    users, items = np.divmod(draw.choice(150 * 80, size=3000, replace=False), 80)
    taste = draw.normal(size=(150, 3)) @ draw.normal(size=(3, 80))
    ratings = np.clip(np.round(3 + taste[users, items] + draw.normal(scale=0.3, size=3000)), 1, 5)
    return users * 3 + 10, items * 2 + 5, ratings


@pytest.fixture(scope="module")
def ratings(spark, cells):
    rows = [(int(u), int(i), float(r)) for u, i, r in zip(*cells)]
    return spark.createDataFrame(rows, "user int, item int, rating float").repartition(3).cache()
