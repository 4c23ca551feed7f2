"""Every converter by its class name, and the making of those that a configuration chooses."""

from __future__ import annotations

from typing import Final

from connector.configdef.options import Idle, OptionError, Options, Report, discard, discard_idle
from connector.converters import binary_data, cloud_events, ext_json, json, plain_bytes, simple_header, string
from connector.converters.avro import apicurio as apicurio_avro
from connector.converters.avro import confluent as confluent_avro
from connector.converters.converter import (
    Converter,
    ConverterChoice,
    ConverterDefinition,
    DelegatingDefinition,
    HeaderConverter,
    HeaderConverterDefinition,
    Side,
)
from connector.converters.custom import custom_converter, custom_header_converter
from connector.converters.json_schema import confluent as confluent_json_schema
from connector.converters.protobuf import confluent as confluent_protobuf
from connector.emulation import Emulation
from connector.errors import CdcError, ErrorKind
from connector.plugins.allowed import AllowedPlugins

_DEFINITIONS: Final[tuple[ConverterDefinition | DelegatingDefinition, ...]] = (
    *binary_data.DEFINITIONS,
    *cloud_events.DEFINITIONS,
    *plain_bytes.DEFINITIONS,
    *json.DEFINITIONS,
    *string.DEFINITIONS,
    *confluent_avro.DEFINITIONS,
    *apicurio_avro.DEFINITIONS,
    *ext_json.DEFINITIONS,
    *confluent_json_schema.DEFINITIONS,
    *confluent_protobuf.DEFINITIONS,
)
CONVERTERS: Final[dict[str, ConverterDefinition | DelegatingDefinition]] = {definition.name: definition for definition in _DEFINITIONS}
"""Class name → definition."""
HEADER_CONVERTERS: Final[dict[str, HeaderConverterDefinition]] = {
    definition.name: definition
    for module in (binary_data, plain_bytes, json, simple_header, string)
    for definition in module.HEADER_DEFINITIONS
}
"""The same for headers."""


_RENAMED: Final = {"io.debezium.converters.ByteBufferConverter": "io.debezium.converters.BinaryDataConverter"}
"""Classes that no emulated version has any more (Debezium DBZ-5770)."""


def renamed_converter(name: str) -> str | None:
    """Return the present name of a class that had another one before Debezium 2; None for all others."""
    return _RENAMED.get(name)


def make_converter(
    choice: ConverterChoice,
    side: Side,
    emulation: Emulation,
    plugins: AllowedPlugins,
    report: Report = discard,
    idle: Idle = discard_idle,
) -> Converter:
    """Make the converter of keys or values, and ``report`` each of its properties that it neither knows nor passes on.

    ``idle`` is called with each property that it knows and that has no effect. A user's own class gets all its options, so none is
    reported. Raises CdcError(CONFIG_INVALID) that names the property.
    """
    setting = f"{side}.converter"
    if ":" in choice.name:
        return custom_converter(choice.name, choice.options, setting, plugins, is_key=side == "key")
    definition = CONVERTERS.get(choice.name)
    if definition is None:
        raise _unknown(setting, choice.name)
    options = Options(definition.keys, choice.options, emulation)
    try:
        if isinstance(definition, ConverterDefinition):
            made = definition.make(options, side)
        else:
            delegates = [make_converter(each, side, emulation, plugins) for each in definition.delegates(options, side)]
            made = definition.make(options, side, delegates)
    except OptionError as problem:
        raise CdcError(ErrorKind.CONFIG_INVALID, f"The {setting} cannot be used: {problem}", f"Correct {setting}.*.") from None
    options.report_unused(f"{setting}.", report)
    options.report_idle(f"{setting}.", idle)
    return made


def make_header_converter(
    choice: ConverterChoice, emulation: Emulation, plugins: AllowedPlugins, report: Report = discard
) -> HeaderConverter:
    """Do the same for headers. Raises CdcError(CONFIG_INVALID) that names the property."""
    setting = "header.converter"
    if ":" in choice.name:
        return custom_header_converter(choice.name, choice.options, setting, plugins)
    definition = HEADER_CONVERTERS.get(choice.name)
    if definition is None:
        raise _unknown(setting, choice.name)
    options = Options(definition.keys, choice.options, emulation)
    try:
        made = definition.make(options)
    except OptionError as problem:
        raise CdcError(ErrorKind.CONFIG_INVALID, f"The {setting} cannot be used: {problem}", f"Correct {setting}.*.") from None
    options.report_unused(f"{setting}.", report)
    return made


def _unknown(setting: str, name: str) -> CdcError:
    if (newer := renamed_converter(name)) is not None:
        return CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Invalid value {name} for configuration {setting}: Debezium 2 renamed this converter to {newer}",
            "Use that name.",
        )
    return CdcError(
        ErrorKind.CONFIG_INVALID,
        f"Invalid value {name} for configuration {setting}: There is no such converter",
        "Correct the class name; write a converter of your own in Python, and name it as package.module:Class or give the worker "
        f"class.map.{name}=package.module:Class (`understudy docs extending`).",
    )
