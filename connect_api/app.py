"""The Connect REST dialect as an ASGI application."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse

from connect_api import errors
from connect_api.cross_origin import CrossOrigin
from connect_api.documentation import ANY_FAILURE, complete
from connect_api.forwarding import Forwarding
from connect_api.front import Front
from connect_api.herder import Herder
from connect_api.hosts import AllowedHosts
from connect_api.login import Login, required
from connect_api.media import JsonRoute
from connect_api.other_sites import check_site
from connect_api.response_headers import HeaderRule, ResponseHeaders
from connect_api.routes import (
    connectors,
    extensions,
    internal,
    lifecycle,
    loggers,
    notifications,
    offsets,
    pages,
    plugins,
    root,
    signals,
    tasks,
)
from connect_api.streams import Streams

DIALECT = "4.3.0"
"""The Kafka Connect version whose REST interface this is."""


def create_app(
    herder: Herder,
    *,
    advertised_url: str | None = None,
    admin: bool = True,
    login: Login | None = None,
    cross_origin: CrossOrigin | None = None,
    header_rules: Sequence[HeaderRule] = (),
    group_tls: ssl.SSLContext | None = None,
    hosts: AllowedHosts | None = None,
    most_streams: int = 250,
) -> FastAPI:
    """Build the application. It does not call ``herder`` before the first request.

    ``advertised_url`` (``http://host:port``) is the beginning of the ``Location`` of new connectors; by default the request's Host is.
    Without ``admin`` there are no paths below ``/admin``. With ``login`` every call of the interface needs it, and
    a page of another site can change nothing unless ``cross_origin`` allows its origin.
    ``group_tls`` verifies https workers of the group when a call is forwarded to them.
    With ``hosts`` only requests for these hosts are answered. ``most_streams``: the most streams of notifications at the same time.
    The OpenAPI page is at ``/docs``, its JSON at ``/openapi.json``; they hold no data and need no login.
    """
    streams = Streams(most_streams)
    app = _empty_app(login, cross_origin)
    app.add_middleware(Forwarding, herder=herder, streams=streams, tls=group_tls)
    app.add_middleware(Front, routes=app.routes, login=login, hosts=hosts)
    if cross_origin is not None or header_rules:
        # The middleware added last runs first, so the answers of Front carry these headers too.
        app.add_middleware(ResponseHeaders, cross_origin=cross_origin, rules=header_rules)
    pages.add_routes(app)
    root.add_routes(app, herder)
    connectors.add_routes(app, herder, advertised_url=advertised_url)
    lifecycle.add_routes(app, herder)
    tasks.add_routes(app, herder)
    offsets.add_routes(app, herder)
    plugins.add_routes(app, herder)
    if admin:
        loggers.add_routes(app, herder)
    internal.add_routes(app)
    extensions.add_routes(app, herder)
    signals.add_routes(app, herder)
    notifications.add_routes(app, herder, streams)
    return app


def create_admin_app(herder: Herder, *, hosts: AllowedHosts | None = None) -> FastAPI:
    """Build the application of ``admin.listeners``: only ``/admin``. As in Kafka Connect it has no login and no added headers."""
    app = _empty_app(None, openapi_url=None)
    app.add_middleware(Front, routes=app.routes, hosts=hosts)
    loggers.add_routes(app, herder)
    return app


class _App(FastAPI):
    """``login``: whether the interface needs one."""

    def __init__(self, *, login: bool, **settings: Any) -> None:
        self._login = login
        self._description: bytes | None = None
        super().__init__(**settings)

    def setup(self) -> None:
        """Add the route of the description, whose bytes are kept: to write its JSON at each request is not needed."""
        if self.openapi_url is None:
            return

        async def description(_request: Request) -> Response:
            if self._description is None:
                self._description = bytes(JSONResponse(self.openapi()).body)
            return Response(self._description, media_type="application/json")

        self.add_route(self.openapi_url, description, include_in_schema=False)

    def openapi(self) -> dict[str, Any]:
        """The description of the interface, built at the first call."""
        if self.openapi_schema is None:
            self.openapi_schema = complete(super().openapi(), self.routes, login=self._login)
        return self.openapi_schema


def _empty_app(login: Login | None, cross_origin: CrossOrigin | None = None, **settings: Any) -> FastAPI:
    app = _App(
        title="Understudy",
        summary="Kafka Connect's REST interface",
        version=DIALECT,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
        default_response_class=Response,
        responses=ANY_FAILURE,
        dependencies=[Depends(required(login, partial(check_site, cross_origin=cross_origin)))] if login else [],
        login=login is not None,
        # The worker has metrics of its own; FastAPI's would ask for three providers on every request.
        telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False},
        **settings,
    )
    app.router.route_class = JsonRoute
    errors.install(app)
    return app
