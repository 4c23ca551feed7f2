"""Values of topics, decoded."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import httpx
import pytest
from fastavro import parse_schema, schemaless_writer

from tests.support.each_case import each_case
from tests.support.json_server import json_server
from workers.cli.failure import CommandError
from workers.cli.records.decoding import Decoder
from workers.cli.records.registry import Registry
from workers.cli.records.registry_place import RegistryPlace

AVRO = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "raw", "type": "bytes"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}


def framed(number: int, body: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + body


@each_case(
    ("data", "value"),
    [
        (None, None),
        (b'{"schema": {"type": "int32"}, "payload": 7}', 7),
        (b'{"schema": null, "payload": {"a": 1}}', {"a": 1}),
        (b'{"op": "c"}', {"op": "c"}),
        (b"12.50", 12.5),
        (b"plain text", "plain text"),
        (b"\xff\xfe", {"base64": "//4="}),
        (b"", ""),
    ],
)
def test_without_a_registry(data: bytes | None, value: object) -> None:
    assert Decoder().decode(data) == value


def test_avro_with_the_registrys_schema() -> None:
    from decimal import Decimal  # noqa: PLC0415

    body = io.BytesIO()
    row: dict[str, Any] = {"id": 1, "note": None, "raw": b"\x01", "price": Decimal("1.50"), "tags": ["a"]}
    schemaless_writer(body, parse_schema(AVRO), row)
    asked: list[int] = []

    def lookup(number: int, _: object) -> Mapping[str, Any]:
        asked.append(number)
        return {"schema": json.dumps(AVRO)}

    decoder = Decoder(lookup)
    for _ in range(2):
        assert decoder.decode(framed(9, body.getvalue())) == {"id": 1, "note": None, "raw": "AQ==", "price": "1.50", "tags": ["a"]}
    assert asked == [9]


def test_ids_of_apicurios_converters() -> None:
    asked: list[tuple[int, object]] = []

    def lookup(number: int, kind: object) -> Mapping[str, Any]:
        asked.append((number, kind))
        return {"schema": '"int"'}

    decoder, seven = Decoder(lookup), b"\x0e"
    header: list[tuple[str, bytes | None]] = [
        ("other", None),
        ("apicurio.key.globalId", None),
        ("apicurio.key.globalId", (3).to_bytes(8, "big")),
        ("apicurio.value.contentId", (4).to_bytes(8, "big")),
    ]
    assert decoder.decode(b"\0" + (2).to_bytes(8, "big") + seven) == 7
    assert (decoder.decode(seven, "key", header), decoder.decode(seven, "value", header)) == (7, 7)
    assert asked == [(2, None), (3, "globalId"), (4, "contentId")]
    assert decoder.decode(b"7", "value", [("apicurio.key.globalId", b"\0\1")]) == 7
    assert not decoder.lacks_registry


@pytest.mark.parametrize(
    ("data", "headers", "lacking"),
    [
        (b'{"a": 1}', (), False),
        (b"\0\0", (), False),
        (framed(1, b"\x02"), (), True),
        (b"\x0e", [("apicurio.value.globalId", bytes(8))], True),
        (b"\x0e", [("apicurio.key.globalId", bytes(8))], False),
    ],
)
def test_records_that_need_a_registry_are_noticed(data: bytes, headers: list[tuple[str, bytes]], lacking: bool) -> None:
    decoder = Decoder()
    decoder.decode(data, "value", headers)
    assert decoder.lacks_registry == lacking


def test_the_registry_of_a_configuration() -> None:
    url, api = "apicurio.registry.url", "http://r/apis/registry/v"
    assert RegistryPlace.of({"value.converter": "x"}) is None
    assert RegistryPlace.of({"key.converter.schema.registry.url": "http://a,http://b"}) == RegistryPlace("http://a")
    assert RegistryPlace.of({f"value.converter.{url}": f"{api}2/"}) == RegistryPlace(f"{api}2")
    assert RegistryPlace.of({f"key.converter.{url}": "http://r"}) == RegistryPlace(f"{api}3")
    assert RegistryPlace.of({f"key.converter.{url}": "http://r", "connector.plugin.version": "2.3.4.Final"}) == RegistryPlace(f"{api}2")
    assert RegistryPlace.of({f"key.converter.{url}": "http://r", "connector.plugin.version": "9"}) == RegistryPlace(f"{api}3")
    chosen = {f"value.converter.{url}": f"{api}3", "value.converter.apicurio.registry.use-id": "globalId"}
    assert RegistryPlace.of(chosen) == RegistryPlace(f"{api}3", "globalId")


def test_apicurios_registry_is_asked_with_its_login() -> None:
    with json_server() as server:
        server.answers["GET /apis/registry/v3/ids/contentIds/5"] = (200, "int")
        server.answers["GET /apis/registry/v3/ids/contentIds/5/references"] = (200, [])
        place = RegistryPlace(server.url.replace("://", "://ann:ge%40heim@") + "/apis/registry/v3")
        with closing(place.open()) as registry:
            assert registry.schema(5) == {"schema": '"int"'}
            with pytest.raises(CommandError, match="has no schema 6") as failure:
                registry.schema(6)
        assert server.requests[0].headers["authorization"] == "Basic " + base64.b64encode(b"ann:ge@heim").decode()
    assert "heim" not in failure.value.message
    with closing(place.open()) as registry, pytest.raises(CommandError, match="cannot be reached") as failure:
        registry.schema(5)
    assert "heim" not in failure.value.message
    with pytest.raises(CommandError, match="is no http or https address"):
        RegistryPlace("ftp://r/apis/registry/v3").open()


def test_json_schema_and_protobuf() -> None:
    assert Decoder(lambda *_: {"schema": "{}", "schemaType": "JSON"}).decode(framed(1, b'{"a": 1}')) == {"a": 1}
    assert Decoder(lambda *_: {"schema": "", "schemaType": "PROTOBUF"}).decode(framed(1, b"\x08")) == {"base64": "AAAAAAEI"}


REFERRING = {"type": "record", "name": "Value", "fields": [{"name": "at", "type": "com.example.Elsewhere"}]}


@pytest.mark.parametrize(
    ("schema", "body"),
    [
        ({"schema": json.dumps(AVRO)}, b"\x02\x00"),
        ({"schema": json.dumps(AVRO)}, b"\x02\x00\x10"),
        ({"schema": json.dumps(AVRO)}, b"\xff" * 30),
        ({"schema": json.dumps(REFERRING), "references": [{"name": "com.example.Elsewhere"}]}, b"\x02"),
        ({"schema": "{"}, b"\x02"),
        ({}, b"\x02"),
        ({"schema": "{}", "schemaType": "JSON"}, b'{"a": '),
    ],
)
def test_what_its_schema_does_not_decode_is_shown_as_bytes(schema: Mapping[str, Any], body: bytes) -> None:
    decoder = Decoder(lambda *_: schema)
    for _ in range(2):
        assert decoder.decode(framed(1, body)) == {"base64": base64.b64encode(framed(1, body)).decode()}


def test_the_registry_is_asked_and_its_login_never_shown() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"].startswith("Basic ")
        return httpx.Response(200, json={"schema": "x"}) if request.url.path == "/schemas/ids/3" else httpx.Response(404)

    registry = Registry("http://ann:geheim@r/", httpx.MockTransport(answer))
    assert registry.schema(3) == {"schema": "x"}
    with pytest.raises(CommandError, match="has no answer for schema 4") as failure:
        registry.schema(4)
    assert "geheim" not in failure.value.message
