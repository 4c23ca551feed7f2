"""Runs a mirror: the session, the stream, its batches in order, and a line of progress for each."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark import inheritable_thread_target
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from workers.spark.failure import UNREADABLE, WRONG, JobError
from workers.spark.jars import jars_of
from workers.spark.jobs.arrival import check_held, covers, end_offsets
from workers.spark.jobs.backlog import expect_unread
from workers.spark.jobs.batch_totals import BatchTotals, said_of, summary
from workers.spark.jobs.batches import Batches, Job
from workers.spark.jobs.checkpoint import Checkpoint, State
from workers.spark.jobs.direct_records import DirectRecords
from workers.spark.jobs.end_signals import end_signals
from workers.spark.jobs.history import History
from workers.spark.jobs.isolation import Isolation
from workers.spark.jobs.kept_tables import KeptTable, kept_of
from workers.spark.jobs.metering import CountedSink, counted, metered, resumed, unread_of
from workers.spark.jobs.mirror import Mirror
from workers.spark.jobs.mirror_config import NEED_AVRO, MirrorConfig
from workers.spark.jobs.rebuild import Rebuild
from workers.spark.jobs.table_ownership import HISTORY, TableOwnership
from workers.spark.jobs.topic_format import format_of
from workers.spark.jobs.transactions import Transactions
from workers.spark.jobs.wal_position import fallen_back, position_of
from workers.spark.maintenance.maintain import lake_of, maintain
from workers.spark.maintenance.schedule import Schedule
from workers.spark.meters.figures import NEVER_WHOLE, Figures
from workers.spark.session import COLLECTOR, JAVA_OPTIONS, SHUFFLE_PARTITIONS, find_java, jar_folder, open_session
from workers.spark.sinks import DeltaPlace, IcebergPlace, ParquetPlace, PostgresPlace, SinkPlace, jar_groups, sink_of, takes_arrow
from workers.spark.sinks.ruled_sink import RuledSink, routed
from workers.spark.source.missing import missing_of
from workers.spark.tables.table import Sink, Table
from workers.spark.topics.broker import Broker, Offsets, check_reachable
from workers.spark.topics.cut_records import java_hash
from workers.spark.topics.formats import Format
from workers.spark.topics.python_client import client_settings
from workers.spark.topics.records import read_range, stream_records
from workers.spark.topics.topic import Topic, table_of
from workers.spark.topics.turns import in_force

LAG_SECONDS: Final = 10.0
"""How often the stream reports its lag."""
LATE_SECONDS: Final = 300.0
"""How long after the end of a transaction its events may still arrive. A producer gives up after 120 s by default (delivery.timeout.ms)."""
LOOK_SECONDS: Final = 1.0
"""How often a run checks whether its stream has failed, and whether maintenance is due. It notices the end of a batch at once."""
NOTE_SECONDS: Final = 0.05
"""How often the end of a stream checks whether Spark has recorded the last batch."""
_COLLECTOR: Final = "-XX:+UseParallelGC"
"""Large batches make much garbage. With this collector, Java takes more memory for new objects if there is a lot to collect, and uses all
cores. A million events took 40 s instead of 44, and 61 CPU-us each instead of 63; the process had 1.5 GB at most instead of 1.0.
"""
_LOCAL: dict[str, str] = {
    # Plans are repeated often, so the JVM's second compiler pays off. Its thresholds are ten times the defaults, because it would compile
    # much of Spark's planning, which then runs too seldom. 640,000 events took 334 CPU-us each instead of 369 (one run each).
    JAVA_OPTIONS: "-XX:TieredStopAtLevel=4 -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000"
    " -XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000",
    # Above the default number of columns (100) each task would generate its code, instead of each stage once.
    "spark.sql.codegen.maxFields": "10000",
    "spark.driver.memory": "2g",
    # A batch's cached rows are read once or twice, so compression costs more than it saves.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # Spark keeps a consumer for each topic partition. Beyond this number, 64 by default, each batch would connect new consumers.
    "spark.kafka.consumer.cache.capacity": "4096",
    # Tables of one batch are written in parallel, and none must wait for the tasks of a large one.
    "spark.scheduler.mode": "FAIR",
}


def session_of(config: MirrorConfig, name: str, *groups: str, kafka: bool = True) -> SparkSession:
    """A session with the jars and settings for the configuration's topics and sink, and the additional ``groups`` of jars.

    Raises JobError when Java is missing, a jar cannot be downloaded, or, if ``kafka`` is true, Kafka cannot be reached.
    """
    java = find_java()
    if kafka:
        check_reachable(config.bootstrap)
    s3 = any(path.startswith("s3a://") for path in (config.checkpoint, config.sink.path or ""))
    needed = ("kafka", *jar_groups(place_of(config)), *(("s3",) if s3 else ()), *(("avro",) if config.format in NEED_AVRO else ()), *groups)
    own = config.spark.get(JAVA_OPTIONS, "")
    options = " ".join(filter(None, (_LOCAL[JAVA_OPTIONS], "" if COLLECTOR.search(own) else _COLLECTOR, own)))
    settings = {**_LOCAL, **config.spark, JAVA_OPTIONS: options}
    spark = open_session(
        f"{name} {config.name}", java, jars_of(java, jar_folder(), tuple(dict.fromkeys(needed))), master=config.master, settings=settings
    )
    spark.sparkContext.setLogLevel("FATAL")
    return spark


def place_of(config: MirrorConfig, mirror: str = "") -> SinkPlace:
    """The sink's place in the configuration. ``mirror`` names the stream that writes there."""
    sink = config.sink
    drop = sink.dropped_columns == "drop"
    match sink.format:
        case "delta":
            return DeltaPlace(sink.path, sink.catalog, drop, readers=sink.readers)
        case "iceberg":
            catalog = sink.catalog or "mirror"
            settings = {} if sink.path is None else {"type": "hadoop", "warehouse": sink.path}
            return IcebergPlace(catalog, settings, drop)
        case "parquet":
            return ParquetPlace(str(sink.path), drop)
        case _:
            return PostgresPlace(str(sink.dsn), sink.schemas, mirror, drop)


