"""Kafka's JsonConverter as functions: they return the bytes that it would write for a schema, or for a value of a schema.

Members have the order of ``JsonConverter.asJsonSchema``; numbers and strings have Jackson's form. This module knows nothing of PostgreSQL,
tables or envelopes: the callers join ``{"schema":...,"payload":...}``. Sources: Kafka's ``connect/json`` module, KIP-481
(``decimal.format``), KIP-581 (``replace.null.with.default``).
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, cast

import orjson

from connector.java.floats import java_double, java_float
from connector.record.generated import Generated, define
from connector.record.schema import DECIMAL, NO_DEFAULT, Schema

ValueEncoder = Callable[[object], bytes]
"""Turns a Connect value into JSON. Raises ValueError if the value does not fit the schema; the message does not quote the value."""


@dataclass(frozen=True, slots=True)
class ConverterSettings:
    """The settings of one connector's JsonConverter: its own, or else the worker's."""

    schemas_enable: bool = True
    decimal_format: str = "BASE64"
    replace_null_with_default: bool = True


_DEFAULTS: Final = ConverterSettings()
_ESCAPES: Final = {code: f"\\u{code:04X}" for code in range(32)} | {
    8: "\\b",
    9: "\\t",
    10: "\\n",
    12: "\\f",
    13: "\\r",
    34: '\\"',
    92: "\\\\",
}
_UNLIKE_JACKSON: Final = re.compile(rb"\\u00|[\xf0-\xf4]")
"""Matches an escaped control character, or the first byte of a character beyond U+FFFF."""
_SUPPLEMENTARY: Final = re.compile("[\U00010000-\U0010ffff]")


def quote(text: str) -> bytes:
    r"""Return a JSON string as Jackson writes it.

    The hex digits of control characters are upper case. Characters beyond U+FFFF are two escapes (``\uD83D\uDE00``). All others are raw
    UTF-8.
    """
    quoted = orjson.dumps(text)
    # orjson differs from Jackson only in these two cases, which are rare.
    return quoted if quoted.isascii() and b"\\u00" not in quoted else requote(quoted)


def fitted(dumped: bytes) -> bytes:
    """Return a copy of what ``orjson.dumps`` returned, for bytes that are kept.

    The original has the whole buffer of orjson (3.13) until it is freed: 4 kB for a short text, 8 kB for an object of 16 members. Thousands
    of records that waited to be sent so had 300 MB. The copy takes 0.07 µs.
    """
    return b"%b" % dumped


def json_text(text: str) -> str:
    """Return a JSON string as Jackson writes it to a text (not to bytes): as :func:`quote`, but characters beyond U+FFFF are raw."""
    quoted = orjson.dumps(text).decode()
    return quoted if "\\u00" not in quoted else f'"{text.translate(_ESCAPES)}"'


def requote(quoted: bytes) -> bytes:
    """Convert a string written by ``orjson.dumps`` to Jackson's form."""
    if _UNLIKE_JACKSON.search(quoted) is None:
        return quoted
    text: str = orjson.loads(quoted)
    return b'"' + _SUPPLEMENTARY.sub(_surrogates, text.translate(_ESCAPES)).encode() + b'"'


def _surrogates(found: re.Match[str]) -> str:
    code = ord(found.group()) - 0x10000
    return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"


def quote_base64(data: bytes) -> bytes:
    """Return bytes as JsonConverter writes them: a base64 string with padding and without line breaks."""
    return b'"' + binascii.b2a_base64(data, newline=False) + b'"'


_LARGEST_SHIFT: Final = 200_000
"""Zeros that are added to a number. No number of PostgreSQL has as many digits; to work out a billion of them would take minutes."""


