"""The Connect REST dialect as an ASGI application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import Depends, FastAPI, Response

from connect_api import connectors, errors, extensions, internal, lifecycle, loggers, notifications, offsets, plugins, root, signals, tasks
from connect_api.cross_origin import CrossOrigin
from connect_api.documentation import ANY_FAILURE
from connect_api.front import Front
from connect_api.herder import Herder
from connect_api.login import Login, required
from connect_api.media import JsonRoute
from connect_api.response_headers import HeaderRule, ResponseHeaders

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
) -> FastAPI:
    """Build the application; ``herder`` is asked for nothing before the first request.

    ``advertised_url`` (``http://host:port``) begins the ``Location`` of new connectors; without it the request's Host does.
    Without ``admin`` there is nothing below ``/admin``. With ``login`` every call of the interface asks for it.
    The OpenAPI page is at ``/docs``, its JSON at ``/openapi.json``; they hold no data and ask for no login.
    """
    app = _empty_app(login)
    if cross_origin is not None or header_rules:
        # Before the front, whose own answers carry these headers too.
        app.add_middleware(ResponseHeaders, cross_origin=cross_origin, rules=header_rules)
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
    notifications.add_routes(app, herder)
    return app


def create_admin_app(herder: Herder) -> FastAPI:
    """Build what listeners of their own serve: ``/admin`` alone. As in the reference it has no login and no added headers."""
    app = _empty_app(None, openapi_url=None)
    loggers.add_routes(app, herder)
    return app


def _empty_app(login: Login | None, **settings: Any) -> FastAPI:
    app = FastAPI(
        title="Understudy",
        summary="Kafka Connect's REST interface",
        version=DIALECT,
        redirect_slashes=False,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
        default_response_class=Response,
        responses=ANY_FAILURE,
        dependencies=[Depends(required(login))] if login else [],
        # The worker has metrics of its own; FastAPI's would ask for three providers on every request.
        telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False},
        **settings,
    )
    app.router.route_class = JsonRoute
    app.add_middleware(Front, routes=app.routes, login=login)
    errors.install(app)
    return app
