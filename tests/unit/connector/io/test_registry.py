"""The client of schema registries, against answers made by hand; tests/integration/connector/test_registry.py has the real one."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import orjson
import pytest

from connector.converters.converter import SchemaNeededError, SchemaRequest
from connector.converters.registry import Reference, RegisteredSchema, Registry, RegistrySettings, SchemaAsk, TokenEndpoint
from connector.errors import CdcError, ErrorKind
from connector.io.registry import RegistryClient, RegistryClients
from tests.support.each_case import each_case

ENDPOINT = TokenEndpoint("http://auth/token", "c", "hidden")
Answer = Callable[[httpx.Request], httpx.Response]
REGISTER = SchemaRequest("t/x-value", SchemaAsk("register", "AVRO", '"int"'))


def settings(**fields: Any) -> RegistrySettings:
    known: dict[str, Any] = {"api": "confluent", "urls": ("http://u:secret@one/api",), "retry_ms": 0}
    return RegistrySettings(**(known | fields))


class Server:
    """Answers as configured, and keeps what was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self, **fields: Any) -> RegistryClient:
        return RegistryClient(settings(**fields), lambda: httpx.MockTransport(self))


def ok(body: object) -> httpx.Response:
    return httpx.Response(200, json=body)


async def failing(server: Server, request: SchemaRequest = REGISTER, **fields: Any) -> CdcError:
    with pytest.raises(CdcError) as error:
        await server.client(**fields).resolve(request)
    assert "secret" not in str(error.value)
    assert request.subject in str(error.value)
    return error.value


async def test_a_schema_is_registered_with_the_login_of_the_url() -> None:
    server = Server(ok({"id": 7}))
    client = server.client()
    assert await client.resolve(REGISTER) == RegisteredSchema(7)
    assert await client.resolve(REGISTER) == RegisteredSchema(7)
    (request,) = server.requests
    assert (request.method, str(request.url)) == ("POST", "http://one/api/subjects/t%2Fx-value/versions")
    assert orjson.loads(request.content) == {"schema": '"int"'}
    assert request.headers["Authorization"] == "Basic " + base64.b64encode(b"u:secret").decode()


async def test_what_was_learnt_is_known_to_the_converter() -> None:
    server = Server(ok({"id": 7, "guid": "g"}))
    clients, registry = RegistryClients(lambda: httpx.MockTransport(server)), Registry(settings())
    await clients.resolve(registry, REGISTER)
    assert registry.schema(REGISTER) == RegisteredSchema(7, guid="g")
    await clients.close()


@pytest.mark.parametrize(
    ("ask", "method", "path", "answer", "found"),
    [
        (
            SchemaAsk("register", "JSON", "{}", normalize=True),
            "POST",
            "/subjects/s/versions?normalize=true",
            {"id": 1},
            RegisteredSchema(1),
        ),
        (SchemaAsk("look up", "AVRO", "{}"), "POST", "/subjects/s", {"id": 1, "version": 4}, RegisteredSchema(1, version="4")),
        (
            SchemaAsk("latest", "AVRO"),
            "GET",
            "/subjects/s/versions/latest",
            {"id": 1, "version": 4, "schema": "x"},
            RegisteredSchema(1, text="x", version="4"),
        ),
        (SchemaAsk("by id", "AVRO", schema_id=5), "GET", "/schemas/ids/5?subject=s", {"schema": "x"}, RegisteredSchema(5, text="x")),
    ],
)
async def test_confluents_requests(ask: SchemaAsk, method: str, path: str, answer: object, found: RegisteredSchema) -> None:
    server = Server(ok(answer))
    assert await server.client().resolve(SchemaRequest("s", ask)) == found
    assert (server.requests[0].method, server.requests[0].url.raw_path.decode()) == (method, "/api" + path)


@pytest.mark.parametrize("action", ["look up", "latest", "by id"])
async def test_a_schema_that_is_not_there(action: Any) -> None:
    error = await failing(Server(httpx.Response(404, json={"error_code": 40401})), SchemaRequest("s", SchemaAsk(action, "AVRO", "{}")))
    assert error.kind is ErrorKind.SCHEMA
    assert "auto.register.schemas=true" in error.remedy


