"""JSON of values without a schema, as Kafka's JsonConverter writes them: the type of each value decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from connector.java.floats import java_double
from connector.record.connect_record import DataError
from connector.record.json_converter import quote, quote_base64


def schemaless_json(value: Any) -> bytes:
    """Return the JSON. Raises DataError for a value that Connect has no type for, among them decimals and dates."""
    match value:
        case None:
            return b"null"
        case bool():
            return b"true" if value else b"false"
        case int():
            return b"%d" % value
        case float():
            return java_double(value)
        case str():
            return quote(value)
        case bytes():
            return quote_base64(value)
        case Mapping():
            return _map(value)
        case Sequence():
            return b"[" + b",".join([schemaless_json(each) for each in value]) + b"]"
    raise DataError(f"a value of the type {type(value).__name__} has no schema, and Connect knows no such type")


def _map(value: Mapping[Any, Any]) -> bytes:
    """A map is an object if all its keys are strings, else a list of pairs."""
    if all(isinstance(name, str) for name in value):
        return b"{" + b",".join([quote(name) + b":" + schemaless_json(each) for name, each in value.items()]) + b"}"
    return b"[" + b",".join([b"[" + schemaless_json(name) + b"," + schemaless_json(each) + b"]" for name, each in value.items()]) + b"]"
