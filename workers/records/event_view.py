"""An event as people read it: what happened to which row, and each column before and after. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

HIDDEN: Final = "[hidden]"
LONGEST: Final = 200
"""Characters of a value that are shown."""
_WORDS: Final = {"c": "create", "u": "update", "d": "delete", "r": "read", "t": "truncate", "m": "message"}

Change = Literal["same", "changed", "added", "removed"]


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column of the row. ``before`` and ``after`` are JSON; empty on the side that has no row."""

    name: str
    before: str
    after: str
    change: Change


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
        decoded = _payload(orjson.loads(value))
    except orjson.JSONDecodeError:
        return EventView("record", "", shown_key, (), f"{len(value)} bytes that are not JSON")
    if not isinstance(decoded, Mapping):
        return EventView("record", "", shown_key, (), _text(decoded))
    if "op" not in decoded or not isinstance(decoded.get("source"), Mapping):
        # A row without an envelope, such as ExtractNewRecordState writes.
        return EventView("record", "", shown_key, _columns(None, decoded, hidden))
    source = decoded["source"]
    table = ".".join(str(source[part]) for part in ("schema", "table") if source.get(part))
    word = _WORDS.get(str(decoded["op"]), str(decoded["op"]))
    before = decoded.get("before")
    if before is None and decoded["op"] == "c":
        before = {}
    return EventView(word, table, shown_key, _columns(before, decoded.get("after"), hidden))


def _columns(before: Any, after: Any, hidden: re.Pattern[str]) -> Sequence[ColumnView]:
    old = before if isinstance(before, Mapping) else None
    new = after if isinstance(after, Mapping) else None
    names = dict.fromkeys([*(new or ()), *(old or ())])
    return [_column(name, old, new, hidden) for name in names]


def _column(name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, hidden: re.Pattern[str]) -> ColumnView:
    secret = hidden.search(name) is not None
    was, now = (HIDDEN if secret and side and name in side else _text(side[name]) if side and name in side else "" for side in (old, new))
    change: Change
    if old is None:
        # The event has no old row, so that nothing can be said to have changed.
        change = "same"
    elif name not in old:
        change = "added"
    elif new is None or name not in new:
        change = "removed"
    else:
        change = "same" if old[name] == new[name] else "changed"
    return ColumnView(name, was, now, change)


def _key(key: bytes | None, hidden: re.Pattern[str]) -> str:
    if key is None:
        return ""
    try:
        decoded = _payload(orjson.loads(key))
    except orjson.JSONDecodeError:
        return _cut(key.decode(errors="replace"))
    if not isinstance(decoded, Mapping):
        return _text(decoded)
    return ", ".join(f"{name}={HIDDEN if hidden.search(name) else _text(value)}" for name, value in decoded.items())


def _payload(value: Any) -> Any:
    """The payload of a value that carries its schema; any other value itself."""
    return value["payload"] if isinstance(value, Mapping) and value.keys() == {"schema", "payload"} else value


def _text(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"
