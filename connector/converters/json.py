"""Kafka's JsonConverter for keys, values and headers (KIP-481 ``decimal.format``, KIP-581 ``replace.null.with.default``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from connector.configdef.kafka_validators import one_of_any_case
from connector.configdef.key import Key
from connector.configdef.options import OptionError, Options
from connector.converters.converter import Converted, ConverterDefinition, HeaderConverterDefinition, Side
from connector.converters.type_key import TYPE_KEY
from connector.record.connect_record import DataError, Header
from connector.record.json_converter import ConverterSettings, ValueEncoder, around_payload, fitted, value_encoder
from connector.record.schema import Schema
from connector.record.schemaless_json import schemaless_json
from connector.record.struct import SchemaCache

NAME: Final = "org.apache.kafka.connect.json.JsonConverter"


class _Form(NamedTuple):
    """How the values of one schema are written: what comes before and after each, and its own encoder."""

    before: bytes
    after: bytes
    encode: ValueEncoder


class JsonConverter:
    """Writes JSON, with the schema beside each value where schemas are enabled."""

    def __init__(self, settings: ConverterSettings) -> None:
        self._settings = settings
        self._forms: SchemaCache[_Form] = SchemaCache()

    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Converted:  # noqa: ARG002
        """Return the JSON. Null without a schema is null; with a schema it is the JSON of null. Raises DataError."""
        if schema is None:
            if value is None:
                return Converted(None)
            document = schemaless_json(value)
            if self._settings.schemas_enable:
                return Converted(document + b"}", b'{"schema":null,"payload":')
            return Converted(fitted(document))
        try:
            # The schema's defaults may not fit either.
            form = self._forms.get(schema, self._form)
            return Converted(form.encode(value) + form.after, form.before)
        except DataError:
            raise
        except (ValueError, TypeError, AttributeError, LookupError) as problem:
            raise DataError(f"a value does not fit its schema ({type(problem).__name__})") from problem

    def _form(self, schema: Schema) -> _Form:
        return _Form(*around_payload(schema, self._settings), value_encoder(schema, self._settings))


class JsonHeaderConverter:
    """The same for headers."""

    def __init__(self, converter: JsonConverter) -> None:
        self._converter = converter

    def convert(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:  # noqa: ARG002
        """Return the header's JSON. Raises DataError."""
        found = self._converter.convert(topic, schema, value, ())
        return None if found.payload is None else found.prefix + found.payload


def settings_of(options: Options) -> ConverterSettings:
    """Read the options. Raises OptionError."""
    return ConverterSettings(
        schemas_enable=options.flag("schemas.enable"),
        decimal_format=_decimal_format(options.needed("decimal.format")),
        replace_null_with_default=options.flag("replace.null.with.default"),
    )


def _decimal_format(text: str) -> str:
    if text.upper() not in ("BASE64", "NUMERIC"):
        raise OptionError(
            f"Invalid value {text} for configuration decimal.format: String must be one of (case insensitive): NUMERIC, BASE64"
        )
    return text.upper()


def _make(options: Options, side: Side) -> JsonConverter:  # noqa: ARG001
    return JsonConverter(settings_of(options))


KEYS: Final[tuple[Key, ...]] = (
    TYPE_KEY,
    Key(
        "schemas.enable",
        "BOOLEAN",
        "true",
        "HIGH",
        "Enable Schemas",
        "Write the schema beside each key or value.",
        group="Schemas",
        width="MEDIUM",
        framework=True,
    ),
    Key(
        "schemas.cache.size",
        "INT",
        "1000",
        "HIGH",
        "Schema Cache Size",
        "How many schemas are remembered. It has no effect: 1000 are.",
        group="Schemas",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
    Key(
        "schema.content",
        "STRING",
        None,
        "HIGH",
        "Schema Content",
        "Schema to use where a message carries none; a source connector has no use for it.",
        group="Schemas",
        width="MEDIUM",
        framework=True,
        fixed_order=2,
    ),
    Key(
        "decimal.format",
        "STRING",
        "BASE64",
        "LOW",
        "Decimal Format",
        "Whether decimals are written as base64 bytes or as numbers.",
        group="Serialization",
        width="MEDIUM",
        validators=(one_of_any_case("NUMERIC", "BASE64"),),
        framework=True,
    ),
    Key(
        "replace.null.with.default",
        "BOOLEAN",
        "true",
        "LOW",
        "Replace null with default",
        "Write a field's default where its value is null.",
        group="Serialization",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
)
DEFINITIONS: Final = (ConverterDefinition(NAME, KEYS, _make),)
HEADER_DEFINITIONS: Final = (
    HeaderConverterDefinition(NAME, KEYS, lambda options: JsonHeaderConverter(JsonConverter(settings_of(options)))),
)
