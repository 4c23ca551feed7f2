"""A session of a test's own in the JVM that all tests share."""

from __future__ import annotations

from pyspark.sql import SparkSession


def own_session(spark: SparkSession) -> SparkSession:
    """A session with the settings of ``spark``, as a streaming query has one.

    ``spark.newSession()`` has Spark's defaults: 200 tasks for each shuffle of a few rows, which takes minutes of a test.
    """
    return SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