def unscaled(value: Decimal, scale: int) -> int:
    """Return ``value`` times ten to the power of ``scale``. Raises ValueError if that is not an integer."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("Decimal is NaN or an infinity, which its schema cannot hold")  # noqa: TRY004 - it is a value, not a type
    # Decimal converts any length, while int() of a string refuses more than 4300 digits.
    magnitude, shift = int(Decimal((0, digits, 0))), exponent + scale
    if not magnitude:
        return 0
    if shift > _LARGEST_SHIFT:
        raise ValueError("Decimal has more digits than can be written")
    if -shift > len(digits):
        raise ValueError("Decimal has more fraction digits than the scale of its schema")
    if shift >= 0:
        magnitude *= int(10**shift)
    else:
        magnitude, lost = divmod(magnitude, int(10**-shift))
        if lost:
            raise ValueError("Decimal has more fraction digits than the scale of its schema")
    return -magnitude if sign else magnitude


def twos_complement(value: int) -> bytes:
    """Return the shortest big-endian two's complement of ``value``, as Java's ``BigInteger.toByteArray`` does."""
    return value.to_bytes(((value if value >= 0 else ~value).bit_length() >> 3) + 1, "big", signed=True)


def value_json(schema: Schema, value: object, settings: ConverterSettings = _DEFAULTS) -> bytes:
    """Return the JSON of one value. For many values of one schema, use :func:`value_encoder`."""
    return value_encoder(schema, settings)(value)


def schema_json(schema: Schema, field: str | None = None, settings: ConverterSettings = _DEFAULTS) -> bytes:
    """Return the JSON of a schema; ``field`` is its name inside a struct. Defaults have the form of payload values."""
    members = [b'"type":"' + schema.type.encode() + b'"']
    if schema.type == "array":
        # Items of several types have no schema: each is written as what it is.
        members.append(b'"items":' + (b"null" if schema.items is None else schema_json(schema.items, None, settings)))
    elif schema.type == "map":
        members.append(b'"keys":' + schema_json(_part(schema.keys), None, settings))
        members.append(b'"values":' + (b"null" if schema.values is None else schema_json(schema.values, None, settings)))
    elif schema.type == "struct":
        members.append(b'"fields":[' + b",".join(schema_json(f.schema, f.name, settings) for f in schema.fields) + b"]")
    members.append(b'"optional":true' if schema.optional else b'"optional":false')
    if schema.name is not None:
        members.append(b'"name":' + quote(schema.name))
    if schema.version is not None:
        members.append(b'"version":%d' % schema.version)
    if schema.doc is not None:
        members.append(b'"doc":' + quote(schema.doc))
    if schema.parameters:
        # As in Connect's map, a repeated key has its first place and its last value.
        members.append(b'"parameters":{' + b",".join(quote(k) + b":" + quote(v) for k, v in dict(schema.parameters).items()) + b"}")
    if schema.default is not NO_DEFAULT and schema.default is not None:
        members.append(b'"default":' + value_encoder(schema, settings)(schema.default))
    if field is not None:
        members.append(b'"field":' + quote(field))
    return b"{" + b",".join(members) + b"}"


def around_payload(schema: Schema, settings: ConverterSettings = _DEFAULTS) -> tuple[bytes, bytes]:
    """Return the text before and after a payload of ``schema``; both are empty if schemas are disabled."""
    if not settings.schemas_enable:
        return b"", b""
    return b'{"schema":' + schema_json(schema, None, settings) + b',"payload":', b"}"


def value_encoder(schema: Schema, settings: ConverterSettings = _DEFAULTS) -> ValueEncoder:
    """Return a function that writes values of ``schema``. The schema's default and optionality decide about null."""
    build = _BUILDERS.get(schema.type)
    if build is None:
        raise ValueError(f"Schema type {schema.type!r} is not one of Kafka Connect's. Use JsonConverter's names of types")
    encode = build(schema, settings)
    if schema.default is not NO_DEFAULT and schema.default is not None and settings.replace_null_with_default:
        null = encode(schema.default)
    elif schema.optional:
        null = b"null"
    else:
        return _required(encode)
    return lambda value: null if value is None else encode(value)


def _required(encode: ValueEncoder) -> ValueEncoder:
    def checked(value: object) -> bytes:
        if value is None:
            raise ValueError("Conversion error: null value for field that is required and has no default value")
        return encode(value)

    return checked


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        raise ValueError("A map's schema lacks the schema of its keys")
    return schema


def _boolean(_schema: Schema, _settings: ConverterSettings) -> ValueEncoder:
    return lambda value: b"true" if value else b"false"


def _integer(_schema: Schema, _settings: ConverterSettings) -> ValueEncoder:
    return lambda value: b"%d" % cast("int", value)


def _float32(_schema: Schema, _settings: ConverterSettings) -> ValueEncoder:
    return lambda value: java_float(cast("float", value))


def _float64(_schema: Schema, _settings: ConverterSettings) -> ValueEncoder:
    return lambda value: java_double(cast("float", value))