async def test_the_next_url_is_asked_after_the_attempts_at_the_first() -> None:
    server = Server(httpx.ConnectError("no"), httpx.Response(503), httpx.Response(429), ok({"id": 1}))
    client = server.client(urls=("http://one", "http://two"), retries=2)
    assert await client.resolve(REGISTER) == RegisteredSchema(1)
    assert [request.url.host for request in server.requests] == ["one", "one", "one", "two"]


async def test_the_url_that_answered_last_is_asked_first() -> None:
    no = httpx.ConnectError("no")
    server = Server(no, ok({"id": 1}), httpx.Response(404), no, ok({"id": 3}))
    client = server.client(urls=("http://one", "http://two"), retries=0)
    await client.resolve(REGISTER)
    with pytest.raises(CdcError):
        await client.resolve(SchemaRequest("b", SchemaAsk("look up", "AVRO", "{}")))
    await client.resolve(SchemaRequest("c", REGISTER.ask))
    assert [request.url.host for request in server.requests] == ["one", "two", "two", "two", "one"]


def _wrapped(problem: Exception) -> httpx.ConnectError:
    """What httpx raises for a problem below it."""
    error = httpx.ConnectError("secret")
    error.__cause__ = problem
    return error


def _untrusted() -> httpx.ConnectError:
    problem = ssl.SSLCertVerificationError(1, "x")
    problem.verify_message = "unable to get local issuer certificate"
    return _wrapped(problem)


@pytest.mark.parametrize(
    ("api", "options"),
    [
        ("confluent", ("schema.registry.ssl.truststore.location", "schema.registry.ssl.endpoint.identification.algorithm=none")),
        ("apicurio-v2", ("apicurio.registry.request.ssl.truststore.location", "apicurio.registry.tls.verify-host=false")),
        ("apicurio-v3", ("apicurio.registry.tls.truststore.location", "apicurio.registry.tls.verify-host=false")),
    ],
)
async def test_an_untrusted_certificate_is_named_and_not_asked_again(api: str, options: tuple[str, str]) -> None:
    server = Server(_untrusted())
    with pytest.raises(CdcError, match="TLS certificate of the schema registry https://one is not trusted") as error:
        await server.client(api=api, urls=("https://one",), retries=3).resolve(REGISTER)
    assert error.value.kind is ErrorKind.SINK_REFUSED
    assert error.value.detail == "unable to get local issuer certificate"
    assert all(option in error.value.remedy for option in options)


async def test_the_next_url_is_asked_after_an_untrusted_certificate() -> None:
    server = Server(_untrusted(), ok({"id": 1}))
    assert await server.client(urls=("https://one", "https://two")).resolve(REGISTER) == RegisteredSchema(1)


async def test_a_server_without_tls_is_named() -> None:
    problem = ssl.SSLError(1, "x")
    problem.reason = "WRONG_VERSION_NUMBER"
    with pytest.raises(CdcError, match="makes no TLS connection with this client") as error:
        await Server(_wrapped(problem)).client(urls=("https://one",), retries=0).resolve(REGISTER)
    assert (error.value.kind, error.value.detail) == (ErrorKind.SINK_UNREACHABLE, "WRONG_VERSION_NUMBER")
    assert "schema.registry.ssl.*" in error.value.remedy


@pytest.mark.parametrize("problem", [ssl.SSLWantReadError(2, "x"), ssl.SSLEOFError(8, "x")])
async def test_a_connection_that_breaks_is_no_problem_of_tls(problem: ssl.SSLError) -> None:
    with pytest.raises(CdcError, match="did not answer about the subject"):
        await Server(_wrapped(problem)).client(urls=("https://one",), retries=0).resolve(REGISTER)


@each_case(
    ("answer", "kind"),
    [
        (httpx.ConnectError("secret"), ErrorKind.SINK_UNREACHABLE),
        (httpx.Response(500, json={"message": "down"}), ErrorKind.SINK_UNREACHABLE),
        (httpx.Response(401), ErrorKind.SINK_PERMISSION),
        (httpx.Response(403), ErrorKind.SINK_PERMISSION),
        (httpx.Response(409, json={"message": 'not compatible\nsecret {"a"}'}), ErrorKind.SCHEMA),
        (httpx.Response(422, json={"message": "Invalid schema {secret}"}), ErrorKind.SCHEMA),
        (httpx.Response(404, text="<html>secret"), ErrorKind.SCHEMA),
        (ok({"no": "id"}), ErrorKind.SCHEMA),
        (httpx.Response(200, text="<html>secret"), ErrorKind.SCHEMA),
    ],
)
async def test_errors_name_the_subject_and_no_secret(answer: httpx.Response | Exception, kind: ErrorKind) -> None:
    error = await failing(Server(answer), retries=0)
    assert error.kind is kind
    assert error.remedy


