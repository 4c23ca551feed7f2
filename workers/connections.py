"""How many connections the REST interface keeps open, and which of them gives way to a new one."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from connector.errors import CdcError, ErrorKind

LOGGER: Final = logging.getLogger(__name__)

MAX_CONNECTIONS: Final = "rest.max.connections"
_MOST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What a caller may use up before it has sent a request. Times are seconds."""

    connections: int = 500
    """Of all listeners together: half of the 1,024 files that a process may usually open, so that connectors have the others."""
    head_bytes: int = 128 * 1024
    """Of a request's line and headers as they travel. :mod:`connect_api.front` refuses smaller heads in the dialect's own words."""
    head_seconds: float = 30.0
    """From the opening of a connection, or from the first byte after an answer, until a request's head is complete."""
    idle_seconds: float = 90.0
    """Without a request after an answer, as in Kafka Connect (recorded); also for an answer that the caller does not read."""
    handshake_seconds: float = 10.0
    """From the opening of a connection until TLS is agreed on."""

    @staticmethod
    def from_properties(properties: Mapping[str, str]) -> Limits:
        """Read ``rest.max.connections``. Raises CdcError(CONFIG_INVALID) unless it is a whole number of 1 or more."""
        text = properties.get(MAX_CONNECTIONS, "").strip()
        if not text:
            return Limits()
        if not (text.isascii() and text.isdigit() and len(text) <= len(str(_MOST)) and 1 <= int(text) <= _MOST):
            raise CdcError(
                ErrorKind.CONFIG_INVALID, f"Invalid value {text} for the worker property {MAX_CONNECTIONS}: It must be from 1 to {_MOST}"
            )
        return Limits(connections=int(text))


class Closable(Protocol):
    """A connection as :class:`Connections` sees it."""

    def cut(self) -> None:
        """Close at once, whatever the other side does."""


class Connections:
    """Counts connections. When ``limit`` are open, the one that has waited longest for a request is closed for a new one.

    A connection waits from its opening until the head of its first request is complete, and again after each answer. So those
    that cost their owner nothing (half-sent heads, idle ones, unfinished handshakes) can never keep others out; only requests
    that are being worked on can, and they are not cut off. An answer that is made and still unread counts as waiting.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._answering: set[Closable] = set()
        self._waiting: dict[Closable, None] = {}
        """In the order in which they began to wait."""
        self._refusing = False
        """Whether the log says already that there is no room."""

    def __len__(self) -> int:
        return len(self._answering) + len(self._waiting)

    def admit(self, connection: Closable) -> bool:
        """Count one more, which waits; False, and nothing is counted, when all places are taken by requests being answered."""
        if len(self) >= self._limit:
            if not self._waiting:
                if not self._refusing:
                    LOGGER.warning("connections are refused, all are answering requests", extra={"fields": {"limit": self._limit}})
                self._refusing = True
                return False
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.cut()
        self._refusing = False
        self._waiting[connection] = None
        return True

    def answers(self, connection: Closable) -> None:
        """A request's head is complete. No-op for a connection that is not counted any more."""
        if connection in self._waiting:
            del self._waiting[connection]
            self._answering.add(connection)

    def waits(self, connection: Closable) -> None:
        """All requests of the connection are answered. No-op for one that is not counted any more."""
        if connection in self._answering:
            self._answering.remove(connection)
            self._waiting[connection] = None

    def closed(self, connection: Closable) -> None:
        """Count one less. No-op for a connection that is not counted any more."""
        self._waiting.pop(connection, None)
        self._answering.discard(connection)
