"""What all change events have: a payload, an operation, a table, and the columns of a row before and after. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

WORDS: Final = {"c": "create", "u": "update", "d": "delete", "r": "read", "t": "truncate", "m": "message"}
"""``op`` → what people call it."""

Kind = Literal["present", "same", "changed", "added", "removed"]
"""``present``: the event has no old row, so that nothing can be said to have changed."""


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column of the row. ``before`` and ``after`` are None on a side that lacks it, and where the value is null."""

    name: str
    before: Any
    after: Any
    kind: Kind


def payload(value: Any) -> Any:
    """The payload of a value that carries its schema; any other value itself."""
    return value["payload"] if isinstance(value, Mapping) and value.keys() == {"schema", "payload"} else value


def is_event(value: Any) -> bool:
    """Whether ``value`` is Debezium's envelope."""
    return isinstance(value, Mapping) and "op" in value and isinstance(value.get("source"), Mapping)


def operation(event: Mapping[str, Any]) -> str:
    """The event's operation as a word."""
    op = str(event["op"])
    return WORDS.get(op, op)


def table_of(event: Mapping[str, Any]) -> str:
    """``schema.table``; empty if the event has none."""
    source = event["source"]
    return ".".join(str(source[part]) for part in ("schema", "table") if source.get(part))


def row_changes(event: Mapping[str, Any]) -> Iterator[ColumnChange]:
    """The columns of an event's row, in the order of the new row."""
    # A created row has no old one, and each of its columns is new.
    before = {} if event["op"] == "c" and event.get("before") is None else event.get("before")
    return changes(before, event.get("after"))


def changes(before: Any, after: Any) -> Iterator[ColumnChange]:
    """The columns of a row; a side that is not a mapping has no row."""
    old = before if isinstance(before, Mapping) else None
    new = after if isinstance(after, Mapping) else None
    for name in dict.fromkeys([*(new or ()), *(old or ())]):
        was, now = (old or {}).get(name), (new or {}).get(name)
        kind: Kind
        if old is None:
            kind = "present"
        elif name not in old:
            kind = "added"
        elif new is None or name not in new:
            kind = "removed"
        else:
            kind = "same" if _equal(was, now) else "changed"
        yield ColumnChange(name, was, now, kind)


def _equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal, also if they have more levels than Python compares."""
    try:
        return bool(one == other)
    except RecursionError:
        pass
    pairs = [(one, other)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            if one.keys() != other.keys():
                return False
            pairs += [(one[name], other[name]) for name in one]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif one != other:
            return False
    return True
