"""Compares the records that Understudy would send with those that the running Kafka Connect has written. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from workers.cli.takeover.reader_fields import ReaderFields
from workers.records.change_event import payload

_CONTEXT: Final = "__debezium.context."
"""The beginning of headers about the task."""


ABSENT: Final = object()
"""In place of the value of a member that one side does not have. A member that is null has None."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A record of either side."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """A member that differs: its path in the record, and both values, of which one may be :data:`ABSENT`."""

    topic: str
    key: Any
    path: str
    here: Any
    connect: Any

    def as_json(self) -> dict[str, Any]:
        """The difference as a JSON object, in which an absent value is left out."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not ABSENT}


@dataclass(slots=True)
class Comparison:
    """The result. ``missing``: records that only Understudy would write. ``additional``: records that only Kafka Connect wrote."""

    equal: int = 0
    different: list[Difference] = field(default_factory=list)
    missing: list[Sample] = field(default_factory=list)
    additional: list[Sample] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """Whether both sides have written the same."""
        return not (self.different or self.missing or self.additional)


def identity(sample: Sample, reader: ReaderFields) -> bytes:
    """What makes two records that of one change: topic, key, and the place of the change in the WAL.

    A record without a place (a tombstone, a flattened row) is known by its value instead, but for the fields of its ``reader``.
    """
    value = payload(_read(sample.value))
    source = value.get("source") if isinstance(value, dict) else None
    if isinstance(source, dict) and source.get("lsn") is not None:
        place: object = [source["lsn"], source.get("txId"), value.get("op")]
    elif isinstance(value, dict):
        place = {name: member for name, member in value.items() if name not in reader.members}
    else:
        place = value
    return orjson.dumps([sample.topic, payload(_read(sample.key)), place], option=orjson.OPT_SORT_KEYS)


def transaction(sample: Sample) -> int | None:
    """The id of the transaction of a change; None for a record that does not tell."""
    value = payload(_read(sample.value))
    source = value.get("source") if isinstance(value, dict) else None
    found = source.get("txId") if isinstance(source, dict) else None
    return found if isinstance(found, int) else None


def compare(here: Sequence[Sample], connect: Iterable[Sample], reader: ReaderFields) -> Comparison:
    """Compare the records ``here`` with those of the same changes among ``connect``, which may hold more.

    The fields of ``reader`` are not compared. The last transaction of ``here`` may be incomplete, so it is not asked whether Kafka Connect
    wrote more of it.
    """
    written: dict[bytes, list[Sample]] = defaultdict(list)
    for sample in connect:
        written[identity(sample, reader)].append(sample)
    found = Comparison()
    for sample in here:
        same = written[identity(sample, reader)]
        if not same:
            found.missing.append(sample)
            continue
        other = same.pop(0)
        differences = list(_differences(sample, other, reader))
        found.different += differences
        found.equal += not differences
    transactions = [number for sample in here if (number := transaction(sample)) is not None]
    whole = set(transactions) - set(transactions[-1:])
    found.additional = [sample for samples in written.values() for sample in samples if transaction(sample) in whole]
    return found


def _differences(here: Sample, connect: Sample, reader: ReaderFields) -> Iterator[Difference]:
    key = payload(_read(here.key))
    parts = (
        ("key", _read(here.key), _read(connect.key)),
        ("value", _read(here.value), _read(connect.value)),
    )
    for name, one, other in parts:
        if _is_json(getattr(here, name)) != _is_json(getattr(connect, name)):
            # A text may look like the string of JSON, and a tombstone like its null.
            yield Difference(here.topic, key, name, _text(getattr(here, name)), _text(getattr(connect, name)))
            continue
        if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys() == {"schema", "payload"}:
            if not _same(one["schema"], other["schema"]):
                yield Difference(here.topic, key, f"{name}.schema", one["schema"], other["schema"])
            one, other = one["payload"], other["payload"]  # noqa: PLW2901 (the schema is done)
        for path, ours, theirs in _members(one, other, ""):
            if path not in reader.members or name != "value":
                yield Difference(here.topic, key, f"{name}.{path}".rstrip("."), ours, theirs)
    for path, ours, theirs in _headers_that_differ(_headers(here, reader), _headers(connect, reader)):
        yield Difference(here.topic, key, path, ours, theirs)


def _members(here: Any, connect: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """The innermost members that differ, with their paths."""
    if isinstance(here, dict) and isinstance(connect, dict):
        for name in [*here, *(name for name in connect if name not in here)]:
            yield from _members(here.get(name, ABSENT), connect.get(name, ABSENT), f"{path}.{name}" if path else name)
    elif not _same(here, connect):
        yield path, here, connect


def _same(here: Any, connect: Any) -> bool:
    """Whether both are the same JSON. Python's ``==`` would take true, 1 and 1.0 for the same."""
    if here is ABSENT or connect is ABSENT:
        return here is connect
    return orjson.dumps(here, option=orjson.OPT_SORT_KEYS) == orjson.dumps(connect, option=orjson.OPT_SORT_KEYS)


Header = tuple[str, str | None]


def _headers(sample: Sample, reader: ReaderFields) -> list[Header]:
    return [(name, _text(value)) for name, value in sample.headers if not name.startswith(_CONTEXT) and name not in reader.headers]


def _headers_that_differ(here: list[Header], connect: list[Header]) -> Iterator[tuple[str, Any, Any]]:
    """The names whose values differ. If only the order of the names differs, all headers. A name may occur more than once."""
    if here == connect:
        return
    ours, theirs = _by_name(here), _by_name(connect)
    if ours == theirs:
        yield "headers", here, connect
    for name in dict.fromkeys((*ours, *theirs)):
        if ours.get(name) != theirs.get(name):
            yield f"headers.{name}", _shown(ours.get(name)), _shown(theirs.get(name))


def _by_name(headers: list[Header]) -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = defaultdict(list)
    for name, value in headers:
        found[name].append(value)
    return found


def _shown(values: list[str | None] | None) -> Any:
    if values is None:
        return ABSENT
    return values[0] if len(values) == 1 else values


def _read(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _text(data)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "backslashreplace")


def _is_json(data: bytes | None) -> bool | None:
    """None for no data at all."""
    if data is None:
        return None
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True
