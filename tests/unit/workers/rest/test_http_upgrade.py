"""A request that offers another protocol is answered in HTTP/1.1, body and all, however it is cut into packets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from workers.rest.http_settings import HttpSettings
from workers.rest.http_upgrade import DecliningProtocol
from workers.rest.server import RestServer

OFFER: Final = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n"
BODY: Final = "Content-Length: 5\r\n\r\nhello"
CHUNKED: Final = "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
PLAIN: Final = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter, DecliningProtocol]


async def echo(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Tells the request as JSON."""
    body = b""
    while (message := await receive()).get("more_body"):
        body += message["body"]
    reported = {
        "method": scope["method"],
        "path": scope["path"],
        "query": scope["query_string"].decode(),
        "body": (body + message["body"]).decode(),
    }
    text = json.dumps(reported).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(text))]})
    await send({"type": "http.response.body", "body": text})


@pytest.fixture
async def streams() -> AsyncIterator[Streams]:
    server = RestServer(HttpSettings.from_properties({"listeners": "http://127.0.0.1:0"}))
    [[listening]] = server._sockets.values()
    serving = asyncio.create_task(server.serve(echo, echo))
    reader, writer = await asyncio.open_connection(*listening.getsockname())
    writer.write(PLAIN.encode())
    assert (await answer(reader))["path"] == "/"
    [serves] = server._servers
    [connection] = serves.server_state.connections
    assert isinstance(connection, DecliningProtocol)
    yield reader, writer, connection
    writer.close()
    await writer.wait_closed()
    server.stop()
    await serving


async def answer(reader: asyncio.StreamReader) -> dict[str, str]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    assert head.startswith("HTTP/1.1 200 ")
    length = next(line.partition(": ")[2] for line in head.splitlines() if line.startswith("content-length"))
    reported: dict[str, str] = json.loads(await reader.readexactly(int(length)))
    return reported


@pytest.mark.parametrize("rest", [BODY, CHUNKED])
@pytest.mark.parametrize("packet", [1, 7, 64, 1000])
async def test_the_body_comes_through(streams: Streams, rest: str, packet: int) -> None:
    reader, _, connection = streams
    request = f"POST /connectors?a=b HTTP/1.1\r\nHost: h\r\n{OFFER}{rest}".encode()
    # Twice, because the connection continues as if the client had offered no upgrade.
    for _ in range(2):
        for start in range(0, len(request), packet):
            connection.data_received(request[start : start + packet])
        assert await answer(reader) == {"method": "POST", "path": "/connectors", "query": "a=b", "body": "hello"}


async def test_pipelined_requests(streams: Streams) -> None:
    reader, writer, _ = streams
    offered = f"PUT /one HTTP/1.1\r\nHost: h\r\n{OFFER}{BODY}"
    bare = f"GET /two HTTP/1.1\r\nHost: h\r\n{OFFER}\r\n"
    plain = f"POST /three HTTP/1.1\r\nHost: h\r\n{BODY}"
    writer.write((offered + bare + plain + offered).encode())
    reported = [await answer(reader) for _ in range(4)]
    assert [(each["method"], each["path"], each["body"]) for each in reported] == [
        ("PUT", "/one", "hello"),
        ("GET", "/two", ""),
        ("POST", "/three", "hello"),
        ("PUT", "/one", "hello"),
    ]


async def test_a_web_socket_is_declined(streams: Streams) -> None:
    reader, writer, _ = streams
    writer.write(b"GET /socket HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    assert (await answer(reader))["path"] == "/socket"


async def test_a_caller_that_expects_100_continue(streams: Streams) -> None:
    reader, writer, _ = streams
    writer.write(f"POST /late HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n{OFFER}Content-Length: 5\r\n\r\n".encode())
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(b"hello")
    assert (await answer(reader))["body"] == "hello"
