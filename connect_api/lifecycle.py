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
        """Hold the connector's tasks; the replication slot keeps its place."""
        await herder.set_target_state(connector, "PAUSED")
        return models.empty(202)

    @app.put("/connectors/{connector:segment}/resume", status_code=202, tags=["lifecycle"], responses=fails(404))
    async def resume(connector: str) -> Response:
        """Let a paused or stopped connector run."""
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
            **answers(models.STATUS, STATUS, status=202, description="Restarting, with tasks or what failed"),
            **fails(404, 409, 500),
        },
        openapi_extra=extra(query("includeTasks", "Restart tasks too"), query("onlyFailed", "Restart only what has failed")),
    )
    async def restart(request: Request, connector: str) -> Response:
        """Restart a connector: alone (204), or as the two flags say (202 with the status, KIP-745)."""
        include_tasks = flag(request, "includeTasks", default=False)
        only_failed = flag(request, "onlyFailed", default=False)
        state = await herder.restart_connector(connector, include_tasks=include_tasks, only_failed=only_failed)
        if include_tasks or only_failed:
            return models.reply(models.status(state), 202)
        return models.empty(204)
