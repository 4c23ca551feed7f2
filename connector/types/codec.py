"""The contract between the type table and the encoders that are compiled from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from connector.schema import Schema


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """One row of ``pg_type`` as the type table needs it (PostgreSQL manual, 53.64 pg_type).

    ``kind`` is typtype (b base, c composite, d domain, e enum, p pseudo, r range, m multirange), ``category`` typcategory.
    ``element`` is the element type's oid when this is a true array type (typcategory A), else 0. ``base`` and
    ``base_modifier`` are a domain's typbasetype and typtypmod. ``labels`` are an enum's labels in sort order.
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
    """Its schema is in the connection's search path."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the catalog describes it.

    ``modifier`` is atttypmod (-1: none). ``default`` is ``pg_get_expr`` of the column's default, or None; an identity
    or serial column has its ``serial`` flag set (its default is a sequence). ``generated`` is attgenerated.
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
    """The connector properties that decide how values look (names as in the configuration)."""

    decimal_handling_mode: str = "precise"
    time_precision_mode: str = "adaptive"
    interval_handling_mode: str = "numeric"
    binary_handling_mode: str = "bytes"
    hstore_handling_mode: str = "json"
    money_fraction_digits: int = 2
    include_unknown_datatypes: bool = False
    unavailable_value_placeholder: str = "__debezium_unavailable_value"
    decimal_format: str = "BASE64"
    """JsonConverter's ``decimal.format``: BASE64 or NUMERIC; used by the fast path only."""
    version: tuple[int, int, int] = (3, 6, 3)


@dataclass(frozen=True, slots=True)
class Codec:
    """How one column's values become Connect values and JSON.

    ``schema`` is the value's schema, required and without a default: the caller adds both.
    ``encode`` turns PostgreSQL's text output (bytes, UTF-8, never NULL) into the JSON bytes JsonConverter would write.
    ``decode`` turns the same text into the Connect value (see :class:`connector.schema.Schema`); JsonConverter applied to it
    must give exactly what ``encode`` gives: a property test holds the two together.
    ``inline`` is Python source for the fast path with ``{c}`` for the expression that holds the bytes, when that is cheaper
    than a call (an int column is ``{c}`` itself); it may use only names that ``connector.encoders`` binds.
    ``fallback`` is what a NULL becomes in a required column (the ``before`` of a delete under replica identity DEFAULT).
    ``unavailable`` is the Connect value sent for an unchanged TOAST value; None where the type has no placeholder.
    ``cell_value`` is there when a converter of the user's own has taken the column: it makes the Connect value of every cell, of NULL
    (None) and of unchanged TOAST values too, and null is then written as ``schema``, which is complete, has it.
    All raise ValueError for text the type cannot have.
    """

    schema: Schema
    encode: Callable[[bytes], bytes]
    decode: Callable[[bytes], object]
    fallback: object
    unavailable: object = None
    inline: str | None = None
    cell_value: Callable[[bytes | None], object] | None = None


Types = Mapping[int, TypeInfo]
"""The server's types by oid."""


@dataclass(slots=True)
class TypeWarnings:
    """Collects what the log should say about columns that cannot be mapped (never values)."""

    lines: list[str] = field(default_factory=list)
