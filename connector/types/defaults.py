"""The default of a column's schema, read from the column's DEFAULT.

The server gives an expression (``pg_get_expr``). Debezium reads a value from its text: a quoted literal, or the bare text, or a zero of the
type if the expression is a function call. This module does the same for the types for which Debezium does it. All others (domains, arrays,
money, bytea, citext, network addresses …) and structs have no default. The expressions must be printed by a connection with TimeZone UTC,
DateStyle ISO and IntervalStyle postgres.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Context, Decimal, InvalidOperation
from typing import Final

from connector.record.schema import CONNECT_TIME, NO_DEFAULT, Schema
from connector.types.codec import Codec, Column, TypeInfo, Types, TypeSettings
from connector.types.numeric import numeric_scale
from connector.types.temporal.calendar import INFINITY, NEGATIVE_INFINITY

_FUNCTION: Final = re.compile(r"^[(]?[A-Za-z0-9_.]+\(.*\)")
_LITERAL: Final = re.compile(r"'((?:[^']|'')*)'")
_WORD: Final = re.compile(r"^\w+$")
"""Matches words such as CURRENT_DATE and LOCALTIMESTAMP."""
_NULL_CAST: Final = re.compile(r"^NULL::")
_ENUM: Final = re.compile(r"^'((?:[^']|'')*)'::(?:.*\.)?(\"?)(.+)\2$", re.DOTALL)
_LONG: Final = 2**63
_WIDE: Final = Context(prec=4000)
"""More digits than a column with a declared scale can have: 1,000 before the point, 1,000 after it."""

_LAST_DAY, _FIRST_DAY = 365241780471, -365243219162
"""Epoch days of java.time's LocalDate.MAX and MIN, which stand for infinity in a default."""


_Reader = Callable[[str, str, Codec, int], object]
"""Reads a value, given the expression, its first literal (or the expression if it has none), the codec and the column's modifier."""


_AS_TEXT: Final = Codec(schema=Schema("string"), encode=bytes, decode=bytes.decode, fallback="")
"""A codec that decodes a default to its text."""


class _UnreadableError(ValueError):
    """The expression contains no value of the type."""


def default_value(column: Column, codec: Codec, types: Types, settings: TypeSettings) -> object:
    """Return the Connect value of the column's default, or NO_DEFAULT if it has none or it is unreadable.

    ``codec`` is the column's codec from :func:`connector.types.registry.resolve`.
    """
    info = types.get(column.type_oid)
    if info is None or column.default is None or codec.schema.type == "struct":
        return NO_DEFAULT
    expression = column.default.strip()
    if _NULL_CAST.match(expression) or expression.upper() == "NULL":
        return NO_DEFAULT
    try:
        if info.kind == "e":
            return _enum(expression, info)
        read = _READERS.get(info.name) if info.schema == "pg_catalog" and info.kind == "b" else None
        return NO_DEFAULT if read is None else read(expression, _unquoted(expression, settings), codec, column.modifier)
    except (ValueError, InvalidOperation, OverflowError):
        # Debezium only logs a warning if its parsers refuse a default. The column has none then.
        return NO_DEFAULT


def default_text(column: Column, codec: Codec, types: Types, settings: TypeSettings) -> str | None:
    """Return the same default as the text that PostgreSQL prints for a value, or None."""
    if default_value(column, codec, types, settings) is NO_DEFAULT:
        return None
    value = default_value(column, _AS_TEXT, types, settings)
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, float):
        # A float is always the zero that stands for a function call.
        return "0"
    return None if value is NO_DEFAULT else str(value)


def _unquoted(expression: str, settings: TypeSettings) -> str:
    """Return the first quoted literal without its quotes, or the expression if there is none."""
    if not settings.emulation.reads_doubled_quotes:
        found = re.search(r"'([^']*)'", expression)
        return expression if found is None else found.group(1)
    found = _LITERAL.search(expression)
    return expression if found is None else found.group(1).replace("''", "'")


def _enum(expression: str, info: TypeInfo) -> object:
    found = _ENUM.match(expression)
    if found is None or found.group(3) != info.name:
        return NO_DEFAULT
    label = found.group(1).replace("''", "'")
    return label if label in info.labels else NO_DEFAULT


def _integer(bits: int) -> _Reader:
    """Return a reader for integers of so many bits. The server accepts ``smallint DEFAULT 70000``, and Debezium's parser refuses it."""

    def read(expression: str, literal: str, _codec: Codec, _modifier: int) -> object:
        value = 0 if _FUNCTION.match(expression) else int(literal.strip())
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise _UnreadableError
        return value

    return read


