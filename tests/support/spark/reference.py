"""The tables that the topics describe, computed in plain Python and compared with the source. Spark's results must equal them.

It knows no order but a partition's, and takes every event once however often it came:

- Repeats begin at an earlier record and go on from there, so that first occurrences are in the order of the log. The same change must
  come again with the same contents.
- A value that was not sent is the last one that was; of a row that came from another key, that key's.
- A truncate ends what has a smaller LSN.
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import psycopg

from connector.io.postgres.catalog import read_table, read_types
from connector.types.codec import TypeSettings
from connector.types.registry import base_type
from tests.support.event_value import decoded, parsed
from tests.support.kept_value import agree, kept, reported
from tests.support.spark.workload_draft import Table
from tests.support.spark.workload_tables import Column
from tests.support.topics import Raw

Json = Mapping[str, Any]
Row = tuple[str | None, ...]

PRINTED: Final = "-c datestyle=ISO -c timezone=UTC -c intervalstyle=postgres -c extra_float_digits=3 -c bytea_output=hex -c lc_monetary=C"
MODES: Final = TypeSettings()
UNAVAILABLE: Final = "__debezium_unavailable_value"
_ENCODED: Final = base64.b64encode(UNAVAILABLE.encode()).decode()
_UUID: Final = str(uuid.UUID(bytes=hashlib.md5(UNAVAILABLE.encode(), usedforsecurity=False).digest(), version=3))
_STANDS: Final[tuple[object, ...]] = (
    *(UNAVAILABLE, _ENCODED, [UNAVAILABLE], [_ENCODED], [_UUID], list(UNAVAILABLE.encode())),
    json.dumps({UNAVAILABLE: UNAVAILABLE}, separators=(",", ":")),
)
"""The placeholder of a value that the server did not send again, for the column's schema."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A column of the source now: the names that it ever had, the newest first, and its type below all domains."""

    names: tuple[str, ...]
    type: str
    modifier: int
    default: str | None


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a row. ``fields`` are the schemas of ``after``'s columns; ``former`` is the key that the row had before."""

    op: str
    lsn: int
    key: bytes
    after: Json | None
    fields: Mapping[str, Json]
    former: bytes | None
    run: str


class Topic:
    """The events of one table, each once, key by key in the order of the log."""

    def __init__(self, records: Sequence[Raw]) -> None:
        self.faults: list[str] = []
        self.repeats = 0
        self.schemas: dict[bytes, Mapping[str, Json]] = {}
        self._histories: dict[bytes, list[Event]] = {}
        self._places: dict[tuple[bytes, int, str], int] = {}
        self._keyless: dict[str, Counter[tuple[int, str]]] = {}
        self._shown: dict[tuple[int, str], Event] = {}
        self._truncated = -1
        last: dict[bytes, Event] = {}
        for record in records:
            if record.value is None:
                continue
            event = self._event(record)
            if event.op == "t":
                self._truncated = max(self._truncated, event.lsn)
            elif record.key is None:
                self._take_keyless(event)
            else:
                last[event.key] = event
                self._take(event)
        for key, event in last.items():
            newest = self._histories[key][-1]
            if (newest.lsn, newest.op) != (event.lsn, event.op):
                self.faults.append(f"{key.decode()}: the last record is {event.op} at {event.lsn}, the newest {newest.op} at {newest.lsn}")

    def rows(self, columns: Sequence[Typed]) -> Counter[Row]:
        """The rows that there are in the end, as the server would print what the events keep of them."""
        found: Counter[Row] = Counter()
        for key, history in self._histories.items():
            if history[-1].op != "d" and history[-1].lsn > self._truncated:
                found[tuple(self._text(key, len(history) - 1, column) for column in columns)] += 1
        for shown, times in self._times().items():
            event = self._shown[shown]
            if event.lsn > self._truncated:
                found[tuple(_cell(event, column)[1] for column in columns)] += times
        return found

    def _times(self) -> Counter[tuple[int, str]]:
        """How often each row of a table without a key is there: as often as it came in one run of the connector at most."""
        times: Counter[tuple[int, str]] = Counter()
        for counted in self._keyless.values():
            times |= counted
        return times

    def _event(self, record: Raw) -> Event:
        assert record.value is not None
        schema, _, payload = record.value.partition(b',"payload":{"before"')
        fields = self.schemas.get(schema)
        if fields is None:
            envelope = parsed(schema + b"}")["schema"]
            after = next(field for field in envelope["fields"] if field["field"] == "after")
            fields = self.schemas[schema] = {field["field"]: field for field in after["fields"]}
        body = parsed(b'{"before"' + payload[:-1])
        headers = dict(record.headers)
        former = headers.get("__debezium.oldkey")
        key = b"" if record.key is None else _canonical(json.loads(record.key)["payload"])
        return Event(
            op=body["op"],
            lsn=body["source"]["lsn"],
            key=key,
            after=body["after"],
            fields=fields,
            former=None if former is None else _canonical(_payload(json.loads(former))),
            run=(headers["__debezium.context.runId"] or b"").decode(),
        )

    def _take(self, event: Event) -> None:
        history = self._histories.setdefault(event.key, [])
        at = self._places.setdefault((event.key, event.lsn, event.op), len(history))
        if at == len(history):
            history.append(event)
            return
        self.repeats += 1
        if (history[at].after, history[at].former) != (event.after, event.former):
            self.faults.append(f"{event.key.decode()}: {event.op} at {event.lsn} came again with other contents")

    def _take_keyless(self, event: Event) -> None:
        shown = (event.lsn, json.dumps(event.after, default=str))
        self._keyless.setdefault(event.run, Counter())[shown] += 1
        self.repeats += shown in self._shown
        self._shown[shown] = event

    def _text(self, key: bytes, at: int, column: Typed) -> str | None:
        """The newest value that was sent, back to the row's beginning, and beyond it where the row had another key."""
        history = self._histories[key]
        while at >= 0 and history[at].op != "d":
            event = history[at]
            sent, text = _cell(event, column)
            if sent:
                return text
            if event.former is not None:
                return self._text(event.former, self._places[event.former, event.lsn, "d"] - 1, column)
            at -= 1
        self.faults.append(f"{key.decode()}: {column.names[0]} was never sent")
        return None


