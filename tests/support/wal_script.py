"""Replication frames built by hand: pgoutput protocol 1 in text mode, as PostgreSQL's walsender wraps them.

The functions make one message or frame each; :class:`WalScript` keeps the WAL position, so that a test reads like the
session it stands for. Formats: PostgreSQL manual, 55.4 (frames) and 55.9 (messages); ``core_recorded.json`` holds frames
of a real server that these must equal.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import Enum
from typing import Final

from connector.wire.pgoutput import Relation

EPOCH_2000_US: Final = 946_684_800_000_000


class Special(Enum):
    """Column values that are neither text nor NULL."""

    UNCHANGED = "u"
    """A TOAST value that the statement did not touch."""
    BINARY = "b"
    """Eight bytes in binary form, which text mode does not have."""


UNCHANGED: Final = Special.UNCHANGED
BINARY: Final = Special.BINARY

Cell = str | bytes | Special | None
"""A column's text, a :class:`Special`, or None for NULL."""


def _name(text: str) -> bytes:
    return text.encode() + b"\0"


def tuple_data(cells: Sequence[Cell]) -> bytes:
    """TupleData: a count, then each cell with its kind."""
    out = [struct.pack("!H", len(cells))]
    for cell in cells:
        if cell is None:
            out.append(b"n")
        elif cell is UNCHANGED:
            out.append(b"u")
        elif isinstance(cell, Special):
            out.append(b"b" + struct.pack("!I", 8) + b"\0" * 8)
        else:
            text = cell.encode() if isinstance(cell, str) else cell
            out.append(b"t" + struct.pack("!I", len(text)) + text)
    return b"".join(out)


def begin(final_lsn: int, commit_us: int, xid: int) -> bytes:
    """BEGIN; ``commit_us`` is µs since 1970."""
    return b"B" + struct.pack("!qqI", final_lsn, commit_us - EPOCH_2000_US, xid)


def commit(commit_lsn: int, end_lsn: int, commit_us: int) -> bytes:
    """COMMIT; ``commit_us`` is µs since 1970."""
    return b"C" + struct.pack("!Bqqq", 0, commit_lsn, end_lsn, commit_us - EPOCH_2000_US)


def relation(table: Relation) -> bytes:
    """RELATION; pg_catalog goes as an empty name."""
    schema = "" if table.schema == "pg_catalog" else table.schema
    out = [b"R", struct.pack("!I", table.oid), _name(schema), _name(table.table), table.identity.encode()]
    out.append(struct.pack("!H", len(table.columns)))
    for column in table.columns:
        out += (b"\1" if column.key else b"\0", _name(column.name), struct.pack("!Ii", column.type_oid, column.modifier))
    return b"".join(out)


def insert(oid: int, cells: Sequence[Cell]) -> bytes:
    """INSERT."""
    return b"I" + struct.pack("!I", oid) + b"N" + tuple_data(cells)


def update(oid: int, cells: Sequence[Cell], *, key: Sequence[Cell] | None = None, old: Sequence[Cell] | None = None) -> bytes:
    """UPDATE; ``key`` is the old row with only its identity columns (K), ``old`` the whole old row (O)."""
    before = b""
    if key is not None:
        before = b"K" + tuple_data(key)
    elif old is not None:
        before = b"O" + tuple_data(old)
    return b"U" + struct.pack("!I", oid) + before + b"N" + tuple_data(cells)


def delete(oid: int, *, key: Sequence[Cell] | None = None, old: Sequence[Cell] | None = None) -> bytes:
    """DELETE with the identity columns (K) or the whole row (O). Raises ValueError without either."""
    if key is not None:
        return b"D" + struct.pack("!I", oid) + b"K" + tuple_data(key)
    if old is None:
        raise ValueError("DELETE needs the old key or the old row")
    return b"D" + struct.pack("!I", oid) + b"O" + tuple_data(old)


def truncate(*oids: int, cascade: bool = False, restart_identity: bool = False) -> bytes:
    """TRUNCATE of one or more tables."""
    options = (1 if cascade else 0) | (2 if restart_identity else 0)
    return b"T" + struct.pack(f"!IB{len(oids)}I", len(oids), options, *oids)


def message(prefix: str, content: bytes, *, lsn: int, transactional: bool) -> bytes:
    """MESSAGE, as pg_logical_emit_message writes it."""
    return b"M" + struct.pack("!Bq", 1 if transactional else 0, lsn) + _name(prefix) + struct.pack("!I", len(content)) + content


def origin(lsn: int, name: str) -> bytes:
    """ORIGIN of a replicated transaction."""
    return b"O" + struct.pack("!q", lsn) + _name(name)


def type_message(oid: int, schema: str, name: str) -> bytes:
    """TYPE of a column whose type is not built in."""
    return b"Y" + struct.pack("!I", oid) + _name(schema) + _name(name)


