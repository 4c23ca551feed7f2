"""The options of Confluent's ProtobufConverter that schema and bytes depend on."""

from __future__ import annotations

from dataclasses import dataclass

from connector.configdef.options import Options


@dataclass(frozen=True, slots=True)
class ProtobufSettings:
    """The options' values; each field is one option."""

    optionals: bool = False
    """``optional.for.nullables``: nullable fields have the label ``optional``, so that null and the type's zero differ."""
    wrappers: bool = False
    """``wrapper.for.nullables``: nullable fields of scalar types are messages of ``google/protobuf/wrappers.proto``."""
    scrub: bool = False
    """``scrub.invalid.names``."""
    sum_types: bool = False
    """``generalized.sum.type.support``: enums and unions by the parameters ``org.apache.kafka.connect.data.*``."""
    ignore_defaults: bool = False
    """``ignore.default.for.nullables``: null stays null, whatever the default."""

    @classmethod
    def of(cls, options: Options) -> ProtobufSettings:
        """Read them from the converter's options."""
        return cls(
            optionals=options.flag("optional.for.nullables"),
            wrappers=options.flag("wrapper.for.nullables"),
            scrub=options.flag("scrub.invalid.names"),
            sum_types=options.flag("generalized.sum.type.support"),
            ignore_defaults=options.flag("ignore.default.for.nullables"),
        )
