"""Decides what an incremental snapshot does next. Pure: events go in, effects come out, and time is an argument.

Rules
1. There is one chunk at a time. The reading of a chunk has phases (:mod:`connector.incremental.coordinator_phases`). Signals and
   watermarks may arrive in every phase. An answer may arrive only in the phase that asked for it.
2. At most one :data:`~connector.incremental.coordinator_effects.Order` waits for its answer. The stream continues meanwhile. It may
   deliver a watermark before the server has answered that the watermark is written.
3. With watermarks, a chunk's window opens and closes when the stream delivers them. Without watermarks, the window opens before the
   read. It closes when the stream has passed the WAL position that was current after the read.
4. ``position`` advances only after the chunk's rows were sent. A chunk that must not be sent is read again
   (:class:`connector.incremental.windowed_chunk.Verdict`).
5. A pause or a stop takes effect between two chunks. If a pause arrives while a chunk is being read, the chunk is sent, and the pause is
   reported after the read. A stop waits for the next chunk, so it never takes effect during a pause. Debezium was recorded to do both.
6. Notifications about a chunk name the signal and the tables that were current when the chunk was requested, as recorded from Debezium.
7. A table that cannot be read is skipped and reported. If a watermark cannot be written, the snapshot ends. The stream continues.
8. If somebody else removes a watermark, the window may close before the chunk is read. The chunk is then read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Generic

from connector.errors import CdcError, ErrorKind
from connector.incremental import coordinator_effects as effects
from connector.incremental.coordinator_effects import Effect, Notice
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
from connector.incremental.coordinator_phases import AT_ANY_TIME, BEFORE_READ, TRANSITIONS, Phase
from connector.incremental.reading_progress import ReadingProgress
from connector.incremental.state import IncrementalSnapshot, Place
from connector.incremental.target import TableStatus, Target, read_place
from connector.incremental.window import Row
from connector.incremental.windowed_chunk import Verdict, WindowedChunk
from connector.ports import Backtracking, no_backtracking

BEGIN_S: Final = 0.2
"""Pause before the first chunk, in seconds. Signals that are sent together with the signal that begins a snapshot take effect before the
first chunk. Debezium has the same effect, because it polls the stream every poll.interval.ms."""
AGAIN_S: Final = 0.2
"""Pause before a chunk is read again, in seconds."""


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How chunks are read.

    ``watermarks`` says whether they are written to a signal table. ``rows`` is the least number of rows in a chunk. ``seconds`` is the
    time that a chunk should take; 0 sets no such time.
    """

    watermarks: bool
    rows: int
    seconds: float = 0.0


