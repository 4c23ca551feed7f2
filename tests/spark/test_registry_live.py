"""Schemas that the connector's converters register in a real registry, fetched by the ids in their records. No Spark is started."""

from __future__ import annotations

import asyncio
import base64
import json
import uuid
from dataclasses import dataclass
from typing import Final

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from connector.converters.converter import ConverterChoice, SchemaRequest
from connector.converters.registry import Registry
from connector.io.registry import RegistryClients
from connector.record.json_converter import ConverterSettings, schema_json
from connector.record.json_reader import read_schema
from tests.support.spark.converted_topic import Written, changes, envelope, key_schema
from workers.quickstart.embedded.registry import EmbeddedRegistry
from workers.spark.topics.apicurio import ApicurioRegistry, UseId
from workers.spark.topics.cloud_events.avro_data import cloud_events_language, text_of
from workers.spark.topics.ext_json import ext_json_language
from workers.spark.topics.json_schema import json_schema_language
from workers.spark.topics.layouts import connect_layout
from workers.spark.topics.registered import Language, avro_language
from workers.spark.topics.registry import SchemaRegistry

pytestmark = pytest.mark.server
APICURIO: Final = "io.apicurio.registry.utils.converter."
AVRO: Final = avro_language()


@dataclass(frozen=True)
class Case:
    """A converter with its options, and how its records name schemas. ``use_id`` is None for Confluent's API."""

    name: str
    path: str
    language: Language
    kind: str
    use_id: UseId | None = None
    header: str | None = None
    references: bool = True

    def choice(self, url: str) -> ConverterChoice:
        if self.use_id is None:
            return ConverterChoice(self.name, {"schema.registry.url": url})
        options = {"url": url, "auto-register": "true", "use-id": self.use_id, "headers.enabled": str(self.header is not None).lower()}
        options["dereference-schema"] = str(not self.references).lower()
        return ConverterChoice(self.name, {f"apicurio.registry.{name}": value for name, value in options.items()})

    def registry(self, url: str) -> SchemaRegistry:
        return SchemaRegistry(url, kind=self.kind) if self.use_id is None else ApicurioRegistry(url, self.use_id, kind=self.kind)


CCOMPAT: Final = "/apis/ccompat/v7"
CASES: Final = {
    "avro of confluent": Case("io.confluent.connect.avro.AvroConverter", CCOMPAT, AVRO, "AVRO"),
    "json-schema of confluent": Case("io.confluent.connect.json.JsonSchemaConverter", CCOMPAT, json_schema_language(), "JSON"),
    "avro with references": Case(f"{APICURIO}AvroConverter", "/apis/registry/v3", AVRO, "AVRO", "contentId"),
    "avro in one": Case(f"{APICURIO}AvroConverter", "/apis/registry/v3", AVRO, "AVRO", "contentId", references=False),
    "avro by globalId": Case(f"{APICURIO}AvroConverter", "/apis/registry/v3", AVRO, "AVRO", "globalId", "apicurio.value.globalId"),
    "avro of apicurio 2": Case(f"{APICURIO}AvroConverter", "/apis/registry/v2", AVRO, "AVRO", "globalId", "apicurio.value.globalId", False),
    "ext-json": Case(f"{APICURIO}ExtJsonConverter", "/apis/registry/v3", ext_json_language(), "KCONNECT", "contentId"),
}


def resolve(registry: Registry, request: SchemaRequest) -> None:
    async def ask() -> None:
        clients = RegistryClients()
        try:
            await clients.resolve(registry, request)
        finally:
            await clients.close()

    asyncio.run(ask())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_schemas_have_the_columns_of_the_records(schema_registry: EmbeddedRegistry, case: Case) -> None:
    url = schema_registry.url + case.path
    # Names of its own, because schemas outlive a test.
    schema = json.loads(json.dumps(envelope()).replace("shop.", f"t{uuid.uuid4().hex[:12]}."))
    choice = case.choice(url)
    (record,) = Written(resolve, choice, choice).records(schema, changes()[:1])
    value, headers = record[5], dict(record[6])
    assert value is not None
    if case.header is not None:
        number = int.from_bytes(headers[case.header], "big")
    else:
        number = json.loads(value)["schemaId"] if value.startswith(b"{") else int.from_bytes(value[1:5], "big")
    with case.registry(url) as registry:
        text = registry.schema(number)
    assert isinstance(text, str), text
    key = json.loads(schema_json(read_schema(json.dumps(key_schema()).encode()), None, ConverterSettings()))
    assert connect_layout(case.language.connect(text), key).value_type == connect_layout(schema, key).value_type


@pytest.mark.parametrize("form", ["json", "avro"])
def test_cloud_events_name_the_schemas_of_their_data(schema_registry: EmbeddedRegistry, form: str) -> None:
    url = schema_registry.url + CCOMPAT
    schema = json.loads(json.dumps(envelope()).replace("shop.", f"t{uuid.uuid4().hex[:12]}."))
    options = {"serializer.type": form, "data.serializer.type": "avro", "avro.schema.registry.url": url}
    choice = ConverterChoice("io.debezium.converters.CloudEventsConverter", options)
    key = ConverterChoice("org.apache.kafka.connect.json.JsonConverter", {})
    (record,) = Written(resolve, key, choice).records(schema, changes()[:1])
    value = record[5]
    assert value is not None
    whole: str | None = None
    with SchemaRegistry(url, kind="AVRO") as registry:
        if form == "json":
            event = json.loads(value)
            octets, named = base64.b64decode(event["data"]), event["dataschema"]
        else:
            found = registry.schema(int.from_bytes(value[1:5], "big"))
            assert isinstance(found, str), found
            whole = found
            named = value[value.index(url.encode()) :][: value[value.index(url.encode()) - 1] // 2].decode()
            octets = value[value.rindex(b"\0" + int(named.rpartition("/")[2]).to_bytes(4, "big")) :]
        number = int.from_bytes(octets[1:5], "big")
        data = registry.schema(number)
    assert isinstance(data, str), data
    assert named == f"{url}/schemas/ids/{number}"
    known = json.loads(schema_json(read_schema(json.dumps(key_schema()).encode()), None, ConverterSettings()))
    connect = cloud_events_language(5).connect(text_of(number, data, whole, has_op=True))
    assert connect_layout(connect, known).value_type == connect_layout(schema, known).value_type
