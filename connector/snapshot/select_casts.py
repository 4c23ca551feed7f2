"""Casts the columns of a user's SELECT to the forms that the table's codecs read.

Codecs trust the server's text of the declared type: a numeric(10,2) has two fraction digits, an integer is a JSON number. A SELECT of a
user may return another type or modifier. Pure: this module does not connect. Source: PostgreSQL manual, 4.2.9 Type Casts; for the results
of other types, Debezium's documentation, "Data type mappings", and its value converters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.catalog.identifiers import quote_identifier, quote_literal
from connector.types.codec import Column, TypeInfo, Types
from connector.types.numeric import fixed_scale
from connector.types.registry import base_type

REFUSALS: Final = frozenset({"22P02", "22003", "22007", "22008", "42846"})
"""The SQLSTATEs of a value or a type that cannot be cast: invalid text, out of range, no date, no cast between the types."""

_CATALOG: Final = "pg_catalog"
_NUMBER: Final = "N"
_STRING: Final = "S"
_INTEGERS: Final = frozenset({"int2", "int4", "int8", "oid"})
_TIMES: Final = frozenset({"date", "time", "timetz", "timestamp", "timestamptz", "interval"})
_TEXTS: Final = frozenset(
    {"text", "varchar", "bpchar", "char", "name", "json", "jsonb", "xml", "tsvector", "daterange", "tsrange", "tstzrange"}
)
_PLAIN: Final = frozenset({"uuid", "inet", "cidr", "macaddr", "macaddr8", "int4range", "int8range", "numrange"})
"""Types whose texts are written without escapes."""
_EXTENSION_TEXTS: Final = frozenset({"citext", "ltree"})
_CASTABLE: Final = frozenset({"float4", "float8", "money", "point", "hstore", "geometry", "geography", "vector", "halfvec", "sparsevec"})
_WIDEST: Final = 1000
"""The highest precision that can be declared."""


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a SELECT's result, as the server describes it: a domain counts as its base type."""

    name: str
    type_oid: int
    modifier: int = -1


def cast(column: Column, result: ResultColumn, types: Types, *, exact: bool) -> str | None:
    """Return an expression of ``result`` with the text that the codec of ``column`` reads; None if its text serves as it is.

    With ``exact`` the expression fails for a number that has more fraction digits than the column declares. Otherwise they stay. Texts of
    any length and any text in place of an enum's label stay too, because the reference sends them.
    """
    base, modifier = base_type(column, types)
    given = types.get(result.type_oid)
    if base is None:
        return None
    name = quote_identifier(result.name)
    scale = fixed_scale(base, modifier, types)
    if base.oid != result.type_oid:
        converted = _converted(name, base, given)
        return converted if converted is None or scale is None else _scaled(converted, base, scale, column, exact=exact)
    if scale is None or scale == fixed_scale(base, result.modifier, types):
        return None
    return _scaled(name, base, scale, column, exact=exact)


def _converted(name: str, base: TypeInfo, given: TypeInfo | None) -> str | None:
    category = "" if given is None else given.category
    target = f"{quote_identifier(base.schema)}.{quote_identifier(base.name)}"
    text = f"CAST({name} AS text)"
    if base.element:
        return f"CAST({name} AS {target})"
    if base.kind == "e" or base.name in _EXTENSION_TEXTS or (base.schema == _CATALOG and base.name in _TEXTS):
        return None if category == _STRING else text
    if base.schema != _CATALOG:
        return _safe_text(text, target) if base.name == "isbn" else f"CAST({name} AS {target})" if base.name in _CASTABLE else None
    if base.name in _PLAIN:
        return _safe_text(text, target)
    if base.name == "numeric":
        # By way of text, which has all digits of a floating-point number.
        return f"CAST({text} AS numeric)"
    if base.name in _INTEGERS:
        return f"CAST({_whole(name, given)} AS {target})"
    if base.name == "bool" and category == _NUMBER:
        return f"({name} <> 0)"
    if base.name == "bytea":
        return f"convert_to({text}, 'UTF8')" if category == _STRING else None
    if base.name in _TIMES:
        # Their codecs check the texts that they read, of which none is empty.
        return f"CASE WHEN {text} = '' THEN 'blank' ELSE {text} END" if category == _STRING else f"CAST({name} AS {target})"
    if base.name in ("bit", "varbit"):
        return f"CAST({name} AS bit varying)" if given is None or given.name not in ("bit", "varbit") else None
    if base.name == "money" and given is not None and given.name in ("float4", "float8"):
        return f"CAST(CAST({text} AS numeric) AS {target})"
    return f"CAST({name} AS {target})" if base.name in _CASTABLE or base.name == "bool" else None


def _whole(name: str, given: TypeInfo | None) -> str:
    """Return an expression of a whole number. Fractions are cut off, as in the reference."""
    if given is None or given.name in _INTEGERS:
        return name
    if given.name == "bool":
        return f"CAST({name} AS int4)"
    return f"trunc(CAST({name} AS numeric))" if given.name in ("numeric", "float4", "float8") else name


def _safe_text(text: str, target: str) -> str:
    """Return an expression of a text without characters to escape. Others must be texts of the type itself, which has none."""
    return rf"CASE WHEN {text} ~ '[\x01-\x1f\x22\x5c]' THEN CAST(CAST({text} AS {target}) AS text) ELSE {text} END"


def _scaled(expression: str, base: TypeInfo, scale: int, column: Column, *, exact: bool) -> str:
    """Return an expression of a number, or of an array of numbers, with ``scale`` fraction digits."""
    if base.element:
        # Equal arrays have equal elements; fraction digits do not count.
        padded, kind = f"CAST({expression} AS numeric({_WIDEST},{scale})[])", "numeric[]"
    else:
        padded, kind = f"round({expression}, {scale})", "numeric"
    # A constant text would be refused when the statement is planned, whatever the values are.
    refusal = quote_literal(f"more than {scale} fraction digits in {column.name}")
    otherwise = f"CAST(left(CAST({expression} AS text), 0) || {refusal} AS {kind})" if exact else expression
    return f"CASE WHEN {expression} = {padded} THEN {padded} WHEN {expression} IS NULL THEN NULL ELSE {otherwise} END"
