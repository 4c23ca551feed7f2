"""Values without a schema in Avro: a record with one field for each kind of value, of which one is set (:data:`mapping.ANYTHING`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from connector.converters.avro import binary
from connector.record.connect_record import DataError

_FIELDS: Final = ("boolean", "bytes", "double", "float", "int", "long", "string", "array", "map")
_INT: Final = 1 << 31


def anything(value: object) -> bytes:
    """Return the bytes of a value that has no schema. Raises DataError for a type that JSON does not have."""
    if value is None:
        return bytes(len(_FIELDS))
    kind, encoded = _encoded(value)
    place = _FIELDS.index(kind)
    return bytes(place) + b"\2" + encoded + bytes(len(_FIELDS) - place - 1)


def _encoded(value: Any) -> tuple[str, bytes]:
    if isinstance(value, int) and not isinstance(value, bool):
        return ("int" if -_INT <= value < _INT else "long"), binary.long(value)
    if isinstance(value, (list, tuple)):
        return "array", binary.blocks([anything(item) for item in value])
    if isinstance(value, Mapping):
        return "map", binary.blocks([anything(key) + anything(member) for key, member in value.items()])
    known = _PLAIN.get(type(value))
    if known is None:
        raise DataError(f"Unknown type of a value without a schema: {type(value).__name__}")
    return known[0], known[1](value)


_PLAIN: Final[dict[type, tuple[str, Callable[[Any], bytes]]]] = {
    bool: ("boolean", binary.BOOLEANS.__getitem__),
    float: ("double", binary.DOUBLE),
    str: ("string", binary.string),
}
