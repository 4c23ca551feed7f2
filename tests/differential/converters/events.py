"""Random change events and headers, for the converter of CloudEvents."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any, Final

from connector.record.connect_record import Header
from connector.record.json_converter import around_payload, value_json
from connector.record.json_reader import read_schema
from connector.record.schema import INT32, STRING, Field, Schema
from tests.differential.converters.schemas import Schemas
from tests.differential.converters.values import Values
from tests.support.cloud_event_cases import SOURCE, TRANSACTION

_SOURCE: Final = read_schema(json.dumps(SOURCE).encode())
_TRANSACTION: Final = read_schema(json.dumps(TRANSACTION).encode())
_INT64: Final = Schema("int64", optional=True)
_TRACE: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_EXTRA: Final = ("boolean", "int32", "int64", "string", "double", "bytes")
"""Debezium takes int8 and int16 too, but then fails on all their values but null."""
_NAMES: Final = ("server", "my-server", "é", "1st", "", "a b", "io.x")


class Events:
    """Makes events; the same random numbers make the same events."""

    def __init__(self, random: Random, schemas: Schemas, values: Values) -> None:
        self._random = random
        self._schemas = schemas
        self._values = values

    def events(self) -> list[tuple[Schema | None, Any]]:
        """Return some events of one schema."""
        random = self._random
        name = random.choice((None, "server.public.t.Value"))
        row = replace(self._schemas.struct(2), name=name, optional=random.random() < 0.9)
        source = _SOURCE if random.random() < 0.8 else self._other_source()
        times = tuple(Field(name, _INT64) for name in ("ts_ms", "ts_us", "ts_ns"))
        rows = (Field("before", row), Field("after", row))
        more = (Field("tracingspancontext", STRING.as_optional()),) if random.random() < 0.2 else ()
        fields = (*rows, Field("source", source), Field("transaction", _TRANSACTION), Field("op", STRING), *times, *more)
        name = random.choice(
            ("server.public.t.Envelope", "server.public.t.Envelope", "Envelope", "größe.Envelope", "a.CloudEvents.Envelope")
        )
        schema = Schema("struct", name=name, version=2, fields=fields)
        return [(schema, self._event(schema)) for _ in range(random.choice((1, 2, 3)))]

    def headers(self) -> tuple[Header, ...]:
        """Return headers of which the converter knows some."""
        random = self._random
        found: list[Header] = []
        if random.random() < 0.4:
            return ()
        for name, text in (("id", "my-id"), ("type", "my.type"), ("dataSchemaName", "my.schema"), ("traceparent", _TRACE), ("op", "u")):
            if random.random() < 0.6:
                found.append(Header(name, STRING, text))
        if random.random() < 0.6:
            found.append(Header("source", _SOURCE, self._source(_SOURCE)))
        if random.random() < 0.4:
            found.append(Header("transaction", _TRANSACTION, self._transaction()))
        if random.random() < 0.2:
            found.append(Header("other", INT32, 5))
        random.shuffle(found)
        return tuple(found)

    def _other_source(self) -> Schema:
        """The source block without some of its optional fields, or with another one."""
        fields = [each for each in _SOURCE.fields if not each.schema.optional or self._random.random() < 0.6]
        if self._random.random() < 0.5:
            fields.append(
                Field(self._random.choice(("extra", "UPPER_x", "commit_ts_9")), Schema(self._random.choice(_EXTRA), optional=True))
            )
        return replace(_SOURCE, fields=tuple(fields))

    def _event(self, schema: Schema) -> dict[str, Any]:
        random = self._random
        by_name = {field.name: field.schema for field in schema.fields}
        found: dict[str, Any] = {name: self._values.value(part) for name, part in by_name.items()}
        found["source"] = self._source(by_name["source"])
        found["op"] = random.choice(("c", "u", "d", "r", "t", "m"))
        found["transaction"] = self._transaction() if random.random() < 0.4 else None
        if "tracingspancontext" in found:
            found["tracingspancontext"] = random.choice((None, f"#c\ntraceparent={_TRACE}\n"))
        return found

    def _source(self, schema: Schema) -> dict[str, Any]:
        random = self._random
        found: dict[str, Any] = {field.name: self._values.value(field.schema) for field in schema.fields}
        if random.random() < 0.9:
            found["connector"] = "postgresql"
            found["name"] = random.choice(_NAMES)
        found["ts_ms"] = random.choice((0, 1_700_000_000_000, 1_700_000_000_120, random.randrange(1 << 42)))
        return found

    def _transaction(self) -> dict[str, Any]:
        return {"id": self._random.choice(("555:24023128", "", "é")), "total_order": 1, "data_collection_order": self._random.randrange(9)}


def header_bytes(header: Header) -> bytes:
    """Return the header as JsonConverter writes it, which the converter reads."""
    assert header.schema is not None
    before, after = around_payload(header.schema)
    return before + value_json(header.schema, header.value) + after
