"""Connections within their limits: slow and silent callers are closed, and none of them keeps another out."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from connector.errors import CdcError
from tests.support.project import TLS
from tests.support.raw_http import RawHttp, statuses
from workers.rest.connections import Connections, Limits
from workers.rest.http_settings import HttpSettings
from workers.rest.server import RestServer

PEM: Final = TLS
SOON: Final = 0.05
SECONDS: Final = 30
"""Only a test that fails waits so long."""
GET: Final = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
HALF: Final = b"GET / HTTP/1.1\r\nHo"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Held:
    """An application that answers ``/held`` when the test releases it, and other paths at once."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.came = asyncio.Queue[None]()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["path"] == "/held":
            self.came.put_nowait(None)
            await self.let_go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


@dataclass
class Served:
    server: RestServer
    app: Held
    listeners: str
    opened: list[asyncio.StreamWriter]

    async def open(self, sent: bytes = b"", *, admin: bool = False, tls: ssl.SSLContext | None = None) -> Streams:
        [listening] = self.server._sockets["admin.listeners" if admin else "listeners", self.listeners == "https"]
        host, port = listening.getsockname()[:2]
        reader, writer = await asyncio.open_connection(host, port, ssl=tls, server_hostname="localhost" if tls else None)
        self.opened.append(writer)
        writer.write(sent)
        return reader, writer


@asynccontextmanager
async def serving(listeners: str = "http", admin: str = "", other: Any = None, **limits: Any) -> AsyncIterator[Served]:
    properties = {"listeners": f"{listeners}://127.0.0.1:0"} | ({"admin.listeners": f"{admin}://127.0.0.1:0"} if admin else {})
    if listeners == "https":
        properties |= {
            "listeners.https.ssl.keystore.type": "PEM",
            "listeners.https.ssl.keystore.location": str(PEM / "server_encrypted.pem"),
            "listeners.https.ssl.key.password": "changeit",
        }
    server = RestServer(replace(HttpSettings.from_properties(properties), limits=Limits(**limits)))
    app = Held()
    served = Served(server, app, listeners, [])
    running = asyncio.create_task(server.serve(other or app, app))
    try:
        yield served
    finally:
        app.let_go.set()
        for writer in served.opened:
            writer.close()
        server.stop()
        await running


async def ok(reader: asyncio.StreamReader) -> bool:
    answer = await reader.readuntil(b"\r\n\r\n")
    return answer.startswith(b"HTTP/1.1 200 ") and await reader.readexactly(2) == b"ok"


async def ended(streams: Streams) -> bytes:
    """What comes until the connection is closed, however it is."""
    try:
        async with asyncio.timeout(SECONDS):
            return await streams[0].read()
    except ConnectionError:
        return b""


async def trickle(streams: Streams, piece: bytes) -> bytes:
    """Send it again and again until the connection is closed; what came."""
    ending = asyncio.create_task(ended(streams))
    while not ending.done():
        streams[1].write(piece)
        await asyncio.sleep(0)
    return await ending


