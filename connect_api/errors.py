"""Every failure of the REST layer as Connect's body ``{"error_code": <status>, "message": "..."}``.

Routing failures have Kafka Connect's texts (``HTTP 404 Not Found``). Where Kafka Connect answers a malformed request with 500 and the
text of a Java exception, the answer here is a :class:`RequestError`: a 400 that names the field and the correction.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from connect_api.herder import HerderError
from connect_api.login import LoginError, refusal
from connect_api.methods import allowed
from connect_api.request_error import RequestError
from connect_api.schemas import TEXT, closed

FAILURE: Final = closed("ErrorMessage", {"error_code": {"type": "integer", "minimum": 400, "maximum": 599}, "message": TEXT})


def error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with Connect's error body and its status."""
    body = orjson.dumps({"error_code": status, "message": message})
    return Response(body, status_code=status, headers=headers, media_type="application/json")


def phrase(status: int) -> str:
    """Return the text for a failure of routing itself, such as ``HTTP 405 Method Not Allowed``."""
    return f"HTTP {status} {HTTPStatus(status).phrase}"


def install(app: FastAPI) -> None:
    """Replace FastAPI's own error bodies, so that every failure has Connect's body."""

    @app.exception_handler(HerderError)
    async def refused(_request: Request, refusal: HerderError) -> Response:
        return error(refusal.status, refusal.message)

    @app.exception_handler(RequestError)
    async def not_understood(_request: Request, mistake: RequestError) -> Response:
        return error(mistake.status, mistake.message)

    @app.exception_handler(LoginError)
    async def not_logged_in(_request: Request, _failure: LoginError) -> Response:
        return refusal()

    @app.exception_handler(HTTPException)
    async def not_routed(request: Request, failure: HTTPException) -> Response:
        headers = {"Allow": ",".join(allowed(app.routes, request.scope))} if failure.status_code == 405 else None
        return error(failure.status_code, phrase(failure.status_code), headers)

    @app.exception_handler(RequestValidationError)
    async def not_valid(_request: Request, failure: RequestValidationError) -> Response:
        first = failure.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return error(400, f"Parameter {where} is not valid: {first['msg']}.")
