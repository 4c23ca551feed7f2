"""Types, columns and codecs: the data that the type table and the compiled encoders share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from connector.emulation import DEFAULT, Emulation
from connector.record.schema import Schema


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """One row of ``pg_type``, as the type table needs it (PostgreSQL manual, 53.64 pg_type).

    ``kind`` is typtype (b base, c composite, d domain, e enum, p pseudo, r range, m multirange), ``category`` is typcategory. ``element``
    is the element type's oid if this is a true array type (typcategory A), else 0. ``base`` and ``base_modifier`` are a domain's
    typbasetype and typtypmod. ``labels`` are an enum's labels in sort order.
    """

    oid: int
    name: str
    schema: str
    kind: str = "b"
    category: str = "U"
    element: int = 0
    base: int = 0
    base_modifier: int = -1
    labels: tuple[str, ...] = ()
    visible: bool = True
    """Whether the type's schema is in the connection's search path."""
    fraction_digits: int = 2
    """Of money: the number of fraction digits that the server prints, which ``lc_monetary`` of the connection decides."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the catalog describes it.

    ``modifier`` is atttypmod (-1: none). ``default`` is ``pg_get_expr`` of the column's default, or of what generates it, or None.
    ``serial`` is set for an identity or serial column, whose default is a sequence. ``generated`` is attgenerated.
    """

    name: str
    type_oid: int
    modifier: int = -1
    not_null: bool = False
    default: str | None = None
    serial: bool = False
    generated: str = ""
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class TypeSettings:
    """The connector properties that decide how values are represented. The names are those of the configuration."""

    decimal_handling_mode: str = "precise"
    time_precision_mode: str = "adaptive"
    interval_handling_mode: str = "numeric"
    binary_handling_mode: str = "bytes"
    hstore_handling_mode: str = "json"
    money_fraction_digits: int = 2
    include_unknown_datatypes: bool = False
    unavailable_value_placeholder: str = "__debezium_unavailable_value"
    decimal_format: str = "BASE64"
    """JsonConverter's ``decimal.format``: BASE64 or NUMERIC; only encoders to JSON use it."""
    emulation: Emulation = DEFAULT


@dataclass(frozen=True, slots=True)
class Codec:
    """The functions that convert values of one column to JSON and to Connect values.

    ``schema`` is the value's schema, required and without a default: the caller adds optionality and default. ``encode`` turns PostgreSQL's
    text output (bytes, UTF-8, never NULL) into the JSON bytes that JsonConverter would write. ``decode`` turns the same text into the
    Connect value (see :class:`connector.record.schema.Schema`). JsonConverter applied to this value must give exactly the result of
    ``encode``; a property test compares the two. ``inline`` is a Python expression for compiled encoders, if that is faster than a call of
    ``encode``. ``{c}`` stands for the expression that holds the bytes (an int column is ``{c}`` itself). It may use only the names of
    :data:`connector.types.registry.INLINE_NAMES`. ``fallback`` is the value that replaces a NULL in a required column (the ``before`` of a
    delete under replica identity DEFAULT). ``unavailable`` is the Connect value sent for an unchanged TOAST value; None if the type has no
    placeholder. ``cell_value`` is set if a user's converter has taken the column. It makes the Connect value of every cell, also of NULL
    (None) and of an unchanged TOAST value. In this case ``schema`` is complete, and null is written as ``schema`` prescribes. ``unscaled``
    is set for a Decimal whose texts have all digits of its scale: it returns the unscaled number. All functions raise ValueError for a text
    that the type cannot have, or for a value that has no place in ``schema``. With ``lenient`` this is no failure where null may stand for
    the value: in an optional column and in an array.
    """

    schema: Schema
    encode: Callable[[bytes], bytes]
    decode: Callable[[bytes], object]
    fallback: object
    unavailable: object = None
    inline: str | None = None
    cell_value: Callable[[bytes | None], object] | None = None
    unscaled: Callable[[bytes], int] | None = None
    lenient: bool = False


Types = Mapping[int, TypeInfo]
"""The server's types by oid."""
