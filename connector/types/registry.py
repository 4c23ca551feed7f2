"""The type table: the codec of a column by the name of its type.

Domains count as their base type with the innermost modifier. Codecs of enums and arrays are made from the server's catalog. Types without a
row here are left out, or sent as bytes if ``include.unknown.datatypes`` is set. Source: Debezium documentation, "Data type mappings"; where
that does not say, recordings of Debezium 3.6.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from connector.types import binary, text
from connector.types.array import array, vector_array
from connector.types.binary import bytea, unknown
from connector.types.bits import bits
from connector.types.boolean import CODEC as BOOLEAN
from connector.types.codec import Codec, Column, TypeInfo, Types, TypeSettings
from connector.types.floating import DOUBLE, REAL
from connector.types.hstore import hstore
from connector.types.integer import BIGINT, INTEGER, SMALLINT
from connector.types.money import money
from connector.types.numeric import numeric
from connector.types.spatial.geometric import BOX, CIRCLE, LINE, LSEG, PATH, POLYGON, driver_text
from connector.types.spatial.geometry import EXTENSIBLE_GEOMETRY, GEOGRAPHY, GEOMETRY, POINT
from connector.types.temporal import local as temporal
from connector.types.temporal import structured
from connector.types.temporal.interval import interval
from connector.types.temporal.old_dates import by_driver, date_as_read, timestamp_as_read, zoned_element_as_read
from connector.types.temporal.zoned import timestamptz, timetz
from connector.types.text import JSON, LTREE, TSVECTOR, UUID, XML, enum_codec, plain_codec, text_codec, unread_codec
from connector.types.toast import Placeholder, array_placeholder, placeholder_of
from connector.types.vector import HALFVEC, SPARSEVEC, VECTOR

INLINE_NAMES: Final[dict[str, object]] = {**text.INLINE_NAMES, **binary.INLINE_NAMES, **temporal.INLINE_NAMES}
"""The names that the ``inline`` expressions of codecs use. Bind them where these are compiled. The expressions also assign ``_quoted``."""

_CATALOG: Final = "pg_catalog"


@dataclass(frozen=True, slots=True)
class _Context:
    """The arguments for one type's codec: its atttypmod, the settings, the placeholder for unchanged TOAST values."""

    modifier: int
    settings: TypeSettings
    placeholder: Placeholder
    by_driver: bool = False
    """Whether the reference reads the value through the JDBC driver of 2.3.4, which converts old dates and money differently."""
    fraction_digits: int = 2

    @property
    def structured(self) -> bool:
        """Whether dates, times and intervals are structs."""
        return self.settings.time_precision_mode == "structured"

    @property
    def precision(self) -> int:
        """The fraction digits of a time or timestamp."""
        return temporal.precision_of(self.modifier)


_Builder = Callable[[_Context], Codec]


def _text(name: str | None = None) -> _Builder:
    return lambda context: text_codec(context.placeholder.text, name)


def _plain(name: str | None = None) -> _Builder:
    return lambda context: plain_codec(context.placeholder.text, name)


def _fixed(codec: Codec) -> _Builder:
    return lambda _context: codec


def _numeric(context: _Context, *, element: bool = False) -> Codec:
    settings = context.settings
    return numeric(
        context.modifier,
        settings.decimal_handling_mode,
        settings.decimal_format,
        unavailable=context.placeholder.text,
        element=element,
    )


def _time(context: _Context) -> Codec:
    if context.structured:
        return structured.time(context.precision)
    return temporal.time(context.settings.time_precision_mode, context.modifier)


def _time_element(context: _Context) -> Codec:
    if context.structured:
        return structured.time(context.precision, element=True)
    mode = context.settings.time_precision_mode
    if mode == "connect" and not context.settings.emulation.converts_connect_time_arrays:
        # Debezium gives these arrays a schema that does not fit their values.
        return _refusing(temporal.time("microseconds", context.modifier))
    return temporal.time(mode, context.modifier, element=True)


