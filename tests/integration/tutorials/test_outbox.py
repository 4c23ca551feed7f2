"""docs/tutorials/outbox.md: a service's outbox table becomes one topic for each type of aggregate."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Record, Worker
from tests.support.project import DOCS
from tests.support.tutorial import registered

pytestmark = pytest.mark.pg_once
ORDER, LINE, PAID, GONE = (str(uuid.UUID(int=number)) for number in range(1, 5))
EVENTS: Final = (
    (ORDER, "order", "1", "OrderCreated", '{"id": 1, "total": 59.5, "lines": [{"item": "debezium", "quantity": 2}]}'),
    (LINE, "order", "1", "OrderLineUpdated", '{"id": 1, "newStatus": "CANCELLED", "note": null}'),
    (PAID, "customer", "7", "InvoiceCreated", '{"orderId": 1, "invoiceValue": 59.5}'),
    (GONE, "order", "1", "OrderForgotten", None),
)
SECOND_MS: Final = 1_700_000_000_000


@pytest.fixture
def orders(pg: PgServer) -> Database:
    """The database of the order service."""
    database = pg.database("orderdb")
    database.execute(*(DOCS / "examples" / "outbox.sql").read_text(encoding="utf-8").split(";\n")[:-1])
    return database


def place(database: Database) -> None:
    """What the service does: the event's row is inserted and deleted in the transaction of the order."""
    for number, row in enumerate(EVENTS):
        values = ["NULL" if value is None else f"'{value}'" for value in row]
        values.append(f"to_timestamp({SECOND_MS // 1000 + number}) AT TIME ZONE 'UTC'")
        insert = f"INSERT INTO inventory.outboxevent VALUES ({', '.join(values)})"
        database.execute(f"DO $$BEGIN {insert}; DELETE FROM inventory.outboxevent WHERE id = '{row[0]}'; END$$")


def shown(record: Record) -> tuple[Any, ...]:
    """The topic, the key, the value, the headers and the time. Debezium's own headers about the connector are left out."""
    headers = {name: value.decode() for name, value in record.headers if not name.startswith("__debezium.context.")}
    return (record.topic, None if record.key is None else record.key.decode(), record.json, headers, record.timestamp)


async def test_events_reach_the_topic_of_their_aggregate(orders: Database, worker: Callable[..., Worker]) -> None:
    with registered("outbox", worker(), orders) as tutorial:
        place(orders)
        created = {"id": 1, "total": 59.5, "lines": [{"item": "debezium", "quantity": 2}]}
        records = await tutorial.worker.read(["order.events", "customer.events"], 4)
        assert sorted(map(shown, records), key=lambda found: int(found[-1])) == [
            ("order.events", "1", created, {"id": ORDER, "eventType": "OrderCreated"}, SECOND_MS),
            ("order.events", "1", {"id": 1, "newStatus": "CANCELLED"}, {"id": LINE, "eventType": "OrderLineUpdated"}, SECOND_MS + 1000),
            ("customer.events", "7", {"orderId": 1, "invoiceValue": 59.5}, {"id": PAID, "eventType": "InvoiceCreated"}, SECOND_MS + 2000),
            ("order.events", "1", None, {"id": GONE, "eventType": "OrderForgotten"}, SECOND_MS + 3000),
        ]


async def test_payloads_pass_as_texts(orders: Database, worker: Callable[..., Worker]) -> None:
    changes = {
        "value_converter": "org.apache.kafka.connect.storage.StringConverter",
        "transforms_outbox_table_expand_json_payload": "false",
        "transforms_outbox_route_topic_replacement": "${routedByValue}.texts",
    }
    with registered("outbox", worker(), orders, **changes) as tutorial:
        place(orders)
        # The texts are those of PostgreSQL's jsonb.
        assert [record.value for record in await tutorial.worker.read("order.texts", 3)] == [
            b'{"id": 1, "lines": [{"item": "debezium", "quantity": 2}], "total": 59.5}',
            b'{"id": 1, "note": null, "newStatus": "CANCELLED"}',
            None,
        ]
