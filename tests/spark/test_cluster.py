"""Spark's session of a bulk snapshot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.failure import JobError
from workers.spark.session import find_java

# A separate process, because each process can have only one Spark.
PROGRAM = """
import os, sys
from workers.bulk.cluster import spark_at
from workers.bulk.work_order import SparkPlace

with spark_at(SparkPlace("local[1]", {"spark.pyspark.python": sys.argv[1]})) as spark:
    print(spark.parallelize([0], 1).map(lambda _: os.environ.get("PYTHON_OF_THE_TASKS")).collect())
"""


@pytest.mark.long
@pytest.mark.server
def test_tasks_run_in_the_python_that_is_set(tmp_path: Path) -> None:
    try:
        find_java()
    except JobError as error:
        pytest.skip(str(error))
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHON_OF_THE_TASKS=mine exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(python)], capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout == "['mine']\n", done.stderr
