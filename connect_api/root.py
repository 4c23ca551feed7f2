"""``GET /`` and ``GET /health``."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Response

from connect_api import models
from connect_api.documentation import example
from connect_api.herder import Herder

HEALTH_STATUS: Final = {"healthy": 200, "starting": 503, "unhealthy": 500}
"""KIP-1017."""


def add_routes(app: FastAPI, herder: Herder) -> None:
    """Add the worker's own routes."""

    @app.get("/", tags=["worker"], responses=example({"version": "4.3.0", "commit": "…", "kafka_cluster_id": "…"}))
    async def worker() -> Response:
        """Tell the version of Kafka Connect that is played, and the Kafka cluster behind it."""
        return models.reply(models.server_info(herder.server_info()))

    @app.get("/health", tags=["worker"], responses=example({"status": "healthy", "message": "…"}, 500, 503))
    async def health() -> Response:
        """Tell whether the worker can answer (KIP-1017)."""
        state = herder.health()
        return models.reply(models.health(state), HEALTH_STATUS[state.status])
