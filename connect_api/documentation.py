"""Parts of the OpenAPI page. The routes parse requests themselves, so FastAPI cannot derive these descriptions from signatures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from connect_api.errors import FAILURE
from connect_api.media import UntypedRoute
from connect_api.schemas import Schema

ERRORS: Final = {
    400: "The request or the configuration is not valid",
    401: "The worker requires a login",
    403: "The worker's settings, or a missing right, do not allow this",
    404: "No such connector or task",
    406: "The header Accept does not allow JSON",
    408: "The body did not end in time",
    409: "The connector exists, or connectors are moving between workers",
    413: "The body is too long",
    415: "The header Content-Type is not JSON",
    421: "The worker does not answer for the host of the request",
    431: "The headers are too long",
    500: "The worker failed or could not reach Kafka; its log says more",
    503: "The worker is starting",
}

JSON: Final = "application/json"
CONNECTOR_CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"

CONFIG: Final = {
    "connector.class": CONNECTOR_CLASS,
    "database.hostname": "db.example.com",
    "database.user": "replicator",
    "database.password": "${env:DB_PASSWORD}",
    "database.dbname": "shop",
    "topic.prefix": "shop",
}
"""The example of a configuration."""

STATE: Final = {"state": "RUNNING", "worker_id": "10.0.0.1:8083", "version": "3.6.3.Final"}
INFO: Final = {
    "name": "shop",
    "config": {**CONFIG, "name": "shop"},
    "tasks": [{"connector": "shop", "task": 0}],
    "type": "source",
}
STATUS: Final = {"name": "shop", "connector": STATE, "tasks": [{"id": 0, **STATE}], "type": "source"}

Responses = dict[int | str, dict[str, Any]]

ANY_FAILURE: Final[Responses] = {"default": {"description": ""}}
"""For every route: FastAPI would otherwise describe a 422 that is never sent. :func:`complete` replaces it by the real failures."""


def answers(schema: Schema, example: object, *failures: int, status: int = 200, description: str = "Done") -> Responses:
    """Describe the answer of a success and the possible failures. For ``responses=``."""
    return {status: {"description": description, "content": {JSON: {"schema": schema, "example": example}}}, **fails(*failures)}


def fails(*failures: int) -> Responses:
    """Describe failures with their body."""
    return {status: _failure(status) for status in failures}


def query(name: str, description: str, *, boolean: bool = True, repeated: bool = False) -> dict[str, Any]:
    """Describe a query parameter, for :func:`extra`."""
    single = {"type": "boolean" if boolean else "string"}
    schema = {"type": "array", "items": single} if repeated else single
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


def extra(*parameters: Mapping[str, Any], body: Schema | None = None, example: object = None) -> dict[str, Any]:
    """Describe query parameters and the request body. For ``openapi_extra=``."""
    described: dict[str, Any] = {"parameters": [*parameters]} if parameters else {}
    if body is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": body, "example": example}}}
    return described


def complete(document: dict[str, Any], routes: Iterable[BaseRoute], *, login: bool) -> dict[str, Any]:
    """Add to FastAPI's description what it leaves out: the failures that any call may have, and nulls in schemas and examples.

    A schema with a title is defined once, under that name, and referred to elsewhere.
    """
    named: dict[str, object] = {}
    for route, operation in _operations(document, routes):
        described: dict[str, Any] = {str(status): response for status, response in route.responses.items() if status != "default"}
        described |= {str(status): _failure(status) for status in _common(route, login=login) if str(status) not in described}
        operation["responses"].pop("default", None)
        for status, response in described.items():
            operation["responses"][status] = operation["responses"].get(status, {}) | _referring(response, named)
        operation["responses"] = dict(sorted(operation["responses"].items()))
        body = (route.openapi_extra or {}).get("requestBody")
        if body is not None:
            operation["requestBody"] = _referring(body, named)
    document.setdefault("components", {})["schemas"] = dict(sorted(named.items()))
    return document


def _operations(document: Mapping[str, Any], routes: Iterable[BaseRoute]) -> Iterator[tuple[APIRoute, dict[str, Any]]]:
    for route in routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method in route.methods or ():
                yield route, document["paths"][route.path_format][method.lower()]


def _common(route: APIRoute, *, login: bool) -> Iterator[int]:
    """The failures that no route lists itself."""
    # A missing Host header, or a path that is not UTF-8.
    yield 400
    if "requestBody" in (route.openapi_extra or {}):
        yield 408
        yield 413
    if login:
        yield 401
    yield 406
    yield 421
    yield 431
    if not isinstance(route, UntypedRoute):
        yield 415
    yield 500


def _referring(value: Any, named: dict[str, object]) -> Any:
    """``value`` with references in place of the schemas that have a title. Those are put into ``named``."""
    if isinstance(value, Mapping):
        copied = {key: value[key] if key == "example" else _referring(value[key], named) for key in value}
        if value.get("type") == "object" and isinstance(value.get("title"), str):
            named[value["title"]] = copied
            return {"$ref": f"#/components/schemas/{value['title']}"}
        return copied
    return [_referring(each, named) for each in value] if isinstance(value, list | tuple) else value


def _failure(status: int) -> dict[str, Any]:
    if status == 401:
        # Kafka Connect answers this one with plain text.
        return {"description": ERRORS[status]}
    body = {"error_code": status, "message": ERRORS[status]}
    return {"description": ERRORS[status], "content": {JSON: {"schema": FAILURE, "example": body}}}
