"""The streaming state machine: pgoutput frames in, records and positions out.

Theory of operation
-------------------
pgoutput (protocol version 1) sends a transaction after its commit, whole and in commit order: BEGIN, changes, COMMIT. A RELATION message
comes before the first change of a table, and again after the table may have changed. A logical decoding message that belongs to no
transaction is sent as soon as the server decodes it, before the transactions that were open at that time.

Rules
1. This file alone decides what a frame means. It buffers no transaction: it makes the records of a change at once.
2. Only ends of transactions are ordered. A position between transactions is the end of the last one. A position inside a transaction
   counts the changes at its last LSN, because many changes may share an LSN (a multi-row COPY is one WAL record).
3. A keepalive moves the position only between transactions, and the runner confirms it only when no record is in flight. The
   position therefore also advances if filters remove all changes of a database. In that case Debezium's offset does not advance, and
   Debezium warns after 10,000 events.
4. After a restart inside a transaction the server sends that transaction again. The machine skips the changes that an earlier run
   sent, by (LSN, count), but only if the first transaction is the one of the stored position.
5. :data:`connector.events.transitions.ANSWERS` lists why :meth:`Stream.feed` stops before the last frame, and what the caller does
   before it feeds the rest. If a row must be read again, the position stays before its change until :meth:`Stream.complete` has the
   values.
6. ``source.sequence`` holds the end of the last transaction in the stream, with or without captured tables, and the event's LSN.
7. A message outside of transactions counts as a transaction: its LSN replaces the end of the last transaction in positions and in
   ``source.sequence``, even if its prefix is filtered out. Its time and its origin are those of the last transaction. Restarting at
   exactly this LSN makes the server resend the message; the machine skips it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from connector.delivery.offsets import Position, Resume, TransactionCounts
from connector.errors import CdcError, ErrorKind
from connector.events.call_order import out_of_order
from connector.events.changes import ChangeWriter
from connector.events.envelope import SourceFacts
from connector.events.live_table import LiveTable
from connector.events.messages import MessageTopic
from connector.events.reselect import Reread
from connector.events.signal_row import SignalRow, signal_row
from connector.events.stream_settings import StreamSettings
from connector.events.transactions import TransactionLog
from connector.events.transitions import TRANSITIONS, Answer, AtCommit, NeedRelation, NeedReread, Signal, State, Used
from connector.log import Warn
from connector.meters.stream_meter import StreamMeter
from connector.ports import ChangeWindow, Out
from connector.wire.pgoutput import (
    BEGIN,
    BODY,
    COMMIT,
    DELETE,
    HAS_NULL,
    INSERT,
    KEEPALIVE,
    KIND,
    LSN,
    MESSAGE,
    ORIGIN,
    RELATION,
    RELATION_ID,
    ROW,
    TRUNCATE,
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
)

__all__ = ["LiveTable", "Out", "Stream", "StreamSettings"]

_RECENT: Final = 2048
"""The number of xids that ``recent`` keeps. No server commits as many transactions at the same time."""

_KINDS: Final = {INSERT: "INSERT", UPDATE: "UPDATE", DELETE: "DELETE", TRUNCATE: "TRUNCATE"}


class Stream:
    """Takes frames, appends records to the outs of its tables, and keeps a position: all records before it are made.

    ``last_commit``, ``resume``, ``passed_message`` and ``counts`` come from the offset from which streaming resumes
    (:class:`connector.delivery.offsets.StoredOffset`). ``ts_us``, ``txid`` and ``event`` (an LSN) come from the offset that was stored
    last, which may be a snapshot's. ``meter`` counts the events. ``warn`` logs the values that are sent as null and the events that are
    left out.
    """

    def __init__(
        self,
        settings: StreamSettings,
        *,
        last_commit: int | None,
        resume: Resume | None,
        warn: Warn,
        passed_message: int = 0,
        counts: TransactionCounts | None = None,
        ts_us: int = 0,
        txid: int | None = None,
        event: int = 0,
        transactions: TransactionLog | None = None,
        messages: MessageTopic | None = None,
        meter: StreamMeter | None = None,
    ) -> None:
        self._changes = ChangeWriter(settings, warn=warn, transactions=transactions, messages=messages, meter=meter)
        self._meter = self._changes.meter
        self._seen = self._changes.seen
        self._transactions = transactions
        self._signed_names = settings.form.emulation.misreads_streamed_names and settings.pgoutput_names
        self._fast = transactions is None and "c" not in settings.skipped
        self._tables: dict[bytes, LiveTable | None] = {}
        """Tables by the relation's oid, in the bytes of change messages; None for a table that is not captured."""
        self._apart: dict[bytes, LiveTable] = {}
        """Tables whose inserts need more work: the signal table, the table with an open window, tables with reselections."""
        self._window: tuple[str, ChangeWindow] | None = None
        self._facts = SourceFacts(ts_us, txid, last_commit)
        self._event = event
        self._start_between_transactions(last_commit, resume, passed_message, counts)
        self._start_ready_to_feed()
        self.halt_at_commit = False
        """Whether :meth:`feed` answers :class:`AtCommit` at the end of the open transaction."""
        self.recent: deque[int] = deque(maxlen=_RECENT)
        """The xids of the latest transactions."""
        self.position: Position | None = None
        """The latest position; None until the first frame that has one."""
        self.source_ms = 0
        """Commit time of the latest transaction, in ms since 1970."""
        self.received = 0
        """The latest WAL position that the server reported."""
        self.xmin: int | None = None
        """The slot's catalog_xmin as last read. Events of transactions that begin after the reading contain it."""

    def _start_between_transactions(
        self, last_commit: int | None, resume: Resume | None, passed_message: int, counts: TransactionCounts | None
    ) -> None:
        """Set the state before the first transaction. ``resume`` names the part of it that an earlier run sent, if any."""
        self._state = State.BETWEEN
        self._last_commit = last_commit
        self._passed_message = passed_message
        self._resume = resume
        self._skip_to = resume
        self._skipping = False
        self._counts = counts
        """The counts of an earlier run in the transaction to resume."""
        self._plain_inserts = False
        """Whether inserts take the short path: a transaction is open, no part of it was sent before, and its events are not counted."""
        self._txid = 0
        self._lsn = 0
        self._nth = 0
        self._kind = "BEGIN"

    def _start_ready_to_feed(self) -> None:
        """Set the state in which :meth:`feed` may be called: nothing failed, and the last answer asked for nothing."""
        self._broken = False
        self._wanted: Relation | None = None
        """The relation that the caller must pass to :meth:`adopt`."""
        self._signal: SignalRow | None = None
        """A row of the signal table that no answer has reported yet."""
        self._halted = False
        self._reply_asked = False

    @property
    def between(self) -> bool:
        """Whether no transaction is open."""
        return self._state is State.BETWEEN

    @property
    def only_begun(self) -> bool:
        """Whether a BEGIN record is made and its transaction has no change yet. No position lies between BEGIN and the first change."""
        return self._transactions is not None and self._state is State.INSIDE and not self._nth

    @property
    def reached(self) -> Position | None:
        """The position to deliver with the records made so far; None while there is none."""
        return None if self.only_begun else self.position

    def take_idle_position(self) -> None:
        """Take the position of an idle server as the first one, if no frame has brought one."""
        if self.position is None:
            self.position = self.idle_position()

    @property
    def events(self) -> int:
        """The number of records made."""
        return self._changes.records + (self._transactions.records if self._transactions is not None else 0)

    @property
    def last_event(self) -> tuple[SourceFacts, int]:
        """The source facts of the last event, with the end of its transaction if that is known, and the event's LSN."""
        return replace(self._facts, last_commit=self._last_commit), self._lsn or self._event or self.received

    def adopt(self, relation: Relation, table: LiveTable | None) -> None:
        """Set the table of a relation; None if it is not captured.

        The relation is the one that :class:`NeedRelation` asked for, or a known one whose table was read again. If a window is open on the
        table of that name, it continues; it is spoiled if the table's columns or keys changed. Raises RuntimeError while another answer is
        due.
        """
        if self._changes.asked is not None or self._wanted not in (None, relation):
            raise self._out_of_order("adopt")
        oid = relation.oid.to_bytes(4, "big")
        former = self._apart.pop(oid, None) or self._tables.get(oid)
        self._tables[oid] = table
        self._wanted = None
        if table is None:
            return
        table.counts = self._meter.counts(table.encoder.table.name)
        if self._window is not None and self._window[0] == table.encoder.table.name:
            table.window = self._window[1]
            if former is not None and not former.alike(table):
                table.window.spoil()
        self._place(oid, table)

    def open_window(self, name: str, window: ChangeWindow) -> None:
        """Report every change of table ``name`` (schema.table) to ``window`` from now on."""
        self.close_window()
        self._window = (name, window)
        self._watch(name, window)

    def close_window(self) -> None:
        """Close the open window, if there is one."""
        if self._window is not None:
            self._watch(self._window[0], None)
            self._window = None

    def _watch(self, name: str, window: ChangeWindow | None) -> None:
        for oid, table in [*self._tables.items(), *self._apart.items()]:
            if table is not None and table.encoder.table.name == name:
                table.window = window
                self._place(oid, table)

    def _place(self, oid: bytes, table: LiveTable) -> None:
        apart = table.signals or table.window is not None or bool(table.reselections)
        here, there = (self._apart, self._tables) if apart else (self._tables, self._apart)
        there.pop(oid, None)
        here[oid] = table

    def complete(self, values: Sequence[bytes | None] | None, reason: str = "") -> Reread | None:
        """Take the values that :class:`NeedReread` asked for: the columns' texts, or None and the reason why the row cannot be read.

        Returns the next request for the same row, if another rule needs values of it; None once the row's event is made. Raises
        RuntimeError if no values were asked for, and CdcError(VALUE) if the event cannot be made.
        """
        if self._changes.asked is None:
            raise self._out_of_order("complete")
        try:
            self._changes.answer(values, reason)
        except BaseException:
            self._broken = True
            raise
        return self._changes.asked

    def _out_of_order(self, call: str) -> RuntimeError:
        return out_of_order(call, self._wanted, self._changes.asked, broken=self._broken)

    def feed(self, frames: Sequence[bytes], now_ns: int) -> Answer:
        """Take ``frames`` up to the first one that stops the machine; :data:`connector.events.transitions.ANSWERS` says what to do next.

        ``now_ns`` (wall clock) is the time for the events' ``ts_*``. Raises CdcError for frames that cannot be used. Raises RuntimeError if
        the caller did not do what the last answer asked for, or if an earlier call failed.
        """
        if self._broken or self._wanted is not None or self._changes.asked is not None:
            raise self._out_of_order("feed")
        self._reply_asked = False
        if self._signal is not None:
            # The signal's record had to wait for values. The caller must get the signal after that record.
            return self._stopped(0)
        reached = self.position
        try:
            used = self._work(frames, self._changes.burst(now_ns))
            self._changes.end_runs()
            former, self._seen = self._seen, self._changes.seen
            self._meter.burst_ends(now_ns // 1_000_000, events=self._seen != former)
        except BaseException:
            # Records of this burst may be missing. The position stays before the burst, and idle_position() must not move it.
            self.position, self._broken = reached, True
            raise
        if self._state is State.INSIDE and not self._skipping and self._nth and self._changes.asked is None:
            self.position = self._position(self._lsn, self._kind, self._txid, self._nth)
        return self._stopped(used)

    def _stopped(self, used: int) -> Answer:
        reply_asked, reread, row = self._reply_asked, self._changes.asked, self._signal
        if self._wanted is not None:
            return NeedRelation(used, reply_asked, self._wanted)
        if reread is not None:
            return NeedReread(used, reply_asked, reread, self._txid)
        if row is not None:
            self._signal = None
            return Signal(used, reply_asked, row)
        if self._halted:
            self._halted = False
            return AtCommit(used, reply_asked)
        return Used(used, reply_asked)

    def _position(self, event: int, kind: str, txid: int | None, nth: int = 1) -> Position:
        facts, log = self._facts, self._transactions
        counts = log.counts if log is not None and txid is not None else None
        return Position(event, self._last_commit, kind, txid, facts.ts_us, nth, facts.xmin, counts)

    def _work(self, frames: Sequence[bytes], create_end: bytes) -> int:
        tables = self._tables
        changes = self._changes
        runs, text_of = changes.runs, changes.text
        for number, frame in enumerate(frames):
            if frame[KIND] != XLOG_DATA:
                self._keepalive(frame)
                continue
            tag = frame[BODY]
            if tag == INSERT and self._plain_inserts:
                try:
                    table = tables[frame[RELATION_ID]]
                except KeyError:
                    # The table is in _apart, or it is unknown.
                    if self._other(tag, frame):
                        return number + 1
                    continue
                lsn = int.from_bytes(frame[LSN], "big")
                if lsn == self._lsn:
                    self._nth += 1
                else:
                    self._lsn = lsn
                    self._nth = 1
                self._kind = "INSERT"
                if table is None:
                    self._meter.filtered.creates += 1
                    continue
                cells: list[bytes | None] = []
                table.nulls |= table.split(frame, ROW, cells) & HAS_NULL
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
        """Handle a message other than an insert of the short path. Returns whether the machine must stop after it."""
        following = TRANSITIONS[self._state].get(tag)
        if following is None:
            raise CdcError(
                ErrorKind.PROTOCOL,
                f"The server sent a pgoutput message {chr(tag)!r} that may not come {self._state.name.lower()} transactions",
                "Remove options that change the protocol (streaming, two_phase, proto_version) from slot.stream.params",
            )
        self._state = following
        if tag in _KINDS:
            lsn = int.from_bytes(frame[LSN], "big")
            if self._sent_before(lsn, _KINDS[tag]):
                return False
            if tag == TRUNCATE:
                self._truncate(frame, lsn)
                return False
            oid = frame[RELATION_ID]
            table = self._apart.get(oid)
            if table is not None:
                self._changes.change(tag, table, frame, lsn)
                if table.signals:
                    # A signal counts whether or not its event is wanted.
                    self._signal = signal_row(tag, frame)
                return self._signal is not None or self._changes.asked is not None
            try:
                table = self._tables[oid]
            except KeyError:
                raise _unknown_relation(frame) from None
            if table is not None:
                self._changes.change(tag, table, frame, lsn)
            else:
                self._changes.filtered(tag)
        elif tag == BEGIN:
            self._begin(frame)
        elif tag == COMMIT:
            self._commit(frame)
            self._halted = self.halt_at_commit
            return self._halted
        elif tag == RELATION:
            self._wanted = parse_relation(frame, signed_names=self._signed_names)
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
            lsn = int.from_bytes(frame[LSN], "big")
            self._transactions.enter(begin.xid, self.source_ms, lsn, self._counts, resumed=self._skipping)

    def _commit(self, frame: bytes) -> None:
        commit = parse_commit(frame)
        self._skipping = self._plain_inserts = False
        if self._changes.event_epoch == self._changes.epoch:
            self._meter.committed(self._txid, self._lsn, self.source_ms)
        end = self._last_commit = commit.end_lsn
        self.received = max(self.received, end)
        log, counts = self._transactions, None
        if log is not None:
            log.leave(end)
            counts = log.counts
        self.position = Position(end, end, "COMMIT", self._txid, commit.commit_us, 1, self._facts.xmin, counts)

    def _message(self, frame: bytes) -> None:
        message = parse_message(frame, signed_names=self._signed_names)
        lsn = int.from_bytes(frame[LSN], "big")
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
            # With the options used here, pgoutput does not send such a message inside a transaction. If one comes, no position between
            # transactions has been reached.
            self._enter(facts)
            return
        self._last_commit = lsn
        self.received = max(self.received, lsn)
        self.position = self._position(lsn, "MESSAGE", None)

    def _keepalive(self, frame: bytes) -> None:
        if frame[KIND] != KEEPALIVE:
            raise CdcError(ErrorKind.PROTOCOL, f"The server sent a replication frame of unknown kind {frame[KIND]:#x}")
        keepalive: Keepalive = parse_keepalive(frame)
        self.received = max(self.received, keepalive.wal_end)
        if keepalive.reply:
            self._reply_asked = True

    def idle_position(self) -> Position | None:
        """Return the position that the server reported last, if it is between transactions and ahead of ``position``; else None.

        The server has sent everything before a keepalive's WAL position, and open transactions commit after it.
        """
        if self._broken or self._state is not State.BETWEEN or self._resume is not None:
            return None
        at = self.position
        if at is not None and at.event >= self.received:
            return None
        txid = None if at is None else at.txid
        return Position(self.received, self._last_commit, "COMMIT", txid, self._facts.ts_us, 1, self._facts.xmin)

    def _sent_before(self, lsn: int, kind: str) -> bool:
        """Count a change or message of the open transaction. Returns whether an earlier run has sent it."""
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
        for oid in parse_truncate(frame):
            named = oid.to_bytes(4, "big")
            table = self._apart.get(named) or self._tables.get(named)
            if table is not None:
                self._changes.truncate(table, lsn)


def _unknown_relation(frame: bytes) -> CdcError:
    oid = int.from_bytes(frame[RELATION_ID], "big")
    return CdcError(ErrorKind.PROTOCOL, f"The server sent a change of relation {oid} before it described that relation")