def _cell(event: Event, column: Typed) -> tuple[bool, str | None]:
    """Whether the event has the column's value, and the value. If the event is older than the column, it is the column's default."""
    assert event.after is not None
    name = next((name for name in column.names if name in event.after), None)
    if name is None:
        return True, column.default
    value = event.after[name]
    if value in _STANDS:
        return False, None
    text = decoded(event.fields[name], value)
    return True, None if text is None else reported(column.type, column.modifier, MODES, text)


def _canonical(payload: object) -> bytes:
    return json.dumps(payload, sort_keys=True, ensure_ascii=False).encode()


def _payload(value: Any) -> Any:
    return value["payload"] if isinstance(value, dict) and value.keys() == {"schema", "payload"} else value


async def source_columns(dsn: str, table: Table) -> list[Typed]:
    """The table's columns as the catalog has them now, with what the workload knows of their past."""
    known: dict[str, Column] = {column.name: column for column in table.columns}
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        types, catalog = await read_types(connection), await read_table(connection, "public", table.name)
    assert catalog is not None
    found = []
    for column in catalog.columns:
        info, modifier = base_type(column, types)
        assert info is not None
        name = f"{info.name[1:]}[]" if info.name.startswith("_") else info.name
        past = known.get(column.name)
        former = () if past is None else past.former
        found.append(Typed((column.name, *reversed(former)), name, modifier, None if past is None else past.default))
    return found


def source_rows(dsn: str, table: str, columns: Sequence[Typed]) -> Counter[Row]:
    """The rows of the source, as far as the events' form keeps them."""
    names = ", ".join(f'"{column.names[0]}"' for column in columns)
    found: Counter[Row] = Counter()
    query = f"COPY (SELECT {names} FROM {table}) TO STDOUT".encode()
    with psycopg.connect(dsn, autocommit=True, options=PRINTED) as connection, connection.cursor().copy(query) as copy:
        for row in copy.rows():
            cells = zip(columns, row, strict=True)
            found[tuple(None if text is None else kept(column.type, column.modifier, MODES, text) for column, text in cells)] += 1
    return found


def differences(columns: Sequence[Typed], topic: Counter[Row], source: Counter[Row]) -> list[str]:
    """What differs, at most ten rows of each side; equal values that are written differently count as equal. Long texts are cut."""
    surplus, missing = topic - source, source - topic
    for row in list(surplus):
        twin = next((other for other in missing if _alike(columns, row, other)), None)
        if twin is not None:
            times = min(surplus[row], missing[twin])
            surplus[row] -= times
            missing[twin] -= times
    found = []
    sides = (("topic", +surplus, +missing), ("source", +missing, +surplus))
    for side, own, others in sides:
        for row in list(own.elements())[:10]:
            # The first column is of the key, where there is one.
            twin = next((other for other in others if other[0] == row[0]), (None,) * len(row))
            cells = [
                f"{column.names[0]} {column.type} {_cut(cell)}"
                for column, cell, other in zip(columns, row, twin, strict=True)
                if cell != other
            ]
            found.append(f"{side} only, {_cut(row[0])}: {', '.join(cells)}")
    return found


def _cut(text: str | None) -> str:
    return "NULL" if text is None else repr(text if len(text) <= 60 else f"{text[:40]}… ({len(text)})")


def _alike(columns: Sequence[Typed], one: Row, other: Row) -> bool:
    return all(
        (left is None and right is None) or (left is not None and right is not None and _same(column, left, right))
        for column, left, right in zip(columns, one, other, strict=True)
    )


def _same(column: Typed, one: str, other: str) -> bool:
    if column.type == "numeric":
        # Rows of before a wider scale keep their digits in the events.
        return Decimal(one) == Decimal(other)
    return agree(column.type, column.modifier, MODES, one, other)
