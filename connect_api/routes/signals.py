"""Signals to a running connector: an extension of Connect's REST that replaces Debezium's JMX operation ``signal``."""

from __future__ import annotations

import json
from typing import Final

from fastapi import FastAPI, Request, Response

from connect_api import bodies, models
from connect_api.documentation import answers, extra
from connect_api.herder import Herder, SignalRequest
from connect_api.request_error import RequestError
from connect_api.schemas import closed

SIGNAL_BODY: Final = closed(
    "Signal",
    {
        "id": {"type": ["string", "null"], "minLength": 1},
        "type": {"type": "string", "minLength": 1},
        "data": {"type": ["object", "string", "null"]},
    },
    optional=("id", "data"),
)
FIELDS: Final = tuple(SIGNAL_BODY["properties"])
_EXAMPLE: Final = {"id": "again-1", "type": "execute-snapshot", "data": {"data-collections": ["public.orders"]}}


def add_routes(app: FastAPI, herder: Herder) -> None:
    """Add the route of signals."""

    @app.post(
        "/connectors/{connector:segment}/signals",
        status_code=202,
        tags=["extensions"],
        responses=answers(
            models.SIGNAL_ID,
            {"id": "again-1"},
            *(400, 404, 409),
            status=202,
            description="Delivered to the task; the log reports the result",
        ),
        openapi_extra=extra(body=SIGNAL_BODY, example=_EXAMPLE),
    )
    async def signal(request: Request, connector: str) -> Response:
        """Send a signal to the connector's task."""
        wanted = signal_request(await bodies.read(request))
        return models.reply(models.signal_id(await herder.signal(connector, wanted)), 202)


def signal_request(body: bytes) -> SignalRequest:
    """Read the body. Raises :class:`RequestError` that names the wrong field."""
    for field in bodies.parse_object(body):
        if field not in FIELDS:
            raise RequestError(f'Unknown field "{field}". A signal has "type" and, if wanted, "id" and "data".')
    members = json.loads(body.removeprefix(b"\xef\xbb\xbf"))
    return SignalRequest(_text(members, "id"), _type(members), _data(members.get("data")))


def _type(members: dict[str, object]) -> str:
    kind = _text(members, "type")
    if kind is None:
        raise RequestError('The field "type" is missing. Name the kind of signal, for example execute-snapshot.')
    return kind


def _text(members: dict[str, object], field: str) -> str | None:
    value = members.get(field)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise RequestError(f'The field "{field}" must be a string that is not empty. Correct it.')
    return value


def _data(data: object) -> str | None:
    if isinstance(data, str) and data.strip():
        try:
            bodies.parse(data.encode())
            data = json.loads(data)
        except RequestError:
            raise RequestError('The text in the field "data" is not valid JSON. Send a JSON object, or one as text.') from None
    if data is None or data == "":
        return None
    if not isinstance(data, dict):
        raise RequestError('The field "data" must be a JSON object, or one as text. Correct it, or leave it out.')
    return json.dumps(data, ensure_ascii=False)
