"""Tasks of a connector."""

from __future__ import annotations

import re
from typing import Final

from fastapi import FastAPI, Response
from starlette.exceptions import HTTPException

from connect_api import models
from connect_api.documentation import CONFIG, STATE, answers, fails
from connect_api.herder import Herder
from connect_api.schemas import array

INTEGER: Final = re.compile(r"[+-]?[0-9]+")
TASK_CLASS: Final = "io.debezium.connector.postgresql.PostgresConnectorTask"


def add_routes(app: FastAPI, herder: Herder) -> None:
    """Add the routes of tasks."""
    task = {"id": {"connector": "shop", "task": 0}, "config": {**CONFIG, "name": "shop", "task.class": TASK_CLASS}}

    @app.get("/connectors/{connector:segment}/tasks", tags=["tasks"], responses=answers(array(models.TASK_INFO), [task], 404))
    async def tasks(connector: str) -> Response:
        """List the tasks with their configuration; none for a stopped connector."""
        return models.reply([models.task_info(info) for info in herder.task_configs(connector)])

    @app.get(
        "/connectors/{connector:segment}/tasks/{task:segment}/status",
        tags=["tasks"],
        responses=answers(models.TASK_STATE, {"id": 0, **STATE}, 404),
    )
    async def status(connector: str, task: str) -> Response:
        """Show the state of one task."""
        number = task_number(task)
        return models.reply(models.task_state(number, herder.task_status(connector, number)))

    @app.post("/connectors/{connector:segment}/tasks/{task:segment}/restart", status_code=204, tags=["tasks"], responses=fails(404, 409))
    async def restart(connector: str, task: str) -> Response:
        """Restart one task."""
        await herder.restart_task(connector, task_number(task))
        return models.empty(204)


def task_number(text: str) -> int:
    """Read a task's number as Java reads a 32-bit int. Other text is an unknown path (404)."""
    if INTEGER.fullmatch(text) and len(text) <= 11 and -(2**31) <= (number := int(text)) < 2**31:
        return number
    raise HTTPException(404)
