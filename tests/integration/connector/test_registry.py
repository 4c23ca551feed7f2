"""Converters and the registry's client against a real registry, read back by Confluent's own client.

Apicurio's registry is published as an archive, which the fetching of jars does not know. So one must run, with Confluent's API below
``/apis/ccompat/v7``; ``UNDERSTUDY_TEST_REGISTRY`` names it (``http://127.0.0.1:8080``).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import httpx
import pytest

from connector.configdef.options import Options
from connector.converters.avro.apicurio import DEFINITIONS as APICURIO
from connector.converters.avro.confluent import DEFINITIONS as CONFLUENT
from connector.converters.converter import Converted, Converter, ConverterDefinition, SchemaNeededError
from connector.converters.ext_json import DEFINITIONS as EXT_JSON
from connector.converters.json_schema.confluent import DEFINITIONS as JSON_SCHEMA
from connector.errors import CdcError, ErrorKind
from connector.io.registry import RegistryClients
from connector.record.schema import INT32, INT64, STRING, Field, Schema
from tests.support.avro_cases import TIMESTAMP, VARIABLE, array, decimal, mapping, struct

REGISTRY: Final = os.environ.get("UNDERSTUDY_TEST_REGISTRY", "").rstrip("/")
CCOMPAT: Final = f"{REGISTRY}/apis/ccompat/v7"
pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(not REGISTRY, reason="no schema registry: UNDERSTUDY_TEST_REGISTRY does not name one"),
]


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


def read(topic: str, data: bytes) -> Any:
    """What Confluent's client reads."""
    avro = pytest.importorskip("confluent_kafka.schema_registry.avro")
    from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: PLC0415 - after the skip
    from confluent_kafka.serialization import MessageField, SerializationContext  # noqa: PLC0415 - the same

    with SchemaRegistryClient({"url": CCOMPAT}) as client:
        return avro.AvroDeserializer(client)(data, SerializationContext(topic, MessageField.VALUE))


def asked(path: str) -> Any:
    """The registry's own answer."""
    return httpx.get(REGISTRY + path).raise_for_status().json()


def require_compatibility(subject: str) -> None:
    httpx.put(f"{CCOMPAT}/config/{subject}", json={"compatibility": "BACKWARD"}).raise_for_status()


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
async def test_confluents_client_reads_what_the_converter_wrote(kind: str, topic: str) -> None:
    own = {"apicurio_registry_url": f"{REGISTRY}/apis/registry/v3", "apicurio_registry_auto__register": "true"}
    converter = {
        "confluent": lambda: made(CONFLUENT, schema_registry_url=CCOMPAT),
        "apicurio": lambda: made(APICURIO, **own, apicurio_registry_dereference__schema="true"),
        "apicurio with references": lambda: made(APICURIO, **own),
        "apicurio v2": lambda: made(
            APICURIO,
            **(own | {"apicurio_registry_url": f"{REGISTRY}/apis/registry/v2"}),
            apicurio_registry_as__confluent="true",
            apicurio_registry_use__id="contentId",
            apicurio_registry_headers_enabled="false",
        ),
    }[kind]()
    schema, value = event(topic)
    found = read(topic, sent(await converted(converter, topic, schema, value)))
    after = found["after"]
    assert (found["before"], found["op"], after["id"], after["name"], after["price"]) == (None, "c", 7, "ä", Decimal("-1.28"))
    assert (after["any"], after["tags"], after["extra"]) == ({"scale": 1, "value": b"\5"}, ["a", None], {"x": 1 << 40})
    assert after["at"].timestamp() == pytest.approx(1_700_000_000)


async def test_a_new_column_is_a_new_version_of_the_subject(topic: str) -> None:
    converter = made(CONFLUENT, schema_registry_url=CCOMPAT)
    before = struct(f"{topic}.Value", id=INT32)
    after = Schema("struct", name=before.name, fields=(*before.fields, Field("more", STRING.as_optional())))
    first = await converted(converter, topic, before, {"id": 1})
    second = await converted(converter, topic, after, {"id": 1, "more": None})
    assert first.prefix != second.prefix
    assert asked(f"/apis/ccompat/v7/subjects/{topic}-value/versions") == [1, 2]
    other = made(CONFLUENT, schema_registry_url=CCOMPAT)
    assert await converted(other, topic, before, {"id": 1}) == first


