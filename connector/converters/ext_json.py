"""``io.apicurio.registry.utils.converter.ExtJsonConverter``: JSON that names its schema by the id in Apicurio's registry.

``{"schemaId":7,"payload":…}``; the schema is the one that Kafka's JsonConverter would send with each record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from connector.configdef.options import OptionError, Options
from connector.converters.apicurio import Artifacts, apicurio_registry
from connector.converters.apicurio_keys import APICURIO_KEYS
from connector.converters.confluent_keys import unlisted_key
from connector.converters.converter import Converted, ConverterDefinition, Side
from connector.converters.registry import Registry
from connector.record.connect_record import DataError, Header
from connector.record.json_converter import ConverterSettings, ValueEncoder, schema_json, value_encoder
from connector.record.schema import Schema
from connector.record.struct import SchemaCache

_Ready = tuple[bytes, ValueEncoder]


class ExtJsonConverter:
    """Converts the keys, or the values, of one connector."""

    def __init__(self, registry: Registry, artifacts: Artifacts, settings: ConverterSettings) -> None:
        self._registry = registry
        self._artifacts = artifacts
        self._settings = settings
        self._topics: dict[str, SchemaCache[_Ready]] = {}

    @classmethod
    def of(cls, options: Options, side: Side) -> ExtJsonConverter:
        """Make it of its options."""
        decimals = options.needed("decimal.format").upper()
        if decimals not in ("BASE64", "NUMERIC"):
            raise OptionError(
                f"Invalid value {decimals} for configuration decimal.format: String must be one of (case insensitive): BASE64, NUMERIC"
            )
        settings = ConverterSettings(
            schemas_enable=False, decimal_format=decimals, replace_null_with_default=options.flag("replace.null.with.default")
        )
        return cls(apicurio_registry(options), Artifacts.of(options, side), settings)

    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Converted:  # noqa: ARG002 - Converter's
        """Return the bytes. Raises DataError; SchemaNeededError until the registry has answered for this topic and schema."""
        if value is None and (schema is None or schema.optional):
            return Converted(None)
        if schema is None:
            raise DataError("ExtJsonConverter needs a schema: the record has none")
        cache = self._topics.get(topic)
        if cache is None:
            cache = self._topics[topic] = SchemaCache()
        try:
            prefix, encode = cache.get(schema, lambda made: self._prepare(topic, made))
            return Converted(encode(value) + b"}", prefix)
        except DataError:
            raise
        except (ValueError, TypeError, AttributeError, KeyError) as problem:
            # The encoder's own words name no value.
            reason = str(problem) if type(problem) is ValueError else f"The value does not fit the schema {schema.name or schema.type}"
            raise DataError(reason) from None

    def _prepare(self, topic: str, schema: Schema) -> _Ready:
        text = schema_json(schema, None, self._settings).decode()
        answer = self._registry.schema(self._artifacts.request(topic, None, "KCONNECT", text))
        # Converters 2.x send the globalId here, whatever the options.
        number = answer.global_id if self._artifacts.generation == 2 else answer.id
        return b'{"schemaId":%d,"payload":' % number, value_encoder(schema, self._settings)


_JSON_KEYS: Final = (
    unlisted_key("decimal.format", "STRING", "BASE64", "LOW", "Whether decimals are written as BASE64 of their bytes, or NUMERIC."),
    unlisted_key("replace.null.with.default", "BOOLEAN", "true", "LOW", "Whether a field's default takes the place of null."),
    unlisted_key("schemas.cache.size", "INT", "1000", "HIGH", "Number of schemas kept.", support="ignored", reason="All are kept."),
)
DEFINITIONS: Final = (
    ConverterDefinition("io.apicurio.registry.utils.converter.ExtJsonConverter", (*APICURIO_KEYS, *_JSON_KEYS), ExtJsonConverter.of),
)
