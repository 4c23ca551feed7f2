"""What both connectors sent, without what differs from run to run, and how it differs."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests.support.recording import is_notification, scrub_notification

PROCESSING: Final = re.compile(r"ts_ms|ts_us|ts_ns")
ADDED: Final = re.compile(r".*(?:ts_ms|sequence|_lsn|_L)|L|lsn")
"""Names under which transforms show times and positions elsewhere."""
UUID: Final = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?=-(?:open|close))")
WINDOW: Final = re.compile(rb'(WindowTimestamp\\*": \\*")[^"\\]+')
MESSAGE: Final = re.compile(rb"io\.debezium\.connector\.postgresql\.LogicalDecodingMessageMonitor\$LogicalDecodingMessageId@[0-9a-f]+")
"""Debezium prints the address of an object where a data collection's name belongs (docs/differences.md)."""
VARYING: Final = re.compile(rb'"(?:ts_ms|ts_us|ts_ns|lsn|txId)":-?\d+|"sequence":"(?:[^"\\]|\\.)*"')
UNAVAILABLE: Final = re.compile(r"__debezium_unavailable_value|X19kZWJleml1bV9|\[95, 95, 100, 101, 98")
"""The placeholder as text, bytes and numbers."""
COUNTS: Final = frozenset({"chunk_index", "total_chunks", "total_rows"})
"""What Debezium 3.7 has of a table in notifications, because it counts the rows beforehand."""
ABSENT: Final = "<absent>"


Reads = Literal["in place", "apart", "last"]


@dataclass(frozen=True, slots=True)
class Record:
    """A record of Kafka, as it came."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """How two results are compared.

    ``order``: within each topic, within each key (a record that came again counts once), or not at all. ``reads``: rows that a
    snapshot read are compared in their place, as a set apart from the others, or, where changes may overtake them, only by each
    key's last row. ``partitions``: the partition of each record with a key counts.
    ``sequences``: what depends on a connector's own writes and restarts counts too, such as numbers within transactions. ``exact``:
    the bytes count too, where no transform may have moved a time or a position. ``read_keys``: the values in the keys of rows that a
    snapshot read count, which they cannot where a filter leaves out a column of the key (docs/differences.md). ``edges``: which rows
    are the first and last of a snapshot counts, which it cannot where several threads read. ``complete``: the number of records counts.
    """

    order: Literal["topic", "key", "none"] = "topic"
    reads: Reads = "in place"
    partitions: bool = False
    sequences: bool = True
    exact: bool = True
    read_keys: bool = True
    edges: bool = True
    complete: bool = True
    ignore: str = r"heartbeat"


@dataclass(slots=True)
class Parsed:
    """A record as it is compared. ``row`` is the payload of its value."""

    parts: dict[str, Any]
    exact: tuple[bytes, bytes]
    row: dict[str, Any] = field(default_factory=dict)

    @property
    def operation(self) -> str:
        return str(self.row.get("op", self.row.get("__op")))

    def text(self, part: str) -> str:
        return json.dumps(self.parts[part], sort_keys=True, ensure_ascii=False)


def shown(record: Record, tag: str) -> str:
    """A line to read: without schemas."""
    parts = [record.topic, str(record.partition)]
    for data in (record.key, record.value):
        text = "null" if data is None else data.decode(errors="backslashreplace")
        try:
            found = json.loads(text)
        except ValueError:
            found = text
        if isinstance(found, dict) and found.keys() == {"schema", "payload"}:
            found = found["payload"]
        parts.append(json.dumps(found, ensure_ascii=False))
    return " ".join(parts).replace(tag, "PREFIX")


def compare(real: Sequence[Record], own: Sequence[Record], tags: tuple[str, str], rules: Rules) -> list[str]:
    """The differences, for people to read; empty when there are none. ``tags``: the prefixes of names on both sides."""
    topics: dict[str, tuple[list[Parsed], list[Parsed]]] = defaultdict(lambda: ([], []))
    for side, (records, tag) in enumerate(zip((real, own), tags, strict=True)):
        for record in records:
            topic = record.topic.replace(tag, "PREFIX")
            if not re.search(rules.ignore, topic):
                topics[topic][side].append(_parse(record, tag, rules))
    found: list[str] = []
    for topic in sorted(topics):
        left, right = topics[topic]
        for name, one, other in _groups(left, right, rules):
            found += _differences(topic + name, one, other, rules)
    return found


def _groups(left: list[Parsed], right: list[Parsed], rules: Rules) -> Iterator[tuple[str, list[Parsed], list[Parsed]]]:
    if rules.reads == "last":
        yield " last", _last(left), _last(right)
    if rules.reads == "apart":
        yield " read", sorted(_read(left, reads=True), key=_sorting), sorted(_read(right, reads=True), key=_sorting)
    if rules.reads != "in place":
        left, right = _read(left, reads=False), _read(right, reads=False)
    if rules.order == "none":
        left, right = sorted(left, key=_sorting), sorted(right, key=_sorting)
    elif rules.order == "key":
        left, right = (sorted(_once(side), key=lambda record: record.text("key")) for side in (left, right))
    elif rules.partitions:
        # Kafka keeps the order of a key only; records without a key are in no order.
        left, right = (sorted(side, key=_of_key) for side in (left, right))
    yield "", left, right


def _of_key(record: Parsed) -> str:
    return record.text("key") if record.parts["key"] is not None else "~" + record.text("value")


def _sorting(record: Parsed) -> str:
    return record.text("key") + record.text("value")


def _last(records: list[Parsed]) -> list[Parsed]:
    """Each key's last row, whatever brought it; a truncation forgets all keys."""
    rows: dict[str, Any] = {}
    for record in records:
        if record.operation == "t":
            rows.clear()
        elif "after" in record.row and record.parts["key"] is not None:
            key = record.text("key")
            rows[key] = _completed(record.row["after"], rows.get(key))
    return [Parsed({"key": key, "value": row}, (b"", b"")) for key, row in sorted(rows.items())]