def _money(context: _Context) -> Codec:
    settings = context.settings
    return money(
        settings.decimal_handling_mode,
        settings.money_fraction_digits,
        settings.decimal_format,
        printed=context.fraction_digits,
        by_driver=context.by_driver,
    )


def _date(context: _Context, *, element: bool = False) -> Codec:
    if context.structured:
        return structured.date()
    mode = context.settings.time_precision_mode
    if context.by_driver:
        return by_driver(temporal.date(mode, element=True), date_as_read)
    return temporal.date(mode, element=element, saturated=context.settings.emulation.saturates_infinities)


def _timestamp(context: _Context) -> Codec:
    if context.structured:
        return structured.timestamp(context.precision)
    settings = context.settings
    codec = temporal.timestamp(settings.time_precision_mode, context.modifier, saturated=settings.emulation.saturates_infinities)
    return by_driver(codec, timestamp_as_read) if context.by_driver else codec


def _timestamptz(context: _Context) -> Codec:
    if context.structured:
        return structured.timestamptz(context.precision)
    codec = timestamptz(context.modifier)
    return by_driver(codec, timestamp_as_read) if context.by_driver else codec


def _timestamptz_element(context: _Context) -> Codec:
    if context.by_driver:
        return by_driver(timestamptz(context.modifier), zoned_element_as_read)
    return _timestamptz(context)


def _timetz(context: _Context, *, element: bool = False) -> Codec:
    if context.structured:
        return structured.timetz(context.precision)
    return timetz(element=element, whole=context.settings.emulation.keeps_zoned_times_whole)


def _interval(context: _Context) -> Codec:
    if context.structured:
        return structured.interval(context.modifier)
    return interval(context.settings.interval_handling_mode)


def _geometry(context: _Context) -> Codec:
    return EXTENSIBLE_GEOMETRY if context.settings.emulation.has_geometry_extensions else GEOMETRY


def _bytea(context: _Context) -> Codec:
    return bytea(context.settings.binary_handling_mode, context.placeholder.raw)


def _geometric(context: _Context) -> Codec:
    return unknown(context.settings.binary_handling_mode, context.placeholder.raw, driver_text)


_GEOMETRIC: Final = {"box": BOX, "circle": CIRCLE, "line": LINE, "lseg": LSEG, "path": PATH, "polygon": POLYGON}
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
    # A date BC contains a blank, so PostgreSQL quotes it in the range's text.
    "daterange": _text(),
    "tsrange": _text(),
    "tstzrange": _text(),
    "bytea": _bytea,
    "bit": lambda context: bits(context.modifier),
    "varbit": lambda context: bits(context.modifier),
    "date": _date,
    "time": _time,
    "timestamp": _timestamp,
    "timetz": _timetz,
    "timestamptz": _timestamptz,
    "interval": _interval,
    "point": _fixed(POINT),
    **{name: _fixed(codec) for name, codec in _GEOMETRIC.items()},
    "int2vector": _fixed(vector_array(SMALLINT)),
    "oidvector": _fixed(vector_array(BIGINT)),
}
"""The types of the schema pg_catalog."""

_ELEMENTS: Final[dict[str, _Builder]] = {
    "date": lambda context: _date(context, element=True),
    "numeric": lambda context: _numeric(context, element=True),
    "time": _time_element,
    "timestamptz": _timestamptz_element,
    "timetz": lambda context: _timetz(context, element=True),
}
"""The types with a different codec inside arrays."""

_EXTENSIONS: Final[dict[str, _Builder]] = {
    "citext": _text(),
    "hstore": lambda context: hstore(context.settings.hstore_handling_mode, context.placeholder.text),
    "ltree": _text(LTREE),
    "isbn": _plain(),
    "geometry": _geometry,
    "geography": _fixed(GEOGRAPHY),
    "vector": _fixed(VECTOR),
    "halfvec": _fixed(HALFVEC),
    "sparsevec": _fixed(SPARSEVEC),
}
"""Base types of extensions, in any schema."""

