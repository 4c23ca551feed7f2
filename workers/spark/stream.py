"""Runs a mirror: the session, the stream, one batch after the other, and a line of progress for each."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from workers.spark.batches import Batches, Done, Job
from workers.spark.checkpoint import Checkpoint
from workers.spark.failure import UNREADABLE, JobError
from workers.spark.formats import Format, avro_format, json_format
from workers.spark.history import History
from workers.spark.jars import jars_of
from workers.spark.mirror import Mirror
from workers.spark.mirror_config import MirrorConfig
from workers.spark.records import stream_records
from workers.spark.registry import RegistryAuth, SchemaRegistry
from workers.spark.session import IVY, find_java, open_session
from workers.spark.sinks import DeltaPlace, IcebergPlace, ParquetPlace, Place, PostgresPlace, jar_groups, sink_of
from workers.spark.source_catalog import catalog_of
from workers.spark.table import Sink, Table
from workers.spark.topic_layouts import Topic
from workers.spark.transactions import Transactions

_LOCAL: dict[str, str] = {
    # Batches are large and their plans come again and again: compiled, and by the JVM's second compiler too.
    "spark.sql.codegen.wholeStage": "true",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4",
    "spark.driver.memory": "2g",
    # Spark describes each plan in words for its web page; large ones take seconds.
    "spark.sql.maxPlanStringLength": "200",
    # Tables of one batch are brought in side by side: none waits for the tasks of a large one.
    "spark.scheduler.mode": "FAIR",
}


def session_of(config: MirrorConfig, name: str, *groups: str) -> SparkSession:
    """A session with what the configuration's topics and sink need, and ``groups`` of jars besides.

    Raises JobError when there is no Java for Spark, or a jar cannot be had.
    """
    java = find_java()
    needed = ("kafka", *jar_groups(place_of(config)), *(("avro",) if config.format == "avro" else ()), *groups)
    settings = {**_LOCAL, **config.spark}
    spark = open_session(
        f"{name} {config.name}", java, jars_of(java, IVY, tuple(dict.fromkeys(needed))), master=config.master, settings=settings
    )
    spark.sparkContext.setLogLevel("FATAL")
    return spark


def place_of(config: MirrorConfig, mirror: str = "") -> Place:
    """The sink's place as the configuration tells it; ``mirror`` names the stream that writes there."""
    sink = config.sink
    drop = sink.dropped_columns == "drop"
    match sink.format:
        case "delta":
            return DeltaPlace(sink.path, sink.catalog, drop)
        case "iceberg":
            catalog = sink.catalog or "mirror"
            settings = {} if sink.path is None else {"type": "hadoop", "warehouse": sink.path}
            return IcebergPlace(catalog, settings, drop)
        case "parquet":
            return ParquetPlace(str(sink.path), drop)
        case _:
            return PostgresPlace(str(sink.dsn), sink.schemas, mirror, drop)


def format_of(config: MirrorConfig) -> Format:
    """How the configuration's topics are written."""
    if config.format == "avro" and config.registry is not None:
        known = config.registry
        auth = RegistryAuth(known.user, known.password, known.token, None if known.ca is None else Path(known.ca))
        return avro_format(config.placeholder, SchemaRegistry(known.url, auth))
    return json_format(config.placeholder, None if config.dsn is None else catalog_of(config.dsn))


