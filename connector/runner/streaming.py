"""Streaming: frames from the slot through the state machine to Kafka, and positions back to the offset topic and the slot."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import Final

from connector.capture import Capture
from connector.config import ConnectorConfig
from connector.errors import CdcError, ErrorKind
from connector.io import pg_catalog
from connector.io.kafka_sink import KafkaSink
from connector.io.pg_connection import Connection
from connector.io.pg_replication import Replication
from connector.io.pg_server import slot_xmin
from connector.lsn import format_lsn
from connector.messages import MessageTopic, prefix_filter
from connector.offsets import Position, StoredOffset, partition, resume_point
from connector.ports import TaskContext
from connector.runner.heartbeat import Heartbeat
from connector.runner.xmin import watch_xmin
from connector.stream import LiveTable, Stream, StreamSettings
from connector.table import CatalogTable, join_relation, same_shape
from connector.transactions import TransactionLog

_log = logging.getLogger(__name__)

_BURST: Final = 512
"""Frames worked on before the producer gets its turn: about 5 ms of work."""
_BURST_BYTES: Final = 262_144
_STORE_S: Final = 0.5
"""How often at most the offset is written while events flow; offset.flush.interval.ms may ask for more often."""


class StreamRun:
    """One run of the stream, from START_REPLICATION to the stop or the first failure.

    ``offset`` is the one that streaming goes on from, if any; ``ts_us`` the time of the last transaction or of the snapshot (µs
    since 1970, 0 when unknown); ``start`` the LSN the server was asked to begin at.
    """

    def __init__(
        self,
        context: TaskContext,
        config: ConnectorConfig,
        capture: Capture,
        sink: KafkaSink,
        query: Connection,
        replication: Replication,
        settings: StreamSettings,
        *,
        offset: StoredOffset | None,
        ts_us: int,
        start: int,
    ) -> None:
        self._context = context
        self._config = config
        self._capture = capture
        self._sink = sink
        self._query = query
        self._replication = replication
        self._former = settings.form.former
        self._stream = Stream(
            settings,
            last_commit=offset.commit if offset else None,
            resume=resume_point(offset),
            on_conversion_failure=_warn_conversion,
            on_event_failure=_warn_event,
            passed_message=offset.passed_message if offset else 0,
            counts=offset.counts if offset else None,
            ts_us=ts_us,
            transactions=_transaction_log(context, config, capture, sink),
            messages=_message_topic(context, config, capture, sink),
        )
        self._known: dict[tuple[str, str], CatalogTable] = {}
        self._stored: Position | None = None
        self._confirmed = start
        self._answer = asyncio.Event()
        self._base_events = context.progress.events

    async def run(self, stop: asyncio.Event, heartbeat: Heartbeat) -> None:
        """Stream until ``stop`` is set, then wait for the acknowledgements and store the last offset. Raises what broke it."""
        xmin_ms = self._config.xmin_fetch_interval_ms
        if xmin_ms:
            # Known before the first event, as in the reference.
            self._see_xmin(await slot_xmin(self._query, self._config.slot_name))
        reader = asyncio.create_task(self._read(), name="read the stream")
        keeper = asyncio.create_task(self._keep(), name="keep the slot")
        stopped = asyncio.create_task(stop.wait(), name="stop the stream")
        own = [reader, keeper, stopped]
        if xmin_ms:
            watch = watch_xmin(self._query, self._config.slot_name, xmin_ms, self._see_xmin)
            own.append(asyncio.create_task(watch, name="look at the slot's xmin"))
        watched = {*own} | ({heartbeat.task} if heartbeat.task else set())
        try:
            done, _ = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            for task in done - {stopped}:
                task.result()
        finally:
            for task in own:
                task.cancel()
            await asyncio.gather(*own, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._sink.drained(), self._config.executor_shutdown_timeout_ms / 1000)
        self._mark()
        if await self._store():
            await self._confirm()

    def _see_xmin(self, xmin: int | None) -> None:
        self._stream.xmin = xmin

    async def _read(self) -> None:
        stream, sink, progress = self._stream, self._sink, self._context.progress
        while True:
            frames = await self._replication.frames(_BURST, _BURST_BYTES)
            received_at = time.monotonic()
            used = stream.feed(frames, time.time_ns())
            while used < len(frames) or stream.wanted is not None:
                sink.pump()
                await self._adopt(received_at)
                frames = frames[used:]
                used = stream.feed(frames, time.time_ns())
            sink.pump()
            if stream.position is not None:
                sink.mark(stream.position)
            progress.events = self._base_events + stream.events
            progress.received_lsn = stream.received
            progress.last_event_source_ms = stream.source_ms
            if stream.reply_asked:
                self._answer.set()
            # The producer's tasks run on this loop too; with data always there nothing above would yield.
            await asyncio.sleep(0)
            await sink.room()

    async def _adopt(self, received_at: float) -> None:
        """Bring the catalog's facts for the relation the stream stopped at."""
        stream = self._stream
        relation = stream.wanted
        if relation is None:
            return
        if not self._capture.tables.captures(relation.schema, relation.table):
            stream.adopt(relation, None)
            return
        name = (relation.schema, relation.table)
        before = self._known.get(name)
        if before is not None and not same_shape(relation, before):
            # DDL comes in runs. The reference looks at the catalog when it polls next; we wait as long as it may, so
            # that defaults and keys are those of the run's end and not of its middle.
            await asyncio.sleep(max(0.0, received_at + self._config.poll_interval_ms / 1000 - time.monotonic()))
            _log.info("table changed table=%s.%s", *name)
        table = join_relation(relation, await pg_catalog.read_table(self._query, *name))
        if self._capture.unknown_types(table):
            self._capture.types = await pg_catalog.read_types(self._query)
        self._known[name] = table
        encoder = self._capture.encoder(table)
        stream.adopt(relation, LiveTable(encoder, self._capture.source(table), self._sink.out(encoder.topic)))

    def _mark(self) -> None:
        idle = self._stream.idle_position()
        if idle is not None and self._sink.idle:
            self._sink.mark(idle)

    async def _keep(self) -> None:
        """Store offsets, confirm them to the slot, and answer the server before it gives up on us."""
        status_s = self._config.status_update_interval_ms / 1000
        pace = min(_STORE_S, self._context.offset_flush_interval)
        told = time.monotonic()
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._answer.wait(), pace)
            # A batch that failed is told here when the database is silent and the reader waits.
            self._sink.pump()
            asked = self._answer.is_set()
            self._answer.clear()
            self._stream.reply_asked = False
            due = time.monotonic() - told >= status_s
            if due or asked:
                self._mark()
            if await self._store() or due or asked:
                told = time.monotonic()
                await self._confirm()

    async def _store(self) -> bool:
        """Write the reached position's offset; True when it was a new one."""
        reached = self._sink.reached
        if reached is None or reached == self._stored:
            return False
        await self._context.offsets.store(partition(self._config.topic_prefix), reached.to_offset(former=self._former))
        self._stored = reached
        self._confirmed = max(self._confirmed, reached.confirmable)
        self._context.progress.acknowledged_lsn = self._confirmed
        return True

    async def _confirm(self) -> None:
        flushed = 0 if self._config.lsn_flush_mode == "manual" else self._confirmed
        limit_ms, action = self._config.lsn_flush_timeout_ms, self._config.lsn_flush_timeout_action
        try:
            async with asyncio.timeout(limit_ms / 1000):
                await self._replication.confirm(max(self._stream.received, self._confirmed), flushed, time.time_ns())
        except TimeoutError as error:
            if action == "fail":
                raise CdcError(
                    ErrorKind.SOURCE_TIMEOUT,
                    f"The server did not take a confirmation for slot {self._config.slot_name} within {limit_ms} ms",
                    "See to the network between worker and server, or raise lsn.flush.timeout.ms",
                ) from error
            if action == "warn":
                _log.warning("confirmation not taken in time slot=%s ms=%d", self._config.slot_name, limit_ms)


def _transaction_log(context: TaskContext, config: ConnectorConfig, capture: Capture, sink: KafkaSink) -> TransactionLog | None:
    if not config.provide_transaction_metadata:
        return None
    return TransactionLog(context.key_converter, context.value_converter, sink.out(capture.topics.transaction()))


def _message_topic(context: TaskContext, config: ConnectorConfig, capture: Capture, sink: KafkaSink) -> MessageTopic:
    return MessageTopic(
        prefix_filter(config.message_prefix_include_list, config.message_prefix_exclude_list),
        capture.message_source(),
        config.binary_handling_mode,
        context.key_converter,
        context.value_converter,
        sink.out(capture.topics.message()),
    )


def _warn_event(table: str, lsn: int, reason: str) -> None:
    _log.warning("event left out table=%s lsn=%s reason=%s", table, format_lsn(lsn), reason)


def _warn_conversion(table: str, column: str, reason: str) -> None:
    _log.warning("value sent as null table=%s column=%s reason=%s", table, column, reason)
