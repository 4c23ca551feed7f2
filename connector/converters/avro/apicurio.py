"""``io.apicurio.registry.utils.converter.AvroConverter``: Avro, with schemas in Apicurio's registry."""

from __future__ import annotations

from typing import Final

from connector.configdef.options import OptionError, Options
from connector.converters.apicurio import Artifacts, apicurio_registry
from connector.converters.apicurio_keys import APICURIO_KEYS, AVRO_SERDE_KEYS
from connector.converters.avro.avro_schema import AvroSchema
from connector.converters.avro.converter import AvroConverter, Prepared
from connector.converters.avro.mapping import avro_schema
from connector.converters.avro.settings import AvroSettings
from connector.converters.avro.substitute import substitute_writer
from connector.converters.avro.writer import value_writer
from connector.converters.converter import ConverterDefinition, Side
from connector.converters.registry import Reference, Registry
from connector.record.schema import Schema


class ApicurioAvroConverter(AvroConverter):
    """Converts the keys, or the values, of one connector."""

    def __init__(self, registry: Registry, artifacts: Artifacts, settings: AvroSettings) -> None:
        super().__init__(registry, settings)
        self._artifacts = artifacts

    @classmethod
    def of(cls, options: Options, side: Side) -> ApicurioAvroConverter:
        """Make it of its options."""
        encoding = options.needed("apicurio.registry.avro.encoding")
        if encoding != "BINARY":
            raise OptionError(
                f"Invalid value {encoding} for configuration apicurio.registry.avro.encoding: Avro's JSON is not offered. Use BINARY"
            )
        settings = AvroSettings(enhanced=options.flag("enhanced.avro.schema.support"), meta_data=options.flag("connect.meta.data"))
        return cls(apicurio_registry(options), Artifacts.of(options, side), settings)

    def _prepare(self, topic: str, schema: Schema | None) -> Prepared:
        if schema is not None and schema.type == "struct" and schema.optional:
            # The serializer takes the schema from the record, which has no union around it.
            schema = schema.as_optional(False)
        avro = avro_schema(schema, self._settings)
        references: tuple[Reference, ...] = ()
        # The schema of any value refers to itself: it cannot be taken apart.
        if not self._artifacts.inlines and schema is not None:
            references = self._references(topic, avro)
        text = avro.text({reference.name for reference in references})
        answer = self._registry.schema(self._artifacts.request(topic, avro, "AVRO", text, references))
        write = value_writer(schema, self._settings)
        own = answer.text is None or answer.text == text
        if not own:
            write = substitute_writer(schema, self._settings, text, answer.text or "", strict=False)
        return Prepared(write, self._artifacts.wire(answer, "BINARY"), own)

    def _references(self, topic: str, schema: AvroSchema) -> tuple[Reference, ...]:
        """The records and enums that the schema holds: each as often as it is met, as Apicurio's parser lists them."""
        members: list[AvroSchema] = []
        if schema.type == "record":
            for field in schema.fields:
                held = field.schema
                if held.type in ("record", "enum"):
                    members.append(held)
                else:
                    members += _named_parts(held)
        else:
            members += _named_parts(schema)
        return tuple(self._reference(topic, member) for member in members)

    def _reference(self, topic: str, schema: AvroSchema) -> Reference:
        nested = self._references(topic, schema) if schema.type == "record" else ()
        return self._artifacts.reference(schema, schema.text({each.name for each in nested}), topic, nested)


def _named_parts(schema: AvroSchema) -> list[AvroSchema]:
    """The records and enums directly within a union, an array or a map; deeper ones stay where they are."""
    parts = schema.branches if schema.type == "union" else (schema.items,)
    return [part for part in parts if part is not None and part.type in ("record", "enum")]


DEFINITIONS: Final = (
    ConverterDefinition("io.apicurio.registry.utils.converter.AvroConverter", (*APICURIO_KEYS, *AVRO_SERDE_KEYS), ApicurioAvroConverter.of),
)
