"""What a client never sends by accident: bytes that two HTTP servers could read in two ways reach the application once or never."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.support.raw_http import RawHttp, statuses
from workers.rest.connections import Limits

JSON: Final = b"Host: h\r\nContent-Type: application/json\r\n"
CHUNKED: Final = b"Transfer-Encoding: chunked\r\n\r\n"
SMUGGLED: Final = b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"


class Echo:
    """Counts the paths that it is asked for and reads each body."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes]] = []
        self.headers: set[bytes] = set()
        """Names in the first request."""

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        self.asked.append((scope["path"], body))
        self.headers = self.headers or {name for name, _ in scope["headers"]}
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n",
        b"Content-Length: 6\r\nContent-Length: 5\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2, 2\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: +2\r\n\r\n",
        b"Content-Length: 0x2\r\n\r\n",
        b"Content-Length: 2 2\r\n\r\n",
        b"Content-Length:\r\n\r\n",
        b"Content-Length: 99999999999999999999999\r\n\r\n",
        b"Content-Length : 2\r\n\r\n",
        b"Transfer-Encoding: xchunked\r\n\r\n",
        b"Transfer-Encoding: chunked, identity\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n",
        b"Transfer-Encoding:\x0bchunked\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n folded\r\n\r\n",
        b"X: a\r\n b\r\n\r\n",
        b"X: a\x00b\r\n\r\n",
        b"X: a\rY: b\r\n\r\n",
        b"X: a\nContent-Length: 5\r\n\r\n",
        b"X\x00: a\r\n\r\n",
        b": a\r\n\r\n",
        b"no colon\r\n\r\n",
        CHUNKED + b"zz\r\n",
        CHUNKED + b"-1\r\n",
        CHUNKED + b"+1\r\n",
        CHUNKED + b"0x2\r\n",
        CHUNKED + b"fffffffffffffffff\r\n",
        CHUNKED + b"1\r\n{}\r\n",
        CHUNKED + b"2;\n{}\r\n",
        CHUNKED + b"2\n{}\r\n",
        CHUNKED + b"2\r\n{}\n0\r\n",
        CHUNKED + b"0\r\nbad trailer\r\n",
    ],
)
async def test_bodies_of_no_certain_length_are_refused(head: bytes) -> None:
    app = Echo()
    given = statuses(await RawHttp(app).exchange(b"POST /first HTTP/1.1\r\n" + JSON + head + SMUGGLED))
    assert given == [400]
    assert "/smuggled" not in [path for path, _ in app.asked]


@pytest.mark.parametrize(
    "line",
    [
        b"GET /first HTTP/3.0",
        b"GET /first HTTP/1.1 x",
        b"GET  /first HTTP/1.1 ",
        b"GET /first\x01 HTTP/1.1",
        b"GET /first\xe9 HTTP/1.1",
        b"GET /a b HTTP/1.1",
        b"get /first HTTP/1.1",
        b"PRI * HTTP/2.0",
        b"CONNECT h:1 HTTP/1.1",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1",
    ],
)
async def test_lines_that_are_no_request_are_refused(line: bytes) -> None:
    app = Echo()
    assert statuses(await RawHttp(app).exchange(line + b"\r\nHost: h\r\n\r\n" + SMUGGLED)) == [400]
    assert app.asked == []


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (CHUNKED + b"2\r\n{}\r\n0\r\n\r\n", b"{}"),
        (CHUNKED + b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", b"{}"),
        (CHUNKED + b"2;a=b\r\n{}\r\n0\r\n\r\n", b"{}"),
        (CHUNKED + b"00000002\r\n{}\r\n0\r\n\r\n", b"{}"),
        (CHUNKED + b"2\r\n{}\r\n0\r\nAuthorization: Basic x\r\nHost: other\r\n\r\n", b"{}"),
        (b"Content-Length: 2\r\n\r\n{}", b"{}"),
        (b"Content-Length: 0002\r\n\r\n{}", b"{}"),
        (b"Content-Length: %d\r\n\r\n" % len(SMUGGLED) + SMUGGLED, SMUGGLED),
    ],
)
async def test_bodies_end_where_they_say(sent: bytes, body: bytes) -> None:
    app = Echo()
    given = statuses(await RawHttp(app).exchange(b"POST /first HTTP/1.1\r\n" + JSON + sent + b"GET /second HTTP/1.1\r\nHost: h\r\n\r\n"))
    assert (given, app.asked) == ([200, 200], [("/first", body), ("/second", b"")])
    # Trailers are no headers.
    assert app.headers == {b"host", b"content-type", b"transfer-encoding" if sent.startswith(b"T") else b"content-length"}


async def test_nothing_is_read_after_the_last_request() -> None:
    app = Echo()
    last = b"GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    assert statuses(await RawHttp(app).exchange(last + SMUGGLED, SMUGGLED)) == [200]
    assert app.asked == [("/last", b"")]


async def test_many_pipelined_requests_are_answered_in_order() -> None:
    app = Echo()
    requests = b"".join(b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % number for number in range(10_000))
    given = statuses(await RawHttp(app, Limits(connections=1)).exchange(requests))
    assert given == [200] * 10_000
    assert [path for path, _ in app.asked] == [f"/{number}" for number in range(10_000)]


async def test_100_continue_is_sent_only_if_the_body_is_read() -> None:
    async def refuses(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    waiting = b"POST /first HTTP/1.1\r\n" + JSON + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    assert statuses(await RawHttp(refuses).exchange(waiting)) == [401]
    assert statuses(await RawHttp(Echo()).exchange(waiting, b"{}")) == [100, 200]
