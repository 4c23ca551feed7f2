"""What a Connect schema is in Protocol Buffers: a scalar, a wrapper, a message of a known file, an enum, a oneof."""

from __future__ import annotations

from typing import Final

from connector.converters.protobuf.names import scrubbed
from connector.converters.protobuf.settings import ProtobufSettings
from connector.record.connect_record import DataError
from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, DECIMAL, NO_DEFAULT, Field, Schema

NAMESPACE: Final = "io.confluent.connect.protobuf"
ENUM: Final = f"{NAMESPACE}.Enum"
SUM_ENUM: Final = "org.apache.kafka.connect.data.Enum"
UNION: Final = f"{NAMESPACE}.Union"
SUM_UNION: Final = "org.apache.kafka.connect.data.Union"
_TAG: Final = f"{NAMESPACE}.Tag"
_TYPE: Final = f"{NAMESPACE}.Type"
_WRAPPER: Final = f"{NAMESPACE}.Wrapper"
LOGICAL: Final = {
    DECIMAL: "confluent.type.Decimal",
    CONNECT_DATE: "google.type.Date",
    CONNECT_TIME: "google.type.TimeOfDay",
    CONNECT_TIMESTAMP: "google.protobuf.Timestamp",
}
"""Name of a logical type → message."""
SCALARS: Final = {
    "int8": "int32",
    "int16": "int32",
    "int32": "int32",
    "int64": "int64",
    "float": "float",
    "double": "double",
    "boolean": "bool",
    "string": "string",
    "bytes": "bytes",
}
"""Type of Connect → scalar type."""
_CHOSEN: Final = {
    "int32": frozenset({"int32", "sint32", "sfixed32"}),
    "int64": frozenset({"int64", "sint64", "sfixed64", "uint64", "fixed64", "uint32", "fixed32"}),
}
_WRAPPERS: Final = {
    "int32": "Int32Value",
    "sint32": "Int32Value",
    "sfixed32": "Int32Value",
    "int64": "Int64Value",
    "sint64": "Int64Value",
    "sfixed64": "Int64Value",
    "uint32": "UInt32Value",
    "fixed32": "UInt32Value",
    "uint64": "UInt64Value",
    "fixed64": "UInt64Value",
    "float": "FloatValue",
    "double": "DoubleValue",
    "bool": "BoolValue",
    "string": "StringValue",
    "bytes": "BytesValue",
}


def wrapper(scalar: str) -> str:
    """Return the message that wraps a scalar type."""
    return f"google.protobuf.{_WRAPPERS[scalar]}"


def wrapped_scalar(message: str) -> str:
    """Return the scalar type that a wrapper holds."""
    return _HELD[message]


_HELD: Final = {wrapper(scalar): scalar for scalar in ("int32", "int64", "uint32", "uint64", "float", "double", "bool", "string", "bytes")}


def scalar_type(schema: Schema) -> str:
    """Return the scalar type; the parameter ``io.confluent.connect.protobuf.Type`` chooses among those of integers. Raises DataError."""
    if schema.type not in SCALARS:
        raise DataError(f"Unknown schema type: {schema.type}")
    chosen = parameter(schema, _TYPE) if schema.type in _CHOSEN else None
    if chosen is None:
        return SCALARS[schema.type]
    if chosen not in _CHOSEN[schema.type]:
        raise DataError(f"The parameter {_TYPE} of an {schema.type} schema must be one of {', '.join(sorted(_CHOSEN[schema.type]))}")
    return chosen


def is_wrapped(schema: Schema, settings: ProtobufSettings, *, in_oneof: bool = False) -> bool:
    """Whether a scalar is written as a message. A oneof tells null already; its members are wrapped if they are marked so."""
    return settings.wrappers and schema.optional and (not in_oneof or (parameter(schema, _WRAPPER) or "").lower() == "true")


def enum_type(schema: Schema) -> str | None:
    """Return the enum that a string or an int32 names, or None."""
    if schema.type == "string":
        return parameter(schema, SUM_ENUM) or parameter(schema, ENUM)
    return parameter(schema, ENUM) if schema.type == "int32" else None


def enum_values(schema: Schema, settings: ProtobufSettings) -> tuple[tuple[str, int], ...]:
    """Return the values of an enum. Raises DataError for numbers that are none."""
    prefix = (SUM_ENUM if settings.sum_types else ENUM) + "."
    try:
        return tuple((key.removeprefix(prefix), int(number)) for key, number in schema.parameters if key.startswith(prefix))
    except ValueError:
        raise DataError(f"The parameters {prefix}* of the schema {schema.name} must be whole numbers") from None


def is_union(schema: Schema) -> bool:
    """Whether a struct is a oneof of its fields (``ConnectUnion``)."""
    if schema.type != "struct":
        return False
    return (schema.name is not None and schema.name.startswith(UNION)) or parameter(schema, SUM_UNION) is not None


def numbered(schema: Schema, settings: ProtobufSettings) -> list[tuple[Field, str, int]]:
    """Return the fields of a struct with their names and numbers: counted, where the parameter ``Tag`` says nothing. Raises DataError."""
    count = 0
    found = []
    for field in schema.fields:
        tag = parameter(field.schema, _TAG)
        if tag is not None:
            number = _number(tag)
        elif is_union(schema):
            raise DataError(f"The field {field.name} of a union needs the parameter {_TAG}")
        else:
            count += 1
            number = count
        found.append((field, scrubbed(field.name) if settings.scrub else field.name, number))
    return found


def has_default(schema: Schema) -> bool:
    """Whether there is a default other than null."""
    return schema.default is not NO_DEFAULT and schema.default is not None


def part(schema: Schema | None) -> Schema:
    """Return the schema of an array's or map's members. Raises DataError where there is none."""
    if schema is None:
        raise DataError("An array or map schema lacks the schema of its members")
    return schema


def parameter(schema: Schema, name: str) -> str | None:
    """Return a parameter's value, or None."""
    return next((value for key, value in schema.parameters if key == name), None)


def _number(tag: str) -> int:
    if not (tag.isascii() and tag.isdigit() and 0 < int(tag) < 1 << 29):
        raise DataError(f"The parameter {_TAG} must be a number from 1 to 536870911")
    return int(tag)
