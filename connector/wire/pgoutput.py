"""pgoutput's messages, protocol version 1 in text mode (PostgreSQL manual, 55.9 Logical Replication Message Formats).

No other module knows offsets into pgoutput's messages. Change messages are frequent and stay bytes: :func:`split_tuple` cuts their tuples.
All other messages are parsed into values.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from connector.errors import CdcError, ErrorKind

# Frames inside COPY BOTH (PostgreSQL manual, 55.4 Streaming Replication Protocol).
XLOG_DATA: Final = 0x77
KEEPALIVE: Final = 0x6B
KIND: Final = 0
"""The place of a frame's kind: :data:`XLOG_DATA` or :data:`KEEPALIVE`."""
LSN: Final = slice(1, 9)
"""The place of the LSN at which an XLogData frame starts: 64 bits, big-endian."""
BODY: Final = 25
"""The place of the plugin's message in an XLogData frame; it begins with its tag."""
RELATION_ID: Final = slice(26, 30)
"""The place of the table's oid in INSERT, UPDATE and DELETE: 32 bits, big-endian."""
ROW_KIND: Final = 30
"""The place of the kind of the first row in INSERT, UPDATE and DELETE: :data:`NEW_TUPLE`, O for the old row, or K for its key."""
ROW: Final = 31
"""The place of that row's TupleData."""

# Tags of the plugin's messages.
BEGIN: Final = 0x42
COMMIT: Final = 0x43
ORIGIN: Final = 0x4F
RELATION: Final = 0x52
TYPE: Final = 0x59
INSERT: Final = 0x49
UPDATE: Final = 0x55
DELETE: Final = 0x44
TRUNCATE: Final = 0x54
MESSAGE: Final = 0x4D

NEW_TUPLE: Final = 0x4E

KEY_COLUMN: Final = 1
NULLS_TOLD: Final = 2
NOT_NULL: Final = 4
"""Flags of a column in a RELATION message. PostgreSQL knows only the first. The adapters of other plugins set the others, which say
whether the column may be null."""
UNTOLD_MODIFIER: Final = -2
"""Stands for a type modifier that only the catalog knows; PostgreSQL itself sends -1 or more."""
UNTOLD_IDENTITY: Final = "?"
"""Stands for a replica identity that only the catalog knows; PostgreSQL itself always sends it."""

EPOCH_2000_US: Final = 946_684_800_000_000
"""PostgreSQL's epoch 2000-01-01, in microseconds since 1970."""

UNCHANGED: Final = b"\x00unchanged toast"
"""Stands for an unchanged TOAST value, which the server did not send. Compare it by identity; no text of PostgreSQL holds a zero byte."""

CELL_LENGTH: Final = struct.Struct("!I").unpack_from
_BEGIN: Final = struct.Struct("!qqI")
_COMMIT: Final = struct.Struct("!Bqqq")
_KEEPALIVE: Final = struct.Struct("!qqB")
_COLUMN: Final = struct.Struct("!Ii")
_STATUS: Final = struct.Struct("!BqqqqB")
TEXT_CELL: Final = 0x74
NULL_CELL: Final = 0x6E
_UNCHANGED: Final = 0x75

Tuple = list[bytes | None]


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction's first message. ``commit_us`` is its commit time in µs since 1970; ``xid`` has 32 bits."""

    final_lsn: int
    commit_us: int
    xid: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A transaction's last message. ``end_lsn`` is the first byte after its commit record."""

    commit_lsn: int
    end_lsn: int
    commit_us: int


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A published column. ``key`` says whether it belongs to the replica identity.

    ``not_null`` is None if the message does not say it. pgoutput's own messages never do.
    """

    name: str
    type_oid: int
    modifier: int
    key: bool
    not_null: bool | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, as the publication describes it.

    ``identity`` is relreplident (d default, n nothing, f full, i index) or :data:`UNTOLD_IDENTITY`.
    """

    oid: int
    schema: str
    table: str
    identity: str
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A message written by ``pg_logical_emit_message``."""

    transactional: bool
    lsn: int
    prefix: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a replicated transaction."""

    lsn: int
    name: str


@dataclass(frozen=True, slots=True)
class Keepalive:
    """The server's keepalive: it has decoded the WAL up to ``wal_end``; ``reply`` asks for a status update at once."""

    wal_end: int
    reply: bool


def parse_keepalive(frame: bytes) -> Keepalive:
    """Parse a primary keepalive frame."""
    wal_end, _sent, reply = _KEEPALIVE.unpack_from(frame, 1)
    return Keepalive(wal_end, reply == 1)


def standby_status(written: int, flushed: int, now_us: int, *, reply: bool = False) -> bytes:
    """Make a standby status update: the server may remove WAL before ``flushed``; ``now_us`` is in µs since 1970."""
    return _STATUS.pack(0x72, written, flushed, flushed, now_us - EPOCH_2000_US, 1 if reply else 0)


