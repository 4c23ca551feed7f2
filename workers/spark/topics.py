"""Reads topics from their first to their last record, once, as a batch."""

from __future__ import annotations

import re

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit


def topics_of(prefix: str) -> str:
    """The pattern (Java's) of all topics under a ``topic.prefix``."""
    return re.escape(prefix) + r"\..+"


def read_topics(spark: SparkSession, bootstrap: str, pattern: str) -> DataFrame:
    """Records of the topics whose whole name matches ``pattern``: topic, partition, offset, timestamp, key, value (text).

    Committed records only: a worker with exactly-once support leaves aborted ones behind (KIP-618).
    """
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribePattern", pattern)
        .option("startingOffsets", "earliest")
        .option("endingOffsets", "latest")
        .option("kafka.isolation.level", "read_committed")
        # An unreachable broker is told in seconds; the clients' own patience is a minute, tried three times over.
        .option("kafka.request.timeout.ms", "10000")
        .option("kafka.default.api.timeout.ms", "10000")
        .option("fetchOffset.numRetries", "1")
        .load()
        .select(
            "topic",
            "partition",
            "offset",
            "timestamp",
            F.col("key").cast("string").alias("key"),
            F.col("value").cast("string").alias("value"),
        )
    )
