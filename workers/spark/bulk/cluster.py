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
from connector.runner.child_process import python_environment
from workers.spark.bulk.commission import SparkPlace
from workers.spark.session import find_java, open_session

_ATTEMPTS = 4
"""At a task, as clusters have it; a local Spark would have one."""


@contextmanager
def spark_at(place: SparkPlace) -> Iterator[SparkContext]:
    """A session at ``place``, ended with the block. Raises JobError without a suitable Java, CdcError when Spark does not start."""
    java = find_java()
    # For what Spark writes below its local folders, some of which it makes readable to all.
    os.umask(0o077)
    master = place.master
    settings = {
        # Two attempts at once would send every row twice.
        "spark.speculation": "false",
        # Rows never come into the JVM.
        "spark.driver.memory": "512m",
        # The task's description holds the connector's secrets, and may be laid down on disk.
        "spark.io.encryption.enabled": "true",
        **place.settings,
    }
    if re.match(r"local(\[|$)", master):
        master = re.sub(r"^local(?:\[([^\],]+)\])?$", lambda found: f"local[{found[1] or 1},{_ATTEMPTS}]", master)
        # Local tasks run in Pythons of this very environment, which find this very package.
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
    # PySpark's driver looks at PYSPARK_PYTHON alone; Spark's launcher, which would let this setting win over it, has not run.
    session.sparkContext.pythonExec = session.sparkContext.getConf().get("spark.pyspark.python", session.sparkContext.pythonExec)
    try:
        yield session.sparkContext
    finally:
        try:
            session.stop()
        except (Py4JError, OSError):
            # It was killed: there is nothing left to stop.
            session.sparkContext._gateway.shutdown()  # noqa: SLF001 (a dead one's sockets are closed by nothing else)
