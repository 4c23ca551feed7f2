"""Apicurio's converters: bytes, headers and requests against those of the real ones (``tests.support.record_apicurio``)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, cast

import httpx
import pytest

from connector.configdef.options import OptionError, Options
from connector.converters.avro.apicurio import DEFINITIONS
from connector.converters.converter import Converted, Converter, SchemaNeededError
from connector.converters.ext_json import DEFINITIONS as EXT_JSON
from connector.converters.registry import RegisteredSchema, Registry
from connector.emulation import DEBEZIUM_2_3_4, DEFAULT
from connector.errors import CdcError
from connector.io.registry import RegistryClients
from connector.record.connect_record import DataError
from connector.record.schema import STRING
from tests.support.apicurio_cases import GENERATIONS, Conversion, conversions
from tests.support.each_case import each_case
from tests.support.fake_registry import FakeRegistry

RECORDED: Final[dict[str, dict[str, Any]]] = {
    generation: json.loads(Path(__file__).with_name(f"apicurio_{generation}_recorded.json").read_text(encoding="utf-8"))
    for generation in GENERATIONS
}
CASES: Final = [(generation, case) for generation in GENERATIONS for case in conversions()]


def made(options: dict[str, str], side: Any = "value", name: str = "AvroConverter") -> Converter:
    definition = next(each for each in (*DEFINITIONS, *EXT_JSON) if each.name.endswith(f".{name}"))
    return definition.make(Options(definition.keys, options), side)


async def converted(case: Conversion, url: str, registry: FakeRegistry) -> Converted:
    def answer(request: httpx.Request) -> httpx.Response:
        named = {name.lower(): value for name, value in request.headers.items()}
        status, body = registry.answer(request.method, request.url.raw_path.decode(), named, request.content)
        return httpx.Response(status, json=body)

    converter = made({"apicurio.registry.url": url} | case.options, case.side, case.converter)
    clients = RegistryClients(lambda: httpx.MockTransport(answer))
    for _ in range(2):
        try:
            return converter.convert(case.topic, case.schema, case.value, ())
        except SchemaNeededError as needed:
            await clients.resolve(needed.registry, needed.request)
    return converter.convert(case.topic, case.schema, case.value, ())


def comparable(requests: list[list[Any]]) -> list[Any]:
    """Requests in order; JSON without the order of members and without nulls."""
    found = []
    for method, path, query, headers, body in requests:
        reported = json.loads(body) if body.startswith('{"artifactId"') or '"content"' in body else body
        found.append([method, path, query, headers, _without_nulls(reported)])
    return found


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(member) for name, member in value.items() if member is not None and member != []}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


@each_case(("generation", "case"), CASES, ids=[f"{generation} {case.name}" for generation, case in CASES])
async def test_bytes_headers_and_requests_are_the_real_ones(generation: str, case: Conversion) -> None:
    recorded, registry = RECORDED[generation][case.name], FakeRegistry()
    url = f"http://r/apis/registry/{generation}"
    if "error" in recorded:
        with pytest.raises((DataError, CdcError)):
            await converted(case, url, registry)
    else:
        found = await converted(case, url, registry)
        sent = None if found.payload is None else (found.prefix + found.payload).hex()
        assert (sent, [[name, (value or b"").hex()] for name, value in found.headers]) == (recorded["bytes"], recorded["headers"])
    assert comparable(registry.requests) == comparable(recorded["requests"])


@pytest.mark.parametrize(("options", "asked"), [({"apicurio.registry.auto-register": "true"}, 1), ({}, 2)])
def test_a_schema_that_was_registered_for_a_topic_is_known_for_all(options: dict[str, str], asked: int) -> None:
    converter = made({"apicurio.registry.url": "http://r/apis/registry/v3"} | options)
    subjects = []
    for topic in ("t1", "t2", "t1"):
        try:
            converter.convert(topic, STRING, "x", ())
        except SchemaNeededError as needed:
            subjects.append(needed.request.subject)
            cast("Registry", needed.registry).learn(needed.request, RegisteredSchema(len(subjects)))
    assert subjects == ["t1-value", "t2-value"][:asked]


def test_the_generation_follows_from_the_url_or_else_from_the_version() -> None:
    for url, emulation, expected in (
        ("http://r/apis/registry/v2", DEFAULT, "apicurio-v2 http://r/apis/registry/v2"),
        ("http://r/apis/registry/v3/", DEBEZIUM_2_3_4, "apicurio-v3 http://r/apis/registry/v3"),
        ("http://r", DEFAULT, "apicurio-v3 http://r/apis/registry/v3"),
        ("http://r", DEBEZIUM_2_3_4, "apicurio-v2 http://r/apis/registry/v2"),
    ):
        converter = DEFINITIONS[0].make(Options(DEFINITIONS[0].keys, {"apicurio.registry.url": url}, emulation), "value")
        with pytest.raises(SchemaNeededError) as needed:
            converter.convert("t", None, "x", ())
        assert isinstance(needed.value.registry, Registry)
        settings = needed.value.registry.settings
        assert f"{settings.api} {settings.urls[0]}" == expected


@each_case(
    ("options", "text"),
    [
        ({"apicurio.registry.url": "mock:"}, "Write a URL of http or https"),
        ({"apicurio.registry.id-handler": "a.B"}, "Default4ByteIdHandler"),
        ({"apicurio.registry.use-id": "x"}, "contentId, globalId"),
        ({"apicurio.registry.artifact-resolver-strategy": "a.B"}, "TopicIdStrategy"),
        ({"apicurio.registry.auto-register.if-exists": "x"}, "FIND_OR_CREATE_VERSION"),
        ({"apicurio.registry.avro.encoding": "JSON"}, "Use BINARY"),
        ({"apicurio.registry.auth.username": "u"}, "apicurio.registry.auth.password"),
        ({"apicurio.registry.auth.service.token.endpoint": "http://k"}, r"apicurio\.registry\.auth\.client\.id"),
        ({"apicurio.auth.service.url": "http://k"}, r"apicurio\.auth\.realm"),
    ],
)
def test_wrong_options(options: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        made({"apicurio.registry.url": "http://r"} | options)


def test_logins_and_certificates() -> None:
    options = {
        "apicurio.registry.url": "http://r",
        "apicurio.auth.username": "u",
        "apicurio.auth.password": "secret",
        "apicurio.auth.service.url": "http://k",
        "apicurio.auth.realm": "m",
        "apicurio.auth.client.id": "c",
        "apicurio.auth.client.secret": "secret",
        "apicurio.registry.request.ssl.truststore.location": "/t.pem",
        "apicurio.registry.request.headers.X-A": "1",
        "apicurio.registry.tls.verify-host": "false",
    }
    with pytest.raises(SchemaNeededError) as needed:
        made(options).convert("t", None, "x", ())
    assert isinstance(needed.value.registry, Registry)
    settings = needed.value.registry.settings
    assert (settings.user_info, settings.headers) == ("u:secret", (("X-A", "1"),))
    assert settings.token_endpoint is not None
    assert settings.token_endpoint.url == "http://k/realms/m/protocol/openid-connect/token"
    assert dict(settings.ssl) == {"ssl.truststore.location": "/t.pem", "ssl.endpoint.identification.algorithm": ""}
    assert "secret" not in repr(settings)
