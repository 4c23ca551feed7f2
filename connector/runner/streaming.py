"""Streaming: passes frames from the slot through the state machine to Kafka, and positions back to the offset topic and the slot."""

from __future__ import annotations

import asyncio
import contextlib
import math
from dataclasses import replace
from typing import Final, assert_never

from connector import failpoints
from connector.config.connector_config import ConnectorConfig
from connector.delivery.offsets import Position, StoredOffset, partition, resume_point
from connector.delivery.sink import Sink
from connector.errors import CdcError, ErrorKind
from connector.events.capture import Capture
from connector.events.messages import MessageTopic, prefix_filter
from connector.events.stream import Stream
from connector.events.stream_settings import StreamSettings
from connector.events.stream_source import StreamSource
from connector.events.transactions import TransactionLog
from connector.events.transitions import Answer, AtCommit, NeedRelation, NeedReread, Signal, Used
from connector.io.kafka.producer_settings import linger_s
from connector.log import EventLog
from connector.ports import Clock, ReplicationStream, SignalSource
from connector.runner.clock import SYSTEM_CLOCK
from connector.runner.context import TaskContext
from connector.runner.heartbeat import Heartbeat
from connector.runner.incremental import IncrementalRun
from connector.runner.live_tables import LiveTables
from connector.runner.notifications.notifier import Notifier
from connector.runner.reselection import complete_row
from connector.runner.signaling.signals import Signals, SignalSources
from connector.runner.slot.keeper import SlotKeeper
from connector.runner.slot.xmin import watch_xmin
from connector.runner.snapshot.blocking import BlockingSnapshot
from connector.snapshot.bulk import BulkReader
from connector.start.snapshotter import CustomSnapshot

LOG: Final = EventLog(__name__)

_BURST: Final = 512
"""The most frames that are handled before other asyncio tasks, such as the producer's, run. They take about 5 ms."""
_BURST_BYTES: Final = 262_144
_LAST_STORE_S: Final = 0.5
"""Time that Kafka has, after a failure, to acknowledge the records in flight, and again the offset."""


