"""A TCP proxy before a server that can cut all its connections at once, as a failing network does."""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType
from typing import Final, Self

_BLOCK: Final = 65_536


class CuttableProxy:
    """An async context manager that listens on a free port of 127.0.0.1. It accepts new connections after a cut."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def port(self) -> int:
        """The address on which it listens."""
        if self._server is None:
            raise RuntimeError("The proxy was not entered")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._server is not None:
            self._server.close()
        self.cut()

    def cut(self) -> None:
        """Close all connections at once, on both sides."""
        for writer in self._open:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            # The server is unreachable, so this connection ends too.
            self._end(writer)
            return
        self._open.add(far_writer)
        await asyncio.gather(self._pass_on(reader, far_writer), self._pass_on(far_reader, writer))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_BLOCK):
                writer.write(data)
                await writer.drain()
        self._end(writer)

    def _end(self, writer: asyncio.StreamWriter) -> None:
        self._open.discard(writer)
        writer.close()
