"""Maintains one table: compaction, and the removal of old files and snapshots.

Each statement is a commit of its own that changes no row, so a crash between two of them does no harm. A statement that meets a commit of
the mirror is repeated. If it meets commits each time, the table is skipped until the next time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from workers.spark.failure import WRONG, JobError, failure_sentence
from workers.spark.maintenance.report import Report, Size
from workers.spark.maintenance.settings import MaintainConfig
from workers.spark.maintenance.statements import cluster_columns, delta_settings, delta_statements, iceberg_statements
from workers.spark.session import SHUFFLE_PARTITIONS, as_written
from workers.spark.sinks.conflicts import is_conflict, repeated
from workers.spark.sinks.delta.sink import DeltaSink
from workers.spark.sinks.iceberg.sink import IcebergSink
from workers.spark.sinks.refusals import placed
from workers.spark.tables.table import Sink, Table

Lake = DeltaSink | IcebergSink


def lake_of(sink: Sink) -> Lake:
    """The sink, if its tables need maintenance. Raises JobError for other sinks."""
    if not isinstance(sink, DeltaSink | IcebergSink):
        raise JobError(WRONG, "maintain is for tables of the formats delta and iceberg. Tables of other formats need no maintenance.")
    return sink


def maintain(spark: SparkSession, lake: Lake, table: Table, config: MaintainConfig) -> Report:
    """Maintain the mirror of ``table``, which exists. A failure of the table is reported, not raised."""
    began = time.monotonic()
    failed = True
    try:
        with placed(table, lake.place(table)):
            before = size_of(spark, lake, table)
            _run(spark, lake, table, config, cluster_columns(table, config, before.files, before.bytes))
            return Report(table.full_name, before, size_of(spark, lake, table), time.monotonic() - began)
    except JobError as error:
        why = str(error)
    except (PySparkException, Py4JJavaError) as error:
        failed = not is_conflict(error)
        why = failure_sentence(str(error)) if failed else "another process wrote to the table each time."
    return Report(table.full_name, seconds=time.monotonic() - began, skipped=why, failed=failed)


def size_of(spark: SparkSession, lake: Lake, table: Table) -> Size:
    """The size of the table's present version."""
    identifier = lake.identifier(table)
    if isinstance(lake, DeltaSink):
        found = spark.sql(f"DESCRIBE DETAIL {identifier}").select("numFiles", "sizeInBytes").first()
    else:
        found = spark.sql(f"SELECT count(*), coalesce(sum(file_size_in_bytes), 0) FROM {identifier}.files").first()
    return Size(int(found[0]), int(found[1]))


def _run(spark: SparkSession, lake: Lake, table: Table, config: MaintainConfig, cluster: list[str]) -> None:
    as_written(spark)
    identifier = lake.identifier(table)
    if isinstance(lake, DeltaSink):
        with _set(spark, delta_settings(config, str(spark.conf.get(SHUFFLE_PARTITIONS)))):
            for statement in delta_statements(identifier, config, cluster):
                repeated(partial(_sql, spark, statement))
        return
    for statement in iceberg_statements(lake.catalog, identifier, config, cluster, time.time()):
        repeated(partial(_sql, spark, statement))


def _sql(spark: SparkSession, statement: str) -> None:
    spark.sql(statement).collect()


@contextmanager
def _set(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Let the session have the settings within the block. A running stream has a session of its own, which does not see them."""
    former = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in former.items():
            if known is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, known)
