"""Source offsets: Debezium's own keys and encodings, and where streaming goes on from them.

Debezium stores ``lsn`` (of the last event), ``lsn_proc``, ``lsn_commit`` (end of the last transaction seen, or the last message
outside of one), ``txId``, ``ts_usec``, ``messageType``, ``xmin`` when it is looked at; with transaction metadata
``transaction_id`` and ``transaction_data_collection_order_<table>``, the events so far; while it takes a snapshot ``snapshot``,
``snapshot_completed``, ``last_snapshot_record``. We write the same in the same order, so that either side goes on from the
other's offset, and two keys more inside a transaction, where they are needed: ``lsn_events_processed`` (the name of a later
Debezium) when several changes share an LSN and some of them were sent, and ``lsn_passed`` when the slot was confirmed beyond
``lsn_commit`` before the transaction came (:attr:`Position.passed`).

Rule (a Debezium maintainer's, debezium pull request 4102): only ends of transactions are ordered; LSNs of changes are
comparable inside one transaction alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from connector.java_map import java_order

JsonObject = Mapping[str, object]


def partition(server: str) -> dict[str, object]:
    """The source partition of a connector: its topic prefix."""
    return {"server": server}


_COUNT_PREFIX: Final = "transaction_data_collection_order_"


@dataclass(frozen=True, slots=True)
class TransactionCounts:
    """A transaction's id (its xid) and its events so far by data collection, in the order these first had one."""

    id: str
    counts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the stream before which everything is sent.

    ``commit`` is the end of the last complete transaction (None: none seen yet). Inside a transaction, ``event`` is the LSN of
    the last change sent, ``nth`` how many changes of that LSN were sent, ``txid`` whose they are. Between transactions
    ``event`` is where the server had come to, at or after ``commit``. ``kind`` is the message's name (COMMIT, INSERT, …). A
    MESSAGE without ``txid`` was outside of transactions: ``event`` and ``commit`` are its LSN. ``ts_us`` is 0 when unknown.
    """

    event: int
    commit: int | None
    kind: str = "COMMIT"
    txid: int | None = None
    ts_us: int = 0
    nth: int = 1
    xmin: int | None = None
    counts: TransactionCounts | None = None
    """With transaction metadata: of the transaction that is open or, as the reference does, has just ended."""
    incremental: tuple[tuple[str, object], ...] = ()
    """What is stored of an incremental snapshot that runs (:meth:`connector.incremental.IncrementalSnapshot.to_offset`)."""
    passed: int = 0
    """Inside a transaction: an LSN that the server had come to before it sent the transaction; nothing ends between ``commit`` and it."""

    @property
    def inside(self) -> bool:
        """Whether more of the same transaction is to come."""
        return self.kind != "COMMIT" and not (self.kind == "MESSAGE" and self.txid is None)

    @property
    def confirmable(self) -> int:
        """The LSN the slot may be told: the server sends again every transaction that ends after it."""
        return max(self.commit or 0, self.passed) if self.inside else self.event

    def at_least(self, lsn: int) -> Position:
        """Raise it so that it is confirmable up to ``lsn``, where it is not. Everything that ends up to ``lsn`` must have been sent."""
        if lsn <= self.confirmable:
            return self
        if self.inside:
            return replace(self, passed=lsn)
        return replace(self, event=lsn, kind="COMMIT", nth=1, counts=None)

    def to_offset(self, *, former: bool = False) -> dict[str, object]:
        """The JSON object to store, with its members in the reference's order. ``former``: as 2.3.4 writes it."""
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
        if self.inside and self.nth != 1:
            offset["lsn_events_processed"] = self.nth
        if self.inside and self.passed > (self.commit or 0):
            offset["lsn_passed"] = self.passed
        if self.counts is not None:
            offset["transaction_id"] = self.counts.id
            offset.update((_COUNT_PREFIX + name, count) for name, count in self.counts.counts)
        elif former:
            offset["transaction_id"] = None
        offset.update(self.incremental)
        return {key: offset[key] for key in java_order(offset)}


def snapshot_offset(lsn: int, txid: int | None, ts_us: int, *, completed: bool, former: bool = False) -> dict[str, object]:
    """The offset while a snapshot runs and when it has just ended; ``lsn`` is where streaming begins after it.

    ``former``: as 2.3.4 writes it.
    """
    offset: dict[str, object] = {"last_snapshot_record": completed, "lsn": lsn}
    if txid is not None:
        offset["txId"] = txid
    offset["ts_usec"] = ts_us
    return {**offset, "snapshot": True} if former else {**offset, "snapshot": "INITIAL", "snapshot_completed": completed}


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
"""Kinds of message after which nothing of a transaction was sent, or all of it."""


