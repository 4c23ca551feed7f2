"""Carries out the effects of :mod:`connector.incremental.coordinator`: reads chunks while the stream continues, and sends their rows.

A separate asyncio task carries out the orders, which wait for the database. All other effects are carried out at once, in the asyncio task
that reported the event. Both run on one event loop, and no await separates an event from its effects, so no other event can come between
them. An error that a restart of the connector's task may remedy is raised, unless a read of rows may cause it again each time. After a
restart the snapshot resumes from the stored offset.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from connector.config.connector_config import ConnectorConfig
from connector.delivery.row_run import row_taker
from connector.delivery.sink import Sink
from connector.errors import CdcError
from connector.events.capture import Capture
from connector.events.envelope import SourceFacts
from connector.events.stream import Stream
from connector.incremental.chunk_query import KeyTexts
from connector.incremental.chunk_reader import ChunkReader, ChunkRows, TableChangedError
from connector.incremental.coordinator import ChunkSettings, Coordinator
from connector.incremental.coordinator_effects import (
    Aborted,
    AwaitPosition,
    CloseWindow,
    Completed,
    Connect,
    Continued,
    Effect,
    FindLastRow,
    FindPosition,
    InProgress,
    Log,
    LookAtTable,
    Notice,
    Notify,
    OpenWindow,
    Order,
    Paused,
    ReadChunk,
    SendRows,
    Show,
    Started,
    StoreState,
    TableCompleted,
    Wake,
    WriteClosing,
    WriteOpening,
)
from connector.incremental.coordinator_events import (
    ChunkDue,
    ChunkFailed,
    ChunkRead,
    ClosingSeen,
    Connected,
    Event,
    LastRowFound,
    NoRowsLeft,
    OpeningSeen,
    PauseAsked,
    PositionFound,
    ResumeAsked,
    Resumed,
    RowsSent,
    SnapshotAsked,
    StopAsked,
    StreamReached,
    TableChanged,
    TableFound,
    TableRefused,
    TimePassed,
    WatermarkWritten,
    WindowAttached,
)
from connector.incremental.key_objects import read_array
from connector.incremental.state import Collection, IncrementalSnapshot, Place
from connector.incremental.target import NO_PLACE, Target, Unreadable
from connector.io.postgres.incremental.watermarks import Watermarks
from connector.log import EventLog
from connector.notifications.key_text import key_text
from connector.notifications.notification import IncrementalNotifications, Notification
from connector.runner.context import TaskContext
from connector.runner.notifications.notifier import Notifier
from connector.runner.postgres_chunk_reader import PostgresChunkReader
from connector.runner.snapshot.rows import FailureModes, Row, RowWriter, TableWork
from connector.snapshot.plan import split_copy_line

LOG: Final = EventLog(__name__)

_LATE_S: Final = 60
"""Interval at which the log reports a window that does not close."""
UNSEEN_PAUSES_S = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
"""Pauses before a chunk is read again within its window. A commit that waits longer, as for a standby, costs a second window.

