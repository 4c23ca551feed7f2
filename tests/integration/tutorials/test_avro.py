"""docs/tutorials/avro.md: events in Avro with a schema registry, read by Confluent's Python client while the table changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from confluent_kafka.schema_registry import ConfigCompatibilityLevel, Schema, SchemaRegistryClient, ServerConfig

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.avro_topic import decoded
from tests.support.tutorial import registered
from workers.quickstart.embedded.registry import EmbeddedRegistry

pytestmark = pytest.mark.pg_once
TOPIC: Final = "dbserver1.inventory.customers"
SUBJECT: Final = f"{TOPIC}-value"
ANN: Final = {"id": 1, "first_name": "Anne", "email": "annek@noanswer.org"}
SALLY: Final = {"id": 2, "first_name": "Sally", "email": None}


def row_fields(client: SchemaRegistryClient, version: int) -> list[str]:
    """The columns in a version of the subject."""
    schema = json.loads(str(client.get_version(SUBJECT, version).schema.schema_str))
    before: Any = next(field for field in schema["fields"] if field["name"] == "before")
    return [field["name"] for field in before["type"][1]["fields"]]


def without_default(client: SchemaRegistryClient) -> Schema:
    """The newest schema with a further field that old records lack."""
    schema = json.loads(str(client.get_latest_version(SUBJECT).schema.schema_str))
    schema["fields"].append({"name": "added", "type": "string"})
    return Schema(json.dumps(schema), "AVRO")


async def test_a_consumer_follows_the_tables_schema(pg: PgServer, worker: Callable[..., Worker], schema_registry: EmbeddedRegistry) -> None:
    database = pg.database("avro")
    database.execute(
        "CREATE SCHEMA inventory",
        "CREATE TABLE inventory.customers (id serial PRIMARY KEY, first_name varchar(255) NOT NULL, email varchar(255))",
        "INSERT INTO inventory.customers (first_name, email) VALUES ('Anne', 'annek@noanswer.org')",
    )
    with (
        SchemaRegistryClient({"url": schema_registry.confluent}) as client,
        registered("avro", worker(), database, schema_registry.confluent) as tutorial,
    ):
        # The subject exists when the snapshot's row is in its topic.
        await tutorial.worker.read(TOPIC, 1)
        client.set_config(SUBJECT, ServerConfig(compatibility=ConfigCompatibilityLevel.BACKWARD))
        database.execute(
            "INSERT INTO inventory.customers (first_name) VALUES ('Sally')",
            "ALTER TABLE inventory.customers ADD COLUMN phone varchar(32)",
            "UPDATE inventory.customers SET phone = '123' WHERE id = 2",
            "DELETE FROM inventory.customers WHERE id = 2",
        )
        events = decoded(schema_registry.confluent, TOPIC, await tutorial.worker.read(TOPIC, 5))
        assert [(key, value and (value["op"], value["before"], value["after"])) for key, value in events] == [
            ({"id": 1}, ("r", None, ANN)),
            ({"id": 2}, ("c", None, SALLY)),
            ({"id": 2}, ("u", None, {**SALLY, "phone": "123"})),
            ({"id": 2}, ("d", {"id": 2, "first_name": "", "email": None, "phone": None}, None)),
            ({"id": 2}, None),
        ]
        assert client.get_versions(f"{TOPIC}-key") == [1]
        assert client.get_versions(SUBJECT) == [1, 2]
        assert [row_fields(client, version) for version in (1, 2)] == [[*ANN], [*ANN, "phone"]]
        assert client.test_compatibility(SUBJECT, client.get_version(SUBJECT, 1).schema)
        assert not client.test_compatibility(SUBJECT, without_default(client))

        database.execute("ALTER TABLE inventory.customers ALTER COLUMN first_name TYPE integer USING length(first_name)")
        database.execute("INSERT INTO inventory.customers (first_name) VALUES (2)")
        assert f"refuses the new schema of the subject {SUBJECT}, because it is not compatible" in tutorial.trace()
        assert client.get_versions(SUBJECT) == [1, 2]
