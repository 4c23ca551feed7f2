"""A session of a test's own in the JVM that all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession


def own_session(spark: SparkSession) -> SparkSession:
    """A session with the settings of ``spark``, as a streaming query has one.

    ``spark.newSession()`` has Spark's defaults: 200 tasks for each shuffle of a few rows, which takes minutes of a test.
    """
    return SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())


@contextmanager
def present_session(spark: SparkSession) -> Iterator[SparkSession]:
    """The commands run in a session of their own in this process: each start of a JVM with its first plans takes 20 CPU-s."""
    session = own_session(spark)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "stop", lambda: None)
        for module in ("jobs.stream", "commands"):
            patch.setattr(f"workers.spark.{module}.session_of", lambda *_, **__: session)
        yield session
