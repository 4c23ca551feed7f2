"""The middleware, around an application of the test."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from connect_api.front import Front
from connect_api.methods import allowed
from connect_api.paths import canonical
from tests.support.each_case import each_case


async def nothing() -> dict[str, Any]:
    return {"type": "http.disconnect"}


@pytest.mark.parametrize("kind", ["lifespan", "websocket"])
async def test_other_protocols_pass_untouched(kind: str) -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope)

    async def send(message: Any) -> None:
        raise AssertionError(message)

    scope = {"type": kind}
    await Front(app, [])(scope, nothing, send)
    assert seen == [scope]
    assert seen[0] is scope


async def test_a_failure_after_the_reply_began_is_logged_and_left_to_the_server(caplog: pytest.LogCaptureFixture) -> None:
    sent: list[Any] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError("late")

    async def send(message: Any) -> None:
        sent.append(message)

    with pytest.raises(ValueError, match="late"):
        await Front(app, [])({"type": "http", "method": "GET", "path": "/", "raw_path": b"/"}, nothing, send)
    assert [message["type"] for message in sent] == ["http.response.start"]
    (record,) = caplog.records
    assert record.getMessage() == "request failed"
    assert vars(record)["fields"] == {"method": "GET", "path": "/"}


async def test_the_server_s_scope_is_not_changed() -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope)

    async def send(message: Any) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "HEAD", "path": "/a b/", "raw_path": b"/a%20b/"}
    await Front(app, [])(scope, nothing, send)
    assert scope == {"type": "http", "method": "HEAD", "path": "/a b/", "raw_path": b"/a%20b/"}
    assert (seen[0]["method"], seen[0]["path"]) == ("GET", "/a%20b")


@each_case(
    ("raw", "path"),
    [
        (b"/", "/"),
        (b"/a", "/a"),
        (b"/a/", "/a"),
        (b"/a;b=c/d;e", "/a/d"),
        (b"/%61%2f%2F/", "/a%2F%2F"),
        (b"/%c3%a4", "/%C3%A4"),
        (b"/\xc3\xa4", "/%C3%A4"),
        (b"/%zz", "/%25zz"),
        (b"/./a", "/./a"),
    ],
)
def test_one_spelling_of_paths(raw: bytes, path: str) -> None:
    assert canonical(raw) == path


def test_no_route_allows_nothing() -> None:
    assert allowed([], {"type": "http", "method": "GET", "path": "/"}) == []
