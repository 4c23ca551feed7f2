"""Writing values with a schema that the registry has, in place of the one that was made of the record's schema.

``use.latest.version`` and ``use.schema.id`` ask for this. The values are written by fastavro (extra ``registry``): fields are found by
their names, and a field that the record lacks takes its default. Confluent's serializer takes fields by their places instead, which mixes
them up where the schemas differ.
"""

from __future__ import annotations

import io
import json
from typing import Any

from connector.converters.avro.compatibility import unreadable
from connector.converters.avro.mapping import enum_parameter, has_default, is_map, is_union, part
from connector.converters.avro.misfit import RANGES, misfit
from connector.converters.avro.names import scrubbed
from connector.converters.avro.settings import AvroSettings
from connector.converters.avro.writer import Write
from connector.extras import install_command
from connector.record.connect_record import DataError
from connector.record.json_converter import twos_complement, unscaled
from connector.record.schema import DECIMAL, Schema


def substitute_writer(schema: Schema | None, settings: AvroSettings, own: str, other: str, *, strict: bool) -> Write:
    """Return what writes the values of ``schema`` with the Avro schema ``other`` in place of ``own``; both are JSON.

    Raises DataError where ``strict`` and ``other`` could not read what ``own`` writes, and where fastavro is not installed.
    """
    if strict and (problem := unreadable(json.loads(other), json.loads(own))) is not None:
        raise DataError(
            f"Incompatible schema: the registry's newest schema cannot read the record's, because {problem}. "
            "Register the record's schema, or set latest.compatibility.strict=false to disable this check"
        )
    try:
        import fastavro  # noqa: PLC0415 - an extra
    except ImportError:
        raise DataError(f"Writing with a schema of the registry needs fastavro. Install it: `{install_command('registry')}`") from None
    try:
        parsed = fastavro.parse_schema(_without_logical_types(json.loads(other)), _write_hint=False)
    except (ValueError, KeyError) as problem_found:
        raise DataError(f"The registry's schema is no Avro schema: {type(problem_found).__name__}") from problem_found

    def write(value: Any) -> bytes:
        out = io.BytesIO()
        try:
            plain = value if schema is None else avro_value(schema, value, settings)
            fastavro.schemaless_writer(out, parsed, plain)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as problem:
            reason = "The registry's schema does not take the value" if schema is None else misfit(schema, value, TypeError())
            raise DataError(f"{reason} ({type(problem).__name__})") from None
        return out.getvalue()

    return write


def _without_logical_types(schema: Any) -> Any:
    """The same schema with plain types: the values are converted already."""
    if isinstance(schema, list):
        return [_without_logical_types(each) for each in schema]
    if isinstance(schema, dict):
        return {
            name: _without_logical_types(each) if name in ("type", "items", "values", "fields") else each
            for name, each in schema.items()
            if name != "logicalType"
        }
    return schema


def avro_value(schema: Schema, value: Any, settings: AvroSettings) -> Any:
    """Return a value as fastavro takes it."""
    if value is None:
        return None
    match schema.type:
        case "bytes" if schema.name == DECIMAL:
            return twos_complement(unscaled(value, int(dict(schema.parameters).get("scale", "0"))))
        case "array":
            items = part(schema.items)
            return [avro_value(items, item, settings) for item in value]
        case "map":
            keys, values = part(schema.keys), part(schema.values)
            if is_map(schema, settings):
                return {key: avro_value(values, member, settings) for key, member in value.items()}
            return [
                {"key": avro_value(keys, key, settings), "value": avro_value(values, member, settings)} for key, member in value.items()
            ]
        case "struct":
            return _struct(schema, value, settings)
        case "int8" | "int16" | "int32" | "int64" if not -RANGES[schema.type] <= value < RANGES[schema.type]:
            raise OverflowError
        case "string" if enum_parameter(schema, settings) is not None:
            return str(value)
        case _:
            return value


def _struct(schema: Schema, value: Any, settings: AvroSettings) -> Any:
    members: dict[str, Any] = {}
    for field in schema.fields:
        member = value[field.name]
        if member is None and has_default(field.schema) and not settings.ignore_defaults:
            member = field.schema.default
        if is_union(schema) and member is not None:
            return avro_value(field.schema, member, settings)
        members[scrubbed(field.name) if settings.scrub else field.name] = avro_value(field.schema, member, settings)
    return None if is_union(schema) else members
