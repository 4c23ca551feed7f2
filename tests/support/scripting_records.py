"""The records that the recorded scripts see: a change event of each kind, a tombstone, a flattened row, and a schemaless one."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from connector.record.connect_record import ConnectRecord, Header
from connector.record.schema import BOOLEAN, BYTES, CONNECT_TIMESTAMP, DECIMAL, FLOAT32, FLOAT64, INT16, INT32, INT64, STRING, Field, Schema

ROW: Final = Schema(
    "struct",
    optional=True,
    name="shop.public.orders.Value",
    fields=(
        Field("id", INT32),
        Field("name", STRING.as_optional()),
        Field("region", STRING.as_optional()),
        Field("type", STRING.as_optional()),
        Field("aggregate_type", STRING.as_optional()),
        Field("note", STRING.as_optional()),
        Field("amount", Schema("bytes", optional=True, name=DECIMAL, version=1, parameters=(("scale", "2"),))),
        Field("price", FLOAT64.as_optional()),
        Field("rate", FLOAT32.as_optional()),
        Field("quantity", INT16.as_optional()),
        Field("total", INT64.as_optional()),
        Field("active", BOOLEAN.as_optional()),
        Field("tags", Schema("array", optional=True, items=STRING.as_optional())),
        Field("numbers", Schema("array", optional=True, items=INT32.as_optional())),
        Field("attributes", Schema("map", optional=True, keys=STRING, values=STRING.as_optional())),
        Field("data", BYTES.as_optional()),
        Field("level", STRING.as_optional().with_default("low")),
        Field("schema", STRING.as_optional()),
        Field("made", Schema("int64", optional=True, name=CONNECT_TIMESTAMP, version=1)),
    ),
)
SOURCE: Final = Schema(
    "struct",
    name="io.debezium.connector.postgresql.Source",
    fields=(
        Field("version", STRING),
        Field("db", STRING),
        Field("schema", STRING),
        Field("table", STRING),
        Field("snapshot", STRING.as_optional().with_default("false")),
        Field("ts_ms", INT64),
        Field("lsn", INT64.as_optional()),
    ),
)
ENVELOPE: Final = Schema(
    "struct",
    name="shop.public.orders.Envelope",
    version=2,
    fields=(
        Field("before", ROW),
        Field("after", ROW),
        Field("source", SOURCE),
        Field("op", STRING),
        Field("ts_ms", INT64.as_optional()),
    ),
)
KEY: Final = Schema("struct", name="shop.public.orders.Key", fields=(Field("id", INT32),))


def _row(**fields: object) -> dict[str, Any]:
    return {field.name: fields.get(field.name) for field in ROW.fields}


ANNA: Final = _row(
    id=7,
    name="Anna Smith",
    region="EU",
    type="OrderCreated7",
    aggregate_type="Order",
    amount=Decimal("12.50"),
    price=1.5,
    rate=0.1,
    quantity=3,
    total=7,
    active=True,
    tags=["new", "big", None],
    numbers=[3, 1, 2],
    attributes={"color": "red", "size": None},
    data=b"\x01\x02",
    schema="in a row",
    made=1_700_000_000_123,
)
BERT: Final = _row(
    id=2,
    name="bert",
    region="us-east",
    type="CustomerMoved",
    aggregate_type="Customer",
    note="",
    amount=Decimal("-0.01"),
    price=1e21,
    rate=2.5,
    quantity=-1,
    total=2**40,
    active=False,
    tags=[],
    numbers=[],
    attributes={},
    level="high",
)
_SOURCE: Final = {
    "version": "3.5.0.Final", "db": "shop", "schema": "public", "table": "orders", "snapshot": None, "ts_ms": 1_700_000_000_000, "lsn": 42,
}  # fmt: skip
HEADERS: Final = (
    Header("kind", STRING, "first"),
    Header("count", INT32, 5),
    Header("kind", STRING, "last"),
    Header("plain", None, None),
)
TOPIC: Final = "shop.public.orders"


def _event(op: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"before": before, "after": after, "source": _SOURCE, "op": op, "ts_ms": 1_700_000_000_001}


RECORDS: Final[Mapping[str, ConnectRecord]] = {
    "create": ConnectRecord(TOPIC, KEY, {"id": 7}, ENVELOPE, _event("c", None, ANNA), headers=HEADERS),
    "update": ConnectRecord(TOPIC, KEY, {"id": 2}, ENVELOPE, _event("u", ANNA, BERT)),
    "delete": ConnectRecord(TOPIC, KEY, {"id": 2}, ENVELOPE, _event("d", BERT, None)),
    "tombstone": ConnectRecord(TOPIC, KEY, {"id": 2}),
    "row": ConnectRecord(TOPIC, None, None, ROW, ANNA),
    "plain": ConnectRecord(
        TOPIC,
        None,
        "a key",
        None,
        {"op": "c", "after": {"id": 7, "region": "EU", "type": "a1", "name": "x", "big": 2**33, "share": 0.5}, "list": [1, "two", None]},
    ),
}
