"""An event as the console shows it: what happened to which row, and each column before and after. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from workers.records.change_event import ColumnChange, Kind, changes, is_event, operation, payload, row_changes, table_of

HIDDEN: Final = "[hidden]"
LONGEST: Final = 200
"""Characters of a value that are shown."""
TOO_DEEP: Final = "JSON of too many levels"
"""What is shown of a value that has more levels than Python can write."""


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column of the row. ``before`` and ``after`` are JSON; empty on the side that has no such column."""

    name: str
    before: str
    after: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class EventView:
    """One record. ``word`` is the operation. ``table`` is empty for other records than change events.

    ``note`` is what is shown in place of columns.
    """

    word: str
    table: str
    key: str
    columns: Sequence[ColumnView]
    note: str = ""


def event_view(key: bytes | None, value: bytes | None, hidden: re.Pattern[str]) -> EventView:
    """What the record says. Values of members whose name contains a match of ``hidden`` are not shown, on any level, also in the key."""
    shown_key = _key(key, hidden)
    if value is None:
        return EventView("tombstone", "", shown_key, ())
    try:
        decoded = payload(orjson.loads(value))
    except orjson.JSONDecodeError:
        return EventView("record", "", shown_key, (), _unreadable(value))
    if is_event(decoded):
        return EventView(operation(decoded), table_of(decoded), shown_key, _columns(row_changes(decoded), hidden))
    if isinstance(decoded, Mapping):
        # A row without an envelope, such as ExtractNewRecordState writes.
        return EventView("record", "", shown_key, _columns(changes(None, decoded), hidden))
    return EventView("record", "", shown_key, (), _text(decoded, hidden))


def _columns(found: Iterable[ColumnChange], hidden: re.Pattern[str]) -> Sequence[ColumnView]:
    return [_column(change, hidden) for change in found]


def _column(change: ColumnChange, hidden: re.Pattern[str]) -> ColumnView:
    before = "" if change.kind in ("present", "added") else _member(change.name, change.before, hidden)
    after = "" if change.kind == "removed" else _member(change.name, change.after, hidden)
    return ColumnView(change.name, before, after, change.kind)


def _key(key: bytes | None, hidden: re.Pattern[str]) -> str:
    if key is None:
        return ""
    try:
        decoded = payload(orjson.loads(key))
    except orjson.JSONDecodeError:
        return _plain_key(key, hidden)
    if not isinstance(decoded, Mapping):
        return _text(decoded, hidden)
    return ", ".join(f"{name}={_member(name, value, hidden)}" for name, value in decoded.items())


def _plain_key(key: bytes, hidden: re.Pattern[str]) -> str:
    """A key of other converters. The text of StringConverter holds the names of columns, as ``Struct{iban=…}``."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return _unreadable(key)
    if not text.isprintable():
        return _unreadable(key)
    return HIDDEN if hidden.search(text) else _cut(text)


def _unreadable(data: bytes) -> str:
    return f"{len(data)} bytes that are not JSON"


def _member(name: str, value: Any, hidden: re.Pattern[str]) -> str:
    return HIDDEN if hidden.search(name) else _text(value, hidden)


def _text(value: Any, hidden: re.Pattern[str]) -> str:
    try:
        return _cut(json.dumps(_masked(value, hidden), ensure_ascii=False))
    except RecursionError:
        return TOO_DEEP


def _masked(value: Any, hidden: re.Pattern[str]) -> Any:
    """``value`` with the values of hidden members replaced on every level, such as in CloudEvents' ``data``."""
    if isinstance(value, Mapping):
        return {name: HIDDEN if hidden.search(name) else _masked(member, hidden) for name, member in value.items()}
    return [_masked(each, hidden) for each in value] if isinstance(value, list) else value


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"
