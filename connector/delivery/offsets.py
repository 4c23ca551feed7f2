"""Source offsets: Debezium's own keys and encodings, and the position from which streaming resumes.

Debezium stores ``lsn`` (of the last event), ``lsn_proc``, ``lsn_commit`` (the end of the last transaction, or the last message outside of
one), ``txId``, ``ts_usec``, ``messageType``, and ``xmin`` if it is read. With transaction metadata it also stores ``transaction_id`` and
the number of events so far in ``transaction_data_collection_order_<table>``. During a snapshot it stores ``snapshot``,
``snapshot_completed`` and ``last_snapshot_record``. Understudy writes the same keys in the same order, so each program can resume from the
other's offset.

Inside a transaction Understudy adds two keys if they are needed. It adds ``lsn_events_processed`` (a later Debezium's name) if several
changes share an LSN and some of them were sent. It adds ``lsn_passed`` if the slot was confirmed beyond ``lsn_commit`` before the
transaction arrived (:attr:`Position.passed`).

Rule (by a Debezium maintainer, debezium pull request 4102): only the ends of transactions are ordered. The LSNs of changes are comparable
only within one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from connector.emulation import DEFAULT, Emulation
from connector.java.hash_map import java_order

JsonObject = Mapping[str, object]


def partition(server: str) -> dict[str, object]:
    """Return the source partition of a connector: its topic prefix."""
    return {"server": server}


_COUNT_PREFIX: Final = "transaction_data_collection_order_"


@dataclass(frozen=True, slots=True)
class TransactionCounts:
    """A transaction's id (its xid), and its number of events so far for each data collection, in the order of their first events."""

    id: str
    counts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the stream before which everything was sent.

    ``commit`` is the end of the last complete transaction (None: none yet). Inside a transaction, ``event`` is the LSN of the last change
    that was sent, ``nth`` is the number of sent changes with that LSN, and ``txid`` is their transaction. Between transactions, ``event``
    is the position that the server had reached, at or after ``commit``. ``kind`` is the message's name (COMMIT, INSERT, …). A MESSAGE
    without ``txid`` is outside of transactions; ``event`` and ``commit`` are then its LSN. ``ts_us`` is 0 if unknown.
    """

    event: int
    commit: int | None
    kind: str = "COMMIT"
    txid: int | None = None
    ts_us: int = 0
    nth: int = 1
    xmin: int | None = None
    counts: TransactionCounts | None = None
    """With transaction metadata: the counts of the open transaction or, as in Debezium, of the one that has just ended."""
    incremental: tuple[tuple[str, object], ...] = ()
    """The stored state of a running incremental snapshot (:meth:`connector.incremental.state.IncrementalSnapshot.to_offset`)."""
    passed: int = 0
    """Inside a transaction: the LSN that the server had reached before it sent the transaction. No transaction ends between ``commit`` and
    this LSN."""

    @property
    def inside(self) -> bool:
        """Whether the position is inside a transaction."""
        return self.kind != "COMMIT" and not (self.kind == "MESSAGE" and self.txid is None)

    @property
    def confirmable(self) -> int:
        """The LSN that may be confirmed to the slot. After a restart the server resends every transaction that ends after it."""
        return max(self.commit or 0, self.passed) if self.inside else self.event

    def at_least(self, lsn: int) -> Position:
        """Return a position whose ``confirmable`` is at least ``lsn``. All transactions that end up to ``lsn`` must have been sent."""
        if lsn <= self.confirmable:
            return self
        if self.inside:
            return replace(self, passed=lsn)
        return replace(self, event=lsn, kind="COMMIT", nth=1, counts=None)

    def to_offset(self, emulation: Emulation = DEFAULT) -> dict[str, object]:
        """Return the JSON object to store, with its members in Debezium's order."""
        offset: dict[str, object] = {}
        if self.ts_us:
            offset["ts_usec"] = self.ts_us
        if self.txid is not None:
            offset["txId"] = self.txid
        offset["lsn"] = self.event
        if self.xmin is not None:
            offset["xmin"] = self.xmin
        offset["lsn_proc"] = self.event
        if self.commit is not None:
            offset["lsn_commit"] = self.commit
        offset["messageType"] = self.kind
        if emulation.stores_events_processed or (self.inside and self.nth != 1):
            offset["lsn_events_processed"] = self.nth
        if self.inside and self.passed > (self.commit or 0):
            offset["lsn_passed"] = self.passed
        if self.counts is not None:
            offset["transaction_id"] = self.counts.id
            offset.update((_COUNT_PREFIX + name, count) for name, count in self.counts.counts)
        elif emulation.stores_null_transaction_id:
            offset["transaction_id"] = None
        offset.update(self.incremental)
        return {key: offset[key] for key in java_order(offset)}


