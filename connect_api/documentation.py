"""Pieces of the OpenAPI page. Requests are read by hand, so what FastAPI cannot see in a signature is said here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

ERRORS: Final = {
    400: "The request or the configuration is not valid",
    403: "The worker's settings, or a missing right, do not let this be done",
    404: "No such connector or task",
    409: "The connector exists, or the workers are handing connectors over",
    503: "The worker is starting",
    500: "The worker is broken; its log says more",
}

CONNECTOR_CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"

CONFIG: Final = {
    "connector.class": CONNECTOR_CLASS,
    "database.hostname": "db.example.com",
    "database.user": "replicator",
    "database.password": "${env:DB_PASSWORD}",
    "database.dbname": "shop",
    "topic.prefix": "shop",
}
"""A configuration to start from."""

STATE: Final = {"state": "RUNNING", "worker_id": "10.0.0.1:8083", "version": "3.6.3.Final"}
INFO: Final = {
    "name": "shop",
    "config": {**CONFIG, "name": "shop"},
    "tasks": [{"connector": "shop", "task": 0}],
    "type": "source",
}
STATUS: Final = {"name": "shop", "connector": STATE, "tasks": [{"id": 0, **STATE}], "type": "source"}

Responses = dict[int | str, dict[str, Any]]

FAILURE: Final = {
    "type": "object",
    "properties": {"error_code": {"type": "integer"}, "message": {"type": "string"}},
    "required": ["error_code", "message"],
}
ANY_FAILURE: Final[Responses] = {
    "default": {"description": "Any failure; error_code is the status", "content": {"application/json": {"schema": FAILURE}}}
}
"""For every route; it also keeps FastAPI from announcing a 422 that is never sent."""


def example(value: object, *failures: int) -> Responses:
    """Describe a success with its body, and the failures that may come instead. For ``responses=``."""
    return {200: {"description": "Done", "content": {"application/json": {"example": value}}}, **fails(*failures)}


def fails(*failures: int) -> Responses:
    """Describe failures with their body."""
    return {status: _failure(status) for status in failures}


def query(name: str, description: str, *, boolean: bool = True, repeated: bool = False) -> dict[str, Any]:
    """Describe a query parameter, for :func:`extra`."""
    single = {"type": "boolean" if boolean else "string"}
    schema = {"type": "array", "items": single} if repeated else single
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


def extra(*parameters: Mapping[str, Any], body: object = None) -> dict[str, Any]:
    """Describe query parameters and the request body. For ``openapi_extra=``."""
    described: dict[str, Any] = {"parameters": [*parameters]} if parameters else {}
    if body is not None:
        described["requestBody"] = {"required": True, "content": {"application/json": {"example": body}}}
    return described


def _failure(status: int) -> dict[str, Any]:
    body = {"error_code": status, "message": ERRORS[status]}
    return {"description": ERRORS[status], "content": {"application/json": {"example": body}}}