def reported(answer: bytes) -> tuple[int, int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head
    said = json.loads(body)
    return int(head.split()[1]), said["error_code"], said["message"]


# Time


async def test_a_silent_connection_is_closed() -> None:
    async with serving(head_seconds=SOON) as served:
        assert await ended(await served.open()) == b""


async def test_half_a_head_times_out() -> None:
    async with serving(head_seconds=SOON) as served:
        status, code, message = reported(await ended(await served.open(HALF)))
    assert (status, code) == (408, 408)
    assert message == "The head of the request did not end within 0.05 seconds. Send all of it at once."


async def test_a_head_byte_by_byte_has_no_more_time() -> None:
    async with serving(head_seconds=SOON) as served:
        await trickle(await served.open(b"GET / HTTP/1.1\r\nX: "), b"a")
        assert len(served.server._connections) == 0


async def test_the_second_head_has_no_more_time() -> None:
    async with serving(head_seconds=SOON) as served:
        streams = await served.open(GET)
        assert await ok(streams[0])
        streams[1].write(b"GET / HTTP/1.1\r\nX: ")
        await trickle(streams, b"a")
        assert len(served.server._connections) == 0


async def test_empty_lines_between_requests_keep_no_connection_open() -> None:
    async with serving(head_seconds=SOON) as served:
        streams = await served.open(GET)
        assert await ok(streams[0])
        assert await trickle(streams, b"\r\n") == b""


async def test_a_body_that_continues_after_its_answer_ends() -> None:
    async with serving(head_seconds=SOON) as served:
        streams = await served.open(b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n")
        assert await ok(streams[0])
        assert await trickle(streams, b"a") == b""


async def test_an_idle_connection_is_closed() -> None:
    async with serving(idle_seconds=SOON) as served:
        streams = await served.open(GET)
        assert await ok(streams[0])
        assert await ended(streams) == b""


async def test_time_for_a_head_does_not_count_while_a_request_is_answered() -> None:
    async with serving(head_seconds=SOON) as served:
        streams = await served.open(b"GET /held HTTP/1.1\r\nHost: h\r\n\r\n")
        await served.app.came.get()
        # Another connection shows that the time is over.
        assert await ended(await served.open()) == b""
        served.app.let_go.set()
        assert await ok(streams[0])


async def test_an_unread_answer_times_out() -> None:
    over = asyncio.Event()

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(64):
            await send({"type": "http.response.body", "body": bytes(2**20), "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        over.set()

    async with serving(other=app, idle_seconds=SOON) as served:
        reader, _ = await served.open(GET)
        async with asyncio.timeout(SECONDS):
            await over.wait()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(64 * 2**20)
        assert len(served.server._connections) == 0


# Size


@pytest.mark.parametrize("packet", [1, 100, 1_000_000])
async def test_a_head_that_is_too_long_is_refused_before_its_end(packet: int) -> None:
    http = RawHttp(None, Limits(head_bytes=500))
    head = b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"a" * 1000
    status, code, message = reported(await http.exchange(*(head[start : start + packet] for start in range(0, len(head), packet))))
    assert (status, code) == (431, 431)
    assert message == "The head of the request, or its trailers, are longer than 500 bytes. Send fewer or shorter headers."


@pytest.mark.parametrize("piece", [b"X: a\r\n", b"a" * 100])
async def test_no_more_than_the_limit_is_kept(piece: bytes) -> None:
    http = RawHttp(None, Limits(head_bytes=500))
    beginnings = [b"GET / HTTP/1.1\r\n"] if piece.endswith(b"\n") else [b"GET /"]
    assert statuses(await http.exchange(*beginnings, *[piece] * 1000)) == [431]


async def test_bodies_and_pipelined_requests_are_no_long_head() -> None:
    http = RawHttp(Held(), Limits(head_bytes=100))
    posts = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n" + bytes(1000)
    assert statuses(await http.exchange(posts * 3 + GET * 20 + GET[:10], GET[10:])) == [200] * 24


@pytest.mark.parametrize("piece", [b"X: a\r\n", b"a" * 100])
async def test_trailers_are_limited_too(piece: bytes) -> None:
    asked: list[Any] = []

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        while (message := await receive())["type"] == "http.request" and message["more_body"]:
            pass
        asked.append(message["type"])

    http = RawHttp(app, Limits(head_bytes=500))
    begun = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: a"
    await http.exchange(begun + b"\r\n" * piece.endswith(b"\n"), *[piece] * 1000)
    assert asked == ["http.disconnect"]


# Number


class Line:
    def __init__(self) -> None:
        self.cuts = 0

    def cut(self) -> None:
        self.cuts += 1


def test_the_connection_that_has_waited_longest_gives_way() -> None:
    connections, lines = Connections(3), [Line() for _ in range(6)]
    assert all(connections.admit(line) for line in lines[:3])
    connections.answers(lines[0])
    connections.waits(lines[0])
    assert connections.admit(lines[3])
    assert [line.cuts for line in lines] == [0, 1, 0, 0, 0, 0]
    connections.closed(lines[1])
    for line in (lines[0], lines[2], lines[3]):
        connections.answers(line)
    assert len(connections) == 3
    assert not connections.admit(lines[4])
    connections.closed(lines[2])
    assert connections.admit(lines[4])
    assert [line.cuts for line in lines] == [0, 1, 0, 0, 0, 0]


def test_what_is_not_counted_any_more_stays_so() -> None:
    connections, line = Connections(1), Line()
    assert connections.admit(line)
    assert connections.admit(Line())
    connections.answers(line)
    connections.waits(line)
    connections.closed(line)
    assert (len(connections), line.cuts) == (1, 1)


@pytest.mark.parametrize("sent", [b"", HALF, GET])
async def test_waiting_connections_do_not_block_other_clients(sent: bytes) -> None:
    async with serving(connections=5) as served:
        waiting = [await served.open(sent) for _ in range(5)]
        for streams in waiting if sent == GET else []:
            assert await ok(streams[0])
        for oldest in waiting:
            reader, _ = await served.open(GET)
            assert await ok(reader)
            assert await ended(oldest) == b""


async def test_requests_that_are_answered_are_not_cut_off() -> None:
    async with serving(connections=2) as served:
        held = [await served.open(b"GET /held HTTP/1.1\r\nHost: h\r\n\r\n") for _ in range(2)]
        for _ in held:
            await served.app.came.get()
        status, code, message = reported(await ended(await served.open()))
        assert (status, code) == (503, 503)
        assert "rest.max.connections" in message
        served.app.let_go.set()
        for reader, _ in held:
            assert await ok(reader)
        assert await ok((await served.open(GET))[0])


async def test_admin_listeners_count_too() -> None:
    async with serving(admin="http", connections=1) as served:
        first = await served.open(HALF, admin=True)
        assert await ok((await served.open(GET))[0])
        assert await ended(first) == b""


async def test_admin_listeners_answer_while_requests_use_all_other_connections() -> None:
    async with serving(admin="http", connections=2) as served:
        held = [await served.open(b"GET /held HTTP/1.1\r\nHost: h\r\n\r\n") for _ in range(2)]
        for _ in held:
            await served.app.came.get()
        assert await ok((await served.open(GET, admin=True))[0])
        # The connection of the operator waits now, so it gives way.
        assert await ok((await served.open(GET))[0])


def test_the_reserve_has_an_end() -> None:
    connections = Connections(1)

    def answering(reserve: int) -> bool:
        line = Line()
        admitted = connections.admit(line, reserve)
        connections.answers(line)
        return admitted

    assert [answering(reserve) for reserve in (0, 0, 2, 2, 2, 0)] == [True, False, True, True, False, False]


@pytest.mark.parametrize(("connections", "streams"), [(500, 250), (3, 1), (1, 1)])
def test_half_of_the_connections_may_carry_streams(connections: int, streams: int) -> None:
    assert Limits(connections=connections).streams == streams


# https


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(PEM / "authority.pem"))


async def test_a_slow_tls_handshake_times_out() -> None:
    async with serving("https", handshake_seconds=SOON) as served:
        assert await ended(await served.open()) == b""
        assert await ended(await served.open(b"\x16\x03\x01\x02\x00\x01")) == b""
        assert await ok((await served.open(GET, tls=trusting()))[0])
        assert len(served.server._connections) == 1


async def test_unfinished_handshakes_do_not_block_other_clients() -> None:
    async with serving("https", connections=3) as served:
        silent = [await served.open() for _ in range(3)]
        for first in silent:
            assert await ok((await served.open(GET, tls=trusting()))[0])
            assert await ended(first) == b""


async def test_half_a_head_over_tls_times_out() -> None:
    async with serving("https", head_seconds=SOON) as served:
        assert reported(await ended(await served.open(HALF, tls=trusting())))[0] == 408


async def test_connections_without_tls_are_closed() -> None:
    async with serving("https") as served:
        await ended(await served.open(GET))
        assert await ok((await served.open(GET, tls=trusting()))[0])
        assert len(served.server._connections) == 1


# Settings


@pytest.mark.parametrize(("text", "expected"), [("", 500), (" 7 ", 7), ("1000000", 1_000_000)])
def test_the_number_is_a_worker_property(text: str, expected: int) -> None:
    assert HttpSettings.from_properties({"rest.max.connections": text}).limits.connections == expected


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", "1000001", "9" * 5000])
def test_invalid_numbers_of_connections(text: str) -> None:
    with pytest.raises(CdcError, match=r"rest\.max\.connections"):
        HttpSettings.from_properties({"rest.max.connections": text})
