"""The converters that a worker or a connector chooses.

Kafka Connect's rule: a connector with ``key.converter`` sets that converter's options itself; a connector without it uses
the worker's converter with the worker's options (Kafka documentation, section 8.2 "Configuring connectors").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from connector.configdef.class_names import find_class
from connector.configdef.options import Options
from connector.converters.catalog import CONVERTERS, HEADER_CONVERTERS, renamed_converter
from connector.converters.converter import ConverterChoice
from connector.emulation import Emulation
from connector.errors import CdcError, ErrorKind
from connector.plugins.allowed import AllowedPlugins
from connector.record.json_converter import ConverterSettings

if TYPE_CHECKING:
    from connector.delivery.record_conversion import ConversionPlan

JSON_CONVERTER: Final = "org.apache.kafka.connect.json.JsonConverter"
SIMPLE_HEADER_CONVERTER: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_DEFAULTS: Final = {"key": JSON_CONVERTER, "value": JSON_CONVERTER, "header": SIMPLE_HEADER_CONVERTER}
_DECIMAL_FORMATS: Final = frozenset({"BASE64", "NUMERIC"})


@dataclass(frozen=True, slots=True)
class Converters:
    """The converters of keys, values and headers."""

    key: ConverterChoice
    value: ConverterChoice
    header: ConverterChoice

    def conversion(
        self, config: Mapping[str, str], emulation: Emulation, plugins: AllowedPlugins
    ) -> tuple[ConverterSettings, ConverterSettings, ConversionPlan | None]:
        """Return how the core writes keys and values, and the plan for its records; None when they need no further work.

        ``config`` is the connector's, with its references resolved. Raises CdcError(CONFIG_INVALID).
        """
        # These import every transform, which takes a tenth of a second; the worker's own settings do not need them.
        from connector.delivery.record_conversion import ConversionPlan  # noqa: PLC0415
        from connector.transforms.steps import listed  # noqa: PLC0415

        plain = (self.key.name, self.value.name, self.header.name) == (JSON_CONVERTER, JSON_CONVERTER, SIMPLE_HEADER_CONVERTER)
        if plain and not listed(config, "transforms"):
            return json_settings(self.key, "key.converter"), json_settings(self.value, "value.converter"), None
        plan = ConversionPlan(dict(config), self.key, self.value, self.header, emulation, plugins)
        return *plan.core_settings(), plan

    def unused(self) -> tuple[str, ...]:
        """Return the properties that plain JSON converters do not know. A plan reports those of all other converters itself."""
        sides = (("key", self.key, CONVERTERS), ("value", self.value, CONVERTERS), ("header", self.header, HEADER_CONVERTERS))
        return tuple(
            f"{side}.converter.{name}"
            for side, choice, known in sides
            for name in Options(known[choice.name].keys, choice.options).unused()
        )


def converters(config: Mapping[str, str], class_map: Mapping[str, str], worker: Converters | None = None) -> Converters:
    """Return the converters that ``config`` chooses; where it chooses none, those of ``worker``, or Connect's defaults.

    ``class_map`` gives Python's classes for Java's (``class.map.*``). Raises CdcError(CONFIG_INVALID) that names the property for a class
    that is not there.
    """
    return Converters(
        _choice(config, "key", class_map, worker.key if worker else None),
        _choice(config, "value", class_map, worker.value if worker else None),
        _choice(config, "header", class_map, worker.header if worker else None),
    )


def check_converter(config: Mapping[str, str], side: str, class_map: Mapping[str, str]) -> None:
    """Raise CdcError(CONFIG_INVALID) when the converter that ``config`` chooses for ``side`` is not there.

    Wrong options of the others than JsonConverter fail the task, as in Connect.
    """
    if not config.get(f"{side}.converter", "").strip():
        # A connector without its own converter has the worker's with the worker's options; its own options have no effect.
        return
    choice = _choice(config, side, class_map, None)
    if choice.name == JSON_CONVERTER:
        json_settings(choice, f"{side}.converter")


def default_class(side: str) -> str:
    """Return the class of a worker without a converter for keys, values or headers."""
    return _DEFAULTS[side]


def _choice(config: Mapping[str, str], side: str, class_map: Mapping[str, str], worker: ConverterChoice | None) -> ConverterChoice:
    which = f"{side}.converter"
    name = config.get(which, "").strip()
    if not name and worker is not None:
        return worker
    prefix = f"{which}."
    options = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
    return ConverterChoice(_class(name or _DEFAULTS[side], side, class_map), options)


def _class(name: str, side: str, class_map: Mapping[str, str]) -> str:
    if name in class_map:
        return class_map[name]
    if ":" in name:
        return name
    known, suffixes = (HEADER_CONVERTERS, ("HeaderConverter", "Converter")) if side == "header" else (CONVERTERS, ("Converter",))
    found = find_class(name, known, *suffixes)
    if found is None:
        if (newer := renamed_converter(name)) is not None:
            raise CdcError(
                ErrorKind.CONFIG_INVALID,
                f"Invalid value {name} for configuration {side}.converter: Debezium 2 renamed this converter to {newer}; use that name",
            )
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Invalid value {name} for configuration {side}.converter: This worker has no such converter",
            f"Choose one of {', '.join(sorted(known))}, or write it in Python and give the worker class.map.{name}=package.module:Class.",
        )
    return found


def json_settings(choice: ConverterChoice, which: str) -> ConverterSettings:
    """Return a JsonConverter's options. Raises CdcError(CONFIG_INVALID) that names the property."""
    decimal_format = choice.options.get("decimal.format", "BASE64").strip().upper()
    if decimal_format not in _DECIMAL_FORMATS:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Invalid value {decimal_format} for configuration {which}.decimal.format: It must be BASE64 or NUMERIC",
        )
    options = {f"{which}.{name}": value for name, value in choice.options.items()}
    return ConverterSettings(
        schemas_enable=boolean(options, f"{which}.schemas.enable", True),
        decimal_format=decimal_format,
        replace_null_with_default=boolean(options, f"{which}.replace.null.with.default", True),
    )


def boolean(config: Mapping[str, str], key: str, default: bool) -> bool:
    """A boolean as Kafka's ``ConfigDef`` reads it: true or false in any case, trimmed. Raises CdcError(CONFIG_INVALID)."""
    text = config.get(key)
    if text is None:
        return default
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise CdcError(ErrorKind.CONFIG_INVALID, f"Invalid value {text} for configuration {key}: Expected value to be either true or false")
    return word == "true"