def xlog_data(lsn: int, body: bytes, *, wal_end: int = 0, sent_us: int = EPOCH_2000_US) -> bytes:
    """An XLogData frame around a message; ``sent_us`` is µs since 1970."""
    return b"w" + struct.pack("!qqq", lsn, wal_end or lsn, sent_us - EPOCH_2000_US) + body


def keepalive(wal_end: int, *, reply: bool = False, sent_us: int = EPOCH_2000_US) -> bytes:
    """A primary keepalive frame; ``sent_us`` is µs since 1970."""
    return b"k" + struct.pack("!qqB", wal_end, sent_us - EPOCH_2000_US, 1 if reply else 0)


class WalScript:
    """Frames of a session in the order the server would send them; ``lsn`` is where the WAL has come to.

    Every change takes :attr:`STEP` bytes of WAL unless it is given its LSN; a COMMIT record takes :attr:`COMMIT_SIZE`.
    """

    STEP: Final = 0x60
    COMMIT_SIZE: Final = 0x30

    def __init__(self, lsn: int = 0x1000_0000) -> None:
        self.lsn = lsn
        self.frames: list[bytes] = []
        self._begin: tuple[int, int, int, int] | None = None
        self._xid = 700

    def _change(self, body: bytes, lsn: int | None) -> int:
        at = self.lsn if lsn is None else lsn
        self.frames.append(xlog_data(at, body))
        self.lsn = max(self.lsn, at + self.STEP)
        return at

    def begin(self, xid: int | None = None, *, commit_us: int = 1_700_000_000_123_456) -> int:
        """Open a transaction; answers its xid. :meth:`commit` fills in its final LSN, unless the frame was taken before."""
        self._xid = self._xid + 1 if xid is None else xid
        self._begin = (len(self.frames), self.lsn, commit_us, self._xid)
        self.frames.append(xlog_data(self.lsn, begin(0, commit_us, self._xid)))
        return self._xid

    def commit(self) -> int:
        """Close the transaction; answers its end: the position that the next one's changes come after."""
        if self._begin is None:
            raise ValueError("commit() before begin()")
        at, first, commit_us, xid = self._begin
        commit_lsn, end = self.lsn, self.lsn + self.COMMIT_SIZE
        if at >= 0:
            self.frames[at] = xlog_data(first, begin(commit_lsn, commit_us, xid))
        self.frames.append(xlog_data(end, commit(commit_lsn, end, commit_us)))
        self._begin = None
        self.lsn = end
        return end

    def relation(self, table: Relation) -> None:
        """Describe a table; takes no WAL."""
        self.frames.append(xlog_data(self.lsn, relation(table)))

    def insert(self, table: Relation, *cells: Cell, lsn: int | None = None) -> int:
        """A new row; answers its LSN."""
        return self._change(insert(table.oid, cells), lsn)

    def update(
        self, table: Relation, *cells: Cell, key: Sequence[Cell] | None = None, old: Sequence[Cell] | None = None, lsn: int | None = None
    ) -> int:
        """A changed row; answers its LSN."""
        return self._change(update(table.oid, cells, key=key, old=old), lsn)

    def delete(
        self, table: Relation, *, key: Sequence[Cell] | None = None, old: Sequence[Cell] | None = None, lsn: int | None = None
    ) -> int:
        """A row that is gone; answers its LSN."""
        return self._change(delete(table.oid, key=key, old=old), lsn)

    def truncate(self, *tables: Relation, cascade: bool = False, restart_identity: bool = False) -> int:
        """Tables emptied; answers the LSN."""
        body = truncate(*(table.oid for table in tables), cascade=cascade, restart_identity=restart_identity)
        return self._change(body, None)

    def message(self, prefix: str, content: bytes, *, transactional: bool = True) -> int:
        """A logical decoding message; answers its LSN."""
        return self._change(message(prefix, content, lsn=self.lsn, transactional=transactional), None)

    def origin(self, lsn: int, name: str) -> None:
        """Where the open transaction came from; comes right after BEGIN."""
        self.frames.append(xlog_data(self.lsn, origin(lsn, name)))

    def type_message(self, oid: int, schema: str, name: str) -> None:
        """A type that is not built in; takes no WAL."""
        self.frames.append(xlog_data(self.lsn, type_message(oid, schema, name)))

    def keepalive(self, wal_end: int | None = None, *, reply: bool = False) -> int:
        """The server's sign of life at ``wal_end`` (where the WAL is, when not given); answers it."""
        at = self.lsn if wal_end is None else wal_end
        self.frames.append(keepalive(at, reply=reply))
        self.lsn = max(self.lsn, at)
        return at

    def take(self) -> list[bytes]:
        """The frames made since the last call."""
        frames, self.frames = self.frames, []
        if self._begin is not None:
            self._begin = (-1, *self._begin[1:])
        return frames
