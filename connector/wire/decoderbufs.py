"""The output plugin decoderbufs: its protobuf messages are translated into pgoutput's form, which the state machine reads.

A message is a ``RowMessage`` of the plugin's ``pg_logicaldec.proto``. Its fields are: 1 transaction id, 2 commit time (µs since 1970), 3
table (quoted where SQL needs it), 4 operation, 5 new row, 6 old row (one ``DatumMessage`` for each column), 7 declared types of the new
row. The fields of a ``DatumMessage`` are: 1 name, 2 type's oid, and one of 3 int32, 4 int64, 5 float, 6 double, 7 bool, 8 string, 9 bytes,
10 point, 11 missing (an unchanged TOAST value). A NULL has none of the fields from 3 on.

The plugin does not send: truncates; logical decoding messages; origins; the row of an update or delete in a table without replica identity
(a warning is logged once for each table); the final LSN in BEGIN; the time zone of a timetz (it converts the value to UTC). It sends all
tables of the database, partitions under their own names, and generated columns.

The plugin sends numbers where pgoutput sends text. This module prints them as PostgreSQL does. A timestamp after the year 294247 overflows
in the plugin; this module corrects it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connector.errors import CdcError, ErrorKind
from connector.wire.declared_type import modifier_of
from connector.wire.notice import Notice
from connector.wire.pgoutput import BODY, KIND, LSN, UNCHANGED, UNTOLD_IDENTITY, XLOG_DATA, Relation, RelationColumn
from connector.wire.pgoutput_writer import begin, commit, delete, insert, relation, update
from connector.wire.plain_text import date_text, float4_text, float8_text, interval_text, money_text, time_text, timestamp_text

_INSERT: Final = 0
_UPDATE: Final = 1
_DELETE: Final = 2
_BEGIN: Final = 3
_COMMIT: Final = 4

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5

_BYTEA: Final = 17
_OID: Final = 26
_MONEY: Final = 790
_DATE: Final = 1082
_TIME: Final = 1083
_TIMESTAMP: Final = 1114
_TIMESTAMPTZ: Final = 1184
_INTERVAL: Final = 1186
_TIMETZ: Final = 1266

_FLOAT: Final = struct.Struct("<f").unpack_from
_DOUBLE: Final = struct.Struct("<d").unpack_from


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A column, as the beginning of its datums describes it. Equal beginnings share one object, so rows are compared by identity."""

    name: str
    type_oid: int


@dataclass(frozen=True, slots=True)
class _Table:
    """A table, as the stream knows it. ``declared`` holds the bytes of the declared types, None if only an old row was received."""

    relation_id: bytes
    columns: list[_Column]
    declared: bytes | None


