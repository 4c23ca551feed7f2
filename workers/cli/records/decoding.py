"""Decodes keys and values of topics: JSON with and without its schema, Avro and JSON Schema of a registry, text, and bytes."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import io
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from connector.extras import install_command
from workers.cli.failure import CommandError
from workers.records.change_event import payload

IdKind = Literal["contentId", "globalId"]
"""The two kinds of Apicurio's ids."""
Lookup = Callable[[int, IdKind | None], Mapping[str, Any]]
"""``lookup(id, kind)``: what a registry knows of a schema: ``schema`` and, unless it is Avro, ``schemaType``. Raises CommandError.

``kind`` is None where the record does not tell it.
"""
Headers = Iterable[tuple[str, bytes | None]]
Side = Literal["key", "value"]

KINDS: Final[tuple[IdKind, ...]] = ("contentId", "globalId")
_FRAME: Final = 5
"""Bytes before the payload: a zero and the schema's id (Confluent's wire format)."""
_LONG_FRAME: Final = 9
"""The same with an id of eight bytes, which Apicurio's converters can write."""


@dataclass(frozen=True, slots=True)
class _Framed:
    """The id of a record's schema, and what the schema describes."""

    number: int
    kind: IdKind | None
    body: bytes


class Decoder:
    """Decodes what converters wrote. ``lookup`` asks the registry; None without one."""

    def __init__(self, lookup: Lookup | None = None) -> None:
        self._lookup = lookup
        self._schemas: dict[tuple[int, IdKind | None], Mapping[str, Any]] = {}
        self._parsed: dict[tuple[int, IdKind | None], Any] = {}
        self.lacks_registry = False
        """Whether a record has had the id of a schema, and there was no registry to ask."""

    def decode(self, data: bytes | None, side: Side = "value", headers: Headers = ()) -> Any:
        """The value as JSON has it; None for a tombstone. Bytes that nothing decodes become ``{"base64": ...}``.

        ``headers`` are the record's, where Apicurio's converters may write the id of the schema of the ``side``. Raises CommandError when
        the registry does not answer.
        """
        if data is None:
            return None
        if framed := _framed(data, side, headers):
            if self._lookup is not None:
                return self._registered(self._lookup, framed, data)
            self.lacks_registry = True
        try:
            return payload(orjson.loads(data))
        except orjson.JSONDecodeError:
            pass
        try:
            return data.decode()
        except UnicodeDecodeError:
            return _unread(data)

    def _registered(self, lookup: Lookup, framed: _Framed, whole: bytes) -> Any:
        named = (framed.number, framed.kind)
        if named not in self._schemas:
            self._schemas[named] = lookup(*named)
        known = self._schemas[named]
        try:
            match known.get("schemaType", "AVRO"):
                case "AVRO":
                    return self._avro(named, known, framed.body)
                case "JSON":
                    return orjson.loads(framed.body)
                case _:
                    return _unread(whole)
        except CommandError:
            raise
        except Exception:  # noqa: BLE001 (the bytes and the schema may be anything, and fastavro raises many kinds)
            # A cut record, one that does not match its schema, or a schema with references to others.
            return _unread(whole)

    def _avro(self, named: tuple[int, IdKind | None], known: Mapping[str, Any], body: bytes) -> Any:
        try:
            from fastavro import parse_schema, schemaless_reader  # noqa: PLC0415 (the extra registry)
        except ModuleNotFoundError as missing:
            raise CommandError("Avro needs the package fastavro", f"Run {install_command('registry')}") from missing
        if named not in self._parsed:
            self._parsed[named] = parse_schema(orjson.loads(known["schema"]))
        return plain_values(schemaless_reader(io.BytesIO(body), self._parsed[named], None))


def _framed(data: bytes, side: Side, headers: Headers) -> _Framed | None:
    """The id of the schema in a header or before the body; None for bytes without one."""
    for name, content in headers:
        for kind in KINDS:
            if name == f"apicurio.{side}.{kind}" and content is not None and len(content) == 8:
                return _Framed(int.from_bytes(content, "big"), kind, data)
    if data[:1] != b"\0" or len(data) <= _FRAME:
        return None
    number = int.from_bytes(data[1:_FRAME], "big")
    if number == 0 and len(data) > _LONG_FRAME:
        # No schema has this number; these are the upper bytes of a long id.
        return _Framed(int.from_bytes(data[1:_LONG_FRAME], "big"), None, data[_LONG_FRAME:])
    return _Framed(number, None, data[_FRAME:])


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
