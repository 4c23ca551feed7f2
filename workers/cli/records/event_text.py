"""An event as people read it: what happened to which row, and the columns that differ. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

_WORDS: Final = {"c": "create", "u": "update", "d": "delete", "r": "read", "t": "truncate", "m": "message"}
_STYLES: Final = {"c": "green", "u": "yellow", "d": "red", "r": "blue", "t": "bold red", "m": "magenta"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text and its style."""

    text: str
    style: str = ""


def is_event(value: Any) -> bool:
    """Whether ``value`` is Debezium's envelope."""
    return isinstance(value, Mapping) and "op" in value and ("source" in value or "after" in value or "before" in value)


def lines(place: str, timestamp: int, key: Any, value: Any) -> Iterator[Line]:
    """The lines of one record. ``place`` is its topic, partition and offset; ``timestamp`` is in milliseconds."""
    at = f"{datetime.fromtimestamp(timestamp / 1000, UTC):%H:%M:%S.%f}"[:-3]
    if value is None:
        yield Line(f"{at} tombstone {_key(key)}  {place}", "dim")
    elif is_event(value):
        op = str(value["op"])
        source = value.get("source") or {}
        table = ".".join(str(source[name]) for name in ("schema", "table") if source.get(name))
        lsn = f"  lsn {source['lsn']}" if source.get("lsn") is not None else ""
        yield Line(f"{at} {_WORDS.get(op, op)} {table} {_key(key)}{lsn}  {place}", _STYLES.get(op, ""))
        yield from differences(value.get("before"), value.get("after"))
    else:
        yield Line(f"{at} {_key(key)}  {place}", "bold")
        yield Line(f"  {_shown(value)}")


def differences(before: Any, after: Any) -> Iterator[Line]:
    """The columns of a row that came, went or changed. An update without ``before`` shows the whole row."""
    if not isinstance(after, Mapping):
        for name, old in before.items() if isinstance(before, Mapping) else ():
            yield Line(f"  - {name}: {_shown(old)}", "red")
    elif not isinstance(before, Mapping):
        for name, new in after.items():
            yield Line(f"  + {name}: {_shown(new)}", "green")
    else:
        for name, new in after.items():
            old = before.get(name)
            if old != new or name not in before:
                yield Line(f"  ~ {name}: {_shown(old)} → {_shown(new)}", "yellow")


def _key(key: Any) -> str:
    if isinstance(key, Mapping):
        return " ".join(f"{name}={_shown(value)}" for name, value in key.items())
    return "" if key is None else _shown(key)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