class Decoderbufs:
    """Translates frames with decoderbufs' messages into frames with pgoutput's.

    The plugin sends no oids of relations, so this class numbers the relations. ``encoding`` is Python's name of the database's encoding:
    the plugin does not convert texts to the client's encoding. ``unchecked`` says that the server does not check texts (SQL_ASCII). What is
    not in the encoding then becomes U+FFFD, as in Java.
    """

    wanted: Final = None
    """Always None, because no message needs the catalog; see :class:`connector.wire.output_plugin.Adapter`."""

    def __init__(self, encoding: str = "utf-8", *, unchecked: bool = False) -> None:
        self._encoding = encoding
        self._errors = "replace" if unchecked else "strict"
        self._utf8 = encoding == "utf-8" and not unchecked
        self._columns: dict[bytes, _Column] = {}
        self._tables: dict[bytes, _Table] = {}
        self._silent: set[bytes] = set()
        self._open = False
        self.notices: list[Notice] = []

    def learn(self, table: object) -> None:
        """Raise RuntimeError, because this adapter asks for no table."""
        raise RuntimeError(f"decoderbufs asked for no table, and was given {table}")

    def translate(self, frames: Sequence[bytes], out: list[bytes]) -> int:
        """Append each frame in pgoutput's form to ``out``. Returns the number of frames, because all are used.

        Raises CdcError(PROTOCOL) for messages that are not in decoderbufs' form, or that come from an old version of it.
        """
        for frame in frames:
            if frame[KIND] != XLOG_DATA:
                out.append(frame)
                continue
            try:
                self._message(frame, out)
            except (LookupError, ValueError, struct.error) as error:
                raise CdcError(
                    ErrorKind.PROTOCOL,
                    "A replication message is not in the form of decoderbufs",
                    "Check the options in slot.stream.params (debug-mode must be off), or set plugin.name=pgoutput",
                ) from error
        return len(frames)

    def _message(self, frame: bytes, out: list[bytes]) -> None:
        at, end = BODY, len(frame)
        xid = commit_us = 0
        operation = -1
        table = b""
        rows: tuple[list[_Column], list[bytes | None], list[_Column], list[bytes | None]] = ([], [], [], [])
        new_columns, new, old_columns, old = rows
        declared_at = end
        while at < end:
            start = at
            tag, value, at = _field(frame, at)
            if tag == 0x2A:
                self._datum(frame, at, at + value, new_columns, new)
                at += value
            elif tag == 0x32:
                self._datum(frame, at, at + value, old_columns, old)
                at += value
            elif tag == 0x3A:
                # The declared types come last and are the same for every row. Their bytes are compared in one piece.
                declared_at = start
                break
            elif tag == 0x1A:
                table = frame[at : at + value]
                at += value
            elif tag == 0x20:
                operation = value
            elif tag == 0x08:
                xid = value
            elif tag == 0x10:
                commit_us = value
            else:
                at = _skip(tag, value, at)
        head = frame[:BODY]
        if operation == _BEGIN:
            self._open = True
            out.append(head + begin(0, commit_us, xid))
        elif operation == _COMMIT:
            self._open = False
            lsn = int.from_bytes(frame[LSN], "big")
            out.append(head + commit(0, lsn, commit_us))
        elif not self._open or operation not in (_INSERT, _UPDATE, _DELETE):
            raise CdcError(
                ErrorKind.PROTOCOL,
                "The server's decoderbufs does not mark where transactions begin, or sends an unknown operation",
                "Install a release of it between 1.0 and 3.x, or set plugin.name=pgoutput and another slot.name",
            )
        else:
            self._change(operation, table, rows, frame[declared_at:], head, out)

    def _change(
        self,
        operation: int,
        name: bytes,
        rows: tuple[list[_Column], list[bytes | None], list[_Column], list[bytes | None]],
        declared: bytes,
        head: bytes,
        out: list[bytes],
    ) -> None:
        new_columns, new, old_columns, old = rows
        if operation == _DELETE:
            if not old_columns:
                self._unidentified(name)
                return
            out.append(head + delete(self._known(name, old_columns, None, head, out).relation_id, old))
            return
        if operation == _UPDATE and not new_columns:
            self._unidentified(name)
            return
        relation_id = self._known(name, new_columns, declared, head, out).relation_id
        if operation == _INSERT:
            out.append(head + insert(relation_id, new))
            return
        if old_columns:
            # Replica identity FULL sends the whole old row: an unchanged column has its old value.
            new = [before if cell is UNCHANGED and before is not None else cell for cell, before in zip(new, old, strict=True)]
        out.append(head + update(relation_id, old if old_columns else None, new))

    def _known(self, name: bytes, columns: list[_Column], declared: bytes | None, head: bytes, out: list[bytes]) -> _Table:
        """Return the table as the stream knows it. Append a RELATION message first if this row has other columns."""
        known = self._tables.get(name)
        if known is not None and known.columns == columns and (declared is None or known.declared == declared):
            return known
        schema, table = split_name(name.decode(self._encoding, self._errors))
        relation_id = known.relation_id if known else (len(self._tables) + 1).to_bytes(4, "big")
        stated = list(self._declared(declared)) if declared else [(None, None)] * len(columns)
        described = Relation(
            int.from_bytes(relation_id, "big"),
            schema,
            table,
            UNTOLD_IDENTITY,
            tuple(
                RelationColumn(column.name, column.type_oid, modifier_of(text), False, None if optional is None else not optional)
                for column, (text, optional) in zip(columns, stated, strict=True)
            ),
        )
        out.append(head + relation(described))
        known = self._tables[name] = _Table(relation_id, columns, declared)
        return known

    def _declared(self, types: bytes) -> list[tuple[str, bool]]:
        """Return the declared type of each column, and whether the column may be null."""
        found = []
        at = 0
        while at < len(types):
            tag, value, at = _field(types, at)
            end = at + value
            if tag != 0x3A:
                at = _skip(tag, value, at)
                continue
            text, optional = "", True
            while at < end:
                tag, value, at = _field(types, at)
                if tag == 0x0A:
                    text = types[at : at + value].decode(self._encoding, self._errors)
                    at += value
                elif tag == 0x10:
                    optional = value != 0
                else:
                    at = _skip(tag, value, at)
            found.append((text, optional))
        return found

    def _unidentified(self, name: bytes) -> None:
        if name not in self._silent:
            self._silent.add(name)
            schema, table = split_name(name.decode(self._encoding, self._errors))
            self.notices.append(
                Notice(
                    "updates and deletes are not sent: decoderbufs gives no row for a table without replica identity; add a primary key, or"
                    " ALTER TABLE ... REPLICA IDENTITY FULL",
                    {"table": f"{schema}.{table}"},
                )
            )

    def _datum(self, frame: bytes, at: int, end: int, columns: list[_Column], cells: list[bytes | None]) -> None:
        """Append a datum's column and its text."""
        after = _after_head(frame, at)
        head = frame[at:after]
        column = self._columns.get(head)
        if column is None:
            column = self._columns[head] = self._column(head)
        columns.append(column)
        cells.append(None if after >= end else self._text(column.type_oid, frame, after))

    def _column(self, head: bytes) -> _Column:
        _, size, at = _field(head, 0)
        quoted = head[at : at + size].decode(self._encoding, self._errors)
        _, type_oid, _ = _field(head, at + size)
        return _Column(unquote(quoted), type_oid)

    def text(self, raw: bytes) -> bytes:
        """Return a text of the database in UTF-8. Raises ValueError for bytes that are not in its encoding."""
        return raw if self._utf8 else raw.decode(self._encoding, self._errors).encode()

    def _text(self, type_oid: int, frame: bytes, at: int) -> bytes:
        tag, value, at = _field(frame, at)
        field = tag >> 3
        if field == 8:
            return self.text(frame[at : at + value])
        if field == 3:
            number = _signed(value)
            return date_text(number) if type_oid == _DATE else b"%d" % number
        if field == 4:
            return _int8_text(type_oid, _signed(value))
        if field == 9:
            raw = frame[at : at + value]
            if type_oid == _BYTEA:
                return b"\\x" + raw.hex().encode()
            return self.text(raw)
        if field == 7:
            return b"t" if value else b"f"
        if field == 5:
            return float4_text(_FLOAT(frame, at)[0])
        if field == 6:
            return _double_text(type_oid, _DOUBLE(frame, at)[0])
        if field == 10:
            # Both fields are required, in this order: tag 09 and eight bytes, tag 11 and eight bytes.
            return b"(%b,%b)" % (float8_text(_DOUBLE(frame, at + 1)[0]), float8_text(_DOUBLE(frame, at + 10)[0]))
        if field == 11:
            return UNCHANGED
        raise CdcError(
            ErrorKind.PROTOCOL,
            f"The server's decoderbufs sends a value of an unknown kind (field {field})",
            "Set plugin.name=pgoutput and another slot.name",
        )