def _float(expression: str, literal: str, codec: Codec, _modifier: int) -> object:
    return 0.0 if _FUNCTION.match(expression) else codec.decode(literal.strip().encode())


def _boolean(expression: str, literal: str, _codec: Codec, _modifier: int) -> object:
    return not _FUNCTION.match(expression) and literal.strip().lower() in {"true", "t"}


def _text(expression: str, literal: str, _codec: Codec, _modifier: int) -> object:
    return "" if _FUNCTION.match(expression) else literal


def _json(expression: str, literal: str, _codec: Codec, _modifier: int) -> object:
    return "{}" if _FUNCTION.match(expression) else literal


def _uuid(expression: str, literal: str, _codec: Codec, _modifier: int) -> object:
    return "00000000-0000-0000-0000-000000000000" if _FUNCTION.match(expression) else literal.strip()


def _bits(expression: str, literal: str, codec: Codec, _modifier: int) -> object:
    literal = literal.strip()
    if re.fullmatch("[01]*", literal) and literal != expression:
        return codec.decode(literal.encode())
    if codec.schema.type == "boolean" and not _FUNCTION.match(expression):
        raise _UnreadableError
    return codec.fallback


def _numeric(expression: str, literal: str, codec: Codec, modifier: int) -> object:
    value = Decimal(0) if _FUNCTION.match(expression) else Decimal(literal.strip())
    if not value.is_finite():
        raise _UnreadableError
    scale = numeric_scale(modifier)
    if scale is not None:
        rescaled = value.quantize(Decimal((0, (1,), -scale)), context=_WIDE)
        if rescaled != value:
            # Debezium rescales without rounding. That fails if digits would be lost.
            raise _UnreadableError
        value = rescaled
    return codec.decode(format(value, "f").encode())


def _temporal(zero: bytes, limits: Callable[[Codec, bytes], object] | None = None) -> _Reader:
    """Return a reader for date and time types. ``zero`` is the text that stands for functions and words such as CURRENT_DATE."""

    def read(expression: str, literal: str, codec: Codec, _modifier: int) -> object:
        if _FUNCTION.match(expression) or _WORD.match(expression):
            return codec.decode(zero)
        text = literal.strip().encode()
        if limits is not None and codec is not _AS_TEXT and text in {INFINITY, NEGATIVE_INFINITY, b"24:00:00"}:
            return limits(codec, text)
        return codec.decode(text)

    return read


def _far_date(codec: Codec, text: bytes) -> object:
    days = _LAST_DAY if text == INFINITY else _FIRST_DAY
    if codec.schema.type == "string":
        return "+999999999-12-31Z" if text == INFINITY else "-999999999-01-01Z"
    return (days + 2**31) % 2**32 - 2**31


def _far_timestamp(codec: Codec, text: bytes) -> object:
    if codec.schema.type == "string":
        return "+999999999-12-31T23:59:59.999999999Z" if text == INFINITY else "-999999999-01-01T00:00:00Z"
    if codec.schema.name != "io.debezium.time.MicroTimestamp":
        raise _UnreadableError
    # As in Java: the seconds saturate at 64 bits, and the microseconds of 23:59:59.999999 then overflow.
    return _LONG - 1 + 999_999 - 2 * _LONG if text == INFINITY else -_LONG


def _end_of_day(codec: Codec, _text: bytes) -> object:
    name = codec.schema.name
    if codec.schema.type == "string":
        return "23:59:59.999999999Z"
    if name == "io.debezium.time.NanoTime":
        return 86_399_999_999_999
    return 86_399_999 if name in {CONNECT_TIME, "io.debezium.time.Time"} else 86_399_999_999


def _no_infinity(_codec: Codec, _text: bytes) -> object:
    raise _UnreadableError


_READERS: Final[dict[str, _Reader]] = {
    "int2": _integer(16),
    "int4": _integer(32),
    "int8": _integer(64),
    "float4": _float,
    "float8": _float,
    "numeric": _numeric,
    "bool": _boolean,
    "text": _text,
    "varchar": _text,
    "bpchar": _text,
    "xml": _text,
    "json": _json,
    "jsonb": _json,
    "uuid": _uuid,
    "bit": _bits,
    "varbit": _bits,
    "date": _temporal(b"1970-01-01", _far_date),
    "time": _temporal(b"00:00:00", _end_of_day),
    "timestamp": _temporal(b"1970-01-01 00:00:00", _far_timestamp),
    "timestamptz": _temporal(b"1970-01-01 00:00:00+00", _no_infinity),
    "interval": _temporal(b"00:00:00"),
}
