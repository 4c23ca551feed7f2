"""Request bodies: JSON read as Kafka Connect reads it, and refused with a message that says how to correct it.

Configuration values become strings as Jackson makes them: a number keeps the digits it was written with (``1.50`` stays
``1.50``), true and false become words, and null stays None, which the herder judges. A message never repeats a value that was sent.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Final

import orjson
from fastapi import Request
from starlette.exceptions import HTTPException

from connect_api.herder import HerderError, TargetState
from connect_api.media import media_type
from connect_api.request_error import RequestError
from connect_api.schemas import closed, mapping

LIMIT: Final = 4 * 1024 * 1024
"""The longest body, in bytes. A configuration is stored as one Kafka record, 1 MiB by default, so a useful body is shorter."""

PASSED_OVER: Final = 16 * 1024 * 1024
"""How many bytes of a body that is too long are read: a client that is still sending would not see the refusal."""

SECONDS: Final = 60.0
"""How long a body may take to arrive."""

DEPTH: Final = 100
"""Most levels of objects and arrays in a body. No call needs more than six; the data of a user's own signals may need more."""

INITIAL_STATES: Final[dict[str, TargetState]] = {"RUNNING": "STARTED", "PAUSED": "PAUSED", "STOPPED": "STOPPED"}
"""Value of ``initial_state`` (KIP-980) → the target state that it means."""

WHITESPACE: Final = "".join(map(chr, range(0x21)))
"""What Java's ``String.trim`` removes."""

SCALAR: Final = {"type": ["string", "number", "boolean", "null"]}
"""The values that become strings."""

CONFIG_BODY: Final = mapping(SCALAR)
CREATE_BODY: Final = closed(
    "CreateConnectorRequest",
    {"name": SCALAR, "config": CONFIG_BODY, "initial_state": {"enum": [*INITIAL_STATES, None]}},
    optional=("name", "initial_state"),
)
CREATE_FIELDS: Final = tuple(CREATE_BODY["properties"])


class Number(str):
    """A JSON number as it was written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class NewConnector:
    """The request of POST /connectors. ``name`` is trimmed and may be empty; ``config`` holds it too, under ``name``."""

    name: str
    config: dict[str, str | None]
    initial_state: TargetState | None


async def read(request: Request) -> bytes:
    """Return the body. Raises 415 unless its Content-Type is ``application/json``, and as :func:`read_any`."""
    body = await read_any(request)
    if body and media_type(request.headers.get("content-type", "")) != "application/json":
        raise HTTPException(415)
    return body


async def read_any(request: Request) -> bytes:
    """Return the body, whatever its Content-Type. Raises 413 above :data:`LIMIT`, 408 when it does not end within :data:`SECONDS`."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(SECONDS):
            async for part in request.stream():
                size += len(part)
                if size <= LIMIT:
                    parts.append(part)
                elif size > PASSED_OVER:
                    break
    except TimeoutError:
        raise RequestError(f"The request body did not end within {SECONDS:g} seconds. Send all of it.", status=408) from None
    if size > LIMIT:
        raise RequestError(f"The request body is longer than {LIMIT} bytes, more than a configuration may hold. Send less.", status=413)
    return b"".join(parts)


def parse_object(body: bytes) -> dict[str, object]:
    """Return the JSON object in ``body``; raises :class:`RequestError` as :func:`parse`, and for any other JSON value."""
    value = parse(body)
    if not isinstance(value, dict):
        raise RequestError(f"The request body is {_kind(value)}. Send a JSON object.")
    return value


def parse(body: bytes) -> object:
    """Return the JSON value in ``body``, its numbers as :class:`Number`. The last of several members of one name counts.

    Raises :class:`RequestError` for an empty body, for text that is not JSON (with line and column), and for JSON with more levels than
    :data:`DEPTH`. Python's own recursive functions fail at a depth that depends on the caller.
    """
    body = body.removeprefix(b"\xef\xbb\xbf")
    if not body.strip():
        raise RequestError("The request has no body. Send a JSON object.")
    try:
        body.decode()
    except UnicodeDecodeError as failure:
        raise RequestError(f"The request body is not UTF-8 at byte {failure.start + 1}. Send JSON encoded as UTF-8.") from None
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as failure:
        raise RequestError(
            f"The request body is not valid JSON at line {failure.lineno}, column {failure.colno}: {failure.msg}. Correct the JSON there."
        ) from None
    if deeper(value, DEPTH):
        raise RequestError(f"The request body nests objects or arrays more than {DEPTH} deep. Configuration values are plain strings.")
    # orjson is strict and names the place of an error. Only the standard parser can return numbers as text; the body is valid by now.
    parsed: object = json.loads(body, parse_int=Number, parse_float=Number)
    return parsed


def new_connector(body: bytes) -> NewConnector:
    """Read the body of POST /connectors.

    Raises :class:`RequestError` for an unknown field, a missing config, a name or value of the wrong kind and an unknown
    initial_state; :class:`HerderError` when the configuration names another connector.
    """
    fields = parse_object(body)
    for field in fields:
        if field not in CREATE_FIELDS:
            raise RequestError(
                f'Unknown field "{field}". A connector is created from "name", "config" and, if wanted, "initial_state"; '
                f'properties of the connector belong in "config".'
            )
    name = (_text(fields.get("name"), '"name"') or "").strip(WHITESPACE)
    state = _initial_state(fields.get("initial_state"))
    config = fields.get("config")
    if config is None:
        raise RequestError('The field "config" is missing. Put the connector\'s properties into it, as a JSON object of strings.')
    if not isinstance(config, dict):
        raise RequestError(f'The field "config" is {_kind(config)}. Write the connector\'s properties as a JSON object of strings.')
    return NewConnector(name, named(name, texts(config)), state)


def connector_config(name: str, body: bytes) -> dict[str, str | None]:
    """Read the flat map of PUT /connectors/{name}/config; same errors as :func:`new_connector`."""
    return named(name, texts(parse_object(body)))


def texts(config: dict[str, object]) -> dict[str, str | None]:
    """Turn configuration values into strings. Raises :class:`RequestError` for a value that is an object or an array."""
    return {key: _text(value, f'configuration property "{key}"') for key, value in config.items()}


def named(name: str, config: dict[str, str | None]) -> dict[str, str | None]:
    """``config`` with ``name`` appended where it is absent. Raises 400 when the configuration holds a different name."""
    included = config.get("name")
    if included is not None and included != name:
        raise HerderError(400, f"Connector name configuration ({included}) doesn't match connector name in the URL ({name})")
    return {**config, "name": name}


def deeper(value: object, limit: int) -> bool:
    """Whether objects and arrays in ``value`` are nested more than ``limit`` levels deep. It does not recurse."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        if not level:
            return False
        members = (member for each in level for member in (each.values() if isinstance(each, dict) else each))
        level = [member for member in members if isinstance(member, dict | list)]
    return bool(level)


def _text(value: object, field: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return str(value)
    raise RequestError(f"The value of {field} is {_kind(value)}. Write it as a string.")


def _initial_state(value: object) -> TargetState | None:
    if value is None:
        return None
    state = INITIAL_STATES.get(value.upper()) if isinstance(value, str) else None
    if state is None:
        raise RequestError(f'The field "initial_state" must be one of {", ".join(INITIAL_STATES)}. Correct it, or leave it out to start.')
    return state


def _kind(value: object) -> str:
    kinds: dict[type, str] = {dict: "a JSON object", list: "a JSON array", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")