def _completed(row: Any, before: Any) -> Any:
    """With the former values in the place of those that the server did not send."""
    if not isinstance(row, dict) or not isinstance(before, dict):
        return row
    return {name: before.get(name) if UNAVAILABLE.search(json.dumps(part)) else part for name, part in row.items()}


def _read(records: list[Parsed], *, reads: bool) -> list[Parsed]:
    return [record for record in records if (record.operation == "r") is reads]


def _once(records: list[Parsed]) -> list[Parsed]:
    """Without what a restart sent again. Tombstones count with the record before them."""
    seen: set[str] = set()
    kept, before = [], ""
    for record in records:
        text = record.text("key") + record.text("value")
        if record.parts["value"] is None:
            text += before
        before = text
        if text not in seen:
            seen.add(text)
            kept.append(record)
    return kept


def _differences(topic: str, left: list[Parsed], right: list[Parsed], rules: Rules) -> list[str]:
    found: list[str] = []
    kinds: set[tuple[str, ...]] = set()
    count = 0
    if rules.complete and len(left) != len(right):
        found.append(f"{topic}: real {len(left)} records {_counts(left)}, ours {len(right)} {_counts(right)}")
    for number, (one, other) in enumerate(zip(left, right, strict=False)):
        if not (differing := list(_pairs(one, other, rules))):
            continue
        count += 1
        kind = tuple(name for name, _, _ in differing[:3])
        if kind not in kinds and len(kinds) < 4:
            kinds.add(kind)
            lines = (f"{name}: real={str(a)[:250]!r} ours={str(b)[:250]!r}" for name, a, b in differing[:5])
            found.append(f"{topic} #{number} op={one.operation}: " + "\n      ".join(lines))
    if count:
        found.append(f"{topic}: {count} of {len(left)} records differ")
    return found


def _counts(records: Sequence[Parsed]) -> dict[str, int]:
    return dict(Counter("tombstone" if record.parts["value"] is None else record.operation for record in records))


def _pairs(one: Parsed, other: Parsed, rules: Rules) -> Iterator[tuple[str, Any, Any]]:
    equal, exact = True, rules.exact
    any_key = one.operation == "r" and not rules.read_keys
    for part in one.parts:
        left, right = dict(_flat(one.parts[part], part)), dict(_flat(other.parts[part], part))
        for name in {**left, **right}:
            a, b = left.get(name, ABSENT), right.get(name, ABSENT)
            if a == b and type(a) is type(b):
                continue
            if any_key and part == "key" and "/schema/" not in name and ABSENT not in (a, b):
                exact = False
            else:
                equal = False
                yield name, a, b
        if equal and list(left) != list(right):
            equal = False
            yield f"{part}: order of members", list(left), list(right)
    if equal and exact and one.exact != other.exact:
        yield "bytes", *_around(one.exact, other.exact)


