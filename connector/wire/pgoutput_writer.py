"""Writer of messages in pgoutput's form, for the messages of other output plugins: the reverse of :mod:`connector.wire.pgoutput`.

Each function makes the bytes of one message. A frame is the first 25 bytes of the other plugin's frame (which hold the LSN) and these.
Formats: PostgreSQL manual, 55.9 Logical Replication Message Formats.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from connector.wire.pgoutput import EPOCH_2000_US, KEY_COLUMN, NOT_NULL, NULLS_TOLD, UNCHANGED, Relation, RelationColumn

_BEGIN: Final = struct.Struct("!cqqI").pack
_COMMIT: Final = struct.Struct("!cBqqq").pack
_MESSAGE: Final = struct.Struct("!cBq").pack
_COLUMN: Final = struct.Struct("!Ii").pack
_TEXT: Final = struct.Struct("!cI").pack

Cells = Sequence[bytes | None]
"""The texts of a row as PostgreSQL prints them; None for NULL, :data:`connector.wire.pgoutput.UNCHANGED` for an unsent TOAST value."""


def begin(final_lsn: int, commit_us: int, xid: int) -> bytes:
    """Return a BEGIN message; ``commit_us`` is in µs since 1970."""
    return _BEGIN(b"B", final_lsn, commit_us - EPOCH_2000_US, xid)


def commit(commit_lsn: int, end_lsn: int, commit_us: int) -> bytes:
    """Return a COMMIT message; ``commit_us`` is in µs since 1970."""
    return _COMMIT(b"C", 0, commit_lsn, end_lsn, commit_us - EPOCH_2000_US)


def relation(table: Relation) -> bytes:
    """Return a RELATION message. If a column's ``not_null`` is known, its flags contain it, which pgoutput's own flags do not."""
    parts = [b"R", table.oid.to_bytes(4, "big"), table.schema.encode(), b"\0", table.table.encode(), b"\0", table.identity.encode()]
    parts.append(len(table.columns).to_bytes(2, "big"))
    for column in table.columns:
        parts += (bytes((_flags(column),)), column.name.encode(), b"\0", _COLUMN(column.type_oid, column.modifier))
    return b"".join(parts)


def _flags(column: RelationColumn) -> int:
    flags = KEY_COLUMN if column.key else 0
    if column.not_null is not None:
        flags |= NULLS_TOLD | (NOT_NULL if column.not_null else 0)
    return flags


def tuple_data(cells: Cells) -> bytes:
    """Return a TupleData."""
    parts = [len(cells).to_bytes(2, "big")]
    append = parts.append
    for cell in cells:
        if cell is None:
            append(b"n")
        elif cell is UNCHANGED:
            append(b"u")
        else:
            append(_TEXT(b"t", len(cell)))
            append(cell)
    return b"".join(parts)


def insert(relation_id: bytes, new: Cells) -> bytes:
    """Return an INSERT message; ``relation_id`` is the relation's oid in four bytes, in all functions."""
    return b"I" + relation_id + b"N" + tuple_data(new)


def update(relation_id: bytes, old: Cells | None, new: Cells) -> bytes:
    """Return an UPDATE message; ``old`` holds the old row, or the replica identity's columns of it, if it was sent."""
    before = b"" if old is None else b"K" + tuple_data(old)
    return b"U" + relation_id + before + b"N" + tuple_data(new)


def delete(relation_id: bytes, old: Cells) -> bytes:
    """Return a DELETE message; ``old`` identifies the row."""
    return b"D" + relation_id + b"K" + tuple_data(old)


def truncate(relation_id: bytes) -> bytes:
    """Return a TRUNCATE message of one table."""
    return b"T\0\0\0\1\0" + relation_id


def message(transactional: bool, lsn: int, prefix: str, content: bytes) -> bytes:
    """Return a MESSAGE message."""
    return _MESSAGE(b"M", transactional, lsn) + prefix.encode() + b"\0" + len(content).to_bytes(4, "big") + content
