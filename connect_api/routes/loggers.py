"""Levels of the worker's loggers (KIP-495), on one worker or on all of the group (KIP-976)."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Request, Response

from connect_api import bodies, models
from connect_api.documentation import answers, extra, query
from connect_api.herder import Herder, HerderError
from connect_api.request_error import RequestError
from connect_api.schemas import TEXT, array, mapping, one_of

LEVELS: Final = frozenset({"OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL"})
"""Log4j's words; requests may write them in any case."""

LEVEL_BODY: Final = {"type": "object", "properties": {"level": one_of(sorted(LEVELS))}, "required": ["level"]}
"""Kafka Connect ignores other members, and so does this worker."""


def add_routes(app: FastAPI, herder: Herder) -> None:
    """Add the routes of loggers."""
    level = {"level": "INFO", "last_modified": 1795242544396}
    scope = query("scope", "worker (the default), or cluster for all workers of the group", boolean=False)

    @app.get(
        "/admin/loggers",
        tags=["loggers"],
        responses=answers(mapping(models.LOGGER_LEVEL), {"root": {"level": "INFO", "last_modified": None}}),
    )
    async def loggers() -> Response:
        """List the loggers with their levels."""
        return models.reply({name: models.logger_level(value) for name, value in herder.loggers().items()})

    @app.get("/admin/loggers/{logger:segment}", tags=["loggers"], responses=answers(models.LOGGER_LEVEL, level, 404))
    async def read(logger: str) -> Response:
        """Show the level of one logger."""
        return models.reply(models.logger_level(herder.logger(logger)))

    @app.put(
        "/admin/loggers/{logger:segment}",
        tags=["loggers"],
        responses={
            **answers(array(TEXT), ["connector", "connector.runner.task"], 400, 404),
            204: {"description": "Stored for all workers"},
        },
        openapi_extra=extra(scope, body=LEVEL_BODY, example={"level": "DEBUG"}),
    )
    async def write(request: Request, logger: str) -> Response:
        """Set the level of a logger and of those below it until the worker ends. The answer lists the loggers that changed."""
        level = wanted_level(await bodies.read(request))
        # As in Kafka Connect an unknown scope means this worker.
        if request.query_params.get("scope", "").lower() == "cluster":
            await herder.set_cluster_logger_level(logger, level)
            return models.empty(204)
        return models.reply(herder.set_logger_level(logger, level))


def wanted_level(body: bytes) -> str:
    """Read the level from the body, as it was written. 400 when it is missing; 404, as in Kafka Connect, for an unknown level."""
    level = bodies.texts(bodies.parse_object(body)).get("level")
    if level is None:
        raise HerderError(400, "Desired 'level' parameter was not specified in request.")
    word = level.strip()
    if not word:
        raise RequestError(f'The field "level" is empty. Name one of {", ".join(sorted(LEVELS))}.')
    if word.upper() not in LEVELS:
        raise HerderError(404, f"invalid log level '{level}'.")
    return word
