"""Converters and the registry's client against a real registry, read back by Confluent's own client and by ``understudy tail``."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from typing import Any

import httpx
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from connector.configdef.options import Options
from connector.converters.avro.apicurio import DEFINITIONS as APICURIO
from connector.converters.avro.confluent import DEFINITIONS as CONFLUENT
from connector.converters.converter import Converted, Converter, ConverterDefinition, SchemaNeededError
from connector.converters.ext_json import DEFINITIONS as EXT_JSON
from connector.converters.json_schema.confluent import DEFINITIONS as JSON_SCHEMA
from connector.converters.protobuf.confluent import DEFINITIONS as PROTOBUF
from connector.errors import CdcError, ErrorKind
from connector.io.registry import RegistryClients
from connector.record.schema import INT32, INT64, STRING, Field, Schema
from tests.support.avro_cases import TIMESTAMP, VARIABLE, array, decimal, mapping, struct
from tests.support.protobuf_reader import message_class
from workers.cli.records.decoding import Decoder
from workers.cli.records.registry_place import RegistryPlace
from workers.quickstart.embedded.registry import EmbeddedRegistry


def made(definitions: Sequence[ConverterDefinition], **options: str) -> Converter:
    values = {name.replace("__", "-").replace("_", "."): value for name, value in options.items()}
    return definitions[0].make(Options(definitions[0].keys, values), "value")


async def converted(converter: Converter, topic: str, schema: Schema, value: Any) -> Converted:
    clients = RegistryClients()
    try:
        for _ in range(3):
            try:
                return converter.convert(topic, schema, value, ())
            except SchemaNeededError as needed:
                await clients.resolve(needed.registry, needed.request)
        raise AssertionError("the converter asks the same again")
    finally:
        await clients.close()


def sent(found: Converted) -> bytes:
    assert found.payload is not None
    return found.prefix + found.payload


def read(registry: EmbeddedRegistry, topic: str, data: bytes) -> Any:
    """What Confluent's client reads."""
    with SchemaRegistryClient({"url": registry.confluent}) as client:
        return AvroDeserializer(client)(data, SerializationContext(topic, MessageField.VALUE))


def asked(registry: EmbeddedRegistry, path: str) -> Any:
    """The registry's own answer."""
    return httpx.get(registry.url + path).raise_for_status().json()


def require_compatibility(registry: EmbeddedRegistry, subject: str) -> None:
    httpx.put(f"{registry.confluent}/config/{subject}", json={"compatibility": "BACKWARD"}).raise_for_status()


def event(prefix: str) -> tuple[Schema, dict[str, Any]]:
    """An envelope, and a change."""
    row = struct(
        f"{prefix}.Value",
        id=INT32.with_default(0),
        name=STRING.as_optional(),
        price=decimal(2, 10),
        any=VARIABLE.as_optional(),
        at=TIMESTAMP.as_optional(),
        tags=array(STRING.as_optional()).as_optional(),
        extra=mapping(STRING, INT64),
    )
    envelope = replace(struct(f"{prefix}.Envelope", before=row.as_optional(), after=row.as_optional(), op=STRING), version=2)
    after = {"id": 7, "name": "ä", "price": Decimal("-1.28"), "any": {"scale": 1, "value": b"\5"}, "at": 1_700_000_000_000}
    after |= {"tags": ["a", None], "extra": {"x": 1 << 40}}
    return envelope, {"before": None, "after": after, "op": "c"}


@pytest.fixture
def topic() -> str:
    return f"t{uuid.uuid4().hex[:12]}.public.t"


@pytest.mark.parametrize("kind", ["confluent", "apicurio", "apicurio with references", "apicurio v2"])
async def test_confluents_client_reads_what_the_converter_wrote(schema_registry: EmbeddedRegistry, kind: str, topic: str) -> None:
    own = {"apicurio_registry_url": f"{schema_registry.url}/apis/registry/v3", "apicurio_registry_auto__register": "true"}
    converter = {
        "confluent": lambda: made(CONFLUENT, schema_registry_url=schema_registry.confluent),
        "apicurio": lambda: made(APICURIO, **own, apicurio_registry_dereference__schema="true"),
        "apicurio with references": lambda: made(APICURIO, **own),
        "apicurio v2": lambda: made(
            APICURIO,
            **(own | {"apicurio_registry_url": f"{schema_registry.url}/apis/registry/v2"}),
            apicurio_registry_as__confluent="true",
            apicurio_registry_use__id="contentId",
            apicurio_registry_headers_enabled="false",
        ),
    }[kind]()
    schema, value = event(topic)
    found = read(schema_registry, topic, sent(await converted(converter, topic, schema, value)))
    after = found["after"]
    assert (found["before"], found["op"], after["id"], after["name"], after["price"]) == (None, "c", 7, "ä", Decimal("-1.28"))
    assert (after["any"], after["tags"], after["extra"]) == ({"scale": 1, "value": b"\5"}, ["a", None], {"x": 1 << 40})
    assert after["at"].timestamp() == pytest.approx(1_700_000_000)


