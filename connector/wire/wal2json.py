"""The output plugin wal2json: its JSON messages are translated into pgoutput's form, which the state machine reads.

The adapter reads both formats, and distinguishes them by the first words of a message. In format 2 (``{"action":"I",…}``) each message is
one object. Format 1 is requested in chunks: the head of a transaction, its changes one by one, ``]}``.

The plugin does not send: changes of a table without replica identity (the server logs a warning); origins; truncates in format 1; NaN and
infinities of float and numeric columns before release 2.6, which it sends as null. It leaves an unchanged TOAST value out of the row, and
sends the old key with every update. It sends all tables of the database, partitions under their own names, and generated columns.

Two facts come only from the catalog, which may be ahead of the stream: whether a missing column was dropped, and whether an update needs
its old row (replica identity FULL).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from connector.catalog.table import CatalogTable
from connector.errors import CdcError, ErrorKind
from connector.types.codec import Column
from connector.types.temporal.calendar import parse_timestamp
from connector.wire.declared_type import modifier_of
from connector.wire.lsn import parse_lsn
from connector.wire.notice import Notice
from connector.wire.pgoutput import BODY, KIND, LSN, UNCHANGED, UNTOLD_IDENTITY, XLOG_DATA, Relation, RelationColumn
from connector.wire.pgoutput_writer import Cells, begin, commit, delete, insert, message, relation, truncate, update

_BYTEA: Final = 17
_DAY_US: Final = 86_400_000_000
_FIXED: Final = frozenset({16, 18, 20, 21, 23, 26, 600, 700, 701, 774, 790, 829, 1082, 1083, 1114, 1184, 1186, 1266, 2950})
"""Built-in types whose values are never stored in a TOAST table, so a row never lacks them for that reason."""
_KINDS: Final = {"insert": "I", "update": "U", "delete": "D", "message": "M", "truncate": "T"}

# Keep numbers as text. Ids and oids are converted to int where they are used.
_decode: Final = json.JSONDecoder(parse_int=str, parse_float=str).decode

TableName = tuple[str, str]
StatedColumn = tuple[str, int, str, bool | None]
"""A column in a message: name, type's oid, declared type, and whether it may be null (None if the message does not say)."""


class _CatalogNeededError(Exception):
    """The description of ``table`` is needed to translate a message."""

    def __init__(self, table: TableName) -> None:
        super().__init__(table)
        self.table = table


@dataclass(slots=True)
class _Change:
    """One change, in either format. ``new`` and ``old`` are values by column name; None if not sent."""

    action: str
    table: TableName
    stated: tuple[StatedColumn, ...]
    new: dict[str, object] | None
    old: dict[str, object] | None
    old_types: dict[str, int]


@dataclass(slots=True)
class _Table:
    """A table, as the stream knows it: ``columns`` are (name, type's oid), in order."""

    relation_id: bytes
    columns: tuple[tuple[str, int], ...]
    stated: tuple[StatedColumn, ...] | None
    """The columns as a complete change describes them; a change that differs needs a new RELATION message. None without a complete
    change."""
    facts: dict[str, StatedColumn]
    """The latest description of each column in messages."""
    full: bool = False
    """Whether the replica identity is FULL, as read from the catalog when ``identities`` last grew."""
    identities: set[frozenset[str]] = field(default_factory=set)
    """The sets of column names that old rows had since the last RELATION message."""


