"""The streaming state machine: pgoutput frames in, records and positions out.

Theory of operation
-------------------
pgoutput (protocol version 1) sends a transaction after it has committed, whole and in commit order: BEGIN, changes, COMMIT.
A RELATION message comes before the first change of a table, and again after anything about the table may have changed. A logical
decoding message that is not part of a transaction comes as soon as the server reads it, so before the transactions that were open.

Rules
1. Everything that decides what a frame means is in this file. It holds no transaction: a record leaves with its change.
2. Only ends of transactions are ordered. A position between transactions is the end of the last one; a position inside one
   counts changes at its last LSN, because many changes may share an LSN (a multi-row COPY is one WAL record).
3. A keepalive moves the position only between transactions, and is confirmed only when nothing is in flight. That serves
   a database whose changes are all filtered out as well: the reference warns after 10,000 such events that its offset stands
   still, ours does not.
4. After a restart inside a transaction the server sends that transaction again: what was sent is passed over by
   (LSN, count), and only if the first transaction is really that one.
5. A RELATION stops the machine until somebody brings the catalog's facts (:meth:`Stream.adopt`): frames behind it wait. So does
   a row of the signal table until it is taken, when its record has been made: what it asks for happens at its place in the stream.
   So does a row that must be read again for its event (:meth:`Stream.answer`): the position stays before it until then.
6. ``source.sequence`` holds the end of the last transaction seen, of captured tables or not, and the event's LSN.
7. A message outside of transactions is a commit of its own: its LSN takes the place of the last transaction's end, in
   positions and in ``source.sequence``, also when its prefix is filtered out. Its time, and its origin, are those of the last
   transaction. The server sends it again when it is asked for changes after its very LSN: it is passed over then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from connector.changes import ChangeWriter, LiveTable, StreamSettings
from connector.envelope import SourceFacts
from connector.errors import CdcError, ErrorKind
from connector.messages import MessageTopic
from connector.offsets import Position, Resume, TransactionCounts
from connector.pgoutput import (
    BEGIN,
    BODY,
    COMMIT,
    DELETE,
    HAS_NULL,
    INSERT,
    KEEPALIVE,
    MESSAGE,
    NEW_TUPLE,
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
    parse_message,
    parse_origin,
    parse_relation,
    parse_truncate,
    split_tuple,
)
from connector.ports import Out
from connector.reselect import Reread
from connector.transactions import TransactionLog
from connector.window import Window

__all__ = ["TRANSITIONS", "LiveTable", "Out", "SignalRow", "State", "Stream", "StreamSettings"]

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

_RECENT: Final = 2048
"""Transactions remembered by number: more than ever commit at the same time."""


@dataclass(frozen=True, slots=True)
class SignalRow:
    """A row that came into the signal table or, ``deleted``, left it."""

    deleted: bool
    cells: tuple[bytes | None, ...]


_KINDS: Final = {INSERT: "INSERT", UPDATE: "UPDATE", DELETE: "DELETE", TRUNCATE: "TRUNCATE"}


class Stream:
    """Feed it frames; it appends records to its tables' outs and keeps the position before which all are made.

    ``last_commit``, ``resume``, ``passed_message`` and ``counts`` come from the offset that streaming goes on from
    (:class:`connector.offsets.StoredOffset`), ``ts_us``, ``txid`` and ``event`` (its LSN) from the one stored last, a snapshot's too.
    """

    def __init__(
        self,
        settings: StreamSettings,
        *,
        last_commit: int | None,
        resume: Resume | None,
        on_conversion_failure: Callable[[str, str, str], None],
        on_event_failure: Callable[[str, int, str], None] = lambda _table, _lsn, _reason: None,
        passed_message: int = 0,
        counts: TransactionCounts | None = None,
        ts_us: int = 0,
        txid: int | None = None,
        event: int = 0,
        transactions: TransactionLog | None = None,
        messages: MessageTopic | None = None,
    ) -> None:
        self._changes = ChangeWriter(
            settings,
            on_conversion_failure=on_conversion_failure,
            on_event_failure=on_event_failure,
            transactions=transactions,
            messages=messages,
        )
        self._transactions = transactions
        self._former = settings.form.former and settings.pgoutput_names
        # As recorded: where inserts are skipped, so are signals.
        self._obeys = "c" not in settings.skipped
        self._fast = transactions is None and "c" not in settings.skipped
        self._tables: dict[bytes, LiveTable | None] = {}
        """By the relation's oid as it stands in change messages; None for tables that are not captured."""
        self._apart: dict[bytes, LiveTable] = {}
        """Tables whose inserts need a second look: the signal table, the one that a window is open on, those with reselections."""
        self._window: tuple[str, Window[Any]] | None = None
        self._state = State.BETWEEN
        self._last_commit = last_commit
        self._resume = resume
        self._counts = counts
        """What an earlier run counted of the transaction to resume in."""
        self._passed_message = passed_message
        self._skipping = False
        self._skip_to = resume
        self._plain_inserts = False
        """Inserts need no second look: inside a transaction, nothing of it was sent before, none of its events is counted."""
        self._broken = False
        self._facts = SourceFacts(ts_us, txid, last_commit)
        self._event = event
        self._lsn = 0
        self._nth = 0
        self._kind = "BEGIN"
        self._txid = 0
        self.wanted: Relation | None = None
        """The relation whose catalog facts must be adopted before the next frame is fed."""
        self.signal: SignalRow | None = None
        """A row of the signal table that must be taken (:meth:`take_signal`) before the next frame is fed."""
        self.halt_at_commit = False
        """Stop at the end of the open transaction too."""
        self.recent: deque[int] = deque(maxlen=_RECENT)
        """The transactions seen last, by xid."""
        self.position: Position | None = None
        """The latest position; None until the first frame that has one."""
        self.source_ms = 0
        """Commit time of the transaction seen last, ms since the epoch."""
        self.received = 0
        """The WAL position the server has told of last."""
        self.reply_asked = False
        """The server wants a status update at once."""
        self.xmin: int | None = None
        """The slot's catalog_xmin as it was seen last; transactions that begin from now on tell of it."""

    @property
    def between(self) -> bool:
        """No transaction is half read."""
        return self._state is State.BETWEEN

    @property
    def only_begun(self) -> bool:
        """The record that a transaction begins is made, and none of its changes seen: no position lies between the two."""
        return self._transactions is not None and self._state is State.INSIDE and not self._nth

    @property
    def events(self) -> int:
        """Records made."""
        return self._changes.records + (self._transactions.records if self._transactions is not None else 0)

    @property
    def last_event(self) -> tuple[SourceFacts, int]:
        """What the source block of the event seen last says, with the end of its transaction once that has come; and its LSN."""
        return replace(self._facts, last_commit=self._last_commit), self._lsn or self._event or self.received

    def adopt(self, relation: Relation, table: LiveTable | None) -> None:
        """Take the table that ``wanted`` asked for; None when it is not captured.

        A window that is open on a table of that name goes on with it; it is spoiled if the table had another shape before.
        """
        oid = relation.oid.to_bytes(4, "big")
        former = self._apart.pop(oid, None) or self._tables.get(oid)
        self._tables[oid] = table
        self.wanted = None
        if table is None:
            return
        if self._window is not None and self._window[0] == table.encoder.table.name:
            table.window = self._window[1]
            if former is not None and not former.alike(table):
                table.window.spoil()
        self._place(oid, table)

    def open_window(self, name: str, window: Window[Any]) -> None:
        """From now on ``window`` is told of every change of table ``name`` (schema.table)."""
        self.close_window()
        self._window = (name, window)
        self._watch(name, window)

    def close_window(self) -> None:
        """No window is open any more."""
        if self._window is not None:
            self._watch(self._window[0], None)
            self._window = None

    def _watch(self, name: str, window: Window[Any] | None) -> None:
        for oid, table in [*self._tables.items(), *self._apart.items()]:
            if table is not None and table.encoder.table.name == name:
                table.window = window
                self._place(oid, table)

    def _place(self, oid: bytes, table: LiveTable) -> None:
        apart = table.signals or table.window is not None or bool(table.reselections)
        here, there = (self._apart, self._tables) if apart else (self._tables, self._apart)
        there.pop(oid, None)
        here[oid] = table

    def take_signal(self) -> SignalRow | None:
        """The row of the signal table that the machine stopped at, if it did; it goes on then."""
        taken, self.signal = self.signal, None
        return taken

    @property
    def asked(self) -> Reread | None:
        """A row that must be read again, and answered, before the next frame is fed."""
        return self._changes.asked

    def answer(self, values: Sequence[bytes | None] | None, reason: str = "") -> None:
        """What ``asked`` for: the texts of its columns, or None and why the row cannot be read. Another rule may ask then."""
        try:
            self._changes.answer(values, reason)
        except BaseException:
            self._broken = True
            raise

    def _signalled(self, tag: int, frame: bytes) -> bool:
        """Take a change of the signal table as a signal: a new row, one that goes, and one that got another id (a new one, that is)."""
        cells: list[bytes | None] = []
        at = 30
        if tag == UPDATE:
            old: list[bytes | None] = []
            if frame[at] != NEW_TUPLE:
                at = split_tuple(frame, at + 1, old) >> 2
            split_tuple(frame, at + 1, cells)
            if not old or old[:1] == cells[:1]:
                return False
        else:
            split_tuple(frame, at + 1, cells)
        self.signal = SignalRow(tag == DELETE, tuple(None if cell is UNCHANGED else cell for cell in cells))
        return True

    def feed(self, frames: Sequence[bytes], now_ns: int) -> int:
        """Work through ``frames``; answers how many were used: fewer than all when ``wanted``, ``signal`` or ``asked`` is set.

        ``now_ns`` (wall clock) becomes the events' ``ts_*``.
        """
        reached = self.position
        try:
            used = self._work(frames, self._changes.burst(now_ns))
            self._changes.end_runs()
        except BaseException:
            # Records of this burst may be missing: the position stays before it, and must not be taken for an idle one.
            self.position, self._broken = reached, True
            raise
        if self._state is State.INSIDE and not self._skipping and self._nth and self._changes.asked is None:
            self.position = self._position(self._lsn, self._kind, self._txid, self._nth)
        return used

    def _position(self, event: int, kind: str, txid: int | None, nth: int = 1) -> Position:
        facts, log = self._facts, self._transactions
        counts = log.counts if log is not None and txid is not None else None
        return Position(event, self._last_commit, kind, txid, facts.ts_us, nth, facts.xmin, counts)

    def _work(self, frames: Sequence[bytes], create_end: bytes) -> int:
        tables = self._tables
        changes = self._changes
        runs, text_of = changes.runs, changes.text
        for number, frame in enumerate(frames):
            if frame[0] != XLOG_DATA:
                self._keepalive(frame)
                continue
            tag = frame[BODY]
            if tag == INSERT and self._plain_inserts:
                try:
                    table = tables[frame[26:30]]
                except KeyError:
                    # A table apart, or an unknown one.
                    if self._other(tag, frame):
                        return number + 1
                    continue
                lsn = int.from_bytes(frame[1:9], "big")
                if lsn == self._lsn:
                    self._nth += 1
                else:
                    self._lsn = lsn
                    self._nth = 1
                self._kind = "INSERT"
                if table is None:
                    continue
                cells: list[bytes | None] = []
                table.nulls |= split_tuple(frame, 31, cells) & HAS_NULL
                if not table.rows:
                    runs.append(table)
                table.rows.append(cells)
                table.lsns.append(b"%d" % lsn)
                table.texts.append(text_of(table))
                table.ends.append(create_end)
            elif self._other(tag, frame):
                return number + 1
        return len(frames)

    def _other(self, tag: int, frame: bytes) -> bool:
        """Any message but a plain insert. True when the machine must stop after it."""
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
            if self._sent_before(lsn, _KINDS[tag]):
                return False
            if tag == TRUNCATE:
                self._truncate(frame, lsn)
                return False
            oid = frame[26:30]
            table = self._apart.get(oid)
            if table is not None:
                self._changes.change(tag, table, frame, lsn)
                return self._changes.asked is not None or (self._obeys and table.signals and self._signalled(tag, frame))
            try:
                table = self._tables[oid]
            except KeyError:
                raise _unknown_relation(frame) from None
            if table is not None:
                self._changes.change(tag, table, frame, lsn)
        elif tag == BEGIN:
            self._begin(frame)
        elif tag == COMMIT:
            self._commit(frame)
            return self.halt_at_commit
        elif tag == RELATION:
            self.wanted = parse_relation(frame, former=self._former)
            return True
        elif tag == ORIGIN:
            origin = parse_origin(frame)
            facts = self._facts
            self._enter(SourceFacts(facts.ts_us, facts.txid, facts.last_commit, facts.xmin, (origin.name, origin.lsn)))
        elif tag == MESSAGE:
            self._message(frame)
        return False

    def _enter(self, facts: SourceFacts) -> None:
        self._facts = facts
        self._changes.enter(facts)

    def _begin(self, frame: bytes) -> None:
        begin = parse_begin(frame)
        self._txid = begin.xid
        self.recent.append(begin.xid)
        self._enter(SourceFacts(begin.commit_us, begin.xid, self._last_commit, self.xmin))
        self.source_ms = begin.commit_us // 1000
        self._lsn = self._nth = 0
        resume, self._resume = self._resume, None
        self._skipping = resume is not None and (resume.txid is None or resume.txid & 0xFFFFFFFF == begin.xid)
        self._skip_to = resume
        self._plain_inserts = self._fast and not self._skipping
        if self._transactions is not None:
            lsn = int.from_bytes(frame[1:9], "big")
            self._transactions.enter(begin.xid, self.source_ms, lsn, self._counts, resumed=self._skipping)

    def _commit(self, frame: bytes) -> None:
        commit = parse_commit(frame)
        self._skipping = self._plain_inserts = False
        end = self._last_commit = commit.end_lsn
        self.received = max(self.received, end)
        log, counts = self._transactions, None
        if log is not None:
            log.leave(end)
            counts = log.counts
        self.position = Position(end, end, "COMMIT", self._txid, commit.commit_us, 1, self._facts.xmin, counts)

    def _message(self, frame: bytes) -> None:
        message = parse_message(frame, former=self._former)
        lsn = int.from_bytes(frame[1:9], "big")
        if message.transactional:
            if not self._sent_before(lsn, "MESSAGE"):
                self._changes.message(message, lsn)
            return
        if lsn <= self._passed_message:
            return
        facts = self._facts
        self._enter(SourceFacts(facts.ts_us, None, lsn, self.xmin, facts.origin))
        self._changes.message(message, lsn)
        if self._state is State.INSIDE:
            # Not what pgoutput does as we ask for it. Nothing between transactions has been reached then.
            self._enter(facts)
            return
        self._last_commit = lsn
        self.received = max(self.received, lsn)
        self.position = self._position(lsn, "MESSAGE", None)

    def _keepalive(self, frame: bytes) -> None:
        if frame[0] != KEEPALIVE:
            raise CdcError(ErrorKind.PROTOCOL, f"The server sent a replication frame of unknown kind {frame[0]:#x}")
        keepalive: Keepalive = parse_keepalive(frame)
        self.received = max(self.received, keepalive.wal_end)
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
        txid = None if at is None else at.txid
        return Position(self.received, self._last_commit, "COMMIT", txid, self._facts.ts_us, 1, self._facts.xmin)

    def _sent_before(self, lsn: int, kind: str) -> bool:
        """Count a change or message of the open transaction; whether an earlier run has sent it."""
        if lsn == self._lsn:
            self._nth += 1
        else:
            self._lsn = lsn
            self._nth = 1
        self._kind = kind
        if not self._skipping:
            return False
        resume = self._skip_to
        if resume is not None and (lsn < resume.lsn or (lsn == resume.lsn and self._nth <= resume.nth)):
            return True
        self._skipping = False
        self._plain_inserts = self._fast
        return False

    def _truncate(self, frame: bytes, lsn: int) -> None:
        for oid in parse_truncate(frame).relations:
            named = oid.to_bytes(4, "big")
            table = self._apart.get(named) or self._tables.get(named)
            if table is not None:
                self._changes.truncate(table, lsn)


def _unknown_relation(frame: bytes) -> CdcError:
    oid = int.from_bytes(frame[26:30], "big")
    return CdcError(ErrorKind.PROTOCOL, f"The server sent a change of relation {oid} before it described that relation")