ID_8 = "io.apicurio.registry.serde.DefaultIdHandler"


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("/apis/registry/v3", {}),
        ("", {}),
        ("/apis/registry/v3", {"use__id": "globalId"}),
        ("/apis/registry/v3", {"id__handler": ID_8}),
        ("/apis/registry/v3", {"headers_enabled": "true"}),
        ("/apis/registry/v3", {"headers_enabled": "true", "use__id": "globalId"}),
        ("/apis/registry/v2", {}),
        ("/apis/registry/v2", {"headers_enabled": "false"}),
        ("/apis/registry/v2", {"headers_enabled": "false", "use__id": "contentId", "id__handler": ID_8.replace("Default", "Default4Byte")}),
    ],
)
async def test_tail_reads_what_apicurios_converter_wrote(
    schema_registry: EmbeddedRegistry, path: str, options: dict[str, str], topic: str
) -> None:
    own = {"url": schema_registry.url + path, "auto__register": "true", **options}
    converter = made(APICURIO, **{f"apicurio_registry_{name}": value for name, value in own.items()})
    schema, value = event(topic)
    written = await converted(converter, topic, schema, value)
    names = {f"value.converter.apicurio.registry.{name.replace('__', '-').replace('_', '.')}": text for name, text in own.items()}
    place = RegistryPlace.of(names)
    assert place is not None
    with closing(place.open()) as registry:
        found = Decoder(registry.schema).decode(sent(written), "value", written.headers)
    assert (found["before"], found["op"], found["after"]["id"], found["after"]["name"]) == (None, "c", 7, "ä")
    alone = Decoder()
    alone.decode(sent(written), "value", written.headers)
    assert alone.lacks_registry


async def test_a_new_column_is_a_new_version_of_the_subject(schema_registry: EmbeddedRegistry, topic: str) -> None:
    converter = made(CONFLUENT, schema_registry_url=schema_registry.confluent)
    before = struct(f"{topic}.Value", id=INT32)
    after = Schema("struct", name=before.name, fields=(*before.fields, Field("more", STRING.as_optional())))
    first = await converted(converter, topic, before, {"id": 1})
    second = await converted(converter, topic, after, {"id": 1, "more": None})
    assert first.prefix != second.prefix
    assert asked(schema_registry, f"/apis/ccompat/v7/subjects/{topic}-value/versions") == [1, 2]
    other = made(CONFLUENT, schema_registry_url=schema_registry.confluent)
    assert await converted(other, topic, before, {"id": 1}) == first


async def test_an_incompatible_change_is_refused(schema_registry: EmbeddedRegistry, topic: str) -> None:
    converter = made(CONFLUENT, schema_registry_url=schema_registry.confluent)
    await converted(converter, topic, struct(f"{topic}.Value", id=INT32), {"id": 1})
    require_compatibility(schema_registry, f"{topic}-value")
    with pytest.raises(CdcError, match="not compatible") as error:
        await converted(converter, topic, struct(f"{topic}.Value", id=STRING), {"id": "x"})
    assert error.value.kind is ErrorKind.SCHEMA


async def test_schemas_that_are_not_registered_by_the_converter(schema_registry: EmbeddedRegistry, topic: str) -> None:
    schema = struct(f"{topic}.Value", id=INT32)
    look_up = {"schema_registry_url": schema_registry.confluent, "auto_register_schemas": "false"}
    with pytest.raises(CdcError, match="has no such schema"):
        await converted(made(CONFLUENT, **look_up), topic, schema, {"id": 1})
    registered = await converted(made(CONFLUENT, schema_registry_url=schema_registry.confluent), topic, schema, {"id": 1})
    assert await converted(made(CONFLUENT, **look_up), topic, schema, {"id": 1}) == registered
    assert await converted(made(CONFLUENT, **look_up, use_latest_version="true"), topic, schema, {"id": 1}) == registered
    own = made(APICURIO, apicurio_registry_url=f"{schema_registry.url}/apis/registry/v3", apicurio_registry_dereference__schema="true")
    assert await converted(own, topic, schema, {"id": 1}) == registered