async def test_a_refusal_is_not_repeated() -> None:
    server = Server(httpx.Response(409))
    await failing(server, urls=("http://one", "http://two"))
    assert len(server.requests) == 1


async def test_logins() -> None:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'
    for fields, expected in (
        ({"user_info": "x:y"}, "Basic " + base64.b64encode(b"x:y").decode()),
        ({"login_module": jaas}, "Basic " + base64.b64encode(b"a:b").decode()),
        ({"token": "abc"}, "Bearer abc"),
        ({"urls": ("http://one",)}, None),
    ):
        server = Server(ok({"id": 1}))
        await server.client(**fields).resolve(REGISTER)
        assert server.requests[0].headers.get("Authorization") == expected


async def test_a_token_is_fetched_once() -> None:
    server = Server(ok({"access_token": "T", "expires_in": 3600}), ok({"id": 1}), ok({"id": 2}))
    client = server.client(token_endpoint=TokenEndpoint("http://auth/token", "c", "secret", "s"))
    await client.resolve(REGISTER)
    await client.resolve(SchemaRequest("other", REGISTER.ask))
    assert [request.url.host for request in server.requests] == ["auth", "one", "one"]
    assert server.requests[0].content == b"grant_type=client_credentials&scope=s"
    assert server.requests[2].headers["Authorization"] == "Bearer T"


@pytest.mark.parametrize(
    "problem",
    [httpx.Response(408), httpx.Response(429), httpx.Response(500), httpx.Response(503), httpx.Response(507), httpx.ConnectError("no")],
)
async def test_a_token_endpoint_that_cannot_answer_is_asked_again(problem: httpx.Response | Exception) -> None:
    server = Server(problem, ok({"access_token": "T", "expires_in": 3600}), ok({"id": 1}))
    assert await server.client(token_endpoint=ENDPOINT, retries=1).resolve(REGISTER) == RegisteredSchema(1)
    server = Server(problem, problem)
    with pytest.raises(CdcError) as error:
        await server.client(token_endpoint=ENDPOINT, retries=1).resolve(REGISTER)
    assert error.value.kind is ErrorKind.SINK_UNREACHABLE
    assert not server.answers


@pytest.mark.parametrize(("buffer", "age", "fetches"), [(300, 3299, 1), (300, 3300, 2), (10, 3589, 1), (10, 3590, 2), (5000, 1800, 2)])
async def test_a_token_is_fetched_again_before_its_end(buffer: int, age: float, fetches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 1000.0
    monkeypatch.setattr("connector.io.registry_token.time.monotonic", lambda: clock)
    server = Server(*[ok({"access_token": "T", "expires_in": 3600, "id": 1}) for _ in range(4)])
    client = server.client(token_endpoint=replace(ENDPOINT, buffer_seconds=buffer))
    await client.resolve(REGISTER)
    clock += age
    await client.resolve(SchemaRequest("other", REGISTER.ask))
    assert [request.url.host for request in server.requests].count("auth") == fetches


async def test_the_token_endpoint_has_the_tls_options_too() -> None:
    with pytest.raises(CdcError, match="The TLS options for the schema registry cannot be used"):
        RegistryClient(settings(token_endpoint=replace(ENDPOINT, url="https://auth"), ssl=(("ssl.truststore.location", "/x.jks"),)))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (_untrusted(), ErrorKind.SINK_REFUSED),
        (httpx.Response(401, text="hidden"), ErrorKind.SINK_PERMISSION),
        (httpx.ReadTimeout("hidden"), ErrorKind.SINK_UNREACHABLE),
    ],
)
async def test_no_token(answer: httpx.Response | Exception, kind: ErrorKind) -> None:
    client = Server(answer).client(token_endpoint=TokenEndpoint("http://auth/token", "c", "hidden"), retries=0)
    with pytest.raises(CdcError) as error:
        await client.resolve(REGISTER)
    assert error.value.kind is kind
    assert "auth" in str(error.value)
    assert "hidden" not in str(error.value)


