"""An HTTP connection with limits: it is closed when the caller sends or reads too slowly or sends too long a head.

uvicorn limits the time between an answer and the first byte of the next request. This module limits the other times without a request
in progress: from the opening, or from that first byte, until a request's head is complete. So a head sent byte by byte, or a body that
continues after its answer, ends at the same limit as a request that is never sent. :mod:`connect_api.bodies` limits the time of a body.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from http import HTTPStatus
from typing import Final

import orjson
import uvicorn
from uvicorn.server import ServerState

from workers.rest.connections import MAX_CONNECTIONS, Connections, Limits
from workers.rest.http_upgrade import DecliningProtocol

_FULL: Final = f"All connections of this worker are answering requests. Call again, or raise the worker property {MAX_CONNECTIONS}."
_TOO_LATE: Final = "The head of the request did not end within {:g} seconds. Send all of it at once."
_TOO_LONG: Final = "The head of the request, or its trailers, are longer than {} bytes. Send fewer or shorter headers."


class LimitedProtocol(DecliningProtocol):
    """Uvicorn's HTTP/1.1 with ``limits``. It reports to ``connections`` when it waits for a request and when it answers one.

    ``accepted`` is the socket of a connection that ``connections`` has admitted already; :meth:`cut` needs it until the TLS handshake
    ends. Without it the connection is admitted or refused by :meth:`connection_made`, with ``reserve``.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        connections: Connections,
        limits: Limits,
        accepted: socket.socket | None = None,
        reserve: int = 0,
    ) -> None:
        super().__init__(config, server_state, {})
        self._reserve = reserve
        self._accepted = accepted
        self._connections = connections
        self._limits = limits
        self._deadline: asyncio.TimerHandle | None = None
        """Expires when the head of the next request must be complete."""
        self._unread: asyncio.TimerHandle | None = None
        """Expires when the caller must have read a part of the written bytes."""
        self._reading = False
        """Whether the parser is within a request: its head, its body or its trailers."""
        self._in_head = False
        self._steps = 0
        """Counts the parser's events: beginnings and ends of requests, ends of heads, parts of bodies."""
        self._framing = 0
        """Bytes since the last event."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Wait for a request, or refuse the connection when there are too many. A TLS handshake has ended before."""
        super().connection_made(transport)
        if self._accepted is None and not self._connections.admit(self, self._reserve):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, _FULL)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the count."""
        for timer in (self._deadline, self._unread):
            if timer is not None:
                timer.cancel()
        self._deadline = self._unread = None
        self._connections.closed(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse. A head that is too long is refused before it is complete, and so are trailers."""
        steps, was_reading = self._steps, self._reading
        super().data_received(data)
        taken = self._steps - steps
        if taken == 0:
            self._framing += len(data)
        elif taken == 1 and self._in_head and not was_reading:
            self._framing = len(data)
        else:
            # The remaining bytes follow a request or a part of a body.
            self._framing = 0
        if self._reading and self._framing > self._limits.head_bytes:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _TOO_LONG.format(self._limits.head_bytes))
        self._watch()

    def on_message_begin(self) -> None:
        """The first byte of a request has arrived."""
        super().on_message_begin()
        self._reading = self._in_head = True
        self._steps += 1

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer. Trailers are ignored, because a proxy does not check them (RFC 9110, 6.5.1)."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete: answer the request."""
        super().on_headers_complete()
        self._in_head = False
        self._steps += 1
        self._connections.answers(self)

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        super().on_body(body)
        self._steps += 1

    def on_message_complete(self) -> None:
        """The body is complete."""
        super().on_message_complete()
        self._reading = False
        self._steps += 1

    def on_response_complete(self) -> None:
        """Answer the next request if it has arrived already."""
        super().on_response_complete()
        # True after the answer to the last request that was read; the answers to earlier ones precede it.
        if self._answered():
            self._connections.waits(self)
        self._watch()

    def pause_writing(self) -> None:
        """The caller reads more slowly than the answer is written."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """The caller has read most of the answer."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def cut(self) -> None:
        """Close at once, without waiting for the other side."""
        # uvicorn's type does not include None, but no transport exists before the end of the TLS handshake.
        transport: asyncio.Transport | None = self.transport
        if transport is not None:
            transport.abort()
        elif self._accepted is not None:
            # The handshake fails at the end of the stream. An error means that the other side has closed already.
            with contextlib.suppress(OSError):
                self._accepted.shutdown(socket.SHUT_RDWR)

    def _answered(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _watch(self) -> None:
        if self._answered() and self.timeout_keep_alive_task is None and not self.transport.is_closing():
            if self._deadline is None:
                self._deadline = self.loop.call_later(self._limits.head_seconds, self._too_late)
        elif self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        self._deadline = None
        if self._in_head:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, _TOO_LATE.format(self._limits.head_seconds))
        else:
            self.transport.abort()

    def _watch_reader(self) -> None:
        self._unread = self.loop.call_later(self._limits.idle_seconds, self._not_read, self.transport.get_write_buffer_size())

    def _not_read(self, before: int) -> None:
        self._unread = None
        if self.transport.get_write_buffer_size() < before:
            self._watch_reader()
        else:
            self.transport.abort()

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """Answer in Connect's form and close; only close if the answer would interrupt the answer to an earlier request."""
        if not self._answered():
            self.transport.abort()
            return
        body = orjson.dumps({"error_code": status.value, "message": message})
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
