"""A model of PostgreSQL and of the reader of chunks, for all orders in which things may happen.

The database is a log of committed transactions; a transaction is in the log, and so in the stream, before its changes can be seen by
readers, and holds its rows' locks until then. Around it runs the real thing: :class:`connector.stream.Stream` fed with pgoutput
frames, :class:`connector.incremental_chunk.Chunk` and :class:`connector.incremental.IncrementalSnapshot`. Two rules are checked with
every record: none is a read of something older than what its key's topic has told already; and in the end the last record of each key
is the row in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from connector.changes import LiveTable, StreamSettings
from connector.encoders import TableEncoder
from connector.incremental import Collection, IncrementalSnapshot, Place
from connector.incremental_chunk import Chunk, Closed, Visibility
from connector.signals import CLOSE, OPEN, source_signal
from connector.stream import Stream
from connector.types.codec import Column

from .stream_rig import INT4, NOW_NS, TEXT, RecordingOut, Sent, StreamRig, catalog_table, relation_of
from .wal_script import WalScript

Change = tuple[str, str, str]
"""``("put", table, key)``, ``("drop", table, key)``, ``("empty", table, "")`` or ``("move", table, "from>to")``."""

TABLES: Final = {
    name: catalog_table(name, Column("id", INT4, not_null=True), Column("v", TEXT), oid=6000 + number, primary_key=["id"])
    for number, name in enumerate(("a", "b"))
}
SIGNALS: Final = catalog_table(
    "sig", Column("id", TEXT, not_null=True), Column("type", TEXT), Column("data", TEXT), oid=6100, primary_key=["id"]
)
_FIRST_XID: Final = 1000


class BrokenRuleError(AssertionError):
    """What must never happen has happened."""


@dataclass(slots=True)
class _Transaction:
    xid: int
    changes: list[tuple[str, str, str | None]]
    """Table, key, and the value after it; None when it is gone."""
    frames: list[bytes]
    end: int


@cache
def _compiled(name: str) -> tuple[TableEncoder, Any]:
    rig = StreamRig(*TABLES.values(), SIGNALS)
    table = TABLES.get(name, SIGNALS)
    return rig.capture.encoder(table), rig.capture.source(table)


@dataclass(slots=True)
class Topic:
    """The state that a topic tells of, and how new each key's record is."""

    values: dict[str, str] = field(default_factory=dict)
    version: dict[str, int] = field(default_factory=dict)


