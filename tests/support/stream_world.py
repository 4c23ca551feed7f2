"""A server, a Kafka, an offset topic and a clock around the real :class:`connector.runner.streaming.StreamRun`, all in memory.

The world outlives the sessions that run in it, as the real one outlives a worker. Whatever happens, three rules are checked: an offset is
stored only when Kafka has every change before it; only stored positions are confirmed; and in the end every change is sent, in order.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import cache
from typing import Any, cast

from connector.catalog.selection import Selection
from connector.config.connector_config import ConnectorConfig
from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.offsets import StoredOffset
from connector.delivery.progress import Progress
from connector.events.capture import Capture
from connector.events.stream_settings import StreamSettings
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.transactional_sink import OffsetTarget, TransactionalSink
from connector.ports import JsonObject
from connector.record.json_converter import ConverterSettings
from connector.runner.context import ExactlyOnce, TaskContext
from connector.runner.heartbeat import Heartbeat
from connector.runner.notifications.notifier import Notifier
from connector.runner.signaling.signals import SignalSources
from connector.runner.sinks.exactly_once import TransactionOffsets
from connector.runner.streaming import StreamRun
from connector.start.snapshotter import CustomSnapshot
from connector.types.codec import Column

from .fake_clock import FakeClock
from .fake_kafka import FakeKafka
from .fake_offsets import FakeOffsets
from .fake_replication import FakeServer
from .fake_signal_source import FakeSignalSource
from .fake_source import FakeSource
from .faults import Faults
from .stream_rig import INT4, TEXT, TYPES, catalog_table, configured, relation_of
from .wal_script import WalScript
from .warned import Warned

ORDERS = catalog_table(
    "orders", Column("id", INT4, not_null=True), Column("note", TEXT), Column("unknown", 99_999), oid=5001, primary_key=["id"]
)
OTHER = catalog_table("other", Column("id", INT4, not_null=True), oid=5002, primary_key=["id"])
TOPIC = "srv.public.orders"
OFFSETS = "offsets"
_KAFKA = KafkaSettings({"bootstrap.servers": "nowhere:1"}, {})
_PLAIN = ConverterSettings(schemas_enable=False)
_STEPS = 4000
_ACTIONS = {
    "table_include_list": "public.orders",
    "status_update_interval_ms": "300",
    "xmin_fetch_interval_ms": "200",
    "post_processors": "r",
    "r_type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
}


@cache
def _id_of(event: bytes) -> int:
    return cast("int", json.loads(event)["after"]["id"])


class StreamWorld:
    """Begin with :meth:`write`; each :meth:`session` is one start of the task."""

    def __init__(self, *, exactly_once: bool = False, **properties: str) -> None:
        self.exactly_once = exactly_once
        self.config: ConnectorConfig = configured(**{**_ACTIONS, **properties})
        self.faults, self.clock = Faults(), FakeClock()
        self.kafka = FakeKafka(self.faults)
        self.server = FakeServer(self.faults, confirming=self._confirming)
        self.source = FakeSource({("public", table.table): table for table in (ORDERS, OTHER)}, self.faults)
        self.offsets = FakeOffsets(self.faults, storing=self._storing)
        self.changes: list[tuple[int, int, int, int]] = []
        """Of each change that must come: end of its transaction, LSN, number among those of the LSN, id."""
        self.steps = 0
        """Turns of the event loop that the last session took."""
        self.turn_s = 0.05
        """How far the clock moves in a turn."""

    def write(self) -> None:
        """Transactions of captured and of other tables, longer than a burst and shorter; keepalives; a row to be read again."""
        wal = WalScript()
        self.source.rows = {(b"9",): {"note": b"read again", "unknown": b""}}
        self._transaction(wal, [1, 2])
        self._transaction(wal, [3, 4, 5, 6, 7, 8], same_lsn=True)
        self._transaction(wal, [], relation=OTHER.table)
        wal.keepalive(wal.lsn + 1000, reply=True)
        self.server.commit(wal.lsn, wal.take())
        self._transaction(wal, [9, 10])
        self._transaction(wal, [11])

    def _transaction(self, wal: WalScript, ids: list[int], *, same_lsn: bool = False, relation: str = "orders") -> None:
        described = relation_of(ORDERS if relation == "orders" else OTHER)
        wal.begin()
        wal.relation(described)
        at = [
            wal.insert(described, str(number), None if number == 9 else f"n{number}", "?", lsn=wal.lsn - WalScript.STEP if again else None)
            for number in ids
            for again in (same_lsn and number % 2 == 0,)
        ]
        if not ids:
            wal.insert(described, "1")
        end = wal.commit()
        self.changes += [(end, lsn, at[: place + 1].count(lsn), number) for place, (lsn, number) in enumerate(zip(at, ids, strict=True))]
        self.server.commit(end, wal.take())

    @property
    def delivered(self) -> list[int]:
        """The ids that consumers see, in order, repeated ones too."""
        return [_id_of(prefix + (payload or b"null")) for _, prefix, payload, _, _ in self.kafka.topics.get(TOPIC, [])]

    @property
    def kept(self) -> JsonObject | None:
        """The offset that a new session finds."""
        if not self.exactly_once:
            return self.offsets.kept
        records = self.kafka.topics.get(OFFSETS, [])
        return cast("JsonObject", json.loads(records[-1][2] or b"null")) if records else None

    def _storing(self, offset: JsonObject) -> None:
        stored = StoredOffset.parse(offset)
        before = {number for end, _, _, number in self.changes if end <= stored.start}
        if stored.inside and stored.lsn is not None:
            end = next(end for end, lsn, _, _ in self.changes if lsn == stored.lsn)
            place = (stored.lsn, stored.nth)
            before |= {number for own, lsn, nth, number in self.changes if own == end and (lsn, nth) <= place}
        assert before <= set(self.delivered), "an offset was stored before Kafka had what precedes it"
        if self.kept is not None:
            assert stored.start >= StoredOffset.parse(self.kept).start, "the stored offset went back"

    def _confirming(self, lsn: int) -> None:
        start = 0 if self.kept is None else StoredOffset.parse(self.kept).start
        assert lsn <= start, "the slot was confirmed up to what is not stored"

    async def session(self, *, cancel_after: int | None = None) -> BaseException | None:
        """Start the task, and stop it when every change came. Returns what ended it before; cancels it after so many turns."""
        before = asyncio.all_tasks()
        error: BaseException | None = None
        try:
            async with AsyncExitStack() as stack:
                await self._stream(stack, cancel_after)
        except BaseException as problem:  # noqa: BLE001 (whatever the test ordered)
            error = problem
        assert asyncio.all_tasks() == before, "the session left tasks"
        assert self.kafka.open == 0, "the session left a producer"
        return error

    async def _stream(self, stack: AsyncExitStack, cancel_after: int | None) -> None:
        sink = self._sink()
        stack.push_async_callback(sink.stop)
        await sink.start()
        context = self._context(sink)
        stored = await context.offsets.load({})
        run = self._run(context, sink, None if stored is None else StoredOffset.parse(stored))
        stop = asyncio.Event()
        task = asyncio.create_task(run.run(stop, Heartbeat(self.config, sink, "heartbeat", context, self.clock)))
        wanted = {number for _, _, _, number in self.changes}
        self.steps = 0
        while not task.done():
            self.steps += 1
            assert self.steps < _STEPS, "the session never ends"
            if self.steps == cancel_after:
                task.cancel()
            if wanted <= set(self.delivered):
                stop.set()
            self.clock.advance(self.turn_s)
            await asyncio.sleep(0)
        await task

    def _sink(self) -> KafkaSink:
        creator = TopicCreator({}, {}, lambda _: None)
        if not self.exactly_once:
            return KafkaSink(_KAFKA, creator, connect=self.kafka.producer)
        target = OffsetTarget(lambda offset: [(OFFSETS, b"key", json.dumps(dict(offset)).encode())])
        return TransactionalSink(_KAFKA, creator, "id", target, connect=self.kafka.producer)

    def _context(self, sink: KafkaSink) -> TaskContext:
        context = TaskContext(
            "world", self.config.raw, _PLAIN, _PLAIN, _KAFKA, self.offsets, Progress(), lambda _: None, offset_flush_interval=0.1
        )
        if isinstance(sink, TransactionalSink):
            return replace(context, offsets=TransactionOffsets(ExactlyOnce("id", cast("Any", self._Committed(self))), sink))
        return context

    class _Committed:
        def __init__(self, world: StreamWorld) -> None:
            self._world = world

        async def load(self, partition: JsonObject) -> JsonObject | None:
            await self._world.offsets.load(partition)
            return self._world.kept

    def _run(self, context: TaskContext, sink: KafkaSink, offset: StoredOffset | None) -> StreamRun:
        config = self.config
        start = 0 if offset is None else offset.start
        return StreamRun(
            context,
            config,
            Capture(Selection.of(config), TYPES, _PLAIN, _PLAIN, Warned()),
            sink,
            self.server.stream(start),
            StreamSettings(),
            Notifier(context, config, sink),
            CustomSnapshot(),
            source=self.source,
            signal_source=FakeSignalSource([]),
            offset=offset,
            last=offset,
            start=max(start, self.server.slot),
            sources=SignalSources(context, config),
            clock=self.clock,
        )

    def check(self) -> None:
        """Everything came, in order; with exactly-once delivery once."""
        ids = [number for _, _, _, number in self.changes]
        assert list(dict.fromkeys(self.delivered)) == ids
        if self.exactly_once:
            assert self.delivered == ids
