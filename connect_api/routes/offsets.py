"""Offsets of a connector (KIP-875)."""

from __future__ import annotations

import json
from typing import Final

from fastapi import FastAPI, Request, Response

from connect_api import bodies, models
from connect_api.documentation import answers, extra
from connect_api.herder import Herder, HerderError, Offset
from connect_api.request_error import RequestError
from connect_api.schemas import array, closed, mapping, or_null

FIELDS: Final = ("partition", "offset")
LONGEST: Final = 2**63
"""Connect stores whole numbers as signed 64-bit values; this is the first number above them."""

_PLAIN: Final = {
    "anyOf": [
        {"type": ["string", "boolean", "null", "number"], "not": {"type": "integer"}},
        {"type": "integer", "minimum": -LONGEST, "maximum": LONGEST - 1},
    ]
}
_MEMBER: Final = or_null(mapping(_PLAIN))
_CHANGE: Final = closed("OffsetChange", {"partition": _MEMBER, "offset": _MEMBER}, optional=("partition", "offset"))
ALTER_BODY: Final = closed("AlterOffsetsRequest", {"offsets": {**array(_CHANGE), "minItems": 1}})


def add_routes(app: FastAPI, herder: Herder) -> None:
    """Add the routes of offsets."""
    path = "/connectors/{connector:segment}/offsets"
    stored = {"partition": {"server": "shop"}, "offset": {"lsn": 22176496, "txId": 726, "ts_usec": 1795242511502549}}
    changed = answers(
        models.MESSAGE, {"message": "The Connect framework-managed offsets for this connector have been altered successfully. …"}, 400, 404
    )

    @app.get(path, tags=["offsets"], responses=answers(models.OFFSETS, {"offsets": [stored]}, 404))
    async def read(connector: str) -> Response:
        """Show the offsets stored in Kafka."""
        return models.reply(models.offsets(await herder.offsets(connector)))

    @app.patch(path, tags=["offsets"], responses=changed, openapi_extra=extra(body=ALTER_BODY, example={"offsets": [stored]}))
    async def alter(request: Request, connector: str) -> Response:
        """Change offsets of a stopped connector. Null as offset removes it. Partitions that the body does not name keep their offset."""
        wanted = changes(await bodies.read(request))
        return models.reply(models.message(await herder.alter_offsets(connector, wanted)))

    @app.delete(path, tags=["offsets"], responses=changed)
    async def reset(connector: str) -> Response:
        """Remove all offsets of a stopped connector."""
        return models.reply(models.message(await herder.reset_offsets(connector)))


def changes(body: bytes) -> list[Offset]:
    """Read the body of PATCH.

    Raises :class:`RequestError` for a body that is not of the form ``{"offsets": [{"partition": {}, "offset": {}}]}`` and for values
    that Connect does not store; 400 in Connect's words for a body without changes.
    """
    for field in bodies.parse_object(body):
        if field != "offsets":
            raise RequestError(f'Unknown field "{field}". The body has only "offsets".')
    wanted = json.loads(body.removeprefix(b"\xef\xbb\xbf")).get("offsets")
    if wanted is not None and not isinstance(wanted, list):
        raise RequestError('The field "offsets" must be a JSON array. Write it as [{"partition": {...}, "offset": {...}}].')
    if not wanted:
        raise HerderError(400, "Partitions / offsets need to be provided for an alter offsets request")
    return [_change(entry, number) for number, entry in enumerate(wanted, start=1)]


def _change(entry: object, number: int) -> Offset:
    if not isinstance(entry, dict):
        raise RequestError(f'Entry {number} of "offsets" must be a JSON object with "partition" and "offset".')
    for field in entry:
        if field not in FIELDS:
            raise RequestError(f'Unknown field "{field}" in entry {number} of "offsets". An entry has "partition" and "offset".')
    return Offset(_values(entry, "partition", number), _values(entry, "offset", number))


def _values(entry: dict[str, object], field: str, number: int) -> dict[str, object] | None:
    values = entry.get(field)
    if values is None:
        return None
    where = f'"{field}" in entry {number} of "offsets"'
    if not isinstance(values, dict):
        raise RequestError(f"The field {where} must be a JSON object or null.")
    for key, value in values.items():
        # This is Connect's rule: it could not read other values back.
        if isinstance(value, dict | list):
            raise RequestError(f'The member "{key}" of {where} is an object or an array. Offsets hold plain values only.')
        if isinstance(value, int) and not -LONGEST <= value < LONGEST:
            raise RequestError(f'The member "{key}" of {where} is a number of more than 64 bits. Correct it: no position is so large.')
    return values
