"""Incremental snapshots: chunks of tables, read beside the stream and put into it where their second watermark stands.

Rules
1. A chunk is read by a task of its own, on a connection of its own; the stream goes on meanwhile and tells the chunk's window of
   what changes (:mod:`connector.window`).
2. With a signal table the watermarks are rows in it. With ``read.only`` nothing is written: the window is open from the moment the
   chunk is read, and closes when the stream has passed the WAL position that was current after the reading.
3. A transaction may be in the stream before others can see what it wrote (its commit waits for a standby). A chunk that could not
   see a transaction which the stream has brought before the window opened is read again.
4. State moves with records: what is stored of the snapshot is always true of the records before it (:mod:`connector.incremental`).
5. A table that cannot be read is left out and told of; the stream is never harmed.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connector.capture import Capture
from connector.chunk_query import next_size
from connector.config import ConnectorConfig
from connector.envelope import SourceFacts
from connector.errors import CdcError
from connector.incremental import Collection, IncrementalSnapshot
from connector.incremental_chunk import Chunk, Closed
from connector.io import pg_chunks
from connector.io.kafka_sink import KafkaSink
from connector.io.pg_connection import Connection, connect
from connector.io.pg_watermarks import Watermarks
from connector.notifications import ScanStatus
from connector.ports import TaskContext
from connector.progress import IncrementalProgress, TableProgress
from connector.runner.chunk_target import NO_PLACE, Target, Unreadable, look_at, read_place, shown_place
from connector.runner.notifier import Notifier
from connector.runner.snapshot_rows import Row, RowWriter, TableWork, execute, lift_timeouts
from connector.snapshot import split_copy_line
from connector.stream import Stream

_log = logging.getLogger(__name__)

_MOST_FACTOR: Final = 64
"""How many times incremental.snapshot.chunk.size an adaptive chunk may have."""
_BEGIN_S: Final = 0.2
"""Signals come in runs: what was sent with the one that begins a snapshot is known before the first chunk is read. The reference
looks at the stream every poll.interval.ms, so there too they come before the first watermark."""
_LATE_S: Final = 60
"""After which time, and again, the log tells of a window that does not close."""
_AGAIN_S: Final = 0.2
"""Pause before a chunk is read again that could not see everything."""


@dataclass(slots=True)
class _Way:
    """What else is to be known of a chunk on its way."""

    chunk: Chunk[Row]
    target: Target | None = None
    rows: int = 0
    """Read by it."""
    close_at: int | None = None
    """Without watermarks: the WAL position that closes the window."""


class IncrementalRun:
    """The incremental snapshots of one run of the stream."""

    def __init__(
        self,
        context: TaskContext,
        config: ConnectorConfig,
        capture: Capture,
        sink: KafkaSink,
        stream: Stream,
        notifier: Notifier,
        *,
        headers: bytes,
        publication: str | None,
        ended: Callable[[], Awaitable[None]],
    ) -> None:
        """``ended`` is awaited when nothing is left to read: an idle server sends no frame with which that would be stored."""
        self._ended = ended
        self._context = context
        self._config = config
        self._capture = capture
        self._sink = sink
        self._stream = stream
        self._notifier = notifier
        self._headers = headers
        self._publication = publication
        self.state = IncrementalSnapshot()
        self._watermarks: Watermarks | None = None
        table = capture.signal_table
        if table is not None and not config.read_only:
            self._watermarks = Watermarks(
                *table,
                deletes=config.incremental_snapshot_watermarking_strategy == "insert_delete",
                former=config.version < (3,),
                retries=config.signal_emit_failure_max_retries,
                backoff_s=config.signal_emit_failure_backoff_ms / 1000,
            )
        self._connection: Connection | None = None
        self._way: _Way | None = None
        self._target: Target | None = None
        self._look_again = False
        """The table must be looked at again before the next read."""
        self._rows = config.incremental_snapshot_chunk_size
        self._stops: list[tuple[str, ...]] = []
        self._wanted = asyncio.Event()
        self._pause_told = False
        self._correlation_id: str | None = None
        self._added = 0
        """As it was when the chunk was wanted; tables added since."""
        self._reading = False
        """A chunk is wanted and not read yet; a pause that comes meanwhile holds, and is told of, when it is."""
        self.passed = asyncio.Event()
        """Set while a window waits for the stream to pass a position: the server should tell how far it is."""

    def resume(self, offset: Mapping[str, object]) -> None:
        """Go on with the snapshot that ``offset`` tells of, if any."""
        warning = self.state.load(offset, read_place)
        if warning:
            _log.warning("incremental snapshot: %s", warning)
        if self.state.running:
            _log.info("incremental snapshot goes on tables=%s", ",".join(self.state.names))
            self._show()
            self._want()

    async def check(self, connection: Connection) -> None:
        """Raise CdcError when an incremental snapshot cannot be had as the connector is configured."""
        if self._watermarks is not None:
            await self._watermarks.check(connection, self._publication)

    @property
    def possible(self) -> bool:
        """There is a way to place chunks in the stream."""
        return self._watermarks is not None or self._config.read_only

    def add(self, collections: Sequence[Collection], correlation_id: str) -> None:
        """Read these tables too."""
        state = self.state
        begins = state.add(collections, correlation_id)
        self._added += len(collections)
        self._show()
        _log.info("incremental snapshot asked for tables=%s id=%s", ",".join(c.name for c in collections), correlation_id)
        if begins:
            self._notifier.send(self._notifier.incremental.started(correlation_id, state.names))
            self._want(_BEGIN_S)

    def pause(self) -> None:
        """Read no further chunk; the one on its way is sent."""
        state = self.state
        if state.running and not state.paused:
            state.paused = True
            self._pause_told = False
            self._show()
            if not self._reading:
                self._tell_pause()

    def resume_reading(self) -> None:
        """Go on after :meth:`pause`."""
        state = self.state
        if state.running and state.paused:
            if self._reading:
                self._tell_pause()
            state.paused = False
            self._show()
            _log.info("incremental snapshot resumed tables=%s", ",".join(state.names))
            self._notifier.send(self._notifier.incremental.resumed(state.correlation_id, state.names))
            if self._way is None and not self._reading:
                self._want()

    def _want(self, delay: float = 0.0) -> None:
        """Have the next chunk read, paused or not. As recorded, signals that come before it is read do not show in what it tells."""
        self._reading = True
        self._correlation_id, self._added = self.state.correlation_id, 0
        if delay:
            asyncio.get_running_loop().call_later(delay, self._wanted.set)
        else:
            self._wanted.set()

    def _as_wanted(self) -> tuple[str | None, list[str]]:
        """The signal and the tables that the chunk was wanted for."""
        state = self.state
        known = len(state.names) - self._added
        return (self._correlation_id, state.names[:known]) if known > 0 else (state.correlation_id, state.names)

    def _tell_pause(self) -> None:
        state = self.state
        if self._pause_told:
            return
        self._pause_told = True
        _log.info("incremental snapshot paused tables=%s", ",".join(state.names))
        self._notifier.send(self._notifier.incremental.paused(state.correlation_id, state.names))

    def stop(self, entries: Sequence[str]) -> None:
        """Take tables off the snapshot, all of them without ``entries``, before the next chunk is read; so never while it is paused."""
        if not self.state.running:
            _log.warning("no incremental snapshot runs that could be stopped")
            return
        self._stops.append(tuple(entries))

    def _apply_stops(self) -> None:
        state, made = self.state, self._notifier.incremental
        for entries in self._stops:
            correlation_id = state.correlation_id
            removed = state.stop(entries, self._capture.backtrack)
            if removed:
                _log.info("incremental snapshot stopped for tables=%s", ",".join(removed))
            else:
                _log.warning("no table of the incremental snapshot is among those to stop tables=%s", ",".join(state.names))
            # Their order, and the last one's id, as recorded.
            if state.running or not removed:
                self._notifier.send(made.aborted(correlation_id, removed))
            else:
                self._notifier.send(made.completed(correlation_id))
                self._notifier.send(made.aborted(None, removed[::-1]))
        self._stops.clear()
        self._show()

    def stored(self) -> dict[str, object]:
        """What the source offset holds of the state."""
        return self.state.to_offset(NO_PLACE)

    async def run(self) -> None:
        """Read chunks as they are wanted, until cancelled. Raises CdcError when the database is lost."""
        try:
            while True:
                try:
                    async with asyncio.timeout(_LATE_S):
                        await self._wanted.wait()
                except TimeoutError:
                    self._tell_late()
                    continue
                self._wanted.clear()
                self._apply_stops()
                if not self.state.running or self._way is not None:
                    self._reading = False
                    if not self.state.running:
                        await self._ended()
                    continue
                try:
                    await self._next_chunk()
                except CdcError as error:
                    if error.passes:
                        raise
                    self._abort(error)
                    await self._ended()
        finally:
            if self._connection is not None:
                await self._connection.close()

    def _tell_late(self) -> None:
        way = self._way
        if way is not None and not self._reading:
            table = "" if way.target is None else way.target.table.name
            why = "the stream is behind" if self._watermarks is None else "the stream is behind, or the signal table is not published"
            _log.warning("incremental snapshot waits for its window to close table=%s seconds=%d: %s", table, _LATE_S, why)

    def _abort(self, error: CdcError) -> None:
        state = self.state
        _log.error("incremental snapshot ended: %s tables=%s", error, ",".join(state.names))
        correlation_id = state.correlation_id
        removed = state.stop(())
        self._forget()
        self._show()
        self._notifier.send(self._notifier.incremental.aborted(correlation_id, removed))

    async def _next_chunk(self) -> None:
        connection = await self._connected()
        chunk: Chunk[Row] = Chunk(str(uuid.uuid4()), self._stream)
        way = self._way = _Way(chunk)
        chunk.aim(self.state.names[0])
        if self._watermarks is not None:
            await self._watermarks.open(connection, chunk.id)
        else:
            chunk.open()
        begun = time.monotonic()
        await self._fill(connection, way)
        self._reading = False
        if self.state.paused:
            self._tell_pause()
        self._adapt(way, time.monotonic() - begun)
        if self._watermarks is not None:
            await self._watermarks.close(connection, chunk.id)
        else:
            way.close_at = await pg_chunks.written_position(connection)
            self.passed.set()
            self.after_frames()

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = await connect(self._config, "Understudy Incremental")
            await lift_timeouts(self._connection)
            if "database.query.timeout.ms" in self._config.raw:
                # A condition of a signal may take for ever.
                await execute(self._connection, f"SET statement_timeout = {self._config.database_query_timeout_ms}")
        return self._connection

    async def _fill(self, connection: Connection, way: _Way) -> None:
        """Read the next rows there are: tables without any are done with on the way."""
        state = self.state
        while state.running:
            collection = state.collections[0]
            # Before anything is looked up: as recorded, what changes from the first watermark on does not come as a row too.
            way.chunk.aim(collection.name)
            try:
                if await self._fill_from(connection, way, collection):
                    return
            except pg_chunks.TableChangedError:
                _log.info("table changed, chunk read again table=%s", collection.name)
                self._look_again = True
            except (CdcError, KeyError, ValueError) as error:
                if isinstance(error, CdcError) and error.passes:
                    raise
                told = str(error) if isinstance(error, CdcError) else "a key cannot be kept in the offset"
                told = f"there is no column {error}" if isinstance(error, KeyError) else told
                _log.warning("incremental snapshot leaves out table=%s: %s", collection.name, told)
                self._table_ends("SQL_EXCEPTION", collection)

    async def _fill_from(self, connection: Connection, way: _Way, collection: Collection) -> bool:
        """Read from one table; False when there was nothing left of it to read."""
        state = self.state
        target = self._target
        if target is None or target.collection is not collection or self._look_again:
            target = await self._aim(connection, collection)
            if target is None:
                return False
        way.target = target
        if state.maximum is None:
            upto = await pg_chunks.maximum(connection, target.table, target.order, collection.condition)
            if upto is None:
                _log.info("incremental snapshot: table has no rows to read table=%s", collection.name)
                self._table_ends("EMPTY", collection)
                return False
            state.maximum = target.place(upto)
        read = await pg_chunks.read_chunk(
            connection,
            target.table,
            target.shape,
            target.columns,
            target.order,
            after=None if state.position is None else state.position.texts,
            upto=state.maximum.texts,
            condition=collection.condition,
            rows=self._rows,
        )
        if not read.lines:
            self._table_ends("SUCCEEDED", collection)
            return False
        rows = [split_copy_line(line) for line in read.lines]
        last = target.place_of(rows[-1])
        way.rows = len(rows)
        way.chunk.fill(target.keys(rows), rows, read.visible, last)
        self._notifier.send(
            self._notifier.incremental.in_progress(*self._as_wanted(), collection.name, shown_place(state.maximum), shown_place(last))
        )
        return True

    async def _aim(self, connection: Connection, collection: Collection) -> Target | None:
        """Look at the table; None when it cannot be read in chunks, which has been told."""
        looked = await look_at(connection, self._capture, self._config.version, collection)
        if isinstance(looked, Unreadable):
            _log.warning("incremental snapshot leaves out table=%s: %s", collection.name, looked.why)
            self._table_ends(looked.status, collection)
            return None
        former, state = self._target, self.state
        if former is not None and former.collection is collection:
            looked.shown, looked.begun = former.shown, former.begun
            same = former.order == looked.order
        else:
            width = len(looked.order.columns)
            same = all(place is None or len(place.texts) == width for place in (state.position, state.maximum))
        if not same:
            _log.info("incremental snapshot reads table from its beginning table=%s: its rows have another order now", collection.name)
            state.position = state.maximum = None
        self._target = looked
        self._look_again = False
        self._show()
        return looked

    def _adapt(self, way: _Way, seconds: float) -> None:
        target_ms = self._config.incremental_snapshot_chunk_target_ms
        if target_ms and way.rows:
            least = self._config.incremental_snapshot_chunk_size
            self._rows = next_size(self._rows, seconds, target=target_ms / 1000, least=least, most=least * _MOST_FACTOR)

    def _table_ends(self, status: ScanStatus, collection: Collection) -> None:
        state = self.state
        rows = 0
        if self._target is not None and self._target.collection is collection:
            rows = self._target.shown.rows
        correlation_id, names = self._as_wanted()
        _log.info("incremental snapshot: table ends table=%s rows=%d status=%s", collection.name, rows, status)
        self._notifier.send(self._notifier.incremental.table_completed(correlation_id, names, collection.name, rows, status))
        self._target, self._look_again = None, False
        if not state.next_collection():
            _log.info("incremental snapshot ends")
            self._notifier.send(self._notifier.incremental.completed(correlation_id))
        self._show()

    def window_opens(self, chunk_id: str) -> None:
        """The stream has brought a first watermark."""
        way = self._way
        if way is None or way.chunk.id != chunk_id:
            _log.info("watermark of another chunk passed over id=%s", chunk_id)
            return
        way.chunk.open()

    def window_closes(self, chunk_id: str) -> None:
        """The stream has brought a second watermark: the rows that are left go here."""
        way = self._way
        if way is None or way.chunk.id != chunk_id:
            _log.info("watermark of another chunk passed over id=%s", chunk_id)
            return
        self._close(way)

    def after_frames(self) -> bool:
        """Without watermarks: close the window if the stream has come far enough; whether it did."""
        way, stream = self._way, self._stream
        if way is None or way.close_at is None or not stream.between or stream.received < way.close_at:
            return False
        self.passed.clear()
        self._close(way)
        return True

    def _forget(self) -> None:
        self._stream.close_window()
        self._way = None
        self.passed.clear()

    def _close(self, way: _Way) -> None:
        self._forget()
        target = way.target
        closed = way.chunk.close(self.state, lambda rows: self._send(target, rows))
        if closed in (Closed.UNSEEN, Closed.RESHAPED):
            told = "it could not see all that the stream has brought" if closed is Closed.UNSEEN else "the table changed meanwhile"
            _log.info("chunk read again table=%s: %s", "" if target is None else target.table.name, told)
            self._look_again = closed is Closed.RESHAPED
            self._want(_AGAIN_S)
            return
        if target is not None and closed is Closed.SENT:
            target.shown.rows += way.rows
            target.shown.seconds = time.monotonic() - target.begun
            self._show(chunks=1)
        # A snapshot that is paused with the very signal that began it has sent its first chunk, as in the reference.
        if not self.state.paused:
            self._want()

    def _send(self, target: Target | None, rows: Sequence[Row]) -> None:
        if target is None:
            return
        config = self._config
        now_ns = time.time_ns()
        facts, lsn = self._stream.last_event
        writer = RowWriter(
            lsn,
            SourceFacts(now_ns // 1000, None, facts.last_commit),
            self._headers,
            config.event_converting_failure_handling_mode,
            placed=False,
        )
        work = TableWork(target.encoder, self._capture.source(target.table), self._sink.out(target.encoder.topic))
        writer.send_rows(work, rows, any(None in row for row in rows), "incremental", now_ns)
        self._context.progress.events += len(rows)

    def _show(self, *, chunks: int = 0) -> None:
        """Tell the progress endpoint how far it is."""
        progress, state = self._context.progress, self.state
        before = progress.incremental
        if not state.running:
            progress.incremental = None
            return
        shown = self._target.shown if self._target is not None else TableProgress(state.names[0])
        done = (before.chunks if before is not None else 0) + chunks
        progress.incremental = IncrementalProgress(shown, done, self._rows, state.names[1:], state.paused)
