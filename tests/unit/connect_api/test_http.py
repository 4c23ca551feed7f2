"""Paths, methods, media types, failures: the HTTP manners of every route."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import httpx
import pytest

from connect_api import models
from connect_api.app import create_app
from connect_api.herder import HerderError, ServerInfo
from tests.support.each_case import each_case
from tests.support.fake_herder import CLASS, FakeHerder, failure, rest

READS = [
    "/",
    "/health",
    "/connectors",
    "/connectors/c1",
    "/connectors/c1/config",
    "/connectors/c1/status",
    "/connectors/c1/tasks",
    "/connectors/c1/tasks/0/status",
    "/connectors/c1/topics",
    "/connectors/c1/offsets",
    "/connectors/c1/progress",
    "/connector-plugins",
    "/admin/loggers",
    "/admin/loggers/root",
]


def one(name: str = "c1") -> FakeHerder:
    herder = FakeHerder()
    herder.add(name)
    return herder


@each_case("path", READS[1:])
async def test_a_trailing_slash_changes_nothing_and_is_never_redirected(path: str) -> None:
    async with rest(one()) as http:
        plain, slashed = await http.get(path), await http.get(f"{path}/")
    assert (slashed.status_code, slashed.content) == (200, plain.content)


async def test_trailing_slash_on_what_writes() -> None:
    herder = one()
    async with rest(herder) as http:
        assert (await http.post("/connectors/", json={"name": "c2", "config": {"connector.class": CLASS}})).status_code == 201
        assert (await http.put("/connectors/c1/pause/")).status_code == 202
        assert (await http.post("/connectors/c1/restart/?includeTasks=true")).status_code == 202
        assert (await http.delete("/connectors/c1/")).status_code == 204
    assert len(herder.calls) == 4


@each_case("path", READS)
async def test_head_is_get_without_its_body(path: str) -> None:
    async with rest(one()) as http:
        get, head = await http.get(path), await http.head(path)
    assert (head.status_code, head.content, head.headers) == (200, b"", get.headers)
    assert int(head.headers["content-length"]) == len(get.content)


async def test_head_of_what_does_not_exist() -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.head("/connectors/none")
    assert (reply.status_code, reply.content, reply.headers["content-length"]) == (404, b"", "55")


@each_case(
    ("path", "allow"),
    [
        ("/", "HEAD,GET,OPTIONS"),
        ("/health", "HEAD,GET,OPTIONS"),
        ("/connectors", "HEAD,POST,GET,OPTIONS"),
        ("/connectors/", "HEAD,POST,GET,OPTIONS"),
        ("/connectors/none", "HEAD,DELETE,GET,OPTIONS"),
        ("/connectors/none/status", "HEAD,GET,OPTIONS"),
        ("/connectors/none/topics", "HEAD,GET,OPTIONS"),
        ("/connectors/none/pause", "OPTIONS,PUT"),
        ("/connectors/none/restart", "POST,OPTIONS"),
        ("/connectors/none/config", "HEAD,GET,OPTIONS,PUT,PATCH"),
        ("/connectors/none/tasks", "HEAD,POST,GET,OPTIONS"),
        ("/connectors/none/topics/reset", "OPTIONS,PUT"),
        ("/connectors/none/offsets", "HEAD,DELETE,GET,OPTIONS,PATCH"),
        ("/connectors/none/fence", "OPTIONS,PUT"),
        ("/admin/loggers", "HEAD,GET,OPTIONS"),
        ("/admin/loggers/root", "HEAD,GET,OPTIONS,PUT"),
        ("/connectors/none/tasks/0/status", "HEAD,GET,OPTIONS"),
        ("/connectors/none/tasks/0/restart", "POST,OPTIONS"),
        ("/connector-plugins", "HEAD,GET,OPTIONS"),
    ],
)
async def test_options(path: str, allow: str) -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.options(path, headers={"Accept": "text/plain"})
    assert (reply.status_code, reply.headers["allow"], reply.text) == (200, allow, allow.replace(",", ", "))
    assert reply.headers["content-type"] == "text/plain"


@each_case("method", ["GET", "PUT", "OPTIONS", "FOO"])
@each_case("path", ["/nope", "/CONNECTORS", "/connectors/c1/tasks-config", "/connectors/c1/STATUS"])
async def test_unknown_path(method: str, path: str) -> None:
    async with rest(one()) as http:
        reply = await http.send(raw(method, path))
    assert (reply.status_code, reply.json()) == (404, failure(404, "HTTP 404 Not Found"))
    assert reply.headers["content-type"] == "application/json"


@each_case(
    ("method", "path"),
    [
        ("POST", "/"),
        ("TRACE", "/"),
        ("PUT", "/connectors"),
        ("DELETE", "/connectors"),
        ("FOO", "/connectors"),
        ("PATCH", "/connectors/c1"),
        ("GET", "/connectors/c1/pause"),
        ("HEAD", "/connectors/c1/pause"),
        ("PUT", "/connectors/c1/restart"),
        ("GET", "/connectors/c1/tasks/0/restart"),
    ],
)
async def test_wrong_method(method: str, path: str) -> None:
    async with rest(one()) as http:
        reply = await http.request(method, path, headers={"Accept": "text/plain", "Content-Type": "text/plain"})
        options = await http.options(path)
    assert reply.status_code == 405
    assert reply.content == (b"" if method == "HEAD" else b'{"error_code":405,"message":"HTTP 405 Method Not Allowed"}')
    assert reply.headers["allow"] == options.headers["allow"]


@each_case("method", ["GET", "POST", "PUT", "DELETE"])
@each_case("sent", ["text/plain", "text/json", "application/vnd.x+json", "application/x-www-form-urlencoded", "garbage"])
async def test_other_content_types_are_refused_even_without_a_body(method: str, sent: str) -> None:
    paths = {"GET": "/connectors/c1", "POST": "/connectors/c1/restart", "PUT": "/connectors/c1/stop", "DELETE": "/connectors/c1"}
    herder = one()
    async with rest(herder) as http:
        reply = await http.request(method, paths[method], headers={"Content-Type": sent, "Accept": "text/plain"})
    assert (reply.status_code, reply.json()) == (415, failure(415, "HTTP 415 Unsupported Media Type"))
    assert herder.calls == []


@pytest.mark.parametrize(
    ("sent", "status"),
    [("application/json", 201), ("Application/JSON; charset=utf-8", 201), ("application/*", 415), ("text/plain", 415), (None, 415)],
)
async def test_a_body_must_be_called_json(sent: str | None, status: int) -> None:
    headers = {} if sent is None else {"Content-Type": sent}
    async with rest(FakeHerder()) as http:
        reply = await http.post("/connectors", content='{"name":"a","config":{"connector.class":"x"}}', headers=headers)
    assert reply.status_code == status


async def test_posts_without_a_body_need_no_content_type() -> None:
    async with rest(one()) as http:
        assert (await http.post("/connectors/c1/restart")).status_code == 204
        assert (await http.post("/connectors")).json() == failure(400, "The request has no body. Send a JSON object.")


@each_case(
    ("accept", "status"),
    [
        ("*/*", 200),
        ("application/json", 200),
        ("APPLICATION/JSON;q=0.1", 200),
        ("application/*", 200),
        ("text/html,*/*;q=0.8", 200),
        ("text/html, application/json", 200),
        ("*", 200),
        ("", 200),
        ("text/html", 406),
        ("application/vnd.x+json", 406),
        ("garbage", 406),
    ],
)
async def test_accept(accept: str, status: int) -> None:
    async with rest(one()) as http:
        reply = await http.get("/connectors/c1", headers={"Accept": accept})
    assert reply.status_code == status
    if status == 406:
        assert reply.json() == failure(406, "HTTP 406 Not Acceptable")


@each_case(
    ("path", "name"),
    [
        ("c%20%C3%A4", "c ä"),
        ("%20c%20", " c "),
        ("a+b", "a+b"),
        ("a%2Bb", "a+b"),
        ("a%3Bb", "a;b"),
        ("a;v=1", "a"),
        ("a%2Fb", "a/b"),
        ("a%25b", "a%b"),
        ("a%252Fb", "a%2Fb"),
        ("it's(x)@:,", "it's(x)@:,"),
        ("%7Bx%7D", "{x}"),
    ],
)
async def test_names_are_percent_decoded(path: str, name: str) -> None:
    herder = one(name)
    async with rest(herder) as http:
        assert (await http.send(raw("GET", f"/connectors/{path}"))).json()["name"] == name
        assert (await http.send(raw("GET", f"/connectors/{path}/status/"))).json()["name"] == name
        assert (await http.send(raw("DELETE", f"/connectors/{path}"))).status_code == 204
    assert herder.calls == [("delete", name)]


@each_case("name", ["c ä", "a/b", "a%b", "a;b", "a?b#c", "it's(x)@:,", "{x}", "é😀"])
async def test_location_leads_to_the_connector(name: str) -> None:
    async with rest(FakeHerder()) as http:
        created = await http.post("/connectors", json={"name": name, "config": {"connector.class": CLASS}})
        location = created.headers["location"]
        assert location.startswith("http://connect.example:8083/connectors/")
        found = await http.send(raw("GET", location.removeprefix("http://connect.example:8083")))
    assert (found.status_code, found.json()["name"]) == (200, name)


@pytest.mark.parametrize("path", ["//connectors", "/connectors//", "/connectors//status", "/connectors/c1//status"])
async def test_an_empty_segment_is_explained(path: str) -> None:
    message = "The path has an empty segment (//). Remove the extra slash, or put in the connector name that is missing."
    async with rest(one()) as http:
        reply = await http.send(raw("GET", path))
    assert (reply.status_code, reply.json()) == (400, failure(400, message))


async def test_a_path_that_is_not_utf8_is_explained() -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.send(raw("GET", "/connectors/%ff"))
    message = "The path is not UTF-8 after percent-decoding. Encode the connector name as UTF-8."
    assert (reply.status_code, reply.json()) == (400, failure(400, message))


class Broken(FakeHerder):
    def server_info(self) -> ServerInfo:
        raise ValueError("password=s3cret")


async def test_an_unexpected_exception_is_logged_and_its_text_kept_back(caplog: pytest.LogCaptureFixture) -> None:
    async with rest(Broken()) as http:
        reply = await http.get("/")
    message = "The worker could not answer because of an internal error (ValueError). Its log says more."
    assert (reply.status_code, reply.json()) == (500, failure(500, message))
    [record] = [record for record in caplog.records if record.name == "connect_api.front"]
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "request failed")
    assert vars(record)["fields"] == {"method": "GET", "path": "/"}
    assert record.exc_info is not None
    assert record.exc_info[0] is ValueError


class Rebalancing(FakeHerder):
    async def delete_connector(self, name: str) -> None:
        raise HerderError(409, "Cannot complete request because of a conflicting operation (e.g. worker rebalance)")

    def connector_info(self, name: str) -> Any:
        raise HerderError(409, "busy")


async def test_a_refusal_keeps_its_status_and_message() -> None:
    herder = Rebalancing()
    herder.add("c1")
    async with rest(herder) as http:
        reply = await http.delete("/connectors/c1")
        listed = await http.get("/connectors?expand=info")
    assert reply.json() == failure(409, "Cannot complete request because of a conflicting operation (e.g. worker rebalance)")
    assert (reply.status_code, listed.status_code) == (409, 409)


async def test_no_failure_has_fastapi_s_format() -> None:
    app = create_app(FakeHerder())

    @app.get("/number")
    async def number(n: int) -> int:
        return n

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://connect.example") as http:
        reply = await http.get("/number?n=x")
    assert reply.status_code == 400
    assert reply.json()["error_code"] == 400
    assert reply.json()["message"].startswith("Parameter query.n is not valid: ")


async def test_a_client_that_leaves_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    app = create_app(FakeHerder())
    sent: list[Mapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/connectors",
        "raw_path": b"/connectors",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:8083"), (b"content-type", b"application/json")],
        "server": ("127.0.0.1", 8083),
    }
    await app(scope, receive, send)
    assert sent == []
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


async def test_a_server_without_raw_paths_is_served_too() -> None:
    app = create_app(one("c ä"))
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/connectors/c ä/config", "query_string": b"", "headers": []}
    await app(scope, receive, send)
    assert sent[0]["status"] == 200


def test_only_json_is_written() -> None:
    with pytest.raises(TypeError):
        models.reply({"a": object()})


async def test_openapi_describes_every_route_and_announces_no_422() -> None:
    async with rest(FakeHerder()) as http:
        page, description = await http.get("/docs"), (await http.get("/openapi.json")).json()
        for name in ("swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png"):
            assert f"/docs/{name}" in page.text
            assert (await http.get(f"/docs/{name}")).status_code == 200
    assert "://" not in page.text
    assert page.status_code == 200
    operations = [operation for path in description["paths"].values() for operation in path.values()]
    assert len(operations) == 34
    assert all(operation["description"] and "422" not in operation["responses"] for operation in operations)
    assert all({"406", "500"} <= operation["responses"].keys() for operation in operations)
    answers = [answer for operation in operations for status, answer in operation["responses"].items() if status not in ("202", "204")]
    assert all("schema" in kind for answer in answers for kind in answer["content"].values())
    restart = description["paths"]["/connectors/{connector}/restart"]["post"]
    assert [parameter["name"] for parameter in restart["parameters"]] == ["connector", "includeTasks", "onlyFailed"]
    assert "requestBody" in description["paths"]["/connectors"]["post"]


def raw(method: str, path: str) -> httpx.Request:
    """A request whose path goes out as it is written; httpx would tidy it up."""
    request = httpx.Request(method, "http://connect.example:8083")
    request.url = httpx.URL("http://connect.example:8083").copy_with(raw_path=path.encode())
    return request


async def test_the_description_is_written_once() -> None:
    async with rest(FakeHerder()) as http:
        first = await http.get("/openapi.json")
        with patch("connect_api.app.JSONResponse", side_effect=AssertionError):
            second = await http.get("/openapi.json")
    assert second.content == first.content
    assert second.headers["content-type"] == first.headers["content-type"] == "application/json"
