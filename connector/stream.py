"""The streaming state machine: pgoutput frames in, records and positions out.

Theory of operation
-------------------
pgoutput (protocol version 1) sends a transaction after it has committed, whole and in commit order: BEGIN, changes, COMMIT.
A RELATION message comes before the first change of a table, and again after anything about the table may have changed.

Rules
1. Everything that decides what a frame means is in this file. It holds no transaction: a record leaves with its change.
2. Only ends of transactions are ordered. A position between transactions is the end of the last one; a position inside one
   counts changes at its last LSN, because many changes may share an LSN (a multi-row COPY is one WAL record).
3. A keepalive moves the position only between transactions, and is confirmed only when nothing is in flight.
4. After a restart inside a transaction the server sends that transaction again: what was sent is passed over by
   (LSN, count), and only if the first transaction is really that one.
5. A RELATION stops the machine until somebody brings the catalog's facts (:meth:`Stream.adopt`): frames behind it wait.
6. ``source.sequence`` holds the end of the last transaction seen, of captured tables or not, and the event's LSN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from connector.encoders import HEAD, TableEncoder
from connector.envelope import SourceFacts, SourceText, TableSource, event_tail
from connector.errors import CdcError, ErrorKind
from connector.offsets import Position, Resume
from connector.pgoutput import (
    BEGIN,
    BODY,
    COMMIT,
    DELETE,
    HAS_NULL,
    HAS_UNCHANGED,
    INSERT,
    KEEPALIVE,
    MESSAGE,
    NEW_TUPLE,
    OLD_TUPLE,
    ORIGIN,
    RELATION,
    TRUNCATE,
    TYPE,
    UNCHANGED,
    UPDATE,
    XLOG_DATA,
    Keepalive,
    Relation,
    parse_begin,
    parse_commit,
    parse_keepalive,
    parse_origin,
    parse_relation,
    parse_truncate,
    split_tuple,
)

State = Enum("State", ["BETWEEN", "INSIDE"])
"""Between transactions, or inside one."""

TRANSITIONS: Final[Mapping[State, Mapping[int, State]]] = {
    State.BETWEEN: {
        BEGIN: State.INSIDE,
        RELATION: State.BETWEEN,
        TYPE: State.BETWEEN,
        MESSAGE: State.BETWEEN,
        ORIGIN: State.BETWEEN,
    },
    State.INSIDE: {
        COMMIT: State.BETWEEN,
        ORIGIN: State.INSIDE,
        RELATION: State.INSIDE,
        TYPE: State.INSIDE,
        INSERT: State.INSIDE,
        UPDATE: State.INSIDE,
        DELETE: State.INSIDE,
        TRUNCATE: State.INSIDE,
        MESSAGE: State.INSIDE,
    },
}
"""Which message may come when, and where it leads. Anything else is a fault of the protocol."""

_KINDS: Final = {INSERT: "INSERT", UPDATE: "UPDATE", DELETE: "DELETE", TRUNCATE: "TRUNCATE"}


class Out(Protocol):
    """Where one table's records go."""

    def append(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        """Take a record; see :meth:`connector.record_batch.RecordBatch.append`."""

    def extend(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        """Take many; see :meth:`connector.record_batch.RecordBatch.extend`."""


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """What the configuration decides about events. ``skipped`` holds letters of ``skipped.operations``."""

    tombstones: bool = True
    skipped: frozenset[str] = frozenset("t")
    headers: bytes = b"\0"
    """The headers of every record, encoded."""
    key_change_headers: Callable[[bytes, str], bytes] = lambda _key, _name: b"\0"
    """Given the other key's JSON and the header's name (newkey, oldkey): all headers of such a record, encoded."""
    conversion_failure: str = "warn"
    """``event.converting.failure.handling.mode``: warn, skip (null, silently) or fail."""


class LiveTable:
    """A captured table while its changes stream.

    Changes without an old row wait in a run until the burst ends or another change of the table comes, and are encoded
    together (:attr:`connector.encoders.TableEncoder.created`): topics keep their order, and nothing waits longer than its burst.
    """

    __slots__ = ("encoder", "ends", "lsns", "nulls", "out", "rows", "source", "text", "texts", "transaction")

    def __init__(self, encoder: TableEncoder, source: TableSource, out: Out) -> None:
        self.encoder = encoder
        self.source = source
        self.out = out
        self.transaction = -1
        """Number of the transaction that ``text`` was made for."""
        self.text: SourceText | None = None
        self.rows: list[list[bytes | None]] = []
        self.lsns: list[bytes] = []
        self.texts: list[SourceText] = []
        self.ends: list[bytes] = []
        """Of each row of the run: cells, LSN, source block, and the event's end after its op."""
        self.nulls = 0


class Stream:
    """Feed it frames; it appends records to its tables' outs and keeps the position before which all are made."""

    def __init__(
        self,
        settings: StreamSettings,
        *,
        last_commit: int | None,
        resume: Resume | None,
        on_conversion_failure: Callable[[str, str, str], None],
    ) -> None:
        self._settings = settings
        self._tables: dict[bytes, LiveTable | None] = {}
        """By the relation's oid as it stands in change messages; None for tables that are not captured."""
        self._state = State.BETWEEN
        self._last_commit = last_commit
        self._resume = resume
        self._skipping = False
        self._skip_to = resume
        self._broken = False
        self._on_conversion_failure = on_conversion_failure
        self._facts = SourceFacts(0, None, last_commit)
        self._transaction = 0
        self._lsn = 0
        self._nth = 0
        self._kind = "BEGIN"
        self._txid = 0
        self._create_tail = self._update_tail = self._delete_tail = self._truncate_tail = b""
        self._now_ms = 0
        self._runs: list[LiveTable] = []
        """Tables with a run, in the order of their first rows."""
        self.wanted: Relation | None = None
        """The relation whose catalog facts must be adopted before the next frame is fed."""
        self.position: Position | None = None
        """The latest position; None until the first frame that has one."""
        self.events = 0
        """Records made."""
        self.source_ms = 0
        """Commit time of the transaction seen last, ms since the epoch."""
        self.received = 0
        """The WAL position the server has told of last."""
        self.reply_asked = False
        """The server wants a status update at once."""

    @property
    def between(self) -> bool:
        """No transaction is half read."""
        return self._state is State.BETWEEN

    def adopt(self, relation: Relation, table: LiveTable | None) -> None:
        """Take the table that ``wanted`` asked for; None when it is not captured."""
        self._tables[relation.oid.to_bytes(4, "big")] = table
        self.wanted = None

    def feed(self, frames: Sequence[bytes], now_ns: int) -> int:
        """Work through ``frames``; answers how many were used: fewer than all when ``wanted`` is set.

        ``now_ns`` (wall clock) becomes the events' ``ts_*``: one reading serves a burst, formatting three numbers per event cost
        0.4 µs of its 10.
        """
        tails = event_tail(now_ns, b"")
        self._create_tail, self._update_tail, self._delete_tail = b"c" + tails, b"u" + tails, b"d" + tails
        self._truncate_tail = b"t" + tails
        self._now_ms = now_ns // 1_000_000
        reached = self.position
        try:
            used = self._work(frames)
            self._end_runs()
        except BaseException:
            # Records of this burst may be missing: the position stays before it, and must not be taken for an idle one.
            self.position, self._broken = reached, True
            raise
        if self._state is State.INSIDE and not self._skipping and self._nth:
            self.position = Position(self._lsn, self._last_commit, self._kind, self._txid, self._facts.ts_us, self._nth)
        return used

    def _work(self, frames: Sequence[bytes]) -> int:
        tables = self._tables
        runs = self._runs
        skip_insert = "c" in self._settings.skipped
        create_end = self._create_tail
        for number, frame in enumerate(frames):
            if frame[0] != XLOG_DATA:
                self._keepalive(frame)
                continue
            tag = frame[BODY]
            if tag == INSERT and self._state is State.INSIDE and not self._skipping:
                lsn = int.from_bytes(frame[1:9], "big")
                if lsn == self._lsn:
                    self._nth += 1
                else:
                    self._lsn = lsn
                    self._nth = 1
                self._kind = "INSERT"
                try:
                    table = tables[frame[26:30]]
                except KeyError:
                    raise _unknown_relation(frame) from None
                if table is None or skip_insert:
                    continue
                cells: list[bytes | None] = []
                table.nulls |= split_tuple(frame, 31, cells) & HAS_NULL
                if not table.rows:
                    runs.append(table)
                table.rows.append(cells)
                table.lsns.append(b"%d" % lsn)
                table.texts.append(self._text(table))
                table.ends.append(create_end)
            elif self._other(tag, frame):
                return number + 1
        return len(frames)

    def _join_run(self, table: LiveTable, cells: list[bytes | None], nulls: int, lsn: int, end: bytes) -> None:
        if not table.rows:
            self._runs.append(table)
        table.nulls |= nulls
        table.rows.append(cells)
        table.lsns.append(b"%d" % lsn)
        table.texts.append(self._text(table))
        table.ends.append(end)

    def _end_runs(self) -> None:
        for table in self._runs:
            self._end_run(table)
        self._runs.clear()

    def _end_run(self, table: LiveTable) -> None:
        """Encode what waits for ``table`` and append it to its out."""
        rows, texts = table.rows, table.texts
        if not rows:
            return
        encoder, lsns = table.encoder, table.lsns
        columns = list(zip(*rows, strict=True))
        nulls = table.nulls != 0
        ends = [end + encoder.closing for end in table.ends] if encoder.closing else table.ends
        try:
            payloads = encoder.created(
                columns,
                nulls,
                [text.head for text in texts],
                lsns,
                [text.middle for text in texts],
                lsns,
                [text.tail for text in texts],
                ends,
            )
        except ValueError:
            payloads = [
                b"".join((HEAD, self._row(encoder, row, unchanged=False), text.head, lsn, text.middle, lsn, text.tail, end))
                for row, text, lsn, end in zip(rows, texts, lsns, ends, strict=True)
            ]
        keys = encoder.keys(columns, nulls) if encoder.has_key else None
        table.out.extend(keys, encoder.prefix, payloads, self._settings.headers, self._now_ms)
        self.events += len(rows)
        table.rows, table.lsns, table.texts, table.ends, table.nulls = [], [], [], [], 0

    def _other(self, tag: int, frame: bytes) -> bool:
        """Any message but a plain insert. True when the machine must stop for the catalog."""
        following = TRANSITIONS[self._state].get(tag)
        if following is None:
            raise CdcError(
                ErrorKind.PROTOCOL,
                f"The server sent a pgoutput message {chr(tag)!r} that may not come {self._state.name.lower()} transactions",
                "Remove options that change the protocol (streaming, two_phase, proto_version) from slot.stream.params",
            )
        self._state = following
        if tag in _KINDS:
            lsn = int.from_bytes(frame[1:9], "big")
            if lsn == self._lsn:
                self._nth += 1
            else:
                self._lsn = lsn
                self._nth = 1
            self._kind = _KINDS[tag]
            if self._skipping and self._sent_before(lsn):
                return False
            if tag == INSERT:
                self._insert(frame, lsn)
            elif tag == UPDATE:
                self._update(frame, lsn)
            elif tag == DELETE:
                self._delete(frame, lsn)
            else:
                self._truncate(frame, lsn)
        elif tag == BEGIN:
            self._begin(frame)
        elif tag == COMMIT:
            self._commit(frame)
        elif tag == RELATION:
            self.wanted = parse_relation(frame)
            return True
        elif tag == ORIGIN:
            origin = parse_origin(frame)
            self._facts = SourceFacts(self._facts.ts_us, self._facts.txid, self._facts.last_commit, None, (origin.name, origin.lsn))
            self._transaction += 1
        return False

    def _begin(self, frame: bytes) -> None:
        begin = parse_begin(frame)
        self._transaction += 1
        self._txid = begin.xid
        self._facts = SourceFacts(begin.commit_us, begin.xid, self._last_commit)
        self.source_ms = begin.commit_us // 1000
        self._lsn = self._nth = 0
        resume, self._resume = self._resume, None
        self._skipping = resume is not None and (resume.txid is None or resume.txid & 0xFFFFFFFF == begin.xid)
        self._skip_to = resume

    def _commit(self, frame: bytes) -> None:
        commit = parse_commit(frame)
        self._skipping = False
        self._last_commit = commit.end_lsn
        if commit.end_lsn > self.received:
            self.received = commit.end_lsn
        self.position = Position(commit.end_lsn, commit.end_lsn, "COMMIT", self._txid, commit.commit_us)

    def _keepalive(self, frame: bytes) -> None:
        if frame[0] != KEEPALIVE:
            raise CdcError(ErrorKind.PROTOCOL, f"The server sent a replication frame of unknown kind {frame[0]:#x}")
        keepalive: Keepalive = parse_keepalive(frame)
        if keepalive.wal_end > self.received:
            self.received = keepalive.wal_end
        if keepalive.reply:
            self.reply_asked = True

    def idle_position(self) -> Position | None:
        """Where the server has come to, when that is between transactions and ahead of the position; else None.

        Everything before a keepalive's WAL position has been decoded and sent to us, and what is still open commits after it.
        """
        if self._broken or self._state is not State.BETWEEN or self._resume is not None:
            return None
        at = self.position
        if at is not None and at.event >= self.received:
            return None
        if at is None:
            return Position(self.received, self._last_commit, "COMMIT", None, 0)
        return Position(self.received, self._last_commit, "COMMIT", at.txid, at.ts_us)

    def _sent_before(self, lsn: int) -> bool:
        resume = self._skip_to
        if resume is not None and (lsn < resume.lsn or (lsn == resume.lsn and self._nth <= resume.nth)):
            return True
        self._skipping = False
        return False

    def _table(self, frame: bytes) -> LiveTable | None:
        try:
            return self._tables[frame[26:30]]
        except KeyError:
            raise _unknown_relation(frame) from None

    def _text(self, table: LiveTable) -> SourceText:
        text = table.text
        if text is None or table.transaction != self._transaction:
            table.text = text = SourceText(table.source, self._facts)
            table.transaction = self._transaction
        return text

    def _tolerant(self, encoder: TableEncoder, cells: Sequence[bytes | None]) -> bytes:
        row, failures = encoder.tolerant(cells)
        for failure in failures:
            if self._settings.conversion_failure == "fail":
                raise CdcError(
                    ErrorKind.VALUE,
                    f"A value of column {failure.column} of table {encoder.table.name} cannot be converted: {failure.reason}",
                    "Set event.converting.failure.handling.mode to warn to send null in its place",
                )
            if self._settings.conversion_failure == "warn":
                self._on_conversion_failure(encoder.table.name, failure.column, failure.reason)
        return row

    def _row(self, encoder: TableEncoder, cells: Sequence[bytes | None], *, unchanged: bool) -> bytes:
        try:
            return encoder.row_with_unchanged(cells) if unchanged else encoder.row(cells)
        except ValueError:
            return self._tolerant(encoder, cells)

    def _insert(self, frame: bytes, lsn: int) -> None:
        table = self._table(frame)
        if table is None or "c" in self._settings.skipped:
            return
        cells: list[bytes | None] = []
        nulls = split_tuple(frame, 31, cells) & HAS_NULL
        self._join_run(table, cells, nulls, lsn, self._create_tail)

    def _send(self, table: LiveTable, key: bytes | None, lsn: int, rows: tuple[bytes, ...], tail: bytes, headers: bytes) -> None:
        text = self._text(table)
        digits = b"%d" % lsn
        payload = b"".join((*rows, text.head, digits, text.middle, digits, text.tail, tail, table.encoder.closing))
        table.out.append(key, table.encoder.prefix, payload, headers, self._now_ms)
        self.events += 1

    def _update(self, frame: bytes, lsn: int) -> None:
        table = self._table(frame)
        if table is None or "u" in self._settings.skipped:
            return
        encoder = table.encoder
        old: list[bytes | None] = []
        at = 30
        if frame[at] != NEW_TUPLE:
            at = split_tuple(frame, at + 1, old) >> 2
        cells: list[bytes | None] = []
        flags = split_tuple(frame, at + 1, cells)
        unchanged = flags & HAS_UNCHANGED != 0
        if not old and not unchanged:
            self._join_run(table, cells, flags & HAS_NULL, lsn, self._update_tail)
            return
        self._end_run(table)
        if unchanged and old and frame[30] == OLD_TUPLE:
            # Replica identity FULL sends the whole old row: what did not change has its old value.
            cells = [before if cell is UNCHANGED else cell for cell, before in zip(cells, old, strict=True)]
            unchanged = any(cell is UNCHANGED for cell in cells)
        after = self._row(encoder, cells, unchanged=unchanged)
        key = encoder.key(cells) if encoder.has_key else None
        before = self._row(encoder, old, unchanged=True) if old else b"null"
        if old and key is not None:
            old_key = encoder.key(old)
            if old_key != key:
                self._key_change(table, lsn, (old_key, old, before), (key, cells, after))
                return
        self._send(table, key, lsn, (b'{"before":', before, b',"after":', after), self._update_tail, self._settings.headers)

    def _key_change(
        self,
        table: LiveTable,
        lsn: int,
        old: tuple[bytes, Sequence[bytes | None], bytes],
        new: tuple[bytes, Sequence[bytes | None], bytes],
    ) -> None:
        """A new key is another record: delete under the old key, tombstone, create under the new one."""
        settings, encoder = self._settings, table.encoder
        old_key, old_cells, before = old
        new_key, new_cells, after = new
        leaving = settings.key_change_headers(encoder.key_header(new_cells), "__debezium.newkey")
        self._send(table, old_key, lsn, (b'{"before":', before, b',"after":null'), self._delete_tail, leaving)
        if settings.tombstones:
            self._tombstone(table, old_key, leaving)
        coming = settings.key_change_headers(encoder.key_header(old_cells), "__debezium.oldkey")
        self._send(table, new_key, lsn, (HEAD, after), self._create_tail, coming)

    def _tombstone(self, table: LiveTable, key: bytes | None, headers: bytes) -> None:
        table.out.append(key, b"", None, headers, self._now_ms)
        self.events += 1

    def _delete(self, frame: bytes, lsn: int) -> None:
        table = self._table(frame)
        if table is None or "d" in self._settings.skipped:
            return
        self._end_run(table)
        encoder = table.encoder
        old: list[bytes | None] = []
        split_tuple(frame, 31, old)
        before = self._row(encoder, old, unchanged=True)
        key = encoder.key(old) if encoder.has_key else None
        self._send(table, key, lsn, (b'{"before":', before, b',"after":null'), self._delete_tail, self._settings.headers)
        if self._settings.tombstones:
            self._tombstone(table, key, self._settings.headers)

    def _truncate(self, frame: bytes, lsn: int) -> None:
        if "t" in self._settings.skipped:
            return
        for oid in parse_truncate(frame).relations:
            table = self._tables.get(oid.to_bytes(4, "big"))
            if table is not None:
                self._end_run(table)
                self._send(table, None, lsn, (b'{"before":null,"after":null',), self._truncate_tail, self._settings.headers)


def _unknown_relation(frame: bytes) -> CdcError:
    oid = int.from_bytes(frame[26:30], "big")
    return CdcError(ErrorKind.PROTOCOL, f"The server sent a change of relation {oid} before it described that relation")
