"""Streaming: frames from the slot through the state machine to Kafka, and positions back to the offset topic and the slot."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import replace
from typing import Final

from connector.bulk import BulkReader
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
from connector.pgoutput import Relation
from connector.ports import TaskContext
from connector.runner.blocking import BlockingSnapshot
from connector.runner.heartbeat import Heartbeat
from connector.runner.incremental import IncrementalRun
from connector.runner.notifier import Notifier
from connector.runner.reselection import complete_rows
from connector.runner.signals import Signals, SignalSources
from connector.runner.xmin import watch_xmin
from connector.snapshotter import CustomSnapshot
from connector.stream import LiveTable, Stream, StreamSettings
from connector.table import CatalogTable, former_key, join_relation, same_shape
from connector.transactions import TransactionLog

_log = logging.getLogger(__name__)

_BURST: Final = 512
"""Frames worked on before the producer gets its turn: about 5 ms of work."""
_BURST_BYTES: Final = 262_144
_SETTLE_S: Final = 0.05
"""How long after its commit a table's first change is looked at."""
_ASK_S: Final = 0.05
"""How often the server is asked how far it is, while an incremental snapshot waits for that."""
_STORE_S: Final = 0.5
"""How often at most the offset is written while events flow; offset.flush.interval.ms may ask for more often."""


