"""The servers of the listeners: one for each scheme, http or https, and for each application, the interface or ``/admin`` alone."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import uvicorn

from connector.errors import CdcError, ErrorKind
from connector.log import EventLog
from workers.rest.connections import RESERVE, Connections, Limits
from workers.rest.http_connection import LimitedProtocol
from workers.rest.http_settings import HttpSettings
from workers.rest.listeners import Listener

LOG: Final = EventLog(__name__)

Kind = Literal["listeners", "admin.listeners", "metrics.agent"]
"""The worker property of an address, which says what it serves."""

_SHOWN: Final[dict[Kind, str]] = {"listeners": "", "admin.listeners": " (admin)", "metrics.agent": " (metrics)"}
_BACKLOG: Final = 128
_OPEN_CALLS_SECONDS: Final = 1
"""How long open REST calls may take to end when the worker stops."""
_ACCEPT_PAUSE_SECONDS: Final = 1.0
"""The pause when the process may open no more files, as in asyncio's own servers."""


class _Server(uvicorn.Server):
    """Uvicorn without its own signal handlers, because the worker handles signals itself, and with limited connections.

    It accepts https connections itself, so that they are counted, and can be replaced by new ones, before the TLS handshake ends.
    """

    def __init__(
        self, config: uvicorn.Config, tls: ssl.SSLContext | None, connections: Connections, limits: Limits, reserve: int = 0
    ) -> None:
        super().__init__(config)
        self._reserve = reserve
        self.servers = []
        self._tls = tls
        self._connections = connections
        self._limits = limits
        self._opening: set[asyncio.Task[None]] = set()
        self._ended = False

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections until :meth:`shutdown`."""
        loop = asyncio.get_running_loop()
        for listening in sockets or ():
            if self._tls is None:
                self.servers.append(await loop.create_server(self._protocol, sock=listening, backlog=_BACKLOG))
            else:
                listening.setblocking(False)
                self._listen(listening)
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, and wait for open calls."""
        self._ended = True
        if self._tls is not None:
            for listening in sockets or ():
                asyncio.get_running_loop().remove_reader(listening)
        opening = list(self._opening)
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        await super().shutdown(sockets)

    def _protocol(self, accepted: socket.socket | None = None) -> LimitedProtocol:
        return LimitedProtocol(self.config, self.server_state, self._connections, self._limits, accepted, self._reserve)

    def _listen(self, listening: socket.socket) -> None:
        if not self._ended:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(_BACKLOG):
            try:
                accepted, _address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as problem:
                # The process may open no more files. Without the pause the event loop would do nothing but retry.
                LOG.warning("cannot accept connections, trying again", error=problem.strerror)
                loop.remove_reader(listening)
                loop.call_later(_ACCEPT_PAUSE_SECONDS, self._listen, listening)
                return
            accepted.setblocking(False)
            protocol = self._protocol(accepted)
            if self._connections.admit(protocol, self._reserve):
                opening = loop.create_task(self._agree(accepted, protocol))
                self._opening.add(opening)
                opening.add_done_callback(self._opening.discard)
            else:
                # An answer is impossible before the TLS handshake.
                accepted.close()

    async def _agree(self, accepted: socket.socket, protocol: LimitedProtocol) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(
                lambda: protocol, accepted, ssl=self._tls, ssl_handshake_timeout=self._limits.handshake_seconds
            )
        except BaseException as problem:
            self._connections.closed(protocol)
            accepted.close()
            # The caller spoke no TLS, spoke another version, or was too slow. This is not a failure of the worker.
            if not isinstance(problem, OSError):
                raise
            LOG.debug("tls handshake failed", error=type(problem).__name__)


class RestServer:
    """Opens the listening sockets at construction. Raises CdcError(CONFIG_INVALID) for an address that is in use."""

    def __init__(self, settings: HttpSettings, metrics: Sequence[Listener] = ()) -> None:
        self._sockets: dict[tuple[Kind, bool], list[socket.socket]] = {}
        self._limits = settings.limits
        self._connections = Connections(settings.limits.connections)
        self._tls: dict[Kind, ssl.SSLContext | None] = {"listeners": settings.tls, "admin.listeners": settings.admin_tls}
        self._servers: list[_Server] = []
        self.addresses: list[str] = []
        """The addresses of the listeners, for the log."""
        served: dict[Kind, Sequence[Listener]] = {
            "listeners": settings.listeners,
            "admin.listeners": settings.admin_listeners or (),
            "metrics.agent": metrics,
        }
        for kind, listeners in served.items():
            for listener in listeners:
                self._sockets.setdefault((kind, listener.https), []).append(_bind(listener, kind))
                self.addresses.append(f"{listener}{_SHOWN[kind]}")

    async def serve(self, app: Any, admin_app: Any, metrics_app: Any = None) -> None:
        """Answer until :meth:`stop`. The admin listeners serve ``admin_app``, those of metrics ``metrics_app``."""
        runs = []
        apps: dict[Kind, Any] = {"listeners": app, "admin.listeners": admin_app, "metrics.agent": metrics_app}
        for (kind, https), sockets in self._sockets.items():
            config = _config(apps[kind], self._limits)
            tls = self._tls[kind] if https else None
            server = _Server(config, tls, self._connections, self._limits, 0 if kind == "listeners" else RESERVE)
            self._servers.append(server)
            runs.append(server.serve(sockets))
        await asyncio.gather(*runs)

    def open_connections(self) -> int:
        """Return the number of open connections of all listeners."""
        return len(self._connections)

    def stop(self) -> None:
        """Let :meth:`serve` end. Open calls have a second to end."""
        for server in self._servers:
            server.should_exit = True


def _config(app: Any, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=limits.idle_seconds,  # type: ignore[arg-type] # the event loop accepts fractions
        timeout_graceful_shutdown=_OPEN_CALLS_SECONDS,
    )


def _bind(listener: Listener, kind: Kind) -> socket.socket:
    """A listening socket. An empty host means all addresses, of IPv4 and of IPv6 where the machine has both."""
    family = socket.AF_INET
    if ":" in listener.host or (not listener.host and socket.has_dualstack_ipv6()):
        family = socket.AF_INET6
    try:
        return socket.create_server(
            (listener.host, listener.port), family=family, backlog=_BACKLOG, dualstack_ipv6=not listener.host and family == socket.AF_INET6
        )
    except OSError as problem:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Cannot listen on {listener}: {problem.strerror}",
            f"End the program that uses the port, or choose another in the worker property {kind}.",
        ) from problem