def _int8_text(type_oid: int, number: int) -> bytes:
    if type_oid in (_TIMESTAMP, _TIMESTAMPTZ):
        return timestamp_text(number, zoned=type_oid == _TIMESTAMPTZ)
    if type_oid == _TIME:
        return time_text(number)
    if type_oid == _MONEY:
        return money_text(number)
    return b"%d" % (number & 0xFFFFFFFF if type_oid == _OID else number)


def _double_text(type_oid: int, number: float) -> bytes:
    if type_oid == _TIMETZ:
        return time_text(int(number) % 86_400_000_000) + b"+00"
    if type_oid == _INTERVAL:
        return interval_text(int(number))
    return float8_text(number)


def _field(data: bytes, at: int) -> tuple[int, int, int]:
    """Return a field's tag, its number or length, and the place after these.

    For a field of fixed width, only the tag is read.
    """
    tag = data[at]
    at += 1
    if tag >= 0x80:
        tag, at = _varint(data, at - 1)
    if tag & 1:
        # Wire types 1 and 5 have a content of eight and four bytes and no length.
        return tag, 0, at
    value = data[at]
    at += 1
    if value >= 0x80:
        value, at = _varint(data, at - 1)
    return tag, value, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        part = data[at]
        at += 1
        value |= (part & 0x7F) << shift
        if part < 0x80:
            return value, at
        shift += 7


def _skip(tag: int, value: int, at: int) -> int:
    """Return the end of an unknown field."""
    wire = tag & 7
    if wire == _BYTES:
        return at + value
    return at + {_VARINT: 0, _FIXED64: 8, _FIXED32: 4}[wire]


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _after_head(frame: bytes, at: int) -> int:
    """Return the end of the name and the type, with which every datum begins."""
    size = frame[at + 1]
    at += 2
    if size >= 0x80:
        size, at = _varint(frame, at - 1)
    at += size + 1
    while frame[at] >= 0x80:
        at += 1
    return at + 1


def unquote(identifier: str) -> str:
    """Return an identifier without the quotes that ``quote_identifier`` may have added."""
    return identifier[1:-1].replace('""', '"') if identifier.startswith('"') else identifier


def split_name(qualified: str) -> tuple[str, str]:
    """Return schema and table of a name made by ``quote_qualified_identifier``. The first dot outside of quotes separates them."""
    inside = False
    for at, letter in enumerate(qualified):
        if letter == '"':
            inside = not inside
        elif letter == "." and not inside:
            return unquote(qualified[:at]), unquote(qualified[at + 1 :])
    return "", unquote(qualified)