class StreamRun:
    """One run of the stream, from START_REPLICATION to the stop or the first failure.

    ``offset`` is the one that streaming goes on from, if any; ``last`` the one stored last, the snapshot's too; ``start`` the LSN
    up to which the server sends nothing; ``publication`` what pgoutput reads, None for other plugins.
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
        notifier: Notifier,
        custom: CustomSnapshot,
        *,
        offset: StoredOffset | None,
        last: StoredOffset | None,
        start: int,
        publication: str | None,
        sources: SignalSources,
        bulk: BulkReader | None = None,
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
            ts_us=last.ts_us if last else 0,
            txid=last.txid if last else None,
            event=(last.lsn or 0) if last else 0,
            transactions=_transaction_log(context, config, capture, sink),
            messages=_message_topic(context, config, capture, sink),
        )
        self._known: dict[tuple[str, str], CatalogTable] = {}
        self._relations: dict[tuple[str, str], Relation] = {}
        self._gate = asyncio.Lock()
        """Held while frames are worked on: the stream stands still for whoever holds it."""
        self._incremental = IncrementalRun(
            context, config, capture, sink, self._stream, notifier, headers=settings.headers, publication=publication, ended=self._look
        )
        self._signals = Signals(
            config,
            capture,
            query,
            self._stream,
            self._incremental,
            BlockingSnapshot(context, config, capture, sink, notifier, settings.headers, custom, bulk),
            sources,
            gate=self._gate,
            refresh=self._refresh,
            changed=self._mark_change,
        )
        sink.frontier.begin(start, offset.position if offset else None)
        self._answer = asyncio.Event()
        self._base_events = context.progress.events

    async def run(self, stop: asyncio.Event, heartbeat: Heartbeat) -> None:
        """Stream until ``stop`` is set, then wait for the acknowledgements and store the last offset. Raises what broke it."""
        self._sink.bind(to_marks=True)
        xmin_ms = self._config.xmin_fetch_interval_ms
        if xmin_ms:
            # Known before the first event, as in the reference.
            self._see_xmin(await slot_xmin(self._query, self._config.slot_name))
        stored = await self._context.offsets.load(partition(self._config.topic_prefix))
        self._incremental.resume(stored or {})
        async with contextlib.AsyncExitStack() as stack:
            await self._signals.start(stack)
            await self._run(stop, heartbeat, xmin_ms)

    async def _run(self, stop: asyncio.Event, heartbeat: Heartbeat, xmin_ms: int) -> None:
        reader = asyncio.create_task(self._read(), name="read the stream")
        keeper = asyncio.create_task(self._keep(), name="keep the slot")
        stopped = asyncio.create_task(stop.wait(), name="stop the stream")
        own = [
            reader,
            keeper,
            stopped,
            asyncio.create_task(self._incremental.run(), name="read chunks"),
            asyncio.create_task(self._ask(), name="ask how far the server is"),
            asyncio.create_task(self._signals.run(), name="obey signals"),
        ]
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
        if self._sink.stores_offsets:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._sink.drained(), self._config.executor_shutdown_timeout_ms / 1000)
        if await self._store():
            await self._confirm()

    def _see_xmin(self, xmin: int | None) -> None:
        self._stream.xmin = xmin

    async def _read(self) -> None:
        stream, sink, progress = self._stream, self._sink, self._context.progress
        while True:
            frames = await self._replication.frames(_BURST, _BURST_BYTES)
            async with self._gate:
                await self._work(frames)
            progress.events = self._base_events + stream.events
            progress.received_lsn = stream.received
            progress.last_event_source_ms = stream.source_ms
            if stream.reply_asked:
                self._answer.set()
            # The producer's tasks run on this loop too; with data always there nothing above would yield.
            await asyncio.sleep(0)
            await sink.room()

    async def _work(self, frames: list[bytes]) -> None:
        stream, sink = self._stream, self._sink
        received_at = time.monotonic()
        used = stream.feed(frames, time.time_ns())
        while used < len(frames) or stream.wanted is not None or stream.signal is not None or stream.asked is not None:
            sink.pump()
            await self._adopt(received_at)
            row = stream.take_signal()
            if row is not None:
                await self._signals.row(row)
            await complete_rows(self._query, stream, self._capture.types, sink)
            await self._signals.at_rest()
            frames = frames[used:]
            used = stream.feed(frames, time.time_ns())
        await self._signals.at_rest()
        if self._incremental.after_frames() and stream.position is None:
            # Nothing was streamed yet: the position of an idle server is the first one there is.
            stream.position = stream.idle_position()
        sink.pump()
        self._mark_change()

    async def _look(self) -> None:
        """Do what comes after frames without any: send and mark what other tasks have brought about."""
        async with self._gate:
            await self._work([])

    def _mark_change(self) -> None:
        """What was sent so far, and the state of the incremental snapshot, count from the stream's position on."""
        stream, due = self._stream, bool(self._signals.due)
        self._sink.bind(to_marks=not due)
        if stream.position is not None and not due and not stream.only_begun:
            self._sink.mark(self._with_snapshot(stream.position))

    def _with_snapshot(self, position: Position) -> Position:
        if not self._incremental.state.running:
            return position
        return replace(position, incremental=tuple(self._incremental.stored().items()))

    async def _ask(self) -> None:
        """While a window without watermarks waits for a position, ask the server how far it is: an idle one does not tell by itself."""
        while True:
            await self._incremental.passed.wait()
            await self._replication.ask(self._written_lsn, self._confirmed_lsn, time.time_ns())
            await asyncio.sleep(_ASK_S)

    async def _refresh(self, schema: str, table: str) -> None:
        """Look at a streamed table again (signal schema-changes)."""
        relation = self._relations.get((schema, table))
        if relation is not None:
            await self._join(relation)
            _log.info("table looked at again table=%s.%s", schema, table)

    async def _adopt(self, received_at: float) -> None:
        """Bring the catalog's facts for the relation the stream stopped at."""
        stream = self._stream
        relation = stream.wanted
        if relation is None:
            return
        if not self._capture.captures(relation.schema, relation.table):
            stream.adopt(relation, None)
            return
        name = (relation.schema, relation.table)
        before = self._known.get(name)
        if before is None:
            # DDL that follows a table's first change at once counts for that change too, as it does in the reference, which
            # looks later. Once for each table and run, and not for what was committed longer ago.
            await asyncio.sleep(min(_SETTLE_S, max(0.0, stream.source_ms / 1000 + _SETTLE_S - time.time())))
        elif not same_shape(relation, before):
            # DDL comes in runs. The reference looks at the catalog when it polls next; we wait as long as it may, so
            # that defaults and keys are those of the run's end and not of its middle.
            await asyncio.sleep(max(0.0, received_at + self._config.poll_interval_ms / 1000 - time.monotonic()))
            _log.info("table changed table=%s.%s", *name)
        await self._join(relation)

    async def _join(self, relation: Relation) -> None:
        name = (relation.schema, relation.table)
        table = join_relation(relation, await pg_catalog.read_table(self._query, *name))
        if self._capture.unknown_types(table):
            self._capture.types = await pg_catalog.read_types(self._query)
        self._known[name] = table
        self._relations[name] = relation
        self._tell_of_former_key(relation, table)
        encoder = self._capture.encoder(table)
        signals = name == self._capture.signal_table
        reselections = self._capture.reselections(table, encoder)
        out = self._sink.out(encoder.topic)
        live = LiveTable(encoder, self._capture.source(table), out, signals=signals, reselections=reselections)
        self._stream.adopt(relation, live)

    def _tell_of_former_key(self, relation: Relation, table: CatalogTable) -> None:
        former, key = former_key(relation, table), self._capture.key_names(table)
        if former and key == (table.primary_key or table.unique_key):
            _log.warning(
                "table was given another key before its changes were read table=%s key=%s before=%s: their events have the new key, by"
                " which consumers cannot tell these rows; let the connector read everything before a key is changed, and now fill"
                " the tables that are made of this topic anew",
                table.name,
                ",".join(key),
                ",".join(former),
            )

    def _mark(self) -> None:
        idle = self._stream.idle_position()
        if idle is not None and self._sink.idle:
            self._sink.mark(self._with_snapshot(idle))

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
        """See to it that the reached position's offset is stored; True when it was a new one."""
        frontier = self._sink.frontier
        mark = frontier.due(self._sink.reached)
        if mark is None:
            return False
        if not self._sink.stores_offsets:
            await self._context.offsets.store(partition(self._config.topic_prefix), mark.position.to_offset(former=self._former))
        frontier.stored(mark)
        self._context.progress.acknowledged_lsn = frontier.confirmed
        return True

    @property
    def _written_lsn(self) -> int:
        return max(self._stream.received, self._sink.frontier.confirmed)

    @property
    def _confirmed_lsn(self) -> int:
        """What the slot may be told."""
        return 0 if self._config.lsn_flush_mode == "manual" else self._sink.frontier.confirmed

    async def _confirm(self) -> None:
        limit_ms, action = self._config.lsn_flush_timeout_ms, self._config.lsn_flush_timeout_action
        try:
            async with asyncio.timeout(limit_ms / 1000):
                await self._replication.confirm(self._written_lsn, self._confirmed_lsn, time.time_ns())
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
        prefix_filter(config.message_prefix_include_list, config.message_prefix_exclude_list, context.backtrack),
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
