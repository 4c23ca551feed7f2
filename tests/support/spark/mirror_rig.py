"""A mirror of hand-made topics, batch by batch, without Kafka and without files of tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.spark.memory_sink import MemorySink
from tests.support.spark.topic_log import TopicLog
from workers.spark.jobs.batch_totals import BatchTotals
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror import Mirror
from workers.spark.jobs.transactions import Transactions
from workers.spark.source.catalog import Catalog
from workers.spark.topics.formats import json_format
from workers.spark.types import UNAVAILABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Rig:
    """A mirror, its sink and the number of the next batch."""

    def __init__(
        self, spark: SparkSession, folder: Path, *, catalog: Catalog | None = None, transactions: Transactions | None = None
    ) -> None:
        self.spark = spark
        self.sink = MemorySink(spark)
        self.next = 0
        self.behind = False
        self._folder = folder
        self._catalog = catalog
        self._transactions = transactions

    def batch(self, records: TopicLog | DataFrame) -> BatchTotals:
        found = records.batch(self.spark) if isinstance(records, TopicLog) else records
        done = self.again(found)
        self.next += 1
        return done

    def again(self, records: DataFrame) -> BatchTotals:
        """Each time by a new process."""
        checkpoint = Checkpoint(self.spark, str(self._folder))
        format_ = json_format(UNAVAILABLE, self._catalog)
        return Batches(checkpoint, format_, self.sink, Mirror(self.sink), self._transactions, lambda *_: self.behind).apply(
            records, self.next
        )