class Wal2Json:
    """Translates frames with wal2json's messages into frames with pgoutput's.

    The plugin sends no oids of relations, so this class numbers the relations. ``encoding`` is Python's name of the database's encoding:
    the plugin does not convert texts to the client's encoding.
    """

    def __init__(self, encoding: str = "utf-8") -> None:
        self._encoding = encoding
        self._tables: dict[TableName, _Table] = {}
        self._catalog: dict[TableName, CatalogTable | None] = {}
        """The tables that were read from the catalog for this burst."""
        self._commit_us = 0
        self.wanted: TableName | None = None
        self.notices: list[Notice] = []

    def learn(self, table: CatalogTable | None) -> None:
        """Take the description of ``wanted``; see :class:`connector.wire.output_plugin.Adapter`."""
        if self.wanted is None:
            raise RuntimeError("wal2json asked for no table")
        self._catalog[self.wanted] = table

    def translate(self, frames: Sequence[bytes], out: list[bytes]) -> int:
        """Append frames in pgoutput's form; see :class:`connector.wire.output_plugin.Adapter`."""
        if self.wanted is None:
            # The catalog may have changed since the last burst.
            self._catalog.clear()
        self.wanted = None
        for number, frame in enumerate(frames):
            if frame[KIND] != XLOG_DATA:
                out.append(frame)
                continue
            try:
                self._message(frame, out)
            except _CatalogNeededError as needed:
                self.wanted = needed.table
                return number
            except (ValueError, KeyError, TypeError) as error:
                raise CdcError(
                    ErrorKind.PROTOCOL,
                    f"A replication message is not in a known format of wal2json ({type(error).__name__})",
                    "Check slot.stream.params (pretty-print must be off, format 1 needs write-in-chunks), or set plugin.name=pgoutput",
                ) from error
        return len(frames)

    def _message(self, frame: bytes, out: list[bytes]) -> None:
        text = frame[BODY:].decode(self._encoding, "surrogateescape").strip().removeprefix(",")
        head = frame[:BODY]
        if text.startswith('{"xid"') and text.endswith("["):
            opened = _decode(text + "]}")
            self._commit_us = _micros(opened["timestamp"])
            out.append(head + begin(0, self._commit_us, int(opened["xid"])))
            return
        if text == "]}":
            out.append(head + commit(0, int.from_bytes(frame[LSN], "big"), self._commit_us))
            return
        said = _decode(text)
        action = said.get("action")
        if action == "B":
            self._commit_us = _micros(said["timestamp"])
            out.append(head + begin(parse_lsn(said["lsn"]) if "lsn" in said else 0, self._commit_us, int(said["xid"])))
        elif action == "C":
            out.append(head + commit(0, int.from_bytes(frame[LSN], "big"), self._commit_us))
        elif action == "M":
            self._emitted(said, head, out)
        elif action is not None:
            self._change(_second(said), head, out)
        elif said.get("kind", "message") != "message":
            self._change(_first(said), head, out)
        else:
            # A message outside of transactions is inside a list.
            [emitted] = said.get("change", [said])
            if emitted["kind"] != "message":
                raise ValueError("a transaction in one piece")
            self._emitted(emitted, head, out)

    def _emitted(self, said: dict[str, Any], head: bytes, out: list[bytes]) -> None:
        lsn = int.from_bytes(head[LSN], "big")
        # If the content is not text, its bytes come through unchanged, up to the first zero byte, where the plugin stops.
        content = said["content"].encode(self._encoding, "surrogateescape")
        out.append(head + message(said["transactional"] is True, lsn, said["prefix"], content))

    def _change(self, change: _Change, head: bytes, out: list[bytes]) -> None:
        if change.action == "I":
            table = self._whole(change, head, out)
            values = (change.new or {}).values()
            out.append(head + insert(table.relation_id, [_text(value, oid) for value, (_, oid) in zip(values, table.columns, strict=True)]))
        elif change.action == "U":
            self._updated(change, head, out)
        elif change.action == "D":
            table = self._table_of_old(change, head, out)
            out.append(head + delete(table.relation_id, self._old(change, table)))
        elif change.action == "T":
            out.append(head + truncate(self._table_of_old(change, head, out).relation_id))
        else:
            raise ValueError(change.action)

    def _updated(self, change: _Change, head: bytes, out: list[bytes]) -> None:
        table = self._tables.get(change.table)
        if table is None or change.stated != table.stated:
            table = self._partial(change, head, out)
        new = change.new or {}
        old = change.old
        cells: Cells = [
            _text(new[name], oid) if name in new else _text(old[name], oid) if old and old.get(name) is not None else UNCHANGED
            for name, oid in table.columns
        ]
        before = None
        if old is not None:
            identity = frozenset(old)
            if identity not in table.identities:
                described = self._described(change.table)
                table.full = described is not None and described.identity == "f"
                table.identities.add(identity)
            if table.full or any(name in new and new[name] != value for name, value in old.items()):
                before = self._old(change, table)
        out.append(head + update(table.relation_id, before, cells))

    def _old(self, change: _Change, table: _Table) -> Cells:
        old = change.old or {}
        return [_text(old.get(name), oid) for name, oid in table.columns]

    def _whole(self, change: _Change, head: bytes, out: list[bytes]) -> _Table:
        """Return the table of a change that contains all its columns."""
        known = self._tables.get(change.table)
        if known is not None and known.stated == change.stated:
            return known
        facts = {column[0]: column for column in change.stated}
        return self._describe(change.table, [_published(column) for column in change.stated], change.stated, facts, head, out)

    def _partial(self, change: _Change, head: bytes, out: list[bytes]) -> _Table:
        """Return the table of an update whose row may lack columns: unchanged TOAST values, and columns that were dropped."""
        known = self._tables.get(change.table)
        described = self._described(change.table)
        there = {column.name: column for column in described.columns} if described else {}
        stated = {column[0]: column for column in change.stated}
        facts = {**(known.facts if known else {}), **stated}
        columns = []
        for name, oid in known.columns if known else [(column.name, column.type_oid) for column in there.values()]:
            if name in stated or (oid not in _FIXED and (name in there or described is None)):
                columns.append(_published(facts[name]) if name in facts else _unsent(name, oid, there.get(name)))
                stated.pop(name, None)
            else:
                facts.pop(name, None)
        columns += [_published(column) for column in stated.values()]
        complete = change.stated if [column.name for column in columns] == [column[0] for column in change.stated] else None
        if known is not None and facts == known.facts and tuple((column.name, column.type_oid) for column in columns) == known.columns:
            known.stated = complete or known.stated
            return known
        return self._describe(change.table, columns, complete, facts, head, out)

    def _table_of_old(self, change: _Change, head: bytes, out: list[bytes]) -> _Table:
        """Return the table of a change that contains at most the columns of the replica identity."""
        known = self._tables.get(change.table)
        types = dict(known.columns) if known else {}
        if known is not None and all(types.get(name) == oid for name, oid in change.old_types.items()):
            return known
        described = self._described(change.table)
        columns = [_unsent(column.name, column.type_oid, column) for column in described.columns] if described else []
        names = {column.name for column in columns}
        columns += [_unsent(name, oid, None) for name, oid in change.old_types.items() if name not in names]
        return self._describe(change.table, columns, None, {}, head, out)

    def _describe(
        self,
        name: TableName,
        columns: Sequence[RelationColumn],
        stated: tuple[StatedColumn, ...] | None,
        facts: dict[str, StatedColumn],
        head: bytes,
        out: list[bytes],
    ) -> _Table:
        """Append a RELATION message for the table."""
        known = self._tables.get(name)
        relation_id = known.relation_id if known else (len(self._tables) + 1).to_bytes(4, "big")
        out.append(head + relation(Relation(int.from_bytes(relation_id, "big"), *name, UNTOLD_IDENTITY, tuple(columns))))
        table = _Table(relation_id, tuple((column.name, column.type_oid) for column in columns), stated, facts)
        self._tables[name] = table
        return table

    def _described(self, name: TableName) -> CatalogTable | None:
        if name not in self._catalog:
            raise _CatalogNeededError(name)
        return self._catalog[name]