On a machine with ten runnable processes for each core a session took longer than 155 ms from its commit record to its visibility.
"""


class IncrementalRun:
    """The incremental snapshots of one run of the stream."""

    def __init__(
        self,
        context: TaskContext,
        config: ConnectorConfig,
        capture: Capture,
        sink: Sink,
        stream: Stream,
        notifier: Notifier,
        *,
        headers: bytes,
        ended: Callable[[], Awaitable[None]],
        reader: ChunkReader | None = None,
    ) -> None:
        """Prepare the run. ``ended`` is awaited when no table is left; ``reader`` replaces the reader of the connector's database."""
        self._ended = ended
        self._context = context
        self._config = config
        self._capture = capture
        self._sink = sink
        self._stream = stream
        self._notifier = notifier
        self._headers = headers
        self._watermarks: Watermarks | None = None
        table = capture.selection.signal_table
        if table is not None and not config.read_only:
            self._watermarks = Watermarks(
                *table,
                deletes=config.incremental_snapshot_watermarking_strategy == "insert_delete",
                dated=config.emulation.dates_watermarks,
                retries=config.signal_emit_failure_max_retries,
                backoff_s=config.signal_emit_failure_backoff_ms / 1000,
            )
        self._reader = reader if reader is not None else PostgresChunkReader(config, capture, self._watermarks)
        settings = ChunkSettings(
            watermarks=self._watermarks is not None,
            rows=config.incremental_snapshot_chunk_size,
            seconds=config.incremental_snapshot_chunk_target_ms / 1000,
        )
        self._coordinator: Coordinator[Row] = Coordinator(settings, capture.selection.backtrack)
        self._orders: asyncio.Queue[Order] = asyncio.Queue()
        self.passed = asyncio.Event()
        """Set while a window waits until the stream passes a position, so that the server must be asked for its position."""

    @property
    def state(self) -> IncrementalSnapshot:
        """The remaining tables, and the position in the first of them."""
        return self._coordinator.state

    @property
    def possible(self) -> bool:
        """Whether chunks can be placed in the stream, by watermarks or with ``read.only``."""
        return self._watermarks is not None or self._config.read_only

    def stored(self) -> dict[str, object]:
        """Return the state as members of the source offset."""
        return self.state.to_offset(NO_PLACE, self._config.emulation)

    # Events

    def resume(self, offset: Mapping[str, object]) -> None:
        """Resume the snapshot of ``offset``, if it has one. Call it once, before all other methods."""
        self._handle(Resumed(offset))
        if self.state.running:
            self._context.meters.snapshot.begins()

    def add(self, collections: Sequence[Collection], correlation_id: str) -> None:
        """Add tables to the snapshot."""
        self._handle(SnapshotAsked(tuple(collections), correlation_id))

    def pause(self) -> None:
        """Read no further chunk; the current chunk is still sent."""
        self._handle(PauseAsked())

    def resume_reading(self) -> None:
        """Continue after :meth:`pause`."""
        self._handle(ResumeAsked())

    def stop(self, entries: Sequence[str]) -> None:
        """Remove tables from the snapshot before the next chunk is read; without ``entries``, all tables."""
        self._handle(StopAsked(tuple(entries)))

    def window_opens(self, chunk_id: str) -> None:
        """Take note that the stream delivered a chunk's first watermark."""
        self._handle(OpeningSeen(chunk_id))

    def window_closes(self, chunk_id: str) -> None:
        """Take note that the stream delivered a chunk's second watermark. The remaining rows of the chunk are sent now."""
        self._handle(ClosingSeen(chunk_id))

    def after_frames(self) -> bool:
        """Without watermarks: close the window if the stream has passed its position. Return whether the window was closed."""
        if self._coordinator.closes_at is None:
            return False
        self._handle(StreamReached(self._stream.received, self._stream.between))
        return self._coordinator.closes_at is None

    def _handle(self, event: Event[Row]) -> None:
        for effect in self._coordinator.handle(event, time.monotonic()):
            self._carry_out(effect)

    # Effects

    async def run(self) -> None:
        """Carry out orders until cancelled. Raises CdcError when the connection to the database is lost."""
        try:
            while True:
                try:
                    async with asyncio.timeout(_LATE_S):
                        order = await self._orders.get()
                except TimeoutError:
                    self._handle(TimePassed(_LATE_S))
                    continue
                answer = await self._obey(order)
                if answer is not None:
                    self._handle(answer)
        finally:
            await self._reader.close()

    def _carry_out(self, effect: Effect[Row]) -> None:
        match effect:
            case Wake(seconds) if seconds:
                asyncio.get_running_loop().call_later(seconds, self._orders.put_nowait, effect)
            case OpenWindow(table, window):
                recent = frozenset(self._stream.recent)
                self._stream.open_window(table, window)
                self._handle(WindowAttached(recent))
            case CloseWindow():
                self._stream.close_window()
                self.passed.clear()
            case AwaitPosition():
                self.passed.set()
                self.after_frames()
            case SendRows(target, rows):
                self._send(target, rows)
                self._handle(RowsSent())
            case Notify(notice):
                if isinstance(notice, TableCompleted):
                    self._trace(notice)
                self._count(notice)
                self._notifier.send(_notification(self._notifier.incremental, notice))
                if isinstance(notice, Started):
                    self._notifier.send(self._notifier.incremental.resolved(notice.correlation_id, notice.tables))
            case Log(level, event, fields):
                getattr(LOG, level)(event, **fields)
            case Show(progress):
                self._context.progress.incremental = progress
            case _:
                self._orders.put_nowait(effect)

    def _trace(self, notice: TableCompleted) -> None:
        shown = self._context.progress.incremental
        seconds = shown.table.seconds if shown is not None and shown.table.table == notice.table else 0.0
        self._context.tracing.passed("incremental snapshot table", seconds, table=notice.table, rows=notice.rows, status=notice.status)

    def _count(self, notice: Notice) -> None:
        """Count what happens as Debezium's metrics do. A table that is empty or cannot be read remains for them."""
        meter, shown = self._context.meters.snapshot, self._context.progress.incremental
        match notice:
            case Started(tables=tables):
                meter.incremental_begins(tables)
            case Paused():
                meter.pauses()
            case Continued():
                meter.begins()
            case Completed():
                meter.ends(completed=True)
            case TableCompleted(table=table, status="SUCCEEDED"):
                meter.table_read(table)
            case Aborted(tables=tables):
                if shown is not None and shown.table.table in tables:
                    meter.table_read(shown.table.table)
                if not self.state.running and meter.state in ("running", "paused"):
                    # When a stop removes all tables, the notice of the end comes first, and the snapshot counts as completed.
                    meter.ends(completed=False)

    async def _obey(self, order: Order) -> Event[Row] | None:
        match order:
            case StoreState():
                await self._ended()
                return None
            case Wake():
                return ChunkDue(str(uuid.uuid4()))
            case Connect() | WriteOpening() | WriteClosing() | FindPosition():
                try:
                    return await self._place(order)
                except CdcError as error:
                    if error.passes:
                        raise
                    return ChunkFailed(str(error))
            case LookAtTable() | FindLastRow() | ReadChunk():
                try:
                    return await self._read(order)
                except TableChangedError:
                    return TableChanged()
                except KeyError as error:
                    return TableRefused("SQL_EXCEPTION", f"there is no column {error}")
                except ValueError:
                    return TableRefused("SQL_EXCEPTION", "a key cannot be kept in the offset")
                except CdcError as error:
                    if error.passes_without_snapshot:
                        raise
                    return TableRefused("SQL_EXCEPTION", str(error))

    async def _place(self, order: Connect | WriteOpening | WriteClosing | FindPosition) -> Event[Row]:
        match order:
            case Connect():
                await self._reader.connect()
                return Connected()
            case WriteOpening(chunk_id):
                self._label_watermarks()
                await self._reader.write_opening(chunk_id)
                return WatermarkWritten()
            case WriteClosing(chunk_id):
                await self._reader.write_closing(chunk_id)
                return WatermarkWritten()
            case FindPosition():
                return PositionFound(await self._reader.position())

    def _label_watermarks(self) -> None:
        """Give the chunk's watermarks the table's name and the signal's id, if the emulated version does so."""
        state = self.state
        if self._watermarks is not None and self._config.emulation.labels_watermarks and state.collections:
            table = state.collections[0]
            correlated = {} if table.signal_id is None else {"correlationId": table.signal_id}
            self._watermarks.labels = {**correlated, "dataCollectionId": table.name}

    async def _read(self, order: LookAtTable | FindLastRow | ReadChunk) -> Event[Row]:
        match order:
            case LookAtTable(collection):
                looked = await self._reader.look_at(collection)
                return TableRefused(looked.status, looked.why) if isinstance(looked, Unreadable) else TableFound(looked)
            case FindLastRow(target):
                texts = await self._reader.last_row(target)
                return LastRowFound(None if texts is None else target.place(texts))
            case ReadChunk(target, after, upto, most):
                read = await self._read_visible(target, after, upto, most)
                if not read.lines:
                    return NoRowsLeft()
                rows: list[Row] = [split_copy_line(line) for line in read.lines]
                place = target.place_between(rows[-1], self.state.position) if read.divided else target.place_of(rows[-1])
                return ChunkRead(rows, target.keys(rows), read.visible, place)

    async def _read_visible(self, target: Target, after: KeyTexts | None, upto: KeyTexts, most: int) -> ChunkRows:
        """Read a chunk that shows what the stream has delivered, if that becomes visible soon.

        The stream may deliver a transaction a moment before other sessions can see it. A read that misses it would cost the chunk a second
        window (:mod:`connector.incremental.windowed_chunk`, rule 2), so it is repeated within this one.
        """
        for pause in UNSEEN_PAUSES_S:
            delivered = frozenset(self._stream.recent)
            read = await self._reader.rows(target, after, upto, most)
            if not read.visible.hides_any(delivered):
                return read
            await asyncio.sleep(pause)
        return await self._reader.rows(target, after, upto, most)

    def _send(self, target: Target, rows: Sequence[Row]) -> None:
        now_ns = time.time_ns()
        facts, lsn = self._stream.last_event
        writer = RowWriter(
            lsn,
            SourceFacts(now_ns // 1000, None, facts.last_commit),
            self._headers,
            FailureModes.of(self._config),
            placed=False,
        )
        out = self._sink.out(target.encoder.topic)
        work = TableWork(target.encoder, self._capture.source(target.table), out, direct=row_taker(out, target.encoder))
        writer.send_rows(work, rows, any(None in row for row in rows), "incremental", now_ns)
        self._context.progress.events += len(rows)
        meters, now_ms = self._context.meters, now_ns // 1_000_000
        meters.snapshot.incremental_sent(target.table.name, len(rows), now_ms)
        meters.stream.last_event_ms = now_ms


def _notification(made: IncrementalNotifications, notice: Notice) -> Notification:
    match notice:
        case Started(correlation_id, tables):
            return made.started(correlation_id, tables)
        case Paused(correlation_id, tables):
            return made.paused(correlation_id, tables)
        case Continued(correlation_id, tables):
            return made.resumed(correlation_id, tables)
        case Aborted(correlation_id, tables):
            return made.aborted(correlation_id, tables)
        case Completed(correlation_id):
            return made.completed(correlation_id)
        case InProgress(correlation_id, tables, table, maximum, last):
            return made.in_progress(correlation_id, tables, table, _shown(maximum), _shown(last))
        case TableCompleted(correlation_id, tables, table, rows, status):
            return made.table_completed(correlation_id, tables, table, rows, status)


def _shown(place: Place) -> list[str | None]:
    """Return the form of a place in notifications."""
    return [key_text(value) for value in read_array(place.stored) or ()]
