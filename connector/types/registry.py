"""The type table: which codec a column has, by the name of its type.

Domains count as their base type with the innermost modifier, enums and arrays are built from the server's catalog.
Types without a row here are left out, or sent as bytes when ``include.unknown.datatypes`` is on.
Source: Debezium documentation, "Data type mappings"; where it is silent, what Debezium 3.6.3 was seen to send.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from connector.types import binary, temporal, text
from connector.types.array import array, vector_array
from connector.types.binary import bytea, unknown
from connector.types.bits import bits
from connector.types.boolean import CODEC as BOOLEAN
from connector.types.codec import Codec, Column, TypeInfo, Types, TypeSettings
from connector.types.floating import DOUBLE, REAL
from connector.types.former_driver import by_driver, date_as_read, timestamp_as_read, zoned_element_as_read
from connector.types.geometry import GEOGRAPHY, GEOMETRY, POINT, driver_text
from connector.types.hstore import hstore
from connector.types.integer import BIGINT, INTEGER, SMALLINT
from connector.types.interval import interval
from connector.types.money import money
from connector.types.numeric import numeric
from connector.types.text import JSON, LTREE, TSVECTOR, UUID, XML, enum_codec, plain_codec, text_codec, unread_codec
from connector.types.vector import HALFVEC, SPARSEVEC, VECTOR
from connector.types.zoned import timestamptz, timetz

INLINE_NAMES: Final[dict[str, object]] = {**text.INLINE_NAMES, **binary.INLINE_NAMES, **temporal.INLINE_NAMES}
"""What the ``inline`` sources of codecs may name; bind these where they are compiled. They also assign the local ``_quoted``."""

_CATALOG: Final = "pg_catalog"


@dataclass(frozen=True, slots=True)
class _Context:
    """One type to be built: its atttypmod, the settings, the TOAST placeholder in both forms."""

    modifier: int
    settings: TypeSettings
    placeholder: str
    placeholder_bytes: bytes
    by_driver: bool = False
    """The reference reads the value through the JDBC driver of version 2.3.4, which has its own mind about old dates and money."""


_Builder = Callable[[_Context], Codec]


def _text(name: str | None = None) -> _Builder:
    return lambda context: text_codec(context.placeholder, name)


def _plain(name: str | None = None) -> _Builder:
    return lambda context: plain_codec(context.placeholder, name)


def _fixed(codec: Codec) -> _Builder:
    return lambda _context: codec


def _numeric(context: _Context, *, element: bool = False) -> Codec:
    return numeric(context.modifier, context.settings.decimal_handling_mode, context.settings.decimal_format, element=element)


def _time_element(context: _Context) -> Codec:
    mode = context.settings.time_precision_mode
    if mode == "connect" and context.settings.version < (3, 0, 0):
        # Version 2 gave these arrays a schema that its own values never fitted.
        return _refusing(temporal.time("microseconds", context.modifier))
    return temporal.time(mode, context.modifier, element=True)


def _money(context: _Context) -> Codec:
    settings = context.settings
    return money(settings.decimal_handling_mode, settings.money_fraction_digits, settings.decimal_format, by_driver=context.by_driver)


def _date(context: _Context, *, element: bool = False) -> Codec:
    mode = context.settings.time_precision_mode
    return by_driver(temporal.date(mode, element=True), date_as_read) if context.by_driver else temporal.date(mode, element=element)


def _timestamp(context: _Context) -> Codec:
    codec = temporal.timestamp(context.settings.time_precision_mode, context.modifier)
    return by_driver(codec, timestamp_as_read) if context.by_driver else codec


def _timestamptz(context: _Context) -> Codec:
    codec = timestamptz(context.modifier)
    return by_driver(codec, timestamp_as_read) if context.by_driver else codec


def _timestamptz_element(context: _Context) -> Codec:
    codec = timestamptz(context.modifier)
    return by_driver(codec, zoned_element_as_read) if context.by_driver else codec


def _bytea(context: _Context) -> Codec:
    return bytea(context.settings.binary_handling_mode, context.placeholder_bytes)


def _geometric(context: _Context) -> Codec:
    return unknown(context.settings.binary_handling_mode, context.placeholder_bytes, driver_text)


_BUILT_IN: Final[dict[str, _Builder]] = {
    "bool": _fixed(BOOLEAN),
    "int2": _fixed(SMALLINT),
    "int4": _fixed(INTEGER),
    "int8": _fixed(BIGINT),
    "oid": _fixed(BIGINT),
    "float4": _fixed(REAL),
    "float8": _fixed(DOUBLE),
    "numeric": _numeric,
    "money": _money,
    "text": _text(),
    "varchar": _text(),
    "bpchar": _text(),
    "char": _text(),
    "name": _text(),
    "uuid": _plain(UUID),
    "json": _text(JSON),
    "jsonb": _text(JSON),
    "xml": _text(XML),
    "tsvector": _text(TSVECTOR),
    "inet": _plain(),
    "cidr": _plain(),
    "macaddr": _plain(),
    "macaddr8": _plain(),
    "int4range": _plain(),
    "int8range": _plain(),
    "numrange": _plain(),
    # A date BC has a blank, so the range's text quotes it.
    "daterange": _text(),
    "tsrange": _text(),
    "tstzrange": _text(),
    "bytea": _bytea,
    "bit": lambda context: bits(context.modifier),
    "varbit": lambda context: bits(context.modifier),
    "date": _date,
    "time": lambda context: temporal.time(context.settings.time_precision_mode, context.modifier),
    "timestamp": _timestamp,
    "timetz": lambda _context: timetz(),
    "timestamptz": _timestamptz,
    "interval": lambda context: interval(context.settings.interval_handling_mode),
    "point": _fixed(POINT),
    "int2vector": _fixed(vector_array(SMALLINT)),
    "oidvector": _fixed(vector_array(BIGINT)),
}
"""Types of the schema pg_catalog."""

_ELEMENTS: Final[dict[str, _Builder]] = {
    "date": lambda context: _date(context, element=True),
    "numeric": lambda context: _numeric(context, element=True),
    "time": _time_element,
    "timestamptz": _timestamptz_element,
    "timetz": lambda _context: timetz(element=True),
}
"""Types that look different inside arrays."""

_EXTENSIONS: Final[dict[str, _Builder]] = {
    "citext": _text(),
    "hstore": lambda context: hstore(context.settings.hstore_handling_mode, context.placeholder),
    "ltree": _text(LTREE),
    "isbn": _plain(),
    "geometry": _fixed(GEOMETRY),
    "geography": _fixed(GEOGRAPHY),
    "vector": _fixed(VECTOR),
    "halfvec": _fixed(HALFVEC),
    "sparsevec": _fixed(SPARSEVEC),
}
"""Base types of extensions, in whichever schema they were created."""

_SINCE: Final = {"tsvector": (3, 0, 0), "vector": (3, 0, 0), "halfvec": (3, 0, 0), "sparsevec": (3, 0, 0)}
"""Mappings that earlier versions did not have."""

_GEOMETRIC: Final = frozenset({"box", "circle", "line", "lseg", "path", "polygon"})
_NO_ARRAYS: Final = frozenset({"name", "money", "interval", "varbit", "xml", "point", "vector", "halfvec", "sparsevec"})
"""Arrays of these are left out, even when unknown types are included."""
_DELIMITERS: Final = {"geometry": b":", "geography": b":", "box": b";"}
"""typdelim of the types that have another than a comma."""
_REQUIRED_ITEMS: Final = frozenset({"tsvector", "isbn"})
"""The items of these arrays are not nullable; neither are those of enums and of unknown types."""


def resolve(column: Column, types: Types, settings: TypeSettings, *, streamed: bool = False) -> Codec | None:
    """The codec of ``column``, or None when it has no mapping and is left out of the events.

    ``streamed`` tells that the texts come from the stream: of type ``name`` the reference reads them only in snapshots, and
    2.3.4 reads old dates and amounts of money differently there.
    """
    info, modifier = base_type(column, types)
    if info is None:
        return None
    if streamed and info.name == "name" and info.schema == _CATALOG and not settings.include_unknown_datatypes:
        return unread_codec(required=column.not_null)
    placeholder = settings.unavailable_value_placeholder
    raw = bytes.fromhex(placeholder[4:]) if placeholder.startswith("hex:") else placeholder.encode()
    former = settings.version < (3, 0, 0)
    context = _Context(modifier, settings, raw.decode(errors="replace"), raw, by_driver=former and not streamed)
    if info.element and info.name not in _BUILT_IN:
        return _array_codec(types.get(info.element), replace(context, by_driver=former))
    return _scalar(info, context) or _unknown(info, context)


def base_type(column: Column, types: Types) -> tuple[TypeInfo | None, int]:
    """The type below all domains and the modifier that counts: the innermost one declared. None for an oid not in ``types``."""
    oid, modifier = column.type_oid, column.modifier
    info = types.get(oid)
    while info is not None and info.kind == "d":
        if info.base_modifier != -1:
            modifier = info.base_modifier
        info = types.get(info.base)
    return info, modifier


def _scalar(info: TypeInfo, context: _Context) -> Codec | None:
    if info.kind == "e":
        return enum_codec(context.placeholder, info.labels)
    if context.settings.version < _SINCE.get(info.name, (0, 0, 0)):
        return None
    builder = _BUILT_IN.get(info.name) if info.schema == _CATALOG else _EXTENSIONS.get(info.name) if info.kind == "b" else None
    return None if builder is None else builder(context)


def _unknown(info: TypeInfo, context: _Context) -> Codec | None:
    if not context.settings.include_unknown_datatypes:
        return None
    if info.name in _GEOMETRIC and info.schema == _CATALOG:
        return _geometric(context)
    return unknown(context.settings.binary_handling_mode, context.placeholder_bytes)


def _array_codec(info: TypeInfo | None, context: _Context) -> Codec | None:
    if info is None or (info.name in _NO_ARRAYS and info.kind == "b"):
        return None
    if info.name == "bit" and info.schema == _CATALOG:
        # Debezium gives bit[] the schema of one bit string, and no array ever fits it.
        return _refusing(bits(context.modifier))
    delimiter = _DELIMITERS.get(info.name, b",")
    element = None if info.kind == "d" else _scalar(info, context)
    if element is None:
        other = _unknown(info, context)
        return None if other is None else array(other, optional_items=False, delimiter=delimiter)
    if info.schema == _CATALOG and info.name in _ELEMENTS:
        element = _ELEMENTS[info.name](context)
    return array(
        element,
        optional_items=info.kind != "e" and info.name not in _REQUIRED_ITEMS,
        unavailable=_unavailable_array(info, element, context),
        lenient=info.name == "timestamp" and context.settings.time_precision_mode == "nanoseconds",
        delimiter=delimiter,
    )


def _unavailable_array(info: TypeInfo, element: Codec, context: _Context) -> list[object] | None:
    """What Debezium sends for an unchanged TOAST array: the placeholder in the element's terms, where it has any."""
    raw = context.placeholder_bytes
    if info.kind != "b":
        return None
    if info.name in {"text", "varchar", "bpchar", "json", "jsonb"}:
        return [context.placeholder]
    if info.name in {"int4", "int8"} or (info.name == "date" and element.schema.name == "io.debezium.time.Date"):
        return [byte - 256 if byte > 127 else byte for byte in raw]
    if info.name == "uuid":
        # UUID.nameUUIDFromBytes: an MD5 with the version and variant bits of a name-based uuid.
        return [str(uuid.UUID(bytes=hashlib.md5(raw, usedforsecurity=False).digest(), version=3))]
    if info.name == "bytea" and element.schema.type == "bytes":
        return [raw]
    return None


def _refusing(codec: Codec) -> Codec:
    """The schema of ``codec`` for values that cannot be converted to it."""

    def refuse(_text: bytes) -> bytes:
        raise ValueError("Values of this array type cannot be converted to the schema that it has")

    return Codec(schema=codec.schema, encode=refuse, decode=refuse, fallback=codec.fallback)
