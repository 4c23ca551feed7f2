"""A database, a Kafka, an offset topic and reader processes for snapshots, all in memory and all able to fail at any step.

Every call that could fail in the world is a step with a number, in one order for all of them (:class:`Steps`). A test runs a snapshot once
to learn its steps, and then once for each of them with a failure there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.config.connector_config import parse
from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.progress import Progress
from connector.errors import CdcError, ErrorKind
from connector.events.capture import Capture
from connector.notifications.notification import Notification
from connector.ports import JsonObject
from connector.record.batch import Record
from connector.record.json_converter import ConverterSettings
from connector.runner.context import TaskContext
from connector.runner.snapshot.messages import Acknowledged, EdgeRow, Flush, Go, Opened, Order, PartRead, Ready, TopicUsed
from connector.runner.snapshot.reading import SnapshotEdges
from connector.snapshot.bulk import RecordsFailed
from connector.snapshot.job import Job
from connector.snapshot.parts import Part, TableSize
from connector.snapshot.select_casts import ResultColumn
from connector.types.codec import Column
from tests.support.stream_rig import INT4, TEXT, TYPES, catalog_table, configured
from tests.support.warned import no_warning

LSN = 5_000
MARKERS = ("first", "first_in_data_collection", "true", "last", "last_in_data_collection")


def lost() -> CdcError:
    """What a connection that is gone raises."""
    return CdcError(ErrorKind.SOURCE_CONNECTION_LOST, "The connection is lost")


@dataclass(slots=True)
class Steps:
    """What has happened, in order. ``failing`` is called at step number ``at`` (from 0): it raises, or cancels."""

    taken: list[str] = field(default_factory=list)
    at: int = -1
    failing: Callable[[], None] = lambda: None
    dying: bool = False
    """A reader process that is waited for at that step is dead, in place of a call of ``failing``."""

    def take(self, step: str) -> bool:
        """One more step. False when a process dies here."""
        self.taken.append(step)
        if len(self.taken) - 1 != self.at:
            return True
        if self.dying:
            return False
        self.failing()
        return True


@dataclass(slots=True)
class FakeTable:
    """A table and its rows as lines of COPY. Row number n is on page n."""

    table: CatalogTable
    lines: list[bytes]


def fake_table(name: str, count: int) -> FakeTable:
    """A table of two columns with so many rows."""
    described = catalog_table(name, Column("id", INT4, not_null=True), Column("word", TEXT), primary_key=["id"])
    return FakeTable(described, [b"%d\tw%d\n" % (number, number) for number in range(count)])


class FakeSource:
    """:class:`connector.snapshot.source.SnapshotSource` over ``tables``."""

    def __init__(self, world: SnapshotWorld) -> None:
        self._world = world
        self.closed = False
        self.statements: list[str] = []

    async def _step(self, step: str) -> None:
        await asyncio.sleep(0)
        self._world.steps.take(f"database: {step}")

    async def lift_timeouts(self) -> None:
        await self._step("lift timeouts")

    async def execute(self, statement: str) -> None:
        self.statements.append(statement)
        await self._step(statement)

    async def tables(self) -> list[CatalogTable]:
        await self._step("list tables")
        return [replace(one.table, columns=(), primary_key=()) for one in self._world.tables]

    async def describe(self, tables: Collection[CatalogTable]) -> list[CatalogTable]:
        await self._step("describe tables")
        described = {one.table.oid: one.table for one in self._world.tables}
        return [table if table.name in self._world.dropped else described[table.oid] for table in tables]

    async def sizes(self, tables: Sequence[CatalogTable]) -> list[TableSize]:
        await self._step("sizes")
        return [TableSize(len(self._world.lines(table)), 1) for table in tables]

    async def in_recovery(self) -> bool:
        return self._world.standby

    async def txid(self) -> int | None:
        await self._step("txid")
        return 77

    async def lsn(self) -> int:
        await self._step("lsn")
        return LSN

    async def export(self) -> str:
        await self._step("export")
        return "exported"

    async def columns(self, select: str, origin: str) -> tuple[ResultColumn, ...]:
        await self._step(f"columns of {origin}: {select}")
        return ResultColumn("id", INT4), ResultColumn("word", TEXT)

    async def rows(self, query: str, doing: str, *, most: int) -> AsyncIterator[list[bytes]]:
        table = self._world.named(doing.removeprefix("reading table "))
        await self._step(doing)
        if table.table.name in self._world.dropped:
            raise CdcError(ErrorKind.SOURCE_OBJECT_MISSING, f"PostgreSQL refused while {doing}: relation does not exist")
        for begin in range(0, len(table.lines), most):
            await self._step(f"{doing} from row {begin}")
            yield table.lines[begin : begin + most]

    async def end_readers(self, guard_key: int, seconds: float) -> None:
        await self._step("end readers")

    async def close(self) -> None:
        self.closed = True
        await asyncio.sleep(0)


class FakeOut:
    """One topic's records, as they wait or were acknowledged."""

    def __init__(self, waiting: list[Record]) -> None:
        self._waiting = waiting

    def append(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        self._waiting.append((key, prefix, payload, headers, timestamp))

    def extend(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        for number, payload in enumerate(payloads):
            self.append(keys[number] if keys is not None else None, prefix, payload, headers, timestamp)


class FakeSink:
    """:class:`connector.snapshot.source.RowSink`: records wait until :meth:`drained`."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.waiting: list[Record] = []
        self.acknowledged: list[Record] = []
        self.bound: bool | None = None

    def bind(self, *, to_marks: bool) -> None:
        self.bound = to_marks

    def out(self, topic: str) -> FakeOut:
        assert topic
        return FakeOut(self.waiting)

    def pump(self) -> None:
        self._steps.take("kafka: pump")

    async def room(self) -> None:
        self._steps.take("kafka: room")

    async def drained(self) -> None:
        await asyncio.sleep(0)
        self._steps.take("kafka: drained")
        self.acknowledged += self.waiting
        self.waiting.clear()


class FakeOffsets:
    """:class:`connector.ports.OffsetStore`; ``rows`` tells how many rows Kafka had, and how many were sent, at each write."""

    def __init__(self, steps: Steps, sink: FakeSink) -> None:
        self._steps = steps
        self._sink = sink
        self.stored: JsonObject | None = None
        self.rows: list[tuple[int, int]] = []

    async def load(self, partition: JsonObject) -> JsonObject | None:
        assert partition
        return self.stored

    async def store(self, partition: JsonObject, offset: JsonObject | None) -> None:
        assert partition
        assert offset is not None
        await asyncio.sleep(0)
        self._steps.take("kafka: store offset")
        self.stored = offset
        self.rows.append((len(self._sink.acknowledged), len(self._sink.acknowledged) + len(self._sink.waiting)))


class FakeReader:
    """:class:`connector.runner.child.process.Child` that reads parts of the world's tables and has its own way to Kafka."""

    def __init__(self, world: SnapshotWorld) -> None:
        self._world = world
        self._replies: asyncio.Queue[object] = asyncio.Queue()
        self._rest: tuple[Part, list[bytes]] | None = None
        self.ended = False
        self.dead = False

    def send(self, message: object) -> None:
        match message:
            case Job():
                self._replies.put_nowait(Ready())
            case Order(handout, table):
                self._replies.put_nowait(TopicUsed(table.name))
                if self._world.failed_records is not None:
                    self._replies.put_nowait(self._world.failed_records)
                part, lines = handout.part, self._world.lines(table)
                pages = part.extent
                rows = lines if pages.end is None else lines[pages.first : None if pages.last else pages.end]
                if handout.ask and len(rows) > 1:
                    self._rest = part, rows[1:]
                    self._replies.put_nowait(Opened(self._edge(part, rows[0])))
                else:
                    self._read(part, rows, alone=part.of == 1 and not handout.ask)
            case Go():
                assert self._rest is not None
                self._read(*self._rest, alone=False)
            case Flush():
                self._replies.put_nowait(Acknowledged())

    def _read(self, part: Part, rows: list[bytes], *, alone: bool) -> None:
        for number, line in enumerate(rows[:-1]):
            marker = "first_in_data_collection" if alone and number == 0 else "true"
            self._world.sent_by_readers.append(self._edge(part, line).records[marker])
        self._replies.put_nowait(PartRead(len(rows[:-1]), self._edge(part, rows[-1]) if rows else None))

    def _edge(self, part: Part, line: bytes) -> EdgeRow:
        table = self._world.tables[part.table].table
        records: dict[str, Record] = {
            word: (None, b"", b'%s %s "snapshot":"%s"' % (table.table.encode(), line.strip(), word.encode()), b"", 0) for word in MARKERS
        }
        return EdgeRow(table.name, records)

    async def receive(self) -> object | None:
        reply = await self._replies.get()
        if not self._world.steps.take(f"reader: {type(reply).__name__}"):
            self.dead = True
            return None
        return reply

    async def lost(self) -> CdcError:
        return CdcError(ErrorKind.INTERNAL, "A process that reads the snapshot was killed by SIGKILL")

    def close(self) -> None:
        self.ended = True

    async def end(self, seconds: float) -> None:
        await asyncio.sleep(0)
        assert self.ended


class SnapshotWorld:
    """A database with ``tables``, and all that a snapshot of it needs."""

    def __init__(self, *tables: FakeTable, properties: Mapping[str, str] | None = None) -> None:
        self.tables = [replace(one, table=replace(one.table, oid=100 + number)) for number, one in enumerate(tables)]
        self.dropped: set[str] = set()
        """Tables (``schema.table``) that are dropped once they have been listed."""
        self.standby = False
        self.failed_records: RecordsFailed | None = None
        """What each reader process says with each of its parts."""
        self.steps = Steps()
        self.sink = FakeSink(self.steps)
        self.offsets = FakeOffsets(self.steps, self.sink)
        self.sources: list[FakeSource] = []
        self.readers: list[FakeReader] = []
        self.sent_by_readers: list[Record] = []
        self.notifications: list[Notification] = []
        self.topics: list[str] = []
        config, _ = parse({**configured().raw, "notification.enabled.channels": "jmx", **(properties or {})})
        plain = ConverterSettings(schemas_enable=False)
        self.selection = Selection.of(config)
        self.capture = Capture(self.selection, TYPES, plain, plain, no_warning)
        self.context = TaskContext(
            "rig",
            config.raw,
            plain,
            plain,
            KafkaSettings({}, {}),
            self.offsets,
            Progress(),
            self.topics.append,
            notify=self.notifications.append,
        )
        self.edges = SnapshotEdges(self._open, self._start)

    async def _open(self, purpose: str) -> FakeSource:
        assert purpose
        await asyncio.sleep(0)
        self.steps.take("database: connect")
        self.sources.append(FakeSource(self))
        return self.sources[-1]

    async def _start(self) -> FakeReader:
        await asyncio.sleep(0)
        self.steps.take("reader: start")
        self.readers.append(FakeReader(self))
        return self.readers[-1]

    def named(self, name: str) -> FakeTable:
        """The table ``schema.table``."""
        return next(one for one in self.tables if one.table.name == name)

    def lines(self, table: CatalogTable) -> list[bytes]:
        """The table's rows."""
        return self.named(table.name).lines

    @property
    def reported(self) -> list[str]:
        """The notifications in words: the type, and the table that it is about."""
        shown = []
        for one in self.notifications:
            data = one.additional_data or {}
            table = data.get("scanned_collection") or data.get("current_collection_in_progress")
            shown.append(one.type if table is None else f"{one.type} {table}")
        return shown

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(len(one.lines) for one in self.tables)
