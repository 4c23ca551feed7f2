"""The Avro schema of a Connect schema, as Confluent's ``AvroData`` makes it; Apicurio's converter has the same mapping.

The rules were recorded from the class itself. An optional schema is a union with null, which comes second where there is a default. What
Avro cannot say stands in properties ``connect.*``. Avro has maps with string keys alone: others are arrays of records ``MapEntry``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from connector.converters.avro.avro_schema import AvroField, AvroSchema
from connector.converters.avro.default_values import default_json, is_valid_default
from connector.converters.avro.definitions import check_definitions, same_form
from connector.converters.avro.names import scrubbed, split_name
from connector.converters.avro.settings import AvroSettings
from connector.record.connect_record import DataError
from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, DECIMAL, NO_DEFAULT, Schema

NAMESPACE: Final = "io.confluent.connect.avro"
ENUM: Final = f"{NAMESPACE}.Enum"
SUM_ENUM: Final = "org.apache.kafka.connect.data.Enum"
UNION: Final = f"{NAMESPACE}.Union"
SUM_UNION: Final = "org.apache.kafka.connect.data.Union"
FIXED_SIZE: Final = "connect.fixed.size"
PRECISION: Final = "connect.decimal.precision"
_NO_PRECISION: Final = 64
_FIELD_DEFAULT: Final = f"{NAMESPACE}.field.default"
_NULL: Final = AvroSchema("null")
_PLAIN: Final = {
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
    "bytes": "bytes",
}
_LOGICAL: Final = {CONNECT_DATE: "date", CONNECT_TIME: "time-millis", CONNECT_TIMESTAMP: "timestamp-millis"}


def avro_schema(schema: Schema | None, settings: AvroSettings) -> AvroSchema:
    """Return the Avro schema; for values without a schema, that of any value. Raises DataError."""
    if schema is None:
        return ANYTHING
    found = _Mapping(settings).of(schema)
    check_definitions(found)
    return found


def misnamed(schema: Schema, settings: AvroSettings) -> tuple[Schema, ...]:
    """Return the parts of a schema for which its Avro schema has a record of their name with other fields. Raises DataError.

    Their values cannot be written; null can.
    """
    mapping = _Mapping(settings)
    mapping.of(schema)
    return tuple(part for part, known in mapping.doubtful if not same_form(known, _Mapping(settings).of(part, bare=True)))


def enum_parameter(schema: Schema, settings: AvroSettings) -> str | None:
    """Return the parameter that makes a string an enum, or None where it stays a string."""
    names = {name for name, _ in schema.parameters}
    if not (settings.sum_types or settings.enhanced) or not names & {ENUM, SUM_ENUM}:
        return None
    return SUM_ENUM if settings.sum_types else ENUM


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for one of its fields (``ConnectUnion``)."""
    return schema.type == "struct" and (schema.name == UNION or any(name == SUM_UNION for name, _ in schema.parameters))


def fixed_size(schema: Schema) -> int | None:
    """Return the size of bytes that have always the same, else None."""
    size = dict(schema.parameters).get(FIXED_SIZE) if schema.name is not None else None
    return None if size is None else int(size)


def is_map(schema: Schema, settings: AvroSettings) -> bool:
    """Whether a Connect map is an Avro map, and not an array of entries."""
    keys = part(schema.keys)
    return keys.type == "string" and (not keys.optional or settings.optional_map_keys)


def part(schema: Schema | None) -> Schema:
    """Return the schema of an array's or map's members. Raises DataError where there is none."""
    if schema is None:
        raise DataError("An array or map schema lacks the schema of its members")
    return schema


