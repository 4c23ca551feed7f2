"""The Spark session of a bulk snapshot."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from connector.errors import CdcError, ErrorKind
from connector.runner.child.process import python_environment
from workers.bulk.work_order import SparkPlace
from workers.spark.session import find_java, is_local, open_session

_ATTEMPTS = 4
"""The attempts at a task. This is the default of clusters; a local Spark's is one."""


@contextmanager
def spark_at(place: SparkPlace) -> Iterator[SparkContext]:
    """A session at ``place`` that the block's end stops. Raises JobError without a suitable Java, CdcError when Spark does not start."""
    java = find_java()
    # Spark makes some files in its local folders readable for all users.
    os.umask(0o077)
    master = place.master
    settings = {
        # Two concurrent attempts would send every row twice.
        "spark.speculation": "false",
        # The JVM processes no rows.
        "spark.driver.memory": "512m",
        # Nor do those of executors. An executor's took 4.8 CPU-s of a snapshot of seconds without it, and 2.7 with it. The user's own
        # spark.executor.extraJavaOptions come after it.
        "spark.executor.defaultJavaOptions": "-XX:TieredStopAtLevel=1",
        # Spark may write a task's description to disk, and it contains the connector's secrets.
        "spark.io.encryption.enabled": "true",
        **place.settings,
    }
    if is_local(master):
        master = re.sub(r"^local(?:\[([^\],]+)\])?$", lambda found: f"local[{found[1] or 1},{_ATTEMPTS}]", master)
        # Local tasks use this Python and this package.
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ |= python_environment()
    try:
        session = open_session("bulk snapshot", java, (), master=master, settings=settings)
    except (Py4JError, PySparkException, OSError) as error:
        raise CdcError(
            ErrorKind.INTERNAL,
            f"Spark does not start at {place.master}: {type(error).__name__}",
            "See what it wrote to standard error, and correct its master or its settings",
        ) from error
    # PySpark's driver reads only PYSPARK_PYTHON. Spark's launcher, which would apply this setting, has not run.
    session.sparkContext.pythonExec = session.sparkContext.getConf().get("spark.pyspark.python", session.sparkContext.pythonExec)
    try:
        yield session.sparkContext
    finally:
        try:
            session.stop()
        except (Py4JError, OSError):
            # The JVM was killed.
            session.sparkContext._gateway.shutdown()  # noqa: SLF001 (a dead one's sockets are closed by nothing else)