def _string(_schema: Schema, _settings: ConverterSettings) -> ValueEncoder:
    return lambda value: fitted(quote(cast("str", value)))


def _bytes(schema: Schema, settings: ConverterSettings) -> ValueEncoder:
    if schema.name != DECIMAL:
        return lambda value: quote_base64(cast("bytes", value))
    if settings.decimal_format == "NUMERIC":
        # BigDecimal.toString and Decimal.__str__ are the same algorithm (General Decimal Arithmetic, to-scientific-string).
        # Called on the class, it raises TypeError for what is no decimal; str() would write any text into the JSON.
        return lambda value: Decimal.__str__(cast("Decimal", value)).encode()
    scale = int(dict(schema.parameters).get("scale", "0"))
    return lambda value: quote_base64(twos_complement(unscaled(cast("Decimal", value), scale)))


def _member(schema: Schema | None, settings: ConverterSettings) -> ValueEncoder:
    """The encoder of an array's items or of a map's values. Those of several types have no schema."""
    if schema is not None:
        return value_encoder(schema, settings)
    from connector.record.schemaless_json import schemaless_json  # noqa: PLC0415 - it imports this module

    return schemaless_json


def _array(schema: Schema, settings: ConverterSettings) -> ValueEncoder:
    item = _member(schema.items, settings)
    return lambda value: b"[" + b",".join([item(element) for element in cast("Sequence[object]", value)]) + b"]"


def _map(schema: Schema, settings: ConverterSettings) -> ValueEncoder:
    keys = _part(schema.keys)
    key, member = value_encoder(keys, settings), _member(schema.values, settings)
    if keys.type == "string":
        if keys.optional:
            # A null key has the name "null"; the last value of equal names prevails.
            return lambda value: _object(
                {"null" if k is None else k: v for k, v in cast("Mapping[str | None, object]", value).items()}, member
            )
        return lambda value: _object(cast("Mapping[str, object]", value), member)
    return lambda value: (
        b"[" + b",".join([b"[" + key(k) + b"," + member(v) + b"]" for k, v in cast("Mapping[object, object]", value).items()]) + b"]"
    )


def _object(members: Mapping[str, object], member: ValueEncoder) -> bytes:
    return b"{" + b",".join([quote(name) + b":" + member(each) for name, each in members.items()]) + b"}"


def _struct(schema: Schema, settings: ConverterSettings) -> ValueEncoder:
    """A generated function: for a row of ten columns 4 µs, against 9 µs for a loop over the fields' encoders."""
    return cast("ValueEncoder", define(f"json {schema.name or 'struct'}", "encode", lambda: _struct_source(schema, settings)))


def _struct_source(schema: Schema, settings: ConverterSettings) -> Generated:
    names: dict[str, object] = {"dumps": orjson.dumps, "requote": requote}
    lines = ["def encode(value):", "    get = value.get"]
    parts: list[str] = []
    for number, field in enumerate(schema.fields):
        label = (b"," if number else b"{") + quote(field.name) + b":"
        parts += [repr(label), f"v{number}"]
        names[f"e{number}"] = value_encoder(field.schema, settings)
        lines.append(f"    v{number} = get({field.name!r})")
        inline = _INLINE.get(field.schema.type)
        if inline is None:
            lines.append(f"    v{number} = e{number}(v{number})")
        else:
            # Null, and what stands in its place, is the encoder's.
            lines.append(f"    v{number} = e{number}(None) if v{number} is None else {inline.format(value=f'v{number}')}")
        if field.schema.type == "string":
            lines.append(f"    if not v{number}.isascii() or b'\\\\u00' in v{number}: v{number} = requote(v{number})")
    closing = b"}" if schema.fields else b"{}"
    lines.append(f"    return b''.join(({''.join(part + ', ' for part in parts)}{closing!r},))")
    return lines, names


_INLINE: Final = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), "b'%d' % {value}"),
    "boolean": "(b'true' if {value} else b'false')",
    "string": "dumps({value})",
}
"""Source for the values of simple types that are not null."""
_BUILDERS: Final[dict[str, Callable[[Schema, ConverterSettings], ValueEncoder]]] = {
    "boolean": _boolean,
    "int8": _integer,
    "int16": _integer,
    "int32": _integer,
    "int64": _integer,
    "float": _float32,
    "double": _float64,
    "string": _string,
    "bytes": _bytes,
    "array": _array,
    "map": _map,
    "struct": _struct,
}