@pytest.mark.parametrize(
    ("action", "seconds", "took", "after"),
    [
        ("latest", 90, 2, 90),
        ("latest", 0, 2, 20),
        ("latest", 0, 200, 60),
        ("latest", 90, 200, 90),
        ("latest", -1, 2, None),
        ("register", 60, 2, None),
    ],
)
async def test_the_newest_schema_is_forgotten_after_its_time(
    action: Any, seconds: int, took: float, after: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, clock = asyncio.get_running_loop(), 1000.0
    later: list[tuple[float, Callable[..., None], tuple[Any, ...]]] = []
    request = SchemaRequest("s", SchemaAsk(action, "AVRO"))

    def answer(_: httpx.Request) -> httpx.Response:
        nonlocal clock
        clock += took
        return ok({"id": 7, "schema": "x"})

    def call_later(delay: float, call: Callable[..., None], *arguments: Any) -> asyncio.TimerHandle:
        later.append((delay, call, arguments))
        return asyncio.TimerHandle(0, call, arguments, loop)

    clients, registry = RegistryClients(lambda: httpx.MockTransport(answer)), Registry(settings(), seconds)
    with monkeypatch.context() as patch:
        patch.setattr(loop, "time", lambda: clock)
        patch.setattr(loop, "call_later", call_later)
        await clients.resolve(registry, request)
    assert registry.schema(request).id == 7
    assert [delay for delay, _, _ in later] == ([] if after is None else [after])
    for _, call, arguments in later:
        call(*arguments)
        assert registry.forgot()
        assert not registry.forgot()
        with pytest.raises(SchemaNeededError):
            registry.schema(request)
    await clients.close()


@pytest.mark.parametrize("reported", [True, False])
async def test_references_have_the_version_that_the_registry_tells(reported: bool) -> None:
    inner = SchemaRequest("a/b.proto", SchemaAsk("register", "PROTOBUF", "message B {}"))
    outer = SchemaRequest("s", SchemaAsk("register", "PROTOBUF", "message A {}", (Reference("a/b.proto", inner),)))
    # Older registries answer a registration with the id alone.
    answers = [ok({"id": 1, "version": 4})] if reported else [ok({"id": 1}), ok({"id": 1, "version": 4})]
    server = Server(*answers, ok({"id": 2}))
    assert await server.client().resolve(outer) == RegisteredSchema(2)
    paths = [request.url.raw_path.decode().removeprefix("/api/subjects/") for request in server.requests]
    assert paths == ["a%2Fb.proto/versions", *([] if reported else ["a%2Fb.proto"]), "s/versions"]
    assert orjson.loads(server.requests[-1].content) == {
        "schema": "message A {}",
        "schemaType": "PROTOBUF",
        "references": [{"name": "a/b.proto", "subject": "a/b.proto", "version": 4}],
    }


async def test_references_are_registered_first() -> None:
    inner = SchemaRequest("p.I", SchemaAsk("register", "AVRO", '"int"'))
    outer = SchemaRequest("t-value", SchemaAsk("register", "AVRO", '"p.I"', (Reference("p.I", inner),)))
    server = Server(
        ok({"version": {"contentId": 1, "globalId": 2, "version": "3"}}), ok({"version": {"contentId": 4, "globalId": 5, "version": "1"}})
    )
    assert await server.client(api="apicurio-v3").resolve(outer) == RegisteredSchema(4, 5, version="1")
    body = orjson.loads(server.requests[1].content)
    assert body["artifactId"] == "t-value"
    assert body["firstVersion"]["content"]["references"] == [{"artifactId": "p.I", "version": "3", "name": "p.I"}]


async def test_tls_options_that_cannot_be_used() -> None:
    with pytest.raises(CdcError, match="The TLS options for the schema registry cannot be used") as error:
        RegistryClient(settings(urls=("https://one",), ssl=(("ssl.truststore.location", "/x.jks"), ("ssl.truststore.password", "secret"))))
    assert error.value.kind is ErrorKind.CONFIG_INVALID
    assert "secret" not in str(error.value)
