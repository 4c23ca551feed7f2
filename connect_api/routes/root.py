"""``GET /`` and ``GET /health``."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Response

from connect_api import models
from connect_api.documentation import ERRORS, answers
from connect_api.herder import Herder

HEALTH_STATUS: Final = {"healthy": 200, "starting": 503, "unhealthy": 500}
"""KIP-1017."""


def add_routes(app: FastAPI, herder: Herder) -> None:
    """Add the worker's own routes."""
    health_answers = answers(models.HEALTH, {"status": "healthy", "message": "Worker has completed startup."})
    for status, word in ((500, "unhealthy"), (503, "starting")):
        health_answers |= answers(models.HEALTH, {"status": word, "message": "…"}, status=status, description=ERRORS[status])

    @app.get("/", tags=["worker"], responses=answers(models.SERVER_INFO, {"version": "4.3.0", "commit": "…", "kafka_cluster_id": "…"}))
    async def worker() -> Response:
        """Show the emulated version of Kafka Connect and the id of the Kafka cluster."""
        return models.reply(models.server_info(herder.server_info()))

    @app.get("/health", tags=["worker"], responses=health_answers)
    async def health() -> Response:
        """Show whether the worker can answer (KIP-1017)."""
        state = herder.health()
        return models.reply(models.health(state), HEALTH_STATUS[state.status])
