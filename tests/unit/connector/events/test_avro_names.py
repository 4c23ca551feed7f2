"""Names of fields are Avro's where a connector's own converter is Avro's, as in Debezium."""

from __future__ import annotations

import pytest

from connector.config.connector_config import parse
from connector.types.codec import Column
from tests.support.stream_rig import INT4, StreamRig, catalog_table

BASE = {
    "name": "c",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "nowhere",
    "database.user": "nobody",
    "database.dbname": "shop",
    "topic.prefix": "srv",
}
CONFLUENT = "io.confluent.connect.avro.AvroConverter"
APICURIO = "io.apicurio.registry.utils.converter.AvroConverter"


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "a-b"),
        ({"value.converter": CONFLUENT}, "a_b"),
        ({"key.converter": APICURIO}, "a_b"),
        ({"value.converter": CONFLUENT, "field.name.adjustment.mode": "avro_unicode"}, "a_u002db"),
        ({"value.converter": "org.apache.kafka.connect.json.JsonConverter"}, "a-b"),
    ],
)
def test_an_avro_converter_adjusts_the_names_of_fields(settings: dict[str, str], name: str) -> None:
    table = catalog_table("t", Column("id", INT4, not_null=True), Column("a-b", INT4), primary_key=["id"])
    rig = StreamRig(table, config=parse({**BASE, **settings})[0])
    assert [column.name for column in rig.capture.encoder(table).columns] == ["id", name]