class _Mapping:
    """One conversion: types that were met before are referred to by their names."""

    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings
        self._met: dict[Schema, AvroSchema] = {}
        self._met_unhashable: list[tuple[Schema, AvroSchema]] = []
        self._by_name: dict[str, tuple[Schema, AvroSchema]] = {}
        self.doubtful: list[tuple[Schema, AvroSchema]] = []
        """Schemas for which the record of their name stands, although it was made of other fields."""
        self._unnamed = 0
        self._make: dict[str, Callable[[Schema], AvroSchema]] = {
            "string": self._string,
            "bytes": self._bytes,
            "array": self._array,
            "map": self._map,
            "struct": self._struct,
        }

    def of(self, schema: Schema, *, bare: bool = False) -> AvroSchema:
        """Return the schema's, without the union with null if ``bare``."""
        if not schema.optional and not is_union(schema) and (met := self._find(schema)) is not None:
            return met
        if schema.type in _PLAIN and schema.type not in self._make:
            found = AvroSchema(_PLAIN[schema.type])
        elif schema.type in self._make:
            found = self._make[schema.type](schema)
        else:
            raise DataError(f"Unknown schema type: {schema.type}")
        if found.type != "union":
            self._describe(schema, found)
            if not bare:
                found = _optional(schema, found)
        if not schema.optional:
            self._keep(schema, found)
        return found

    def _find(self, schema: Schema) -> AvroSchema | None:
        try:
            return self._met.get(schema)
        except TypeError:  # its default is a list or a dict
            return next((found for other, found in self._met_unhashable if other == schema), None)

    def _keep(self, schema: Schema, found: AvroSchema) -> None:
        try:
            self._met[schema] = found
        except TypeError:
            self._met_unhashable.append((schema, found))

    def _by_reference(self, schema: Schema, *, bare: bool = False) -> AvroSchema:
        """Return the record of this name where one exists."""
        met = self._by_name.get(schema.name) if schema.name is not None else None
        if met is None:
            return self.of(schema, bare=bare)
        first, known = met
        if (first.type, first.fields) != (schema.type, schema.fields):
            self.doubtful.append((schema.as_optional(False), known))
        return known if bare else _optional(schema, known)

    def _name(self, name: str | None) -> tuple[str | None, str]:
        if name is not None:
            return split_name(name, self._settings.scrub)
        self._unnamed += 1
        return NAMESPACE, "ConnectDefault" + (str(self._unnamed) if self._unnamed > 1 else "")

    def _string(self, schema: Schema) -> AvroSchema:
        marker = enum_parameter(schema, self._settings)
        if marker is None:
            return AvroSchema("string")
        parameters = dict(schema.parameters)
        _, name = self._name(schema.name)
        full = parameters.get(marker)
        if full is None:
            raise DataError(f"The schema {schema.name} of an enum lacks the parameter {marker}")
        space, short = split_name(full, scrub=False)
        symbols = tuple(key[len(marker) + 1 :] for key in parameters if key.startswith(marker + "."))
        if self._settings.discard_docs:
            return AvroSchema("enum", short, space, parameters.get("connect.enum.doc"), symbols=symbols)
        doc, default = parameters.get(f"{NAMESPACE}.enum.doc.{name}"), parameters.get(f"{NAMESPACE}.enum.default.{name}")
        return AvroSchema("enum", short, space, doc, symbols=symbols, symbol_default=default)

    def _bytes(self, schema: Schema) -> AvroSchema:
        size = fixed_size(schema)
        if size is None:
            found = AvroSchema("bytes")
        else:
            space, name = self._name(schema.name)
            found = AvroSchema("fixed", name, space, size=size)
        if schema.name == DECIMAL:
            parameters = dict(schema.parameters)
            found.props["scale"] = int(parameters["scale"])
            found.props["precision"] = int(parameters.get(PRECISION, _NO_PRECISION))
        return found

    def _array(self, schema: Schema) -> AvroSchema:
        return AvroSchema("array", items=self._by_reference(part(schema.items)))

    def _map(self, schema: Schema) -> AvroSchema:
        if is_map(schema, self._settings):
            return AvroSchema("map", items=self._by_reference(part(schema.values)))
        if schema.name is None:
            entry = AvroSchema("record", "MapEntry", NAMESPACE)
        else:
            space, name = self._name(schema.name)
            entry = AvroSchema("record", name, space, props={"connect.internal.type": "MapEntry"})
        entry.fields += (self._field("key", part(schema.keys), None), self._field("value", part(schema.values), None))
        return AvroSchema("array", items=entry)

    def _struct(self, schema: Schema) -> AvroSchema:
        if is_union(schema):
            branches = [self._by_reference(field.schema.as_optional(False), bare=True) for field in schema.fields]
            return AvroSchema("union", branches=tuple([_NULL, *branches] if schema.optional else branches))
        if schema.optional:
            return AvroSchema("union", branches=(_NULL, self._by_reference(schema.as_optional(False))))
        space, name = self._name(schema.name)
        parameters = dict(schema.parameters)
        doc = parameters.get("connect.record.doc" if self._settings.discard_docs else f"{NAMESPACE}.record.doc")
        found = AvroSchema("record", name, space, doc)
        if schema.name is not None:
            self._by_name[schema.name] = (schema, found)
        for field in schema.fields:
            doc = None if self._settings.discard_docs else parameters.get(f"{NAMESPACE}.field.doc.{field.name}")
            found.fields.append(self._field(scrubbed(field.name) if self._settings.scrub else field.name, field.schema, doc))
        return found

    def _field(self, name: str, schema: Schema, doc: str | None) -> AvroField:
        default: object = NO_DEFAULT
        if has_default(schema):
            default = default_json(schema, schema.default, self._settings)
        elif schema.optional:
            default = None
        found = self.of(schema)
        if default is not NO_DEFAULT and not is_valid_default(found, default):
            default = NO_DEFAULT
        return AvroField(name, found, schema.doc if self._settings.discard_docs else doc, default)

    def _describe(self, schema: Schema, found: AvroSchema) -> None:
        """Add the properties."""
        if self._settings.meta_data:
            self._add_meta_data(schema, found)
        if schema.name == DECIMAL:
            parameters = dict(schema.parameters)
            precision, scale = int(parameters.get(PRECISION, _NO_PRECISION)), int(parameters["scale"])
            if precision <= 0 and 0 <= scale <= precision:
                raise DataError(f"Invalid decimal precision: {precision} (must be positive)")
            found.props["logicalType"] = "decimal"
        elif schema.name in _LOGICAL:
            found.props["logicalType"] = _LOGICAL[schema.name]
        for key, value in dict(schema.parameters).items():
            if key.startswith("avro"):
                found.props.setdefault(key, value)

    def _add_meta_data(self, schema: Schema, found: AvroSchema) -> None:
        discard = self._settings.discard_docs
        if schema.doc is not None:
            found.props["connect.doc"] = schema.doc
        if schema.version is not None:
            found.props["connect.version"] = schema.version
        parameters = {key: value for key, value in schema.parameters if discard or key != _FIELD_DEFAULT}
        if parameters:
            found.props["connect.parameters"] = parameters
        if has_default(schema) and (discard or all(key != _FIELD_DEFAULT for key, _ in schema.parameters)):
            found.props["connect.default"] = default_json(schema, schema.default, self._settings)
        if schema.name is not None:
            found.props["connect.name"] = schema.name
        if schema.type in ("int8", "int16"):
            found.props["connect.type"] = schema.type


def has_default(schema: Schema) -> bool:
    """Whether there is a default other than null."""
    return schema.default is not NO_DEFAULT and schema.default is not None


def _optional(schema: Schema, found: AvroSchema) -> AvroSchema:
    if not schema.optional:
        return found
    return AvroSchema("union", branches=(found, _NULL) if has_default(schema) else (_NULL, found))


def _anything() -> AvroSchema:
    """A record of one field for each kind of value, of which at most one is set."""
    record = AvroSchema("record", "Anything", NAMESPACE)
    entry = AvroSchema("record", "MapEntry", NAMESPACE, fields=[AvroField("key", record), AvroField("value", record)])
    for name in ("boolean", "bytes", "double", "float", "int", "long", "string"):
        record.fields.append(AvroField(name, AvroSchema("union", branches=(_NULL, AvroSchema(name))), None, None))
    for name, items in (("array", record), ("map", entry)):
        record.fields.append(AvroField(name, AvroSchema("union", branches=(_NULL, AvroSchema("array", items=items))), None, None))
    return record


ANYTHING: Final = _anything()
"""What values without a schema are written as."""