class StreamRun:
    """One run of the stream, from START_REPLICATION to the stop or the first failure.

    ``offset`` is the offset from which streaming resumes, if any. ``last`` is the stored offset, which may be a snapshot's. The server
    sends no transaction that ends before ``start``. The caller closes all arguments.
    """

    def __init__(
        self,
        context: TaskContext,
        config: ConnectorConfig,
        capture: Capture,
        sink: Sink,
        replication: ReplicationStream,
        settings: StreamSettings,
        notifier: Notifier,
        custom: CustomSnapshot,
        *,
        source: StreamSource,
        signal_source: SignalSource,
        offset: StoredOffset | None,
        last: StoredOffset | None,
        start: int,
        sources: SignalSources,
        bulk: BulkReader | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._context = context
        self._config = config
        self._capture = capture
        self._sink = sink
        self._source = source
        self._replication = replication
        self._clock = clock
        self._linger_s = linger_s(context.kafka.producer)
        self._stream = stream = _stream(context, config, capture, sink, settings, offset, last)
        self._tables = LiveTables(config, capture, sink, source, stream, clock, context.table_described)
        self._gate = asyncio.Lock()
        """Held while frames are handled. The stream is suspended while another task holds it."""
        self._incremental = IncrementalRun(context, config, capture, sink, stream, notifier, headers=settings.headers, ended=self._look)
        blocking = BlockingSnapshot(context, capture, sink, notifier, settings.headers, custom, bulk)
        self._signals = Signals(
            config,
            capture,
            signal_source,
            stream,
            self._incremental,
            blocking,
            sources,
            gate=self._gate,
            refresh=self._tables.refresh,
            changed=self._send,
        )
        self._keeper = SlotKeeper(
            context, config, sink, replication, stream, clock, stored_as=self._with_snapshot, emulation=config.emulation
        )
        sink.frontier.begin(start, offset.position if offset else None)
        self._base_events = context.progress.events - context.meters.snapshot.incremental_events

    async def run(self, stop: asyncio.Event, heartbeat: Heartbeat) -> None:
        """Stream until ``stop`` is set, then wait for the acknowledgements and store the last offset. Raises an error that ends the run."""
        self._sink.bind(to_marks=True)
        if self._config.xmin_fetch_interval_ms:
            # As in Debezium, xmin is known before the first event.
            self._see_xmin(await self._source.slot_xmin(self._config.slot_name))
        stored = await self._context.offsets.load(partition(self._config.topic_prefix))
        self._incremental.resume(stored or {})
        async with contextlib.AsyncExitStack() as stack:
            await self._signals.start(stack)
            # Not earlier: who reads this phase may send a signal at once.
            self._context.progress.phase = "streaming"
            try:
                await self._work_until(stop, heartbeat)
                await self._end()
            except Exception as problem:
                await self._keep_acknowledged(problem)
                raise

    async def _work_until(self, stop: asyncio.Event, heartbeat: Heartbeat) -> None:
        stopped = asyncio.create_task(stop.wait(), name="stop the stream")
        own = [
            stopped,
            asyncio.create_task(self._read(), name="read the stream"),
            asyncio.create_task(self._keeper.run(), name="keep the slot"),
            asyncio.create_task(self._keeper.ask_while(self._incremental.passed), name="ask how far the server is"),
            asyncio.create_task(self._incremental.run(), name="read chunks"),
            asyncio.create_task(self._signals.run(), name="obey signals"),
        ]
        xmin_ms = self._config.xmin_fetch_interval_ms
        if xmin_ms:
            watch = watch_xmin(self._source, self._config.slot_name, xmin_ms, self._see_xmin, self._clock)
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

    async def _end(self) -> None:
        await self._drain()
        self._keeper.send_idle()
        if self._sink.stores_offsets:
            await self._drain()
        await self._keeper.end()

    async def _keep_acknowledged(self, problem: Exception) -> None:
        """Store the offset after a failure, if Kafka answers soon. Without it, failures at short intervals would repeat the same records.

        A run that is cancelled stores nothing, as in Kafka Connect.
        """
        if self._sink.stores_offsets or (isinstance(problem, CdcError) and problem.kind in (ErrorKind.STORE, ErrorKind.SINK_FENCED)):
            return
        for step in (self._sink.drained, self._keeper.store):
            # What fails here is known already, or is met again by the next run.
            with contextlib.suppress(Exception):
                async with self._clock.timeout(_LAST_STORE_S):
                    await step()

    async def _drain(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with self._clock.timeout(self._config.executor_shutdown_timeout_ms / 1000):
                await self._sink.drained()

    def _see_xmin(self, xmin: int | None) -> None:
        self._stream.xmin = xmin

    async def _read(self) -> None:
        stream, sink, progress = self._stream, self._sink, self._context.progress
        last = -math.inf
        while True:
            frames = await self._replication.frames(_BURST, _BURST_BYTES, self._until(last))
            began, before = self._clock.monotonic(), stream.events
            try:
                async with self._gate:
                    await self._work(frames)
            finally:
                # A record that a transform or converter refuses ends the task; it was read too.
                progress.events = self._base_events + stream.events + self._context.meters.snapshot.incremental_events
            if stream.events > before:
                self._count(stream.events - before, began)
                last = began
            progress.received_lsn = stream.received
            progress.last_event_source_ms = stream.source_ms
            # The producer's tasks run on this event loop too. If frames are always available, no await above yields to them.
            await asyncio.sleep(0)
            await sink.room()

    def _until(self, last: float) -> float:
        """When a burst is handled even if few frames are there. The last one with events began at ``last``.

        With ``linger.ms``, transactions that come close together are one burst and one request to Kafka. One that comes alone does not
        wait. During an incremental snapshot no burst waits, because each chunk waits for its watermarks.
        """
        return last + self._linger_s if self._linger_s and not self._incremental.state.running else 0.0

    def _count(self, records: int, began: float) -> None:
        meters, now = self._context.meters, self._clock.monotonic()
        meters.source.batch_read(records, (now - began) * 1000, meters.active(), now)

    async def _work(self, frames: list[bytes]) -> None:
        received_at = self._clock.monotonic()
        answer = self._feed(frames)
        while not isinstance(answer, Used):
            self._sink.pump()
            await self._bring(answer, received_at)
            frames = frames[answer.used :]
            answer = self._feed(frames)
        if self._incremental.after_frames():
            # If nothing was streamed yet, the idle server's position is the first position.
            self._stream.take_idle_position()
        self._send()
        if frames and not self._stream.between:
            failpoints.reached(failpoints.IN_TRANSACTION)

    def _feed(self, frames: list[bytes]) -> Answer:
        answer = self._stream.feed(frames, self._clock.now_ns())
        if answer.reply_asked:
            self._keeper.asked.set()
        return answer

    async def _bring(self, answer: NeedRelation | NeedReread | Signal | AtCommit, received_at: float) -> None:
        """Provide what the stream waits for (:data:`connector.events.transitions.ANSWERS`)."""
        match answer:
            case NeedRelation():
                await self._tables.adopt(answer.relation, received_at)
            case NeedReread():
                await complete_row(self._source, self._stream, answer, self._capture.types, self._sink)
            case Signal():
                await self._signals.row(answer.row)
                await self._signals.at_rest()
            case AtCommit():
                await self._signals.at_rest()
            case _:
                assert_never(answer)

    async def _look(self) -> None:
        """Do what follows a burst of frames, without frames: send the records that other tasks have produced."""
        async with self._gate:
            await self._work([])

    def _send(self) -> None:
        """Send all records so far with the stream's position, which includes the state of the incremental snapshot."""
        due, position = bool(self._signals.due), self._stream.reached
        self._sink.bind(to_marks=not due)
        if due or position is None:
            self._sink.pump()
        else:
            meters = self._context.meters
            meters.delays.sent(position.confirmable, meters.stream)
            self._sink.send(self._with_snapshot(position))

    def _with_snapshot(self, position: Position) -> Position:
        if not self._incremental.state.running:
            return position
        return replace(position, incremental=tuple(self._incremental.stored().items()))


def _stream(
    context: TaskContext,
    config: ConnectorConfig,
    capture: Capture,
    sink: Sink,
    settings: StreamSettings,
    offset: StoredOffset | None,
    last: StoredOffset | None,
) -> Stream:
    return Stream(
        settings,
        last_commit=offset.commit if offset else None,
        resume=resume_point(offset),
        warn=LOG.warning,
        passed_message=offset.passed_message if offset else 0,
        counts=offset.counts if offset else None,
        ts_us=last.ts_us if last else 0,
        txid=last.txid if last else None,
        event=(last.lsn or 0) if last else 0,
        transactions=_transaction_log(context, config, capture, sink),
        messages=_message_topic(context, config, capture, sink),
        meter=context.meters.stream,
    )


def _transaction_log(context: TaskContext, config: ConnectorConfig, capture: Capture, sink: Sink) -> TransactionLog | None:
    if not config.provide_transaction_metadata:
        return None
    return TransactionLog(context.key_converter, context.value_converter, sink.out(capture.topics.transaction()))


def _message_topic(context: TaskContext, config: ConnectorConfig, capture: Capture, sink: Sink) -> MessageTopic:
    return MessageTopic(
        prefix_filter(config.message_prefix_include_list, config.message_prefix_exclude_list, context.backtrack),
        capture.message_source(),
        config.binary_handling_mode,
        context.key_converter,
        context.value_converter,
        sink.out(capture.topics.message()),
    )
