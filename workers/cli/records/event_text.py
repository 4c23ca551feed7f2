"""An event as people read it: what happened to which row, and the columns that differ. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from workers.records.change_event import ColumnChange, is_event, operation, row_changes, table_of
from workers.records.event_view import TOO_DEEP

_DAY: Final = 24 * 60 * 60 * 1000
_STYLES: Final = {"c": "green", "u": "yellow", "d": "red", "r": "blue", "t": "bold red", "m": "magenta"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text and its style."""

    text: str
    style: str = ""


def lines(place: str, timestamp: int, key: Any, value: Any) -> Iterator[Line]:
    """The lines of one record. ``place`` is its topic, partition and offset; ``timestamp`` is in milliseconds."""
    at = _time_of_day(timestamp)
    if value is None:
        yield Line(f"{at} tombstone {_key(key)}  {place}", "dim")
    elif is_event(value):
        lsn = f"  lsn {value['source']['lsn']}" if value["source"].get("lsn") is not None else ""
        yield Line(f"{at} {operation(value)} {table_of(value)} {_key(key)}{lsn}  {place}", _STYLES.get(str(value["op"]), ""))
        yield from map(_column, (change for change in row_changes(value) if change.kind != "same"))
    else:
        yield Line(f"{at} {_key(key)}  {place}", "bold")
        yield Line(f"  {_shown(value)}")


def _time_of_day(timestamp: int) -> str:
    """The time in UTC. A record's timestamp may be beyond the years that ``datetime`` has."""
    seconds, milliseconds = divmod(timestamp % _DAY, 1000)
    minutes, second = divmod(seconds, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{second:02}.{milliseconds:03}"


def _column(change: ColumnChange) -> Line:
    match change.kind:
        case "removed":
            return Line(f"  - {change.name}: {_shown(change.before)}", "red")
        case "added":
            return Line(f"  + {change.name}: {_shown(change.after)}", "green")
        case "changed":
            return Line(f"  ~ {change.name}: {_shown(change.before)} → {_shown(change.after)}", "yellow")
        case _:
            return Line(f"    {change.name}: {_shown(change.after)}")


def _key(key: Any) -> str:
    if isinstance(key, Mapping):
        return " ".join(f"{name}={_shown(value)}" for name, value in key.items())
    return "" if key is None else _shown(key)


def _shown(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return TOO_DEEP
