"""Decodes keys and values of topics: JSON with and without its schema, Avro and JSON Schema of a registry, text, and bytes."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import io
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from connector.extras import install_command
from workers.cli.failure import CommandError
from workers.records.change_event import payload

Lookup = Callable[[int], Mapping[str, Any]]
"""``lookup(id)``: what a registry knows of a schema: ``schema`` and, unless it is Avro, ``schemaType``. Raises CommandError."""

_FRAME: Final = 5
"""Bytes before the payload: a zero and the schema's id (Confluent's wire format)."""


class Decoder:
    """Decodes what converters wrote. ``lookup`` asks the registry; None without one."""

    def __init__(self, lookup: Lookup | None = None) -> None:
        self._lookup = lookup
        self._schemas: dict[int, Mapping[str, Any]] = {}
        self._parsed: dict[int, Any] = {}

    def decode(self, data: bytes | None) -> Any:
        """The value as JSON has it; None for a tombstone. Bytes that nothing decodes become ``{"base64": ...}``.

        Raises CommandError when the registry does not answer.
        """
        if data is None:
            return None
        if data[:1] == b"\0" and len(data) > _FRAME and self._lookup is not None:
            return self._framed(int.from_bytes(data[1:_FRAME], "big"), data[_FRAME:], data)
        try:
            return payload(orjson.loads(data))
        except orjson.JSONDecodeError:
            pass
        try:
            return data.decode()
        except UnicodeDecodeError:
            return _unread(data)

    def _framed(self, number: int, body: bytes, whole: bytes) -> Any:
        if number not in self._schemas:
            assert self._lookup is not None  # noqa: S101 (the caller has looked)
            self._schemas[number] = self._lookup(number)
        known = self._schemas[number]
        try:
            match known.get("schemaType", "AVRO"):
                case "AVRO":
                    return self._avro(number, known, body)
                case "JSON":
                    return orjson.loads(body)
                case _:
                    return _unread(whole)
        except CommandError:
            raise
        except Exception:  # noqa: BLE001 (the bytes and the schema may be anything, and fastavro raises many kinds)
            # A cut record, one that does not match its schema, or a schema with references to others.
            return _unread(whole)

    def _avro(self, number: int, known: Mapping[str, Any], body: bytes) -> Any:
        try:
            from fastavro import parse_schema, schemaless_reader  # noqa: PLC0415 (the extra registry)
        except ModuleNotFoundError as missing:
            raise CommandError("Avro needs the package fastavro", f"Run {install_command('registry')}") from missing
        if number not in self._parsed:
            self._parsed[number] = parse_schema(orjson.loads(known["schema"]))
        return plain_values(schemaless_reader(io.BytesIO(body), self._parsed[number], None))


def plain_values(value: Any) -> Any:
    """An Avro value with JSON's types only. Bytes become Base64, as in the JSON converter."""
    match value:
        case dict():
            return {str(name): plain_values(each) for name, each in value.items()}
        case list() | tuple():
            return [plain_values(each) for each in value]
        case bytes():
            return base64.b64encode(value).decode()
        case decimal.Decimal() | uuid.UUID():
            return str(value)
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case _:
            return value


def _unread(data: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(data).decode()}