_NO_ARRAYS: Final = frozenset({"name", "money", "interval", "varbit", "xml", "point", "vector", "halfvec", "sparsevec"})
"""Types whose arrays are left out, even if unknown types are included."""
_DELIMITERS: Final = {"geometry": b":", "geography": b":", "box": b";"}
"""typdelim of the types for which it is not a comma."""
_REQUIRED_ITEMS: Final = frozenset({"tsvector", "isbn"})
"""Types whose arrays have items that are not nullable. The same holds for enums and unknown types."""


def resolve(column: Column, types: Types, settings: TypeSettings, *, streamed: bool = False) -> Codec | None:
    """Return the codec of ``column``, or None if it has no mapping and is left out of the events.

    ``streamed`` says that the texts come from the stream. The reference reads texts of type ``name`` only in snapshots, and 2.3.4 reads old
    dates and amounts of money differently in the stream.
    """
    info, modifier = base_type(column, types)
    if info is None:
        return None
    if streamed and info.name == "name" and info.schema == _CATALOG and not settings.include_unknown_datatypes:
        return unread_codec(required=column.not_null)
    by_driver = settings.emulation.converts_snapshots_by_driver
    context = _Context(modifier, settings, placeholder_of(settings), by_driver and not streamed, info.fraction_digits)
    if info.element and info.name not in _BUILT_IN:
        codec = _array_codec(_item(info, types), replace(context, by_driver=by_driver))
        # As recorded, a domain over an array has no placeholder.
        return codec if codec is None or info.oid == column.type_oid else replace(codec, unavailable=None)
    codec = _scalar(info, context) or _unknown(info, context)
    if codec is not None and codec.unavailable is not None and info.name == "hstore" and info.oid != column.type_oid:
        # A domain over hstore has the placeholder of other types, a text, which is no map.
        return replace(codec, unavailable=context.placeholder.text if settings.hstore_handling_mode == "json" else None)
    return codec


def base_type(column: Column, types: Types) -> tuple[TypeInfo | None, int]:
    """Return the type below all domains, and the innermost declared modifier. The type is None for an oid that is not in ``types``."""
    oid, modifier = column.type_oid, column.modifier
    info = types.get(oid)
    while info is not None and info.kind == "d":
        if info.base_modifier != -1:
            modifier = info.base_modifier
        info = types.get(info.base)
    return info, modifier


def _item(info: TypeInfo, types: Types) -> TypeInfo | None:
    """Return the type of an array's items. A domain over an enum counts as an enum whose labels are not known, as in Debezium 3.7.0."""
    item = types.get(info.element)
    if item is None or item.kind != "d":
        return item
    base, _modifier = base_type(Column("", item.oid), types)
    return replace(item, kind="e", labels=()) if base is not None and base.kind == "e" else item


def _scalar(info: TypeInfo, context: _Context) -> Codec | None:
    if info.kind == "e":
        return enum_codec(context.placeholder.text, info.labels)
    if info.name in context.settings.emulation.unmapped_types:
        return None
    builder = _BUILT_IN.get(info.name) if info.schema == _CATALOG else _EXTENSIONS.get(info.name) if info.kind == "b" else None
    return None if builder is None else builder(context)


def _unknown(info: TypeInfo, context: _Context) -> Codec | None:
    if not context.settings.include_unknown_datatypes:
        return None
    if info.name in _GEOMETRIC and info.schema == _CATALOG:
        return _geometric(context)
    return unknown(context.settings.binary_handling_mode, context.placeholder.raw)


def _array_codec(info: TypeInfo | None, context: _Context) -> Codec | None:
    if info is None or (info.name in _NO_ARRAYS and info.kind == "b"):
        return None
    if info.name == "bit" and info.schema == _CATALOG:
        # Debezium gives bit[] the schema of a single bit string, which no array fits.
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
        texts_of_parts=True,
        unavailable=array_placeholder(info, element, context.placeholder),
        delimiter=delimiter,
    )


def _refusing(codec: Codec) -> Codec:
    """Return a codec with the schema of ``codec`` that refuses every value."""

    def refuse(_text: bytes) -> bytes:
        raise ValueError("Values of this array type cannot be converted to the schema that it has")

    return Codec(schema=codec.schema, encode=refuse, decode=refuse, fallback=codec.fallback)
