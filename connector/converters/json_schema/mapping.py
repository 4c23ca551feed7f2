"""The JSON Schema of a Connect schema, as Confluent's ``JsonSchemaData`` makes it.

The order of the members was recorded from the library that Confluent has write them (everit-json-schema 1.14), which keeps properties in
hash maps. An optional schema is ``oneOf`` null and the type, in this order. ``tests.differential.converters`` compares the texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import orjson

from connector.converters.json_schema.entries import entries, string_keys, with_entries
from connector.java.floats import java_double, java_float
from connector.java.hash_map import java_order
from connector.record.connect_record import DataError
from connector.record.json_converter import ConverterSettings, json_text, value_json
from connector.record.schema import DECIMAL, NO_DEFAULT, Schema

_NAMESPACE: Final = "io.confluent.connect.json"
_ENUM: Final = f"{_NAMESPACE}.Enum"
_SUM_ENUM: Final = "org.apache.kafka.connect.data.Enum"
_TYPES: Final = {
    "int8": ("integer", "int8"),
    "int16": ("integer", "int16"),
    "int32": ("integer", "int32"),
    "int64": ("integer", "int64"),
    "float": ("number", "float32"),
    "double": ("number", "float64"),
    "string": ("string", None),
    "bytes": ("string", "bytes"),
}


@dataclass(frozen=True, slots=True)
class JsonSchemaSettings:
    """The options that the schema depends on."""

    numeric_decimals: bool = False
    """``decimal.format=NUMERIC``."""
    additional_properties: bool = True
    """``object.additional.properties``."""
    sum_types: bool = False
    """``generalized.sum.type.support``."""
    ignore_defaults: bool = False
    """``ignore.default.for.nullables``: nulls within defaults stay null."""


def json_schema(schema: Schema, settings: JsonSchemaSettings) -> str:
    """Return the text of the schema. Raises DataError."""
    return _Writer(settings).text(schema, None)


class _Writer:
    def __init__(self, settings: JsonSchemaSettings) -> None:
        self._settings = settings
        decimals = "NUMERIC" if settings.numeric_decimals else "BASE64"
        self._values = ConverterSettings(decimal_format=decimals, replace_null_with_default=not settings.ignore_defaults)

    def text(self, schema: Schema, index: int | None) -> str:
        """``index`` is the field's place within its struct."""
        if schema.optional:
            place = f'"connect.index":{index},' if index is not None else ""
            return f'{{{place}"oneOf":[{{"type":"null"}},{self.text(schema.as_optional(False), None)}]}}'
        kind, own, rest = self._kind(schema)
        members = [kind] if kind else []
        if schema.name is not None:
            members.append(f'"title":{json_text(schema.name)}')
        if schema.doc is not None:
            members.append(f'"description":{json_text(schema.doc)}')
        if schema.default is not NO_DEFAULT and schema.default is not None:
            members.append(f'"default":{self._default(schema)}')
        if schema.version is not None:
            own["connect.version"] = str(schema.version)
        parameters = {key: value for key, value in schema.parameters if not key.startswith(_NAMESPACE)}
        if parameters:
            pairs = ",".join(f"{json_text(key)}:{json_text(parameters[key])}" for key in _twice(parameters, len(parameters)))
            own["connect.parameters"] = f"{{{pairs}}}"
        if index is not None:
            own["connect.index"] = str(index)
        members += [f'"{key}":{own[key]}' for key in _twice(own, len(own) * 4 // 3 + 1)]
        return "{" + ",".join(members + rest) + "}"

    def _kind(self, schema: Schema) -> tuple[str, dict[str, str], list[str]]:
        """Return the first member, Connect's own properties, and the last members."""
        if (values := self._enum(schema)) is not None:
            return f'"enum":[{",".join(json_text(value) for value in java_order(values))}]', {}, []
        match schema.type:
            case "array":
                return '"type":"array"', {}, [f'"items":{self.text(_part(schema.items), None)}']
            case "map":
                return self._map(schema)
            case "struct":
                # The library writes this keyword before the title, unless its value is a schema.
                closed = "" if self._settings.additional_properties else ',"additionalProperties":false'
                rest: list[str] = []
                texts = {field.name: self.text(field.schema, place) for place, field in enumerate(schema.fields)}
                if texts:
                    rest.append(f'"properties":{{{",".join(f"{json_text(name)}:{texts[name]}" for name in java_order(texts))}}}')
                return f'"type":"object"{closed}', {}, rest
        if schema.type == "boolean":
            # The library writes this type last.
            return "", {}, ['"type":"boolean"']
        if schema.type not in _TYPES:
            raise DataError(f"Unsupported type {schema.type}")
        kind, connect = _TYPES[schema.type]
        if schema.name == DECIMAL and self._settings.numeric_decimals:
            kind = "number"
        return f'"type":"{kind}"', {} if connect is None else {"connect.type": f'"{connect}"'}, []

    def _enum(self, schema: Schema) -> list[str] | None:
        if schema.type != "string" or not {key for key, _ in schema.parameters} & {_ENUM, _SUM_ENUM}:
            return None
        marker = (_SUM_ENUM if self._settings.sum_types else _ENUM) + "."
        return [key.removeprefix(marker) for key, _ in schema.parameters if key.startswith(marker)]

    def _map(self, schema: Schema) -> tuple[str, dict[str, str], list[str]]:
        own = {"connect.type": '"map"'}
        if string_keys(schema):
            return '"type":"object"', own, [f'"additionalProperties":{self.text(_part(schema.values), None)}']
        parts = {"key": self.text(_part(schema.keys), 0), "value": self.text(_part(schema.values), 1)}
        entry = ",".join(f'"{name}":{parts[name]}' for name in java_order(parts))
        return '"type":"array"', own, [f'"items":{{"type":"object","properties":{{{entry}}}}}']

    def _default(self, schema: Schema) -> str:
        value: Any = schema.default
        if schema.type in ("float", "double"):
            if not math.isfinite(value):
                raise DataError("JSON does not allow non-finite numbers: the default of a field is one")
            return _number((java_float(value) if schema.type == "float" else java_double(value)).decode())
        if isinstance(value, Decimal) and self._settings.numeric_decimals:
            return _number(str(value))
        try:
            change = entries(schema)
            written = value_json(with_entries(schema), value if change is None else change(value), self._values)
            return _reordered(orjson.loads(written))
        except (ValueError, TypeError, AttributeError) as problem:
            raise DataError(f"Invalid default value of {schema.type} field: {type(value).__name__}") from problem


def _twice(keys: Iterable[str], room: int) -> list[str]:
    """The order of a hash map that was copied into another one, which was made with ``room``."""
    return java_order(java_order(keys), 1 << max(room - 1, 0).bit_length())


def _number(text: str) -> str:
    """A number as org.json writes it, without zeros at the end of a fraction, and as BigDecimal shows what is read of that."""
    if "E" in text:
        return str(Decimal(text))
    return text.rstrip("0").removesuffix(".") if "." in text else text


def _reordered(value: Any) -> str:
    """JSON with the members of objects in the order of a hash map."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_text(name)}:{_reordered(value[name])}" for name in java_order(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_reordered(item) for item in value) + "]"
    if isinstance(value, str):
        return json_text(value)
    return _number(java_double(value).decode()) if isinstance(value, float) else orjson.dumps(value).decode()


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataError("An array or map schema lacks the schema of its members")
    return schema