def snapshot_offset(lsn: int, txid: int | None, ts_us: int, *, completed: bool, emulation: Emulation = DEFAULT) -> dict[str, object]:
    """Return the offset of a snapshot that runs or has just ended. Streaming begins at ``lsn`` after it."""
    offset: dict[str, object] = {"last_snapshot_record": completed, "lsn": lsn}
    if txid is not None:
        offset["txId"] = txid
    offset["ts_usec"] = ts_us
    if emulation.stores_snapshot_completed:
        return {**offset, "snapshot": "INITIAL", "snapshot_completed": completed}
    return {**offset, "snapshot": True}


def _integer(offset: JsonObject, key: str) -> int | None:
    value = offset.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _counts(offset: JsonObject) -> TransactionCounts | None:
    txid = offset.get("transaction_id")
    if not isinstance(txid, str):
        return None
    counts = ((key.removeprefix(_COUNT_PREFIX), _integer(offset, key)) for key in offset if key.startswith(_COUNT_PREFIX))
    return TransactionCounts(txid, tuple((name, count) for name, count in counts if count is not None))


_BETWEEN: Final = (None, "COMMIT", "BEGIN", "NOOP")
"""The kinds of message after which no transaction is open."""


@dataclass(frozen=True, slots=True)
class StoredOffset:
    """A stored offset that Understudy or Debezium wrote."""

    lsn: int | None
    commit: int | None
    txid: int | None
    ts_us: int
    kind: str | None
    nth: int
    snapshot: str | None
    """INITIAL or BLOCKING if the offset is a snapshot's; older versions wrote true."""
    snapshot_completed: bool
    counts: TransactionCounts | None = None
    passed: int = 0
    """See :attr:`Position.passed`."""

    @classmethod
    def parse(cls, offset: JsonObject) -> StoredOffset:
        """Parse an offset. A value of the wrong type counts as missing, because operators edit offsets by hand."""
        snapshot = offset.get("snapshot")
        kind = offset.get("messageType")
        completed = offset.get("snapshot_completed", offset.get("last_snapshot_record"))
        return cls(
            lsn=_integer(offset, "lsn"),
            commit=_integer(offset, "lsn_commit"),
            txid=_integer(offset, "txId"),
            ts_us=_integer(offset, "ts_usec") or 0,
            kind=kind if isinstance(kind, str) else None,
            nth=_integer(offset, "lsn_events_processed") or 1,
            # An incremental snapshot does not move the stream's position. Debezium ignores snapshot_completed for it.
            snapshot=None if snapshot in (None, False, "false", "INCREMENTAL") else str(snapshot),
            snapshot_completed=completed is True,
            counts=_counts(offset),
            passed=_integer(offset, "lsn_passed") or 0,
        )

    @property
    def snapshot_running(self) -> bool:
        """Whether the offset is of a snapshot that did not complete."""
        return self.snapshot is not None and not self.snapshot_completed

    @property
    def inside(self) -> bool:
        """Whether the last event that was sent is a change inside a transaction."""
        return self.snapshot is None and self.kind not in _BETWEEN and not self.after_message and self.lsn is not None

    @property
    def after_message(self) -> bool:
        """Whether the last event that was sent is a message outside of transactions."""
        return self.snapshot is None and self.kind == "MESSAGE" and self.txid is None and self.lsn is not None

    @property
    def passed_message(self) -> int:
        """The LSN up to which, inclusively, messages outside of transactions were sent. The server may resend the last one.

        Inside a transaction, this is ``commit``: it may be a message's LSN. If it is the end of a transaction, a message at this LSN was
        sent before the open transaction. Between transactions, a message at the end of the last transaction was not sent yet.
        """
        if self.inside:
            return self.commit or 0
        return (self.lsn or 0) if self.after_message else 0

    @property
    def start(self) -> int:
        """The LSN to request from the server, which sends every transaction that ends after it; 0 requests the slot's position.

        Inside a transaction, this is the end of the previous transaction, or a later LSN up to which no other transaction ends. From an
        earlier LSN the server would resend concurrent transactions that were already sent.
        """
        if self.inside:
            return max(self.commit or 0, self.passed)
        return max(self.lsn or 0, self.commit or 0)

    @property
    def position(self) -> Position | None:
        """The stored position in the stream, without ``xmin`` and the incremental snapshot; None for a snapshot's offset."""
        if self.snapshot is not None or self.lsn is None:
            return None
        if self.inside or self.after_message:
            event, kind, nth = self.lsn, self.kind or "", self.nth
        else:
            event, kind, nth = self.start, "COMMIT", 1
        return Position(event, self.commit, kind, self.txid, self.ts_us, nth, counts=self.counts, passed=self.passed if self.inside else 0)


@dataclass(frozen=True, slots=True)
class Resume:
    """What streaming must skip: in transaction ``txid``, all changes before ``lsn`` and the first ``nth`` changes at ``lsn``."""

    txid: int | None
    lsn: int
    nth: int


def resume_point(offset: StoredOffset | None) -> Resume | None:
    """Return what to skip in the first transaction, because it was sent already; None if streaming starts between transactions."""
    if offset is None or not offset.inside or offset.lsn is None:
        return None
    return Resume(offset.txid, offset.lsn, offset.nth)