class Run:
    """One run of the stream, until it ends by itself (``available-now``), is told to, or fails."""

    def __init__(
        self,
        config: MirrorConfig,
        spark: SparkSession,
        apply: Callable[[DataFrame, int], Done],
        checkpoint: Checkpoint,
        say: Callable[[str], None],
    ) -> None:
        self._config = config
        self._spark = spark
        self._apply = apply
        self._checkpoint = checkpoint
        self._say = say
        self._stop = threading.Event()
        self._failure: Exception | None = None

    def stop(self) -> None:
        """End after the batch that is under way."""
        self._stop.set()

    def run(self) -> None:
        """Run. Raises JobError, or what Spark raises, when a batch fails."""
        query = self._start()
        told = None
        try:
            while query.isActive and not self._stop.is_set():
                query.awaitTermination(1)
                told = self._lag(query, told)
            if self._stop.is_set():
                query.stop()
        finally:
            if self._failure is not None:
                raise self._failure
        failure = query.exception()
        if failure is not None:
            raise failure

    def _start(self) -> StreamingQuery:
        config = self._config
        options = {"maxOffsetsPerTrigger": str(config.batch_records), "maxRecordsPerPartition": str(config.task_records), **config.kafka}
        records = stream_records(self._spark, config.bootstrap, config.pattern, options)
        writer = records.writeStream.queryName(config.name).option("checkpointLocation", self._checkpoint.stream).foreachBatch(self._batch)
        if config.trigger == "available-now":
            return writer.trigger(availableNow=True).start()
        interval = "0 seconds" if config.trigger == "continuous" else config.trigger
        return writer.trigger(processingTime=interval).start()

    def _batch(self, records: DataFrame, batch: int) -> None:
        try:
            done = self._apply(records, batch)
        except Exception as error:  # noqa: BLE001 - raised again by run
            # Kept here, since through Java it would come back as a text, with the values that Spark quotes in it.
            self._failure = error
            raise JobError(UNREADABLE, "The batch failed.") from None
        age = "" if done.newest_ms is None else f", newest record {max(0.0, time.time() - done.newest_ms / 1000):.1f} s old"
        aside = f", {done.passed_over:,} passed over" if done.passed_over else ""
        aside += f", {done.waiting:,} wait for what belongs to them" if done.waiting else ""
        rate = done.records / max(done.seconds, 0.001)
        self._say(f"batch {batch}: {done.records:,} records of {done.tables} tables in {done.seconds:.1f} s ({rate:,.0f}/s){aside}{age}")

    def _lag(self, query: StreamingQuery, told: int | None) -> int | None:
        """Say once for each batch how many records are still to be read."""
        progress: Any = query.lastProgress
        if progress is None or progress["batchId"] == told:
            return told
        behind = [int(float(source["metrics"]["maxOffsetsBehindLatest"])) for source in progress["sources"] if source.get("metrics")]
        if behind and max(behind) > 0:
            self._say(f"behind: the furthest topic partition by {max(behind):,} records")
        return int(progress["batchId"])


def run_mirror(config: MirrorConfig, spark: SparkSession | None = None, say: Callable[[str], None] | None = None) -> None:
    """Mirror the topics until told to end (SIGINT, SIGTERM) or, with ``available-now``, until all that was there is mirrored."""
    _run(config, "mirror", Mirror, spark, say)


def run_history(config: MirrorConfig, spark: SparkSession | None = None, say: Callable[[str], None] | None = None) -> None:
    """The same for histories. A column that the source drops stays in them."""
    _run(replace(config, sink=replace(config.sink, dropped_columns="keep")), "history", History, spark, say)


def _run(
    config: MirrorConfig, name: str, job: Callable[[Sink], Job], spark: SparkSession | None, say: Callable[[str], None] | None
) -> None:
    session = spark or session_of(config, name)
    try:
        checkpoint = Checkpoint(session, config.checkpoint)
        sink = sink_of(place_of(config, f"{config.name} {checkpoint.identity()}"), session)
        batches = Batches(checkpoint, format_of(config), sink, job(sink), transactions_of(config))
        run = Run(config, session, batches.apply, checkpoint, say or _print)
        with _signals(run):
            run.run()
    finally:
        if spark is None:
            session.stop()


def transactions_of(config: MirrorConfig) -> Transactions | None:
    """How whole transactions are found; None when each record goes by itself."""
    if config.consistency != "transaction":
        return None
    topic = config.transaction_topic or f"{config.prefix}.transaction"
    return Transactions(topic, config.pattern, config.prefix or topic.removesuffix(".transaction"))


def mirrored_tables(config: MirrorConfig, spark: SparkSession) -> list[Table]:
    """The tables that the mirror's last batch knew, by name."""
    schemas = format_of(config).schemas
    topics = Checkpoint(spark, config.checkpoint).last().topics
    found = [Topic(name, state, schemas.layout) for name, state in sorted(topics.items())]
    return [topic.table for topic in found if topic.is_table]


class _signals:  # noqa: N801 - reads as a statement: with _signals(run)
    """SIGINT and SIGTERM end the run in order; only the main thread may take them."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._former: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._former[number] = signal.signal(number, self._end)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self._run.stop()


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