def _published(stated: StatedColumn) -> RelationColumn:
    name, oid, declared, optional = stated
    return RelationColumn(name, oid, modifier_of(declared), False, None if optional is None else not optional)


def _unsent(name: str, oid: int, column: Column | None) -> RelationColumn:
    """Describe a column that no message has described."""
    return RelationColumn(name, oid, column.modifier if column is not None and column.type_oid == oid else -1, False, None)


def _second(said: dict[str, Any]) -> _Change:
    """Read a change of format 2."""
    columns, identity = said.get("columns"), said.get("identity")
    return _Change(
        said["action"],
        (said["schema"], said["table"]),
        tuple((c["name"], int(c["typeoid"]), c["type"], c.get("optional")) for c in columns) if columns else (),
        {c["name"]: c["value"] for c in columns} if columns is not None else None,
        {c["name"]: c["value"] for c in identity} if identity is not None else None,
        {c["name"]: int(c["typeoid"]) for c in identity} if identity is not None else {},
    )


def _first(said: dict[str, Any]) -> _Change:
    """Read a change of format 1."""
    names, keys = said.get("columnnames"), said.get("oldkeys")
    stated: tuple[StatedColumn, ...] = ()
    if names:
        optional = said.get("columnoptionals") or [None] * len(names)
        stated = tuple(zip(names, map(int, said["columntypeoids"]), said["columntypes"], optional, strict=True))
    return _Change(
        _KINDS[said["kind"]],
        (said["schema"], said["table"]),
        stated,
        dict(zip(names, said["columnvalues"], strict=True)) if names is not None else None,
        dict(zip(keys["keynames"], keys["keyvalues"], strict=True)) if keys else None,
        dict(zip(keys["keynames"], map(int, keys["keytypeoids"]), strict=True)) if keys else {},
    )


def _text(value: object, oid: int) -> bytes | None:
    """Return a value as PostgreSQL prints it.

    The plugin quotes everything but numbers and booleans, and omits the first two characters of a bytea.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return (b"\\x" if oid == _BYTEA else b"") + _utf8(value)
    if isinstance(value, bool):
        return b"t" if value else b"f"
    raise TypeError("a value that is neither text nor a number")


def _utf8(text: str) -> bytes:
    """Return a text's bytes. Bytes that are not in the database's encoding (SQL_ASCII does not check them) become U+FFFD, as in Java."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode(errors="replace").encode()


def _micros(timestamp: str) -> int:
    """Return a commit time in µs since 1970; the connection's time zone is UTC."""
    days, rest = parse_timestamp(timestamp.encode().removesuffix(b"+00"))
    return days * _DAY_US + rest