async def test_an_incompatible_change_is_refused(topic: str) -> None:
    converter = made(CONFLUENT, schema_registry_url=CCOMPAT)
    await converted(converter, topic, struct(f"{topic}.Value", id=INT32), {"id": 1})
    require_compatibility(f"{topic}-value")
    with pytest.raises(CdcError, match="not compatible") as error:
        await converted(converter, topic, struct(f"{topic}.Value", id=STRING), {"id": "x"})
    assert error.value.kind is ErrorKind.SCHEMA


async def test_schemas_that_are_not_registered_by_the_converter(topic: str) -> None:
    schema = struct(f"{topic}.Value", id=INT32)
    look_up = {"schema_registry_url": CCOMPAT, "auto_register_schemas": "false"}
    with pytest.raises(CdcError, match="has no such schema"):
        await converted(made(CONFLUENT, **look_up), topic, schema, {"id": 1})
    registered = await converted(made(CONFLUENT, schema_registry_url=CCOMPAT), topic, schema, {"id": 1})
    assert await converted(made(CONFLUENT, **look_up), topic, schema, {"id": 1}) == registered
    assert await converted(made(CONFLUENT, **look_up, use_latest_version="true"), topic, schema, {"id": 1}) == registered
    own = made(APICURIO, apicurio_registry_url=f"{REGISTRY}/apis/registry/v3", apicurio_registry_dereference__schema="true")
    assert await converted(own, topic, schema, {"id": 1}) == registered


@pytest.mark.parametrize("api", ["v2", "v3"])
async def test_apicurios_newest_schema(api: str, topic: str) -> None:
    own = {"apicurio_registry_url": f"{REGISTRY}/apis/registry/{api}", "apicurio_registry_headers_enabled": "false"}
    own |= {"apicurio_registry_use__id": "contentId", "apicurio_registry_dereference__schema": "true"}
    find = {**own, "apicurio_registry_find__latest": "true"}
    schema, value = event(topic)
    with pytest.raises(CdcError, match="has no such schema"):
        await converted(made(APICURIO, **find), topic, schema, value)
    registered = await converted(made(APICURIO, **own, apicurio_registry_auto__register="true"), topic, schema, value)
    assert await converted(made(APICURIO, **find), topic, schema, value) == registered


async def test_confluents_client_reads_json_with_a_schema(topic: str) -> None:
    json_schema = pytest.importorskip("confluent_kafka.schema_registry.json_schema")
    from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: PLC0415 - after the skip
    from confluent_kafka.serialization import MessageField, SerializationContext  # noqa: PLC0415 - the same

    schema, value = event(topic)
    found = sent(await converted(made(JSON_SCHEMA, schema_registry_url=CCOMPAT), topic, schema, value))
    with SchemaRegistryClient({"url": CCOMPAT}) as client:
        deserializer = json_schema.JSONDeserializer(None, schema_registry_client=client)
        read_value = deserializer(found, SerializationContext(topic, MessageField.VALUE))
    assert read_value["before"] is None
    assert read_value["after"]["extra"] == {"x": 1 << 40}


async def test_ext_json_registers_the_schema_of_the_json_converter(topic: str) -> None:
    converter = made(EXT_JSON, apicurio_registry_url=f"{REGISTRY}/apis/registry/v3", apicurio_registry_auto__register="true")
    found = sent(await converted(converter, topic, struct(f"{topic}.Value", id=INT32), {"id": 1}))
    assert found.startswith(b'{"schemaId":')
    assert found.endswith(b',"payload":{"id":1}}')
    content = asked(f"/apis/registry/v3/groups/default/artifacts/{topic}-value/versions/1/content")
    assert (content["type"], content["fields"][0]["field"]) == ("struct", "id")
