"""Kafka's JsonConverter as functions: a schema, and a value of that schema, become the bytes it would write.

Members come in the order of ``JsonConverter.asJsonSchema``, numbers and strings look as Jackson writes them. Nothing is
known here of PostgreSQL, of tables or of envelopes: callers glue ``{"schema":...,"payload":...}`` together themselves.
Sources: Kafka's ``connect/json`` module, KIP-481 (``decimal.format``), KIP-581 (``replace.null.with.default``).
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final, cast

import orjson

from connector.java_float import java_double, java_float
from connector.ports import ConverterSettings
from connector.schema import DECIMAL, NO_DEFAULT, Schema

ValueEncoder = Callable[[object], bytes]
"""Turns a Connect value into JSON. Raises ValueError when the value does not fit the schema; the message names no value."""

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
"""An escaped control character, or the first byte of a character beyond U+FFFF."""
_SUPPLEMENTARY: Final = re.compile("[\U00010000-\U0010ffff]")


def quote(text: str) -> bytes:
    r"""A JSON string as Jackson writes it.

    Control characters have upper-case hex, characters beyond U+FFFF are two escapes (``\uD83D\uDE00``), all others raw UTF-8.
    """
    quoted = orjson.dumps(text)
    # orjson differs from Jackson only in those two, and both are rare: look for them afterwards.
    return quoted if quoted.isascii() and b"\\u00" not in quoted else requote(quoted)


def json_text(text: str) -> str:
    """A JSON string as Jackson writes it into a text (not into bytes): as :func:`quote`, but nothing beyond ASCII is escaped."""
    quoted = orjson.dumps(text).decode()
    return quoted if "\\u00" not in quoted else f'"{text.translate(_ESCAPES)}"'


def requote(quoted: bytes) -> bytes:
    """What ``orjson.dumps`` made of a string, as Jackson would have written it."""
    if _UNLIKE_JACKSON.search(quoted) is None:
        return quoted
    text: str = orjson.loads(quoted)
    return b'"' + _SUPPLEMENTARY.sub(_surrogates, text.translate(_ESCAPES)).encode() + b'"'


def _surrogates(found: re.Match[str]) -> str:
    code = ord(found.group()) - 0x10000
    return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"


def quote_base64(data: bytes) -> bytes:
    """Bytes as JsonConverter writes them: a base64 string with padding and without line breaks."""
    return b'"' + binascii.b2a_base64(data, newline=False) + b'"'


def unscaled(value: Decimal, scale: int) -> int:
    """``value`` times ten to the power of ``scale``. Raises ValueError when that is no integer."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("Decimal is NaN or an infinity, which its schema cannot hold")  # noqa: TRY004 - it is a value, not a type
    # Through Decimal: it converts any length, while int() of a string stops at 4300 digits.
    magnitude, shift = int(Decimal((0, digits, 0))), exponent + scale
    if shift >= 0:
        magnitude *= int(10**shift)
    else:
        magnitude, lost = divmod(magnitude, int(10**-shift))
        if lost:
            raise ValueError("Decimal has more fraction digits than the scale of its schema")
    return -magnitude if sign else magnitude


def twos_complement(value: int) -> bytes:
    """The shortest big-endian two's complement of ``value``, as Java's ``BigInteger.toByteArray`` gives it."""
    return value.to_bytes(((value if value >= 0 else ~value).bit_length() >> 3) + 1, "big", signed=True)


def value_json(schema: Schema, value: object, settings: ConverterSettings = _DEFAULTS) -> bytes:
    """The JSON of one value. For many values of one schema keep a :func:`value_encoder`."""
    return value_encoder(schema, settings)(value)


def schema_json(schema: Schema, field: str | None = None, settings: ConverterSettings = _DEFAULTS) -> bytes:
    """The JSON of a schema; ``field`` is the name it has inside a struct. Defaults are written as payload values are."""
    members = [b'"type":"' + schema.type.encode() + b'"']
    if schema.type == "array":
        members.append(b'"items":' + schema_json(_part(schema.items), None, settings))
    elif schema.type == "map":
        members.append(b'"keys":' + schema_json(_part(schema.keys), None, settings))
        members.append(b'"values":' + schema_json(_part(schema.values), None, settings))
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
        # A repeated key keeps its first place and its last value, as in the map that Connect holds them in.
        members.append(b'"parameters":{' + b",".join(quote(k) + b":" + quote(v) for k, v in dict(schema.parameters).items()) + b"}")
    if schema.default is not NO_DEFAULT and schema.default is not None:
        members.append(b'"default":' + value_encoder(schema, settings)(schema.default))
    if field is not None:
        members.append(b'"field":' + quote(field))
    return b"{" + b",".join(members) + b"}"


def around_payload(schema: Schema, settings: ConverterSettings = _DEFAULTS) -> tuple[bytes, bytes]:
    """What comes before and after a payload of ``schema``: nothing when schemas are off."""
    if not settings.schemas_enable:
        return b"", b""
    return b'{"schema":' + schema_json(schema, None, settings) + b',"payload":', b"}"


def value_encoder(schema: Schema, settings: ConverterSettings = _DEFAULTS) -> ValueEncoder:
    """A function that writes values of ``schema``; it handles null by the schema's default and optionality."""
    build = _BUILDERS.get(schema.type)
    if build is None:
        raise ValueError(f"Schema type {schema.type!r} is none of Kafka Connect's. Use the words of JsonConverter")
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
        raise ValueError("An array or map schema lacks the schema of its members. Give items, or keys and values")
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
    return lambda value: quote(cast("str", value))


def _bytes(schema: Schema, settings: ConverterSettings) -> ValueEncoder:
    if schema.name != DECIMAL:
        return lambda value: quote_base64(cast("bytes", value))
    if settings.decimal_format == "NUMERIC":
        # BigDecimal.toString and Decimal.__str__ are the same algorithm (General Decimal Arithmetic, to-scientific-string).
        return lambda value: str(cast("Decimal", value)).encode()
    scale = int(dict(schema.parameters).get("scale", "0"))
    return lambda value: quote_base64(twos_complement(unscaled(cast("Decimal", value), scale)))


def _array(schema: Schema, settings: ConverterSettings) -> ValueEncoder:
    item = value_encoder(_part(schema.items), settings)
    return lambda value: b"[" + b",".join([item(element) for element in cast("Sequence[object]", value)]) + b"]"


def _map(schema: Schema, settings: ConverterSettings) -> ValueEncoder:
    keys = _part(schema.keys)
    key, member = value_encoder(keys, settings), value_encoder(_part(schema.values), settings)
    if keys.type == "string" and not keys.optional:
        return lambda value: b"{" + b",".join([key(k) + b":" + member(v) for k, v in cast("Mapping[object, object]", value).items()]) + b"}"
    return lambda value: (
        b"[" + b",".join([b"[" + key(k) + b"," + member(v) + b"]" for k, v in cast("Mapping[object, object]", value).items()]) + b"]"
    )


def _struct(schema: Schema, settings: ConverterSettings) -> ValueEncoder:
    parts = [(quote(f.name) + b":", f.name, value_encoder(f.schema, settings)) for f in schema.fields]
    return lambda value: (
        b"{" + b",".join([label + encode(cast("Mapping[str, object]", value).get(name)) for label, name, encode in parts]) + b"}"
    )


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
