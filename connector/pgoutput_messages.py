"""Messages in pgoutput's form for what other output plugins sent: the opposite direction of :mod:`connector.pgoutput`.

Each function makes a message's bytes; a frame is the 25 bytes before the other plugin's message (which hold its LSN) and these.
Formats: PostgreSQL manual, 55.9 Logical Replication Message Formats.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from connector.pgoutput import EPOCH_2000_US, KEY_COLUMN, NOT_NULL, NULLS_TOLD, UNCHANGED, Relation, RelationColumn

_BEGIN: Final = struct.Struct("!cqqI").pack
_COMMIT: Final = struct.Struct("!cBqqq").pack
_MESSAGE: Final = struct.Struct("!cBq").pack
_COLUMN: Final = struct.Struct("!Ii").pack
_TEXT: Final = struct.Struct("!cI").pack

Cells = Sequence[bytes | None]
"""Texts as PostgreSQL prints them; None for NULL, :data:`connector.pgoutput.UNCHANGED` for a TOAST value that was not sent."""


def begin(final_lsn: int, commit_us: int, xid: int) -> bytes:
    """BEGIN; ``commit_us`` counts µs since 1970."""
    return _BEGIN(b"B", final_lsn, commit_us - EPOCH_2000_US, xid)


def commit(commit_lsn: int, end_lsn: int, commit_us: int) -> bytes:
    """COMMIT; ``commit_us`` counts µs since 1970."""
    return _COMMIT(b"C", 0, commit_lsn, end_lsn, commit_us - EPOCH_2000_US)


def relation(table: Relation) -> bytes:
    """RELATION, with the flags that say more than pgoutput's own where a column's ``not_null`` is known."""
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
    """TupleData."""
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
    """INSERT; ``relation_id`` is the relation's oid in four bytes, here and below."""
    return b"I" + relation_id + b"N" + tuple_data(new)


def update(relation_id: bytes, old: Cells | None, new: Cells) -> bytes:
    """UPDATE; ``old`` is the identity's part of the old row, if it was sent."""
    before = b"" if old is None else b"K" + tuple_data(old)
    return b"U" + relation_id + before + b"N" + tuple_data(new)


def delete(relation_id: bytes, old: Cells) -> bytes:
    """DELETE of the row that ``old`` identifies."""
    return b"D" + relation_id + b"K" + tuple_data(old)


def truncate(relation_id: bytes) -> bytes:
    """TRUNCATE of one table."""
    return b"T\0\0\0\1\0" + relation_id


def message(transactional: bool, lsn: int, prefix: str, content: bytes) -> bytes:
    """MESSAGE."""
    return _MESSAGE(b"M", transactional, lsn) + prefix.encode() + b"\0" + len(content).to_bytes(4, "big") + content
