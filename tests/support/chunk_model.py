"""A model of PostgreSQL around the coordinator of incremental snapshots, for all orders in which things may happen.

The database is a log of committed transactions; a transaction is in the log, and so in the stream, before its changes can be seen by
readers, and holds its rows' locks until then. The code that is tested is the real one: :class:`connector.events.stream.Stream`, fed with
pgoutput frames, and :class:`connector.incremental.coordinator.Coordinator`, whose effects the model carries out. Two rules are checked
with every record: no read is older than a record of its key that was sent before; and in the end the last record of each key is the row in
the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from connector.catalog.visibility import Visibility
from connector.events.live_table import LiveTable
from connector.events.stream import Stream
from connector.events.stream_settings import StreamSettings
from connector.events.transitions import NeedRelation, Signal
from connector.incremental.coordinator import AGAIN_S, ChunkSettings, Coordinator
from connector.incremental.coordinator_effects import (
    Aborted,
    AwaitPosition,
    CloseWindow,
    Connect,
    Effect,
    FindLastRow,
    FindPosition,
    Log,
    LookAtTable,
    Notify,
    OpenWindow,
    Order,
    ReadChunk,
    SendRows,
    Show,
    StoreState,
    Wake,
    WriteClosing,
    WriteOpening,
)
from connector.incremental.coordinator_events import (
    ChunkDue,
    ChunkRead,
    ClosingSeen,
    Connected,
    Event,
    LastRowFound,
    NoRowsLeft,
    OpeningSeen,
    PositionFound,
    Resumed,
    RowsSent,
    SnapshotAsked,
    StreamReached,
    TableFound,
    WatermarkWritten,
    WindowAttached,
)
from connector.incremental.coordinator_phases import Phase
from connector.incremental.state import Collection
from connector.incremental.target import NO_PLACE, Target
from connector.signals.signal import CLOSE, OPEN, source_signal

from .chunk_tables import SIGNALS, TABLES, compiled, target_of
from .stream_rig import NOW_NS, Failures, RecordingOut, Sent, relation_of
from .wal_script import WalScript

Change = tuple[str, str, str]
"""``("put", table, key)``, ``("drop", table, key)``, ``("empty", table, "")`` or ``("move", table, "from>to")``."""

_FIRST_XID: Final = 1000
_SETTINGS: Final = StreamSettings(skipped=frozenset())


class BrokenRuleError(AssertionError):
    """What must never happen has happened."""


@dataclass(slots=True)
class _Transaction:
    xid: int
    changes: list[tuple[str, str, str | None]]
    """Table, key, and the value after it; None when it is gone."""
    frames: list[bytes]
    end: int


@dataclass(slots=True)
class Topic:
    """The state that a topic shows, and the age of each key's record."""

    values: dict[str, str] = field(default_factory=dict)
    version: dict[str, int] = field(default_factory=dict)


