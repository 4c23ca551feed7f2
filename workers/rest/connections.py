"""Limits the open connections of the REST interface, and chooses the one that is closed for a new one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from connector.errors import CdcError, ErrorKind
from connector.log import EventLog

LOG: Final = EventLog(__name__)

MAX_CONNECTIONS: Final = "rest.max.connections"
_MOST: Final = 1_000_000
RESERVE: Final = 10
"""Further connections for the listeners of operators and of metrics, so that these answer while the others are in use."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The resources that a caller may use before it has sent a request. Times are seconds."""

    connections: int = 500
    """Connections of all listeners together: half of the 1,024 files that a process may usually open. The rest is for connectors."""
    head_bytes: int = 128 * 1024
    """Bytes of a request's line and headers on the wire. :mod:`connect_api.front` has a lower limit for the headers, with a JSON answer."""
    head_seconds: float = 30.0
    """From the opening of a connection, or from the first byte after an answer, until a request's head is complete."""
    idle_seconds: float = 90.0
    """From an answer until the next request, as in Kafka Connect; also the limit for an answer that the caller does not read."""
    handshake_seconds: float = 10.0
    """From the opening of a connection until the end of the TLS handshake."""

    @property
    def streams(self) -> int:
        """The most connections that may carry an answer without an end."""
        return max(1, self.connections // 2)

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
        """Close at once, without waiting for the other side."""


class Connections:
    """Counts connections. When ``limit`` are open, a new one replaces the one that has waited longest for a request.

    A connection waits from its opening until the head of its first request is complete, and again after each answer. So connections
    without a complete request (half-sent heads, idle connections, unfinished handshakes) never keep new ones out. A request in progress
    is never cut off. A connection whose answer is complete but not yet read counts as waiting.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._answering: set[Closable] = set()
        self._waiting: dict[Closable, None] = {}
        """The waiting connections, in the order in which they began to wait."""
        self._refusing = False
        """Whether the log has the warning about refused connections already."""

    def __len__(self) -> int:
        return len(self._answering) + len(self._waiting)

    def admit(self, connection: Closable, reserve: int = 0) -> bool:
        """Count a new connection as waiting. False, without counting it, when all connections have requests in progress.

        ``reserve``: how many connections above the limit may be open then after this one.
        """
        if len(self) >= self._limit:
            if not self._waiting:
                if len(self) < self._limit + reserve:
                    self._waiting[connection] = None
                    return True
                if not self._refusing:
                    LOG.warning("connections refused, all are answering requests", limit=self._limit)
                self._refusing = True
                return False
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.cut()
        self._refusing = False
        self._waiting[connection] = None
        return True

    def answers(self, connection: Closable) -> None:
        """A request's head is complete. No-op for a connection that is no longer counted."""
        if connection in self._waiting:
            del self._waiting[connection]
            self._answering.add(connection)

    def waits(self, connection: Closable) -> None:
        """All requests of the connection are answered. No-op for a connection that is no longer counted."""
        if connection in self._answering:
            self._answering.remove(connection)
            self._waiting[connection] = None

    def closed(self, connection: Closable) -> None:
        """Remove the connection from the count. No-op for a connection that is no longer counted."""
        self._waiting.pop(connection, None)
        self._answering.discard(connection)