class World:
    """A database, its stream and one incremental snapshot; every method is one step of it.

    ``rows`` are each table's keys at the beginning, whose records nobody has seen. ``chunk_class`` is what is tested.
    """

    def __init__(
        self,
        rows: Mapping[str, Sequence[str]],
        *,
        size: int,
        read_only: bool = False,
        chunk_class: Callable[[str, Stream], Chunk[bytes]] = Chunk,
    ) -> None:
        self.size = size
        self.read_only = read_only
        self._chunk_class = chunk_class
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
        self.state = IncrementalSnapshot()
        self.state.add([Collection(f"public.{table}") for table in rows], "s")
        self.topics = {table: Topic() for table in TABLES}
        self._records: dict[str, list[Sent]] = {name: [] for name in (*TABLES, "sig")}
        self.stream = self._new_stream()
        self.fed = 0
        """Frames of the log that the stream has had."""
        self._frames: list[bytes] = []
        self._ends: list[tuple[int, int]] = []
        """Number of frames after which a position is reached, and that position."""
        self.chunk: Chunk[bytes] | None = None
        self.step = "open"
        """What the reader of chunks does next: open, aim, look, fill, close, wait."""
        self._looked: tuple[Visibility, tuple[tuple[str, str], ...]] | None = None
        self._close_at: int | None = None
        self._chunks = 0
        self.again = 0
        """Chunks that were read again."""

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
        told: list[tuple[str, str, str | None]] = []
        for kind, table, keys in changes:
            relation = relation_of(TABLES[table])
            mine = [change for change in written if change[0] == table]
            if kind == "empty":
                wal.truncate(relation)
                told += [change for change in mine if change[1] == "" or change[1] in now[table]]
            elif kind == "put":
                [value] = [value for _, key, value in mine if key == keys][-1:]
                (wal.update if keys in now[table] else wal.insert)(relation, keys, value)
                told.append((table, keys, value))
            elif kind == "drop":
                if keys in now[table]:
                    wal.delete(relation, key=[keys, None])
                    told.append((table, keys, None))
            else:
                source, target = keys.split(">")
                if source in now[table] and target not in now[table]:
                    [value] = [value for _, key, value in mine if key == target][-1:]
                    wal.update(relation, target, value, key=[source, None])
                    told += [(table, source, None), (table, target, value)]
        end = wal.commit()
        self._logged(xid, told, end)
        for table, key, value in told:
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
        """As PostgreSQL makes one: it ends behind the newest transaction that can be seen, and lists those before that end alone."""
        shown = [one.xid for number, one in enumerate(self.log) if number not in self.late]
        end = max(shown, default=_FIRST_XID - 1) + 1
        hidden = [self.log[number].xid for number in self.late]
        listed = ",".join(str(xid) for xid in hidden if xid < end)
        return Visibility.parse(f"{min([*hidden, end])}:{end}:{listed}")

    # The stream

    def _new_stream(self) -> Stream:
        stream = Stream(StreamSettings(skipped=frozenset()), last_commit=None, resume=None, on_conversion_failure=lambda _t, _c, _r: None)
        for table in (*TABLES.values(), SIGNALS):
            self._wal.relation(relation_of(table))
            stream.feed(self._wal.take(), NOW_NS)
            assert stream.wanted is not None
            encoder, source = _compiled(table.table)
            out = RecordingOut(table.table, self._records[table.table])
            stream.adopt(stream.wanted, LiveTable(encoder, source, out, signals=table is SIGNALS))
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
            used = self.stream.feed(frames, NOW_NS)
            frames = frames[used:]
            self._take_records()
            row = self.stream.take_signal()
            if row is not None:
                signal = source_signal(row.cells)
                self._signal(signal.type, signal.id)
        self._passed()

    def _take_records(self) -> None:
        for name in TABLES:
            for sent in self._records[name]:
                self._told(name, sent)
            self._records[name].clear()

    def _told(self, table: str, sent: Sent) -> None:
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
            raise BrokenRuleError(f"{table} {key}: a record tells of {value}, which nobody wrote after {after}")
        return numbers[0]

    # The reader of chunks, step by step as connector.runner.incremental does it

    def advance(self) -> None:
        """The reader's next step; nothing while it waits for the stream or has come to the end."""
        getattr(self, f"_do_{self.step}")()

    @property
    def reader_waits(self) -> bool:
        """Only the stream can bring it further, or it has come to the end."""
        return self.step in ("wait", "end")

    def _watermark(self, kind: str) -> None:
        assert self.chunk is not None
        xid = self._xid()
        self._wal.begin(xid)
        ending = "open" if kind == OPEN else "close"
        self._wal.insert(relation_of(SIGNALS), f"{self.chunk.id}-{ending}", kind, None)
        self._logged(xid, [], self._wal.commit())

    def _do_open(self) -> None:
        self._chunks += 1
        self.chunk = self._chunk_class(f"c{self._chunks}", self.stream)
        self._close_at = self._looked = None
        if self.read_only:
            self.chunk.open()
        else:
            self._watermark(OPEN)
        self.step = "aim"

    def _do_aim(self) -> None:
        assert self.chunk is not None
        table = self._table()
        if self.state.maximum is None:
            keys = sorted(key for of, key in self._history if of == table and key and self._visible((of, key)) is not None)
            if not keys:
                self._table_ends()
                return
            self.state.maximum = Place((keys[-1],), keys[-1])
        self.chunk.aim(f"public.{table}")
        self.step = "look"

    def _table(self) -> str:
        return self.state.names[0].removeprefix("public.")

    def _table_ends(self) -> None:
        """Goes on with the next table and the same watermarks."""
        self.step = "aim" if self.state.next_collection() else "close"

    def _do_look(self) -> None:
        """The server reads; the answer is on its way."""
        table, state = self._table(), self.state
        assert state.maximum is not None
        after = "" if state.position is None else str(state.position.texts[0])
        upto = str(state.maximum.texts[0])
        shown = {key: self._visible((of, key)) for of, key in self._history if of == table and after < key <= upto}
        rows = [(key, value) for key, value in sorted(shown.items()) if value is not None][: self.size]
        self._looked = self._snapshot(), tuple(rows)
        self.step = "fill"

    def _do_fill(self) -> None:
        assert self.chunk is not None
        assert self._looked is not None
        visible, rows = self._looked
        if not rows:
            self._table_ends()
            return
        last = rows[-1][0]
        lines = [f"{key}\t{value}".encode() for key, value in rows]
        self.chunk.fill([(key.encode(),) for key, _ in rows], lines, visible, Place((last,), last))
        self.step = "close"

    def _do_close(self) -> None:
        # The server's answer comes later than the row may come through the stream: there is nothing left to do then.
        self.step = "wait"
        if self.read_only:
            self._close_at = max((end for number, (_, end) in enumerate(self._ends) if number not in self.late), default=0)
            self._passed()
        else:
            self._watermark(CLOSE)

    def _do_wait(self) -> None:
        pass

    def _do_end(self) -> None:
        pass

    def _signal(self, kind: str, chunk_id: str) -> None:
        chunk = self.chunk
        if chunk is None or chunk.id != chunk_id.rsplit("-", 1)[0]:
            return
        if kind == OPEN:
            chunk.open()
        else:
            self._close(chunk)

    def _passed(self) -> None:
        """Without watermarks: the stream has come far enough, as a keepalive tells."""
        stream, close_at = self.stream, self._close_at
        if self.chunk is not None and close_at is not None and stream.between and stream.received >= close_at:
            self._close(self.chunk)

    def _close(self, chunk: Chunk[bytes]) -> None:
        self.chunk = self._close_at = None
        before = self.state.position
        sent: list[bytes] = []

        def send(lines: list[bytes]) -> None:
            if self.state.position is not before:
                raise BrokenRuleError("the position moved before the rows were sent")
            sent.extend(lines)

        closed = chunk.close(self.state, send)
        self.again += closed in (Closed.UNSEEN, Closed.RESHAPED)
        table = self._table() if self.state.running else ""
        for line in sent:
            key, value = line.decode().split("\t")
            version, newest = self._version(table, key, value), self.topics[table].version.get(key, -2)
            if version < newest:
                raise BrokenRuleError(f"{table} {key}: a read of transaction {version} follows the record of transaction {newest}")
            self.topics[table].version[key] = version
            self.topics[table].values[key] = value
        self.step = "open" if self.state.running else "end"

    # The end

    @property
    def ended(self) -> bool:
        """The snapshot is complete and the stream has brought everything."""
        return self.step == "end" and not self.behind

    def check(self) -> None:
        """Raise BrokenRuleError unless the topics say what the tables hold."""
        now = self.table_now()
        for table, topic in self.topics.items():
            if topic.values != now[table]:
                raise BrokenRuleError(f"{table}: the topic says {topic.values}, the table holds {now[table]}")

    def fingerprint(self) -> object:
        """Equal for worlds of which the same may become."""
        chunk, state = self.chunk, self.state
        window: object = None
        if chunk is not None:
            inner: Any = chunk
            visible = inner._visible or (self._looked[0] if self._looked is not None else None)
            late = {self.log[number].xid for number in self.late}
            seen = frozenset(xid for xid in inner._seen if xid in late or (visible is not None and visible.hides_any([xid])))
            told = inner._window
            rows = None if told._present is None else tuple(told._rows)
            window = inner._opened, inner._table, seen, told.spoiled, frozenset(told._changed), rows, inner._visible, inner._last
        return (
            tuple((one.xid, tuple(one.changes)) for one in self.log),
            tuple(self.late),
            self.fed,
            self.step,
            window,
            self._looked,
            self._close_at,
            (tuple(state.names), state.position, state.maximum),
            tuple((tuple(sorted(topic.values.items())), tuple(sorted(topic.version.items()))) for topic in self.topics.values()),
        )
