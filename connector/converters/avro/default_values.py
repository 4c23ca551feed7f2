"""Default values in Avro schemas: the JSON that Avro wants for a Connect value, and whether Avro takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from connector.converters.avro.avro_schema import AvroSchema, Single
from connector.converters.avro.names import scrubbed
from connector.converters.avro.settings import AvroSettings
from connector.java.floats import as_float32
from connector.record.connect_record import DataError
from connector.record.json_converter import twos_complement, unscaled
from connector.record.schema import DECIMAL, NO_DEFAULT, Schema

_INT: Final = 1 << 31
_LONG: Final = 1 << 63


def default_json(schema: Schema, value: object, settings: AvroSettings) -> Any:
    """Return the JSON value of a Connect default. Bytes are text of ISO 8859-1. Raises DataError for a value of the wrong type."""
    if value is None:
        return None
    try:
        return _json(schema, value, settings)
    except (TypeError, ValueError, AttributeError, KeyError) as problem:
        raise DataError(f"Invalid type used for default value of {schema.type} field: {type(value).__name__}") from problem


def _json(schema: Schema, value: Any, settings: AvroSettings) -> Any:
    match schema.type:
        case "bytes":
            if schema.name == DECIMAL:
                value = twos_complement(unscaled(value, int(dict(schema.parameters)["scale"])))
            return bytes(value).decode("latin-1")
        case "float":
            return Single(as_float32(value))
        case "double":
            return float(value)
        case "array":
            items = cast("Schema", schema.items)
            return [default_json(items, item, settings) for item in value]
        case "map":
            keys, values = cast("Schema", schema.keys), cast("Schema", schema.values)
            if keys.type == "string" and (not keys.optional or settings.optional_map_keys):
                return {key: default_json(values, member, settings) for key, member in value.items()}
            return [[default_json(keys, key, settings), default_json(values, member, settings)] for key, member in value.items()]
        case "struct":
            return _struct(schema, value, settings)
        case _:
            return value


def _struct(schema: Schema, value: Mapping[str, Any], settings: AvroSettings) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for field in schema.fields:
        member = value.get(field.name)
        if member is None and field.schema.default is not NO_DEFAULT:
            member = field.schema.default
        members[scrubbed(field.name) if settings.scrub else field.name] = default_json(field.schema, member, settings)
    return members


def is_valid_default(schema: AvroSchema, value: Any) -> bool:
    """Whether Avro 1.12 takes ``value`` as the default of a field of this schema: of a union, any branch may fit."""
    match schema.type:
        case "union":
            return any(is_valid_default(branch, value) for branch in schema.branches)
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "string" | "bytes" | "enum" | "fixed":
            return isinstance(value, str)
        case "int" | "long":
            limit = _INT if schema.type == "int" else _LONG
            return isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit
        case "float" | "double":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list) and all(is_valid_default(cast("AvroSchema", schema.items), item) for item in value)
        case "map":
            return isinstance(value, dict) and all(is_valid_default(cast("AvroSchema", schema.items), item) for item in value.values())
        case _:
            return isinstance(value, dict) and all(
                is_valid_default(field.schema, value.get(field.name, field.default)) for field in cast("Sequence[Any]", schema.fields)
            )
