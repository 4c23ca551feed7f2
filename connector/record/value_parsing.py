"""Typed values from text, as ``InsertHeader`` and ``SimpleHeaderConverter`` read them (``Values.parseString``).

``1`` is a number of the smallest type that holds it, ``true`` a boolean, ``2024-01-31`` a date, ``[1,2]`` a list, ``{"a":1}`` a map.
Whatever is none of these is a string. Within lists and maps, strings are in double quotes; a list or map that is malformed is a string as
a whole.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final, NamedTuple

from connector.java.date_format import DateFormat
from connector.java.floats import java_float
from connector.java.numbers import NumberError, narrow_to_float, nearest_float, parse_decimal
from connector.java.trim import trim
from connector.record.java_date import JavaDate
from connector.record.schema import (
    BOOLEAN,
    CONNECT_DATE,
    CONNECT_TIME,
    CONNECT_TIMESTAMP,
    DECIMAL,
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    STRING,
    Schema,
)
from connector.record.value_tokens import Tokens
from connector.record.values import DATE_FORMAT, DAY_MS, TIME_FORMAT, TIMESTAMP_FORMAT

_INT8: Final = Schema("int8")
_DATE: Final = Schema("int32", name=CONNECT_DATE, version=1)
_TIME: Final = Schema("int32", name=CONNECT_TIME, version=1)
_TIMESTAMP: Final = Schema("int64", name=CONNECT_TIMESTAMP, version=1)
_LENGTHS: Final[dict[int, tuple[Schema, DateFormat]]] = {
    10: (_DATE, DATE_FORMAT),
    13: (_TIME, TIME_FORMAT),
    24: (_TIMESTAMP, TIMESTAMP_FORMAT),
}
_WIDTHS: Final = ("int8", "int16", "int32", "int64", "float", "double")
"""Numbers of two types have the later of them in common."""
_TEMPORAL: Final = (CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP)
_TOO_LARGE: Final = Decimal("1e19")
_DEEPEST: Final = 100


class ParsedValue(NamedTuple):
    """A value and its schema; null has none. A list or map of nothing but nulls has a schema without that of its members."""

    schema: Schema | None
    value: Any


_NULL: Final = ParsedValue(None, None)


class _MalformedError(ValueError):
    """The text is no list, or no map."""


def parse_text(text: str | None) -> ParsedValue:
    """Return the value that a text stands for."""
    if text is None:
        return _NULL
    return ParsedValue(STRING, text) if not text else _parse(Tokens(text), 0)


def _parse(tokens: Tokens, depth: int) -> ParsedValue:
    """Read a value; within a list or map where ``depth`` is not 0. Raises _MalformedError there for what is no value."""
    if not tokens.more:
        return _NULL
    if depth and tokens.take('"'):
        return _quoted(tokens)
    for literal, meant in _LITERALS.items():
        if _is_literal(tokens, literal, depth):
            return meant
    begin = tokens.mark
    try:
        if depth <= _DEEPEST and tokens.take("["):
            return _array(tokens, depth)
        if depth <= _DEEPEST and tokens.take("{"):
            return _map(tokens, depth)
    except _MalformedError:
        tokens.rewind(begin)
    token = tokens.next()
    word = trim(token)
    if not word:
        return ParsedValue(STRING, token)
    if word[0].isdecimal() and (temporal := _temporal_ahead(tokens, word)) is not None:
        return temporal
    if word[0].isdecimal() or word[0] in "+-":
        try:
            return _number(parse_decimal(word))
        except NumberError:
            pass
    if depth:
        raise _MalformedError
    return ParsedValue(STRING, tokens.text)


_LITERALS: Final = {"null": _NULL, "true": ParsedValue(BOOLEAN, True), "false": ParsedValue(BOOLEAN, False)}


def _is_literal(tokens: Tokens, literal: str, depth: int) -> bool:
    """Whether the next token is this word; on its own where it is not in a list or map."""
    begin = tokens.mark
    if tokens.take(literal) and (depth or not tokens.more):
        return True
    tokens.rewind(begin)
    return False


def _quoted(tokens: Tokens) -> ParsedValue:
    parts: list[str] = []
    while tokens.more and not tokens.take('"'):
        parts.append(tokens.next())
    content = "".join(parts)
    return _temporal(content) or ParsedValue(STRING, content)


def _array(tokens: Tokens, depth: int) -> ParsedValue:
    found: list[ParsedValue] = []
    while tokens.more:
        if tokens.take("]"):
            common = _common(found)
            if common is None:
                return ParsedValue(Schema("array"), [_untyped(*each) for each in found])
            return ParsedValue(Schema("array", items=common), [_aligned(common, each) for each in found])
        if tokens.take(","):
            raise _MalformedError
        found.append(_parse(tokens, depth + 1))
        begin = tokens.mark
        if tokens.take("]"):
            tokens.rewind(begin)
        elif not tokens.take(","):
            raise _MalformedError
    raise _MalformedError


def _map(tokens: Tokens, depth: int) -> ParsedValue:
    found: dict[Any, tuple[ParsedValue, ParsedValue]] = {}
    keys: list[ParsedValue] = []
    values: list[ParsedValue] = []
    while tokens.more:
        if tokens.take("}"):
            return _whole_map(found, _common(keys), _common(values))
        if tokens.take(","):
            raise _MalformedError
        key = _parse(tokens, depth + 1)
        if key.value is None or not tokens.take(":"):
            raise _MalformedError
        value = _parse(tokens, depth + 1)
        tokens.take(",")
        keys.append(key)
        values.append(value)
        found[_hashable(key.value)] = key, value
    raise _MalformedError


def _whole_map(found: dict[Any, tuple[ParsedValue, ParsedValue]], keys: Schema | None, values: Schema | None) -> ParsedValue:
    if keys is None:
        return ParsedValue(Schema("map"), {name: _untyped(*value) for name, (_, value) in found.items()})
    aligned = {
        _hashable(_aligned(keys, key)): _untyped(*value) if values is None else _aligned(values, value) for key, value in found.values()
    }
    return ParsedValue(Schema("map", keys=keys, values=values), aligned)


def _untyped(schema: Schema | None, value: Any) -> Any:
    """Return a value as it is where its list or map has no schema for it: its text must be the same as with its own schema."""
    if schema is None or value is None:
        return value
    if schema.name in _TEMPORAL:
        return JavaDate(value * DAY_MS if schema.name == CONNECT_DATE else value)
    match schema.type:
        case "float":
            # A float64 that has the text of the float32.
            return float(java_float(value).strip(b'"'))
        case "array":
            return [_untyped(schema.items, each) for each in value]
        case "map":
            return {_hashable(_untyped(schema.keys, name)): _untyped(schema.values, each) for name, each in value.items()}
        case _:
            return value


def _hashable(value: Any) -> Any:
    match value:
        case list():
            return tuple(map(_hashable, value))
        case dict():
            return tuple((name, _hashable(each)) for name, each in value.items())
        case _:
            return value


def _common(found: list[ParsedValue]) -> Schema | None:
    """Return the schema that all values that are not null have in common; None if there is none."""
    common: Schema | None = None
    for each in found:
        if each.schema is None:
            continue
        if common is None or common.type == each.schema.type:
            common = each.schema
        elif common.type in _WIDTHS and each.schema.type in _WIDTHS:
            common = max(common, each.schema, key=lambda schema: _WIDTHS.index(schema.type))
        else:
            return None
    return common


def _aligned(schema: Schema, found: ParsedValue) -> Any:
    """Return the value as one of the common schema. Raises _MalformedError where Connect cannot convert it."""
    if found.schema is None:
        raise _MalformedError
    if found.schema.name in _TEMPORAL:
        if schema.name not in _TEMPORAL:
            raise _MalformedError
        ms = found.value * DAY_MS if found.schema.name == CONNECT_DATE else found.value
        return ms // DAY_MS if schema.name == CONNECT_DATE else ms
    match schema.type:
        case "float":
            return nearest_float(Decimal(found.value), float(found.value)) if isinstance(found.value, int) else found.value
        case "double":
            return float(found.value)
        case _:
            return found.value


def _temporal_ahead(tokens: Tokens, word: str) -> ParsedValue | None:
    """Read a date or time: at a colon a text falls apart, so that a time of day is five tokens."""
    begin = tokens.mark
    rest = tokens.next_joined(4)
    if rest is not None and (found := _temporal(word + rest)) is not None:
        return found
    tokens.rewind(begin)
    return _temporal(word)


def _temporal(text: str) -> ParsedValue | None:
    """Read a date, time or timestamp, which one its length tells. Colons may be escaped."""
    text = text.replace("\\:", ":")
    if len(text) not in _LENGTHS:
        return None
    schema, pattern = _LENGTHS[len(text)]
    ms = pattern.parse(text)
    if ms is None:
        return None
    return ParsedValue(schema, ms // DAY_MS if schema is _DATE else ms)


def _number(exact: Decimal) -> ParsedValue:
    exponent = exact.as_tuple().exponent
    scale = -exponent if isinstance(exponent, int) else 0
    if exact == 0 or (1 <= exact.copy_abs() <= _TOO_LARGE and (scale <= 0 or exact == exact.to_integral_value())):
        whole = int(exact)
        for schema, bits in ((_INT8, 8), (INT16, 16), (INT32, 32), (INT64, 64)):
            if -(1 << bits - 1) <= whole < 1 << bits - 1:
                return ParsedValue(schema, whole)
    double = float(exact)
    single = narrow_to_float(double)
    if scale and abs(single) != float("inf"):
        return ParsedValue(FLOAT32, nearest_float(exact, double))
    if scale and abs(double) != float("inf"):
        return ParsedValue(FLOAT64, double)
    return ParsedValue(Schema("bytes", name=DECIMAL, version=1, parameters=(("scale", str(scale)),)), exact)
