"""``Object.hashCode`` of a Connect value, by its schema: what the documentation of each Java class specifies.

Java takes a struct's hash from its schema too, whose hash differs from one JVM to the next. Here a struct is hashed as the list of its
values, so that equal structs have equal hashes.
"""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any, Final

from connector.java.hash_map import java_hash
from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, Schema

_MASK: Final = 0xFFFFFFFF
_DAY: Final = 86_400_000
"""Milliseconds of a day."""


def hash_code(schema: Schema | None, value: Any) -> int:
    """Return the hash as an unsigned number of 32 bits; null has 0. Bytes are hashed by their content, as a ``ByteBuffer`` is."""
    if value is None:
        return 0
    if isinstance(value, bool):
        return 1231 if value else 1237
    if isinstance(value, str):
        return java_hash(value)
    if isinstance(value, Decimal):
        return _decimal(value, schema)
    if isinstance(value, bytes):
        code = 1
        for byte in reversed(value):
            code = 31 * code + (byte - 256 if byte > 127 else byte)
        return code & _MASK
    if isinstance(value, float):
        if schema is not None and schema.type == "float":
            (bits,) = struct.unpack(">I", struct.pack(">f", value))
            return int(bits)
        return _long(struct.unpack(">q", struct.pack(">d", value))[0])
    if isinstance(value, list):
        code = 1
        for item in value:
            code = (31 * code + hash_code(schema.items if schema is not None else None, item)) & _MASK
        return code
    if isinstance(value, dict):
        return _members(schema, value)
    return _integer(schema, value)


def _long(value: int) -> int:
    return (value ^ value >> 32) & _MASK


def _integer(schema: Schema | None, value: int) -> int:
    """A whole number; Connect's own dates and times are ``java.util.Date``, which has the hash of its milliseconds."""
    if schema is not None and schema.type != "int64" and schema.name not in (CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP):
        return value & _MASK
    return _long(value * _DAY if schema is not None and schema.name == CONNECT_DATE else value)


def _decimal(value: Decimal, schema: Schema | None) -> int:
    """``BigDecimal.hashCode``: 31 times the hash of the unscaled value, and the scale."""
    sign, digits, exponent = value.as_tuple()
    own = -exponent if isinstance(exponent, int) else 0
    scale = int(dict(schema.parameters).get("scale", own)) if schema is not None else own
    magnitude = int(Decimal((0, digits, 0))) * 10 ** max(scale - own, 0)
    code = 0
    for place in range((magnitude.bit_length() + 31) // 32 - 1, -1, -1):
        code = 31 * code + (magnitude >> 32 * place & _MASK)
    return (31 * (-code if sign else code) + scale) & _MASK


def _members(schema: Schema | None, value: dict[Any, Any]) -> int:
    if schema is not None and schema.type == "struct":
        code = 1
        for field in schema.fields:
            code = (31 * code + hash_code(field.schema, value[field.name])) & _MASK
        return code
    keys, values = (schema.keys, schema.values) if schema is not None else (None, None)
    return sum(hash_code(keys, key) ^ hash_code(values, member) for key, member in value.items()) & _MASK
