"""pgoutput's messages, protocol version 1 in text mode (PostgreSQL manual, 55.9 Logical Replication Message Formats).

The only place that knows offsets into replication bytes. Change messages are hot and stay bytes: their tuples are cut by
:func:`split_tuple`; everything rare becomes a value.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from connector.errors import CdcError, ErrorKind

# Frames inside COPY BOTH (PostgreSQL manual, 55.4 Streaming Replication Protocol).
XLOG_DATA: Final = 0x77
KEEPALIVE: Final = 0x6B
BODY: Final = 25
"""Where the plugin's message begins in an XLogData frame."""

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
KEY_TUPLE: Final = 0x4B
OLD_TUPLE: Final = 0x4F

KEY_COLUMN: Final = 1
NULLS_TOLD: Final = 2
NOT_NULL: Final = 4
"""Flags of a RELATION's column. PostgreSQL knows the first alone; the others are set where other plugins' messages are put into
pgoutput's form: they tell whether the column may be null."""
UNTOLD_MODIFIER: Final = -2
"""A type modifier that only the catalog knows; PostgreSQL itself sends -1 or more."""

EPOCH_2000_US: Final = 946_684_800_000_000
"""PostgreSQL counts microseconds from 2000-01-01; this is that moment since 1970."""

UNCHANGED: Final = b"\x00unchanged toast"
"""Stands for a TOAST value the server did not send, by identity; no text of PostgreSQL can hold a zero byte."""

_LENGTH: Final = struct.Struct("!I").unpack_from
_BEGIN: Final = struct.Struct("!qqI")
_COMMIT: Final = struct.Struct("!Bqqq")
_KEEPALIVE: Final = struct.Struct("!qqB")
_COLUMN: Final = struct.Struct("!Ii")
_STATUS: Final = struct.Struct("!BqqqqB")
_TEXT: Final = 0x74
_NULL: Final = 0x6E
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
    """A published column: ``key`` tells that the replica identity holds it.

    ``not_null`` is None where the message does not tell, as pgoutput's own do not.
    """

    name: str
    type_oid: int
    modifier: int
    key: bool
    not_null: bool | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as the publication shows it. ``identity`` is relreplident: d default, n nothing, f full, i index."""

    oid: int
    schema: str
    table: str
    identity: str
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class Truncate:
    """Tables emptied by one statement, in the server's order."""

    relations: tuple[int, ...]
    cascade: bool
    restart_identity: bool


@dataclass(frozen=True, slots=True)
class Message:
    """What ``pg_logical_emit_message`` wrote."""

    transactional: bool
    lsn: int
    prefix: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a replicated transaction came from."""

    lsn: int
    name: str


@dataclass(frozen=True, slots=True)
class Keepalive:
    """The server's sign of life: ``wal_end`` is how far it has decoded; it closes the connection if ``reply`` stays unanswered."""

    wal_end: int
    reply: bool


def parse_keepalive(frame: bytes) -> Keepalive:
    """A primary keepalive frame."""
    wal_end, _sent, reply = _KEEPALIVE.unpack_from(frame, 1)
    return Keepalive(wal_end, reply == 1)


def standby_status(written: int, flushed: int, now_us: int, *, reply: bool = False) -> bytes:
    """A standby status update: ``flushed`` lets the server forget WAL before it; ``now_us`` is µs since 1970."""
    return _STATUS.pack(0x72, written, flushed, flushed, now_us - EPOCH_2000_US, 1 if reply else 0)


def parse_begin(frame: bytes) -> Begin:
    """The BEGIN message of an XLogData frame."""
    final_lsn, commit_us, xid = _BEGIN.unpack_from(frame, BODY + 1)
    return Begin(final_lsn, commit_us + EPOCH_2000_US, xid)


def parse_commit(frame: bytes) -> Commit:
    """The COMMIT message of an XLogData frame."""
    _flags, commit_lsn, end_lsn, commit_us = _COMMIT.unpack_from(frame, BODY + 1)
    return Commit(commit_lsn, end_lsn, commit_us + EPOCH_2000_US)


_SIGN_EXTENDED: Final = {byte: 0xFF00 | byte for byte in range(0x80, 0x100)}


def _text(frame: bytes, at: int, *, former: bool) -> tuple[str, int]:
    """A name. ``former``: as Debezium 2.3.4 reads it, whose every byte beyond ASCII becomes a character from U+FF80 on."""
    end = frame.index(0, at)
    raw = frame[at:end]
    return raw.decode("latin-1").translate(_SIGN_EXTENDED) if former else raw.decode(), end + 1


def parse_relation(frame: bytes, *, former: bool = False) -> Relation:
    """The RELATION message of an XLogData frame. An empty schema name means pg_catalog.

    ``former`` gives the names that Debezium 2.3.4 knows tables and columns by while it streams: one beyond ASCII is not the
    catalog's, so that such a table goes to another topic and has no key.
    """
    oid = int.from_bytes(frame[BODY + 1 : BODY + 5], "big")
    schema, at = _text(frame, BODY + 5, former=former)
    table, at = _text(frame, at, former=former)
    identity = chr(frame[at])
    count = int.from_bytes(frame[at + 1 : at + 3], "big")
    at += 3
    columns = []
    for _ in range(count):
        flags = frame[at]
        name, at = _text(frame, at + 1, former=former)
        type_oid, modifier = _COLUMN.unpack_from(frame, at)
        at += 8
        not_null = flags & NOT_NULL != 0 if flags & NULLS_TOLD else None
        columns.append(RelationColumn(name, type_oid, modifier, flags & KEY_COLUMN != 0, not_null))
    return Relation(oid, schema or "pg_catalog", table, identity, tuple(columns))


def parse_truncate(frame: bytes) -> Truncate:
    """The TRUNCATE message of an XLogData frame."""
    count, options = struct.unpack_from("!IB", frame, BODY + 1)
    oids = struct.unpack_from(f"!{count}I", frame, BODY + 6)
    return Truncate(oids, options & 1 == 1, options & 2 == 2)


def parse_message(frame: bytes, *, former: bool = False) -> Message:
    """The logical decoding MESSAGE of an XLogData frame; ``former`` as for :func:`parse_relation`."""
    flags, lsn = struct.unpack_from("!Bq", frame, BODY + 1)
    prefix, at = _text(frame, BODY + 10, former=former)
    size = int.from_bytes(frame[at : at + 4], "big")
    return Message(flags & 1 == 1, lsn, prefix, frame[at + 4 : at + 4 + size])


def parse_origin(frame: bytes) -> Origin:
    """The ORIGIN message of an XLogData frame."""
    lsn = int.from_bytes(frame[BODY + 1 : BODY + 9], "big")
    name, _ = _text(frame, BODY + 9, former=False)
    return Origin(lsn, name)


HAS_NULL: Final = 1
HAS_UNCHANGED: Final = 2


def split_tuple(frame: bytes, at: int, out: Tuple) -> int:
    """Cut a TupleData that starts at ``at`` into ``out``: None for NULL, :data:`UNCHANGED` for a TOAST value not sent.

    Answers four times where it ends, plus :data:`HAS_NULL` and :data:`HAS_UNCHANGED` where there were such, so that nobody need
    look again.
    """
    count = (frame[at] << 8) | frame[at + 1]
    at += 2
    flags = 0
    append = out.append
    for _ in range(count):
        kind = frame[at]
        if kind == _TEXT:
            at += 5
            end = at + _LENGTH(frame, at - 4)[0]
            append(frame[at:end])
            at = end
        elif kind == _NULL:
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
