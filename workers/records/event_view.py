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
    """What the record says. Values of columns whose name contains a match of ``hidden`` are not shown, also in the key."""
    shown_key = _key(key, hidden)
    if value is None:
        return EventView("tombstone", "", shown_key, ())
    try:
        decoded = payload(orjson.loads(value))
    except orjson.JSONDecodeError:
        return EventView("record", "", shown_key, (), f"{len(value)} bytes that are not JSON")
    if is_event(decoded):
        return EventView(operation(decoded), table_of(decoded), shown_key, _columns(row_changes(decoded), hidden))
    if isinstance(decoded, Mapping):
        # A row without an envelope, such as ExtractNewRecordState writes.
        return EventView("record", "", shown_key, _columns(changes(None, decoded), hidden))
    return EventView("record", "", shown_key, (), _text(decoded))


def _columns(found: Iterable[ColumnChange], hidden: re.Pattern[str]) -> Sequence[ColumnView]:
    return [_column(change, secret=hidden.search(change.name) is not None) for change in found]


def _column(change: ColumnChange, *, secret: bool) -> ColumnView:
    before = "" if change.kind in ("present", "added") else HIDDEN if secret else _text(change.before)
    after = "" if change.kind == "removed" else HIDDEN if secret else _text(change.after)
    return ColumnView(change.name, before, after, change.kind)


def _key(key: bytes | None, hidden: re.Pattern[str]) -> str:
    if key is None:
        return ""
    try:
        decoded = payload(orjson.loads(key))
    except orjson.JSONDecodeError:
        return _cut(key.decode(errors="replace"))
    if not isinstance(decoded, Mapping):
        return _text(decoded)
    return ", ".join(f"{name}={HIDDEN if hidden.search(name) else _text(value)}" for name, value in decoded.items())


def _text(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"
