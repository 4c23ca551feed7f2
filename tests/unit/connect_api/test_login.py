"""Login as recorded from Kafka Connect 4.3.0 with its BasicAuthSecurityRestExtension."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import cast

import httpx
import pytest

from connect_api.app import create_admin_app, create_app
from connect_api.herder import Herder
from connect_api.login import Login
from tests.support.each_case import each_case
from tests.support.fake_herder import FakeHerder

USERS = {"alice": "secret", "bob": "pa:ss wörd", "": ""}
ALICE = "Basic YWxpY2U6c2VjcmV0"


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(cast("Herder", FakeHerder()), login=Login(USERS))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://connect") as opened:
        yield opened


@each_case(
    ("header", "accepted"),
    [
        (ALICE, True),
        (ALICE.replace("Basic", "bAsIc"), True),
        (ALICE + " ", True),
        (basic("bob:pa:ss wörd"), True),
        (basic("alice:secret").rstrip("="), True),
        (None, False),
        ("", False),
        ("Basic", False),
        ("Bearer x", False),
        ("Basic !!!", False),
        ("Basic  YWxpY2U6c2VjcmV0", False),
        (basic("alice"), False),
        (basic("alice:"), False),
        (basic("alice:Secret"), False),
        (basic("Alice:secret"), False),
        (basic("eve:secret"), False),
        (basic("eve:"), False),
        (basic(":"), False),
        ("Basic /////w==", False),
        ("Basic ä", False),
    ],
)
def test_which_logins_are_accepted(header: str | None, accepted: bool) -> None:
    assert Login(USERS).accepts(header) is accepted


def test_without_users_all_requests_are_accepted() -> None:
    assert Login({}).accepts(None)


@pytest.mark.parametrize("path", ["/", "/health", "/connectors", "/connectors/x/progress", "/admin/loggers"])
async def test_refusal(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert (answer.status_code, answer.text, answer.headers["content-type"]) == (
        401,
        "User cannot access the resource.",
        "application/json",
    )
    assert "www-authenticate" not in answer.headers
    assert (await client.get(path, headers={"Authorization": ALICE})).status_code != 401


async def test_head_is_refused_without_a_body(client: httpx.AsyncClient) -> None:
    answer = await client.head("/connectors")
    assert (answer.status_code, answer.content, answer.headers["content-length"]) == (401, b"", "32")


async def test_options_ask_too(client: httpx.AsyncClient) -> None:
    answer = await client.options("/connectors")
    assert (answer.status_code, answer.text, answer.headers["content-type"]) == (401, "User cannot access the resource.", "text/plain")
    assert (await client.options("/connectors", headers={"Authorization": ALICE})).text == "HEAD, POST, GET, OPTIONS"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/nowhere", {}, 404),
        ("DELETE", "/", {}, 405),
        ("GET", "/", {"Accept": "text/html"}, 406),
        ("POST", "/connectors", {"Content-Type": "text/plain"}, 415),
        ("OPTIONS", "/nowhere", {}, 404),
    ],
)
async def test_what_is_no_call_is_refused_without_a_login(
    client: httpx.AsyncClient, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert (await client.request(method, path, headers=headers)).status_code == status


async def test_a_body_is_not_read_before_the_login(client: httpx.AsyncClient) -> None:
    answer = await client.post("/connectors", content=b"{", headers={"Content-Type": "application/json"})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/connectors/x/tasks"), ("POST", "/connectors/x/tasks/"), ("PUT", "/connectors/x/fence")]
)
async def test_calls_between_workers_need_no_login(client: httpx.AsyncClient, method: str, path: str) -> None:
    answer = await client.request(method, path, content=b"[]")
    assert (answer.status_code, answer.json()["message"]) == (400, "Internal request missing required signature")


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/connectors/x/tasks"), ("PUT", "/connectors/x/stop"), ("POST", "/connectors/tasks/tasks/0/restart")]
)
async def test_their_neighbours_do(client: httpx.AsyncClient, method: str, path: str) -> None:
    assert (await client.request(method, path)).status_code == 401


async def test_the_description_is_open(client: httpx.AsyncClient) -> None:
    assert (await client.get("/openapi.json")).status_code == 200


async def test_admin_alone_serves_the_loggers_and_nothing_else() -> None:
    app = create_admin_app(cast("Herder", FakeHerder()))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://connect") as client:
        assert (await client.get("/admin/loggers")).status_code == 200
        for path in ("/", "/health", "/connectors", "/docs", "/openapi.json"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()) == (404, {"error_code": 404, "message": "HTTP 404 Not Found"})


async def test_without_admin_there_are_no_loggers() -> None:
    app = create_app(cast("Herder", FakeHerder()), admin=False)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://connect") as client:
        assert (await client.get("/admin/loggers")).status_code == 404
        assert (await client.get("/connectors")).status_code == 200
