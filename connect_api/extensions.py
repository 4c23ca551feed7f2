"""What Kafka Connect does not have. It lives on paths of its own and adds nothing to Connect's bodies."""

from __future__ import annotations

from fastapi import FastAPI, Response

from connect_api import models
from connect_api.documentation import fails
from connect_api.herder import Herder


def add_routes(app: FastAPI, herder: Herder) -> None:
    """Add the routes of this project."""

    @app.get("/connectors/{connector:segment}/progress", tags=["extensions"], responses=fails(404))
    async def progress(connector: str) -> Response:
        """Show how far the connector's snapshot and stream have come."""
        return models.reply(herder.progress(connector))
