"""The plugins this worker plays."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from connect_api import models
from connect_api.documentation import CONNECTOR_CLASS, example, extra, query
from connect_api.herder import Herder
from connect_api.queries import flag


def add_routes(app: FastAPI, herder: Herder) -> None:
    """Add the routes of plugins."""
    known = {"class": CONNECTOR_CLASS, "type": "source", "version": "3.6.3.Final"}
    only = query("connectorsOnly", "false lists transforms, converters and predicates too")

    @app.get("/connector-plugins", tags=["plugins"], responses=example([known]), openapi_extra=extra(only))
    async def plugins(request: Request) -> Response:
        """List the connectors that can be created, or all plugins (KIP-769)."""
        connectors_only = flag(request, "connectorsOnly", default=True)
        return models.reply([models.plugin(value) for value in herder.plugins(connectors_only)])
