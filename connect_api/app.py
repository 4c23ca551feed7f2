"""The Connect REST dialect as an ASGI application."""

from __future__ import annotations

from fastapi import FastAPI, Response

from connect_api import connectors, errors, extensions, internal, lifecycle, loggers, notifications, offsets, plugins, root, signals, tasks
from connect_api.documentation import ANY_FAILURE
from connect_api.front import Front
from connect_api.herder import Herder
from connect_api.media import JsonRoute

DIALECT = "4.3.0"
"""The Kafka Connect version whose REST interface this is."""


def create_app(herder: Herder, *, advertised_url: str | None = None) -> FastAPI:
    """Build the application; ``herder`` is asked for nothing before the first request.

    ``advertised_url`` (``http://host:port``) begins the ``Location`` of new connectors; without it the request's Host does.
    The OpenAPI page is at ``/docs``, its JSON at ``/openapi.json``.
    """
    app = FastAPI(
        title="Understudy",
        summary="Kafka Connect's REST interface",
        version=DIALECT,
        redirect_slashes=False,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
        default_response_class=Response,
        responses=ANY_FAILURE,
        # The worker has metrics of its own; FastAPI's would ask for three providers on every request.
        telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False},
    )
    app.router.route_class = JsonRoute
    app.add_middleware(Front, routes=app.routes)
    errors.install(app)
    root.add_routes(app, herder)
    connectors.add_routes(app, herder, advertised_url=advertised_url)
    lifecycle.add_routes(app, herder)
    tasks.add_routes(app, herder)
    offsets.add_routes(app, herder)
    plugins.add_routes(app, herder)
    loggers.add_routes(app, herder)
    internal.add_routes(app)
    extensions.add_routes(app, herder)
    signals.add_routes(app, herder)
    notifications.add_routes(app, herder)
    return app