def _around(left: tuple[bytes, bytes], right: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    one, other = (left[0], right[0]) if left[0] != right[0] else (left[1], right[1])
    first = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[max(0, first - 60) : first + 60], other[max(0, first - 60) : first + 60]


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        if "field" in value and "type" in value:
            path += f"{{{value['field']}}}"
        for name, part in value.items():
            yield from _flat(part, f"{path}/{name}")
    elif isinstance(value, list) and value:
        for number, part in enumerate(value):
            yield from _flat(part, f"{path}[{part['field'] if isinstance(part, dict) and 'field' in part else number}]")
    else:
        yield path, value


def _parse(record: Record, tag: str, rules: Rules) -> Parsed:
    key, value = (_decode(data, tag, rules) for data in (record.key, record.value))
    loose = is_notification(value)
    if loose:
        key, value = scrub_notification(key), _in_order(scrub_notification(value))
    if isinstance(key, dict) and key.get("payload") == {}:
        # Ours is no key (docs/differences.md).
        key = None
    headers = [
        (name, "VARYING" if content is not None and name.endswith(("runId", "ts_ms", "LL", "lsn")) else _decode(content, tag, rules))
        for name, content in record.headers
    ]
    parts = {"key": key, "value": value, "headers": headers}
    if rules.partitions:
        parts["partition"] = record.partition if key is not None else None
    row = value.get("payload", value) if isinstance(value, dict) else {}
    if isinstance(row, dict) and row.get("op") == "m" and isinstance(row.get("transaction"), dict):
        # Each message is the first one to Debezium (docs/differences.md).
        row["transaction"]["data_collection_order"] = 1
        loose = True
    exact = (b"", b"")
    # Logical messages are counted apart (docs/differences.md).
    if rules.exact and not loose and b'":"LOGICAL_DECODING_MESSAGE"' not in _replaced(record.value or b"", tag):
        exact = (_exact(record.key if key is not None else None, tag), _exact(record.value, tag))
    return Parsed(parts, exact, row if isinstance(row, dict) else {})


def _in_order(notification: Any) -> Any:
    """With sorted data, whose members have another order in each Java process, and without counts (docs/differences.md)."""
    payload = notification.get("payload", notification)
    if data := payload["additional_data"]:
        payload["additional_data"] = {name: data[name] for name in sorted(data) if name not in COUNTS}
    return notification


def _exact(data: bytes | None, tag: str) -> bytes:
    return VARYING.sub(b"VARYING", _replaced(data or b"", tag))


def _replaced(data: bytes, tag: str) -> bytes:
    data = UUID.sub(b"UUID", MESSAGE.sub(b"LOGICAL_DECODING_MESSAGE", data.replace(tag.encode(), b"PREFIX")))
    return WINDOW.sub(rb"\1INSTANT", data)


def _decode(data: bytes | None, tag: str, rules: Rules) -> Any:
    if data is None:
        return None
    data = _replaced(data, tag)
    try:
        # 1.0 is not 1.
        return _scrub(json.loads(data, parse_float=lambda text: f"<number {text}>"), "", rules)
    except ValueError:
        return {"raw": data.decode(errors="backslashreplace")}


def _scrub(value: Any, parent: str, rules: Rules) -> Any:
    """Replace times of processing, and the positions that a snapshot chose, by their types."""
    if isinstance(value, list):
        return [_scrub(part, parent, rules) for part in value]
    if not isinstance(value, dict):
        return value
    source = parent == "source"
    # A logical message outside of transactions has the time of what was read before it, which may be the snapshot.
    varies = source and (str(value.get("snapshot")) not in {"false", "None"} or value.get("txId") is None)
    cleaned: dict[str, Any] = {}
    for name, part in value.items():
        kind = f"<{type(part).__name__}>"
        if source and name == "snapshot" and not rules.edges and varies and part != "incremental":
            cleaned[name] = "true"
        elif name == "transaction" and part and not rules.sequences:
            cleaned[name] = kind
        elif part is None or isinstance(part, dict | list):
            cleaned[name] = _scrub(part, name, rules)
        elif source and name == "sequence":
            # The first member is the last commit that this connector saw.
            hidden = re.sub(r"\d+", "N", part) if varies or part.startswith("[null") else part
            cleaned[name] = hidden if rules.sequences else kind
        elif source:
            cleaned[name] = kind if varies and (PROCESSING.fullmatch(name) or name in {"lsn", "txId"}) else part
        elif PROCESSING.fullmatch(name) or (ADDED.fullmatch(name) and "op" not in value):
            cleaned[name] = kind
        else:
            cleaned[name] = part
    if isinstance(counts := cleaned.get("data_collections"), list):
        # Debezium counts each logical message apart (docs/differences.md).
        cleaned["data_collections"] = [part for part in counts if part.get("data_collection") != "LOGICAL_DECODING_MESSAGE"]
    return cleaned
