"""Connect records between Python and a file of recorded cases, in which each schema stands once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from connector.record.connect_record import ConnectRecord, Header
from connector.record.json_converter import ConverterSettings, schema_json, value_json
from connector.record.json_reader import read_schema, value_reader
from connector.record.schema import Schema

_NULLS: Final = ConverterSettings(replace_null_with_default=False)

Told = Mapping[str, Any]
"""A record as :class:`tests.support.transforms_jvm.JavaTransforms` takes and gives it: parts are texts of JSON."""


def reported(record: ConnectRecord) -> dict[str, Any]:
    """Return the record for the JVM."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "key": _part(record.key_schema, record.key),
        "value": _part(record.value_schema, record.value),
        "timestamp": record.timestamp,
        "headers": [[header.name, _part(header.schema, header.value)] for header in record.headers],
    }


def _part(schema: Schema | None, value: object) -> str | None:
    if schema is None:
        return None if value is None else json.dumps({"schema": None, "payload": value})
    payload = b"null" if value is None else value_json(schema, value, _NULLS)
    return f'{{"schema":{schema_json(schema, None, _NULLS).decode()},"payload":{payload.decode()}}}'


class RecordTable:
    """The schemas, parts and records of a file, each once."""

    def __init__(self, schemas: Sequence[Any] = (), parts: Sequence[Any] = (), records: Sequence[Any] = ()) -> None:
        self.schemas: Final = _Numbered(schemas)
        self.parts: Final = _Numbered(parts)
        self.records: Final = _Numbered(records)
        self._read_schemas: dict[int, Schema] = {}

    def number(self, record: Told) -> int:
        """Return the record's number; it is added when it is new."""
        headers = [[name, self._part(part)] for name, part in record["headers"]]
        parts = [self._part(record["key"]), self._part(record["value"])]
        return self.records.number([record["topic"], record["partition"], *parts, record["timestamp"], headers])

    def _part(self, part: str | None) -> int | None:
        if part is None:
            return None
        document = json.loads(part)
        schema = document["schema"]
        return self.parts.number([None if schema is None else self.schemas.number(schema), document["payload"]])

    def record(self, number: int) -> ConnectRecord:
        """Return the record of this number."""
        topic, partition, key, value, timestamp, headers = self.records.values[number]
        named = tuple(Header(name, *self._read(part)) for name, part in headers)
        key_schema, key = self._read(key)
        value_schema, value = self._read(value)
        return ConnectRecord(topic, key_schema, key, value_schema, value, timestamp, named, partition)

    def _read(self, number: int | None) -> tuple[Schema | None, Any]:
        if number is None:
            return None, None
        schema_number, payload = self.parts.values[number]
        if schema_number is None:
            return None, payload
        schema = self._read_schemas.get(schema_number)
        if schema is None:
            schema = self._read_schemas[schema_number] = read_schema(json.dumps(self.schemas.values[schema_number]).encode())
        return schema, value_reader(schema)(payload)


class _Numbered:
    """Values in the order in which they came, each once."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values: Final = list(values)
        self._numbers: Final = {json.dumps(value): number for number, value in enumerate(values)}

    def number(self, value: Any) -> int:
        number = self._numbers.setdefault(json.dumps(value), len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number