class Coordinator(Generic[Row]):
    """Returns the effects of each event. The caller carries out all effects, in their order, before it passes the next event."""

    def __init__(self, settings: ChunkSettings, backtrack: Backtracking = no_backtracking) -> None:
        self.phase = Phase.IDLE
        self.state = IncrementalSnapshot()
        self.closes_at: int | None = None
        """Without watermarks: the WAL position that closes the open window."""
        self._settings = settings
        self._backtrack = backtrack
        self._chunk: WindowedChunk[Row] | None = None
        """The current chunk, from its first watermark until its window closes."""
        self._chunk_id = ""
        self._sending: WindowedChunk[Row] | None = None
        self._target: Target | None = None
        """The table that was described last, until its reading ends."""
        self._look_again = False
        """The table's description must be read again before the next chunk."""
        self._progress = ReadingProgress(settings.rows, settings.seconds)
        self._stops: list[tuple[str, ...]] = []
        self._pause_reported = False
        self._wanted_after: float | None = None
        """The next chunk is requested, this many seconds after the reader is free; None when no chunk is requested."""
        self._correlation_id: str | None = None
        self._added = 0
        """``_correlation_id`` is the state's id at the time when the chunk was requested; ``_added`` counts the tables added since."""
        self._now = 0.0
        self._effects: list[Effect[Row]] = []

    @property
    def _reading(self) -> bool:
        """Whether a chunk is requested and not yet read."""
        return self._wanted_after is not None or self.phase in BEFORE_READ

    def handle(self, event: Event[Row], now: float) -> list[Effect[Row]]:
        """Return the effects of ``event`` at ``now`` (monotonic seconds). Raises CdcError(INTERNAL) if the phase forbids the event."""
        before, kind = self.phase, type(event)
        leads = TRANSITIONS[before].get(kind)
        if leads is None and kind not in AT_ANY_TIME:
            raise CdcError(ErrorKind.INTERNAL, f"The event {kind.__name__} came while the incremental snapshot {before.value}")
        self._now, self._effects = now, []
        self._take(event)
        if self.phase not in (leads or (before,)):
            raise CdcError(ErrorKind.INTERNAL, f"The event {kind.__name__} led from phase {before.name} to {self.phase.name}")
        return self._effects

    def _take(self, event: Event[Row]) -> None:
        """Carry out what a signal, the stream or the time asks for."""
        match event:
            case SnapshotAsked():
                self._add(event)
            case PauseAsked():
                self._pause()
            case ResumeAsked():
                self._go_on()
            case StopAsked(entries):
                self._stop(entries)
            case OpeningSeen(chunk_id):
                self._opening_seen(chunk_id)
            case ClosingSeen(chunk_id):
                self._closing_seen(chunk_id)
            case StreamReached(lsn, between) if self.closes_at is not None and between and lsn >= self.closes_at:
                self._window_closes()
            case Resumed(offset):
                self._resume(offset)
            case ChunkDue(chunk_id):
                self._begin(chunk_id)
            case TimePassed(seconds):
                self._report_late(seconds)
            case _:
                self._take_answer(event)

    def _take_answer(self, event: Event[Row]) -> None:
        """Carry on with the answer to an effect."""
        match event:
            case WindowAttached(recent):
                if self._chunk is not None:
                    self._chunk.listening(recent)
            case Connected() | WatermarkWritten() if self.phase is Phase.OPENING:
                self._opened()
            case WatermarkWritten():
                self._closed(None)
            case PositionFound(lsn):
                self._closed(lsn)
            case ChunkFailed(why):
                self._abort(why)
            case TableFound(target):
                self._found(target)
            case TableRefused(status, why):
                self._refused(status, why)
            case LastRowFound(place):
                self._measured(place)
            case ChunkRead():
                self._fill(event)
            case NoRowsLeft():
                self._table_ends("SUCCEEDED")
                self._approach()
            case TableChanged():
                self._look_again = True
                self._info("table changed, chunk read again", table=self.state.names[0])
                self._approach()
            case RowsSent():
                self._sent()

    def _do(self, effect: Effect[Row]) -> None:
        self._effects.append(effect)

    def _notify(self, notice: Notice) -> None:
        self._do(effects.Notify(notice))

    def _info(self, event: str, **fields: object) -> None:
        self._do(effects.Log("info", event, fields))

    def _warn(self, event: str, **fields: object) -> None:
        self._do(effects.Log("warning", event, fields))

    def _show(self) -> None:
        state = self.state
        if not state.running:
            self._progress.end_snapshot()
            self._do(effects.Show(None))
            return
        self._do(effects.Show(self._progress.shown(state.names, paused=state.paused, known=self._target is not None)))

    # Signals

    def _resume(self, offset: Mapping[str, object]) -> None:
        warning = self.state.load(offset, read_place)
        if warning:
            self._warn("cannot resume the incremental snapshot as stored", reason=warning)
        if self.state.running:
            self._info("incremental snapshot continues", tables=_listed(self.state.names))
            self._show()
            self._want()

    def _add(self, event: SnapshotAsked) -> None:
        state, correlation_id = self.state, event.correlation_id
        begins = state.add(event.collections, correlation_id)
        self._added += len(event.collections)
        self._show()
        self._info("incremental snapshot requested", tables=_listed(c.name for c in event.collections), id=correlation_id)
        if begins:
            self._notify(effects.Started(correlation_id, tuple(state.names)))
            self._want(BEGIN_S)

    def _pause(self) -> None:
        state = self.state
        if state.running and not state.paused:
            state.paused = True
            self._pause_reported = False
            self._show()
            if not self._reading:
                self._report_pause()

    def _report_pause(self) -> None:
        if self._pause_reported:
            return
        self._pause_reported = True
        self._info("incremental snapshot paused", tables=_listed(self.state.names))
        self._notify(effects.Paused(self.state.correlation_id, tuple(self.state.names)))

    def _go_on(self) -> None:
        state = self.state
        if not state.running or not state.paused:
            return
        if self._reading:
            self._report_pause()
        state.paused = False
        self._show()
        self._info("incremental snapshot resumed", tables=_listed(state.names))
        self._notify(effects.Continued(state.correlation_id, tuple(state.names)))
        if self._chunk is None and not self._reading:
            self._want()

    def _stop(self, entries: tuple[str, ...]) -> None:
        if self.state.running:
            self._stops.append(entries)
        else:
            self._warn("no incremental snapshot to stop")

    def _apply_stops(self) -> None:
        state = self.state
        for entries in self._stops:
            correlation_id = state.correlation_id
            removed = state.stop(entries, self._backtrack)
            if removed:
                self._info("tables removed from the incremental snapshot", tables=_listed(removed))
            else:
                self._warn("no table of the incremental snapshot matches the stop signal", tables=_listed(state.names))
            # The order of these notifications and the id of the last one are as recorded from Debezium.
            if state.running or not removed:
                self._notify(effects.Aborted(correlation_id, tuple(removed)))
            else:
                self._notify(effects.Completed(correlation_id))
                self._notify(effects.Aborted(None, tuple(removed[::-1])))
        self._stops.clear()
        self._show()

    # The course of a chunk

    def _want(self, seconds: float = 0.0) -> None:
        """Request the next chunk, whether the snapshot is paused or not."""
        self._correlation_id, self._added = self.state.correlation_id, 0
        if self.phase is Phase.DUE:
            return
        self._wanted_after = seconds
        if self._chunk is None and self.phase in (Phase.IDLE, Phase.WAITING, Phase.PAUSED):
            self._rest()

    def _rest(self) -> None:
        """Wait for the time of the next chunk or for the end of the pause. The reader must be free and no window open."""
        if self._wanted_after is None:
            if self.state.paused:
                self.phase = Phase.PAUSED
                return
            self._correlation_id, self._added = self.state.correlation_id, 0
        self.phase = Phase.DUE
        self._do(effects.Wake(self._wanted_after or 0.0))
        self._wanted_after = None

    def _begin(self, chunk_id: str) -> None:
        self._apply_stops()
        if not self.state.running:
            self.phase = Phase.IDLE
            self._do(effects.StoreState())
            return
        self._chunk, self._chunk_id = WindowedChunk(chunk_id), chunk_id
        self._progress.begin_chunk()
        self._aim()
        self.phase = Phase.OPENING
        self._do(effects.WriteOpening(chunk_id) if self._settings.watermarks else effects.Connect())

    def _aim(self) -> None:
        chunk = self._chunk
        # The window opens before the table is described: as recorded, rows that change after the first watermark are not in the chunk.
        if chunk is not None and chunk.aim(self.state.names[0]):
            self._attach(chunk)

    def _attach(self, chunk: WindowedChunk[Row]) -> None:
        if chunk.listens:
            self._do(effects.OpenWindow(chunk.table or "", chunk.window))

    def _opened(self) -> None:
        chunk = self._chunk
        if chunk is not None and not self._settings.watermarks:
            chunk.open()
            self._attach(chunk)
        self._progress.begin_read(self._now)
        self._approach()

    def _approach(self) -> None:
        """Take the next step towards a read of the first table. If no table is left or the window has closed, end the chunk."""
        state, target = self.state, self._target
        if not state.running or self._chunk is None:
            self._end_reading()
            return
        collection = state.collections[0]
        self._aim()
        if target is None or target.collection is not collection or self._look_again:
            self.phase = Phase.LOOKING
            self._do(effects.LookAtTable(collection))
        elif state.maximum is None:
            self.phase = Phase.MEASURING
            self._do(effects.FindLastRow(target))
        else:
            self.phase = Phase.READING
            after = None if state.position is None else state.position.texts
            self._do(effects.ReadChunk(target, after, state.maximum.texts, self._progress.size))

    def _found(self, target: Target) -> None:
        former, state = self._target, self.state
        if former is not None and former.collection is target.collection:
            same = former.order == target.order
        else:
            self._progress.begin_table(target.collection.name, target.estimate, self._now)
            width = len(target.order.columns)
            same = all(place is None or len(place.texts) == width for place in (state.position, state.maximum))
        if not same:
            self._info("incremental snapshot restarts a table because the order of its rows changed", table=target.collection.name)
            state.position = state.maximum = None
        self._target, self._look_again = target, False
        self._show()
        self._approach()

    def _refused(self, status: TableStatus, why: str) -> None:
        self._warn("incremental snapshot skips a table", table=self.state.names[0], reason=why)
        self._table_ends(status)
        self._approach()

    def _measured(self, place: Place | None) -> None:
        if place is None:
            self._info("incremental snapshot table has no rows to read", table=self.state.names[0])
            self._table_ends("EMPTY")
        else:
            self.state.maximum = place
        self._approach()

    def _fill(self, event: ChunkRead[Row]) -> None:
        state, chunk = self.state, self._chunk
        if chunk is not None and state.maximum is not None:
            self._progress.read(len(event.rows))
            chunk.fill(event.keys, event.rows, event.visible, event.last)
            self._notify(effects.InProgress(*self._as_wanted(), state.names[0], state.maximum, event.last))
        self._end_reading()

    def _table_ends(self, status: TableStatus) -> None:
        state = self.state
        collection = state.collections[0]
        rows = self._progress.table_rows if self._target is not None and self._target.collection is collection else 0
        correlation_id, tables = self._as_wanted()
        self._info("incremental snapshot table ends", table=collection.name, rows=rows, status=status)
        self._notify(effects.TableCompleted(correlation_id, tables, collection.name, rows, status))
        self._target, self._look_again = None, False
        if not state.next_collection():
            self._info("incremental snapshot ends")
            self._notify(effects.Completed(correlation_id))
        self._show()

    def _as_wanted(self) -> tuple[str | None, tuple[str, ...]]:
        """Return the signal's id and the tables for which the chunk was requested."""
        state = self.state
        known = len(state.names) - self._added
        return (self._correlation_id, tuple(state.names[:known])) if known > 0 else (state.correlation_id, tuple(state.names))

    def _end_reading(self) -> None:
        self.phase = Phase.CLOSING
        if self.state.paused and self._wanted_after is None:
            self._report_pause()
        self._progress.end_read(self._now)
        self._do(effects.WriteClosing(self._chunk_id) if self._settings.watermarks else effects.FindPosition())

    def _closed(self, lsn: int | None) -> None:
        if self._chunk is None:
            self._rest()
            return
        self.phase = Phase.WAITING
        if lsn is not None:
            self.closes_at = lsn
            self._do(effects.AwaitPosition())

    # The window

    def _opening_seen(self, chunk_id: str) -> None:
        chunk = self._chunk
        if chunk is None or chunk.id != chunk_id:
            self._info("watermark of another chunk ignored", id=chunk_id)
            return
        chunk.open()
        self._attach(chunk)

    def _closing_seen(self, chunk_id: str) -> None:
        if self._chunk is None or self._chunk.id != chunk_id:
            self._info("watermark of another chunk ignored", id=chunk_id)
            return
        self._window_closes()

    def _window_closes(self) -> None:
        chunk = self._forget()
        verdict = Verdict.EMPTY if chunk is None else chunk.verdict()
        if chunk is not None and self._target is not None and verdict is Verdict.COMPLETE:
            self._sending = chunk
            self._do(effects.SendRows(self._target, chunk.window.rows()))
            return
        if verdict is Verdict.EMPTY:
            self._chunk_ends()
            return
        why = "it could not see all that the stream has brought" if verdict is Verdict.UNSEEN else "the table changed meanwhile"
        self._info("chunk read again", table="" if self._target is None else self._target.table.name, reason=why)
        self._look_again = verdict is Verdict.RESHAPED
        self._want(AGAIN_S)

    def _forget(self) -> WindowedChunk[Row] | None:
        chunk, self._chunk, self.closes_at = self._chunk, None, None
        self._do(effects.CloseWindow())
        return chunk

    def _sent(self) -> None:
        chunk, self._sending = self._sending, None
        if chunk is None:
            raise CdcError(ErrorKind.INTERNAL, "The event RowsSent came while the incremental snapshot sent no rows")
        self.state.position = chunk.last
        self._progress.sent(self._now)
        self._show()
        self._chunk_ends()

    def _chunk_ends(self) -> None:
        # A pause that arrives together with the first signal takes effect after the first chunk, as in Debezium.
        if not self.state.paused and self._wanted_after is None:
            self._want()
        elif self.phase is Phase.WAITING:
            self._rest()

    def _abort(self, why: str) -> None:
        state = self.state
        self._do(effects.Log("error", "incremental snapshot failed", {"tables": _listed(state.names), "reason": why}))
        correlation_id = state.correlation_id
        removed = state.stop(())
        self._forget()
        # A pending stop was meant for this snapshot. It must not stop the next one.
        self._stops.clear()
        self._target, self._look_again, self._wanted_after = None, False, None
        self._show()
        self._notify(effects.Aborted(correlation_id, tuple(removed)))
        self.phase = Phase.IDLE
        self._do(effects.StoreState())

    def _report_late(self, seconds: float) -> None:
        if self.phase is not Phase.WAITING:
            return
        why = "the stream is behind, or the signal table is not published" if self._settings.watermarks else "the stream is behind"
        table = "" if self._target is None else self._target.table.name
        self._warn("incremental snapshot waits for its window to close", table=table, seconds=round(seconds), reason=why)


def _listed(tables: Iterable[str]) -> str:
    return ",".join(tables)
