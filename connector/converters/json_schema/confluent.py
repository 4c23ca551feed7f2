"""``io.confluent.connect.json.JsonSchemaConverter``: JSON, with a JSON Schema in a registry of Confluent's API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from connector.configdef.options import OptionError, Options
from connector.converters.confluent import Subjects, confluent_registry
from connector.converters.confluent_keys import CONFLUENT_KEYS, unlisted_key
from connector.converters.converter import Converted, ConverterDefinition, Side
from connector.converters.json_schema.essence import same_documents
from connector.converters.json_schema.mapping import JsonSchemaSettings, json_schema, string_keys
from connector.converters.registry import Registry, Wire
from connector.record.connect_record import DataError, Header
from connector.record.json_converter import ConverterSettings, ValueEncoder, value_encoder
from connector.record.schema import NO_DEFAULT, Field, Schema
from connector.record.struct import SchemaCache

_Ready = tuple[ValueEncoder, Wire]


class JsonSchemaConverter:
    """Converts the keys, or the values, of one connector."""

    def __init__(self, registry: Registry, subjects: Subjects, schemas: JsonSchemaSettings, values: ConverterSettings) -> None:
        self._registry = registry
        self._subjects = subjects
        self._schemas = schemas
        self._values = values
        self._topics: dict[str, SchemaCache[_Ready]] = {}

    @classmethod
    def of(cls, options: Options, side: Side) -> JsonSchemaConverter:
        """Make it of its options."""
        decimals = options.needed("decimal.format").upper()
        if decimals not in ("BASE64", "NUMERIC"):
            raise OptionError(
                f"Invalid value {decimals} for configuration decimal.format: String must be one of (case insensitive): BASE64, NUMERIC"
            )
        schemas = JsonSchemaSettings(
            numeric_decimals=decimals == "NUMERIC",
            additional_properties=options.flag("object.additional.properties"),
            sum_types=options.flag("generalized.sum.type.support"),
        )
        values = ConverterSettings(
            schemas_enable=False, decimal_format=decimals, replace_null_with_default=not options.flag("ignore.default.for.nullables")
        )
        return cls(confluent_registry(options), Subjects.of(options, side), schemas, values)

    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Converted:  # noqa: ARG002 - Converter's
        """Return the bytes. Raises DataError; SchemaNeededError until the registry has answered for this topic and schema."""
        if schema is None:
            if value is None:
                return Converted(None)
            raise DataError("JsonSchemaConverter needs a schema: the record has none")
        if value is None and not schema.optional and (schema.default is NO_DEFAULT or schema.default is None):
            return Converted(None)
        if self._registry.forgot():
            self._topics.clear()
        cache = self._topics.get(topic)
        if cache is None:
            cache = self._topics[topic] = SchemaCache()
        encode, wire = cache.get(schema, lambda made: self._prepare(topic, made))
        try:
            return Converted(encode(value), wire.prefix, wire.headers)
        except (ValueError, TypeError, AttributeError, KeyError) as problem:
            # The encoder's own words name no value.
            reason = str(problem) if type(problem) is ValueError else f"The value does not fit the schema {schema.name or schema.type}"
            raise DataError(reason) from None

    def _prepare(self, topic: str, schema: Schema) -> _Ready:
        text = json_schema(schema, self._schemas)
        title = None if schema.optional else schema.name
        answer = self._registry.schema(self._subjects.request(topic, title, "JSON", text))
        if answer.text is not None and self._subjects.strict and not same_documents(answer.text, text):
            raise DataError(
                f"The registry's schema with the id {answer.id} differs from the record's in more than annotations and order, and whether "
                "it can read it is not known. Register the record's schema, or set latest.compatibility.strict=false"
            )
        encode = value_encoder(_with_entries(schema), self._values)
        prepare = _entries(schema)
        return (encode if prepare is None else lambda value: encode(prepare(value))), self._subjects.wire(answer)


def _with_entries(schema: Schema) -> Schema:
    """The same schema, in which maps without string keys are arrays of structs ``key``, ``value``."""
    if schema.type == "struct":
        return replace(schema, fields=tuple(Field(field.name, _with_entries(field.schema)) for field in schema.fields))
    if schema.type == "array" and schema.items is not None:
        return replace(schema, items=_with_entries(schema.items))
    if schema.type != "map" or schema.keys is None or schema.values is None:
        return schema
    if string_keys(schema):
        return replace(schema, values=_with_entries(schema.values))
    entry = Schema("struct", fields=(Field("key", _with_entries(schema.keys)), Field("value", _with_entries(schema.values))))
    change, default = _entries(schema), schema.default
    if change is not None and default is not NO_DEFAULT:
        default = change(default)
    return Schema("array", optional=schema.optional, items=entry, default=default)


def _entries(schema: Schema) -> Callable[[Any], Any] | None:
    """Return what brings values of ``schema`` into the form of :func:`_with_entries`, or None where they have it."""
    if schema.type == "struct":
        changed = [(field.name, change) for field in schema.fields if (change := _entries(field.schema)) is not None]
        return _nullable(lambda value: {**value, **{name: change(value[name]) for name, change in changed}}) if changed else None
    if schema.type == "array" and schema.items is not None:
        item = _entries(schema.items)
        return None if item is None else _nullable(lambda value: [item(each) for each in value])
    if schema.type != "map" or schema.keys is None or schema.values is None:
        return None
    member = _entries(schema.values)
    if string_keys(schema):
        return None if member is None else _nullable(lambda value: {key: member(each) for key, each in value.items()})
    return _nullable(lambda value: [{"key": key, "value": each if member is None else member(each)} for key, each in value.items()])


def _nullable(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else change(value)


_KEYS: Final = (
    unlisted_key("decimal.format", "STRING", "BASE64", "LOW", "Whether decimals are written as BASE64 of their bytes, or NUMERIC."),
    unlisted_key("object.additional.properties", "BOOLEAN", "true", "MEDIUM", "Whether schemas of structs allow further members."),
    unlisted_key(
        "generalized.sum.type.support",
        "BOOLEAN",
        "false",
        "MEDIUM",
        "Whether the parameter org.apache.kafka.connect.data.Enum makes a string an enum.",
    ),
    unlisted_key(
        "ignore.default.for.nullables", "BOOLEAN", "false", "MEDIUM", "Whether null stays null in a nullable field with a default."
    ),
    *(
        unlisted_key(name, "BOOLEAN", default, "MEDIUM", doc, support="ignored", reason=reason)
        for name, default, doc, reason in (
            ("json.fail.invalid.schema", "false", "Whether values are checked.", "The value is written by its schema, and so fits it."),
            ("use.optional.for.nonrequired", "false", "Concerns reading alone.", "A source connector reads no JSON Schema."),
            ("ignore.modern.dialects", "false", "Concerns reading alone.", "A source connector reads no JSON Schema."),
            ("flatten.singleton.unions", "true", "Concerns reading alone.", "A source connector reads no JSON Schema."),
        )
    ),
)
DEFINITIONS: Final = (
    ConverterDefinition("io.confluent.connect.json.JsonSchemaConverter", (*CONFLUENT_KEYS, *_KEYS), JsonSchemaConverter.of),
)