def parse_begin(frame: bytes) -> Begin:
    """Parse the BEGIN message of an XLogData frame."""
    final_lsn, commit_us, xid = _BEGIN.unpack_from(frame, BODY + 1)
    return Begin(final_lsn, commit_us + EPOCH_2000_US, xid)


def parse_commit(frame: bytes) -> Commit:
    """Parse the COMMIT message of an XLogData frame."""
    _flags, commit_lsn, end_lsn, commit_us = _COMMIT.unpack_from(frame, BODY + 1)
    return Commit(commit_lsn, end_lsn, commit_us + EPOCH_2000_US)


_SIGN_EXTENDED: Final = {byte: 0xFF00 | byte for byte in range(0x80, 0x100)}


def _text(frame: bytes, at: int, *, signed: bool) -> tuple[str, int]:
    """Return the name at ``at`` and the place after it. ``signed``: read each byte beyond ASCII as a character from U+FF80 on."""
    end = frame.index(0, at)
    raw = frame[at:end]
    return raw.decode("latin-1").translate(_SIGN_EXTENDED) if signed else raw.decode(), end + 1


def parse_relation(frame: bytes, *, signed_names: bool = False) -> Relation:
    """Parse the RELATION message of an XLogData frame. An empty schema name means pg_catalog.

    ``signed_names`` returns the names that Debezium 2.3.4 uses for tables and columns of the stream. It reads each byte as a signed number,
    so a name with characters beyond ASCII differs from the catalog's. Such a table therefore has another topic and no key.
    """
    oid = int.from_bytes(frame[BODY + 1 : BODY + 5], "big")
    schema, at = _text(frame, BODY + 5, signed=signed_names)
    table, at = _text(frame, at, signed=signed_names)
    identity = chr(frame[at])
    count = int.from_bytes(frame[at + 1 : at + 3], "big")
    at += 3
    columns = []
    for _ in range(count):
        flags = frame[at]
        name, at = _text(frame, at + 1, signed=signed_names)
        type_oid, modifier = _COLUMN.unpack_from(frame, at)
        at += 8
        not_null = flags & NOT_NULL != 0 if flags & NULLS_TOLD else None
        columns.append(RelationColumn(name, type_oid, modifier, flags & KEY_COLUMN != 0, not_null))
    return Relation(oid, schema or "pg_catalog", table, identity, tuple(columns))


def parse_truncate(frame: bytes) -> tuple[int, ...]:
    """Parse the TRUNCATE message of an XLogData frame: the OIDs of the tables that one statement truncated, in the server's order."""
    # A byte of options (CASCADE, RESTART IDENTITY) is between the number and the OIDs.
    [count] = struct.unpack_from("!I", frame, BODY + 1)
    return struct.unpack_from(f"!{count}I", frame, BODY + 6)


def parse_message(frame: bytes, *, signed_names: bool = False) -> Message:
    """Parse the logical decoding MESSAGE of an XLogData frame; ``signed_names`` as for :func:`parse_relation`."""
    flags, lsn = struct.unpack_from("!Bq", frame, BODY + 1)
    prefix, at = _text(frame, BODY + 10, signed=signed_names)
    size = int.from_bytes(frame[at : at + 4], "big")
    return Message(flags & 1 == 1, lsn, prefix, frame[at + 4 : at + 4 + size])


def parse_origin(frame: bytes) -> Origin:
    """Parse the ORIGIN message of an XLogData frame."""
    lsn = int.from_bytes(frame[BODY + 1 : BODY + 9], "big")
    name, _ = _text(frame, BODY + 9, signed=False)
    return Origin(lsn, name)


HAS_NULL: Final = 1
HAS_UNCHANGED: Final = 2


def split_tuple(frame: bytes, at: int, out: Tuple) -> int:
    """Append the cells of the TupleData at ``at`` to ``out``: None for NULL, :data:`UNCHANGED` for an unchanged TOAST value.

    Returns four times the place after the TupleData, plus :data:`HAS_NULL` and :data:`HAS_UNCHANGED` if ``out`` got such cells. The caller
    need not search for them.
    """
    count = (frame[at] << 8) | frame[at + 1]
    at += 2
    flags = 0
    append = out.append
    for _ in range(count):
        kind = frame[at]
        if kind == TEXT_CELL:
            at += 5
            end = at + CELL_LENGTH(frame, at - 4)[0]
            append(frame[at:end])
            at = end
        elif kind == NULL_CELL:
            append(None)
            flags |= HAS_NULL
            at += 1
        elif kind == _UNCHANGED:
            append(UNCHANGED)
            flags |= HAS_UNCHANGED
            at += 1
        else:
            raise CdcError(
                ErrorKind.PROTOCOL,
                f"A row came in a form pgoutput does not have in text mode (column kind {kind:#x})",
                "Remove option binary from slot.stream.params",
            )
    return at << 2 | flags