@dataclass(frozen=True, slots=True)
class StoredOffset:
    """A stored offset as read, by us or by the reference."""

    lsn: int | None
    commit: int | None
    processed: int | None
    txid: int | None
    ts_us: int
    kind: str | None
    nth: int
    snapshot: str | None
    """INITIAL or BLOCKING while the offset is a snapshot's; older versions wrote true."""
    snapshot_completed: bool
    counts: TransactionCounts | None = None
    passed: int = 0
    """See :attr:`Position.passed`."""

    @classmethod
    def parse(cls, offset: JsonObject) -> StoredOffset:
        """Read an offset; keys of the wrong type count as absent (operators edit offsets by hand)."""
        snapshot = offset.get("snapshot")
        kind = offset.get("messageType")
        completed = offset.get("snapshot_completed", offset.get("last_snapshot_record"))
        return cls(
            lsn=_integer(offset, "lsn"),
            commit=_integer(offset, "lsn_commit"),
            processed=_integer(offset, "lsn_proc"),
            txid=_integer(offset, "txId"),
            ts_us=_integer(offset, "ts_usec") or 0,
            kind=kind if isinstance(kind, str) else None,
            nth=_integer(offset, "lsn_events_processed") or 1,
            # An incremental snapshot leaves the stream where it is: Debezium resumes there, whatever snapshot_completed says.
            snapshot=None if snapshot in (None, False, "false", "INCREMENTAL") else str(snapshot),
            snapshot_completed=completed is True,
            counts=_counts(offset),
            passed=_integer(offset, "lsn_passed") or 0,
        )

    @property
    def snapshot_running(self) -> bool:
        """The snapshot this offset belongs to never ended."""
        return self.snapshot is not None and not self.snapshot_completed

    @property
    def inside(self) -> bool:
        """The offset was taken inside a transaction: the last event sent was one of its changes."""
        return self.snapshot is None and self.kind not in _BETWEEN and not self.after_message and self.lsn is not None

    @property
    def after_message(self) -> bool:
        """The last event sent was a message outside of transactions."""
        return self.snapshot is None and self.kind == "MESSAGE" and self.txid is None and self.lsn is not None

    @property
    def passed_message(self) -> int:
        """Messages outside of transactions were sent up to this LSN and with it, for the server may send the last one again.

        Inside a transaction ``commit`` may be a message's LSN, and if it is the end of a transaction, a message there was sent before
        this transaction. Between transactions a message at the end of the last one is still to come.
        """
        if self.inside:
            return self.commit or 0
        return (self.lsn or 0) if self.after_message else 0

    @property
    def start(self) -> int:
        """The LSN to ask the server for: it sends every transaction that ends after it; 0 leaves it to the slot.

        Inside a transaction that is the end of the one before, or an LSN after it up to which nothing else ends: an earlier LSN
        would bring back transactions that ran beside this one and were sent already.
        """
        if self.inside:
            return max(self.commit or 0, self.passed)
        return max(self.lsn or 0, self.commit or 0)

    @property
    def position(self) -> Position | None:
        """The position in the stream that was stored, without ``xmin`` and incremental snapshot; None for a snapshot's offset."""
        if self.snapshot is not None or self.lsn is None:
            return None
        if self.inside or self.after_message:
            event, kind, nth = self.lsn, self.kind or "", self.nth
        else:
            event, kind, nth = self.start, "COMMIT", 1
        return Position(event, self.commit, kind, self.txid, self.ts_us, nth, counts=self.counts, passed=self.passed if self.inside else 0)


@dataclass(frozen=True, slots=True)
class Resume:
    """What streaming must pass over: the first ``nth`` changes at ``lsn`` and all before them, in transaction ``txid``."""

    txid: int | None
    lsn: int
    nth: int


def resume_point(offset: StoredOffset | None) -> Resume | None:
    """What of the first transaction has been sent already; None when streaming starts between transactions."""
    if offset is None or not offset.inside or offset.lsn is None:
        return None
    return Resume(offset.txid, offset.lsn, offset.nth)
