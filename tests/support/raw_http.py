"""Bytes in, bytes out: the worker's HTTP/1.1 before an application, without a socket."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from uvicorn.server import ServerState

from workers.rest.connections import Connections, Limits
from workers.rest.http_connection import LimitedProtocol
from workers.rest.server import _config


class Wire(asyncio.Transport):
    """Keeps what is written. Closing it ends the connection in the loop's next turn, as a socket's does."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self.written = bytearray()
        self._protocol = protocol
        self._closing = False

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    abort = close

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        """All bytes are there already."""

    def resume_reading(self) -> None:
        """The same."""


class RawHttp:
    """Serves ``app``. Each exchange has its own connection."""

    def __init__(self, app: Any, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._config = _config(app, self._limits)

    async def exchange(self, *packets: bytes) -> bytes:
        """What is answered to these packets by the time that no request is being answered any more."""
        state = ServerState()
        protocol = LimitedProtocol(self._config, state, Connections(self._limits.connections), self._limits)
        wire = Wire(protocol)
        protocol.connection_made(wire)
        for packet in packets:
            if not wire.is_closing():
                protocol.data_received(packet)
        while state.tasks:
            await asyncio.wait(set(state.tasks))
        if not wire.is_closing():
            wire.close()
        await asyncio.sleep(0)
        return bytes(wire.written)


def statuses(answers: bytes) -> list[int]:
    """The status of each answer, provisional ones too."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answers)]
