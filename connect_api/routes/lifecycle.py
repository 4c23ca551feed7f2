"""Pause, resume, stop and restart of connectors."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from connect_api import models
from connect_api.documentation import STATUS, answers, extra, fails, query
from connect_api.herder import Herder
from connect_api.queries import flag


def add_routes(app: FastAPI, herder: Herder) -> None:
    """Add the routes that change what a connector does without changing its configuration."""

    @app.put("/connectors/{connector:segment}/pause", status_code=202, tags=["lifecycle"], responses=fails(404))
    async def pause(connector: str) -> Response:
        """Pause the connector's tasks. The replication slot keeps its position."""
        await herder.set_target_state(connector, "PAUSED")
        return models.empty(202)

    @app.put("/connectors/{connector:segment}/resume", status_code=202, tags=["lifecycle"], responses=fails(404))
    async def resume(connector: str) -> Response:
        """Start a paused or stopped connector."""
        await herder.set_target_state(connector, "STARTED")
        return models.empty(202)

    @app.put("/connectors/{connector:segment}/stop", status_code=204, tags=["lifecycle"], responses=fails(404))
    async def stop(connector: str) -> Response:
        """Shut the connector's tasks down; its offsets may then be changed (KIP-875)."""
        await herder.set_target_state(connector, "STOPPED")
        return models.empty(204)

    @app.post(
        "/connectors/{connector:segment}/restart",
        status_code=204,
        tags=["lifecycle"],
        responses={
            **answers(models.STATUS, STATUS, status=202, description="Restarting, with the flags"),
            **fails(404, 409, 500),
        },
        openapi_extra=extra(query("includeTasks", "Restart tasks too"), query("onlyFailed", "Restart only what has failed")),
    )
    async def restart(request: Request, connector: str) -> Response:
        """Restart a connector: without flags only the connector (204), with a flag as it says (202 with the status, KIP-745)."""
        include_tasks = flag(request, "includeTasks", default=False)
        only_failed = flag(request, "onlyFailed", default=False)
        state = await herder.restart_connector(connector, include_tasks=include_tasks, only_failed=only_failed)
        if include_tasks or only_failed:
            return models.reply(models.status(state), 202)
        return models.empty(204)
