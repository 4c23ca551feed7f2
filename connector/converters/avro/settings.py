"""The options of the mapping between Connect's schemas and Avro's (Confluent documentation, "Avro Converter")."""

from __future__ import annotations

from dataclasses import dataclass

from connector.configdef.options import Options


@dataclass(frozen=True, slots=True)
class AvroSettings:
    """The options' values; each field is one option."""

    enhanced: bool = False
    """``enhanced.avro.schema.support``: strings with the parameter ``io.confluent.connect.avro.Enum`` become enums."""
    sum_types: bool = False
    """``generalized.sum.type.support``: likewise for the parameter ``org.apache.kafka.connect.data.Enum``."""
    meta_data: bool = True
    """``connect.meta.data``: the properties ``connect.*``."""
    scrub: bool = False
    """``scrub.invalid.names``."""
    discard_docs: bool = False
    """``discard.type.doc.default``: documentation and defaults of fields alone are kept."""
    optional_map_keys: bool = False
    """``allow.optional.map.keys``: maps with optional string keys become Avro's maps."""
    ignore_defaults: bool = False
    """``ignore.default.for.nullables``: null stays null, whatever the default."""

    @classmethod
    def of(cls, options: Options) -> AvroSettings:
        """Read them from the options of Confluent's converter."""
        return cls(
            enhanced=options.flag("enhanced.avro.schema.support"),
            sum_types=options.flag("generalized.sum.type.support"),
            meta_data=options.flag("connect.meta.data"),
            scrub=options.flag("scrub.invalid.names"),
            discard_docs=options.flag("discard.type.doc.default"),
            optional_map_keys=options.flag("allow.optional.map.keys"),
            ignore_defaults=options.flag("ignore.default.for.nullables"),
        )
