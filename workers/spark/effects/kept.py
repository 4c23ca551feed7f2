"""Keeps the rows of a DataFrame in memory for the queries of one batch."""

from __future__ import annotations

from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame


class Kept:
    """``rows`` are those of a DataFrame, kept from the first query that reads them until :meth:`drop`."""

    def __init__(self, frame: DataFrame) -> None:
        # A local process cannot lose an executor. So it may keep the rows themselves, which cannot be computed again once Spark has them
        # all. A cache has columns, and Spark builds them by code that it does not compile: 640,000 events took 334 CPU-us each with a
        # cache, and 322 without.
        master = frame.sparkSession.sparkContext.master
        self._local = master == "local" or master.startswith("local[")
        if self._local:
            self.rows = frame.localCheckpoint(eager=False, storageLevel=StorageLevel.MEMORY_AND_DISK)
        else:
            self.rows = frame.persist()

    def drop(self) -> None:
        """Free the memory. The rows must not be read afterwards."""
        if self._local:
            plan: Any = self.rows._jdf.queryExecution().logical()  # noqa: SLF001 - PySpark drops caches only
            plan.rdd().unpersist(False)
        else:
            self.rows.unpersist()