@pytest.mark.parametrize("api", ["v2", "v3"])
async def test_apicurios_newest_schema(schema_registry: EmbeddedRegistry, api: str, topic: str) -> None:
    own = {"apicurio_registry_url": f"{schema_registry.url}/apis/registry/{api}", "apicurio_registry_headers_enabled": "false"}
    own |= {"apicurio_registry_use__id": "contentId", "apicurio_registry_dereference__schema": "true"}
    find = {**own, "apicurio_registry_find__latest": "true"}
    schema, value = event(topic)
    with pytest.raises(CdcError, match="has no such schema"):
        await converted(made(APICURIO, **find), topic, schema, value)
    registered = await converted(made(APICURIO, **own, apicurio_registry_auto__register="true"), topic, schema, value)
    assert await converted(made(APICURIO, **find), topic, schema, value) == registered


async def test_confluents_client_reads_json_with_a_schema(schema_registry: EmbeddedRegistry, topic: str) -> None:
    schema, value = event(topic)
    found = sent(await converted(made(JSON_SCHEMA, schema_registry_url=schema_registry.confluent), topic, schema, value))
    with SchemaRegistryClient({"url": schema_registry.confluent}) as client:
        deserializer = JSONDeserializer(None, schema_registry_client=client)
        read_value = deserializer(found, SerializationContext(topic, MessageField.VALUE))
    assert read_value["before"] is None
    assert read_value["after"]["extra"] == {"x": 1 << 40}


@pytest.mark.parametrize("skip_known_types", ["true", "false"])
async def test_confluents_client_reads_protobuf(schema_registry: EmbeddedRegistry, topic: str, skip_known_types: str) -> None:
    schema, value = event(topic)
    value["after"]["tags"] = ["a", ""]
    converter = made(
        PROTOBUF, schema_registry_url=schema_registry.confluent, skip_known_types=skip_known_types, optional_for_nullables="true"
    )
    found = sent(await converted(converter, topic, schema, value))
    with SchemaRegistryClient({"url": schema_registry.confluent}) as client:
        registered = client.get_latest_version(f"{topic}-value").schema
        text = registered.schema_str
    assert text is not None
    assert registered.schema_type == "PROTOBUF"
    assert [each.name for each in registered.references or []] == (
        [] if skip_known_types == "true" else ["confluent/type/decimal.proto", "google/protobuf/timestamp.proto"]
    )
    deserializer = ProtobufDeserializer(message_class(text, f"{topic}.Envelope"), {"use.deprecated.format": False})
    message = deserializer(found, SerializationContext(topic, MessageField.VALUE))
    assert (message.HasField("before"), message.after.name, message.after.price.scale) == (False, "ä", 2)
    assert (list(message.after.tags), message.after.at.seconds) == (["a", ""], 1_700_000_000)
    assert [(each.key, each.value) for each in message.after.extra] == [("x", 1 << 40)]
    latest = made(
        PROTOBUF,
        schema_registry_url=schema_registry.confluent,
        auto_register_schemas="false",
        use_latest_version="true",
        optional_for_nullables="true",
        latest_compatibility_strict="false",
    )
    assert sent(await converted(latest, topic, schema, value)) == found


async def test_ext_json_registers_the_schema_of_the_json_converter(schema_registry: EmbeddedRegistry, topic: str) -> None:
    converter = made(EXT_JSON, apicurio_registry_url=f"{schema_registry.url}/apis/registry/v3", apicurio_registry_auto__register="true")
    found = sent(await converted(converter, topic, struct(f"{topic}.Value", id=INT32), {"id": 1}))
    assert found.startswith(b'{"schemaId":')
    assert found.endswith(b',"payload":{"id":1}}')
    content = asked(schema_registry, f"/apis/registry/v3/groups/default/artifacts/{topic}-value/versions/1/content")
    assert (content["type"], content["fields"][0]["field"]) == ("struct", "id")
