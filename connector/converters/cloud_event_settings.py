"""The options of Debezium's CloudEventsConverter (Debezium documentation, "Exporting CloudEvents")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from connector.configdef.key import Key, Type
from connector.configdef.options import OptionError, Options
from connector.converters.converter import ConverterChoice
from connector.converters.json import KEYS as JSON_KEYS
from connector.converters.json import settings_of
from connector.record.json_converter import ConverterSettings

Format = Literal["json", "avro"]
Origin = Literal["value", "header", "generate"]

_CONFLUENT: Final = ("schema.registry.url", "io.confluent.connect.avro.AvroConverter")
_APICURIO: Final = ("apicurio.registry.url", "io.apicurio.registry.utils.converter.AvroConverter")
_NO_HEADERS: Final = {"apicurio.registry.headers.enabled": "false"}
_ADJUSTMENTS: Final = ("none", "avro", "avro_unicode")


class MetadataSource(NamedTuple):
    """Where the metadata comes from: the source block, and the attributes that have a source of their own."""

    block: Origin
    id: Origin
    type: Origin
    data_schema_name: Origin
    traceparent: Origin

    @classmethod
    def of(cls, text: str) -> MetadataSource:
        """Read ``metadata.source``: the source of all, then attributes with theirs. Raises OptionError."""
        first, *rest = (entry.strip() for entry in text.split(","))
        first = first.lower()
        if first not in ("value", "header"):
            raise OptionError(f"Invalid value {text} for configuration metadata.source: It begins with value or header")
        block: Origin = "value" if first == "value" else "header"
        chosen: dict[str, Origin] = dict.fromkeys(("id", "type", "dataSchemaName", "traceparent"), block)
        for entry in rest:
            name, _, origin = entry.partition(":")
            origin = origin.strip().lower()
            if name not in chosen:
                raise OptionError(f"Field `{name}` is not allowed to set custom source")
            if origin not in ("header", "generate"):
                raise OptionError(f"Field source `{origin}` is not valid; use header or generate")
            chosen[name] = "header" if origin == "header" else "generate"
        return cls(block, chosen["id"], chosen["type"], chosen["dataSchemaName"], chosen["traceparent"])


@dataclass(frozen=True, slots=True)
class CloudEventSettings:
    """What the options say."""

    envelope: Format
    data: Format
    json: ConverterSettings
    adjustment: str
    registry_urls: str
    tracing: bool
    extensions: bool
    schema_name: str
    names_data_by_header: bool
    metadata: MetadataSource
    is_old: bool
    """Debezium 2.3.4: other names, and nothing is read from headers."""

    @classmethod
    def of(cls, options: Options) -> CloudEventSettings:
        """Read the options. Raises OptionError."""
        envelope, data = _format(options, "serializer.type"), _format(options, "data.serializer.type")
        if (envelope, data) == ("avro", "json"):
            raise OptionError("Cannot use 'application/json' data content type within Avro events; set data.serializer.type=avro")
        adjustment = options.needed("schema.name.adjustment.mode")
        if adjustment not in _ADJUSTMENTS:
            raise OptionError(f"Invalid value {adjustment} for configuration schema.name.adjustment.mode: Use {', '.join(_ADJUSTMENTS)}")
        avro = _avro_options(options)
        return cls(
            envelope=envelope,
            data=data,
            json=settings_of(Options(JSON_KEYS, options.under("json."), options.emulation)),
            adjustment=adjustment,
            registry_urls=avro.get(_CONFLUENT[0]) or avro.get(_APICURIO[0]) or "",
            tracing=_flag(options, "opentelemetry.tracing.attributes.enable"),
            extensions=_flag(options, "extension.attributes.enable"),
            schema_name=_text(options, "schema.cloudevents.name"),
            names_data_by_header=_flag(options, "schema.data.name.source.header.enable"),
            metadata=MetadataSource.of(_text(options, "metadata.source")),
            is_old=not options.emulation.reads_cloud_event_headers,
        )


def avro_choice(options: Options) -> tuple[ConverterChoice, ...]:
    """Return the converter of Avro, if there is Avro: Confluent's or Apicurio's, by the registry's URL. Raises OptionError."""
    if "avro" not in (_format(options, "serializer.type"), _format(options, "data.serializer.type")):
        return ()
    avro = _avro_options(options)
    for option, name in (_CONFLUENT, _APICURIO):
        if avro.get(option):
            # The reference gives its Avro converter no headers, so Apicurio's puts the id before the value whatever this option says.
            return (ConverterChoice(name, avro | _NO_HEADERS),)
    raise OptionError(
        "Need URL(s) for schema registry instances for CloudEvents when using Apache Avro: "
        "set avro.schema.registry.url or avro.apicurio.registry.url"
    )


def _avro_options(options: Options) -> dict[str, str]:
    return options.under("avro.")


def _format(options: Options, name: str) -> Format:
    value = options.needed(name).lower()
    if value not in ("json", "avro"):
        raise OptionError(f"Invalid value {value} for configuration {name}: Use json or avro")
    return "json" if value == "json" else "avro"


def _flag(options: Options, name: str) -> bool:
    """An old version does not know these options, so their defaults hold."""
    return options.flag(name) if options.emulation.reads_cloud_event_headers else _DEFAULTS[name] == "true"


def _text(options: Options, name: str) -> str:
    return (options.text(name) if options.emulation.reads_cloud_event_headers else _DEFAULTS[name]) or ""


def _key(name: str, kind: Type, default: str | None, doc: str) -> Key:
    """The class has no ``ConfigDef`` that Connect could list."""
    return Key(name, kind, default, "LOW", name, doc, versions=(), framework=True, fixed_order=-1)


KEYS: Final = (
    _key("serializer.type", "STRING", "json", "Format of the whole event: json or avro."),
    _key("data.serializer.type", "STRING", "json", "Format of the event's data: json or avro."),
    _key("opentelemetry.tracing.attributes.enable", "BOOLEAN", "false", "Add the attribute traceparent, from the header of this name."),
    _key("extension.attributes.enable", "BOOLEAN", "true", "Add an attribute for each field of the source and transaction blocks."),
    _key("schema.name.adjustment.mode", "STRING", "avro", "How the schema's name is adjusted: none, avro or avro_unicode."),
    _key("schema.cloudevents.name", "STRING", None, "Name of the event's schema in place of the one made of server and database."),
    _key("schema.data.name.source.header.enable", "BOOLEAN", "false", "Take the name of the data's schema from the header dataSchemaName."),
    _key(
        "metadata.source",
        "STRING",
        "value,id:generate,type:generate,traceparent:header,dataSchemaName:generate",
        "Where metadata comes from: value or header, then attributes with generate or header.",
    ),
)
_DEFAULTS: Final = {key.name: key.default for key in KEYS}