class World:
    """A database, its stream and one incremental snapshot; every method is one step of it.

    ``rows`` are each table's keys at the beginning, whose records nobody has seen, ``asked`` the tables to read, all of them by default.
    ``coordinator`` is what is tested.
    """

    def __init__(
        self,
        rows: Mapping[str, Sequence[str]],
        *,
        size: int,
        read_only: bool = False,
        asked: Sequence[str] | None = None,
        coordinator: type[Coordinator[bytes]] = Coordinator,
    ) -> None:
        self.size = size
        self.read_only = read_only
        self._class = coordinator
        self._wal = WalScript()
        self.log: list[_Transaction] = []
        self.late: list[int] = []
        """Numbers in the log of transactions that cannot be seen yet."""
        self._history: dict[tuple[str, str], list[tuple[int, str | None]]] = {}
        """Each key's values by the number of the transaction that wrote it (-1: there from the beginning)."""
        self._count = 0
        self._next_xid = _FIRST_XID
        for table, keys in rows.items():
            for key in keys:
                self._history[table, key] = [(-1, self._value())]
        self.topics = {table: Topic() for table in TABLES}
        self._records: dict[str, list[Sent]] = {name: [] for name in (*TABLES, "sig")}
        self.stream = self._new_stream()
        self.fed = 0
        """Frames of the log that the stream has had."""
        self._frames: list[bytes] = []
        self._ends: list[tuple[int, int]] = []
        """Number of frames after which a position is reached, and that position."""
        self._orders: list[Order] = []
        self._answer: Event[bytes] | None = None
        """The server has done what it was asked for; the answer is on its way."""
        self._awaited = False
        self._chunks = 0
        self.again = 0
        """Chunks that were read again."""
        self.stopped: set[str] = set()
        """Tables that were taken off the snapshot."""
        self.coordinator = self._new_coordinator()
        names = list(rows) if asked is None else asked
        self.tell(SnapshotAsked(tuple(Collection(f"public.{table}") for table in names), "s"))

    # The database

    def _value(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def commit(self, *changes: Change, late: bool = False) -> bool:
        """A transaction is written; ``late``: it cannot be seen yet. False when it must wait for a row that is locked.

        Nobody can read a table whose truncation cannot be seen yet, so there is no such transaction.
        """
        late = late and all(kind != "empty" for kind, _, _ in changes)
        locked = {(table, key) for number in self.late for table, key, _ in self.log[number].changes}
        written: list[tuple[str, str, str | None]] = []
        for kind, table, keys in changes:
            if kind == "empty" and any(of == table for of, _ in locked):
                return False
            if kind == "empty":
                written += [(table, key, None) for of, key in sorted(self._history) if of == table]
                written.append((table, "", None))
            elif kind == "move":
                source, target = keys.split(">")
                written += [(table, source, None), (table, target, self._value())]
            else:
                written.append((table, keys, self._value() if kind == "put" else None))
        if any((table, key) in locked for table, key, _ in written):
            return False
        number = len(self.log)
        now = self.table_now()
        wal = self._wal
        xid = self._xid()
        wal.begin(xid)
        messages: list[tuple[str, str, str | None]] = []
        for kind, table, keys in changes:
            relation = relation_of(TABLES[table])
            mine = [change for change in written if change[0] == table]
            if kind == "empty":
                wal.truncate(relation)
                messages += [change for change in mine if change[1] == "" or change[1] in now[table]]
            elif kind == "put":
                [value] = [value for _, key, value in mine if key == keys][-1:]
                (wal.update if keys in now[table] else wal.insert)(relation, keys, value)
                messages.append((table, keys, value))
            elif kind == "drop":
                if keys in now[table]:
                    wal.delete(relation, key=[keys, None])
                    messages.append((table, keys, None))
            else:
                source, target = keys.split(">")
                if source in now[table] and target not in now[table]:
                    [value] = [value for _, key, value in mine if key == target][-1:]
                    wal.update(relation, target, value, key=[source, None])
                    messages += [(table, source, None), (table, target, value)]
        end = wal.commit()
        self._logged(xid, messages, end)
        for table, key, value in messages:
            self._history.setdefault((table, key), []).append((number, value))
        if late:
            self.late.append(number)
        return True

    def _xid(self) -> int:
        self._next_xid += 1
        return self._next_xid - 1

    def _logged(self, xid: int, changes: list[tuple[str, str, str | None]], end: int) -> None:
        frames = self._wal.take()
        self.log.append(_Transaction(xid, changes, frames, end))
        self._frames += frames
        self._ends.append((len(self._frames), end))

    def show(self, number: int = 0) -> None:
        """A transaction that could not be seen can be seen."""
        del self.late[number]

    def _visible(self, key: tuple[str, str]) -> str | None:
        values = [value for number, value in self._history[key] if number not in self.late]
        return values[-1] if values else None

    def table_now(self) -> dict[str, dict[str, str]]:
        """What is committed, seen or not."""
        found: dict[str, dict[str, str]] = {table: {} for table in TABLES}
        for (table, key), values in self._history.items():
            if key and (value := values[-1][1]) is not None:
                found[table][key] = value
        return found

    def _snapshot(self) -> Visibility:
        """A snapshot as PostgreSQL makes it: it ends after the newest visible transaction, and lists only transactions before that end."""
        shown = [one.xid for number, one in enumerate(self.log) if number not in self.late]
        end = max(shown, default=_FIRST_XID - 1) + 1
        hidden = [self.log[number].xid for number in self.late]
        listed = ",".join(str(xid) for xid in hidden if xid < end)
        return Visibility.parse(f"{min([*hidden, end])}:{end}:{listed}")

    # The stream

    def _new_stream(self) -> Stream:
        stream = Stream(_SETTINGS, last_commit=None, resume=None, warn=Failures())
        for table in (*TABLES.values(), SIGNALS):
            self._wal.relation(relation_of(table))
            answer = stream.feed(self._wal.take(), NOW_NS)
            assert isinstance(answer, NeedRelation)
            encoder, source = compiled(table.table)
            out = RecordingOut(table.table, self._records[table.table])
            stream.adopt(answer.relation, LiveTable(encoder, source, out, signals=table is SIGNALS))
        return stream

    @property
    def behind(self) -> int:
        """Frames that the stream has not had."""
        return len(self._frames) - self.fed

    def transaction_left(self) -> int:
        """Frames to the end of the transaction that the stream is in or before."""
        return next((count - self.fed for count, _ in self._ends if count > self.fed), 0)

    def feed(self, count: int) -> None:
        """The stream gets ``count`` more frames."""
        frames = self._frames[self.fed : self.fed + count]
        self.fed += len(frames)
        while frames:
            answer = self.stream.feed(frames, NOW_NS)
            frames = frames[answer.used :]
            self._take_records()
            if isinstance(answer, Signal):
                signal = source_signal(answer.row.cells)
                self._signal(signal.type, signal.id)
        self._passed()

    def _take_records(self) -> None:
        for name in TABLES:
            for sent in self._records[name]:
                self._messages(name, sent)
            self._records[name].clear()

    def _messages(self, table: str, sent: Sent) -> None:
        topic = self.topics[table]
        if sent.value is None:
            return
        payload = sent.payload
        if payload["op"] == "t":
            version = self._version(table, "", None, after=topic.version.get("", -2))
            topic.version = dict.fromkeys([*topic.version, *self._keys(table), ""], version)
            topic.values.clear()
            return
        row = payload["before"] if payload["op"] == "d" else payload["after"]
        key = str(row["id"])
        value = None if payload["op"] == "d" else row["v"]
        topic.version[key] = self._version(table, key, value, after=topic.version.get(key, -2))
        if value is None:
            topic.values.pop(key, None)
        else:
            topic.values[key] = value

    def _keys(self, table: str) -> list[str]:
        return [key for of, key in self._history if of == table]

    def _version(self, table: str, key: str, value: str | None, *, after: int = -2) -> int:
        """The number of the transaction that wrote ``value``; of a deletion the first one after ``after``."""
        numbers = [number for number, written in self._history[table, key] if written == value and (value is not None or number > after)]
        if not numbers:
            raise BrokenRuleError(f"{table} {key}: a record has {value}, which nobody wrote after {after}")
        return numbers[0]

    # The snapshot

    def _new_coordinator(self) -> Coordinator[bytes]:
        return self._class(ChunkSettings(watermarks=not self.read_only, rows=self.size))

    @property
    def phase(self) -> Phase:
        """What the reader of chunks does."""
        return self.coordinator.phase

    @property
    def reader_waits(self) -> bool:
        """Only the stream or a signal can bring it further, or it has come to the end."""
        return not self._orders and self._answer is None

    @property
    def begins_chunk(self) -> bool:
        """Its next step is a new chunk."""
        return self.phase is Phase.DUE

    def tell(self, event: Event[bytes]) -> None:
        """Something happens, and its effects with it."""
        before = self.coordinator.state.position
        effects = self.coordinator.handle(event, 0.0)
        if self.coordinator.state.position is not before and any(isinstance(effect, SendRows) for effect in effects):
            raise BrokenRuleError("the position moved before the rows were sent")
        for effect in effects:
            self._carry_out(effect)

    def advance(self) -> None:
        """The reader's next step; nothing while it waits for the stream or has come to the end."""
        if self._answer is not None:
            answer, self._answer = self._answer, None
            self.tell(answer)
        elif self._orders:
            self._obey(self._orders.pop(0))

    def restart(self) -> bool:
        """The worker ends and starts again, with the offset of what was sent. False when that cannot be now.

        It cannot be while transactions wait to be seen: a new stream does not know which of them an earlier one has brought.
        """
        if self.late or not self.stream.between:
            return False
        stored = self.coordinator.state.to_offset(NO_PLACE)
        self._orders.clear()
        self._answer, self._awaited = None, False
        self.stream = self._new_stream()
        self.coordinator = self._new_coordinator()
        self.tell(Resumed(stored))
        return True

    def _carry_out(self, effect: Effect[bytes]) -> None:
        match effect:
            case OpenWindow(table, window):
                recent = frozenset(self.stream.recent)
                self.stream.open_window(table, window)
                self.tell(WindowAttached(recent))
            case CloseWindow():
                self.stream.close_window()
                self._awaited = False
            case AwaitPosition():
                self._awaited = True
                self._passed()
            case SendRows(target, rows):
                self._send(target.table.table, rows)
                self.tell(RowsSent())
            case Notify(Aborted(_, tables)):
                self.stopped |= {table.removeprefix("public.") for table in tables}
            case Notify() | Log() | Show() | StoreState():
                pass
            case _:
                self.again += isinstance(effect, Wake) and effect.seconds == AGAIN_S and self._chunks > 0
                self._orders.append(effect)

    def _obey(self, order: Order) -> None:
        match order:
            case Wake():
                self._chunks += 1
                self.tell(ChunkDue(f"c{self._chunks}"))
            case Connect():
                self.tell(Connected())
            case WriteOpening(chunk_id):
                self._watermark(f"{chunk_id}-open", OPEN)
                self.tell(WatermarkWritten())
            case WriteClosing(chunk_id):
                # The server's answer comes later than the row may come through the stream.
                self._watermark(f"{chunk_id}-close", CLOSE)
                self._answer = WatermarkWritten()
            case FindPosition():
                ends = (end for number, (_, end) in enumerate(self._ends) if number not in self.late)
                self._answer = PositionFound(max(ends, default=0))
            case LookAtTable(collection):
                self.tell(TableFound(target_of(collection)))
            case FindLastRow(target):
                keys = [key for key, _ in self._visible_rows(target)]
                self.tell(LastRowFound(target.place((keys[-1],)) if keys else None))
            case ReadChunk(target, after, upto, most):
                rows = [row for row in self._visible_rows(target) if (after is None or row[0] > str(after[0])) and row[0] <= str(upto[0])]
                self._answer = self._read(target, rows[:most])
            case StoreState():
                pass

    def _visible_rows(self, target: Target) -> list[tuple[str, str]]:
        table = target.table.table
        shown = {key: self._visible((of, key)) for of, key in self._history if of == table and key}
        return [(key, value) for key, value in sorted(shown.items()) if value is not None]

    def _read(self, target: Target, rows: list[tuple[str, str]]) -> Event[bytes]:
        if not rows:
            return NoRowsLeft()
        lines = tuple(f"{key}\t{value}".encode() for key, value in rows)
        return ChunkRead(lines, tuple((key.encode(),) for key, _ in rows), self._snapshot(), target.place((rows[-1][0],)))

    def _watermark(self, row_id: str, kind: str) -> None:
        xid = self._xid()
        self._wal.begin(xid)
        self._wal.insert(relation_of(SIGNALS), row_id, kind, None)
        self._logged(xid, [], self._wal.commit())

    def _signal(self, kind: str, row_id: str) -> None:
        self.tell(OpeningSeen(row_id.removesuffix("-open")) if kind == OPEN else ClosingSeen(row_id.removesuffix("-close")))

    def _passed(self) -> None:
        """Without watermarks: how far the stream is, as a keepalive reports it."""
        if self._awaited:
            self.tell(StreamReached(self.stream.received, self.stream.between))

    def _send(self, table: str, rows: Sequence[bytes]) -> None:
        topic = self.topics[table]
        for line in rows:
            key, value = line.decode().split("\t")
            version, newest = self._version(table, key, value), topic.version.get(key, -2)
            if version < newest:
                raise BrokenRuleError(f"{table} {key}: a read of transaction {version} follows the record of transaction {newest}")
            topic.version[key] = version
            topic.values[key] = value

    # The end

    @property
    def ended(self) -> bool:
        """The snapshot is complete and the stream has brought everything."""
        return self.phase is Phase.IDLE and not self.behind and self.reader_waits

    def check(self) -> None:
        """Raise BrokenRuleError unless the topics say what the tables hold, those that were taken off the snapshot left out."""
        now = self.table_now()
        for table, topic in self.topics.items():
            if table not in self.stopped and topic.values != now[table]:
                raise BrokenRuleError(f"{table}: the topic says {topic.values}, the table holds {now[table]}")

    def fingerprint(self) -> object:
        """Equal for worlds in which the same may follow."""
        inner: Any = self.coordinator
        chunk, state, answer = inner._chunk, inner.state, self._answer
        window: object = None
        if chunk is not None:
            visible = chunk._visible or (answer.visible if isinstance(answer, ChunkRead) else None)
            late = {self.log[number].xid for number in self.late}
            seen = frozenset(xid for xid in chunk.seen if xid in late or (visible is not None and visible.hides_any([xid])))
            reported = chunk.window
            rows = None if reported._present is None else tuple(reported._rows)
            window = chunk.opened, chunk.table, seen, reported.spoiled, frozenset(reported._changed), rows, chunk._visible, chunk.last
        return (
            tuple((one.xid, tuple(one.changes)) for one in self.log),
            tuple(self.late),
            self.fed,
            inner.phase,
            window,
            tuple((type(order).__name__, getattr(order, "after", None), getattr(order, "upto", None)) for order in self._orders),
            answer,
            (inner._look_again, inner._target is None, tuple(inner._stops), inner._wanted_after, inner.closes_at, self._awaited),
            (tuple(state.names), state.position, state.maximum, state.paused),
            tuple((tuple(sorted(topic.values.items())), tuple(sorted(topic.version.items()))) for topic in self.topics.values()),
            frozenset(self.stopped),
        )
