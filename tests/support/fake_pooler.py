"""A connection pooler as the connector sees one: it answers the start of a session itself and hands the rest to the server."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

_SSL_REQUEST = 80877103
_GSS_REQUEST = 80877104
"""Codes of the messages SSLRequest and GSSENCRequest (PostgreSQL manual, 55.7)."""

Manner = Literal["refuses", "swallows", "passes"]
"""What it does with the startup parameter ``replication``: PgBouncer before 1.23 refuses it, or swallows it where it is configured to
ignore it; later ones pass it on."""


@asynccontextmanager
async def fake_pooler(host: str, port: int, manner: Manner, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Listen on a free port of 127.0.0.1, which is yielded, before the server at ``host`` and ``port``; ``tls`` is offered."""
    sessions: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = asyncio.ensure_future(_session(reader, writer, host, port, manner, tls))
        sessions.add(session)
        session.add_done_callback(sessions.discard)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await session
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for session in [*sessions]:
            session.cancel()
        await asyncio.gather(*sessions, return_exceptions=True)


async def _session(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int, manner: Manner, tls: ssl.SSLContext | None
) -> None:
    while True:
        length, code = struct.unpack("!II", await reader.readexactly(8))
        rest = await reader.readexactly(length - 8)
        if code == _SSL_REQUEST and tls is not None:
            writer.write(b"S")
            await writer.drain()
            await writer.start_tls(tls)
        elif code in {_SSL_REQUEST, _GSS_REQUEST}:
            writer.write(b"N")
        else:
            break
    parts = rest.split(b"\0")
    given = dict(zip(parts[::2], parts[1::2], strict=False))
    if b"replication" in given and manner == "refuses":
        said = b"SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: replication\0\0"
        writer.write(b"E" + struct.pack("!I", len(said) + 4) + said)
        await writer.drain()
        return
    if manner == "swallows":
        given.pop(b"replication", None)
    body = b"".join(name + b"\0" + value + b"\0" for name, value in given.items() if name) + b"\0"
    upstream, downstream = await asyncio.open_connection(host, port)
    downstream.write(struct.pack("!II", len(body) + 8, code) + body)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_copy(reader, downstream))
            group.create_task(_answer(upstream, writer))
    finally:
        downstream.close()


async def _answer(upstream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Cancellation keys are the pooler's own: it has many servers behind it."""
    kind = b""
    while kind != b"Z":
        head = await upstream.readexactly(5)
        kind, body = head[:1], await upstream.readexactly(struct.unpack("!I", head[1:])[0] - 4)
        writer.write(head + (struct.pack("!I", 1) + body[4:] if kind == b"K" else body))
    await _copy(upstream, writer)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()
