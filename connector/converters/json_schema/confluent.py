"""``io.confluent.connect.json.JsonSchemaConverter``: JSON, with a JSON Schema in a registry of Confluent's API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from connector.configdef.options import OptionError, Options
from connector.converters.confluent import Subjects, confluent_registry
from connector.converters.confluent_keys import CONFLUENT_KEYS, unlisted_key
from connector.converters.converter import Converted, ConverterDefinition, Side
from connector.converters.json_schema.entries import entries, with_entries
from connector.converters.json_schema.essence import same_documents
from connector.converters.json_schema.mapping import JsonSchemaSettings, json_schema
from connector.converters.registry import Registry, Wire
from connector.record.connect_record import DataError, Header
from connector.record.json_converter import ConverterSettings, ValueEncoder, value_encoder
from connector.record.schema import NO_DEFAULT, Schema
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
            ignore_defaults=options.flag("ignore.default.for.nullables"),
        )
        values = ConverterSettings(schemas_enable=False, decimal_format=decimals, replace_null_with_default=not schemas.ignore_defaults)
        return cls(confluent_registry(options), Subjects.of(options, side), schemas, values)

    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Converted:  # noqa: ARG002 - Converter's
        """Return the bytes. Raises DataError; SchemaNeededError until the registry has answered for this topic and schema."""
        if schema is None:
            if value is None:
                return Converted(None)
            raise DataError("JsonSchemaConverter needs a schema: the record has none")
        no_default = schema.default is NO_DEFAULT or schema.default is None or not self._values.replace_null_with_default
        if value is None and not schema.optional and no_default:
            return Converted(None)
        if self._registry.forgot():
            self._topics.clear()
        cache = self._topics.get(topic)
        if cache is None:
            cache = self._topics[topic] = SchemaCache()
        try:
            encode, wire = cache.get(schema, lambda made: self._prepare(topic, made))
            return Converted(encode(value), wire.prefix, wire.headers)
        except DataError:
            raise
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
        encode = value_encoder(with_entries(schema), self._values)
        prepare = entries(schema)
        return (encode if prepare is None else lambda value: encode(prepare(value))), self._subjects.wire(answer)


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
