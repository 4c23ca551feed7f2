"""Nothing gets past the login: every call, written in every way that a parser, a proxy or a framework might read otherwise.

The requests are bytes, read by the worker's own HTTP server. A form got through if the herder was asked for anything.
"""

from __future__ import annotations

import base64
from typing import Any, Final, cast

import pytest

from connect_api.app import create_app
from connect_api.herder import Herder
from connect_api.login import Login
from tests.support.each_case import each_case
from tests.support.fake_herder import FakeHerder
from tests.support.raw_http import RawHttp, statuses

USERS: Final = {"alice": "secret", "bob": "", "": "", "carol": "pä:ss"}
RIGHT: Final = b"Authorization: Basic " + base64.b64encode(b"alice:secret") + b"\r\n"
REFUSED: Final = {400, 401, 403, 404, 405, 406, 415}
OPEN: Final = (b" /docs", b" /openapi.json")
"""Beginnings of the paths that are shown to everybody."""


class Watched:
    """A herder that counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._herder = FakeHerder()
        self._herder.add("shop")

    def __getattr__(self, verb: str) -> Any:
        self.asked.append(verb)
        return getattr(self._herder, verb)


HERDER: Final = Watched()
HTTP: Final = RawHttp(create_app(cast("Herder", HERDER), login=Login(USERS)))
HERDER.asked.clear()

PATHS: Final = (
    "/",
    "/health",
    "/connectors",
    "/connectors?expand=status",
    "/connectors/shop",
    "/connectors/shop/config",
    "/connectors/shop/status",
    "/connectors/shop/pause",
    "/connectors/shop/restart?includeTasks=true",
    "/connectors/shop/tasks",
    "/connectors/shop/tasks/0/restart",
    "/connectors/shop/topics/reset",
    "/connectors/shop/offsets",
    "/connectors/shop/signals",
    "/connectors/shop/notifications",
    "/connectors/shop/progress",
    "/connector-plugins",
    "/connector-plugins/Postgres/config/validate",
    "/admin/loggers",
    "/admin/loggers/root",
)
METHODS: Final = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "get", "FOO")
SPELLINGS: Final = {
    "plain": "{}",
    "slash behind": "{}/",
    "slashes behind": "{}//",
    "slash before": "/{}",
    "host before": "//localhost{}",
    "dot segment": "/.{}",
    "dot segments": "/x/..{}",
    "dot segments behind": "{}/x/..",
    "encoded dot": "/%2e{}",
    "encoded dots": "/x/%2e%2e{}",
    "encoded slash before": "/%2f{}",
    "encoded slash behind": "{}%2f",
    "backslash": "/\\{}",
    "dot behind": "{}.",
    "encoded dot behind": "{}%2e",
    "matrix parameter": "{};a=b",
    "empty matrix parameter": "{};",
    "matrix parameter of an open page": "/docs;{}",
    "json behind": "{}.json",
    "NUL behind": "{}%00",
    "line end behind": "{}%0a",
    "blank behind": "{}%20",
    "question behind": "{}?",
    "encoded question behind": "{}%3f",
    "fragment": "{}#x",
    "doubly encoded": "/%252e{}",
    "overlong slash": "/%c0%af{}",
    "open page before": "/docs/..{}",
    "open page before, encoded": "/docs/%2e%2e{}",
    "open description before": "/openapi.json/..{}",
    "call between workers behind": "{}/../../connectors/shop/tasks",
    "absolute": "http://h{}",
    "absolute, other host": "http://other:1{}",
    "absolute, user": "http://alice:secret@h{}",
    "absolute, two slashes": "http://h/{}",
    "without slash": "x{}",
}
HEADERS: Final = {
    "none": b"",
    "method override": b"X-HTTP-Method-Override: GET\r\nX-HTTP-Method: GET\r\nX-Method-Override: GET\r\n",
    "forwarded": b"X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: localhost\r\nX-Real-IP: 127.0.0.1\r\nForwarded: for=127.0.0.1\r\n",
    "user by a proxy": b"X-Forwarded-User: alice\r\nX-Remote-User: alice\r\nRemote-User: alice\r\nX-User: alice\r\n",
    "other path": b"X-Original-URL: /docs\r\nX-Rewrite-URL: /docs\r\nX-Forwarded-Prefix: /docs\r\n",
    "offer of HTTP/2": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQBAAAAAAIAAAAA\r\n",
    "offer of a web socket": b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YQ==\r\n",
    "login dropped on the way": b"Connection: Authorization, close\r\nAuthorization: Basic x\r\n",
    "signed like a worker": b"X-Connect-Authorization: QUJD\r\nX-Connect-Request-Signature-Algorithm: HmacSHA256\r\n",
    "other media types": b"Accept: text/event-stream\r\nContent-Type: application/json\r\n",
    "preflight": b"Origin: http://h\r\nAccess-Control-Request-Method: GET\r\n",
    "cookie": b"Cookie: user=alice; Authorization=Basic YWxpY2U6c2VjcmV0\r\n",
    "proxy's login": b"Proxy-Authorization: Basic YWxpY2U6c2VjcmV0\r\nX-Authorization: Basic YWxpY2U6c2VjcmV0\r\n",
    "underscore": b"Authorization_: Basic YWxpY2U6c2VjcmV0\r\n",
    "a body that could be a request": b"Content-Length: 31\r\n",
}
BODY_THAT_COULD_BE_A_REQUEST: Final = b"GET /connectors HTTP/1.1\r\nA: b\r\n"


async def through(request: bytes) -> list[str]:
    """What the herder was asked for by ``request``; asserts that each answer is a refusal or one of the open pages."""
    HERDER.asked.clear()
    given = set(statuses(await HTTP.exchange(request)))
    assert given
    assert given <= REFUSED or (given == {200} and any(path in request for path in OPEN))
    return HERDER.asked


@each_case("spelling", SPELLINGS)
async def test_spellings(spelling: str) -> None:
    for path in PATHS:
        for method in METHODS:
            written = SPELLINGS[spelling].format(path)
            asked = await through(f"{method} {written} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
            assert (method, written, asked) == (method, written, [])


@each_case("version", ["1.0", "1.1"])
@each_case("headers", HEADERS)
async def test_headers(headers: str, version: str) -> None:
    body = BODY_THAT_COULD_BE_A_REQUEST[:31] if b"Content-Length" in HEADERS[headers] else b""
    for path in PATHS:
        for method in METHODS[:7]:
            head = f"{method} {path} HTTP/{version}\r\nHost: h\r\n".encode() + HEADERS[headers]
            assert (method, path, await through(head + b"\r\n" + body)) == (method, path, [])


def basic(text: bytes) -> bytes:
    return b"Basic " + base64.b64encode(text)


AUTHORIZATIONS: Final = (
    b"",
    b"Basic",
    b"Basic ",
    b"Basic =",
    b"Basic ====",
    b"Basic !!!",
    b"Basic \xe4\xf6",
    b"Basic YWxpY2U6c2VjcmV0x",
    b"Basic YWxp Y2U6c2VjcmV0",
    b"Basic  YWxpY2U6c2VjcmV0",
    b"Basic\tYWxpY2U6c2VjcmV0",
    b"BasicYWxpY2U6c2VjcmV0",
    b"Basic:YWxpY2U6c2VjcmV0",
    b"Basic Basic YWxpY2U6c2VjcmV0",
    b"Basic alice:secret",
    b'Basic realm="h", YWxpY2U6c2VjcmV0',
    b"Bearer YWxpY2U6c2VjcmV0",
    b"Digest YWxpY2U6c2VjcmV0",
    b"Negotiate YWxpY2U6c2VjcmV0",
    b"YWxpY2U6c2VjcmV0",
    b"alice:secret",
    basic(b""),
    basic(b":"),
    basic(b"::"),
    basic(b":secret"),
    basic(b"alice"),
    basic(b"alice:"),
    basic(b"alice:\0"),
    basic(b"alice:secret\0"),
    basic(b"alice:secret\n"),
    basic(b"alice:secret\r\n"),
    basic(b"alice:secret "),
    basic(b"alice:secret:"),
    basic(b"alice\0:secret"),
    basic(b"alice\n:secret"),
    basic(b" alice:secret"),
    basic(b"alice :secret"),
    basic(b"\0alice:secret"),
    basic(b"\nalice:secret"),
    basic(b"ALICE:secret"),
    basic(b"alice:SECRET"),
    basic(b"alice:secre"),
    basic(b"alice:secret" * 2),
    basic(b"alice:*"),
    basic(b"*:secret"),
    basic(b"%61lice:secret"),
    basic("\uff41lice:secret".encode()),
    basic("alice\u200b:secret".encode()),
    basic(b"\xffalice:secret"),
    basic(b"alice:secret\xff"),
    basic(b"bob"),
    basic(b"bob:x"),
    basic(b"eve:"),
    basic(b"eve:secret"),
    basic(b"carol:p\xe4:ss"),
    basic("carol:pä".encode()),
    basic(b"alice:" + b"s" * 40_000),
    basic(b"a" * 40_000 + b":secret"),
)


@pytest.mark.parametrize("authorization", AUTHORIZATIONS, ids=range(len(AUTHORIZATIONS)))
async def test_authorizations(authorization: bytes) -> None:
    line = b"Authorization: " + authorization + b"\r\n"
    for path in PATHS:
        for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
            head = f"{method} {path} HTTP/1.1\r\nHost: h\r\n".encode() + line
            assert (path, await through(head + b"\r\n")) == (path, [])


@pytest.mark.parametrize("wrong", [b"Authorization: Basic x\r\n", b"Authorization:\r\n", b"Authorization: Bearer x\r\n"])
async def test_of_several_logins_the_first_counts(wrong: bytes) -> None:
    assert await through(b"GET /connectors HTTP/1.1\r\nHost: h\r\n" + wrong + RIGHT + b"\r\n") == []


async def test_one_login_does_not_serve_the_next_request_of_the_connection() -> None:
    first, second = b"GET /connectors HTTP/1.1\r\nHost: h\r\n" + RIGHT + b"\r\n", b"GET /connectors/shop HTTP/1.1\r\nHost: h\r\n\r\n"
    assert statuses(await HTTP.exchange(first + second + first)) == [200, 401, 200]


@each_case("path", PATHS)
async def test_the_right_login_gets_through(path: str) -> None:
    HERDER.asked.clear()
    for method in ("GET", "POST", "PUT"):
        given = statuses(await HTTP.exchange(f"{method} {path} HTTP/1.1\r\nHost: h\r\n".encode() + RIGHT + b"Connection: close\r\n\r\n"))
        assert 401 not in given
    assert HERDER.asked or path.endswith(("/signals", "/validate"))
