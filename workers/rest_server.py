"""The servers behind the listeners: one for each kind, http or https, of the interface or of ``/admin`` alone."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator, Sequence
from typing import Any, Final

import uvicorn

from connector.errors import CdcError, ErrorKind
from workers.http_settings import HttpSettings
from workers.http_upgrade import DecliningProtocol
from workers.listeners import Listener

_BACKLOG: Final = 128
_OPEN_CALLS_SECONDS: Final = 1
"""How long open REST calls may take to end once the worker stops."""


class _Server(uvicorn.Server):
    """Uvicorn without its own signal handlers: the worker has one order in which it ends."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class RestServer:
    """Holds the listening sockets from its making on. Raises CdcError(CONFIG_INVALID) for an address that is taken."""

    def __init__(self, settings: HttpSettings) -> None:
        self._sockets: dict[tuple[bool, bool], list[socket.socket]] = {}
        self._tls = {False: settings.tls, True: settings.admin_tls}
        self._servers: list[_Server] = []
        self.addresses: list[str] = []
        """As the log names them."""
        kinds: tuple[tuple[bool, Sequence[Listener]], ...] = ((False, settings.listeners), (True, settings.admin_listeners or ()))
        for admin, listeners in kinds:
            for listener in listeners:
                self._sockets.setdefault((admin, listener.https), []).append(_bind(listener, admin=admin))
                self.addresses.append(f"{listener}{' (admin)' if admin else ''}")

    async def serve(self, app: Any, admin_app: Any) -> None:
        """Answer until :meth:`stop`. ``admin_app`` is what the admin listeners serve."""
        runs = []
        for (admin, https), sockets in self._sockets.items():
            server = _Server(_config(admin_app if admin else app, self._tls[admin] if https else None))
            self._servers.append(server)
            runs.append(server.serve(sockets))
        await asyncio.gather(*runs)

    def stop(self) -> None:
        """Let :meth:`serve` end; open calls have a second."""
        for server in self._servers:
            server.should_exit = True


def _config(app: Any, tls: ssl.SSLContext | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=DecliningProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_OPEN_CALLS_SECONDS,
        ssl_context_factory=(lambda _config, _default: tls) if tls else None,
    )


def _bind(listener: Listener, *, admin: bool) -> socket.socket:
    """A listening socket. An empty host is all addresses, of both protocols where the machine has both."""
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
            f"End the program that uses the port, or choose another in the worker property {'admin.listeners' if admin else 'listeners'}.",
        ) from problem
