"""Random change events for the scripts: rows with values of all types, and what they lack."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any, Final

import orjson

from connector.java.hash_map import java_order
from connector.record.connect_record import ConnectRecord, Header
from connector.record.json_converter import ConverterSettings, around_payload, value_json
from connector.record.schema import (
    BOOLEAN,
    BYTES,
    CONNECT_DATE,
    CONNECT_TIMESTAMP,
    DECIMAL,
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    STRING,
    Field,
    Schema,
)
from tests.support.scripting_records import SOURCE

_JSON: Final = ConverterSettings(replace_null_with_default=False)
_TEXTS: Final = (
    "Anna Smith", "bert", "", "a", "12", "-7", "1.5", "c", "EU", "us-east", "Ünï cödé", "😀", "x.y.z", "a,b,,c,", " padded ", "true", "ß",
    "orders",
)  # fmt: skip
_NUMBERS: Final = (0, 1, 2, 3, 7, 10, -1, -7, 42, 100, 127, -128)


def _decimal(scale: int) -> Schema:
    return Schema("bytes", optional=True, name=DECIMAL, version=1, parameters=(("scale", str(scale)),))


def _array(items: Schema) -> Schema:
    return Schema("array", optional=True, items=items.as_optional())


NESTED: Final = Schema(
    "struct", optional=True, name="shop.Nested", fields=(Field("code", STRING.as_optional()), Field("level", INT32.as_optional()))
)
ROW: Final = Schema(
    "struct",
    optional=True,
    name="shop.public.orders.Value",
    fields=(
        Field("id", INT32),
        Field("quantity", INT16.as_optional()),
        Field("tiny", Schema("int8", optional=True)),
        Field("total", INT64.as_optional()),
        Field("price", FLOAT64.as_optional()),
        Field("rate", FLOAT32.as_optional()),
        Field("amount", _decimal(2)),
        Field("whole", _decimal(0)),
        Field("name", STRING.as_optional()),
        Field("note", STRING.as_optional().with_default("none")),
        Field("active", BOOLEAN.as_optional()),
        Field("tags", _array(STRING)),
        Field("numbers", _array(INT32)),
        Field("longs", _array(INT64)),
        Field("doubles", _array(FLOAT64)),
        Field("attributes", Schema("map", optional=True, keys=STRING, values=STRING.as_optional())),
        Field("counts", Schema("map", optional=True, keys=STRING, values=INT64.as_optional())),
        Field("data", BYTES.as_optional()),
        Field("made", Schema("int64", optional=True, name=CONNECT_TIMESTAMP, version=1)),
        Field("day", Schema("int32", optional=True, name=CONNECT_DATE, version=1)),
        Field("nested", NESTED),
    ),
)
ENVELOPE: Final = Schema(
    "struct",
    name="shop.public.orders.Envelope",
    version=2,
    fields=(Field("before", ROW), Field("after", ROW), Field("source", SOURCE), Field("op", STRING), Field("ts_ms", INT64.as_optional())),
)
KEY: Final = Schema("struct", name="shop.public.orders.Key", fields=(Field("id", INT32),))


def random_records(random: Random) -> list[ConnectRecord]:
    """Return records of each kind."""
    made = [
        _event(random, "c", None, _row(random)),
        _event(random, "u", _row(random), _row(random)),
        _event(random, "d", _row(random), None),
    ]
    made.append(ConnectRecord("shop.public.orders", KEY, {"id": 2}))
    after = {"id": 7, "name": "x", "total": 2**33, "price": 0.5, "tags": ["a", 1, None], "active": True}
    plain = _as_java({"op": "c", "after": _as_java(after), "list": [1, "two"]})
    made.append(ConnectRecord("shop.public.orders", None, "a key", None, plain))
    return made


def _as_java(entries: dict[str, Any]) -> dict[str, Any]:
    """Return a map in the order of the ``HashMap`` that JsonConverter makes of it."""
    return {key: entries[key] for key in java_order(entries)}


def _event(random: Random, op: str, before: Any, after: Any) -> ConnectRecord:
    source = {
        "version": "3.6.3.Final", "db": "shop", "schema": "public", "table": "orders", "snapshot": None, "ts_ms": 1_700_000_000_000,
        "lsn": random.choice((None, 42, 2**40)),
    }  # fmt: skip
    headers = (Header("kind", STRING, random.choice(_TEXTS)), Header("count", INT32, random.choice(_NUMBERS)), Header("plain", None, None))
    value = {"before": before, "after": after, "source": source, "op": op, "ts_ms": random.choice((None, 1_700_000_000_001))}
    return ConnectRecord("shop.public.orders", KEY, {"id": random.choice(_NUMBERS)}, ENVELOPE, value, headers=headers)


def _row(random: Random) -> dict[str, Any]:
    def some(*values: Any) -> Any:
        return None if random.random() < 0.15 else random.choice(values)

    def several(values: Sequence[Any]) -> Any:
        return some([some(*values) for _ in range(random.randint(0, 4))])

    return {
        "id": random.choice((*_NUMBERS, 2**31 - 1, -(2**31))),
        "quantity": some(*_NUMBERS, 32767, -32768),
        "tiny": some(*_NUMBERS),
        "total": some(*_NUMBERS, 2**63 - 1, -(2**63), 2**40, 2**31),
        "price": some(0.0, 1.5, -2.25, 0.1, 1e21, 1e-7, 100.0, 7.0, 1234567.891),
        "rate": some(0.0, 0.5, 0.10000000149011612, -2.5, 7.0),
        "amount": some(Decimal("12.50"), Decimal("-0.01"), Decimal("0.00"), Decimal("7.00"), Decimal("123456789012345.67")),
        "whole": some(Decimal(7), Decimal(0), Decimal(-12), Decimal(10**20)),
        "name": some(*_TEXTS),
        "note": some(*_TEXTS),
        "active": some(True, False),
        "tags": several((*_TEXTS, "new", "big")),
        "numbers": several((*_NUMBERS, 3, 1, 2)),
        "longs": several((1, 2, 3, 2**40)),
        "doubles": several((0.0, 1.0, 1.5, 0.1)),
        "attributes": some({}, _as_java({"color": "red", "size": None}), {"a": "x"}),
        "counts": some({}, {"a": 1}, {"b": None}),
        "data": some(b"", b"\x01\x02"),
        "made": some(0, 1_700_000_000_123, -1),
        "day": some(0, 19_675, -1),
        "nested": some({"code": random.choice(_TEXTS), "level": random.choice((*_NUMBERS, None))}),
    }


def record_json(record: ConnectRecord) -> dict[str, Any]:
    """Return a record as the Java program reads it: values as JsonConverter writes them."""
    return {
        "topic": record.topic,
        "key": _held(record.key_schema, record.key),
        "value": _held(record.value_schema, record.value),
        "headers": [[header.name, _held(header.schema, header.value)] for header in record.headers],
    }


def _held(schema: Schema | None, value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if schema is None:
        return {"schemas": False, "json": orjson.dumps(value).decode()}
    before, after = around_payload(schema, _JSON)
    return {"schemas": True, "json": (before + value_json(schema, value, _JSON) + after).decode()}