class Run:
    """One run of the stream, until it has read up to ``ends`` (None: without end), is stopped, or fails."""

    def __init__(
        self,
        config: MirrorConfig,
        spark: SparkSession,
        apply: Callable[[DataFrame, int], BatchTotals],
        checkpoint: Checkpoint,
        say: Callable[[str], None],
        ends: Offsets | None,
        upkeep: Schedule | None = None,
        unread: Callable[[Mapping[str, int]], None] | None = None,
        maintenance: Callable[[], AbstractContextManager[None]] = nullcontext,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self._prepare = prepare
        self._prepared: Future[None] | None = None
        self._maintenance = maintenance
        self._unread = unread
        self._upkeep = upkeep
        self._ends = ends
        self._config = config
        self._spark = spark
        self._apply = apply
        self._checkpoint = checkpoint
        self._say = say
        self._stop = threading.Event()
        self._news = threading.Event()
        """A batch has ended, or the run shall."""
        self._turn = threading.Lock()
        self._over = False
        self._lag_at = time.monotonic() + LAG_SECONDS
        self._failure: Exception | None = None
        self._applied: int | None = None

    def stop(self) -> None:
        """End after the present batch."""
        self._stop.set()
        self._news.set()

    def run(self) -> None:
        """Run the stream. Raises JobError, or Spark's error, when a batch fails."""
        if self._arrived():
            return
        # Spark needs a second until it has the first batch, which waits until it is prepared.
        with ThreadPoolExecutor(1, thread_name_prefix="prepare") as pool:
            self._prepared = pool.submit(inheritable_thread_target(self._spark)(self._prepare))
            query = self._start()
        while query.isActive and not self._stop.is_set() and not self._arrived():
            self._news.wait(LOOK_SECONDS)
            self._news.clear()
            self._tell_lag()
            self._maintain()
        self._end(query)

    def _maintain(self) -> None:
        """Maintain one table if that is due. No batch runs at the same time; the next one waits."""
        if self._upkeep is not None and self._upkeep.due():
            with self._turn, self._maintenance():
                self._upkeep.step()

    def _arrived(self) -> bool:
        # Spark may not have recorded yet that the last batch is done.
        return self._ends is not None and covers(self._checkpoint.offsets(self._applied), self._ends)

    def _end(self, query: StreamingQuery) -> None:
        failure = None if query.isActive else query.exception()
        # The end is between two batches: the present one is finished first.
        with self._turn:
            self._over = True
        self._await_note(query)
        query.stop()
        if self._failure is not None:
            raise self._failure
        if failure is not None:
            raise failure

    def _await_note(self, query: StreamingQuery) -> None:
        """Wait until Spark has recorded the last batch as done. Otherwise the next start would repeat it."""
        with suppress(StreamingQueryException):
            while self._applied is not None and not self._noted(self._applied) and not query.awaitTermination(NOTE_SECONDS):
                pass

    def _noted(self, batch: int) -> bool:
        finished = self._checkpoint.finished()
        return finished is not None and finished >= batch

    def _start(self) -> StreamingQuery:
        config = self._config
        options = {"maxOffsetsPerTrigger": str(config.batch_records), "maxRecordsPerPartition": str(config.task_records), **config.kafka}
        records = stream_records(self._spark, config.bootstrap, config.pattern, options)
        writer = records.writeStream.queryName(config.name).option("checkpointLocation", self._checkpoint.stream).foreachBatch(self._batch)
        interval = "0 seconds" if config.trigger in ("continuous", "available-now") else config.trigger
        return writer.trigger(processingTime=interval).start()

    def _batch(self, records: DataFrame, batch: int) -> None:
        # A checkpoint restores the number of partitions of its first start, which may have been on another machine.
        records.sparkSession.conf.set(SHUFFLE_PARTITIONS, str(self._spark.conf.get(SHUFFLE_PARTITIONS)))
        with self._turn:
            if self._over:
                # The error keeps Spark from recording the batch as done.
                raise JobError(UNREADABLE, "The stream has been ended.")
            try:
                if self._prepared is not None:
                    self._prepared.result()
                done = self._apply(records, batch)
                self._applied = batch
            except Exception as error:  # noqa: BLE001 - raised again by run
                # The error is kept here, because Java would return it as text, with values that Spark quotes.
                self._failure = error
                raise JobError(UNREADABLE, "The batch failed.") from None
            finally:
                self._news.set()
        for line in done.aside:
            self._say(line)
        self._say(summary(f"batch {batch}", done))

    def _tell_lag(self) -> None:
        """Report from time to time how many records are unread."""
        if time.monotonic() < self._lag_at:
            return
        self._lag_at = time.monotonic() + LAG_SECONDS
        read = self._checkpoint.offsets()
        try:
            topics = unread_of(read, end_offsets(self._spark, self._config))
        except JobError as error:
            # Only the stream itself decides whether it can go on.
            self._say(f"The unread records could not be counted. {error}")
            return
        if self._unread is not None:
            self._unread(topics)
        behind = sum(topics.values())
        if behind:
            self._say(f"behind by {behind:,} records")


def run_mirror(
    config: MirrorConfig, spark: SparkSession | None = None, say: Callable[[str], None] | None = None, rebuild: Sequence[str] = ()
) -> None:
    """Mirror the topics until SIGINT or SIGTERM or, with ``available-now``, until all present records are mirrored.

    Tables named in ``rebuild`` are first rebuilt from the start of their topics.
    """
    _run(config, "mirror", partial(Mirror, rules=config.rules), spark, say, rebuild)


def run_history(
    config: MirrorConfig, spark: SparkSession | None = None, say: Callable[[str], None] | None = None, rebuild: Sequence[str] = ()
) -> None:
    """Keep histories, as :func:`run_mirror`. A column that the source drops stays in them.

    Raises JobError for rules that change the rows of a table.
    """
    if any(rule.changes_rows for rule in config.table):
        raise JobError(
            WRONG,
            "[[table]] has soft_delete, columns, exclude_columns or mask. A history has whole rows: only route and partition_by fit.",
        )
    _run(replace(config, sink=replace(config.sink, dropped_columns="keep")), "history", History, spark, say, rebuild)


def _run(
    config: MirrorConfig,
    name: str,
    job: Callable[[Sink], Job],
    spark: SparkSession | None,
    say: Callable[[str], None] | None,
    rebuild: Sequence[str],
) -> None:
    session, say = spark or session_of(config, name), say or _print
    with ExitStack() as opened:
        if spark is None:
            opened.callback(session.stop)
        broker = Broker(session, config.bootstrap, config.kafka)
        # Spark's own trigger of this name is not used: it fails on the batch that is repeated after a crash (4.1.1, the newer reader).
        now = config.trigger == "available-now"
        topics = broker.topics(config.pattern)
        _check_topics(config, topics, now=now, say=say)
        checkpoint = _opened(config, session, say)
        place = sink_of(place_of(config, f"{config.name} {checkpoint.identity()}"), session)
        suffix = HISTORY if name == "history" else ""
        sink = ruled(config, place, session, say, history=name == "history")
        ends = broker.ends(topics) if now else None
        form, isolation = format_of(config), Isolation(checkpoint if config.sink.on_failure == "set-aside" else None)
        records = partial(read_range, session, config.bootstrap, options=config.kafka)
        again = Rebuild(checkpoint, broker, topics, form, records, suffix)
        figures = Figures(between=config.between)
        direct = _direct(config, form, session, checkpoint, say)
        if direct is not None:
            opened.callback(direct.close)
        batches = Batches(
            checkpoint,
            form,
            sink if config.metrics is None else CountedSink(sink, figures),
            job(sink),
            transactions_of(config),
            partial(_behind, config, session, checkpoint, ends),
            checkpoint.counts,
            direct=(lambda _batch, _octets: None) if direct is None else direct.of,
            in_arrow=session.sparkContext.defaultParallelism if takes_arrow(place_of(config), session) else 0,
            missing=None if config.dsn is None else missing_of(config.dsn),
            ownership=TableOwnership(checkpoint, sink, rebuild, again.lacks, suffix),
            isolation=isolation,
        )
        if (rebuilt := again.run(rebuild, batches)) is not None:
            say(summary("rebuild", rebuilt))
        # Also those of a batch that a crash ended before its state was stored: the batch is repeated.
        isolation.clear(checkpoint.last().topics)
        _say_aside(checkpoint.last(), say)
        resumed(figures, checkpoint.last().topics, checkpoint.last().lacking)
        apply = batches.apply if config.metrics is None else counted(batches.apply, figures, lambda: checkpoint.last().topics)
        upkeep = schedule_of(config, session, place, say)
        most = None if direct is None else config.batch_records
        prepare = partial(expect_unread, batches, broker, topics, checkpoint.offsets(), ends, records, most)
        run = Run(config, session, apply, checkpoint, say, ends, upkeep, figures.unread, figures.maintenance, prepare)
        with metered(figures, config.metrics, session, config.name):
            _follow(run, config, session, checkpoint)
        if now:
            _check_complete(checkpoint.last(), time.time())


def _direct(
    config: MirrorConfig, form: Format, session: SparkSession, checkpoint: Checkpoint, say: Callable[[str], None]
) -> DirectRecords | None:
    """The reader of records without a Spark job; None if it cannot read topics of this format, or connect to this Kafka."""
    if form.embedded is None:
        return None
    settings = client_settings(config.bootstrap, config.kafka)
    if settings is None:
        say("Each batch needs a Spark job to read its records, because Python's client does not know all options of [kafka].")
        return None
    return DirectRecords(java_hash(session), checkpoint, settings)


def _opened(config: MirrorConfig, session: SparkSession, say: Callable[[str], None]) -> Checkpoint:
    """Return the checkpoint, checked. Say if the source's position is lower than the checkpoint's."""
    # Spark's source has several options that let it begin elsewhere: startingOffsets and others.
    elsewhere = any(name.lower().startswith("starting") for name in config.kafka)
    checkpoint = Checkpoint(session, config.checkpoint, from_begin=not elsewhere)
    checkpoint.check()
    check_held(session, config, checkpoint)
    if config.dsn is not None and (lower := fallen_back(checkpoint.last(), position_of(config.dsn))) is not None:
        say(lower)
    return checkpoint


def _behind(config: MirrorConfig, session: SparkSession, checkpoint: Checkpoint, ends: Offsets | None, batch: int, topic: str) -> bool:
    """Whether the topic has records after those of the batch, before the ``ends`` if there are any."""
    there = end_offsets(session, config) if ends is None else ends
    return not covers(checkpoint.offsets(batch), {place: end for place, end in there.items() if place[0] == topic})


def _say_aside(state: State, say: Callable[[str], None]) -> None:
    for topic, known in sorted(state.topics.items()):
        if known.aside is not None:
            say(said_of(topic, known))


def _follow(run: Run, config: MirrorConfig, session: SparkSession, checkpoint: Checkpoint) -> None:
    """Run until the end, or until a signal."""
    with end_signals(run.stop):
        try:
            run.run()
        except (PySparkException, Py4JJavaError):
            # Spark's message about removed records suggests an option that would lose them.
            check_held(session, config, checkpoint)
            raise


def _check_topics(config: MirrorConfig, topics: Collection[object], *, now: bool, say: Callable[[str], None]) -> None:
    """Report that no topic matches, if that is so. With ``available-now`` this is a failure, because the run does not wait for topics."""
    if topics:
        return
    which = f"begins with prefix {config.prefix!r}" if config.topics is None else f"matches topics {config.topics!r} as a whole"
    said = f"No topic on {config.bootstrap} {which}"
    if now:
        raise JobError(UNREADABLE, f"{said}. Check it, and whether the connector has written anything that this login may read.")
    say(f"{said} yet: waiting for one.")


def _check_complete(state: State, now: float) -> None:
    """Raise JobError when a table is not up to date because its topic is set aside, or when all topics are set aside.

    So does a transaction whose rest is not in Kafka long after its end. ``now`` is in seconds since 1970.
    """
    if state.lacking is not None and now - state.lacking_ms / 1000 > LATE_SECONDS:
        raise JobError(UNREADABLE, f"Not up to date: {state.lacking}, and later transactions wait for it. {NEVER_WHOLE}")
    aside = {name: known for name, known in state.topics.items() if known.aside is not None}
    tables = sorted(known.kept for known in aside.values() if known.kept is not None)
    if tables:
        raise JobError(UNREADABLE, f"Not up to date: {', '.join(tables)}. Their topics are set aside for the reasons above.")
    if aside and not any(known.kept for known in state.topics.values()):
        raise JobError(UNREADABLE, "None of the topics could be read: see the reasons above, and check format.")


def transactions_of(config: MirrorConfig) -> Transactions | None:
    """The finder of whole transactions; None for consistency ``row``."""
    if config.consistency != "transaction":
        return None
    topic = config.transaction_topic or f"{config.prefix}.transaction"
    return Transactions(topic, config.pattern, config.prefix or topic.rpartition(".")[0])


def mirrored_tables(config: MirrorConfig, spark: SparkSession) -> list[Table]:
    """The tables of the mirror's last batch, in the order of their names."""
    schemas = format_of(config).schemas
    topics = Checkpoint(spark, config.checkpoint).last().topics
    found = [Topic(name, in_force(state), schemas.layout) for name, state in sorted(topics.items())]
    return [topic.table for topic in found if topic.is_table]


def unmirrored_tables(config: MirrorConfig, spark: SparkSession) -> dict[str, str]:
    """Table (``schema.name``) that has no rows, because its topic was set aside before any was written → the reason."""
    topics = Checkpoint(spark, config.checkpoint).last().topics
    kept = {state.kept for state in topics.values()}
    found = {".".join(state.table or table_of(name)): state.aside for name, state in sorted(topics.items()) if state.kept is None}
    return {name: why for name, why in found.items() if why is not None and name not in kept}


def kept_tables(config: MirrorConfig, spark: SparkSession, sink: Sink) -> dict[str, Table]:
    """The tables in the sink, mirrors and histories, under the names that they have there: name without its route → table."""
    named = {one.table.full_name: routed(config.rules, one.table) for one in _kept(config, spark)}
    return {name: one for name, one in named.items() if sink.read(one, spark) is not None}


def ruled(
    config: MirrorConfig, sink: Sink, spark: SparkSession, say: Callable[[str], None] = lambda _: None, *, history: bool = False
) -> Sink:
    """The sink, whose tables follow the configuration's rules, with the tables of earlier batches. ``say``: see :class:`RuledSink`."""
    if not config.table:
        return sink
    filled = [one.table for one in _kept(config, spark) if one.is_history == history]
    return RuledSink(sink, config.rules, say, mirrored_tables(config, spark), filled)


def _kept(config: MirrorConfig, spark: SparkSession) -> list[KeptTable]:
    return kept_of(Checkpoint(spark, config.checkpoint).last().topics, format_of(config).schemas.layout)


def schedule_of(config: MirrorConfig, spark: SparkSession, sink: Sink, say: Callable[[str], None]) -> Schedule | None:
    """The maintenance of a running mirror; None without an interval."""
    if config.maintain.seconds is None:
        return None
    lake = lake_of(sink)
    return Schedule(
        config.maintain.seconds,
        lambda: list(kept_tables(config, spark, sink).values()),
        lambda table: maintain(spark, lake, table, config.maintain),
        say,
    )


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
